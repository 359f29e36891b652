/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak of requested bytes: by category, role, lifetime and call site; what the peak would be
 * without a call site; the next distinct peaks.
 */
#include "analyze/base/order.h"
#include "analyze/state/slices.h"
#include "analyze/timeline/levels.h"
#include "analyze/timeline/peaks/peak_parts.h"

#include <stdlib.h>
#include <string.h>

enum { SAVINGS = 5 };

/* Classes of lifetimes. */

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

/* The step of the peak, or NULL. */
static const struct gm_step_row *lifetime_step(const struct gm_trace_pass *pass)
{
    const struct gm_steps *steps = &pass->out->steps;
    uint32_t row = pass->step == NULL || pass->peak_moment == 0 ? GM_NEVER : pass->step[pass->peak_moment - 1];
    return row < steps->row_count ? &steps->rows[row] : NULL;
}

static enum gm_lifetime lifetime_of(const struct gm_history *h, const struct gm_step_row *step, size_t allocation)
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

/* amounts as slices, empty ones left out, most bytes first, ties by name. NULL: no memory. */
static const struct gm_slice *lifetime_slices(struct gm_arena *arena, const struct gm_amount amounts[GM_LIFETIME_COUNT],
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

static void count(struct gm_amount *amount, uint64_t bytes)
{
    amount->bytes = gm_clamp((gm_i128)amount->bytes + bytes);
    amount->blocks++;
}

/* One walk over the allocations for all lists. */
static bool gather(struct gm_trace_pass *pass, struct gm_live *live, struct gm_amount *categories,
                   struct gm_amount *roles, struct gm_amount *lifetimes)
{
    const struct gm_history *h = &pass->history;
    const struct gm_step_row *step = lifetime_step(pass);
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, pass->peak_moment) || gm_is_hidden(pass, a))
            continue;
        count(&categories[pass->category[a]], h->requested[a]);
        count(&roles[gm_role_of(pass, a)], h->requested[a]);
        count(&lifetimes[lifetime_of(h, step, a)], h->requested[a]);
        if (!gm_live_add(live, a, h->requested[a]))
            return false;
    }
    return true;
}

static bool publish_slices(struct gm_trace_pass *pass, struct gm_live *live)
{
    struct gm_arena *arena = &pass->report->arena;
    struct gm_peak_detail *detail = &pass->out->peak;
    struct gm_amount roles[GM_ROLE_COUNT] = {0}, lifetimes[GM_LIFETIME_COUNT] = {0};
    struct gm_amount *categories = calloc(gm_category_count(pass->options->rules) + 1, sizeof *categories);
    bool ok = categories != NULL && gather(pass, live, categories, roles, lifetimes);
    if (ok) {
        pass->peak->categories = gm_slices_make(arena, pass->options->rules, categories, &pass->peak->category_count);
        detail->lifetimes = lifetime_slices(arena, lifetimes, &detail->lifetime_count);
        ok = pass->peak->categories != NULL && detail->lifetimes != NULL;
    }
    if (ok && pass->role != NULL) {
        detail->roles = gm_role_slices(arena, roles, &detail->role_count);
        ok = detail->roles != NULL;
    }
    free(categories);
    return ok;
}

/* The table of call sites, the savings and the next peaks: one walk over the events answers all three. */
static bool publish_sites(struct gm_trace_pass *pass, const struct gm_live *live)
{
    struct gm_peak_detail *detail = &pass->out->peak;
    struct gm_saving *savings = gm_arena_calloc(&pass->report->arena, SAVINGS, sizeof *savings);
    struct gm_grouping grouping = {0};
    struct gm_group_table table = {0};
    struct gm_removals removals = {0};
    struct gm_swings swings = {0};
    bool ok = savings != NULL && gm_grouping_start(&grouping, pass, GM_GROUP_NONE, 0) &&
              gm_group_rows(&table, live, &grouping, pass->options->top) &&
              gm_removals_start(&removals, pass, &table, &grouping) &&
              gm_removals_run(&removals, table.rows, &swings, savings, SAVINGS, &detail->saving_count) &&
              gm_next_peaks(pass, &swings);
    gm_removals_free(&removals);
    gm_grouping_free(&grouping);
    detail->savings = savings;
    detail->sites = table.rows;
    detail->site_count = table.count;
    detail->site_total = table.total;
    detail->site_rest_bytes = table.rest_bytes;
    detail->site_rest_blocks = table.rest_blocks;
    return ok;
}

/* What --group asks for. */
static bool publish_groups(struct gm_trace_pass *pass, const struct gm_live *live)
{
    static const char *const names[] = {NULL, "stack", "function", "file", "category", "role"};
    struct gm_peak_detail *detail = &pass->out->peak;
    enum gm_group_by by = pass->options->group;
    if (by == GM_GROUP_NONE || (by == GM_GROUP_ROLE && pass->role == NULL))
        return true;
    struct gm_grouping grouping = {0};
    struct gm_group_table table = {0};
    struct gm_removals removals = {0};
    bool ok = gm_grouping_start(&grouping, pass, by, pass->options->depth) &&
              gm_group_rows(&table, live, &grouping, pass->options->top) &&
              gm_removals_start(&removals, pass, &table, &grouping) &&
              gm_removals_run(&removals, table.rows, NULL, NULL, 0, NULL);
    gm_removals_free(&removals);
    gm_grouping_free(&grouping);
    detail->groups = table.rows;
    detail->group_count = table.count;
    detail->group_total = table.total;
    detail->group_rest_bytes = table.rest_bytes;
    detail->group_rest_blocks = table.rest_blocks;
    detail->group_by = names[by];
    return ok;
}

bool gm_trace_peak(struct gm_trace_pass *pass)
{
    struct gm_live live;
    bool ok = gm_live_start(&live, pass) && publish_slices(pass, &live) && publish_sites(pass, &live) &&
              publish_groups(pass, &live);
    gm_live_free(&live);
    return ok;
}
