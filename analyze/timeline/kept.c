/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands out what the passes know of each allocation.
 */
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>

bool gm_trace_keep(struct gm_kept *kept, struct gm_trace_pass *passes, size_t count)
{
    *kept = (struct gm_kept){.v = calloc(count + 1, sizeof *kept->v), .count = count};
    bool ok = kept->v != NULL;
    for (size_t d = 0; ok && d < count; d++) {
        struct gm_kept_device *device = &kept->v[d];
        device->steps = passes[d].kept_steps;
        device->step_count = passes[d].kept_step_count;
        passes[d].kept_steps = NULL;
        device->history = passes[d].history;
        device->category = passes[d].category;
        device->role = passes[d].role;
        device->phase = passes[d].phase;
        passes[d].history = (struct gm_history){0};
        passes[d].phase = NULL;
        passes[d].category = NULL;
        passes[d].role = NULL;
    }
    if (!ok)
        gm_kept_free(kept);
    return ok;
}

void gm_kept_free(struct gm_kept *kept)
{
    for (size_t d = 0; kept->v != NULL && d < kept->count; d++) {
        gm_history_free(&kept->v[d].history);
        free(kept->v[d].category);
        free(kept->v[d].role);
        free(kept->v[d].phase);
        free(kept->v[d].steps);
    }
    free(kept->v);
    *kept = (struct gm_kept){0};
}

size_t gm_timeline_role_count(void)
{
    return GM_ROLE_COUNT;
}

const char *gm_timeline_role_name(size_t role)
{
    return gm_role_name((enum gm_role)role);
}

uint32_t gm_timeline_role_color(size_t role)
{
    return gm_role_color((enum gm_role)role);
}

bool gm_timeline_role_lasts(size_t role)
{
    return role == GM_ROLE_PARAMETER || role == GM_ROLE_GRADIENT || role == GM_ROLE_OPTIMIZER_STATE;
}
