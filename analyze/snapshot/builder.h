/* SPDX-License-Identifier: Apache-2.0
 *
 * How a snapshot is filled. All growing memory of a snapshot hangs on one struct gm_snapshot_memory: interning tables
 * (strings, frames, stacks, streams, pools) and columns of rows. When loading is over the snapshot's const pointers
 * point into it, and gm_snapshot_free frees it.
 *
 * Interning functions return the id of equal content that was seen before, or a new one; ids count up from 1 in order
 * of first appearance. They return an id with v == 0 when there is no memory or when GM_MAX_ID is reached; which of the
 * two, gm_builder_failure tells.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/base/filling.h"
#include "analyze/base/hash.h"
#include "analyze/base/vec.h"
#include "analyze/snapshot/profile.h"
#include "analyze/snapshot/snapshot.h"

/* Ids and rows fit in 28 bits, so that a loader can keep a reference with its kind in four bytes: 268 million events,
 * about 20 GB of pickle. */
#define GM_MAX_ID ((UINT32_C(1) << 28) - 1)

/* An open-addressing hash set of ids; equal hashes are told apart by the table that owns the content. */
struct gm_id_set {
    uint32_t *slots;  /* 0 = free */
    uint32_t *hashes; /* by id */
    size_t hashes_capacity;
    uint32_t mask, used;
};

struct gm_rare_builder { /* see struct gm_rare_column */
    uint32_t *v;
    uint32_t all;
};

#define GM_FIELD(type, name) type name;
#define GM_RARE_FIELD(name) uint32_t name;
#define GM_OWN_COLUMN(type, name) type *name;
#define GM_OWN_RARE_COLUMN(name) struct gm_rare_builder name;

struct gm_event_row { /* one event as the decoder met it; see struct gm_events */
#define X(type, name, shift, has_places, absent) type name;
    GM_EVENT_NUMBERS(X)
#undef X
    GM_EVENT_COLUMNS(GM_FIELD)
    struct gm_stack_id stack;
    GM_EVENT_RARE_COLUMNS(GM_RARE_FIELD)
};

struct gm_segment_row {
    GM_SEGMENT_FIELDS(GM_FIELD)
    uint32_t blocks; /* the loader's reference to the list of blocks */
};

struct gm_block_build_row {
    GM_BLOCK_FIELDS(GM_FIELD)
};

/* The tables of segments and blocks while they are filled. */
struct gm_segment_columns {
    GM_SEGMENT_COLUMNS(GM_OWN_COLUMN)
};
struct gm_block_columns {
    GM_BLOCK_COLUMNS(GM_OWN_COLUMN)
};

struct gm_kept_value { /* a gm_extra whose value is still the loader's reference */
    uint32_t row, key, ref;
};
struct gm_kept_list GM_VEC(struct gm_kept_value);

/* Ids that were asked for last, by a guess at their content: decoders of JSON name the same few strings, frames and
 * stacks again and again, and a guess costs less than a hash. A wrong one costs a comparison, so files gain nothing by
 * it. */
enum { GM_RECENT = 4096 };
struct gm_recent {
    uint32_t id[GM_RECENT]; /* 0: none */
};

struct gm_snapshot_memory {
    struct gm_hash_key key;
    struct gm_recent recent_strings, recent_frames, recent_stacks;
    bool hit_limit;

    struct gm_id_set string_set, frame_set, stack_set, stream_set, pool_set;
#define GM_MEMORY_TABLES(X)                                                                                            \
    X(uint64_t, string_start)                                                                                          \
    X(char, string_bytes)                                                                                              \
    X(struct gm_string_id, frame_name)                                                                                 \
    X(struct gm_string_id, frame_filename)                                                                             \
    X(uint64_t, frame_line)                                                                                            \
    X(uint64_t, stack_start)                                                                                           \
    X(struct gm_frame_id, stack_frames)                                                                                \
    X(int64_t, streams)                                                                                                \
    X(struct gm_pool_key, pools)                                                                                       \
    X(struct gm_segment_row, segments)                                                                                 \
    X(struct gm_block_build_row, blocks)                                                                               \
    X(struct gm_annotation, annotations)                                                                               \
    X(const char *, warnings)                                                                                          \
    X(struct gm_loose, loose)
#define X(type, name) struct GM_VEC(type) name;
    GM_MEMORY_TABLES(X)
#undef X

    struct {
        size_t count, capacity;
        size_t expected; /* rows that there is to be room for from the first one on */
#define X(type, name, shift, has_places, absent) struct gm_number_builder name;
        GM_EVENT_NUMBERS(X)
#undef X
        GM_EVENT_COLUMNS(GM_OWN_COLUMN)
        struct gm_stack_id *wide_stack; /* see struct gm_stack_column */
        uint16_t *narrow_stack;
        GM_EVENT_RARE_COLUMNS(GM_OWN_RARE_COLUMN)
        bool any_time;
    } events;
    struct gm_kept_list kept[GM_ROW_KIND_COUNT];
    struct GM_VEC(uint32_t) key_orders[GM_ORDER_COUNT];
    struct GM_VEC(struct gm_extra) extras[GM_ROW_KIND_COUNT];

