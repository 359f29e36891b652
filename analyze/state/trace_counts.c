/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace says without any reconstruction. One walk over the action column, newest event first: reserved bytes
 * after the last event are known (the segments), so reserved bytes before each event follow, back to the start.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/snapshot/profile.h"
#include "analyze/state/state_pass.h"

struct walk {
    const struct gm_snapshot *s;
    struct gm_reservations *reservations; /* NULL: nobody needs them */
    gm_i128 reserved,
        peak; /* below zero where the file does not list all segments, as of one memory pool: it goes on */
    bool has_memory;
};

static void undo_segment_event(struct walk *w, size_t row, enum gm_action action)
{
    uint64_t size = gm_event_size(&w->s->events, row), address = gm_event_addr(&w->s->events, row);
    if (size == GM_ABSENT)
        return;
    if (gm_action_is_growth(action))
        w->reserved -= size;
    else
        w->reserved += size;
    if (w->reserved > w->peak)
        w->peak = w->reserved;
    if (w->reservations != NULL && address != GM_ABSENT &&
        (action == GM_ACTION_SEGMENT_MAP || action == GM_ACTION_SEGMENT_UNMAP))
        w->has_memory &= gm_reservations_add(w->reservations, gm_rare_at(&w->s->events.stream, row), address,
                                             gm_sat_add(address, size));
}

/* Counts every action and undoes the segment events. Neighbours mostly differ in action, so even and odd rows count
 * apart: no addition waits for the one before. */
static void count_actions(struct walk *w, const struct gm_trace *trace, uint64_t counts[2][GM_ACTION_COUNT])
{
    const uint8_t *action = w->s->events.action;
    for (size_t row = trace->first + trace->count; row-- > trace->first;) {
        uint8_t a = action[row];
        counts[row & 1][a]++;
        if ((unsigned)(a - GM_ACTION_SEGMENT_ALLOC) <= GM_ACTION_SEGMENT_UNMAP - GM_ACTION_SEGMENT_ALLOC)
            undo_segment_event(w, row, (enum gm_action)a);
    }
}

static uint64_t time_span(const struct gm_events *events, const struct gm_trace *trace)
{
    if (!gm_events_have_times(events) || trace->count == 0)
        return GM_REPORT_NONE;
    size_t from = trace->first, to = trace->first + trace->count;
    while (from < to && gm_event_time_us(events, from) == GM_ABSENT_TIME)
        from++;
    while (to > from && gm_event_time_us(events, to - 1) == GM_ABSENT_TIME)
        to--;
    if (from == to || gm_event_time_us(events, to - 1) < gm_event_time_us(events, from))
        return GM_REPORT_NONE;
    return (uint64_t)gm_event_time_us(events, to - 1) - (uint64_t)gm_event_time_us(events, from);
}

/* Requested bytes live at event `oom`, backwards from those live at the end. What was allocated after it may have been
 * freed again, so only the difference to the end is surely a part of what was live then. */
static void measure_oom(struct gm_evidence *evidence, const struct gm_events *events, size_t oom, size_t end,
                        uint64_t live_at_end)
{
    uint64_t allocated = 0, freed = 0;
    for (size_t row = oom + 1; row < end; row++) {
        if (gm_event_size(events, row) == GM_ABSENT)
            continue;
        if (events->action[row] == GM_ACTION_ALLOC)
            allocated = gm_sat_add(allocated, gm_event_size(events, row));
        else if (events->action[row] == GM_ACTION_FREE_COMPLETED)
            freed = gm_sat_add(freed, gm_event_size(events, row));
    }
    uint64_t known = gm_sat_add(live_at_end, freed);
    if (allocated > known || known == UINT64_MAX)
        return;
    evidence->oom_live = known - allocated;
    evidence->oom_freed = gm_sat_sub(evidence->oom_live, live_at_end);
}

static void find_first_oom(struct gm_evidence *evidence, const struct gm_events *events, const struct gm_trace *trace,
                           const struct gm_device_report *device)
{
    for (size_t row = trace->first; row < trace->first + trace->count; row++) {
        if (events->action[row] != GM_ACTION_OOM)
            continue;
        evidence->oom_size = gm_event_size(events, row);
        evidence->oom_free = gm_event_addr(events, row);
        evidence->oom_device = device->device;
        measure_oom(evidence, events, row, trace->first + trace->count, device->totals.requested);
        return;
    }
}

static bool is_of_program(uint8_t action)
{
    return action == GM_ACTION_ALLOC || action == GM_ACTION_OOM || action == GM_ACTION_FREE_REQUESTED ||
           action == GM_ACTION_FREE_COMPLETED;
}

/* Errors that the call itself caught, as a convolution does that tries one algorithm after another: the next request is
 * of the same stack, or any if it has failed there several times in a row. What an error ends lets go of something. */
