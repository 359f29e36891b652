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
/* Recorded peaks of all devices together. */
uint64_t gm_tried_recorded(const struct gm_settings_advice *advice);
/* Row i of the replays with one choice of memory: the baseline first, then those tried, compared with it. */
struct gm_tried_row {
    const char *settings;
    const struct gm_advice_replay *replay;
    bool has_change; /* against the baseline: both run */
    int64_t change;  /* bytes */
};
struct gm_tried_row gm_tried_row(const struct gm_settings_advice *advice, size_t i, bool is_limited);

#endif
