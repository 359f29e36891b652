/* SPDX-License-Identifier: Apache-2.0
 *
 * From a snapshot to its summary (analyze/report/summary.h): all passes of gmanalyze, and what of their results is
 * compared. The snapshot may be freed afterwards. Pure computation: the same snapshot gives the same summary.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/summary.h"
#include "analyze/snapshot/snapshot.h"

struct gm_category_rules; /* analyze/state/categories.h */

struct gm_summary_options {
    const struct gm_category_rules *rules;
    int64_t device; /* of this device only; -1: all */
    size_t points;  /* of the timeline of each device, at most; 0: none */
    bool is_short;  /* without roles, pools, facts and the frames of stacks */
};

/* `name`: what the run is called. On failure (GM_E_NOMEM; GM_E_USAGE if `device` is not in the file) it is empty. */
enum gm_status gm_summary_make(struct gm_summary *summary, const struct gm_snapshot *snapshot, const char *name,
                               const struct gm_summary_options *options, struct gm_error *err);
