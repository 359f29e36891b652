/* SPDX-License-Identifier: Apache-2.0
 *
 * Events, blocks and frames at once. Nearly all of a file are dictionaries with the keys of one before, all of them
 * strings of the memo, whose values are numbers, strings or in the memo too. Such a row is read here without the stack
 * and the table of fields; whatever else is met, nothing has happened yet and the plain way (pickle.c, assemble_row.c)
 * reads the row from its beginning. What a row comes to is decided there: this knows only what it is if nothing about
 * it is odd.
 */
#include "analyze/formats/assemble_value.h"
#include "analyze/formats/pickle_ops.h"

#include <string.h>

enum {
    MOST_KNOWN = 1 << 20 /* bytes of lists of frames that are kept */,
    LOOK_AT = 48 /* bytes at the beginning of one */,
    MOST_FRAMES = 256,
    MOST_MEMOISED = 10 /* the row, its pool, its frames, strings */,
    MOST_VALUES = MOST_FRAMES + 64
};

/* The keys of each kind of row, beside those that an event has all. */
#define BIT(key) (UINT64_C(1) << GM_KEY_##key)
#define OF_FRAMES (BIT(NAME) | BIT(FILENAME) | BIT(LINE))
#define OF_BLOCKS (BIT(ADDRESS) | BIT(REQUESTED_SIZE) | BIT(STATE))

/* A row while it is read. Where reading is, `p`, is handed from function to function, not kept here: so it stays in a
 * register. Each returns where the next opcode is; NULL: something is odd, or new. */
struct reading {
    struct gm_assembler *a;
    const unsigned char *stop; /* up to here any opcode is complete in the window */
    struct gm_event_row row;
    struct gm_block_build_row block; /* but its size and stack, which are the event's */
    struct gm_string_id name, filename;
    uint64_t line;
    uint64_t present;                  /* bit per key */
    uint32_t *memoised;                /* references, in order: what the memo has next, if this becomes a row */
    size_t memoised_count, stack_slot; /* the latter: of the stack that `frames` become; 0: it has none */
    uint32_t frames[MOST_FRAMES];
    size_t depth;
    uint32_t *guesses;                    /* for the list */
    const unsigned char *list, *list_end; /* from after their MARK on, with their APPENDS */
};

/* *ref is what a GET fetches. */
static inline const unsigned char *get(const struct reading *r, const unsigned char *p, uint32_t *ref)
{
    uint32_t slot = p[1];
    const bool is_long = p[0] == GM_OP_LONG_BINGET;
    if (is_long)
        memcpy(&slot, p + 1, sizeof slot);
    else if (p[0] != GM_OP_BINGET)
        return NULL;
    if (slot >= r->a->memo.n)
        return NULL;
    *ref = r->a->memo.v[slot];
    return p + (is_long ? 5 : 2);
}

/* A number that is not negative, in at most 8 bytes. */
static inline const unsigned char *number(const unsigned char *p, uint64_t *value)
{
    const bool is_long = p[0] == GM_OP_LONG1;
    const unsigned n = p[0] == GM_OP_BININT1   ? 1
                       : p[0] == GM_OP_BININT2 ? 2
                       : p[0] == GM_OP_BININT  ? 4
                       : is_long               ? p[1]
                                               : 0;
    p += is_long ? 2 : 1;
    if (n == 0 || n > 8 || ((n > 2 || is_long) && (p[n - 1] & 0x80) != 0))
        return NULL;
    memcpy(value, p, sizeof *value);
    *value &= UINT64_MAX >> (64 - 8 * n);
    return p + n;
}

/* One that was met before, or a short one. */
static inline const unsigned char *string(struct reading *r, const unsigned char *p, uint32_t *id)
{
    if (p[0] != GM_OP_SHORT_BINUNICODE) {
        uint32_t ref = GM_NO_REF;
        p = get(r, p, &ref);
        *id = GM_REF_INDEX(ref);
        return GM_REF_KIND(ref) == GM_KIND_STRING ? p : NULL;
    }
    if (r->stop - p < 4) /* with what comes after it */
        return NULL;
    const unsigned length = p[1];
    *id = gm_intern_string(r->a->m, p + 2, length).v;
    p += 2 + length + 1;
    r->memoised[r->memoised_count++] = GM_REF(GM_KIND_STRING, *id);
    return *id != 0 && p[-1] == GM_OP_MEMOIZE ? p : NULL;
}

