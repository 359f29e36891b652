/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema. A dictionary's keys are collected into a bit mask and a table of its values; the mask says which row it
 * is. Unknown keys are reported once per kind of row; they, and fields of the wrong type, are kept aside (keep.c) and
 * otherwise ignored.
 */
#include "analyze/formats/assemble_value.h"

#include <string.h>

enum row_kind { ROW_EVENT, ROW_SEGMENT, ROW_BLOCK, ROW_FRAME, ROW_ANNOTATION, ROW_HISTORY };
static const char *const row_names[] = {"an event", "a segment",     "a block",
                                        "a frame",  "an annotation", "a history entry"};

#define BIT(key) (UINT64_C(1) << GM_KEY_##key)

struct fields {
    uint64_t present;                      /* bit per known key */
    const struct gm_read_value *value[64]; /* valid where present */
    uint32_t unknown;                      /* how many keys are not known, or are no strings */
};

static void collect(struct fields *f, const struct gm_read_value *pairs, size_t count)
{
    f->present = 0;
    f->unknown = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = pairs[2 * i].ref - GM_REF(GM_KIND_STRING, 0); /* huge for anything but a string */
        if (word < GM_KEY_COUNT) {
            f->value[word] = &pairs[2 * i + 1];
            f->present |= UINT64_C(1) << word;
        } else {
            f->unknown++;
        }
    }
}

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static bool odd_field(struct gm_assembler *a, enum row_kind kind, const char *key)
{
    return gm_builder_warn(a->m, "a field '%s' of %s is of no expected type and was ignored", key, row_names[kind]);
}

/* How a field is read: every getter returns "absent" for a missing field and for None, and notes anything odd in `odd`
 * (the key's name), which the caller turns into a warning. `lost` has a bit for every key whose value is not in the
 * columns, or not as it was. */
struct getter {
    const struct fields *f;
    const char *odd;
    uint64_t lost;
};

static inline void note_lost(struct getter *g, int key)
{
    g->lost |= UINT64_C(1) << key;
}

/* A value that is none of the field's: but for None it is odd. */
static void note_other(struct getter *g, int key, const char *name, uint32_t ref)
{
    note_lost(g, key);
    if (ref != GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_NONE))
        g->odd = name;
}

static inline uint64_t get_uint(struct getter *g, int key, const char *name)
{
    if ((g->f->present >> key & 1) == 0)
        return GM_ABSENT;
    const struct gm_read_value *v = g->f->value[key];
    if (v->ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE)) {
        if (v->bits == GM_ABSENT)
            note_lost(g, key);
        return v->bits;
    }
    if (v->ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_REAL)) {
        double real;
        memcpy(&real, &v->bits, sizeof real);
        if (real >= 0 && real < 9.0e18 && (double)(uint64_t)real == real)
            return (uint64_t)real;
    }
    note_other(g, key, name, v->ref);
    return GM_ABSENT;
}

/* Addresses: PyTorch's C++ writer stores them signed. */
static inline uint64_t get_address(struct getter *g, int key, const char *name)
{
    if ((g->f->present >> key & 1) != 0 && g->f->value[key]->ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_NEGATIVE)) {
        if (g->f->value[key]->bits == GM_ABSENT)
            note_lost(g, key);
        return g->f->value[key]->bits;
    }
    return get_uint(g, key, name);
}

static inline int64_t get_int(struct getter *g, int key, const char *name, int64_t absent)
{
    if ((g->f->present >> key & 1) != 0 && g->f->value[key]->ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_NEGATIVE)) {
        if ((int64_t)g->f->value[key]->bits == absent)
            note_lost(g, key);
        return (int64_t)g->f->value[key]->bits;
    }
    uint64_t v = get_uint(g, key, name);
    if (v == GM_ABSENT)
        return absent;
    if (v > INT64_MAX)
        note_lost(g, key);
    return (int64_t)v; /* streams are handles: 64 bits of either sign */
}

static inline uint32_t get_string(struct getter *g, int key, const char *name)
{
    if ((g->f->present >> key & 1) == 0)
        return 0;
    const struct gm_read_value *v = g->f->value[key];
    if (GM_REF_KIND(v->ref) == GM_KIND_STRING)
        return GM_REF_INDEX(v->ref);
    note_other(g, key, name, v->ref);
    return 0;
}

