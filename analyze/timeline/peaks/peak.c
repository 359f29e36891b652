/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak of requested bytes: by category, role, lifetime and call site; what the peak would be
 * without a call site; the next distinct peaks.
 */

#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- the next distinct peaks ------------------------------------------------------------------------------------ */

enum { CLEAR_FRACTION = 20 };

void gm_swings_start(struct gm_swings *swings, double peak, double bytes, uint32_t moment)
{
    *swings = (struct gm_swings){.clear = peak / CLEAR_FRACTION, .extreme = bytes, .moment = moment};
    if (swings->clear < 1)
        swings->clear = 1;
}

/* The extreme is a distinct peak. Once a height has fallen off the list it is too low to come back, so `times` is
 * right for those that stay. */
void gm_swings_keep(struct gm_swings *swings)
{
    size_t at = 0;
    while (at < swings->count && swings->kept[at].bytes > swings->extreme)
        at++;
    if (at < swings->count && swings->kept[at].bytes >= swings->extreme) {
        swings->kept[at].times++;
        return;
    }
    if (at == GM_PEAKS_KEPT)
        return;
    if (swings->count < GM_PEAKS_KEPT)
        swings->count++;
    memmove(&swings->kept[at + 1], &swings->kept[at], (swings->count - at - 1) * sizeof *swings->kept);
    swings->kept[at] = (struct gm_found_peak){swings->extreme, swings->moment, 1};
}

void gm_swings_end(struct gm_swings *swings)
{
    if (!swings->is_falling && swings->extreme > 0)
        gm_swings_keep(swings);
    swings->is_falling = true;
}

/* ---- into the report --------------------------------------------------------------------------------------------- */

struct moments {
    struct gm_trace_pass *pass;
    struct gm_next_peak *rows;
    uint32_t at[GM_PEAKS_KEPT];
    size_t count;
    struct gm_live live[GM_PEAKS_KEPT];
    struct gm_sums sums[GM_PEAKS_KEPT];
};

static bool add_allocation(struct moments *m, size_t a)
{
    const struct gm_history *h = &m->pass->history;
    for (size_t k = 0; k < m->count; k++) {
        gm_sums_hold(&m->sums[k], h, a, m->at[k]);
        if (gm_history_is_active(h, a, m->at[k]) && !gm_live_add(&m->live[k], a, gm_requested(h, a)))
            return false;
    }
    return true;
}

/* Most allocations are gone before the next of these moments comes: they are passed over quickly. */
static bool add_live(struct moments *m)
{
    const struct gm_history *h = &m->pass->history;
    uint32_t first = GM_NEVER, last = 0;
    for (size_t k = 0; k < m->count; k++) {
        first = m->at[k] < first ? m->at[k] : first;
        last = m->at[k] > last ? m->at[k] : last;
    }
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] <= last && h->freed[a] > first && !gm_is_hidden(m->pass, a) && !add_allocation(m, a))
            return false;
    return true;
}

/* Reserved bytes need the segment events before each moment. */
static void add_reserved(struct moments *m)
{
    const struct gm_history *h = &m->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    for (size_t k = 0; k < m->count; k++)
        m->sums[k].reserved = h->reserved_at_start;
    for (size_t i = 0; i < h->count; i++) {
        const int64_t bytes = gm_reserved_by(e, h->first + i);
        for (size_t k = 0; bytes != 0 && k < m->count; k++)
            m->sums[k].reserved += i < m->at[k] ? bytes : 0;
    }
}

/* The row of the step that led to the moment, or GM_NEVER. */
static uint32_t step_of(const struct gm_trace_pass *pass, uint32_t moment)
{
    return moment == 0 ? GM_NEVER : gm_trace_step_at(pass, moment - 1);
}