static const unsigned char *action(struct reading *r, const unsigned char *p)
{
    uint32_t word = 0;
    p = string(r, p, &word);
    const uint32_t known = word - GM_WORD_FIRST_ACTION;
    r->row.action = (uint8_t)known;
    return known < GM_ACTION_COUNT && known != GM_ACTION_OOM ? p : NULL;
}

static const unsigned char *state(struct reading *r, const unsigned char *p)
{
    uint32_t word = 0;
    p = string(r, p, &word);
    r->block.state = word == GM_VALUE_ACTIVE_ALLOCATED      ? GM_BLOCK_ACTIVE_ALLOCATED
                     : word == GM_VALUE_ACTIVE_PENDING_FREE ? GM_BLOCK_ACTIVE_PENDING_FREE
                                                            : GM_BLOCK_INACTIVE;
    return r->block.state != GM_BLOCK_INACTIVE || word == GM_VALUE_INACTIVE ? p : NULL;
}

static const unsigned char *stream(struct reading *r, const unsigned char *p)
{
    uint64_t handle;
    p = number(p, &handle);
    r->row.stream = p != NULL ? gm_assembler_stream(r->a, (int64_t)handle).v : 0;
    return r->row.stream != 0 ? p : NULL;
}

/* One that was met before, or a tuple of two numbers. */
static const unsigned char *pool(struct reading *r, const unsigned char *p)
{
    struct gm_pool_key key;
    uint32_t ref = GM_NO_REF;
    const unsigned char *after = get(r, p, &ref);
    r->row.pool = GM_REF_INDEX(ref);
    if (after != NULL)
        return GM_REF_KIND(ref) == GM_KIND_POOL ? after : NULL;
    p = number(p, &key.first);
    p = p == NULL ? NULL : number(p, &key.second);
    if (p == NULL || p[0] != GM_OP_TUPLE2 || p[1] != GM_OP_MEMOIZE)
        return NULL;
    r->row.pool = gm_assembler_pool(r->a, key).v;
    r->memoised[r->memoised_count++] = GM_REF(GM_KIND_POOL, r->row.pool);
    return r->row.pool != 0 ? p + 2 : NULL;
}

