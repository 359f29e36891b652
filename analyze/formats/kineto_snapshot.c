/* SPDX-License-Identifier: Apache-2.0
 *
 * What a profile says of memory, as a snapshot: events of devices with the operators and functions around them as their
 * stacks, annotations. What a trace does not say: segments, which bytes of a block were requested, streams.
 */
#include "analyze/formats/decoders.h"

#include "analyze/base/address_map.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/snapshot/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A span may lie in all others, and each have a stack of its own: then all of them together were the square of the
 * file. Of each the innermost and the outermost are kept, since the outermost ones are shared. */
enum {
    FRAMES_INNER = 128,
    FRAMES_OUTER = 384,
    FRAMES_MOST = FRAMES_INNER + FRAMES_OUTER,
    FEW_INNER = 8, /* when all stacks together have more frames than FRAMES_ALL and some for each row of the file */
    FEW_OUTER = 24,
    FRAMES_FEW = FEW_INNER + FEW_OUTER,
    FRAMES_ALL = 1 << 22,
    FRAMES_A_ROW = 4
};

struct maker {
    struct gm_snapshot_memory *m;
    const struct gm_profile *p; /* &m->profile */
    bool is_host;               /* nothing is said of devices: the host is device 0 */
    struct gm_trace *traces;
    size_t trace_count;
    size_t *rows;     /* [trace_count]: of p->memory */
    uint32_t *order;  /* rows of p->memory that become events, by device, then by time */
    uint32_t *frames; /* by string: gm_frame_id of what has that name, 0: not yet */
    struct {          /* memory without addresses: what is live, by size */
        struct gm_address_map newest;
        uint32_t *before; /* [row of p->memory] */
        uint64_t *address;
        uint64_t next;
    } sized;
    uint64_t reserved; /* of the device, as the event before stated it; GM_PROFILE_ABSENT: nobody did */
    uint64_t segments; /* where the next made-up one lies */
    uint32_t *outer;   /* [span]: it or, if it lies deeper than FRAMES_OUTER, that span around it; NULL: none does */
    uint32_t last_span;
    struct gm_stack_id last_stack;
    size_t shortened, few; /* stacks that were not kept whole; those of them with FRAMES_FEW */
    size_t unpaired;       /* events without an address */
};

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* "dir/file.py(12): forward" */
static bool split_python(const char *s, size_t n, size_t *file, size_t *function, uint64_t *line)
{
    for (size_t i = n; i-- > 2;) {
        if (s[i] != ':' || s[i - 1] != ')')
            continue;
        size_t digit = i - 1;
        uint64_t value = 0, unit = 1;
        while (digit > 0 && s[digit - 1] >= '0' && s[digit - 1] <= '9' && unit < UINT64_C(1000000000)) {
            value += unit * (uint64_t)(s[--digit] - '0');
            unit *= 10;
        }
        if (digit == i - 1 || digit < 2 || s[digit - 1] != '(')
            continue;
        *file = digit - 1;
        *function = i + 1 < n && s[i + 1] == ' ' ? i + 2 : i + 1;
        *line = value;
        return true;
    }
    return false;
}

static struct gm_frame_id make_frame(struct gm_snapshot_memory *m, const char *s, size_t n)
{
    size_t file, function;
    uint64_t line;
    if (split_python(s, n, &file, &function, &line))
        return gm_intern_frame(m, gm_intern_string(m, s + function, n - function), gm_intern_string(m, s, file), line);
    return gm_intern_frame(m, gm_intern_string(m, s, n), gm_intern_string(m, "??", 2), 0);
}

/* 0: no memory, or too many. */
static uint32_t frame_of(struct maker *k, uint32_t string)
{
    if (k->frames[string] == 0) {
        size_t n;
        const char *s = gm_profile_string(k->p, string, &n);
        k->frames[string] = make_frame(k->m, s, n).v;
    }
    return k->frames[string];
}

/* Old files have the functions in one string, innermost first: "a.py(1): f;b.py(2): g". */
static bool add_call_stack(struct maker *k, uint32_t call_stack, uint32_t frames[FRAMES_MOST], size_t *depth)
{
    size_t n;
    const char *s = gm_profile_string(k->p, call_stack, &n);
    while (n > 0 && *depth < FRAMES_MOST) {
        const char *end = memchr(s, ';', n);
        const size_t length = end == NULL ? n : (size_t)(end - s);
        if (length > 0) {
            frames[*depth] = make_frame(k->m, s, length).v;
            if (frames[(*depth)++] == 0)
                return false;
        }
        n -= length + (end != NULL);
        s += length + (end != NULL);
    }
    return true;
}

