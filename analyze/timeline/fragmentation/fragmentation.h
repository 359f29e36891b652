/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what out-of-memory (ooms.c) and fragmentation over time (growth.c) share, and the parts
 * of the latter.
 */
#ifndef GM_TIMELINE_FRAGMENTATION_H
#define GM_TIMELINE_FRAGMENTATION_H

#include "analyze/allocator/rounding.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/fragmentation/watch.h"
#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/trace_pass.h"

/* ---- why cached bytes did not serve a request (unusable.c) ------------------------------------------------------- */

struct gm_unusable_sums {
    uint64_t by_reason[GM_UNUSABLE_COUNT]; /* they sum to what is cached */
    uint64_t largest_hole;                 /* of the right pool and stream */
    uint64_t right;                        /* cached bytes of the right pool and stream */
};
/* All GM_REPORT_NONE if the look was too much work. */
struct gm_unusable_sums gm_unusable_of(const struct gm_watch *watch, const struct gm_watch_look *look,
                                       const struct gm_history_pool *wanted);

/* The file's handle of a stream. */
static inline int64_t gm_stream_handle(const struct gm_snapshot *s, uint32_t stream)
{
    return stream == 0 ? 0 : s->streams[stream];
}
/* The site of a stack for a report; NULL for an absent stack. *ok becomes false if there is no memory. */
const char *gm_site_or_null(struct gm_trace_pass *pass, struct gm_stack_id stack, bool *ok);
/* Microseconds from event `from` to event `to` (0 if time runs backwards), GM_REPORT_NONE without times. */
uint64_t gm_time_between(const struct gm_history *h, uint32_t from, uint32_t to);

/* ---- numbers by call site (site_sums.c) -------------------------------------------------------------------------- */

enum { GM_SITE_VALUES = 3 };
struct gm_site_sum {
    const char *site;
    uint32_t stack;                   /* the one with most v[0] */
    uint64_t v[GM_SITE_VALUES], most; /* sums; v[0] of that stack */
};
struct gm_site_sums {
    struct gm_grouping grouping;
    struct GM_VEC(struct gm_site_sum) rows; /* [group]; until they are sorted */
};
/* start and add return false if there is no memory. Free also what was not started (zero-initialised). */
bool gm_site_sums_start(struct gm_site_sums *sums, struct gm_trace_pass *pass);
/* To be called once per stack. */
bool gm_site_sums_add(struct gm_site_sums *sums, uint32_t stack, const uint64_t v[GM_SITE_VALUES]);
/* Most v[key] first, ties by site. */
void gm_site_sums_sort(struct gm_site_sums *sums, int key);
void gm_site_sums_free(struct gm_site_sums *sums);
/* The category of a stack, its name copied for the report. false: no memory. */
bool gm_category_of_stack(struct gm_trace_pass *pass, uint32_t stack, const char **name, uint32_t *color);

/* ---- parts of gm_fragmentation_history --------------------------------------------------------------------------- */

bool gm_fragmentation_churn(struct gm_trace_pass *pass, struct gm_fragmentation_history *out);    /* churn.c */

/* Parts of gm_oom_row that have files of their own. Both return false if there is no memory. */

#endif
