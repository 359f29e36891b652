/* SPDX-License-Identifier: Apache-2.0
 *
 * A result of gm_analyze on its way, for gmanalyze, which draws and writes while it is made.
 */
#pragma once

#include "analyze/cli/analyzed.h"
#include "analyze/cli/page_runs.h"
#include "analyze/lib/libgm.h"

/* What stands behind the result. */
struct gm_analyzed {
    const struct gm_analyze_options *options; /* whoever made the result keeps these two */
    const struct gm_text *rules_text;
    struct gm_judged judged;
    struct gm_ignore ignore;   /* if nobody else has one */
    struct gm_page_trace page; /* empty: there is no page, or it can still be made of the snapshot */
};

/* Of the snapshot, which it holds, but nothing is concluded yet: gm_analysis_begin and _end do that to `judged`. NULL:
 * there is no memory. */
struct gm_result *gm_analyzed_new(struct gm_loaded *loaded, const struct gm_analyze_options *options,
                                  const struct gm_text *rules_text);
static inline struct gm_analyzed *gm_analyzed_of(const struct gm_result *result)
{
    return result->found;
}
/* The trace for memory.html, once, before the snapshot is forgotten. */
enum gm_status gm_analyzed_keep_page(struct gm_result *result, struct gm_error *err);
/* The same while passes run: the `read` of a gm_history_reader, with the result as its self. If there is no memory
 * then, it can still be made. */
void gm_analyzed_read_history(void *result, struct gm_history *history);
