/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: parts of gm_oom_row that have files of their own. Both return false if there is no
 * memory.
 */
#ifndef GM_TIMELINE_OOM_PARTS_H
#define GM_TIMELINE_OOM_PARTS_H

#include "analyze/allocator/rounding.h"
#include "analyze/timeline/trace_pass.h"

/* oom_grew.c: the call sites that gained most before the oom at event `event`. */
bool gm_oom_grew(struct gm_trace_pass *pass, struct gm_oom_row *row, uint32_t event);
/* oom_verdict.c: capacity or fragmentation, from what the row says so far. */
bool gm_oom_judge(struct gm_arena *arena, struct gm_oom_row *row, const struct gm_rules *rules);

#endif