static inline struct gm_stack_id get_stack(struct getter *g, int key, const char *name)
{
    if ((g->f->present >> key & 1) == 0)
        return (struct gm_stack_id){0};
    uint32_t ref = g->f->value[key]->ref;
    if (GM_REF_KIND(ref) == GM_KIND_STACK)
        return (struct gm_stack_id){GM_REF_INDEX(ref)};
    if (ref == GM_REF(GM_KIND_LIST, GM_NODE_EMPTY))
        return (struct gm_stack_id){GM_STACK_EMPTY};
    note_other(g, key, name, ref);
    return (struct gm_stack_id){0};
}

struct gm_pool_id gm_assembler_pool(struct gm_assembler *a, struct gm_pool_key key)
{
    if (a->last_pool_id.v == 0 || a->last_pool.first != key.first || a->last_pool.second != key.second) {
        a->last_pool = key;
        a->last_pool_id = gm_intern_pool(a->m, key);
    }
    return a->last_pool_id;
}

/* A pool is a pair of integers: a tuple in pickles, a list in JSON. */
static bool read_pool(struct gm_assembler *a, struct getter *g, int key, const char *name, struct gm_pool_id *pool)
{
    uint32_t ref = g->f->value[key]->ref, index = GM_REF_INDEX(ref);
    if (GM_REF_KIND(ref) == GM_KIND_POOL) {
        pool->v = index;
        return true;
    }
    if (GM_REF_KIND(ref) == GM_KIND_LIST && a->nodes.v[index].count == 2) {
        struct gm_read_value first = gm_assembler_value(a, gm_node_ref(a, &a->nodes.v[index], 0));
        struct gm_read_value second = gm_assembler_value(a, gm_node_ref(a, &a->nodes.v[index], 1));
        const uint32_t whole = GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE);
        if (first.ref == whole && second.ref == whole) {
            *pool = gm_assembler_pool(a, (struct gm_pool_key){first.bits, second.bits});
            return pool->v != 0;
        }
    }
    note_other(g, key, name, ref);
    return true;
}

static inline bool get_pool(struct gm_assembler *a, struct getter *g, int key, const char *name,
                            struct gm_pool_id *pool)
{
    *pool = (struct gm_pool_id){0};
    return (g->f->present >> key & 1) == 0 || read_pool(a, g, key, name, pool);
}

/* A stream is a handle of 64 bits, signed or not; no value of it means "absent". */
static inline __attribute__((always_inline)) bool get_stream(struct gm_assembler *a, struct getter *g,
                                                             struct gm_stream_id *id)
{
    *id = (struct gm_stream_id){0};
    if ((g->f->present & BIT(STREAM)) == 0)
        return true;
    const struct gm_read_value *v = g->f->value[GM_KEY_STREAM];
    if (v->ref != GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE) && v->ref != GM_REF(GM_KIND_NUMBER, GM_NUMBER_NEGATIVE)) {
        note_other(g, GM_KEY_STREAM, "stream", v->ref);
        return true;
    }
    if (v->bits > INT64_MAX && GM_REF_INDEX(v->ref) == GM_NUMBER_POSITIVE)
        note_lost(g, GM_KEY_STREAM);
    *id = gm_assembler_stream(a, (int64_t)v->bits);
    return id->v != 0;
}

