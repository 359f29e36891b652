/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gmtrace/traced.h"

#include "analyze/snapshot/builder.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 24;
}

static unsigned below(unsigned n)
{
    return (unsigned)(draw() % n);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct gm_string_id some_string(struct gm_snapshot_memory *m)
{
    char text[64];
    size_t n = (size_t)snprintf(text, sizeof text, "/opt/lib/part%u/name%u", below(5), below(40));
    if (below(8) == 0)
        n = below(20);
    for (size_t i = 0; i < n && below(6) == 0; i++)
        text[below((unsigned)n)] = (char)below(256); /* NULs too */
    return gm_intern_string(m, text, n);
}

static struct gm_stack_id some_stack(struct gm_snapshot_memory *m)
{
    uint32_t frames[40];
    size_t depth = below(12) == 0 ? below(40) : below(5);
    for (size_t i = 0; i < depth; i++) {
        uint64_t line = below(10) == 0 ? GM_ABSENT : below(10) == 0 ? draw() << 20 : below(30);
        struct gm_string_id name = below(20) == 0 ? (struct gm_string_id){0} : some_string(m);
        frames[i] = gm_intern_frame(m, name, some_string(m), line).v;
        must(frames[i] != 0);
    }
    return below(9) == 0 ? (struct gm_stack_id){0} : gm_intern_stack(m, frames, depth);
}

static uint64_t some_size(void)
{
    static const uint64_t sizes[] = {0, 1, 511, 512, 513, 1 << 20, 2 << 20, UINT64_MAX - 1, UINT64_MAX, 1ull << 63};
    return below(4) > 0 ? (uint64_t)below(6) << 9 : sizes[below(sizeof sizes / sizeof *sizes)];
}

static uint64_t some_address(void)
{
    switch (below(30)) {
    case 0:
        return GM_ABSENT;
    case 1:
        return draw() << 20;
    case 2:
        return below(3);
    default:
        return UINT64_C(0x7f0000000000) + ((uint64_t)below(64) << 9);
    }
}

static struct gm_event_row some_event(struct gm_snapshot_memory *m, uint64_t *time, struct gm_event_row before)
{
    static const uint8_t often[] = {GM_ACTION_ALLOC, GM_ACTION_ALLOC, GM_ACTION_FREE_REQUESTED,
                                    GM_ACTION_FREE_COMPLETED};
    *time += below(50) == 0 ? draw() << 30 : below(300);
    struct gm_event_row row = {.addr = some_address(), .size = some_size(), .time_us = (int64_t)*time};
    row.action = below(8) > 0 ? often[below(4)] : (uint8_t)below(GM_ACTION_COUNT);
    row.stack = below(3) == 0 ? some_stack(m) : before.stack;
    row.stream = below(3) == 0 ? gm_intern_stream(m, (int64_t)(below(5) == 0 ? draw() << 30 : 0)).v : before.stream;
    row.pool = below(20) == 0 ? gm_intern_pool(m, (struct gm_pool_key){below(3), draw()}).v : before.pool;
    row.compile_context = below(20) == 0 ? some_string(m).v : before.compile_context;
    row.user_metadata = below(20) == 0 ? some_string(m).v : before.user_metadata;
    row.action_name = row.action == GM_ACTION_OTHER ? some_string(m).v : 0;
    row.category = below(20) == 0 ? some_string(m).v : before.category;
    if (below(40) == 0)
        row.time_us = GM_ABSENT_TIME;
    if (below(2) == 0 && before.action == GM_ACTION_ALLOC) { /* often enough a free that fits */
        row.action = GM_ACTION_FREE_REQUESTED;
        row.addr = before.addr;
        row.size = before.size;
    } else if (below(2) == 0 && before.action == GM_ACTION_FREE_REQUESTED) {
        uint64_t now = (uint64_t)row.time_us;
        row = before;
        row.action = GM_ACTION_FREE_COMPLETED;
        row.time_us = (int64_t)now;
    }
    return row;
}

static void add_traces(struct gm_snapshot *s, struct gm_snapshot_memory *m, size_t events)
{
    struct gm_trace *traces = gm_arena_calloc(&m->arena, 4, sizeof *traces);
    must(traces != NULL);
    for (size_t i = 0, next = 0; i < 4; i++) {
        traces[i] = (struct gm_trace){next, i == 3 ? events - next : events / 4, i * 1000 - 1, (enum gm_truth)(i % 3)};
        next += traces[i].count;
    }
    s->traces = traces;
    s->trace_count = 3;
    s->host_traces = traces + 3;
    s->host_trace_count = 1;
}

void gm_random_snapshot(struct gm_snapshot *s, unsigned seed, size_t events)
{
    struct gm_snapshot_memory *m = gm_snapshot_memory_new();
    uint64_t time = UINT64_C(1700000000000000);
    struct gm_event_row row = {0};
    must(m != NULL);
    *s = (struct gm_snapshot){0};
    state = seed;
    for (size_t i = 0; i < events; i++) {
        row = some_event(m, &time, row);
        must(gm_builder_add_event(m, &row));
    }
    must(gm_builder_warn(m, "seed %u", seed));
    add_traces(s, m, events);
    gm_builder_publish(m, s);
}

void gm_regular_snapshot(struct gm_snapshot *s, size_t pairs)
{
    struct gm_snapshot_memory *m = gm_snapshot_memory_new();
    must(m != NULL);
    *s = (struct gm_snapshot){0};
    struct gm_event_row row = {.addr = 512, .size = 512, .stack = {GM_STACK_EMPTY}};
    for (size_t i = 0; i < 3 * pairs; i++) {
        row.action = (uint8_t)(GM_ACTION_ALLOC + i % 3);
        row.time_us++;
        must(gm_builder_add_event(m, &row));
    }
    add_traces(s, m, 3 * pairs);
    gm_builder_publish(m, s);
}
