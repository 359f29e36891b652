/* SPDX-License-Identifier: Apache-2.0
 *
 * Out of memory: how much was asked for, what the device had left, and where every byte was. What the address space
 * looked like was noted by watch.c; what was live is summed here, in one walk over the allocations for all ooms.
 */
#include "analyze/timeline/fragmentation/fragmentation.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/timeline/trace_pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- capacity or fragmentation ----------------------------------------------------------------------------------- */

/* Capacity or fragmentation: whether the request would have been served if the cached bytes had been usable. The rule
 * with its numbers is in docs/fragmentation.md. */

enum { NEARLY_FULL_PERCENT = 95 };

static const char *const where[GM_UNUSABLE_COUNT] = {
    [GM_UNUSABLE_HOLE_TOO_SMALL] = "in holes that were too small, next to live blocks",
    [GM_UNUSABLE_WRONG_STREAM] = "for other streams",
    [GM_UNUSABLE_WRONG_POOL] = "in other pools",
    [GM_UNUSABLE_WHOLE_SEGMENT] = "in whole segments that had not gone back",
    [GM_UNUSABLE_FITS] = "in blocks that were large enough, which a rule of the allocator withheld",
};

static void add_reasons(struct gm_text *t, const struct gm_oom_row *row)
{
    char size[GM_SIZE_TEXT];
    const char *before = ": ";
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++) {
        if (row->unusable[i] == 0 || row->unusable[i] == GM_REPORT_NONE)
            continue;
        gm_text_printf(t, "%s%s %s", before, gm_size_format(size, row->unusable[i]), where[i]);
        before = ", ";
    }
}

static void tell_unknown(struct gm_text *t, const struct gm_oom_row *row)
{
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT];
    gm_size_format(a, row->asked);
    if (row->asked == GM_REPORT_NONE)
        gm_text_add(t, "The event does not say how much was asked for");
    else if (row->levels.reserved == GM_REPORT_NONE)
        gm_text_printf(t, "%s was asked for; how much was cached is not known, because the trace could not be followed",
                       a);
    else if (row->device_free == GM_REPORT_NONE)
        gm_text_printf(t, "%s was asked for and %s was cached; what the driver had left is not recorded", a,
                       gm_size_format(b, row->levels.reserved - row->levels.active));
    else
        gm_text_printf(t,
                       "%s was asked for while the driver had %s left, which is enough: a memory limit "
                       "(per_process_memory_fraction) was in force, or other processes used the device",
                       a, gm_size_format(b, row->device_free));
}

static void tell_known(struct gm_text *t, const struct gm_oom_row *row)
{
    char asked[GM_SIZE_TEXT], left[GM_SIZE_TEXT], size[GM_SIZE_TEXT], hole[GM_SIZE_TEXT];
    uint64_t cached = row->levels.reserved - row->levels.active;
    uint64_t device_free = row->device_free == GM_REPORT_NONE ? 0 : row->device_free;
    gm_text_printf(t, "%s was asked for, the driver had %s left, and ", gm_size_format(asked, row->asked),
                   row->device_free == GM_REPORT_NONE ? "an unknown amount" : gm_size_format(left, device_free));
    if (row->verdict == GM_OOM_CAPACITY) {
        gm_text_printf(t, "%s was cached", gm_size_format(size, cached));
        gm_text_printf(t, ": even with all of it %s was missing beside %s in use", gm_size_format(size, row->missing),
                       gm_size_format(hole, row->levels.active));
    } else {
        gm_text_printf(t, "%s was cached but could not be used (largest hole %s)", gm_size_format(size, cached),
                       gm_size_format(hole, row->largest_hole));
        add_reasons(t, row);
    }
    if (row->verdict == GM_OOM_BOTH)
        gm_text_printf(t, "; yet %s of %s was in use, so a little more would have failed anyway",
                       gm_size_format(size, row->levels.active),
                       gm_size_format(hole, gm_known_add(row->levels.reserved, device_free)));
    if (row->pending > 0)
        gm_text_printf(t, "; of what was in use, %s was freed and waited for other streams",
                       gm_size_format(size, row->pending));
}

static enum gm_oom_verdict judge(const struct gm_oom_row *row, uint64_t need)
{
    if (row->asked == GM_REPORT_NONE || row->levels.reserved == GM_REPORT_NONE)
        return GM_OOM_UNKNOWN;
    uint64_t cached = row->levels.reserved - row->levels.active;
    bool is_free_known = row->device_free != GM_REPORT_NONE;
    uint64_t device_free = is_free_known ? row->device_free : 0, all = gm_known_add(row->levels.reserved, device_free);
    if (is_free_known && device_free >= need)
        return GM_OOM_UNKNOWN;
    if (cached < row->asked && gm_known_add(device_free, cached) < need)
        return is_free_known ? GM_OOM_CAPACITY : GM_OOM_UNKNOWN;
    return is_free_known && row->levels.active > all / 100 * NEARLY_FULL_PERCENT ? GM_OOM_BOTH : GM_OOM_FRAGMENTATION;
}