static bool get_truth(struct getter *g, int key, const char *name, uint8_t *truth)
{
    *truth = GM_TRUTH_ABSENT;
    if ((g->f->present >> key & 1) == 0)
        return true;
    uint32_t ref = g->f->value[key]->ref;
    if (ref == GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_TRUE) || ref == GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_FALSE))
        *truth = ref == GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_TRUE) ? GM_TRUE : GM_FALSE;
    else if (ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE)) /* protocols 0 and 1 of Python 2 have no booleans */
        *truth = g->f->value[key]->bits != 0 ? GM_TRUE : GM_FALSE;
    else
        note_other(g, key, name, ref);
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* Says a key that we do not know once for each kind of row. */
static bool note_unknown_keys(struct gm_assembler *a, enum row_kind kind, const struct gm_read_value *pairs,
                              size_t count, uint64_t known)
{
    enum { MAX_NOTED = 64 };
    for (size_t i = 0; i < count; i++) {
        uint32_t word = pairs[2 * i].ref - GM_REF(GM_KIND_STRING, 0);
        if ((word < GM_KEY_COUNT && (known >> word & 1) != 0) || GM_REF_KIND(pairs[2 * i].ref) != GM_KIND_STRING)
            continue;
        uint64_t mark = (uint64_t)kind << 32 | word;
        size_t j = 0;
        while (j < a->unknown_keys.n && a->unknown_keys.v[j] != mark)
            j++;
        if (j < a->unknown_keys.n || a->unknown_keys.n == MAX_NOTED)
            continue;
        const struct gm_snapshot_memory *m = a->m;
        uint64_t start = m->string_start.v[word], length = m->string_start.v[word + 1] - start;
        if (!GM_VEC_PUSH(&a->unknown_keys, mark) ||
            !gm_builder_warn(a->m, "unknown key '%.*s' in %s was ignored", length > 80 ? 80 : (int)length,
                             m->string_bytes.v + start, row_names[kind]))
            return false;
    }
    return true;
}

/* What each kind of row knows: all its keys, and those among them that columns hold. */
struct row_schema {
    enum row_kind kind;
    enum gm_row_kind table;
    uint64_t known, columns;
};

/* After a row was read: unknown keys, odd fields, and what is to be kept beside the columns. */
static inline bool note(struct gm_assembler *a, const struct row_schema *schema, uint32_t row, const struct getter *g,
                        const struct gm_read_value *pairs, size_t count)
{
    uint64_t present = g->f->present;
    if (((present & ~schema->columns) | g->lost | g->f->unknown) != 0) {
        if (((present & ~schema->known) != 0 || g->f->unknown != 0) && schema->kind != ROW_ANNOTATION &&
            !note_unknown_keys(a, schema->kind, pairs, count, schema->known))
            return false;
        if (!gm_keep_row(a, schema->table, row, schema->columns & ~g->lost, pairs, count))
            return false;
    }
    return g->odd == NULL || odd_field(a, schema->kind, g->odd);
}

/* A row with unknown keys teaches its order always: the mask does not tell one from another. */
static inline bool learn(struct gm_assembler *a, enum gm_order_kind kind, const struct getter *g,
                         const struct gm_read_value *pairs, size_t count)
{
    if (g->f->unknown != 0)
        return gm_keep_order_slow(a, kind, g->f->present, pairs, count);
    return gm_keep_order(a, kind, g->f->present, pairs, count);
}

/* Adds a row to its table; *ref: what it is called there. */
#define ADD_ROW(a, ref, kind, table, row)                                                                              \
    (*(ref) = GM_REF(kind, (table)->n), (a)->m->hit_limit |= (table)->n >= GM_MAX_ID,                                  \
     !(a)->m->hit_limit && GM_VEC_PUSH(table, row))

#define EVENT_COLUMNS                                                                                                  \
    (BIT(ACTION) | BIT(ADDR) | BIT(DEVICE_FREE) | BIT(SIZE) | BIT(STREAM) | BIT(TIME_US) | BIT(COMPILE_CONTEXT) |      \
     BIT(USER_METADATA) | BIT(POOL_ID) | BIT(FRAMES) | BIT(CATEGORY))
static const struct row_schema event_schema = {
    ROW_EVENT, GM_ROW_EVENT, EVENT_COLUMNS | BIT(FORWARD_FRAMES) | BIT(INTERNAL_METADATA) | BIT(CPP_FRAMES),
    EVENT_COLUMNS};

/* The column `addr` is device_free for an oom and addr for all others. Events that give the other one, or both: both
 * are kept as they stand. */
