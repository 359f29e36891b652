/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder without CUDA: calls in, snapshot out, every number known beforehand; also through a file.
 */
#include "analyze/formats/load.h"
#include "replay/recorder/recorder.h"
#include "tests/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1 << 20 };

static struct gm_recorder *new_recorder(size_t max_events)
{
    struct gm_recorder *r = gm_recorder_new(&(struct gm_recorder_options){.max_events = max_events});
    assert_non_null(r);
    return r;
}

static struct gm_record_call call_at(const char *function, int64_t time_us)
{
    return (struct gm_record_call){.function = function, .time_us = time_us};
}

static void alloc(struct gm_recorder *r, uint64_t address, uint64_t size, int64_t time_us)
{
    struct gm_record_call call = call_at("cudaMalloc", time_us);
    gm_record_alloc(r, &call, address, size);
}

static void release(struct gm_recorder *r, uint64_t address, int64_t time_us)
{
    struct gm_record_call call = call_at("cudaFree", time_us);
    gm_record_release(r, &call, address);
}

static struct gm_snapshot finish(struct gm_recorder *r)
{
    struct gm_snapshot s;
    struct gm_error err;
    assert_int_equal(gm_recorder_finish(r, &s, &err), GM_OK);
    gm_recorder_free(r);
    return s;
}

static const char *text(const struct gm_snapshot *s, struct gm_string_id id)
{
    static char out[4][300];
    static unsigned next;
    size_t n;
    const char *bytes = gm_string(s, id, &n);
    char *to = out[next++ % 4];
    snprintf(to, 300, "%.*s", (int)n, bytes);
    return to;
}

/* The frames of a stack as "name@file name@file". */
static const char *frames_of(const struct gm_snapshot *s, struct gm_stack_id stack)
{
    static char out[2000];
    size_t depth, used = 0;
    const struct gm_frame_id *frames = gm_stack_frames(s, stack, &depth);
    out[0] = '\0';
    for (size_t i = 0; i < depth; i++)
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%s@%s", i > 0 ? " " : "",
                                 text(s, s->frames.name[frames[i].v]), text(s, s->frames.filename[frames[i].v]));
    return out;
}

static void check_event(const struct gm_snapshot *s, size_t row, enum gm_action action, uint64_t addr, uint64_t size)
{
    assert_int_equal(s->events.action[row], action);
    assert_int_equal(gm_event_addr(&s->events, row), addr);
    assert_int_equal(gm_event_size(&s->events, row), size);
}

TEST(one_life)
{
    struct gm_recorder *r = new_recorder(100);
    alloc(r, 0x10000, 1000, 5);
    release(r, 0x10000, 7);
    alloc(r, 0x20000, 512, 9);
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(s.trace_count, 1);
    assert_int_equal(s.traces[0].count, 7);
    assert_int_equal(s.traces[0].max_entries, 100);
    assert_int_equal(s.traces[0].overflowed, GM_FALSE);
    check_event(&s, 0, GM_ACTION_SEGMENT_ALLOC, 0x10000, 1024);
    check_event(&s, 1, GM_ACTION_ALLOC, 0x10000, 1000);
    check_event(&s, 2, GM_ACTION_FREE_REQUESTED, 0x10000, 1000);
    check_event(&s, 3, GM_ACTION_FREE_COMPLETED, 0x10000, 1000);
    check_event(&s, 4, GM_ACTION_SEGMENT_FREE, 0x10000, 1024);
    check_event(&s, 6, GM_ACTION_ALLOC, 0x20000, 512);
    assert_int_equal(gm_event_time_us(&s.events, 1), 5);
    assert_int_equal(gm_event_time_us(&s.events, 4), 7);
    assert_string_equal(frames_of(&s, gm_event_stack(&s.events, 1)), "cudaMalloc@CUDA");
    assert_string_equal(frames_of(&s, gm_event_stack(&s.events, 4)), "cudaFree@CUDA");
    assert_int_equal(s.segments.count, 1);
    assert_int_equal(s.segments.total_size[0], 512);
    assert_int_equal(s.blocks.count, 1);
    assert_int_equal(s.blocks.address[0], 0x20000);
    assert_int_equal(s.blocks.state[0], GM_BLOCK_ACTIVE_ALLOCATED);
    assert_int_equal(s.warning_count, 0);
}

