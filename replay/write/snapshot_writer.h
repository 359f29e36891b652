/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share: a snapshot on its way into a pickle.
 */
#pragma once

#include "analyze/snapshot/words.h"
#include "replay/write/pickle_writer.h"
#include "replay/write/write.h"

/* The keys whose values columns hold, by their names in words.h. */
#define GM_FIELD_MAP(X)                                                                                                \
    X(SEGMENTS)                                                                                                        \
    X(DEVICE_TRACES)                                                                                                   \
    X(TRACES)                                                                                                          \
    X(ALLOCATOR_SETTINGS)                                                                                              \
    X(EXTERNAL_ANNOTATIONS)                                                                                            \
    X(TRACE_ALLOC_MAX_ENTRIES)                                                                                         \
    X(TRACE_ALLOC_OVERFLOWED)                                                                                          \
    X(HOST_SEGMENTS)                                                                                                   \
    X(HOST_TRACES)                                                                                                     \
    X(DEVICE)                                                                                                          \
    X(ADDRESS)                                                                                                         \
    X(TOTAL_SIZE)                                                                                                      \
    X(ALLOCATED_SIZE)                                                                                                  \
    X(ACTIVE_SIZE)                                                                                                     \
    X(REQUESTED_SIZE)                                                                                                  \
    X(STREAM)                                                                                                          \
    X(SEGMENT_TYPE)                                                                                                    \
    X(SEGMENT_POOL_ID)                                                                                                 \
    X(IS_EXPANDABLE)                                                                                                   \
    X(FRAMES)                                                                                                          \
    X(BLOCKS)                                                                                                          \
    X(SIZE)                                                                                                            \
    X(STATE)                                                                                                           \
    X(ACTION)                                                                                                          \
    X(ADDR)                                                                                                            \
    X(DEVICE_FREE)                                                                                                     \
    X(TIME_US)                                                                                                         \
    X(COMPILE_CONTEXT)                                                                                                 \
    X(USER_METADATA)                                                                                                   \
    X(POOL_ID)                                                                                                         \
    X(CATEGORY)                                                                                                        \
    X(NAME)                                                                                                            \
    X(FILENAME)                                                                                                        \
    X(LINE)                                                                                                            \
    X(STAGE)

/* Values that are words too; the actions of GM_ACTION_MAP follow them. */
#define GM_WORD_MAP(X)                                                                                                 \
    X(INACTIVE)                                                                                                        \
    X(ACTIVE_ALLOCATED)                                                                                                \
    X(ACTIVE_PENDING_FREE)                                                                                             \
    X(SMALL)                                                                                                           \
    X(LARGE)                                                                                                           \
    X(START)                                                                                                           \
    X(END)

enum gm_put_word { /* a field's number is its word's */
#define X(name) GM_FIELD_##name,
                   GM_FIELD_MAP(X)
#undef X
                       GM_FIELD_COUNT, /* a key that no column holds */
                   GM_WORD_BEFORE = GM_FIELD_COUNT - 1,
#define X(name) GM_PUT_##name,
                   GM_WORD_MAP(X)
#undef X
                       GM_PUT_FIRST_ACTION,
                   GM_PUT_WORD_COUNT = GM_PUT_FIRST_ACTION + GM_ACTION_COUNT
};

struct gm_put_key {
    uint8_t field;   /* GM_FIELD_COUNT: another key, written only where an extra has it */
    uint32_t string; /* gm_string_id of that other key */
};
struct gm_put_order {
    struct gm_put_key *keys;
    size_t count;
};

struct gm_snapshot_writer {
    struct gm_pickle p;
    const struct gm_snapshot *s;
    uint32_t words[GM_PUT_WORD_COUNT];                   /* memo slots plus 1, here and below */
    uint32_t *strings, *frames, *stacks, *pools, *loose; /* by id; loose: by where a container's values begin */
    struct gm_put_order orders[GM_ORDER_COUNT];
    unsigned nested_frames;
};

const char *gm_put_word_text(enum gm_put_word word);

/* orders.c: fills w->orders: the file's orders, and where they say nothing, PyTorch's. false: no memory. */
bool gm_writer_order(struct gm_snapshot_writer *w);
/* The text of a key. */
const char *gm_put_key_text(const struct gm_snapshot_writer *w, const struct gm_put_key *key, size_t *length);

