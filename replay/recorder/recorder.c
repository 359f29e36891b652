/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls in: each takes the lock, turns into events and marks in the rings, and keeps the table of live memory true.
 */
#include "replay/recorder/recorder_private.h"

#include <stdlib.h>
#include <string.h>

/* Stacks out of what is known: the call itself, native frames if they are asked for, the open ranges of the thread. */

static struct gm_string_id record_name(struct gm_recorder *r, const char *name)
{
    struct gm_string_id id = gm_intern_string(r->memory, name, strlen(name));
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}

static uint32_t frame(struct gm_recorder *r, struct gm_string_id name, const char *file)
{
    struct gm_frame_id id = gm_intern_frame(r->memory, name, record_name(r, file), 0);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id.v;
}

/* Resolving a name costs much, so it is done once for each place in the code. */
static uint32_t native_frame(struct gm_recorder *r, uint64_t address)
{
    uint32_t known = gm_map_get(&r->frame_at, address), before;
    if (known != GM_MAP_NONE)
        return known;
    char name[256] = "", file[256] = "";
    r->options.resolve(address, name, file);
    known = frame(r, record_name(r, name[0] != '\0' ? name : "??"), file[0] != '\0' ? file : "??");
    if (!gm_map_put(&r->frame_at, address, known, &before))
        r->is_out_of_memory = true;
    return known;
}

/* The stack of a call: the call, the code that made it, the ranges that its thread is in. */
static struct gm_stack_id record_stack(struct gm_recorder *r, const struct gm_record_call *call)
{
    uint32_t frames[1 + GM_RECORD_NATIVE + GM_RECORD_DEPTH];
    size_t depth = 0;
    frames[depth++] = frame(r, record_name(r, call->function), "CUDA");
    for (size_t i = 0; i < call->native_count && i < GM_RECORD_NATIVE && r->options.resolve != NULL; i++)
        frames[depth++] = native_frame(r, call->native[i]);
    if (call->thread != NULL) {
        uint32_t ranges = call->thread->depth < GM_RECORD_DEPTH ? call->thread->depth : GM_RECORD_DEPTH;
        for (uint32_t i = ranges; i > 0; i--)
            frames[depth++] = frame(r, (struct gm_string_id){call->thread->path[i - 1]}, "NVTX");
    }
    struct gm_stack_id id = gm_intern_stack(r->memory, frames, depth);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}

struct gm_recorder *gm_recorder_new(const struct gm_recorder_options *options)
{
    struct gm_recorder *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->options = *options;
    if (r->options.max_events == 0)
        r->options.max_events = 1;
    r->memory = gm_snapshot_memory_new();
    if (r->memory == NULL || pthread_mutex_init(&r->lock, NULL) != 0) {
        gm_snapshot_memory_free(r->memory);
        free(r);
        return NULL;
    }
    return r;
}

