/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot out: the rings in order, one device after the other, and a segment for all memory that is left.
 */
#include "replay/recorder/recorder_private.h"

#include "analyze/base/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* The rings from the oldest row on. */
static const struct gm_record_event *event_at(const struct gm_recorder *r, size_t i)
{
    size_t at = r->next_event + i;
    return &r->events.v[at >= r->events.n ? at - r->events.n : at];
}

static bool add_device_events(struct gm_recorder *r, uint16_t device)
{
    int64_t latest = INT64_MIN; /* threads take the time before they take the lock */
    for (size_t i = 0; i < r->events.n; i++) {
        const struct gm_record_event *e = event_at(r, i);
        if (e->device != device)
            continue;
        latest = e->time_us > latest ? e->time_us : latest;
        struct gm_event_row row = {.addr = e->address,
                                   .size = e->size,
                                   .time_us = latest,
                                   .stack = e->stack,
                                   .stream = e->stream.v,
                                   .pool = e->pool.v,
                                   .action = e->action};
        if (!gm_builder_add_event(r->memory, &row))
            return false;
    }
    return true;
}

static bool add_traces(struct gm_recorder *r, struct gm_snapshot *s)
{
    size_t devices = 0, kinds = 0;
    for (size_t d = 0; d < GM_RECORD_DEVICES; d++)
        if (r->is_seen[d]) {
            devices = d + 1;
            kinds++;
        }
    struct gm_trace *traces = gm_arena_calloc(&r->memory->arena, devices + 1, sizeof *traces);
    if (traces == NULL)
        return false;
    for (size_t d = 0; d < devices; d++) {
        traces[d] = (struct gm_trace){.first = r->memory->events.count, .max_entries = r->options.max_events};
        if (r->is_seen[d] && !add_device_events(r, (uint16_t)d))
            return false;
        traces[d].count = r->memory->events.count - traces[d].first;
        traces[d].overflowed = r->dropped[d] > 0 ? GM_TRUE : GM_FALSE;
        if (r->dropped[d] > 0 && kinds > 1 &&
            !gm_builder_warn(r->memory, "device %zu: the oldest %" PRIu64 " events were dropped", d, r->dropped[d]))
            return false;
    }
    s->traces = traces;
    s->trace_count = devices;
    return true;
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

struct ordered {
    struct gm_annotation annotation;
    size_t order;
};

GM_ORDERING(by_time, struct ordered, GM_UP(annotation.time_us) || GM_UP(order));

/* The device reports its work late, so marks are put in order of time. */
static bool add_marks(struct gm_recorder *r, struct gm_snapshot *s)
{
    size_t n = r->marks.n;
    struct ordered *sorted = malloc((n + 1) * sizeof *sorted);
    if (sorted == NULL || !GM_VEC_ROOM(&r->memory->annotations, n + 1)) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct gm_record_mark *mark = &r->marks.v[(r->next_mark + i) % n];
        sorted[i] = (struct ordered){{{mark->name}, mark->stage, mark->device, mark->time_us}, i};
    }
    qsort(sorted, n, sizeof *sorted, by_time);
    for (size_t i = 0; i < n; i++)
        r->memory->annotations.v[r->memory->annotations.n++] = sorted[i].annotation;
    free(sorted);
    s->has_annotations = true;
    return true;
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

GM_ORDERING(by_address, struct gm_record_live, GM_UP(device) || GM_UP(address));

/* Whether b continues the mapped range that ends with a. */
static bool continues(const struct gm_record_live *a, const struct gm_record_live *b)
{
    return a->is_mapped && b->is_mapped && a->device == b->device && a->stream.v == b->stream.v &&
           a->pool.v == b->pool.v && a->address + a->size == b->address;
}

static void add_segment(struct gm_segment_columns *c, size_t row, size_t block, const struct gm_record_live *live)
{
    enum { SMALL = 1 << 20 }; /* what PyTorch calls so, for want of anything better */
    c->device[row] = live->device;
    c->address[row] = live->address;
    c->stream[row] = live->stream;
    c->pool[row] = live->pool;
    c->stack[row] = live->stack;
    c->type[row] = live->size > SMALL || live->is_mapped ? GM_SEGMENT_LARGE : GM_SEGMENT_SMALL;
    c->is_expandable[row] = live->is_mapped ? GM_TRUE : GM_FALSE;
    c->block_first[row] = block;
}

static bool add_segments(struct gm_recorder *r, struct gm_snapshot *s)
{
    size_t n = 0, segments = 0;
    for (size_t i = 0; i < r->lives.n; i++)
        if (r->lives.v[i].is_used)
            r->lives.v[n++] = r->lives.v[i];
    r->lives.n = n;
    GM_SORT(r->lives.v, n, by_address);
    struct gm_segment_columns c;
    struct gm_block_columns b;
    if (!gm_new_segment_columns(&r->memory->arena, &c, n) || !gm_new_block_columns(&r->memory->arena, &b, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct gm_record_live *live = &r->lives.v[i];
        if (i == 0 || !continues(live - 1, live))
            add_segment(&c, segments++, i, live);
        size_t row = segments - 1;
        uint64_t size = gm_record_block_size(live->size);
        c.total_size[row] += size;
        c.allocated_size[row] += size;
        c.active_size[row] += size;
        c.requested_size[row] += live->size;
        c.block_count[row]++;
        b.address[i] = live->address;
        b.size[i] = size;
        b.requested[i] = live->size;
        b.state[i] = GM_BLOCK_ACTIVE_ALLOCATED;
        b.stack[i] = live->stack;
        b.segment[i] = (uint32_t)row;
    }
    s->segments = gm_segments_of(&c, segments);
    s->blocks = gm_blocks_of(&b, n);
    return true;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool add_warnings(struct gm_recorder *r)
{
    struct gm_snapshot_memory *m = r->memory;
    return (r->unknown_frees == 0 ||
            gm_builder_warn(m, "frees of memory whose allocation was not seen: %" PRIu64, r->unknown_frees)) &&
           (r->implied_frees == 0 ||
            gm_builder_warn(m, "frees that were not seen, only that the address was given out again: %" PRIu64,
                            r->implied_frees)) &&
           (r->failed_frees == 0 ||
            gm_builder_warn(m, "frees that failed, but are recorded as done: %" PRIu64, r->failed_frees)) &&
           (r->dropped_marks == 0 ||
            gm_builder_warn(m, "marks of ranges and kernels that were dropped, the oldest ones: %" PRIu64,
                            r->dropped_marks));
}

static enum gm_status finish(struct gm_recorder *r, struct gm_snapshot *s, struct gm_error *err)
{
    *s = (struct gm_snapshot){.source = {.format = "gmtrace", .pickle_protocol = -1}};
    if (r->is_over)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "the recording is over already");
    r->is_over = true;
    if (r->is_out_of_memory)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory while recording");
    if (!add_traces(r, s) || !add_marks(r, s) || !add_segments(r, s) || !add_warnings(r)) {
        *s = (struct gm_snapshot){0};
        return gm_no_memory(err);
    }
    gm_builder_publish(r->memory, s);
    r->memory = NULL; /* the snapshot owns it now */
    return GM_OK;
}

enum gm_status gm_recorder_finish(struct gm_recorder *r, struct gm_snapshot *snapshot, struct gm_error *err)
{
    pthread_mutex_lock(&r->lock);
    enum gm_status status = finish(r, snapshot, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}
