/* SPDX-License-Identifier: Apache-2.0
 *
 * Out of memory: how much was asked for, what the device had left, and where every byte was. What the address space
 * looked like was noted by watch.c; what was live is summed here, in one walk over the allocations for all ooms.
 */
#include "analyze/timeline/fragmentation/fragmentation.h"

#include "analyze/state/slices.h"
#include "analyze/timeline/levels.h"

#include <stdlib.h>
#include <string.h>

/* What is live at one oom. */
struct live {
    uint32_t moment;
    struct gm_amount *categories;
    struct gm_amount roles[GM_ROLE_COUNT];
    gm_i128 requested;
};

static size_t find_events(const struct gm_trace_pass *pass, uint32_t events[GM_WATCH_OOMS])
{
    const struct gm_history *h = &pass->history;
    const uint8_t *action = h->snapshot->events.action + h->first;
    size_t n = 0;
    if (pass->report->devices[pass->index].trace.ooms == 0)
        return 0;
    for (size_t i = 0; i < h->count && n < GM_WATCH_OOMS; i++)
        if (action[i] == GM_ACTION_OOM)
            events[n++] = (uint32_t)i;
    return n;
}

static void sum_live(const struct gm_trace_pass *pass, struct live *live, size_t n)
{
    const struct gm_history *h = &pass->history;
    for (size_t a = 0; a < h->allocation_count; a++)
        for (size_t i = 0; i < n; i++) {
            if (!gm_history_is_active(h, a, live[i].moment))
                continue;
            live[i].requested += h->requested[a];
            gm_amount_add(&live[i].categories[pass->category[a]], &(struct gm_amount){h->requested[a], 1});
            gm_amount_add(&live[i].roles[gm_role_of(pass, a)], &(struct gm_amount){h->requested[a], 1});
        }
}

static bool fill_holes(struct gm_trace_pass *pass, struct gm_oom_row *row, const struct gm_watch_oom *oom)
{
    const struct gm_history *h = &pass->history;
    struct gm_hole *holes = gm_arena_calloc(&pass->report->arena, oom->hole_count, sizeof *holes);
    bool ok = holes != NULL;
    for (size_t i = 0; ok && i < oom->hole_count; i++) {
        uint32_t a = oom->holes[i].pinned_by;
        holes[i] = (struct gm_hole){.bytes = oom->holes[i].bytes, .age_us = GM_REPORT_NONE};
        if (a == GM_NEVER)
            continue;
        holes[i].pinned_by_bytes = h->block[a];
        holes[i].pinned_by = gm_names_site(pass->names, (struct gm_stack_id){h->stack[a]});
        if (h->born[a] > 0)
            holes[i].age_us = gm_time_between(h, h->born[a] - 1, oom->look.event);
        ok = holes[i].pinned_by != NULL;
    }
    row->holes = holes;
    row->hole_count = ok ? oom->hole_count : 0;
    return ok;
}

/* What only the address space knows. */
static bool fill_space(struct gm_trace_pass *pass, struct gm_oom_row *row, const struct gm_history_pool *wanted)
{
    const struct gm_watch *w = pass->watch;
    size_t i = 0;
    while (i < w->oom_count && w->ooms[i].look.event != row->event)
        i++;
    if (!pass->history.is_reconstructed || i == w->oom_count)
        return true;
    const struct gm_watch_look *look = &w->ooms[i].look;
    struct gm_unusable_sums sums = gm_unusable_of(w, look, wanted);
    row->levels.allocated = look->active - look->pending;
    row->levels.active = look->active;
    row->levels.reserved = look->reserved;
    row->pending = look->pending;
    row->largest_hole = sums.largest_hole;
    memcpy(row->unusable, sums.by_reason, sizeof row->unusable);
    return fill_holes(pass, row, &w->ooms[i]);
}

static bool fill_row(struct gm_trace_pass *pass, struct gm_oom_row *row, const struct live *live)
{
    const struct gm_history *h = &pass->history;
    const struct gm_events *e = &h->snapshot->events;
    struct gm_arena *arena = &pass->report->arena;
    uint32_t event = live->moment;
    size_t at = h->first + event;
    struct gm_history_pool wanted = gm_watch_oom_pool(h, event);
    bool ok = true;
    *row = (struct gm_oom_row){.event = event,
                               .time_us = gm_history_time(h, event),
                               .asked = e->size[at] == GM_ABSENT ? GM_REPORT_NONE : e->size[at],
                               .device_free = e->addr[at] == GM_ABSENT ? GM_REPORT_NONE : e->addr[at],
                               .pool = gm_history_pool_name(arena, &wanted),
                               .stream = gm_stream_handle(pass->snapshot, gm_rare_at(&e->stream, at)),
                               .site = gm_site_or_null(pass, e->stack[at], &ok),
                               .levels = {gm_clamp(live->requested), GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE},
                               .pending = GM_REPORT_NONE,
                               .largest_hole = GM_REPORT_NONE};
    memset(row->unusable, 0xFF, sizeof row->unusable); /* GM_REPORT_NONE */
    row->categories = gm_slices_make(arena, pass->options->rules, live->categories, &row->category_count);
    if (pass->role != NULL) {
        row->roles = gm_role_slices(arena, live->roles, &row->role_count);
        ok &= row->roles != NULL;
    }
    return ok && row->pool != NULL && row->categories != NULL && fill_space(pass, row, &wanted) &&
           gm_oom_grew(pass, row, event) && gm_oom_judge(arena, row, &pass->watch->rules);
}

bool gm_trace_ooms(struct gm_trace_pass *pass)
{
    uint32_t events[GM_WATCH_OOMS];
    size_t n = find_events(pass, events), categories = gm_category_count(pass->options->rules);
    if (pass->watch->has_no_memory)
        return false;
    if (n == 0)
        return true;
    struct live *live = calloc(n, sizeof *live);
    struct gm_amount *amounts = calloc(n * categories, sizeof *amounts);
    struct gm_oom_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    bool ok = live != NULL && amounts != NULL && rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        live[i].moment = events[i];
        live[i].categories = amounts + i * categories;
    }
    if (ok)
        sum_live(pass, live, n);
    for (size_t i = 0; ok && i < n; i++)
        ok = fill_row(pass, &rows[i], &live[i]);
    pass->out->ooms = rows;
    pass->out->oom_count = ok ? n : 0;
    free(amounts);
    free(live);
    return ok;
}