/* Calls of spans go up and down: the depth of each from that of the one before. */
static bool find_outer(struct maker *k)
{
    const struct gm_profile_span *spans = k->p->spans.v;
    size_t depth = 0;
    uint32_t last = GM_PROFILE_NONE;
    for (uint32_t i = 0; i < k->p->spans.n; last = i++) {
        for (; last != spans[i].parent && last != GM_PROFILE_NONE; last = spans[last].parent)
            depth--;
        depth++;
        if (depth > FRAMES_OUTER && k->outer == NULL) {
            k->outer = malloc(k->p->spans.n * sizeof *k->outer);
            if (k->outer == NULL)
                return false;
            for (uint32_t before = 0; before < i; before++)
                k->outer[before] = before;
        }
        if (k->outer != NULL)
            k->outer[i] = depth > FRAMES_OUTER ? k->outer[spans[i].parent] : i;
    }
    return true;
}

/* *depth: of what is kept; *is_whole: that is all. */
static bool frames_around(struct maker *k, uint32_t innermost, uint32_t frames[FRAMES_MOST], size_t *depth,
                          bool *is_whole)
{
    bool has_call_stack = false;
    uint32_t i = innermost;
    while (i != GM_PROFILE_NONE && *depth < FRAMES_MOST) {
        if (*is_whole && *depth >= FRAMES_INNER && k->outer != NULL && k->outer[i] != i) {
            *is_whole = false;
            i = k->outer[i];
        }
        const struct gm_profile_span *span = &k->p->spans.v[i];
        const uint32_t calls = gm_profile_detail_of(k->p, span)->call_stack;
        /* a step's name differs from step to step, and so would the stacks */
        if (!gm_profile_is_step(k->p, span) && (frames[(*depth)++] = frame_of(k, span->name)) == 0)
            return false;
        if (!has_call_stack && calls != GM_PROFILE_NONE && !add_call_stack(k, calls, frames, depth))
            return false;
        has_call_stack = has_call_stack || calls != GM_PROFILE_NONE;
        i = span->parent;
    }
    *is_whole = *is_whole && i == GM_PROFILE_NONE;
    return true;
}