static bool keep_odd_address(struct gm_assembler *a, struct getter *g, bool is_oom)
{
    bool has_addr = (g->f->present & BIT(ADDR)) != 0, has_free = (g->f->present & BIT(DEVICE_FREE)) != 0;
    if ((!has_addr || (!is_oom && !has_free)) && (!has_free || (is_oom && !has_addr)))
        return true;
    g->lost |= BIT(ADDR) | BIT(DEVICE_FREE);
    uint32_t usual = is_oom ? GM_KEY_DEVICE_FREE : GM_KEY_ADDR;
    return (is_oom ? has_free : has_addr) ||
           gm_keep(a, GM_ROW_EVENT, (uint32_t)a->m->events.count, usual, GM_KEPT_MISSING);
}

static bool make_event(struct gm_assembler *a, struct getter *g, uint32_t *ref)
{
    struct gm_event_row row;
    uint32_t word = get_string(g, GM_KEY_ACTION, "action");
    bool is_known = word >= GM_WORD_FIRST_ACTION && word < GM_WORD_FIRST_ACTION + GM_ACTION_COUNT;
    row.action = (uint8_t)(is_known ? word - GM_WORD_FIRST_ACTION : GM_ACTION_OTHER);
    row.action_name = is_known ? 0 : word;
    row.addr = (g->f->present & BIT(ADDR)) != 0 ? get_address(g, GM_KEY_ADDR, "addr")
                                                : get_uint(g, GM_KEY_DEVICE_FREE, "device_free");
    bool is_oom = row.action == GM_ACTION_OOM;
    if (((g->f->present & BIT(DEVICE_FREE)) != 0 || is_oom) && !keep_odd_address(a, g, is_oom))
        return false;
    row.size = get_uint(g, GM_KEY_SIZE, "size");
    row.time_us = get_int(g, GM_KEY_TIME_US, "time_us", GM_ABSENT_TIME);
    row.stack = get_stack(g, GM_KEY_FRAMES, "frames");
    row.compile_context = get_string(g, GM_KEY_COMPILE_CONTEXT, "compile_context");
    row.user_metadata = get_string(g, GM_KEY_USER_METADATA, "user_metadata");
    row.category = get_string(g, GM_KEY_CATEGORY, "category");
    struct gm_stream_id stream;
    struct gm_pool_id pool;
    if (!get_stream(a, g, &stream) || !get_pool(a, g, GM_KEY_POOL_ID, "pool_id", &pool))
        return false;
    row.stream = stream.v;
    row.pool = pool.v;
    if (!is_known && word != 0) {
        const struct gm_snapshot_memory *m = a->m;
        uint64_t start = m->string_start.v[word], length = m->string_start.v[word + 1] - start;
        if (!gm_builder_warn(a->m, "unknown action '%.*s' is counted as other", length > 80 ? 80 : (int)length,
                             m->string_bytes.v + start))
            return false;
    }
    *ref = GM_REF(GM_KIND_EVENT, a->m->events.count);
    return gm_builder_add_event(a->m, &row);
}

static bool has_frames(const struct getter *g)
{
    return (g->f->present & BIT(FRAMES)) != 0 && GM_REF_KIND(g->f->value[GM_KEY_FRAMES]->ref) == GM_KIND_STACK;
}

#define SEGMENT_COLUMNS                                                                                                \
    (BIT(DEVICE) | BIT(ADDRESS) | BIT(TOTAL_SIZE) | BIT(ALLOCATED_SIZE) | BIT(ACTIVE_SIZE) | BIT(REQUESTED_SIZE) |     \
     BIT(STREAM) | BIT(SEGMENT_TYPE) | BIT(SEGMENT_POOL_ID) | BIT(IS_EXPANDABLE) | BIT(FRAMES) | BIT(BLOCKS))
static const struct row_schema segment_schema = {ROW_SEGMENT, GM_ROW_SEGMENT,
                                                 SEGMENT_COLUMNS | BIT(REGISTRATION_COUNTER), SEGMENT_COLUMNS};

/* Says that row `row`, which is being made, has no such key, although its column will have a value. */
static bool keep_missing(struct gm_assembler *a, const struct getter *g, enum gm_row_kind table, size_t row, int key)
{
    return (g->f->present >> key & 1) != 0 || gm_keep(a, table, (uint32_t)row, (uint32_t)key, GM_KEPT_MISSING);
}