static bool oom_judge(struct gm_arena *arena, struct gm_oom_row *row, const struct gm_rules *rules)
{
    uint64_t need = row->asked == GM_REPORT_NONE ? 0 : gm_max(row->asked, gm_rules_segment(rules, row->asked));
    struct gm_text t = {0};
    row->verdict = judge(row, need);
    if (row->verdict == GM_OOM_CAPACITY) /* what the driver had left is known then, and all of it is too little */
        row->missing = need - row->device_free - (row->levels.reserved - row->levels.active);
    if (row->verdict == GM_OOM_UNKNOWN)
        tell_unknown(&t, row);
    else
        tell_known(&t, row);
    gm_text_add_char(&t, '.');
    row->verdict_detail = gm_text_take(&t, arena);
    return row->verdict_detail != NULL;
}

/* ---- who grew ---------------------------------------------------------------------------------------------------- */

/* Who grew last before an oom: live bytes by call site now, less those at the same place one step before; without
 * steps, those a tenth of the trace before. */

enum { MOST_ROWS = 10 };

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

/* v: bytes now; blocks that are live now and made since; bytes before. */
static void sum_changes(const struct gm_history *h, uint32_t now, uint32_t before, gm_site_values *of_stack)
{
    for (size_t a = 0; a < h->allocation_count; a++) {
        const bool is_now = gm_history_is_active(h, a, now);
        if (is_now == gm_history_is_active(h, a, before))
            continue;
        uint64_t *v = of_stack[gm_stack_of(h, a)];
        v[is_now ? 0 : 2] = gm_known_add(v[is_now ? 0 : 2], gm_requested(h, a));
        v[1] += is_now;
    }
}

static bool oom_grew(struct gm_trace_pass *pass, struct gm_oom_row *row, uint32_t event)
{
    bool is_step;
    uint32_t before = moment_before(pass, event, &is_step);
    GM_FREED_BY(gm_site_sums_free) struct gm_site_sums sites = {0};
    if (!gm_site_sums_start(&sites, pass))
        return false;
    sum_changes(&pass->history, event, before, sites.of_stack);
    if (before == 0)
        row->grew_since = "since the start of the trace";
    else
        row->grew_since =
            gm_arena_printf(&pass->report->arena, "since event %" PRIu32 "%s", before,
                            is_step ? ", the same place one step before" : ", a tenth of the trace before");
    if (row->grew_since == NULL || !gm_site_sums_add_up(&sites))
        return false;
    for (size_t i = 0; i < sites.rows.n; i++) /* v[0]: what the site gained */
        sites.rows.v[i].v[0] = gm_sat_sub(sites.rows.v[i].v[0], sites.rows.v[i].v[2]);
    return gm_site_rows(&sites, MOST_ROWS, &row->grew, &row->grew_count);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < h->device_event_count && n < GM_WATCH_OOMS; i++)
        if (action[h->device_events[i]] == GM_ACTION_OOM)
            events[n++] = h->device_events[i];
    return n;
}

static void sum_live(const struct gm_trace_pass *pass, struct live *live, size_t n)
{
    const struct gm_history *h = &pass->history;
    for (size_t a = 0; a < h->allocation_count; a++)
        for (size_t i = 0; i < n; i++) {
            if (!gm_history_is_active(h, a, live[i].moment))
                continue;
            live[i].requested += gm_requested(h, a);
            gm_amount_add(&live[i].categories[pass->category[a]], &(struct gm_amount){gm_requested(h, a), 1});
            gm_amount_add(&live[i].roles[gm_role_of(pass, a)], &(struct gm_amount){gm_requested(h, a), 1});
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
        holes[i].pinned_by_bytes = gm_block_bytes(h, a);
        holes[i].pinned_by = gm_names_site(pass->names, (struct gm_stack_id){gm_stack_of(h, a)});
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
                               .asked = gm_event_size(e, at) == GM_ABSENT ? GM_REPORT_NONE : gm_event_size(e, at),
                               .device_free = gm_event_addr(e, at) == GM_ABSENT ? GM_REPORT_NONE : gm_event_addr(e, at),
                               .pool = gm_history_pool_name(arena, &wanted),
                               .stream = gm_stream_handle(pass->snapshot, gm_rare_at(&e->stream, at)),
                               .site = gm_site_or_null(pass, gm_event_stack(e, at), &ok),
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
           oom_grew(pass, row, event) && oom_judge(arena, row, &pass->watch->rules);
}

bool gm_trace_ooms(struct gm_trace_pass *pass)
{
    uint32_t events[GM_WATCH_OOMS];
    size_t n = find_events(pass, events), categories = gm_category_count(pass->options->rules);
    if (pass->watch->has_no_memory)
        return false;
    if (n == 0)
        return true;
    GM_FREED struct live *live = calloc(n, sizeof *live);
    GM_FREED struct gm_amount *amounts = calloc(n * categories, sizeof *amounts);
    struct gm_oom_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    if (live == NULL || amounts == NULL || rows == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        live[i].moment = events[i];
        live[i].categories = amounts + i * categories;
    }
    sum_live(pass, live, n);
    pass->out->ooms = rows;
    pass->out->oom_count = n;
    for (size_t i = 0; i < n; i++)
        if (!fill_row(pass, &rows[i], &live[i]))
            return false;
    return true;
}