void gm_recorder_free(struct gm_recorder *r)
{
    if (r == NULL)
        return;
    gm_snapshot_memory_free(r->memory);
    GM_FREE_ALL(r->events.v, r->marks.v, r->lives.v, r->unused_lives.v);
    gm_map_free(&r->live_at);
    gm_map_free(&r->range_of);
    gm_map_free(&r->range_device);
    gm_map_free(&r->frame_at);
    gm_map_free(&r->pool_of);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Takes the lock; false: nothing is recorded any more, and the lock is not held. */
static bool enter(struct gm_recorder *r)
{
    pthread_mutex_lock(&r->lock);
    if (!r->is_over && !r->is_out_of_memory)
        return true;
    pthread_mutex_unlock(&r->lock);
    return false;
}

static void leave(struct gm_recorder *r)
{
    pthread_mutex_unlock(&r->lock);
}

static uint16_t device_of(struct gm_recorder *r, int64_t device)
{
    uint16_t known = device < 0 || device >= GM_RECORD_DEVICES ? 0 : (uint16_t)device;
    r->is_seen[known] = true;
    return known;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static void add_event(struct gm_recorder *r, struct gm_record_event event)
{
    if (r->events.n < r->options.max_events) {
        r->is_out_of_memory = r->is_out_of_memory || !GM_VEC_PUSH(&r->events, event);
        return;
    }
    struct gm_record_event *oldest = &r->events.v[r->next_event];
    r->dropped[oldest->device]++;
    *oldest = event;
    r->next_event = r->next_event + 1 == r->events.n ? 0 : r->next_event + 1;
}

/* The allocator's two or three events of one call, which differ in action and size. */
static void add_events(struct gm_recorder *r, const struct gm_record_live *live, struct gm_stack_id stack,
                       int64_t time_us, const enum gm_action *actions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_segment = actions[i] >= GM_ACTION_SEGMENT_ALLOC && actions[i] <= GM_ACTION_SEGMENT_UNMAP;
        add_event(r, (struct gm_record_event){.time_us = time_us,
                                              .address = live->address,
                                              .size = is_segment ? gm_record_block_size(live->size) : live->size,
                                              .stack = stack,
                                              .stream = live->stream,
                                              .pool = live->pool,
                                              .device = live->device,
                                              .action = (uint8_t)actions[i]});
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Handles of pools are addresses; the file has 1, 2, 3 ... instead. */
static struct gm_pool_id pool_id(struct gm_recorder *r, uint64_t handle)
{
    struct gm_pool_key key = {0, 0};
    if (handle != 0) {
        uint32_t number = gm_map_get(&r->pool_of, handle), before;
        if (number == GM_MAP_NONE) {
            number = (uint32_t)r->pool_of.count + 1;
            r->is_out_of_memory = r->is_out_of_memory || !gm_map_put(&r->pool_of, handle, number, &before);
        }
        key.second = number;
    }
    struct gm_pool_id id = gm_intern_pool(r->memory, key);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}

static struct gm_stream_id stream_id(struct gm_recorder *r, int64_t stream)
{
    struct gm_stream_id id = gm_intern_stream(r->memory, stream);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}

/* The memory at lives[index] goes. */
static void end_life(struct gm_recorder *r, uint32_t index, struct gm_stack_id stack, int64_t time_us)
{
    static const enum gm_action freed[] = {GM_ACTION_FREE_REQUESTED, GM_ACTION_FREE_COMPLETED, GM_ACTION_SEGMENT_FREE},
                                unmapped[] = {GM_ACTION_FREE_REQUESTED, GM_ACTION_FREE_COMPLETED,
                                              GM_ACTION_SEGMENT_UNMAP};
    struct gm_record_live *live = &r->lives.v[index];
    add_events(r, live, stack, time_us, live->is_mapped ? unmapped : freed, 3);
    gm_map_take(&r->live_at, live->address);
    live->is_used = false;
    r->is_out_of_memory = r->is_out_of_memory || !GM_VEC_PUSH(&r->unused_lives, index);
}

static void add_life(struct gm_recorder *r, const struct gm_record_live *live)
{
    uint32_t index, before;
    if (r->unused_lives.n > 0) {
        index = r->unused_lives.v[--r->unused_lives.n];
        r->lives.v[index] = *live;
    } else if (r->lives.n < GM_MAX_ID && GM_VEC_PUSH(&r->lives, *live)) {
        index = (uint32_t)r->lives.n - 1;
    } else {
        r->is_out_of_memory = true;
        return;
    }
    r->is_out_of_memory = r->is_out_of_memory || !gm_map_put(&r->live_at, live->address, index, &before);
}

static void add_memory(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size,
                       bool is_mapped)
{
    static const enum gm_action allocated[] = {GM_ACTION_SEGMENT_ALLOC, GM_ACTION_ALLOC},
                                mapped[] = {GM_ACTION_SEGMENT_MAP, GM_ACTION_ALLOC};
    if (address == 0 || size == 0 || size > GM_ABSENT - 512 || !enter(r))
        return;
    struct gm_stack_id stack = record_stack(r, call);
    uint32_t there = gm_map_get(&r->live_at, address);
    if (there != GM_MAP_NONE) { /* its free was not seen */
        r->implied_frees++;
        end_life(r, there, stack, call->time_us);
    }
    struct gm_record_live live = {.address = address,
                                  .size = size,
                                  .stack = stack,
                                  .stream = stream_id(r, call->stream),
                                  .pool = pool_id(r, call->pool),
                                  .device = device_of(r, call->device),
                                  .is_mapped = is_mapped,
                                  .is_used = true};
    if (!r->is_out_of_memory) {
        add_events(r, &live, stack, call->time_us, is_mapped ? mapped : allocated, 2);
        add_life(r, &live);
    }
    leave(r);
}

void gm_record_alloc(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size)
{
    add_memory(r, call, address, size, false);
}

void gm_record_map(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size)
{
    add_memory(r, call, address, size, true);
}

void gm_record_release(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address)
{
    if (address == 0 || !enter(r))
        return;
    uint32_t index = gm_map_get(&r->live_at, address);
    if (index == GM_MAP_NONE)
        r->unknown_frees++;
    else
        end_life(r, index, record_stack(r, call), call->time_us);
    leave(r);
}

void gm_record_unmap(struct gm_recorder *r, const struct gm_record_call *call, uint64_t address, uint64_t size)
{
    if (!enter(r))
        return;
    struct gm_stack_id stack = record_stack(r, call);
    uint64_t at = address, left = size;
    while (left > 0) { /* one call may unmap several neighbours */
        uint32_t index = gm_map_get(&r->live_at, at);
        if (index == GM_MAP_NONE || !r->lives.v[index].is_mapped || r->lives.v[index].size > left) {
            r->unknown_frees++;
            break;
        }
        uint64_t bytes = r->lives.v[index].size;
        end_life(r, index, stack, call->time_us);
        at += bytes;
        left -= bytes;
    }
    leave(r);
}

void gm_record_reset(struct gm_recorder *r, const struct gm_record_call *call)
{
    if (!enter(r))
        return;
    struct gm_stack_id stack = record_stack(r, call);
    uint16_t device = device_of(r, call->device);
    for (size_t i = 0; i < r->lives.n; i++)
        if (r->lives.v[i].is_used && r->lives.v[i].device == device)
            end_life(r, (uint32_t)i, stack, call->time_us);
    leave(r);
}

void gm_record_refused(struct gm_recorder *r, const struct gm_record_call *call, uint64_t size)
{
    if (!enter(r))
        return;
    struct gm_record_event event = {.time_us = call->time_us,
                                    .address = GM_ABSENT,
                                    .size = size,
                                    .stack = record_stack(r, call),
                                    .stream = stream_id(r, call->stream),
                                    .pool = pool_id(r, call->pool),
                                    .device = device_of(r, call->device),
                                    .action = GM_ACTION_OOM};
    if (!r->is_out_of_memory)
        add_event(r, event);
    leave(r);
}

void gm_record_free_failed(struct gm_recorder *r)
{
    if (!enter(r))
        return;
    r->failed_frees++;
    leave(r);
}

/* ---- ranges ----------------------------------------------------------------------------------------------------- */

static void add_mark(struct gm_recorder *r, uint32_t name, int64_t device, enum gm_stage stage, int64_t time_us)
{
    struct gm_record_mark mark = {.time_us = time_us,
                                  .name = name,
                                  .device = device < 0 || device >= GM_RECORD_DEVICES ? 0 : (uint16_t)device,
                                  .stage = (uint8_t)stage};
    if (name == 0)
        return;
    if (r->marks.n < r->options.max_events) {
        r->is_out_of_memory = r->is_out_of_memory || !GM_VEC_PUSH(&r->marks, mark);
        return;
    }
    r->dropped_marks++;
    r->marks.v[r->next_mark] = mark;
    r->next_mark = r->next_mark + 1 == r->marks.n ? 0 : r->next_mark + 1;
}

void gm_record_push(struct gm_recorder *r, struct gm_record_thread *thread, const char *name, int64_t time_us)
{
    if (!enter(r))
        return;
    uint32_t id = record_name(r, name).v;
    if (thread->depth < GM_RECORD_DEPTH) {
        thread->path[thread->depth] = id;
        thread->device_of[thread->depth] = thread->device;
        add_mark(r, id, thread->device, GM_STAGE_START, time_us);
    }
    thread->depth += thread->depth < UINT32_MAX;
    leave(r);
}

void gm_record_pop(struct gm_recorder *r, struct gm_record_thread *thread, int64_t time_us)
{
    if (thread->depth == 0 || !enter(r))
        return;
    thread->depth--;
    if (thread->depth < GM_RECORD_DEPTH)
        add_mark(r, thread->path[thread->depth], thread->device_of[thread->depth], GM_STAGE_END, time_us);
    leave(r);
}

void gm_record_range_start(struct gm_recorder *r, int32_t device, uint64_t id, const char *name, int64_t time_us)
{
    if (!enter(r))
        return;
    uint32_t known = record_name(r, name).v, before;
    r->is_out_of_memory = r->is_out_of_memory || !gm_map_put(&r->range_of, id, known, &before) ||
                          !gm_map_put(&r->range_device, id, device < 0 ? 0 : (uint32_t)device, &before);
    add_mark(r, known, device, GM_STAGE_START, time_us);
    leave(r);
}

void gm_record_range_end(struct gm_recorder *r, uint64_t id, int64_t time_us)
{
    if (!enter(r))
        return;
    uint32_t known = gm_map_take(&r->range_of, id), device = gm_map_take(&r->range_device, id);
    if (known != GM_MAP_NONE)
        add_mark(r, known, device, GM_STAGE_END, time_us);
    leave(r);
}

void gm_record_work(struct gm_recorder *r, int64_t device, const char *name, int64_t start_us, int64_t end_us)
{
    if (!enter(r))
        return;
    uint32_t id = record_name(r, name).v;
    add_mark(r, id, device, GM_STAGE_START, start_us);
    add_mark(r, id, device, GM_STAGE_END, end_us < start_us ? start_us : end_us);
    leave(r);
}

void gm_record_note(struct gm_recorder *r, const char *text)
{
    if (!enter(r))
        return;
    r->is_out_of_memory = r->is_out_of_memory || !gm_builder_warn(r->memory, "%s", text);
    leave(r);
}