    struct gm_profile profile; /* of a trace of torch.profiler */
    struct gm_arena arena;     /* settings, warnings, and the final tables of segments and blocks */
};

struct gm_snapshot_memory *gm_snapshot_memory_new(void);
void gm_snapshot_memory_free(struct gm_snapshot_memory *m); /* NULL is fine */

struct gm_string_id gm_intern_string(struct gm_snapshot_memory *m, const void *bytes, size_t length);
struct gm_frame_id gm_intern_frame(struct gm_snapshot_memory *m, struct gm_string_id name, struct gm_string_id filename,
                                   uint64_t line);
/* tagged[i] & GM_MAX_ID are the frame ids, innermost first; higher bits are ignored. */
struct gm_stack_id gm_intern_stack(struct gm_snapshot_memory *m, const uint32_t *tagged, size_t depth);
struct gm_stream_id gm_intern_stream(struct gm_snapshot_memory *m, int64_t stream);
struct gm_pool_id gm_intern_pool(struct gm_snapshot_memory *m, struct gm_pool_key pool);

/* gm_put_addr, gm_put_size, gm_put_time_us: a number of the next row, for which there is room. false: no memory. */
#define X(type, name, shift, has_places, absent)                                                                       \
    static inline bool gm_put_##name(struct gm_snapshot_memory *m, size_t row, type value)                             \
    {                                                                                                                  \
        const struct gm_number_kind kind = {shift, has_places, (uint64_t)(absent)};                                    \
        return gm_number_put(&m->events.name, kind, row, (uint64_t)value);                                             \
    }
GM_EVENT_NUMBERS(X)
#undef X

/* Room for the stacks of so many rows; makes them wide. false: no memory. */
bool gm_builder_grow_stacks(struct gm_snapshot_memory *m, size_t capacity);
bool gm_builder_widen_stacks(struct gm_snapshot_memory *m);
/* The same of its stack. */
static inline bool gm_put_stack(struct gm_snapshot_memory *m, size_t row, struct gm_stack_id stack)
{
    if (m->events.wide_stack == NULL && stack.v > UINT16_MAX && !gm_builder_widen_stacks(m))
        return false;
    if (m->events.wide_stack == NULL)
        m->events.narrow_stack[row] = (uint16_t)stack.v;
    else
        m->events.wide_stack[row] = stack;
    return true;
}

/* A snapshot's event as it would be added. */
struct gm_event_row gm_event_row_at(const struct gm_events *events, size_t row);
/* Appends an event; false if there is no memory or no room for another row. */
bool gm_builder_add_event(struct gm_snapshot_memory *m, const struct gm_event_row *row);

/* The columns that all events fill: how far each is, for a thread that asks for pages. */
enum {
#define X(...) +1
    GM_EVENT_FILLINGS = 1 GM_EVENT_NUMBERS(X) GM_EVENT_COLUMNS(X)
#undef X
};
void gm_builder_tell_filling(const struct gm_snapshot_memory *m, struct gm_filling filling[GM_EVENT_FILLINGS]);

/* Adds a warning once (equal texts are said once; after 100 the rest is dropped with a last one that says so). false
 * if there is no memory. */
bool gm_builder_warn(struct gm_snapshot_memory *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes of memory that m holds. */
uint64_t gm_builder_bytes(const struct gm_snapshot_memory *m);

/* Why an interning or adding function failed, as a status with its message. */
enum gm_status gm_builder_failure(const struct gm_snapshot_memory *m, uint64_t offset, struct gm_error *err);

/* Points the snapshot's tables of strings, frames, stacks, streams, pools, events, annotations, extras and warnings
 * into m, which it owns from now on. Segments, blocks and traces are the loader's to fill. */
void gm_builder_publish(struct gm_snapshot_memory *m, struct gm_snapshot *snapshot);

/* Zeroed columns for so many rows in the arena; false: no memory. */
bool gm_new_segment_columns(struct gm_arena *arena, struct gm_segment_columns *columns, size_t rows);
bool gm_new_block_columns(struct gm_arena *arena, struct gm_block_columns *columns, size_t rows);
/* The same columns as a snapshot has them. */
struct gm_segments gm_segments_of(const struct gm_segment_columns *columns, size_t rows);
struct gm_blocks gm_blocks_of(const struct gm_block_columns *columns, size_t rows);

/* Makes plain arrays of the numbers of a loaded snapshot's events. false: no memory. */
bool gm_builder_unpack_events(struct gm_snapshot *snapshot);

/* Reorders the events: row i becomes what row order[i] was; rows that order does not name vanish. */
bool gm_builder_permute_events(struct gm_snapshot_memory *m, const uint32_t *order, size_t count);