static int resolved;

static void name_code(uint64_t address, char name[256], char file[256])
{
    resolved++;
    snprintf(name, 256, "f%d", (int)address);
    snprintf(file, 256, "%s", address == 2 ? "" : "lib.so");
}

TEST(stacks)
{
    struct gm_recorder *r = gm_recorder_new(&(struct gm_recorder_options){.max_events = 50, .resolve = name_code});
    struct gm_record_thread thread = {0};
    const uint64_t native[] = {1, 2};
    struct gm_record_call call = {.function = "cuMemAlloc_v2",
                                  .stream = 0x30,
                                  .pool = 0xabc0,
                                  .thread = &thread,
                                  .native = native,
                                  .native_count = 2};
    gm_record_push(r, &thread, "outer", 1);
    gm_record_push(r, &thread, "inner", 2);
    gm_record_alloc(r, &call, 0x1000, 512);
    thread.device = 5; /* ranges stay with the device that they began on */
    gm_record_pop(r, &thread, 3);
    call.pool = 0xdef0;
    gm_record_alloc(r, &call, 0x2000, 512);
    gm_record_pop(r, &thread, 4);
    gm_record_pop(r, &thread, 5);
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(resolved, 2);
    assert_string_equal(frames_of(&s, s.blocks.stack[0]), "cuMemAlloc_v2@CUDA f1@lib.so f2@?? inner@NVTX outer@NVTX");
    assert_string_equal(frames_of(&s, s.blocks.stack[1]), "cuMemAlloc_v2@CUDA f1@lib.so f2@?? outer@NVTX");
    assert_int_equal(s.streams[s.segments.stream[0].v], 0x30);
    assert_int_equal(s.pools[s.segments.pool[0].v].second, 1);
    assert_int_equal(s.pools[s.segments.pool[1].v].second, 2);
    assert_int_equal(s.annotation_count, 4);
    static const char *const names[] = {"outer", "inner", "inner", "outer"};
    static const int stages[] = {GM_STAGE_START, GM_STAGE_START, GM_STAGE_END, GM_STAGE_END};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text(&s, s.annotations[i].name), names[i]);
        assert_int_equal(s.annotations[i].stage, stages[i]);
        assert_int_equal(s.annotations[i].time_us, i + 1);
        assert_int_equal(s.annotations[i].device, 0);
    }
}

TEST(mapped)
{
    struct gm_recorder *r = new_recorder(1000);
    struct gm_record_call call = call_at("cuMemMap", 1);
    call.device = 2;
    for (uint64_t i = 0; i < 6; i++)
        gm_record_map(r, &call, 0x10000000 + i * 2 * MIB, 2 * MIB);
    gm_record_unmap(r, &call, 0x10000000 + 4 * MIB, 4 * MIB); /* the third and the fourth */
    gm_record_unmap(r, &call, 0x10000000, 3 * MIB);           /* one and a half: cannot be */
    alloc(r, 0x10000000 + 12 * MIB, MIB, 2);                  /* beside it, but not mapped */
    gm_record_unmap(r, &call, 0x10000000 + 12 * MIB, MIB);
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(s.trace_count, 3);
    assert_int_equal(s.traces[1].count, 0);
    assert_int_equal(s.traces[2].count, 6 * 2 + 2 * 3 + 3);
    check_event(&s, s.traces[2].first, GM_ACTION_SEGMENT_MAP, 0x10000000, 2 * MIB);
    check_event(&s, s.traces[2].first + 14, GM_ACTION_SEGMENT_UNMAP, 0x10000000 + 4 * MIB, 2 * MIB);
    assert_int_equal(s.segments.count, 3); /* cudaMalloc of device 0; page two; pages five and six */
    assert_int_equal(s.segments.device[0], 0);
    assert_int_equal(s.segments.is_expandable[0], GM_FALSE);
    assert_int_equal(s.segments.address[1], 0x10000000 + 2 * MIB);
    assert_int_equal(s.segments.total_size[1], 2 * MIB);
    assert_int_equal(s.segments.is_expandable[2], GM_TRUE);
    assert_int_equal(s.segments.address[2], 0x10000000 + 8 * MIB);
    assert_int_equal(s.segments.total_size[2], 4 * MIB);
    assert_int_equal(s.segments.block_count[2], 2);
    assert_int_equal(s.segments.block_first[2], 2);
    assert_int_equal(s.blocks.segment[3], 2);
    assert_int_equal(s.warning_count, 1);
    assert_string_equal(s.warnings[0], "frees of memory whose allocation was not seen: 2");
}

