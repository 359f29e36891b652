/* SPDX-License-Identifier: Apache-2.0
 *
 * Who grew last before an oom: live bytes by call site now, less those at the same place one step before; without
 * steps, those a tenth of the trace before.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_ROWS = 10 };

struct change {
    uint64_t now, before, blocks; /* blocks: live now and made since */
};

/* The moment to compare with; *is_step tells which kind it is. */
static uint32_t moment_before(const struct gm_trace_pass *pass, uint32_t event, bool *is_step)
{
    const struct gm_steps *steps = &pass->out->steps;
    uint32_t tenth = (uint32_t)(pass->history.count / 10);
    size_t low = 0;
    GM_BISECT(low, steps->row_count, i,
              steps->rows[i].first_event <= event); /* rows that begin at or before the event */
    *is_step = low >= 2;
    if (!*is_step)
        return event > tenth ? event - tenth : 0;
    const struct gm_step_row *step = &steps->rows[low - 1], *before = step - 1;
    uint64_t into = event - step->first_event, length = step->first_event - before->first_event;
    return (uint32_t)(before->first_event + (into < length ? into : length));
}

static void sum_changes(const struct gm_history *h, uint32_t now, uint32_t before, struct change *by_stack)
{
    for (size_t a = 0; a < h->allocation_count; a++) {
        bool is_now = gm_history_is_active(h, a, now), was_before = gm_history_is_active(h, a, before);
        if (is_now == was_before)
            continue;
        struct change *c = &by_stack[h->stack[a]];
        if (is_now)
            c->now = gm_known_add(c->now, h->requested[a]);
        else
            c->before = gm_known_add(c->before, h->requested[a]);
        c->blocks += is_now;
    }
}

/* v[0] becomes what the site gained. */
static void net(struct gm_site_sums *sites)
{
    for (size_t i = 0; i < sites->rows.n; i++) {
        uint64_t *v = sites->rows.v[i].v;
        v[0] = v[0] > v[1] ? v[0] - v[1] : 0;
    }
    gm_site_sums_sort(sites, 0);
}

static bool fill_rows(struct gm_trace_pass *pass, struct gm_site_sums *sites, struct gm_oom_row *row)
{
    size_t n = 0;
    net(sites);
    while (n < sites->rows.n && n < MOST_ROWS && sites->rows.v[n].v[0] > 0)
        n++;
    struct gm_group_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_site_sum *sum = &sites->rows.v[i];
        struct gm_stack_id stack = {sum->stack};
        rows[i] = (struct gm_group_row){
            .label = sum->site, .bytes = sum->v[0], .blocks = sum->v[2], .peak_without = GM_REPORT_NONE};
        rows[i].frames = gm_names_frames(pass->names, stack, &rows[i].frame_count);
        ok = rows[i].frames != NULL && gm_category_of_stack(pass, sum->stack, &rows[i].category, &rows[i].color);
    }
    row->grew = rows;
    row->grew_count = ok ? n : 0;
    return ok;
}

bool gm_oom_grew(struct gm_trace_pass *pass, struct gm_oom_row *row, uint32_t event)
{
    size_t stacks = pass->snapshot->stacks.count;
    bool is_step;
    uint32_t before = moment_before(pass, event, &is_step);
    struct gm_site_sums sites = {0};
    struct change *by_stack = calloc(stacks + 1, sizeof *by_stack);
    bool ok = by_stack != NULL && gm_site_sums_start(&sites, pass);
    if (ok)
        sum_changes(&pass->history, event, before, by_stack);
    for (uint32_t s = 0; ok && s < stacks; s++) {
        const uint64_t v[GM_SITE_VALUES] = {by_stack[s].now, by_stack[s].before, by_stack[s].blocks};
        ok = (v[0] == 0 && v[1] == 0) || gm_site_sums_add(&sites, s, v);
    }
    if (before == 0)
        row->grew_since = "since the start of the trace";
    else
        row->grew_since =
            gm_arena_printf(&pass->report->arena, "since event %" PRIu32 "%s", before,
                            is_step ? ", the same place one step before" : ", a tenth of the trace before");
    ok = ok && row->grew_since != NULL && fill_rows(pass, &sites, row);
    gm_site_sums_free(&sites);
    free(by_stack);
    return ok;
}
