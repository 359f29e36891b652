/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes over the state at the end of a snapshot: snapshot in, report model out. Pure computation: no files, no
 * clock, no globals; the same snapshot gives the same report.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"

struct gm_category_rules; /* analyze/state/categories.h */
struct gm_classifier;     /* likewise */

struct gm_state_options {
    size_t top;     /* how many blocks in top_blocks (and pins) */
    int64_t device; /* report on this device only; -1: all */
    bool is_brief;  /* without rows of blocks, streams, pools and call sites, and what pins memory */
    const struct gm_category_rules *rules;
    struct gm_classifier
        *classifier; /* of these rules and the snapshot, to share what it learns; NULL: one of its own */
};

/* Fills *report (all but run_name and timestamp) from *snapshot. The report keeps no pointer into the snapshot or the
 * rules. On failure (GM_E_NOMEM; GM_E_USAGE if `device` is not in the file) *report is empty. */
enum gm_status gm_state_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                const struct gm_state_options *options, struct gm_error *err);
