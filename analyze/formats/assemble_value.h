/* SPDX-License-Identifier: Apache-2.0
 *
 * The assembler from inside: what the pickle decoder works on directly, because it runs once per opcode.
 *
 * A value is 16 bytes on the stack. A reference is a value's 4-byte form (kind in the top 4 bits, index in the rest);
 * the pickle memo and lists hold references. Rows (frame, event, ...) are made when their dictionary is complete and
 * are immutable from then on, so a reference can be shared freely.
 *
 * Containers under construction are values of kind OPEN on the stack. Their items wait in one of two side stacks
 * (list_items, dict_pairs), last container on top: a container is only ever extended when everything above it on the
 * stack has been consumed, so its items are always the top of the side stack.
 */
#pragma once

#include "analyze/base/vec.h"
#include "analyze/formats/assemble.h"
#include "analyze/snapshot/builder.h"
#include "analyze/snapshot/words.h"

_Static_assert(GM_KEY_COUNT <= 64, "a dictionary's known keys are a 64-bit mask");

enum gm_kind {
    GM_KIND_CONSTANT,   /* index: enum gm_constant */
    GM_KIND_NUMBER,     /* on the stack only: number in `bits`, index: enum gm_number */
    GM_KIND_SMALL,      /* references only: the index is the number */
    GM_KIND_BOXED,      /* references only: index into boxed */
    GM_KIND_STRING,     /* index: gm_string_id */
    GM_KIND_FRAME,      /* gm_frame_id */
    GM_KIND_STACK,      /* gm_stack_id: a list of frames */
    GM_KIND_EVENT,      /* row of events */
    GM_KIND_SEGMENT,    /* row of segments */
    GM_KIND_BLOCK,      /* row of blocks */
    GM_KIND_ANNOTATION, /* row of annotations */
    GM_KIND_HISTORY,    /* index into history */
    GM_KIND_POOL,       /* gm_pool_id: a pair of integers */
    GM_KIND_LIST,       /* index into nodes */
    GM_KIND_DICT,       /* index into nodes: a dictionary of no known shape, keys and values in turn */
    GM_KIND_OPEN,       /* a container under construction; index: enum gm_open on the stack, stack index in the memo */
};
enum gm_constant { GM_CONSTANT_NONE, GM_CONSTANT_FALSE, GM_CONSTANT_TRUE };
enum gm_number { GM_NUMBER_POSITIVE, GM_NUMBER_NEGATIVE, GM_NUMBER_REAL, GM_NUMBER_TOO_LARGE };
enum gm_open { GM_OPEN_LIST, GM_OPEN_DICT };

enum { GM_KIND_SHIFT = 28 };
#define GM_REF(kind, index) ((uint32_t)(kind) << GM_KIND_SHIFT | (uint32_t)(index))
#define GM_REF_KIND(ref) ((enum gm_kind)((ref) >> GM_KIND_SHIFT))
#define GM_REF_INDEX(ref) ((ref)&GM_MAX_ID)

struct gm_read_value {
    uint64_t bits; /* NUMBER: two's complement (or the bits of a double); OPEN: see GM_OPEN_FIRST, GM_OPEN_COUNT */
    uint32_t ref;
    uint32_t slot; /* OPEN: memo slot + 1 that stands for this container, 0 if none */
};

/* The waiting items of an OPEN container: `count` list_items or dict_pairs from `first`; of a list that is a run, which
 * is events one after the other, only the first of them waits there. */
#define GM_OPEN_RUN (UINT32_C(1) << 31)
#define GM_OPEN_FIRST(v) ((uint32_t)((v)->bits >> 32))
#define GM_OPEN_COUNT(v) ((uint32_t)(v)->bits & ~GM_OPEN_RUN)
#define GM_OPEN_IS_RUN(v) (((v)->bits & GM_OPEN_RUN) != 0)
#define GM_OPEN_BITS(first, count) ((uint64_t)(first) << 32 | (uint32_t)(count))

/* A complete list or dictionary of no known shape: the references node_refs[first ...], or, if is_run, the references
 * (run_of, first), (run_of, first + 1), ...: ten million consecutive events take one node. */
struct gm_node {
    uint32_t first, count;
    bool is_run;
    enum gm_kind run_of;
};
enum { GM_NODE_EMPTY }; /* nodes[0] is the empty list or dictionary */