static bool make_segment(struct gm_assembler *a, struct getter *g, uint32_t *ref)
{
    struct gm_segment_row row = {.blocks = GM_REF(GM_KIND_LIST, GM_NODE_EMPTY)};
    row.device = get_int(g, GM_KEY_DEVICE, "device", 0);
    row.address = get_address(g, GM_KEY_ADDRESS, "address");
    row.total_size = get_uint(g, GM_KEY_TOTAL_SIZE, "total_size");
    row.allocated_size = get_uint(g, GM_KEY_ALLOCATED_SIZE, "allocated_size");
    row.active_size = get_uint(g, GM_KEY_ACTIVE_SIZE, "active_size");
    row.requested_size = get_uint(g, GM_KEY_REQUESTED_SIZE, "requested_size");
    row.stack = get_stack(g, GM_KEY_FRAMES, "frames");
    uint32_t type = get_string(g, GM_KEY_SEGMENT_TYPE, "segment_type");
    row.type = type == GM_VALUE_SMALL   ? GM_SEGMENT_SMALL
               : type == GM_VALUE_LARGE ? GM_SEGMENT_LARGE
                                        : GM_SEGMENT_TYPE_ABSENT;
    if (type != 0 && row.type == GM_SEGMENT_TYPE_ABSENT) {
        g->odd = "segment_type";
        note_lost(g, GM_KEY_SEGMENT_TYPE);
    }
    if ((g->f->present & BIT(BLOCKS)) != 0) {
        row.blocks = g->f->value[GM_KEY_BLOCKS]->ref;
        if (GM_REF_KIND(row.blocks) != GM_KIND_LIST) {
            row.blocks = GM_REF(GM_KIND_LIST, GM_NODE_EMPTY);
            g->odd = "blocks";
            note_lost(g, GM_KEY_BLOCKS);
        }
    }
    if (!get_truth(g, GM_KEY_IS_EXPANDABLE, "is_expandable", &row.is_expandable) || !get_stream(a, g, &row.stream) ||
        !get_pool(a, g, GM_KEY_SEGMENT_POOL_ID, "segment_pool_id", &row.pool) ||
        !keep_missing(a, g, GM_ROW_SEGMENT, a->m->segments.n, GM_KEY_DEVICE) ||
        !keep_missing(a, g, GM_ROW_SEGMENT, a->m->segments.n, GM_KEY_BLOCKS))
        return false;
    return ADD_ROW(a, ref, GM_KIND_SEGMENT, &a->m->segments, row);
}

#define BLOCK_COLUMNS (BIT(ADDRESS) | BIT(SIZE) | BIT(REQUESTED_SIZE) | BIT(STATE) | BIT(FRAMES))
static const struct row_schema block_schema = {
    ROW_BLOCK, GM_ROW_BLOCK, BLOCK_COLUMNS | BIT(HISTORY) | BIT(FORWARD_FRAMES) | BIT(CPP_FRAMES), BLOCK_COLUMNS};

