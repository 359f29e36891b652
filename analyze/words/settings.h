/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings that stand for many: "roundup_power2_divisions.1" to ".32768" with one value are one line for a reader.
 */
#ifndef GM_WORDS_SETTINGS_H
#define GM_WORDS_SETTINGS_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stddef.h>

/* How many rows from `first` on share the part of their keys before the '.' and their value; at least 1. */
size_t gm_settings_run(const struct gm_report *report, size_t first);
/* The key of such a run: "name.*", or the row's own key if it is alone. */
void gm_settings_key(struct gm_text *out, const struct gm_report *report, size_t first, size_t run);

#endif