TEST(ring)
{
    struct gm_recorder *r = new_recorder(7);
    alloc(r, 0x900000, 512, 0); /* stays; its events are lost */
    for (int i = 1; i <= 10; i++) {
        alloc(r, 0x1000 * (uint64_t)i, 512, i);
        release(r, 0x1000 * (uint64_t)i, i);
    }
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(s.traces[0].count, 7);
    assert_int_equal(s.traces[0].overflowed, GM_TRUE);
    assert_int_equal(s.traces[0].max_entries, 7);
    check_event(&s, 0, GM_ACTION_FREE_COMPLETED, 0x9000, 512); /* 2 + 50 events, the last seven of them */
    check_event(&s, 6, GM_ACTION_SEGMENT_FREE, 0xa000, 512);
    assert_int_equal(s.segments.count, 1);
    assert_int_equal(s.segments.address[0], 0x900000);
}

TEST(marks_in_order)
{
    struct gm_recorder *r = new_recorder(4);
    gm_record_work(r, 1, "late", 50, 60);
    gm_record_work(r, 0, "early", 10, 5); /* an end before its start is none */
    gm_record_work(r, 0, "last", 70, 80);
    gm_record_range_end(r, 9, 3); /* never begun */
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    static const char *const names[] = {"early", "early", "last", "last"};
    static const int64_t times[] = {10, 10, 70, 80};
    assert_int_equal(s.annotation_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text(&s, s.annotations[i].name), names[i]);
        assert_int_equal(s.annotations[i].time_us, times[i]);
    }
    assert_string_equal(s.warnings[0], "marks of ranges and kernels that were dropped, the oldest ones: 2");
}

TEST(hostile)
{
    struct gm_recorder *r = new_recorder(0);
    struct gm_record_call call = {.function = "", .device = INT64_MIN, .stream = INT64_MIN, .time_us = INT64_MAX};
    gm_record_alloc(r, &call, 1, UINT64_MAX);
    gm_record_alloc(r, &call, UINT64_MAX, UINT64_MAX - 600);
    gm_record_map(r, &call, UINT64_MAX - 1, UINT64_MAX - 700);
    gm_record_map(r, &call, 5, 0);
    gm_record_unmap(r, &call, UINT64_MAX - 1, UINT64_MAX);
    gm_record_refused(r, &call, UINT64_MAX);
    gm_record_range_start(r, INT32_MAX, UINT64_MAX, "x", INT64_MIN);
    gm_record_work(r, INT64_MAX, "y", INT64_MAX, INT64_MIN);
    call.device = GM_RECORD_DEVICES;
    gm_record_reset(r, &call);
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(s.traces[0].count, 1);
    assert_int_equal(s.segments.count, 0);
}

