/* SPDX-License-Identifier: Apache-2.0
 *
 * Many snapshots as summaries, read by several threads. Never more snapshots are in memory than there are threads; the
 * result does not depend on their number.
 */
#ifndef GM_CLI_INPUTS_H
#define GM_CLI_INPUTS_H

#include "analyze/base/error.h"
#include "analyze/cli/page_runs.h"
#include "analyze/cli/terminal.h"
#include "analyze/compare/summary_make.h"
#include "analyze/run/run_names.h"

#include <stdbool.h>
#include <stddef.h>

struct gm_input {
    const char *path;
    char name[GM_NAME_SIZE]; /* found in the path */
    enum gm_status status;   /* of reading it */
    struct gm_error error;
    struct gm_summary summary; /* if status is GM_OK */
    bool is_salvaged;
    uint64_t salvaged_offset;
    struct gm_page_trace page; /* if options.wants_page */
};

struct gm_inputs_options {
    struct gm_summary_options summary;
    bool salvage, wants_page;
    uint64_t max_memory; /* as in struct gm_load_options */
    int threads;
    const struct gm_terminal *progress; /* a bar there if it takes longer than a second; NULL: none */
};

/* Reads inputs[i].path for every i; sets the rest. */
void gm_inputs_read(struct gm_input *inputs, size_t count, const struct gm_inputs_options *options);
void gm_inputs_free(struct gm_input *inputs, size_t count);

#endif
