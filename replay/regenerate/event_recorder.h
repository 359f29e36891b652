/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run of the allocator's model leaves behind: the events that it caused, in columns, and the segments and blocks
 * that it ended in. A trace is replayed device by device; each is recorded between gm_recorder_begin and _end.
 *
 * Every event has an origin: the row of the recorded event that was being replayed. From there come, later, its time,
 * its stack and what else is known of it; what the model decides (address, size, stream, pool) stands here.
 */
#pragma once

#include "analyze/base/vec.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/history/history.h"
#include "replay/model/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_NO_ROW UINT32_MAX
#define GM_AS_RECORDED UINT32_MAX /* for a pool: stream and pool are the origin's */

/* Events; their number is `count`. */
struct gm_recorded_events {
    uint8_t *action; /* enum gm_action */
    uint64_t *addr, *size;
    uint32_t *stream; /* the model's number; when the device is done, gm_stream_id */
    uint32_t *pool;   /* the model's number, or GM_AS_RECORDED */
    uint32_t *origin; /* row in snapshot->events */
    size_t count, capacity;
};

struct gm_recorded_block {
    uint64_t address, size, requested; /* requested: GM_ABSENT if not known */
    uint32_t stack;                    /* gm_stack_id */
    uint32_t row;                      /* of the snapshot's blocks: the same block there, or GM_NO_ROW */
    uint8_t state;                     /* enum gm_block_state */
};
struct gm_recorded_segment {
    uint64_t address, size, allocated, active, requested;
    uint32_t stream, stack; /* ids */
    uint32_t row;           /* of the snapshot's segments: the same segment there, or GM_NO_ROW */
    uint32_t first_block, block_count;
    uint32_t pool; /* gm_pool_id */
    bool is_small, is_expandable;
};

struct gm_recorded_device {
    int64_t device;
    size_t first_event, event_count;
    size_t first_segment, segment_count;
    size_t first_block, first_pool;
    bool has_failed_at_start; /* its only event is an oom, with the stack of the allocation that failed: */
    uint32_t failed_stack;    /* gm_stack_id */
};

struct gm_event_recorder {
    const struct gm_snapshot *snapshot;
    struct gm_recorded_events events;
    struct GM_VEC(struct gm_recorded_device) devices; /* in the order in which they were replayed */
    struct GM_VEC(struct gm_recorded_segment) segments;
    struct GM_VEC(struct gm_recorded_block) blocks;
    struct GM_VEC(uint32_t) pools; /* gm_pool_id of the model's pools, of all devices */
    const struct gm_history *h;    /* of the device that is being recorded; NULL: none */
    bool has_no_memory;
};

/* `snapshot` is the recorded one and must outlive it. */
void gm_recorder_init(struct gm_event_recorder *r, const struct gm_snapshot *snapshot);
void gm_recorder_free(struct gm_event_recorder *r);

/* Begins device h->device, anew if it is being recorded already. The model is told to keep what PyTorch's block objects
 * know (keeps_objects) by the caller, before it adopts or does anything. */
void gm_recorder_begin(struct gm_event_recorder *r, const struct gm_history *h);

/* An event that the model caused; `origin` is an event of the device. */
void gm_recorder_put(struct gm_event_recorder *r, enum gm_action action, uint64_t addr, uint64_t size, uint32_t stream,
                     uint32_t pool, uint32_t origin);
/* The same, told by the model's sink. A kind of event that the trace did not have is not told: a free_requested where
 * only the completion is recorded. */
void gm_recorder_hear(struct gm_event_recorder *r, enum gm_allocator_event event, uint64_t address, uint64_t size,
                      uint32_t stream, uint32_t pool, uint32_t origin);
/* The recorded event as it is, unless it is one of the allocator's decisions: snapshot, annotate, unknown ones; with
 * `with_failures` also an oom. */
void gm_recorder_copy(struct gm_event_recorder *r, uint32_t event, bool with_failures);
/* The failure of a request for what was live before the trace: an allocation of the device. */
void gm_recorder_fail_at_start(struct gm_event_recorder *r, uint64_t device_free, uint64_t size, uint32_t stream,
                               uint32_t pool, uint32_t allocation);
/* Any row of the snapshot's events, as it is; while no device is being recorded. */
void gm_recorder_copy_row(struct gm_event_recorder *r, size_t row);

/* Takes back what was only tried: of the events since `mark` the growths stay. */
size_t gm_recorder_mark(const struct gm_event_recorder *r);
void gm_recorder_take_back(struct gm_event_recorder *r, size_t mark);

/* Ends the device: `model` is in the state that the snapshot shows. `stream_of` is [snapshot->stream_count]: the
 * model's number of a stream, GM_SPACE_NONE if it has none. */
void gm_recorder_end(struct gm_event_recorder *r, const struct gm_allocator *model, const uint32_t *stream_of);

/* A whole device at once: its events from `from` up to `to` as they are recorded, and the state at moment `to`, whose
 * space it is (gm_history_space_at); NULL: no segments. */
void gm_recorder_cut(struct gm_event_recorder *r, const struct gm_history *h, uint32_t from, uint32_t to,
                     const struct gm_space *space);