TEST(after_the_end)
{
    struct gm_recorder *r = new_recorder(10);
    struct gm_snapshot s, again;
    struct gm_error err;
    assert_int_equal(gm_recorder_finish(r, &s, &err), GM_OK);
    alloc(r, 0x1000, 512, 1);
    release(r, 0x1000, 2);
    gm_record_note(r, "late");
    assert_int_equal(gm_recorder_finish(r, &again, &err), GM_E_INTERNAL);
    assert_int_equal(s.events.count, 0);
    gm_snapshot_free(&s);
    gm_snapshot_free(&again);
    gm_recorder_free(r);
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 2000 };
struct work {
    struct gm_recorder *r;
    uint64_t base;
};

static void *churn(void *argument)
{
    struct work *w = argument;
    struct gm_record_thread thread = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct gm_record_call call = {.function = "cudaMalloc", .time_us = i, .thread = &thread};
        gm_record_push(w->r, &thread, "step", i);
        gm_record_alloc(w->r, &call, w->base + (uint64_t)(i % 16) * KIB, KIB);
        gm_record_pop(w->r, &thread, i);
        gm_record_release(w->r, &call, w->base + (uint64_t)(i % 16) * KIB);
    }
    struct gm_record_call call = {.function = "cudaMalloc", .time_us = 1};
    gm_record_alloc(w->r, &call, w->base, KIB);
    return NULL;
}

TEST(threads)
{
    struct gm_recorder *r = new_recorder(1000000);
    pthread_t threads[THREADS];
    struct work work[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        work[i] = (struct work){r, (i + 1) * 0x10000000};
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &work[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = finish(r);
    assert_int_equal(s.events.count, THREADS * (ROUNDS * 5 + 2));
    assert_int_equal(s.annotation_count, THREADS * ROUNDS * 2);
    assert_int_equal(s.segments.count, THREADS);
    for (size_t i = 1; i < s.events.count; i++)
        assert_true(gm_event_time_us(&s.events, i - 1) <= gm_event_time_us(&s.events, i));
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

TEST(file)
{
    char folder[] = "/tmp/recorder-XXXXXX", path[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.gmtrace", folder);
    struct gm_recorder *r = new_recorder(3);
    for (uint64_t i = 1; i <= 3; i++)
        alloc(r, i * MIB, 1000 * i, (int64_t)i);
    gm_record_work(r, 0, "kernel", 4, 5);
    gm_record_note(r, "a note");
    struct gm_snapshot s = finish(r), read;
    struct gm_error err;
    assert_int_equal(gm_record_write(&s, path, &err), GM_OK);
    assert_int_equal(gm_snapshot_load(&read, path, &(struct gm_load_options){0}, &err), GM_OK);
    assert_int_equal(read.events.count, 3);
    assert_int_equal(read.traces[0].overflowed, GM_TRUE);
    check_event(&read, 2, GM_ACTION_ALLOC, 3 * MIB, 3000);
    assert_int_equal(read.segments.count, 3);
    assert_int_equal(read.segments.total_size[2], 3072);
    assert_int_equal(read.blocks.requested[2], 3000);
    assert_string_equal(text(&read, read.annotations[0].name), "kernel");
    assert_int_equal(read.warning_count, 1);
    assert_string_equal(read.warnings[0], "a note");
    gm_snapshot_free(&read);
    snprintf(path, sizeof path, "%s/none/x.gmtrace", folder);
    assert_int_equal(gm_record_write(&s, path, &err), GM_E_WRITE);
    assert_non_null(strstr(err.message, "No such file"));
    snprintf(path, sizeof path, "%s/folder", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(gm_record_write(&s, path, &err), GM_E_WRITE); /* and leaves no half a file */
    assert_int_equal(rmdir(path), 0);
    snprintf(path, sizeof path, "%s/x.gmtrace", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    gm_snapshot_free(&s);
}

TEST(path)
{
    GM_FREED struct gm_text out = {0};
    char expected[100];
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("SLURM_PROCID", "12", 1);
    setenv("RANK", "none", 1);
    gm_record_path(&out, "a%%/%x_rank%r_%p%");
    snprintf(expected, sizeof expected, "a%%/%%x_rank12_%ld%%", (long)getpid());
    assert_string_equal(out.data, expected);
}