static bool stack_of(struct maker *k, uint32_t innermost, struct gm_stack_id *stack)
{
    uint32_t frames[FRAMES_MOST];
    size_t depth = 0;
    bool is_whole = true;
    if (innermost == k->last_span && k->last_stack.v != 0) {
        *stack = k->last_stack;
        return true;
    }
    if (!frames_around(k, innermost, frames, &depth, &is_whole))
        return false;
    const size_t rows = k->p->spans.n + k->p->memory.n;
    if (depth > FRAMES_FEW && k->m->stack_frames.n > FRAMES_ALL + FRAMES_A_ROW * rows) {
        memmove(frames + FEW_INNER, frames + depth - FEW_OUTER, FEW_OUTER * sizeof *frames);
        depth = FRAMES_FEW;
        is_whole = false;
        k->few++;
    }
    k->shortened += !is_whole;
    *stack = k->last_stack = gm_intern_stack(k->m, frames, depth);
    k->last_span = innermost;
    return stack->v != 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Of what has no address: the newest of that size that is not freed, or one from before the trace. */
static bool address_by_size(struct maker *k, uint32_t row, uint64_t size, bool is_alloc, uint64_t *address)
{
    uint32_t before;
    k->unpaired++;
    if (!is_alloc && (before = gm_map_get(&k->sized.newest, size)) != GM_MAP_NONE) {
        *address = k->sized.address[before];
        const uint32_t below = k->sized.before[before];
        if (below == GM_MAP_NONE)
            (void)gm_map_take(&k->sized.newest, size);
        return below == GM_MAP_NONE || gm_map_put(&k->sized.newest, size, below, &before);
    }
    *address = k->sized.address[row] = k->sized.next;
    k->sized.next += size < UINT64_C(1) << 40 ? size + 1 : UINT64_C(1) << 40;
    return !is_alloc || gm_map_put(&k->sized.newest, size, row, &k->sized.before[row]);
}

/* What is reserved has changed by a call of the driver, at the latest now: which segment it was is not known. */
static bool add_segment_event(struct maker *k, const struct gm_event_row *event, uint64_t reserved)
{
    const uint64_t before = k->reserved;
    k->reserved = reserved != GM_PROFILE_ABSENT ? reserved : before;
    if (before == GM_PROFILE_ABSENT || before == k->reserved)
        return true;
    struct gm_event_row segment = *event;
    segment.action = before < reserved ? GM_ACTION_SEGMENT_ALLOC : GM_ACTION_SEGMENT_FREE;
    segment.size = gm_gap(before, reserved);
    segment.addr = k->segments;
    k->segments += UINT64_C(1) << 20;
    return gm_builder_add_event(k->m, &segment);
}

static bool add_event(struct maker *k, uint32_t row)
{
    const struct gm_profile_memory *from = &k->p->memory.v[row];
    const bool is_alloc = from->bytes > 0;
    const uint64_t size = is_alloc ? (uint64_t)from->bytes : (uint64_t)0 - (uint64_t)from->bytes;
    struct gm_event_row event = {.action = is_alloc ? GM_ACTION_ALLOC : GM_ACTION_FREE_REQUESTED,
                                 .addr = from->address,
                                 .size = size,
                                 .time_us = gm_profile_us(k->p, from->time_ns)};
    if (!stack_of(k, from->span, &event.stack))
        return false;
    if (!add_segment_event(k, &event, from->reserved))
        return false;
    if (from->address == GM_PROFILE_ABSENT && !address_by_size(k, row, size, is_alloc, &event.addr))
        return false;
    if (!gm_builder_add_event(k->m, &event))
        return false;
    event.action = GM_ACTION_FREE_COMPLETED;
    return is_alloc || gm_builder_add_event(k->m, &event);
}

/* The device that a row is of, or -1. */
static int32_t device_of(const struct maker *k, const struct gm_profile_memory *m)
{
    const enum gm_memory_side side = gm_profile_side(m);
    if (m->bytes == 0 || side != (k->is_host ? GM_SIDE_HOST : GM_SIDE_DEVICE))
        return -1;
    return k->is_host ? 0 : m->device;
}

/* Rows by device; their counts go to k->rows. */
static enum gm_status sort_by_device(struct maker *k, struct gm_error *err)
{
    const size_t n = k->p->memory.n;
    k->is_host = true;
    for (size_t i = 0; i < n && k->is_host; i++)
        k->is_host = gm_profile_side(&k->p->memory.v[i]) != GM_SIDE_DEVICE;
    for (size_t i = 0; i < n; i++) {
        const int32_t device = device_of(k, &k->p->memory.v[i]);
        if (device >= GM_PROFILE_DEVICES)
            return gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET, "memory of device %" PRId32 ", beyond %d devices", device,
                           (int)GM_PROFILE_DEVICES);
        if (device >= 0 && (size_t)device >= k->trace_count)
            k->trace_count = (size_t)device + 1;
    }
    size_t next[GM_PROFILE_DEVICES] = {0}, total = 0;
    k->traces = gm_arena_calloc(&k->m->arena, k->trace_count, sizeof *k->traces);
    k->rows = gm_arena_calloc(&k->m->arena, k->trace_count, sizeof *k->rows);
    k->order = calloc(n + 1, sizeof *k->order);
    if (k->traces == NULL || k->rows == NULL || k->order == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const int32_t device = device_of(k, &k->p->memory.v[i]);
        if (device >= 0)
            k->rows[device]++;
    }
    for (size_t d = 0; d < k->trace_count; d++) {
        next[d] = total;
        total += k->rows[d];
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t device = device_of(k, &k->p->memory.v[i]);
        if (device >= 0)
            k->order[next[device]++] = (uint32_t)i;
    }
    return GM_OK;
}