struct gm_boxed {
    uint64_t bits;
    enum gm_number type;
};
struct gm_block_history {
    uint64_t real_size;
    struct gm_stack_id stack;
    uint32_t node; /* all of it as a dictionary */
};

/* Lists of frames as they stand in a pickle: bytes that were met before, while no memo slot got a new value, are the
 * same stack. Which list comes is guessed by the one before and by how it begins. */
enum { GM_LIST_GUESSES = 1 << 11 };
struct gm_frame_list {
    uint32_t first, length; /* in `bytes` */
    uint32_t stack;         /* gm_stack_id */
};
struct gm_frame_lists {
    struct GM_VEC(unsigned char) bytes;
    struct GM_VEC(struct gm_frame_list) lists; /* [0] is none */
    struct GM_VEC(uint32_t) of_stack;          /* [gm_stack_id] its list; 0: none */
    uint32_t guesses[GM_LIST_GUESSES][2];      /* the list that came last, and the one before it */
    uint32_t last;                             /* that was met */
};

struct gm_assembler {
    struct gm_snapshot_memory *m;
    struct gm_filling filling[GM_EVENT_FILLINGS + 1]; /* the columns, then the memo */
    struct GM_VEC(struct gm_read_value) stack;
    struct GM_VEC(uint32_t) marks; /* stack heights */
    struct GM_VEC(uint32_t) list_items;
    struct GM_VEC(struct gm_read_value) dict_pairs;
    struct GM_VEC(uint32_t) memo;
    struct GM_VEC(struct gm_node) nodes;
    struct GM_VEC(uint32_t) node_refs;
    struct GM_VEC(struct gm_boxed) boxed;
    struct GM_VEC(struct gm_block_history) history;
    struct GM_VEC(uint64_t) unknown_keys;    /* row kind << 32 | key: said once each */
    uint64_t order_seen[GM_ORDER_COUNT][64]; /* sets of keys whose order was learned (a cache; see keep.c) */
    uint32_t order_learned[GM_ORDER_COUNT];
    /* the last stream and pool: events repeat them */
    struct gm_frame_lists known; /* pickle_row.c */
    int64_t last_stream;
    struct gm_stream_id last_stream_id;
    struct gm_pool_key last_pool;
    struct gm_pool_id last_pool_id;
};

/* A reference to stack value *v, which must not be OPEN; GM_NO_REF if there is no memory. */
#define GM_NO_REF UINT32_MAX
uint32_t gm_assembler_ref(struct gm_assembler *a, const struct gm_read_value *v);
/* The stack value of a reference. */
struct gm_read_value gm_assembler_value(const struct gm_assembler *a, uint32_t ref);
/* Reference i of a node. */
static inline uint32_t gm_node_ref(const struct gm_assembler *a, const struct gm_node *node, uint32_t i)
{
    return node->is_run ? GM_REF(node->run_of, node->first + i) : a->node_refs.v[node->first + i];
}

/* Room for one more value on the stack, whose growth is bounded by `offset`, the input read so far. */
enum gm_status gm_assembler_room(struct gm_assembler *a, uint64_t offset, struct gm_error *err);

/* Makes a dictionary of no known shape of pairs[0 .. 2 * count); GM_NO_REF if there is no memory. */
uint32_t gm_assembler_dict(struct gm_assembler *a, const struct gm_read_value *pairs, size_t count);

/* Completes the container *v (of kind OPEN), making it a row, list or dictionary, and updates its memo slot. Any other
 * value is left as it is. Its items stay in the side stack: the caller cuts that back. */
enum gm_status gm_assembler_seal(struct gm_assembler *a, struct gm_read_value *v, uint64_t offset,
                                 struct gm_error *err);

/* Appends the values above `from` to the list at stack[from - 1] and removes them. */
enum gm_status gm_assembler_append(struct gm_assembler *a, size_t from, uint64_t offset, struct gm_error *err);
/* Puts the key/value pairs above `from` into the dictionary at stack[from - 1] and removes them. If `is_last` no more
 * will come and it becomes a row at once. */
enum gm_status gm_assembler_put(struct gm_assembler *a, size_t from, bool is_last, uint64_t offset,
                                struct gm_error *err);
