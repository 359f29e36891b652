/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what the peak of requested bytes would be if some allocations had not been made. It
 * moves when they are gone, so it is looked for anew; nothing is subtracted.
 */
#ifndef GM_TIMELINE_COUNTERFACTUAL_H
#define GM_TIMELINE_COUNTERFACTUAL_H

#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/peaks/next_peaks.h"

enum { GM_REMOVABLE = 64 }; /* so many rows of a table are tried */

struct gm_removals {
    struct gm_trace_pass *pass;
    uint8_t *who;                    /* [allocation] the row it belongs to, or one of the two below */
    size_t count;                    /* rows */
    bool is_removable[GM_REMOVABLE]; /* a row without a call site cannot be removed */
};
enum { GM_WHO_OTHER = GM_REMOVABLE, GM_WHO_HIDDEN, GM_WHO_COUNT };

/* The first rows of `table`. */
bool gm_removals_start(struct gm_removals *r, struct gm_trace_pass *pass, const struct gm_group_table *table,
                       struct gm_grouping *grouping);
void gm_removals_free(struct gm_removals *r);

/* Fills peak_without of the rows and, if `savings` is not NULL, at most `most` greedy savings; *saving_count is set.
 * `swings` may be NULL; else it sees the curve. Sizes beyond 2^53 bytes are not computed with: then the rows stay as
 * they are and there are no savings and no swings. false: no memory. */
bool gm_removals_run(struct gm_removals *r, struct gm_group_row *rows, struct gm_swings *swings,
                     struct gm_saving *savings, size_t most, size_t *saving_count);

#endif