static bool make_block(struct gm_assembler *a, struct getter *g, uint32_t *ref)
{
    struct gm_block_build_row row;
    row.address = get_address(g, GM_KEY_ADDRESS, "address");
    row.size = get_uint(g, GM_KEY_SIZE, "size");
    row.requested = get_uint(g, GM_KEY_REQUESTED_SIZE, "requested_size");
    row.stack = get_stack(g, GM_KEY_FRAMES, "frames");
    switch (get_string(g, GM_KEY_STATE, "state")) {
    case GM_VALUE_ACTIVE_ALLOCATED:
        row.state = GM_BLOCK_ACTIVE_ALLOCATED;
        break;
    case GM_VALUE_ACTIVE_AWAITING_FREE:
        note_lost(g, GM_KEY_STATE);
        row.state = GM_BLOCK_ACTIVE_PENDING_FREE;
        break;
    case GM_VALUE_ACTIVE_PENDING_FREE:
        row.state = GM_BLOCK_ACTIVE_PENDING_FREE;
        break;
    case GM_VALUE_INACTIVE:
        row.state = GM_BLOCK_INACTIVE;
        break;
    default: /* unknown: count it as cached, which claims nothing about who uses it */
        row.state = GM_BLOCK_INACTIVE;
        note_lost(g, GM_KEY_STATE);
        if (g->odd == NULL && !gm_builder_warn(a->m, "blocks of an unknown state are counted as inactive"))
            return false;
    }
    if ((g->f->present & BIT(HISTORY)) != 0) { /* legacy files: entry 0 is the current or last occupant */
        uint32_t list = g->f->value[GM_KEY_HISTORY]->ref;
        const struct gm_node *node = &a->nodes.v[GM_REF_INDEX(list)];
        if (GM_REF_KIND(list) != GM_KIND_LIST)
            g->odd = "history";
        else if (node->count > 0 && GM_REF_KIND(gm_node_ref(a, node, 0)) == GM_KIND_HISTORY) {
            const struct gm_block_history *entry = &a->history.v[GM_REF_INDEX(gm_node_ref(a, node, 0))];
            if (row.requested == GM_ABSENT)
                row.requested = entry->real_size;
            if (row.stack.v == 0)
                row.stack = entry->stack;
        }
        if (!keep_missing(a, g, GM_ROW_BLOCK, a->m->blocks.n, GM_KEY_REQUESTED_SIZE) ||
            !keep_missing(a, g, GM_ROW_BLOCK, a->m->blocks.n, GM_KEY_FRAMES))
            return false;
    }
    if (!keep_missing(a, g, GM_ROW_BLOCK, a->m->blocks.n, GM_KEY_ADDRESS))
        return false;
    return ADD_ROW(a, ref, GM_KIND_BLOCK, &a->m->blocks, row);
}

#define FRAME_COLUMNS (BIT(NAME) | BIT(FILENAME) | BIT(LINE))
#define FRAME_KEYS                                                                                                     \
    (FRAME_COLUMNS | BIT(FX_NODE_OP) | BIT(FX_NODE_NAME) | BIT(FX_NODE_TARGET) | BIT(FX_NODE_INFO) |                   \
     BIT(FX_ORIGINAL_TRACE))

static bool make_frame(struct gm_assembler *a, struct getter *g, const struct gm_read_value *pairs, size_t count,
                       uint32_t *ref)
{
    struct gm_string_id name = {get_string(g, GM_KEY_NAME, "name")};
    struct gm_string_id filename = {get_string(g, GM_KEY_FILENAME, "filename")};
    size_t known = a->m->frame_name.n;
    struct gm_frame_id id = gm_intern_frame(a->m, name, filename, get_uint(g, GM_KEY_LINE, "line"));
    *ref = GM_REF(GM_KIND_FRAME, id.v);
    if (id.v == 0)
        return false;
    const struct fields *f = g->f;
    if ((f->present & ~FRAME_KEYS) != 0 || f->unknown != 0)
        if (!note_unknown_keys(a, ROW_FRAME, pairs, count, FRAME_KEYS))
            return false;
    bool is_new = a->m->frame_name.n != known;
    if (((f->present & ~FRAME_COLUMNS) | g->lost | f->unknown) != 0 || (!is_new && a->m->kept[GM_ROW_FRAME].n > 0))
        if (!gm_keep_frame(a, id.v, is_new, FRAME_COLUMNS & ~g->lost, pairs, count))
            return false;
    return g->odd == NULL || odd_field(a, ROW_FRAME, g->odd);
}

#define ANNOTATION_COLUMNS (BIT(NAME) | BIT(STAGE) | BIT(DEVICE) | BIT(TIME_US))
static const struct row_schema annotation_schema = {ROW_ANNOTATION, GM_ROW_ANNOTATION, ANNOTATION_COLUMNS,
                                                    ANNOTATION_COLUMNS};