static enum gm_status add_events(struct maker *k, struct gm_error *err)
{
    const size_t n = k->p->memory.n + 1;
    GM_TRY(sort_by_device(k, err));
    k->frames = calloc(k->p->strings.entries.n + 1, sizeof *k->frames);
    k->sized.before = malloc(n * sizeof *k->sized.before);
    k->sized.address = malloc(n * sizeof *k->sized.address);
    k->sized.next = UINT64_C(1) << 46;
    if (k->frames == NULL || k->sized.before == NULL || k->sized.address == NULL || !find_outer(k))
        return gm_no_memory(err);
    for (size_t d = 0, i = 0; d < k->trace_count; d++) {
        const size_t end = i + k->rows[d];
        k->reserved = GM_PROFILE_ABSENT;
        k->segments = UINT64_C(1) << 60;
        k->traces[d] = (struct gm_trace){.first = k->m->events.count, .max_entries = GM_ABSENT};
        for (; i < end; i++)
            if (!add_event(k, k->order[i]))
                return gm_builder_failure(k->m, GM_NO_OFFSET, err);
        k->traces[d].count = k->m->events.count - k->traces[d].first;
        gm_map_free(&k->sized.newest);
    }
    return GM_OK;
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

GM_ORDERING(by_time, struct gm_annotation, GM_UP(time_us));

static enum gm_status add_annotations(struct maker *k, struct gm_error *err)
{
    for (size_t i = 0; i < k->p->spans.n; i++) {
        const struct gm_profile_span *span = &k->p->spans.v[i];
        size_t n;
        if (span->kind != GM_SPAN_ANNOTATION && !gm_profile_is_step(k->p, span))
            continue;
        const char *s = gm_profile_string(k->p, span->name, &n);
        const struct gm_string_id name = gm_intern_string(k->m, s, n);
        struct gm_annotation a = {name, GM_STAGE_START, 0, gm_profile_us(k->p, span->start_ns)};
        bool ok = name.v != 0 && GM_VEC_PUSH(&k->m->annotations, a);
        a.stage = GM_STAGE_END;
        a.time_us = gm_profile_us(k->p, gm_profile_span_end(span));
        if (!ok || !GM_VEC_PUSH(&k->m->annotations, a))
            return gm_builder_failure(k->m, GM_NO_OFFSET, err);
    }
    GM_SORT(k->m->annotations.v, k->m->annotations.n, by_time);
    return GM_OK;
}

/* ---- what it does not know, once --------------------------------------------------------------------------------- */

/* What lived before the trace and is never freed in it is in no event. */
static bool warn_of_untold(struct maker *k)
{
    bool ok = true;
    for (size_t d = 0, i = 0; ok && !k->is_host && d < k->trace_count; d++) {
        uint64_t first = GM_PROFILE_ABSENT, freed = 0;
        GM_FREED_BY(gm_map_free) struct gm_address_map born = {.slots = NULL};
        for (size_t end = i + k->rows[d]; ok && i < end; i++) {
            const struct gm_profile_memory *m = &k->p->memory.v[k->order[i]];
            uint32_t before = GM_MAP_NONE;
            if (first == GM_PROFILE_ABSENT && m->allocated != GM_PROFILE_ABSENT)
                first = gm_profile_allocated_before(m);
            if (m->bytes > 0)
                ok = gm_map_put(&born, m->address, 1, &before);
            else if (gm_map_take(&born, m->address) == GM_MAP_NONE)
                freed = gm_known_add(freed, (uint64_t)0 - (uint64_t)m->bytes);
        }
        char size[GM_SIZE_TEXT];
        if (ok && first != GM_PROFILE_ABSENT && first > freed)
            ok = gm_builder_warn(k->m,
                                 "device %zu: %s were allocated before the trace, as stated, and are not freed in it: "
                                 "they have no event, so what is live is that much more than the trace tells",
                                 d, gm_size_format(size, first - freed));
    }
    return ok;
}

static bool warn(struct maker *k)
{
    const struct gm_profile *p = k->p;
    bool ok = true;
    if (p->odd_events > 0)
        ok = gm_builder_warn(k->m, "%" PRIu64 " events of the trace lack a time, a name or bytes and were left out",
                             p->odd_events);
    if (ok && p->memory.n == 0)
        return gm_builder_warn(k->m, "the trace has no [memory] events%s",
                               p->profile_memory ? ", though profile_memory=True was asked for"
                                                 : ": record it with profile_memory=True");
    if (ok && k->is_host)
        ok = gm_builder_warn(k->m, "the trace has the host's memory only: what is said of device 0 is of the host");
    if (ok && k->unpaired > 0)
        ok = gm_builder_warn(k->m,
                             "%zu [memory] events have no address (PyTorch before 1.10): a free is taken for that of "
                             "the newest block of its size",
                             k->unpaired);
    if (ok && k->shortened > 0)
        ok =
            gm_builder_warn(k->m,
                            "%zu times operators and functions nest too deep: of these stacks the innermost %d frames "
                            "and the outermost %d are kept, of %zu of them %d and %d",
                            k->shortened, (int)FRAMES_INNER, (int)FRAMES_OUTER, k->few, (int)FEW_INNER, (int)FEW_OUTER);
    return ok && warn_of_untold(k);
}

static enum gm_status make(struct maker *k, struct gm_snapshot *snapshot, struct gm_error *err)
{
    GM_TRY(add_events(k, err));
    GM_TRY(add_annotations(k, err));
    if (!warn(k))
        return gm_no_memory(err);
    gm_builder_publish(k->m, snapshot);
    snapshot->profile = k->p;
    snapshot->traces = k->traces;
    snapshot->trace_count = k->trace_count;
    snapshot->has_annotations = snapshot->annotation_count > 0;
    return GM_OK;
}

enum gm_status gm_kineto_snapshot(struct gm_profile *profile, struct gm_snapshot *snapshot, struct gm_error *err)
{
    struct maker k = {.m = gm_snapshot_memory_new(), .last_span = GM_PROFILE_NONE};
    *snapshot = (struct gm_snapshot){0};
    if (k.m == NULL) {
        gm_profile_free(profile);
        return gm_no_memory(err);
    }
    k.m->profile = *profile;
    *profile = (struct gm_profile){0};
    k.p = &k.m->profile;
    const enum gm_status status = make(&k, snapshot, err);
    GM_FREE_ALL(k.order, k.frames, k.outer, k.sized.before, k.sized.address);
    gm_map_free(&k.sized.newest);
    if (status != GM_OK)
        gm_snapshot_memory_free(k.m);
    return status;
}