static uint64_t count_outlived(const struct gm_events *e, const struct gm_trace *trace)
{
    uint64_t outlived = 0;
    uint32_t failed = 0; /* the stack of an error after which nothing was made or freed so far; 0: there is none */
    bool tries = false;
    for (size_t row = trace->first; row < trace->first + trace->count; row++) {
        const uint32_t stack = gm_event_stack(e, row).v;
        const bool is_oom = e->action[row] == GM_ACTION_OOM;
        if (!is_of_program(e->action[row]))
            continue;
        if (failed != 0 && (is_oom || e->action[row] == GM_ACTION_ALLOC))
            outlived += stack == failed || (tries && !is_oom);
        tries = is_oom && failed != 0 && stack == failed;
        failed = is_oom ? stack : 0;
    }
    return outlived;
}

static bool has_expandable(const struct gm_pass *pass, const struct gm_device_pass *device)
{
    for (size_t i = device->first; i < device->first + device->count; i++)
        if (gm_segment_is_expandable(pass->snapshot, pass->order[i]))
            return true;
    return false;
}

/* A trace of torch.profiler lists no segments, but most versions state what is reserved. */
static uint64_t stated_peak_reserved(const struct gm_profile *profile, int64_t device)
{
    uint64_t peak = GM_REPORT_NONE;
    for (size_t i = 0; i < profile->memory.n; i++) {
        const struct gm_profile_memory *m = &profile->memory.v[i];
        if (gm_profile_side(m) == GM_SIDE_DEVICE && m->device == device && m->reserved != GM_PROFILE_ABSENT &&
            (peak == GM_REPORT_NONE || m->reserved > peak))
            peak = m->reserved;
    }
    return peak;
}

static bool count_device(struct gm_pass *pass, size_t d, const struct gm_trace *trace)
{
    struct gm_device_pass *device = &pass->device_passes[d];
    struct gm_trace_counts *out = &pass->devices[d].trace;
    uint64_t counts[2][GM_ACTION_COUNT] = {{0}};
    struct walk walk = {pass->snapshot, has_expandable(pass, device) ? &device->reservations : NULL,
                        pass->devices[d].totals.reserved, pass->devices[d].totals.reserved, true};
    count_actions(&walk, trace, counts);
    for (size_t a = 0; a < GM_ACTION_COUNT; a++)
        counts[0][a] += counts[1][a];
    out->events = trace->count;
    out->allocs = counts[0][GM_ACTION_ALLOC];
    out->frees = counts[0][GM_ACTION_FREE_COMPLETED];
    out->ooms = counts[0][GM_ACTION_OOM];
    out->outlived = out->ooms == 0 ? 0 : count_outlived(&pass->snapshot->events, trace);
    out->segment_allocs = counts[0][GM_ACTION_SEGMENT_ALLOC];
    out->segment_frees = counts[0][GM_ACTION_SEGMENT_FREE];
    out->segment_maps = counts[0][GM_ACTION_SEGMENT_MAP];
    out->segment_unmaps = counts[0][GM_ACTION_SEGMENT_UNMAP];
    pass->report->expandable_is_on |= out->segment_maps > 0;
    out->others = trace->count - out->allocs - out->frees - out->ooms - out->segment_allocs - out->segment_frees -
                  out->segment_maps - out->segment_unmaps - counts[0][GM_ACTION_FREE_REQUESTED];
    bool is_known = trace->count > 0 && pass->devices[d].totals.reserved != GM_REPORT_NONE;
    out->peak_reserved = is_known ? gm_clamp(walk.peak) : GM_REPORT_NONE;
    if (pass->snapshot->profile != NULL) {
        out->peak_reserved = stated_peak_reserved(pass->snapshot->profile, device->device);
        out->segment_allocs = out->segment_frees = out->segment_maps = out->segment_unmaps = GM_REPORT_NONE;
    }
    out->max_entries = trace->max_entries;
    out->overflowed = trace->overflowed == GM_TRUTH_ABSENT ? -1 : trace->overflowed == GM_TRUE;
    out->span_us = time_span(&pass->snapshot->events, trace);
    if (out->ooms > 0 && pass->report->evidence.ooms == 0)
        find_first_oom(&pass->report->evidence, &pass->snapshot->events, trace, &pass->devices[d]);
    pass->report->evidence.ooms += out->ooms;
    pass->report->evidence.events += out->events;
    gm_reservations_merge(&device->reservations);
    return walk.has_memory;
}

bool gm_pass_trace(struct gm_pass *pass)
{
    static const struct gm_trace nothing = {.max_entries = GM_ABSENT};
    pass->report->evidence.oom_size = pass->report->evidence.oom_free = pass->report->evidence.oom_live = GM_ABSENT;
    for (size_t d = 0; d < pass->device_count; d++) {
        int64_t device = pass->device_passes[d].device;
        bool has_trace = device >= 0 && (uint64_t)device < pass->snapshot->trace_count;
        const struct gm_trace *trace = has_trace ? &pass->snapshot->traces[device] : &nothing;
        if (!count_device(pass, d, trace))
            return false;
        const struct gm_trace_counts *counts = &pass->devices[d].trace;
        if (counts->overflowed == 1 ||
            (counts->overflowed < 0 && counts->events > 1 && counts->events == counts->max_entries))
            pass->report->evidence.overflowed_devices++;
    }
    return true;
}
