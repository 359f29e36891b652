/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of lifetimes.
 */
#include "analyze/timeline/peaks/peak_parts.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t color;
} classes[GM_LIFETIME_COUNT] = {{"before the trace, never freed", 0x4E79A7},
                                {"before the trace, freed later", 0xA0CBE8},
                                {"in the trace, never freed", 0xE15759},
                                {"temporary", 0xBAB0AC},
                                {"within one step", 0x59A14F},
                                {"over several steps", 0xF28E2B},
                                {"made and freed in the trace", 0x76B7B2}};

const struct gm_step_row *gm_lifetime_step(const struct gm_trace_pass *pass)
{
    const struct gm_steps *steps = &pass->out->steps;
    uint32_t row = pass->step == NULL || pass->peak_moment == 0 ? GM_NEVER : pass->step[pass->peak_moment - 1];
    return row < steps->row_count ? &steps->rows[row] : NULL;
}

enum gm_lifetime gm_lifetime_of(const struct gm_history *h, const struct gm_step_row *step, size_t allocation)
{
    uint32_t born = h->born[allocation], freed = h->freed[allocation];
    if (born == 0)
        return freed == GM_NEVER ? GM_LIFETIME_ALWAYS : GM_LIFETIME_OLD;
    if (freed == GM_NEVER)
        return GM_LIFETIME_KEPT;
    if (freed - born <= GM_TEMPORARY_EVENTS)
        return GM_LIFETIME_TEMPORARY;
    if (step == NULL)
        return GM_LIFETIME_IN_TRACE;
    return born - 1 >= step->first_event && freed - 1 <= step->last_event ? GM_LIFETIME_ONE_STEP
                                                                          : GM_LIFETIME_SEVERAL_STEPS;
}

GM_ORDERING(by_bytes, struct gm_slice, GM_DOWN(bytes) || GM_BY(strcmp(a->name, b->name)));

const struct gm_slice *gm_lifetime_slices(struct gm_arena *arena, const struct gm_amount amounts[GM_LIFETIME_COUNT],
                                          size_t *slice_count)
{
    struct gm_slice *slices = gm_arena_calloc(arena, GM_LIFETIME_COUNT, sizeof *slices);
    size_t n = 0;
    if (slices == NULL)
        return NULL;
    for (size_t i = 0; i < GM_LIFETIME_COUNT; i++)
        if (amounts[i].blocks > 0)
            slices[n++] = (struct gm_slice){classes[i].name, classes[i].color, amounts[i].bytes, amounts[i].blocks};
    qsort(slices, n, sizeof *slices, by_bytes);
    *slice_count = n;
    return slices;
}
