/* SPDX-License-Identifier: Apache-2.0
 *
 * Which annotation of the program is the innermost around each event, and which are around that.
 */
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>

/* `open`: ranges that have begun, the latest last. */
static void walk(const struct gm_step_work *w, uint32_t *open)
{
    struct gm_trace_pass *pass = w->pass;
    const struct gm_range *ranges = w->ranges.v;
    size_t next = 0, depth = 0;
    for (uint32_t event = 0; event < pass->history.count; event++) {
        for (; next < w->ranges.n && ranges[next].first <= event; next++) {
            if (ranges[next].kind == GM_RANGE_PROFILER_STEP)
                continue;
            while (depth > 0 && ranges[open[depth - 1]].last < event)
                depth--;
            pass->ranges[next] = (struct gm_named_range){ranges[next].name, depth == 0 ? 0 : open[depth - 1] + 1};
            open[depth++] = (uint32_t)next;
        }
        while (depth > 0 && ranges[open[depth - 1]].last < event)
            depth--;
        pass->range[event] = depth == 0 ? 0 : open[depth - 1] + 1;
    }
}

bool gm_step_names(struct gm_step_work *w)
{
    struct gm_trace_pass *pass = w->pass;
    if (w->ranges.n == 0)
        return true;
    uint32_t *open = malloc(w->ranges.n * sizeof *open);
    pass->range = calloc(pass->history.count + 1, sizeof *pass->range);
    pass->ranges = calloc(w->ranges.n, sizeof *pass->ranges);
    const bool ok = open != NULL && pass->range != NULL && pass->ranges != NULL;
    if (ok)
        walk(w, open);
    free(open);
    return ok;
}