/* Replaces the values above `from` by one list of them (a tuple); two integers become a pool id. */
enum gm_status gm_assembler_tuple(struct gm_assembler *a, size_t from, uint64_t offset, struct gm_error *err);
/* Removes the values above `height` and their waiting items. */
void gm_assembler_cut(struct gm_assembler *a, size_t height);

/* Which row a dictionary is, by its keys, and how its fields become columns. */

/* Makes a row of the dictionary of `count` pairs (complete values, key and value in turn) and sets *row to its
 * reference; leaves *row alone if the keys fit no row. */
enum gm_status gm_assembler_make_row(struct gm_assembler *a, const struct gm_read_value *pairs, size_t count,
                                     uint32_t *row, uint64_t offset, struct gm_error *err);

/* The ids of a pool and of a stream, remembering the last ones; v == 0: no memory. */
struct gm_pool_id gm_assembler_pool(struct gm_assembler *a, struct gm_pool_key key);
static inline struct gm_stream_id gm_assembler_stream(struct gm_assembler *a, int64_t stream)
{
    if (a->last_stream_id.v == 0 || a->last_stream != stream) {
        a->last_stream = stream;
        a->last_stream_id = gm_intern_stream(a->m, stream);
    }
    return a->last_stream_id;
}

/* Keeping what no column holds (analyze/snapshot/snapshot.h). While rows are made, a kept value is a reference of
 * the assembler; when loading ends, rows get the numbers that they have in the snapshot and values become loose
 * ones. All of this is off the hot path: a row that is nothing but columns costs two comparisons. */

/* The reference that stands for "the file has no such key". */
#define GM_KEPT_MISSING GM_REF(GM_KIND_CONSTANT, GM_MAX_ID)

/* Keeps the pairs of row `row` whose keys are not in `columns`, a mask of known keys. `row` must not be lower than in
 * the call before. false: no memory. */
bool gm_keep_row(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint64_t columns,
                 const struct gm_read_value *pairs, size_t count);
bool gm_keep(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint32_t key, uint32_t ref);

/* Frames are interned: those of equal name, file and line are one, with what the first of them had beside. */
bool gm_keep_frame(struct gm_assembler *a, uint32_t frame, bool is_new, uint64_t columns,
                   const struct gm_read_value *pairs, size_t count);

/* Learns the order of a row's keys. */
bool gm_keep_order_slow(struct gm_assembler *a, enum gm_order_kind kind, uint64_t present,
                        const struct gm_read_value *pairs, size_t count);
static inline size_t gm_order_slot(uint64_t present)
{
    return (size_t)(present * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}
static inline enum gm_order_kind gm_event_order(uint64_t present)
{
    return (present >> GM_KEY_FRAMES & 1) != 0 ? GM_ORDER_EVENT_WITH_FRAMES : GM_ORDER_EVENT;
}
static inline bool gm_keep_order(struct gm_assembler *a, enum gm_order_kind kind, uint64_t present,
                                 const struct gm_read_value *pairs, size_t count)
{
    return a->order_seen[kind][gm_order_slot(present)] == present || gm_keep_order_slow(a, kind, present, pairs, count);
}

/* Row i of the snapshot's table `to` is what row order[i] of the assembler's table `from` was: hands over what was kept
 * for it. GM_E_LIMIT if rows that are named again and again would multiply that. */
enum gm_status gm_keep_rows(struct gm_assembler *a, enum gm_row_kind from, enum gm_row_kind to, const uint32_t *order,
                            size_t count, struct gm_error *err);
/* For a list of segments with `blocks` blocks, both tables. */
enum gm_status gm_keep_segments(struct gm_assembler *a, const struct gm_node *list, bool is_host, size_t blocks,
                                struct gm_error *err);
/* For tables whose rows stayed where they were. false: no memory. */
bool gm_keep_all(struct gm_assembler *a, enum gm_row_kind kind);

/* For the outermost dictionary: what it has beside the tables, and the order of its keys. false: no memory. */
bool gm_keep_top(struct gm_assembler *a, const struct gm_node *root);

/* At last, all that was handed over becomes loose values. `settings` is a reference or GM_NO_REF. false: no memory. */
bool gm_keep_values(struct gm_assembler *a, uint32_t settings, struct gm_loose *settings_tree);
