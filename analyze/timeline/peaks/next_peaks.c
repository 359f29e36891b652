/* SPDX-License-Identifier: Apache-2.0
 *
 * The highest distinct peaks after the peak itself.
 */
#include "analyze/timeline/peaks/peak_parts.h"

#include "analyze/timeline/levels.h"
#include "analyze/timeline/peaks/groups.h"

#include <string.h>

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
        if (!gm_history_is_active(h, a, m->at[k]))
            continue;
        m->sums[k].requested += h->requested[a];
        m->sums[k].active += h->block[a];
        if (m->at[k] < h->let_go[a])
            m->sums[k].allocated += h->block[a];
        if (!gm_live_add(&m->live[k], a, h->requested[a]))
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
    gm_i128 reserved = gm_sums_start(m->pass).reserved;
    for (size_t k = 0; k < m->count; k++)
        m->sums[k].reserved = reserved;
    for (size_t i = 0; i < h->count; i++) {
        uint8_t action = e->action[h->first + i];
        bool adds = gm_action_is_growth(action);
        if (!adds && !gm_action_is_release(action))
            continue;
        uint64_t size = e->size[h->first + i];
        gm_i128 bytes = size == GM_ABSENT ? 0 : size > INT64_MAX ? INT64_MAX : (int64_t)size;
        for (size_t k = 0; k < m->count; k++)
            if (i < m->at[k])
                m->sums[k].reserved += adds ? bytes : -bytes;
    }
}

static uint64_t step_of(const struct gm_trace_pass *pass, uint32_t moment)
{
    if (pass->step == NULL || moment == 0 || pass->step[moment - 1] == GM_NEVER)
        return GM_REPORT_NONE;
    return pass->step[moment - 1];
}

static bool fill(struct moments *m, struct gm_grouping *grouping)
{
    for (size_t k = 0; k < m->count; k++) {
        struct gm_next_peak *row = &m->rows[k];
        uint64_t event = gm_event_of_moment(m->at[k]);
        row->moment.event = event;
        row->moment.time_us = event == GM_REPORT_NONE ? GM_REPORT_NONE : gm_history_time(&m->pass->history, event);
        row->moment.levels = gm_sums_told(&m->sums[k]);
        row->step = step_of(m->pass, m->at[k]);
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

bool gm_next_peaks(struct gm_trace_pass *pass, const struct gm_swings *swings)
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
    struct gm_grouping grouping = {0};
    if (ok && m.count > 0) {
        ok = gm_grouping_start(&grouping, pass, GM_GROUP_NONE, 0) && add_live(&m);
        if (ok)
            add_reserved(&m);
        ok = ok && fill(&m, &grouping);
    }
    detail->next = m.rows;
    detail->next_count = ok ? m.count : 0;
    gm_grouping_free(&grouping);
    for (size_t k = 0; k < m.count; k++)
        gm_live_free(&m.live[k]);
    return ok;
}