static bool fill(struct moments *m, struct gm_grouping *grouping)
{
    for (size_t k = 0; k < m->count; k++) {
        struct gm_next_peak *row = &m->rows[k];
        uint64_t event = gm_event_of_moment(m->at[k]);
        row->moment = (struct gm_moment){event, gm_history_time(&m->pass->history, event), gm_sums_told(&m->sums[k])};
        const uint32_t step = step_of(m->pass, m->at[k]);
        row->step = step == GM_NEVER ? GM_REPORT_NONE : step;
        struct gm_group_table table;
        if (!gm_group_rows(&table, &m->live[k], grouping, 2))
            return false;
        /* bytes without a stack have no call site: the next row names one */
        size_t top = table.count == 2 && table.rows[0].frame_count == 0 ? 1 : 0;
        row->top_label = table.count > 0 ? table.rows[top].label : NULL;
        row->top_bytes = table.count > 0 ? table.rows[top].bytes : 0;
    }
    return true;
}

static bool next_peaks(struct gm_trace_pass *pass, const struct gm_swings *swings)
{
    struct gm_peak_detail *detail = &pass->out->peak;
    struct moments m = {.pass = pass};
    m.rows = gm_arena_calloc(&pass->report->arena, GM_PEAKS_KEPT, sizeof *m.rows);
    bool ok = m.rows != NULL;
    for (size_t i = 0; ok && i < swings->count; i++) {
        if (i == 0) { /* the peak itself */
            detail->times = swings->kept[i].times;
            continue;
        }
        m.rows[m.count].times = swings->kept[i].times;
        m.at[m.count] = swings->kept[i].moment;
        ok = gm_live_start(&m.live[m.count], pass);
        m.count++;
    }
    GM_FREED_BY(gm_grouping_free) struct gm_grouping grouping = {0};
    if (ok && m.count > 0) {
        ok = gm_grouping_start(&grouping, pass, GM_GROUP_NONE, 0) && add_live(&m);
        if (ok)
            add_reserved(&m);
        ok = ok && fill(&m, &grouping);
    }
    detail->next = m.rows;
    detail->next_count = ok ? m.count : 0;
    for (size_t k = 0; k < m.count; k++)
        gm_live_free(&m.live[k]);
    return ok;
}

enum { SAVINGS = 5 };

/* How long what is live at the peak has lived and will live, in a few classes (docs/peaks.md). */
enum lifetime {
    ALWAYS,   /* before the trace, never freed */
    OLD,      /* before the trace, freed in it */
    RETAINED, /* made in the trace, never freed */
    /* Made and freed in the trace: */
    TEMPORARY,     /* freed at most TEMPORARY_EVENTS after it was made */
    ONE_STEP,      /* inside the step of the peak */
    SEVERAL_STEPS, /* not inside it */
    IN_TRACE,      /* one of these two: the peak is in no known step */
    LIFETIMES
};
enum { TEMPORARY_EVENTS = 32 };

static const struct {
    const char *name;
    uint32_t color;
} classes[LIFETIMES] = {{"before the trace, never freed", 0x4E79A7},
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
    const uint32_t row = step_of(pass, pass->peak_moment);
    return row == GM_NEVER ? NULL : &steps->rows[row];
}

static enum lifetime lifetime_of(const struct gm_history *h, const struct gm_step_row *step, size_t allocation)
{
    uint32_t born = h->born[allocation], freed = h->freed[allocation];
    if (born == 0)
        return freed == GM_NEVER ? ALWAYS : OLD;
    if (freed == GM_NEVER)
        return RETAINED;
    if (freed - born <= TEMPORARY_EVENTS)
        return TEMPORARY;
    if (step == NULL)
        return IN_TRACE;
    return born - 1 >= step->first_event && freed - 1 <= step->last_event ? ONE_STEP : SEVERAL_STEPS;
}

static const struct gm_slice *lifetime_slices(struct gm_arena *arena, const struct gm_amount amounts[LIFETIMES],
                                              size_t *count)
{
    struct gm_slice *slices = gm_arena_calloc(arena, LIFETIMES, sizeof *slices);
    for (size_t i = 0; slices != NULL && i < LIFETIMES; i++)
        slices[i] = (struct gm_slice){classes[i].name, classes[i].color, amounts[i].bytes, amounts[i].blocks};
    return gm_slices_sort(slices, LIFETIMES, count);
}

