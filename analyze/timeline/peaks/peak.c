/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak of requested bytes: by category, role, lifetime and call site; what the peak would be
 * without a call site; the next distinct peaks.
 */
#include "analyze/state/slices.h"
#include "analyze/timeline/levels.h"
#include "analyze/timeline/peaks/peak_parts.h"

#include <stdlib.h>

enum { SAVINGS = 5 };

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
    const struct gm_step_row *step = gm_lifetime_step(pass);
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, pass->peak_moment) || gm_is_hidden(pass, a))
            continue;
        count(&categories[pass->category[a]], h->requested[a]);
        count(&roles[gm_role_of(pass, a)], h->requested[a]);
        count(&lifetimes[gm_lifetime_of(h, step, a)], h->requested[a]);
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
        detail->lifetimes = gm_lifetime_slices(arena, lifetimes, &detail->lifetime_count);
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
