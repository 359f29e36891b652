/* SPDX-License-Identifier: Apache-2.0
 *
 * Values on gmanalyze's command line that are more than a number: places in a trace, streams.
 */
#ifndef GM_CLI_VALUES_H
#define GM_CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

struct gm_wanted_stream {
    int64_t handle;
    bool is_given;
};

/* Each is the `parse` of a gm_option: text in, *value out; false if it is none. */
bool gm_value_place(const char *text, void *value);  /* struct gm_place: 12345, event:12345, 3.5s, 120ms, step:12 */
bool gm_value_stream(const char *text, void *value); /* struct gm_wanted_stream: 0, 94219239492, 0x55d1c0 */

#endif