/* One walk over the allocations for all lists; `live` may be NULL. */
static bool gather(struct gm_trace_pass *pass, struct gm_live *live, struct gm_amount *categories,
                   struct gm_amount *roles, struct gm_amount *lifetimes)
{
    const struct gm_history *h = &pass->history;
    const struct gm_step_row *step = lifetime_step(pass);
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, pass->peak_moment) || gm_is_hidden(pass, a))
            continue;
        const struct gm_amount one = {gm_requested(h, a), 1};
        gm_amount_add(&categories[gm_category_of(pass, a)], &one);
        gm_amount_add(&roles[gm_role_of(pass, a)], &one);
        gm_amount_add(&lifetimes[lifetime_of(h, step, a)], &one);
        if (live != NULL && !gm_live_add(live, a, gm_requested(h, a)))
            return false;
    }
    return true;
}

static bool publish_slices(struct gm_trace_pass *pass, struct gm_live *live)
{
    struct gm_arena *arena = &pass->report->arena;
    struct gm_peak_detail *detail = &pass->out->peak;
    struct gm_amount roles[GM_ROLE_COUNT] = {0}, lifetimes[LIFETIMES] = {0};
    GM_FREED struct gm_amount *categories = calloc(gm_category_count(pass->options->rules) + 1, sizeof *categories);
    if (categories == NULL || !gather(pass, live, categories, roles, lifetimes))
        return false;
    pass->peak->categories = gm_slices_make(arena, pass->options->rules, categories, &pass->peak->category_count);
    detail->lifetimes = lifetime_slices(arena, lifetimes, &detail->lifetime_count);
    if (pass->role != NULL)
        detail->roles = gm_role_slices(arena, roles, &detail->role_count);
    return pass->peak->categories != NULL && detail->lifetimes != NULL && (pass->role == NULL || detail->roles != NULL);
}

/* A table of the live set and, for each row, the peak without it; savings and swings of the same walk over the events
 * if they are wanted. */
static bool make_table(struct gm_group_table *table, struct gm_trace_pass *pass, const struct gm_live *live,
                       enum gm_group_by by, struct gm_swings *swings, struct gm_saving *savings, size_t *saving_count)
{
    GM_FREED_BY(gm_grouping_free) struct gm_grouping grouping = {0};
    GM_FREED_BY(gm_removals_free) struct gm_removals removals = {0};
    return gm_grouping_start(&grouping, pass, by, by == GM_GROUP_NONE ? 0 : pass->options->depth) &&
           gm_group_rows(table, live, &grouping, pass->options->top) &&
           gm_removals_start(&removals, pass, table, &grouping) &&
           gm_removals_run(&removals, table->rows, swings, savings, savings == NULL ? 0 : SAVINGS, saving_count);
}

/* The table of call sites, the savings and the next peaks: one walk over the events answers all three. */
static bool publish_sites(struct gm_trace_pass *pass, const struct gm_live *live)
{
    struct gm_peak_detail *detail = &pass->out->peak;
    struct gm_saving *savings = gm_arena_calloc(&pass->report->arena, SAVINGS, sizeof *savings);
    struct gm_group_table table = {0};
    struct gm_swings swings = {0};
    const bool ok = savings != NULL &&
                    make_table(&table, pass, live, GM_GROUP_NONE, &swings, savings, &detail->saving_count) &&
                    next_peaks(pass, &swings);
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
    const enum gm_group_by by = pass->options->group;
    if (by == GM_GROUP_NONE || (by == GM_GROUP_ROLE && pass->role == NULL))
        return true;
    struct gm_group_table table = {0};
    const bool ok = make_table(&table, pass, live, by, NULL, NULL, NULL);
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
    GM_FREED_BY(gm_live_free) struct gm_live live = {0};
    if (pass->options->has_peaks_only)
        return publish_slices(pass, NULL);
    return gm_live_start(&live, pass) && publish_slices(pass, &live) && publish_sites(pass, &live) &&
           publish_groups(pass, &live);
}
