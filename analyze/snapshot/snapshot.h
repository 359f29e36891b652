/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot: everything that a PyTorch memory-snapshot file says, and nothing that we concluded from it.
 *
 * Glossary (PyTorch's own words):
 *   device      a GPU, by ordinal. One file may hold several.
 *   segment     memory that the allocator got from the driver: one cudaMalloc, or, if expandable, one contiguous
 *               mapped range of a virtual-address reservation. `reserved` bytes are the sum of segment sizes.
 *   block       a part of a segment. In a sound file the blocks of a segment tile it in address order without gaps.
 *     active_allocated     handed out and not freed: `allocated` bytes are the sum of their sizes.
 *     active_pending_free  freed by the program, but another stream may still use it. allocated + pending = `active`.
 *     inactive             cached: reserved, in nobody's use.
 *   requested   the bytes the program asked for; a block's size is that, rounded up by the allocator. Never mixed.
 *   pool        blocks are shared only inside a pool: small (requests up to 1 MiB) or large, of the default pool (0,0)
 *               or of a private one (CUDA graphs, MemPool); and inside a stream.
 *   stream      the CUDA stream that an allocation was made on, as the file's signed 64-bit handle; 0 is the default.
 *   event       one entry of a device's trace: alloc, free_requested, free_completed, segment_alloc ...
 *   trace       the events of one device, oldest first. The recorder is a ring: older events may have been lost.
 *   frame       function name, file name, line. stack: frames, innermost first.
 *   annotation  START or END of a record_function range or profiler step.
 *
 * Columns: segments, blocks and events are tables; a column is an array, and row i of all columns of a table belong
 * together. Strings, frames and stacks are interned: equal content has one id, ids are dense, id 0 is "absent".
 * Absent is never zero: an absent integer is GM_ABSENT, an absent id has v == 0.
 *
 * One owner, one free: all memory hangs on struct gm_snapshot; gm_snapshot_free releases it. Loading fills it through
 * analyze/snapshot/builder.h; afterwards it is read-only and may be read from several threads.
 */
#pragma once

#include "analyze/base/bisect.h"
#include "analyze/snapshot/number_column.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables that rows belong to. GM_ROW_TOP is the outermost dictionary, which has one row. */
enum gm_row_kind {
    GM_ROW_TOP,
    GM_ROW_SEGMENT,
    GM_ROW_BLOCK,
    GM_ROW_HOST_SEGMENT,
    GM_ROW_HOST_BLOCK,
    GM_ROW_EVENT,
    GM_ROW_FRAME,
    GM_ROW_ANNOTATION,
    GM_ROW_KIND_COUNT
};

/* A value of any shape. */
enum gm_loose_type {
    GM_LOOSE_MISSING, /* the file has no such key, although a column has a value for it */
    GM_LOOSE_NONE,
    GM_LOOSE_FALSE,
    GM_LOOSE_TRUE,
    GM_LOOSE_POSITIVE, /* bits: the number, 0 and up */
    GM_LOOSE_NEGATIVE, /* bits: two's complement */
    GM_LOOSE_REAL,     /* bits: those of the double */
    GM_LOOSE_STRING,   /* bits: gm_string_id */
    GM_LOOSE_POOL,     /* bits: gm_pool_id, a pair of integers */
    GM_LOOSE_FRAME,    /* bits: gm_frame_id */
    GM_LOOSE_STACK,    /* bits: gm_stack_id */
    GM_LOOSE_LIST,     /* `count` values from loose[bits] on */
    GM_LOOSE_DICT      /* likewise, keys and values in turn. Equal `bits` of two containers: one shared object */
};
struct gm_loose {
    uint8_t type; /* enum gm_loose_type */
    uint32_t count;
    uint64_t bits;
};

/* "Row `row` has, for `key`, this value", whatever the columns say. */
struct gm_extra {
    uint32_t row; /* frames: the gm_frame_id */
    uint32_t key; /* gm_string_id */
    struct gm_loose value;
};
struct gm_extras {
    const struct gm_extra *v; /* by row, then as in the file */
    size_t count;
};

/* One order of the keys of a kind of row that fits (nearly) all rows of the file; count 0: not known. Segments and
 * blocks with a stack that is not empty have an order of their own, since PyTorch adds those last; so do events with
 * the key `frames`. */
struct gm_key_order {
    const uint32_t *keys; /* gm_string_id */
    size_t count;
};
enum gm_order_kind {
    GM_ORDER_TOP,
    GM_ORDER_SEGMENT,
    GM_ORDER_SEGMENT_WITH_FRAMES,
    GM_ORDER_BLOCK,
    GM_ORDER_BLOCK_WITH_FRAMES,
    GM_ORDER_EVENT,
    GM_ORDER_EVENT_WITH_FRAMES,
    GM_ORDER_FRAME,
    GM_ORDER_ANNOTATION,
    GM_ORDER_COUNT
};

/* The extras of one row: extras->v[from ... from + result). */
static inline size_t gm_extras_of(const struct gm_extras *extras, uint32_t row, size_t *from)
{
    size_t first = 0;
    GM_BISECT(first, extras->count, i, extras->v[i].row < row);
    size_t end = *from = first;
    while (end < extras->count && extras->v[end].row == row)
        end++;
    return end - first;
}

#define GM_ABSENT UINT64_MAX     /* an integer that the file does not give */
#define GM_ABSENT_TIME INT64_MIN /* likewise for times */

/* Ids index the interning tables. Each has its own type so that they cannot be mixed up; v == 0 is "absent". */
struct gm_string_id {
    uint32_t v;
};
struct gm_frame_id {
    uint32_t v;
};
struct gm_stack_id {
    uint32_t v;
}; /* v == GM_STACK_EMPTY: present, but without frames */
struct gm_stream_id {
    uint32_t v;
}; /* index into snapshot->streams */
struct gm_pool_id {
    uint32_t v;
}; /* index into snapshot->pools */
enum { GM_STACK_EMPTY = 1 };

/* X(name, the file's word) */
#define GM_BLOCK_STATE_MAP(X)                                                                                          \
    X(INACTIVE, "inactive")                                                                                            \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                                            \
    X(ACTIVE_PENDING_FREE, "active_pending_free")
#define GM_SEGMENT_TYPE_MAP(X) X(SMALL, "small") X(LARGE, "large")
#define GM_STAGE_MAP(X) X(START, "START") X(END, "END")
#define X(name, text) GM_BLOCK_##name,
enum gm_block_state { GM_BLOCK_STATE_MAP(X) };
#undef X
#define X(name, text) GM_SEGMENT_##name,
enum gm_segment_type { GM_SEGMENT_TYPE_ABSENT, GM_SEGMENT_TYPE_MAP(X) };
#undef X
extern const char *const gm_block_states[], *const gm_segment_types[]; /* their words; NULL: absent */
enum gm_truth { GM_TRUTH_ABSENT, GM_FALSE, GM_TRUE };

/* What an event says happened; the words are the file's. `other` is an action that this program does not know. */
#define GM_ACTION_MAP(X)                                                                                               \
    X(OTHER, "other")                                                                                                  \
    X(ALLOC, "alloc")                                                                                                  \
    X(FREE_REQUESTED, "free_requested")                                                                                \
    X(FREE_COMPLETED, "free_completed")                                                                                \
    X(SEGMENT_ALLOC, "segment_alloc")                                                                                  \
    X(SEGMENT_FREE, "segment_free")                                                                                    \
    X(SEGMENT_MAP, "segment_map")                                                                                      \
    X(SEGMENT_UNMAP, "segment_unmap")                                                                                  \
    X(SNAPSHOT, "snapshot")                                                                                            \
    X(OOM, "oom")                                                                                                      \
    X(USER_DEFINED, "user_defined")                                                                                    \
    X(ANNOTATE, "annotate")                                                                                            \
    X(FREE, "free")                                                                                                    \
    X(WORKSPACE_SNAPSHOT, "workspace_snapshot")
enum gm_action {
#define X(name, text) GM_ACTION_##name,
    GM_ACTION_MAP(X)
#undef X
        GM_ACTION_COUNT
};
const char *gm_action_name(enum gm_action action);

/* An enum gm_action, however it is stored. A block is free again; memory comes from the device, or goes back to it. */
static inline bool gm_action_is_free(unsigned action)
{
    return action == GM_ACTION_FREE_COMPLETED || action == GM_ACTION_FREE;
}
static inline bool gm_action_is_growth(unsigned action)
{
    return action == GM_ACTION_SEGMENT_ALLOC || action == GM_ACTION_SEGMENT_MAP;
}
static inline bool gm_action_is_release(unsigned action)
{
    return action == GM_ACTION_SEGMENT_FREE || action == GM_ACTION_SEGMENT_UNMAP;
}
/* One of these, or memory that the device has not. */
static inline bool gm_action_is_of_device(unsigned action)
{
    return gm_action_is_growth(action) || gm_action_is_release(action) || action == GM_ACTION_OOM;
}

/* ---- interned tables: row 0 is the absent one --------------------------------------------------------------- */

struct gm_strings {
    const uint64_t *start; /* count + 1 offsets into bytes; string i is bytes[start[i] .. start[i + 1]) */
    const char *bytes;
    uint32_t count;
};
struct gm_frames {
    const struct gm_string_id *name, *filename;
    const uint64_t *line; /* GM_ABSENT if the file gives none */
    uint32_t count;
};
struct gm_stacks {
    const uint64_t *start; /* count + 1 offsets into frame_ids; innermost frame first */
    const struct gm_frame_id *frame_ids;
    uint32_t count;
};
struct gm_pool_key {
    uint64_t first, second;
}; /* (0,0) is the default pool */

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* The columns of each table, once: X(type, name), and for events of the rare ones X(name). The structs below are made
 * of these lists, and so is all that makes, copies or frees columns (analyze/snapshot/builder.h). */
#define GM_COLUMN(type, name) const type *name;
#define GM_RARE_COLUMN(name) struct gm_rare_column name;

#define GM_SEGMENT_FIELDS(X)                                                                                           \
    X(int64_t, device)                                                                                                 \
    X(uint64_t, address)                                                                                               \
    X(uint64_t, total_size)                                                                                            \
    X(uint64_t, allocated_size) /* this and the next two as the file states them; GM_ABSENT if not */                  \
    X(uint64_t, active_size)                                                                                           \
    X(uint64_t, requested_size)                                                                                        \
    X(struct gm_stream_id, stream)                                                                                     \
    X(struct gm_pool_id, pool) /* absent in old files */                                                               \
    X(struct gm_stack_id, stack)                                                                                       \
    X(uint8_t, type)          /* enum gm_segment_type */                                                               \
    X(uint8_t, is_expandable) /* enum gm_truth */
#define GM_SEGMENT_COLUMNS(X)                                                                                          \
    GM_SEGMENT_FIELDS(X)                                                                                               \
    X(size_t, block_first) /* blocks of segment i: rows [block_first[i], block_first[i] + block_count[i]) */           \
    X(size_t, block_count)
struct gm_segments {
    size_t count;
    GM_SEGMENT_COLUMNS(GM_COLUMN)
};

#define GM_BLOCK_FIELDS(X)                                                                                             \
    X(uint64_t, address) /* where the file gives none: segment address + sizes of the blocks before */                 \
    X(uint64_t, size)                                                                                                  \
    X(uint64_t, requested) /* requested_size, or history[0].real_size in legacy files, or GM_ABSENT */                 \
    X(uint8_t, state)      /* enum gm_block_state */                                                                   \
    X(struct gm_stack_id, stack)
#define GM_BLOCK_COLUMNS(X)                                                                                            \
    GM_BLOCK_FIELDS(X)                                                                                                 \
    X(uint32_t, segment) /* row in segments */
struct gm_blocks {
    size_t count;
    GM_BLOCK_COLUMNS(GM_COLUMN)
};

/* A column that rarely says anything: `v` is NULL while every row equals `all`. Read it with gm_rare_at. */
struct gm_rare_column {
    const uint32_t *v;
    uint32_t all;
};
static inline uint32_t gm_rare_at(const struct gm_rare_column *column, size_t row)
{
    return column->v == NULL ? column->all : column->v[row];
}

/* Stacks in two bytes each, unless one of them has a larger number. Read it with gm_event_stack. */
struct gm_stack_column {
    const struct gm_stack_id *wide; /* NULL: they are `narrow` */
    const uint16_t *narrow;
};

/* All devices' events; device d has the rows of traces[d]. */
#define GM_EVENT_COLUMNS(X) X(uint8_t, action) /* enum gm_action */
/* X(type, name, and what struct gm_number_kind says): read with gm_event_addr, gm_event_size, gm_event_time_us. */
#define GM_EVENT_NUMBERS(X)                                                                                            \
    X(uint64_t, addr, 9, true, GM_ABSENT)  /* an address; for oom: device_free, the bytes the driver had left */       \
    X(uint64_t, size, 0, false, GM_ABSENT) /* bytes; alloc and frees: requested bytes; segment events: of segments */  \
    X(int64_t, time_us, 0, true, GM_ABSENT_TIME) /* microseconds since 1970; zero if no event has a time */
#define GM_EVENT_RARE_COLUMNS(X)                 /* in the order of .gmtrace */                                        \
    X(stream)                                    /* gm_stream_id */                                                    \
    X(pool)                                      /* gm_pool_id */                                                      \
    X(compile_context)                           /* this and those that follow: gm_string_id */                        \
    X(user_metadata)                                                                                                   \
    X(action_name) /* the file's word where action is GM_ACTION_OTHER */                                               \
    X(category)    /* only in files made from a profiler run */
struct gm_events {
    size_t count;
#define X(type, name, shift, has_places, absent) struct gm_number_column name;
    GM_EVENT_NUMBERS(X)
#undef X
    GM_EVENT_COLUMNS(GM_COLUMN)
    struct gm_stack_column stack;
    GM_EVENT_RARE_COLUMNS(GM_RARE_COLUMN)
};
static inline struct gm_stack_id gm_event_stack(const struct gm_events *events, size_t row)
{
    return events->stack.wide != NULL ? events->stack.wide[row] : (struct gm_stack_id){events->stack.narrow[row]};
}
static inline uint64_t gm_event_addr(const struct gm_events *events, size_t row)
{
    return gm_number_at(&events->addr, row);
}
static inline uint64_t gm_event_size(const struct gm_events *events, size_t row)
{
    return gm_number_at(&events->size, row);
}
/* 0 where the file does not say. */
static inline uint64_t gm_event_bytes(const struct gm_events *events, size_t row)
{
    const uint64_t size = gm_event_size(events, row);
    return size == GM_ABSENT ? 0 : size;
}
static inline bool gm_events_have_times(const struct gm_events *events)
{
    return events->time_us.near != NULL || events->time_us.plain != NULL;
}
static inline int64_t gm_event_time_us(const struct gm_events *events, size_t row)
{
    return gm_events_have_times(events) ? (int64_t)gm_number_at(&events->time_us, row) : GM_ABSENT_TIME;
}

/* The events of one device: event rows [first, first + count). The index in the array is the device's ordinal. */
struct gm_trace {
    size_t first, count;
    uint64_t max_entries;     /* capacity of the recorder's ring, GM_ABSENT if not given */
    enum gm_truth overflowed; /* older events were overwritten */
};

#define X(name, text) GM_STAGE_##name,
enum gm_stage { GM_STAGE_OTHER, GM_STAGE_MAP(X) };
#undef X
extern const char *const gm_stages[]; /* the words of them */
struct gm_annotation {
    struct gm_string_id name;
    uint8_t stage; /* enum gm_stage */
    int64_t device, time_us;
};

/* allocator_settings, flattened: "roundup_power2_divisions.256" for nested keys. */
enum gm_setting_type { GM_SETTING_NONE, GM_SETTING_BOOL, GM_SETTING_INTEGER, GM_SETTING_REAL, GM_SETTING_STRING };
struct gm_setting {
    const char *key; /* owned by the snapshot */
    enum gm_setting_type type;
    int64_t integer; /* and bools: 0 or 1 */
    double real;
    struct gm_string_id string;
};

enum gm_compression { GM_COMPRESSION_NONE, GM_COMPRESSION_GZIP, GM_COMPRESSION_ZSTD };
const char *gm_compression_name(enum gm_compression compression); /* the words of analysis.json */

/* Where the file came from and what loading it met. */
struct gm_source_info {
    const char *path;       /* as given by the user; "-" is standard input */
    uint64_t disk_bytes;    /* size on disk (bytes read, if from a pipe) */
    uint64_t decoded_bytes; /* after decompression and base64 */
    const char *format;     /* a literal, the word of analysis.json: "pickle", as in analyze/formats/decoders.h */
    enum gm_compression compression;
    int pickle_protocol; /* -1 if it is no pickle */
    bool is_bare_segment_list;
    bool is_salvaged;            /* damaged; what was complete before salvaged_offset was kept */
    uint64_t salvaged_offset;    /* decoded byte offset where reading stopped */
    const char *salvaged_reason; /* one clean line, or NULL */
};

struct gm_profile;
struct gm_snapshot {
    struct gm_source_info source;

    struct gm_strings strings;
    struct gm_frames frames;
    struct gm_stacks stacks;
    const int64_t *streams; /* [0] is unused; stream_count includes it */
    uint32_t stream_count;
    const struct gm_pool_key *pools; /* likewise */
    uint32_t pool_count;

    struct gm_segments segments;      /* in the file's order */
    struct gm_blocks blocks;          /* in segment order, then the file's order */
    struct gm_segments host_segments; /* pinned host memory, where the file has it */
    struct gm_blocks host_blocks;
    struct gm_events events;
    const struct gm_trace *traces; /* one per device ordinal; counts may be 0 */
    size_t trace_count;
    const struct gm_trace *host_traces; /* likewise for pinned host memory; rows are in events too */
    size_t host_trace_count;

    const struct gm_setting *settings; /* in the file's order; has_settings tells "none recorded" from "empty" */
    size_t setting_count;
    bool has_settings;
    const struct gm_annotation *annotations; /* in the file's order */
    size_t annotation_count;
    bool has_annotations;

    /* What no column holds, see analyze/snapshot/snapshot.h. Only writing needs it; all of it may be empty. */
    struct gm_extras extras[GM_ROW_KIND_COUNT];
    struct gm_key_order key_orders[GM_ORDER_COUNT];
    struct gm_loose settings_tree; /* allocator_settings as they were nested; GM_LOOSE_MISSING: only `settings` */
    const struct gm_loose *loose;  /* what lists and dictionaries among the loose values consist of */
    size_t loose_count;

    const char *const *warnings; /* what was odd about the file, one clean line each, each said once */
    size_t warning_count;

    const struct gm_profile *profile; /* the trace of torch.profiler that it was made of, see profile.h; else NULL */

    struct gm_snapshot_memory *memory; /* private: what gm_snapshot_free frees */
};

/* Frees everything and zeroes *snapshot; a zeroed one is fine. */
void gm_snapshot_free(struct gm_snapshot *snapshot);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* The bytes of a string (not NUL-terminated; raw, see analyze/base/utf8.h); "" of length 0 for the absent one. */
static inline const char *gm_string(const struct gm_snapshot *s, struct gm_string_id id, size_t *length)
{
    *length = (size_t)(s->strings.start[id.v + 1] - s->strings.start[id.v]);
    return s->strings.bytes + s->strings.start[id.v];
}

/* The frames of a stack, innermost first; *depth is 0 for an absent or empty one. */
static inline const struct gm_frame_id *gm_stack_frames(const struct gm_snapshot *s, struct gm_stack_id id,
                                                        size_t *depth)
{
    *depth = (size_t)(s->stacks.start[id.v + 1] - s->stacks.start[id.v]);
    return s->stacks.frame_ids + s->stacks.start[id.v];
}

static inline bool gm_is_same_function(const struct gm_frames *f, uint32_t a, uint32_t b)
{
    return f->name[a].v == f->name[b].v && f->filename[a].v == f->filename[b].v;
}
/* How many frames two stacks have in common, from the outermost on, which stands first here. */
static inline size_t gm_shared_frames(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    size_t d = 0;
    while (d < n && d < m && a[d] == b[d])
        d++;
    return d;
}
/* Where they part, if that is a step back to an earlier line of one function; SIZE_MAX: it is none. */
static inline size_t gm_steps_back_at(const struct gm_frames *f, const uint32_t *from, size_t n, const uint32_t *to,
                                      size_t m)
{
    const size_t d = gm_shared_frames(from, n, to, m);
    return d < n && d < m && gm_is_same_function(f, from[d], to[d]) && f->line[to[d]] < f->line[from[d]] ? d : SIZE_MAX;
}

/* Requested bytes of a live block by the contract's rule: requested_size, else history[0].real_size, else size. */
static inline uint64_t gm_block_requested(const struct gm_blocks *blocks, size_t block)
{
    return blocks->requested[block] != GM_ABSENT ? blocks->requested[block] : blocks->size[block];
}

/* The file's handle of a stream, a gm_stream_id. */
static inline int64_t gm_stream_handle(const struct gm_snapshot *s, uint32_t stream)
{
    return stream == 0 ? 0 : s->streams[stream];
}

static inline bool gm_segment_is_private(const struct gm_snapshot *s, size_t segment)
{
    struct gm_pool_id pool = s->segments.pool[segment];
    return pool.v != 0 && (s->pools[pool.v].first != 0 || s->pools[pool.v].second != 0);
}

static inline bool gm_segment_is_expandable(const struct gm_snapshot *s, size_t segment)
{
    return s->segments.is_expandable[segment] == GM_TRUE;
}

/* The setting called `key`, or NULL. */
const struct gm_setting *gm_snapshot_setting(const struct gm_snapshot *snapshot, const char *key);
/* The recorded text of PYTORCH_CUDA_ALLOC_CONF (not NUL-terminated); "" if there is none. */
const char *gm_snapshot_alloc_conf(const struct gm_snapshot *snapshot, size_t *length);
