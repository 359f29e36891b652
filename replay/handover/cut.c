/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/handover/cut.h"

#include <stdlib.h>

static int64_t time_of(const struct gm_history *h, uint32_t event)
{
    return event >= h->count ? GM_ABSENT_TIME : gm_event_time_us(&h->snapshot->events, h->first + event);
}

enum gm_status gm_cut_by_time(struct gm_cut_range *ranges, const struct gm_kept *kept, size_t of, struct gm_error *err)
{
    const struct gm_history *h = &kept->v[of].history;
    const bool has_begin = ranges[of].from > 0, has_end = ranges[of].to < h->count;
    const int64_t first = time_of(h, ranges[of].from), last = has_end ? time_of(h, ranges[of].to - 1) : 0;
    for (size_t d = 0; d < kept->count; d++) {
        const struct gm_history *other = &kept->v[d].history;
        const uint32_t count = (uint32_t)other->count;
        struct gm_cut_range range = {0, count};
        if (d == of)
            continue;
        while (has_begin && range.from < count && time_of(other, range.from) < first)
            range.from++;
        while (has_end && range.to > range.from && time_of(other, range.to - 1) > last)
            range.to--;
        if (count > 0 && ((has_begin && first == GM_ABSENT_TIME) || (has_end && last == GM_ABSENT_TIME) ||
                          ((has_begin || has_end) &&
                           (time_of(other, 0) == GM_ABSENT_TIME || time_of(other, count - 1) == GM_ABSENT_TIME))))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                           "device %lld has events, too, and without times nobody knows which are those of the same "
                           "stretch",
                           (long long)other->device);
        ranges[d] = range;
    }
    return GM_OK;
}

static enum gm_status cut_device(struct gm_event_recorder *r, struct gm_history *h, const struct gm_cut_range *range,
                                 struct gm_error *err)
{
    struct gm_space space = {.reserved = 0};
    if (!h->is_reconstructed)
        return gm_fail(err, GM_E_CORRUPT, GM_NO_OFFSET,
                       "the state of device %lld in the middle of its trace is not known: %s", (long long)h->device,
                       h->reconciliation.reason == NULL ? "the trace and the segments contradict each other"
                                                        : h->reconciliation.reason);
    const bool ok = gm_history_space_at(h, range->to, &space);
    if (ok)
        gm_recorder_cut(r, h, range->from, range->to, &space);
    gm_space_free(&space);
    return ok && !r->has_no_memory ? GM_OK : gm_no_memory(err);
}

int64_t gm_last_time(const struct gm_snapshot *s)
{
    int64_t last = GM_ABSENT_TIME;
    for (size_t d = 0; gm_events_have_times(&s->events) && d < s->trace_count; d++)
        if (s->traces[d].count > 0 && gm_event_time_us(&s->events, s->traces[d].first + s->traces[d].count - 1) > last)
            last = gm_event_time_us(&s->events, s->traces[d].first + s->traces[d].count - 1);
    return last;
}

/* Those after the last event go; extras are of rows that stay in place, since annotations are ordered by time. */
static void cut_annotations(struct gm_snapshot *s)
{
    const int64_t last = gm_last_time(s);
    size_t count = s->annotation_count;
    while (last != GM_ABSENT_TIME && count > 0 && s->annotations[count - 1].time_us > last)
        count--;
    s->annotation_count = count;
    struct gm_extras *extras = &s->extras[GM_ROW_ANNOTATION];
    while (extras->count > 0 && extras->v[extras->count - 1].row >= count)
        extras->count--;
}

/* A ring whose older events are gone says so. */
static bool mark_lost(struct gm_regenerated *out, const struct gm_kept *kept, const struct gm_cut_range *ranges)
{
    struct gm_snapshot *s = &out->snapshot;
    struct gm_trace *traces = gm_arena_calloc(&out->arena, s->trace_count, sizeof *traces);
    bool is_lost = false;
    for (size_t d = 0; traces != NULL && d < s->trace_count; d++)
        traces[d] = s->traces[d];
    for (size_t d = 0; traces != NULL && d < kept->count; d++) {
        const int64_t device = kept->v[d].history.device;
        if (ranges[d].from > 0 && device >= 0 && (uint64_t)device < s->trace_count &&
            traces[device].overflowed == GM_FALSE) {
            traces[device].overflowed = GM_TRUE;
            is_lost = true;
        }
    }
    s->traces = traces;
    return traces != NULL && (!is_lost || gm_forget_ring(s, &out->arena));
}

enum gm_status gm_cut(struct gm_regenerated *out, const struct gm_snapshot *snapshot, struct gm_kept *kept,
                      const struct gm_cut_range *ranges, struct gm_error *err)
{
    struct gm_event_recorder recorder;
    enum gm_status status = GM_OK;
    gm_recorder_init(&recorder, snapshot);
    for (size_t d = 0; status == GM_OK && d < kept->count; d++)
        if (kept->v[d].history.count > 0)
            status = cut_device(&recorder, &kept->v[d].history, &ranges[d], err);
    GM_THEN(status, gm_regenerate(out, &recorder, NULL, NULL, err));
    gm_recorder_free(&recorder);
    if (status != GM_OK)
        return status;
    cut_annotations(&out->snapshot);
    if (mark_lost(out, kept, ranges))
        return GM_OK;
    gm_regenerated_free(out);
    return gm_no_memory(err);
}