/* loose.c: values of any kind. */
void gm_put_word(struct gm_snapshot_writer *w, enum gm_put_word word);
void gm_put_string(struct gm_snapshot_writer *w, uint32_t string); /* a gm_string_id, not 0; likewise below */
void gm_put_stack(struct gm_snapshot_writer *w, uint32_t stack);
void gm_put_pool(struct gm_snapshot_writer *w, uint32_t pool);
void gm_put_loose(struct gm_snapshot_writer *w, const struct gm_loose *value);

/* write_rows.c: whole tables; write_top.c: the outermost dictionary. */
void gm_put_segments(struct gm_snapshot_writer *w, bool is_host);
void gm_put_traces(struct gm_snapshot_writer *w, const struct gm_trace *traces, size_t count);
void gm_put_annotations(struct gm_snapshot_writer *w);
void gm_put_frame_dict(struct gm_snapshot_writer *w, uint32_t frame);
void gm_put_top(struct gm_snapshot_writer *w);

/* Lists are opened by gm_put_list(count); before item i comes gm_put_item(i), after the last gm_put_list_end. */
static inline void gm_put_list(struct gm_snapshot_writer *w)
{
    gm_pickle_op(&w->p, GM_PUT_EMPTY_LIST);
}
static inline void gm_put_item(struct gm_snapshot_writer *w, size_t i, size_t count)
{
    gm_pickle_boundary(&w->p);
    if (count > 1 && i % GM_LIST_BATCH == 0) {
        if (i > 0)
            gm_pickle_op(&w->p, GM_PUT_APPENDS);
        gm_pickle_op(&w->p, GM_PUT_MARK);
    }
}
static inline void gm_put_list_end(struct gm_snapshot_writer *w, size_t count)
{
    if (count > 0)
        gm_pickle_op(&w->p, count == 1 ? GM_PUT_APPEND : GM_PUT_APPENDS);
}

/* A row as a dictionary. Which keys it has the columns tell (what is absent is not written) and the extras, which
 * overrule them. */

/* Writes key and value of a field, or nothing if the row does not have it. */
typedef void gm_put_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row);
/* A case of a table's switch: key and value, where the row `has` it. */
#define GM_PUT_FIELD(name, has, put)                                                                                   \
    case GM_FIELD_##name:                                                                                              \
        if (has) {                                                                                                     \
            gm_put_word(w, field);                                                                                     \
            put;                                                                                                       \
        }                                                                                                              \
        break

void gm_put_row_with_extras(struct gm_snapshot_writer *w, const struct gm_put_order *order, gm_put_field *put,
                            const void *table, size_t row, const struct gm_extra *extras, size_t count);

/* What stands between the braces. Inlined with its `put`, which runs some hundred million times for a large trace. */
__attribute__((always_inline)) static inline void gm_put_pairs(struct gm_snapshot_writer *w, enum gm_order_kind kind,
                                                               gm_put_field *put, const void *table, size_t row,
                                                               const struct gm_extra *extras, size_t count)
{
    const struct gm_put_order *order = &w->orders[kind];
    gm_pickle_op(&w->p, GM_PUT_MARK);
    if (count == 0) {
        for (size_t i = 0; i < order->count; i++)
            put(w, table, (enum gm_put_word)order->keys[i].field, row);
    } else {
        gm_put_row_with_extras(w, order, put, table, row, extras, count);
    }
    gm_pickle_op(&w->p, GM_PUT_SETITEMS);
}

/* Rows are written in order, so their extras are met in order. */
struct gm_extras_cursor {
    const struct gm_extras *extras;
    size_t at;
};
struct gm_extras_cursor gm_extras_from(const struct gm_extras *extras, size_t row);
/* The extras of `row`, which must not be lower than in the call before: how many, and the first of them. */
size_t gm_extras_next(struct gm_extras_cursor *c, size_t row, const struct gm_extra **first);

/* A sink that compresses what it takes and hands it to another one. */

struct gm_compressor;

/* Puts a compressor in front of `inner`; *sink is what to write to then. `compression` is not NONE. */
enum gm_status gm_compressor_new(struct gm_compressor **compressor, enum gm_compression compression,
                                 const struct gm_sink *inner, struct gm_sink *sink, struct gm_error *err);
/* Writes what is still inside, and the checksum. */
enum gm_status gm_compressor_finish(struct gm_compressor *compressor, struct gm_error *err);
void gm_compressor_free(struct gm_compressor *compressor); /* NULL is fine */
