/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocator settings that were tried by replaying the trace, as sentences and rows for every kind of text.
 */
#ifndef GM_WORDS_TRIED_H
#define GM_WORDS_TRIED_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

/* "advised", "no-gain", "no-room", "not-judged" */
const char *gm_tried_verdict_name(enum gm_advice_verdict verdict);
/* One paragraph: what was done and how far it can be believed, or why it was not. Does not name advice->command. */
void gm_tried_summary(struct gm_text *out, const struct gm_settings_advice *advice);
/* "expandable_segments:True", or words for none. */
const char *gm_tried_settings(const char *settings);
/* Recorded peaks of all devices together. */
uint64_t gm_tried_recorded(const struct gm_settings_advice *advice);
/* What the tried ones are compared with: the replayed peak, or, where that is not known, the recorded one. */
uint64_t gm_tried_base(const struct gm_settings_advice *advice);
/* "expandable_segments:True (replayed: 56.91 -> 51.70 GiB reserved)": for one line, where a setting is advised. */
void gm_tried_short(struct gm_text *out, const struct gm_settings_advice *advice);

#endif