static bool make_annotation(struct gm_assembler *a, struct getter *g, uint32_t *ref)
{
    struct gm_annotation row;
    row.name.v = get_string(g, GM_KEY_NAME, "name");
    uint32_t stage = get_string(g, GM_KEY_STAGE, "stage");
    if (stage != GM_VALUE_START && stage != GM_VALUE_END)
        note_lost(g, GM_KEY_STAGE);
    row.stage = stage == GM_VALUE_START ? GM_STAGE_START : stage == GM_VALUE_END ? GM_STAGE_END : GM_STAGE_OTHER;
    row.device = get_int(g, GM_KEY_DEVICE, "device", -1);
    row.time_us = get_int(g, GM_KEY_TIME_US, "time_us", GM_ABSENT_TIME);
    if (!keep_missing(a, g, GM_ROW_ANNOTATION, a->m->annotations.n, GM_KEY_DEVICE))
        return false;
    return ADD_ROW(a, ref, GM_KIND_ANNOTATION, &a->m->annotations, row);
}

#define HISTORY_KEYS (BIT(ADDR) | BIT(REAL_SIZE) | BIT(FRAMES) | BIT(CPP_FRAMES))

static bool make_history(struct gm_assembler *a, struct getter *g, const struct gm_read_value *pairs, size_t count,
                         uint32_t *ref)
{
    uint32_t dict = gm_assembler_dict(a, pairs, count);
    if (dict == GM_NO_REF)
        return false;
    struct gm_block_history row = {.real_size = get_uint(g, GM_KEY_REAL_SIZE, "real_size"),
                                   .stack = get_stack(g, GM_KEY_FRAMES, "frames"),
                                   .node = GM_REF_INDEX(dict)};
    if (((g->f->present & ~HISTORY_KEYS) != 0 || g->f->unknown != 0) &&
        !note_unknown_keys(a, ROW_HISTORY, pairs, count, HISTORY_KEYS))
        return false;
    if (g->odd != NULL && !odd_field(a, ROW_HISTORY, g->odd))
        return false;
    return ADD_ROW(a, ref, GM_KIND_HISTORY, &a->history, row);
}

enum gm_status gm_assembler_make_row(struct gm_assembler *a, const struct gm_read_value *pairs, size_t count,
                                     uint32_t *row, uint64_t offset, struct gm_error *err)
{
    struct fields f;
    collect(&f, pairs, count);
    struct getter g = {.f = &f};
    uint64_t has = f.present;
    uint32_t ref = GM_NO_REF;
    bool ok;
    if ((has & BIT(ACTION)) != 0)
        ok = make_event(a, &g, &ref) && note(a, &event_schema, GM_REF_INDEX(ref), &g, pairs, count) &&
             learn(a, gm_event_order(has & ~g.lost), &g, pairs, count);
    else if ((has & BIT(TOTAL_SIZE)) != 0)
        ok = make_segment(a, &g, &ref) && note(a, &segment_schema, GM_REF_INDEX(ref), &g, pairs, count) &&
             learn(a, has_frames(&g) ? GM_ORDER_SEGMENT_WITH_FRAMES : GM_ORDER_SEGMENT, &g, pairs, count);
    else if ((has & BIT(STATE)) != 0 && (has & BIT(SIZE)) != 0)
        ok = make_block(a, &g, &ref) && note(a, &block_schema, GM_REF_INDEX(ref), &g, pairs, count) &&
             learn(a, has_frames(&g) ? GM_ORDER_BLOCK_WITH_FRAMES : GM_ORDER_BLOCK, &g, pairs, count);
    else if ((has & BIT(STAGE)) != 0 && (has & BIT(NAME)) != 0) /* any other key is a user's own metadata */
        ok = make_annotation(a, &g, &ref) && note(a, &annotation_schema, GM_REF_INDEX(ref), &g, pairs, count) &&
             learn(a, GM_ORDER_ANNOTATION, &g, pairs, count);
    else if ((has & BIT(FILENAME)) != 0 && (has & (BIT(NAME) | BIT(LINE))) != 0)
        ok = make_frame(a, &g, pairs, count, &ref) && learn(a, GM_ORDER_FRAME, &g, pairs, count);
    else if ((has & BIT(REAL_SIZE)) != 0)
        ok = make_history(a, &g, pairs, count, &ref);
    else
        return GM_OK; /* none of ours */
    if (!ok)
        return gm_builder_failure(a->m, offset, err);
    *row = ref;
    return GM_OK;
}
