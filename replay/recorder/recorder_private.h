/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder keeps. Names and stacks are interned as they come, in the memory that becomes the snapshot's;
 * events and marks lie in rings until the end.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/snapshot/builder.h"
#include "replay/recorder/recorder.h"

#include <pthread.h>

struct gm_record_event {
    int64_t time_us;
    uint64_t address, size;
    struct gm_stack_id stack;
    struct gm_stream_id stream;
    struct gm_pool_id pool;
    uint16_t device;
    uint8_t action; /* enum gm_action */
};

struct gm_record_mark { /* START or END of a range, a kernel, a copy */
    int64_t time_us;
    uint32_t name;
    uint16_t device;
    uint8_t stage; /* enum gm_stage */
};

struct gm_record_live {     /* memory that the program has */
    uint64_t address, size; /* as asked for */
    struct gm_stack_id stack;
    struct gm_stream_id stream;
    struct gm_pool_id pool;
    uint16_t device;
    bool is_mapped, is_used;
};

struct gm_recorder {
    struct gm_recorder_options options;
    pthread_mutex_t lock;
    struct gm_snapshot_memory *memory;
    struct GM_VEC(struct gm_record_event) events; /* a ring once it is full: the oldest lies at next_event */
    struct GM_VEC(struct gm_record_mark) marks;   /* likewise */
    size_t next_event, next_mark;
    uint64_t dropped_marks;
    struct GM_VEC(struct gm_record_live) lives;
    struct GM_VEC(uint32_t) unused_lives;
    struct gm_address_map live_at;      /* address: index in lives */
    struct gm_address_map range_of;     /* id of a range: its name */
    struct gm_address_map range_device; /* and its device */
    struct gm_address_map frame_at;     /* code address: frame */
    struct gm_address_map pool_of;      /* handle: number */
    uint64_t dropped[GM_RECORD_DEVICES];
    bool is_seen[GM_RECORD_DEVICES];
    uint64_t unknown_frees, failed_frees, implied_frees;
    bool is_out_of_memory, is_over;
};

/* The size of a block for a request. */
static inline uint64_t gm_record_block_size(uint64_t size)
{
    return size > UINT64_MAX - 511 ? size & ~UINT64_C(511) : (size + 511) & ~UINT64_C(511);
}