/* The guesses for a list that begins at p, of which so much is in the window. */
static inline uint32_t *guesses_for(struct gm_frame_lists *known, const unsigned char *p)
{
    uint64_t mixed = known->last, word;
    for (size_t i = 0; i < LOOK_AT; i += sizeof word) {
        memcpy(&word, p + i, sizeof word);
        mixed = (mixed ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        mixed ^= mixed >> 32;
    }
    return known->guesses[mixed % GM_LIST_GUESSES];
}

/* The list that is expected, bytes for bytes. */
static const unsigned char *known_list(struct reading *r, const unsigned char *p)
{
    struct gm_frame_lists *known = &r->a->known;
    r->guesses = guesses_for(known, p);
    for (int i = 0; i < 2 && r->guesses[i] < known->lists.n; i++) {
        const uint32_t guess = r->guesses[i];
        const struct gm_frame_list *list = &known->lists.v[guess];
        if (guess == 0 || r->stop - p < (ptrdiff_t)list->length || /* p may be some bytes beyond stop */
            memcmp(p, known->bytes.v + list->first, list->length) != 0)
            continue;
        r->row.stack.v = list->stack;
        r->memoised[r->memoised_count++] = GM_REF(GM_KIND_STACK, list->stack);
        known->last = guess;
        return p + list->length;
    }
    return NULL;
}

/* The list of the row's stack, to be known again. Without memory, or room, it is not. */
static void learn_list(struct reading *r)
{
    struct gm_frame_lists *known = &r->a->known;
    const uint32_t stack = r->row.stack.v;
    const size_t length = (size_t)(r->list_end - r->list), asked = known->of_stack.n;
    uint32_t list = stack < asked ? known->of_stack.v[stack] : 0;
    if (list == 0 && known->bytes.n + length <= MOST_KNOWN && GM_VEC_ROOM(&known->bytes, length) &&
        GM_VEC_ROOM(&known->lists, 2) && (stack < asked || GM_VEC_ROOM(&known->of_stack, stack + 1 - asked))) {
        for (; known->of_stack.n <= stack; known->of_stack.n++)
            known->of_stack.v[known->of_stack.n] = 0;
        if (known->lists.n == 0)
            known->lists.v[known->lists.n++] = (struct gm_frame_list){0};
        list = (uint32_t)known->lists.n++;
        known->lists.v[list] = (struct gm_frame_list){(uint32_t)known->bytes.n, (uint32_t)length, stack};
        known->of_stack.v[stack] = list;
        memcpy(known->bytes.v + known->bytes.n, r->list, length);
        known->bytes.n += length;
    }
    r->guesses[1] = r->guesses[0];
    r->guesses[0] = known->last = list;
}

/* Frames that were met before, up to after their APPENDS. In variables of its own: most opcodes of a file are these. */
static const unsigned char *frames_of_list(struct reading *r, const unsigned char *p)
{
    const unsigned char *const stop = r->stop;
    const uint32_t *const memo = r->a->memo.v;
    const size_t memo_count = r->a->memo.n;
    uint32_t *to = r->frames, *const end = to + MOST_FRAMES, differs = 0, slot;
    while (p[0] != GM_OP_APPENDS) {
        if (p[0] == GM_OP_LONG_BINGET) {
            memcpy(&slot, p + 1, sizeof slot);
            p += 5;
        } else if (p[0] == GM_OP_BINGET) {
            slot = p[1];
            p += 2;
        } else {
            return NULL;
        }
        if (slot >= memo_count || to == end || p > stop)
            return NULL;
        differs |= memo[slot] ^ GM_REF(GM_KIND_FRAME, 0);
        *to++ = memo[slot];
    }
    r->depth = (size_t)(to - r->frames);
    return differs >> GM_KIND_SHIFT == 0 ? p + 1 : NULL;
}

/* A list that was met before, an empty one, or one of frames that were met before. */
static const unsigned char *frames(struct reading *r, const unsigned char *p)
{
    const uint32_t empty = GM_REF(GM_KIND_LIST, GM_NODE_EMPTY);
    if (p[0] != GM_OP_EMPTY_LIST) {
        uint32_t ref = GM_NO_REF;
        p = get(r, p, &ref);
        r->row.stack.v = ref == empty ? GM_STACK_EMPTY : GM_REF_INDEX(ref);
        return ref == empty || GM_REF_KIND(ref) == GM_KIND_STACK ? p : NULL;
    }
    if (p[1] != GM_OP_MEMOIZE)
        return NULL;
    if (p[2] != GM_OP_MARK) {
        r->row.stack.v = GM_STACK_EMPTY;
        r->memoised[r->memoised_count++] = empty;
        return p + 2;
    }
    const unsigned char *after = known_list(r, p + 3);
    if (after != NULL)
        return after;
    r->list = p + 3;
    r->stack_slot = r->memoised_count++;
    r->list_end = frames_of_list(r, r->list);
    return r->depth > 0 ? r->list_end : NULL;
}

/* A key and its value. */
static inline const unsigned char *item(struct reading *r, const unsigned char *p)
{
    uint32_t ref = GM_NO_REF;
    const unsigned char *value = p <= r->stop ? get(r, p, &ref) : NULL;
    const uint32_t key = ref - GM_REF(GM_KIND_STRING, 0);
    uint64_t time;
    if (key >= GM_KEY_COUNT || (r->present >> key & 1) != 0)
        return NULL;
    r->present |= UINT64_C(1) << key;
    switch (key) {
    case GM_KEY_ACTION:
        return action(r, value);
    case GM_KEY_ADDR:
        return number(value, &r->row.addr);
    case GM_KEY_SIZE:
        return number(value, &r->row.size);
    case GM_KEY_TIME_US:
        p = number(value, &time);
        r->row.time_us = p == NULL ? 0 : (int64_t)time;
        return p;
    case GM_KEY_STREAM:
        return stream(r, value);
    case GM_KEY_POOL_ID:
        return pool(r, value);
    case GM_KEY_COMPILE_CONTEXT:
        return string(r, value, &r->row.compile_context);
    case GM_KEY_USER_METADATA:
        return string(r, value, &r->row.user_metadata);
    case GM_KEY_CATEGORY:
        return string(r, value, &r->row.category);
    case GM_KEY_FRAMES:
        return frames(r, value);
    case GM_KEY_NAME:
        return string(r, value, &r->name.v);
    case GM_KEY_FILENAME:
        return string(r, value, &r->filename.v);
    case GM_KEY_LINE:
        return number(value, &r->line);
    case GM_KEY_ADDRESS:
        return number(value, &r->block.address);
    case GM_KEY_REQUESTED_SIZE:
        return number(value, &r->block.requested);
    case GM_KEY_STATE:
        return state(r, value);
    default:
        return NULL;
    }
}

/* Which row it is, and in which order its keys are if they are in that of one before. GM_ORDER_COUNT: not one of
 * these. */
static enum gm_order_kind kind_of(const struct reading *r)
{
    const uint64_t has = r->present;
    const bool has_frames = r->stack_slot != 0 || r->row.stack.v > GM_STACK_EMPTY;
    if ((has & BIT(ACTION)) != 0)
        return (has & (OF_FRAMES | OF_BLOCKS)) == 0 ? gm_event_order(has) : GM_ORDER_COUNT;
    if (has == OF_FRAMES) /* what is kept beside frames is the plain way's */
        return r->a->m->kept[GM_ROW_FRAME].n == 0 ? GM_ORDER_FRAME : GM_ORDER_COUNT;
    if ((has | BIT(REQUESTED_SIZE) | BIT(FRAMES)) == (OF_BLOCKS | BIT(SIZE) | BIT(FRAMES)))
        return has_frames ? GM_ORDER_BLOCK_WITH_FRAMES : GM_ORDER_BLOCK;
    return GM_ORDER_COUNT;
}

/* Adds the row to its table; GM_NO_REF: it has no place there. */
static uint32_t add(struct reading *r, enum gm_order_kind kind)
{
    struct gm_snapshot_memory *m = r->a->m;
    const uint32_t event = GM_REF(GM_KIND_EVENT, m->events.count), block = GM_REF(GM_KIND_BLOCK, m->blocks.n);
    if (kind == GM_ORDER_FRAME) {
        const uint32_t frame = gm_intern_frame(m, r->name, r->filename, r->line).v;
        return frame == 0 ? GM_NO_REF : GM_REF(GM_KIND_FRAME, frame);
    }
    if (kind == GM_ORDER_EVENT || kind == GM_ORDER_EVENT_WITH_FRAMES)
        return gm_builder_add_event(m, &r->row) ? event : GM_NO_REF;
    r->block.size = r->row.size;
    r->block.stack = r->row.stack;
    return m->blocks.n < GM_MAX_ID && GM_VEC_PUSH(&m->blocks, r->block) ? block : GM_NO_REF;
}

/* Makes the row; its memo's slots follow each other. */
static bool make(struct reading *r, enum gm_order_kind kind)
{
    struct gm_assembler *a = r->a;
    if (r->stack_slot != 0) {
        r->row.stack = gm_intern_stack(a->m, r->frames, r->depth);
        r->memoised[r->stack_slot] = GM_REF(GM_KIND_STACK, r->row.stack.v);
        if (r->row.stack.v == 0)
            return false;
        learn_list(r);
    }
    r->memoised[0] = add(r, kind);
    if (r->memoised[0] == GM_NO_REF)
        return false;
    a->memo.n += r->memoised_count;
    return true;
}

const unsigned char *gm_pickle_row(struct gm_assembler *a, const unsigned char *p, const unsigned char *stop,
                                   size_t room, uint32_t *ref)
{
    struct reading r;
    if (p[1] != GM_OP_MEMOIZE || p[2] != GM_OP_MARK || room < MOST_VALUES ||
        a->memo.capacity - a->memo.n < MOST_MEMOISED || a->marks.n + 2 > GM_MAX_DEPTH)
        return NULL;
    r.a = a;
    p += 3;
    r.stop = stop;
    r.row = (struct gm_event_row){.addr = GM_ABSENT, .size = GM_ABSENT, .time_us = GM_ABSENT_TIME};
    r.block.requested = GM_ABSENT;
    r.name.v = r.filename.v = 0;
    r.line = GM_ABSENT;
    r.present = 0;
    r.memoised = a->memo.v + a->memo.n; /* there is room for all of them */
    r.memoised_count = 1;
    r.stack_slot = r.depth = 0;
    while (p[0] != GM_OP_SETITEMS)
        if ((p = item(&r, p)) == NULL)
            return NULL;
    const enum gm_order_kind kind = kind_of(&r);
    if (kind == GM_ORDER_COUNT || a->order_seen[kind][gm_order_slot(r.present)] != r.present || !make(&r, kind))
        return NULL;
    *ref = r.memoised[0];
    return p + 1;
}
