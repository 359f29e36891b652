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
#ifndef GM_FORMATS_ASSEMBLE_VALUE_H
#define GM_FORMATS_ASSEMBLE_VALUE_H

#include "analyze/base/vec.h"
#include "analyze/formats/assemble.h"
#include "analyze/formats/schema.h"
#include "analyze/snapshot/builder.h"

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

struct gm_value {
    uint64_t bits; /* NUMBER: two's complement (or the bits of a double); OPEN: see GM_OPEN_FIRST, GM_OPEN_COUNT */
    uint32_t ref;
    uint32_t slot; /* OPEN: memo slot + 1 that stands for this container, 0 if none */
};

/* The waiting items of an OPEN container: `count` list_items or dict_pairs from `first`. */
#define GM_OPEN_FIRST(v) ((uint32_t)((v)->bits >> 32))
#define GM_OPEN_COUNT(v) ((uint32_t)(v)->bits)
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
struct gm_history {
    uint64_t real_size;
    struct gm_stack_id stack;
    uint32_t node; /* all of it as a dictionary */
};

struct gm_assembler {
    struct gm_snapshot_memory *m;
    struct GM_VEC(struct gm_value) stack;
    struct GM_VEC(uint32_t) marks; /* stack heights */
    struct GM_VEC(uint32_t) list_items;
    struct GM_VEC(struct gm_value) dict_pairs;
    struct GM_VEC(uint32_t) memo;
    struct GM_VEC(struct gm_node) nodes;
    struct GM_VEC(uint32_t) node_refs;
    struct GM_VEC(struct gm_boxed) boxed;
    struct GM_VEC(struct gm_history) history;
    struct GM_VEC(uint64_t) unknown_keys;    /* row kind << 32 | key: said once each */
    uint64_t order_seen[GM_ORDER_COUNT][64]; /* sets of keys whose order was learned (a cache; see keep.h) */
    uint32_t order_learned[GM_ORDER_COUNT];
    uint64_t last_event_keys;
    /* the last stream and pool: events repeat them */
    int64_t last_stream;
    struct gm_stream_id last_stream_id;
    struct gm_pool_key last_pool;
    struct gm_pool_id last_pool_id;
};

/* A reference to stack value *v, which must not be OPEN; GM_NO_REF if there is no memory. */
#define GM_NO_REF UINT32_MAX
uint32_t gm_assembler_ref(struct gm_assembler *a, const struct gm_value *v);
/* The stack value of a reference. */
struct gm_value gm_assembler_value(const struct gm_assembler *a, uint32_t ref);
/* Reference i of a node. */
static inline uint32_t gm_node_ref(const struct gm_assembler *a, const struct gm_node *node, uint32_t i)
{
    return node->is_run ? GM_REF(node->run_of, node->first + i) : a->node_refs.v[node->first + i];
}

/* Room for one more value on the stack, whose growth is bounded by `offset`, the input read so far. */
enum gm_status gm_assembler_room(struct gm_assembler *a, uint64_t offset, struct gm_error *err);

/* Makes a dictionary of no known shape of pairs[0 .. 2 * count); GM_NO_REF if there is no memory. */
uint32_t gm_assembler_dict(struct gm_assembler *a, const struct gm_value *pairs, size_t count);

/* Completes the container *v (of kind OPEN), making it a row, list or dictionary, and updates its memo slot. Any other
 * value is left as it is. Its items stay in the side stack: the caller cuts that back. */
enum gm_status gm_assembler_seal(struct gm_assembler *a, struct gm_value *v, uint64_t offset, struct gm_error *err);

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

#endif
