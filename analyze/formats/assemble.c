/* SPDX-License-Identifier: Apache-2.0
 *
 * Completing containers: a list of frames becomes a stack, a dictionary becomes the row that its keys say it is.
 */
#include "analyze/formats/assemble.h"

#include "analyze/base/freed.h"
#include "analyze/formats/assemble_value.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ----------------------------------------------------------------------------------------------------- */

static bool intern_words(struct gm_snapshot_memory *m)
{
    /* an action that is also a word of its own would shift the ids: "category" and the like are no actions */
    for (uint32_t i = 1; i < GM_WORD_COUNT; i++)
        if (gm_intern_string(m, gm_word_text(i), strlen(gm_word_text(i))).v != i)
            return false;
    return true;
}

enum { BATCH = 1000 /* items of a list that Python's pickler appends at once */ };

enum gm_status gm_assembler_new(struct gm_assembler **assembler, struct gm_error *err)
{
    struct gm_assembler *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->m = gm_snapshot_memory_new();
        const struct gm_node empty = {0};
        /* room from the start, so that no pointer into a stack is ever null */
        if (a->m != NULL && intern_words(a->m) && GM_VEC_PUSH(&a->nodes, empty) && GM_VEC_ROOM(&a->stack, 2 * BATCH) &&
            GM_VEC_ROOM(&a->list_items, 64) && GM_VEC_ROOM(&a->dict_pairs, 64) && GM_VEC_ROOM(&a->marks, 16) &&
            GM_VEC_ROOM(&a->memo, 64) && GM_VEC_ROOM(&a->node_refs, 16)) {
            *assembler = a;
            return GM_OK;
        }
    }
    gm_assembler_free(a);
    return gm_no_memory(err);
}

void gm_assembler_expect(struct gm_assembler *a, size_t count)
{
    a->m->events.expected = count;
    (void)GM_VEC_ROOM(&a->memo, count); /* else it grows */
}

void gm_assembler_free(struct gm_assembler *a)
{
    if (a == NULL)
        return;
    gm_snapshot_memory_free(a->m);
    GM_FREE_ALL(a->stack.v, a->marks.v, a->list_items.v, a->dict_pairs.v, a->memo.v, a->nodes.v, a->node_refs.v,
                a->boxed.v, a->history.v, a->unknown_keys.v, a->known.bytes.v, a->known.lists.v, a->known.of_stack.v,
                a);
}

void gm_assembler_tell_filling(struct gm_assembler *a)
{
    gm_builder_tell_filling(a->m, a->filling);
    gm_filling_tell(&a->filling[GM_EVENT_FILLINGS], a->memo.v, a->memo.n * sizeof *a->memo.v,
                    a->memo.capacity * sizeof *a->memo.v);
}

void gm_assembler_ask_pages(struct gm_assembler *a)
{
    for (int i = 0; i <= GM_EVENT_FILLINGS; i++)
        gm_filling_ask(&a->filling[i]);
}

uint64_t gm_assembler_bytes(const struct gm_assembler *a)
{
    return (a->m == NULL ? 0 : gm_builder_bytes(a->m)) + GM_VEC_BYTES(&a->stack) + GM_VEC_BYTES(&a->marks) +
           GM_VEC_BYTES(&a->list_items) + GM_VEC_BYTES(&a->dict_pairs) + GM_VEC_BYTES(&a->memo) +
           GM_VEC_BYTES(&a->nodes) + GM_VEC_BYTES(&a->node_refs) + GM_VEC_BYTES(&a->boxed) + GM_VEC_BYTES(&a->history) +
           GM_VEC_BYTES(&a->known.bytes) + GM_VEC_BYTES(&a->known.lists) + GM_VEC_BYTES(&a->known.of_stack);
}

/* ---- values and references -------------------------------------------------------------------------------------- */

uint32_t gm_assembler_ref(struct gm_assembler *a, const struct gm_read_value *v)
{
    if (GM_REF_KIND(v->ref) != GM_KIND_NUMBER)
        return v->ref;
    enum gm_number type = GM_REF_INDEX(v->ref);
    if (type == GM_NUMBER_POSITIVE && v->bits < GM_MAX_ID)
        return GM_REF(GM_KIND_SMALL, v->bits);
    if (a->boxed.n >= GM_MAX_ID || !GM_VEC_PUSH(&a->boxed, ((struct gm_boxed){v->bits, type})))
        return GM_NO_REF;
    return GM_REF(GM_KIND_BOXED, a->boxed.n - 1);
}

struct gm_read_value gm_assembler_value(const struct gm_assembler *a, uint32_t ref)
{
    uint32_t index = GM_REF_INDEX(ref);
    switch (GM_REF_KIND(ref)) {
    case GM_KIND_SMALL:
        return (struct gm_read_value){.bits = index, .ref = GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE)};
    case GM_KIND_BOXED:
        return (struct gm_read_value){.bits = a->boxed.v[index].bits,
                                      .ref = GM_REF(GM_KIND_NUMBER, a->boxed.v[index].type)};
    default:
        return (struct gm_read_value){.ref = ref};
    }
}

enum gm_status gm_assembler_room(struct gm_assembler *a, uint64_t offset, struct gm_error *err)
{
    if (a->stack.n < a->stack.capacity)
        return GM_OK;
    /* An event takes 40 bytes of file and more, so no real file comes near this. */
    if (a->stack.n > (UINT64_C(1) << 20) + offset / 8 || a->stack.n >= GM_MAX_ID)
        return gm_fail(err, GM_E_LIMIT, offset, "%zu unfinished values at once, more than a snapshot needs",
                       a->stack.n);
    if (!GM_VEC_ROOM(&a->stack, 1))
        return gm_no_memory(err);
    return GM_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static bool all_of_kind(const uint32_t *refs, uint32_t count, enum gm_kind kind)
{
    uint32_t differs = 0;
    for (uint32_t i = 0; i < count; i++)
        differs |= (refs[i] ^ GM_REF(kind, 0)) >> GM_KIND_SHIFT;
    return differs == 0;
}

static bool is_run(const uint32_t *refs, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (refs[i] != refs[0] + i)
            return false;
    enum gm_kind kind = GM_REF_KIND(refs[0]);
    return GM_REF_KIND(refs[count - 1]) == kind;
}

/* Makes a node of `count` references, all of them at `refs` or, of a run, the first; the id goes to *node. */
static bool add_node(struct gm_assembler *a, const uint32_t *refs, uint32_t count, bool is_of_run, uint32_t *node)
{
    *node = GM_NODE_EMPTY;
    if (count == 0)
        return true;
    struct gm_node n = {.count = count};
    if (is_of_run || is_run(refs, count)) {
        n.is_run = true;
        n.run_of = GM_REF_KIND(refs[0]);
        n.first = GM_REF_INDEX(refs[0]);
    } else {
        if (a->node_refs.n > UINT32_MAX - count || !GM_VEC_ROOM(&a->node_refs, count))
            return false;
        n.first = (uint32_t)a->node_refs.n;
        memcpy(a->node_refs.v + a->node_refs.n, refs, count * sizeof *refs);
        a->node_refs.n += count;
    }
    *node = (uint32_t)a->nodes.n;
    return a->nodes.n < GM_MAX_ID && GM_VEC_PUSH(&a->nodes, n);
}

/* A stack with something in it that is no frame keeps its frames, moved to the front of its items. Returns how many;
 * 0: it is no stack. */
static uint32_t keep_frames(struct gm_assembler *a, const struct gm_read_value *v)
{
    uint32_t *refs = a->list_items.v + GM_OPEN_FIRST(v), count = GM_OPEN_IS_RUN(v) ? 0 : GM_OPEN_COUNT(v), kept = 0;
    for (uint32_t i = 0; i < count && GM_REF_KIND(refs[i]) != GM_KIND_FRAME; i++)
        if (i > 16) /* long lists are traces and the like: do not walk them for this */
            return 0;
    for (uint32_t i = 0; i < count; i++)
        if (GM_REF_KIND(refs[i]) == GM_KIND_FRAME)
            refs[kept++] = refs[i];
    if (kept > 0 && !gm_builder_warn(a->m, "a stack holds entries that are no frames; they were left out"))
        return 0;
    return kept;
}

static enum gm_status seal_list(struct gm_assembler *a, struct gm_read_value *v, uint64_t offset, struct gm_error *err)
{
    const uint32_t *refs = a->list_items.v + GM_OPEN_FIRST(v);
    uint32_t count = GM_OPEN_COUNT(v);
    bool is_stack = count > 0 && GM_REF_KIND(refs[0]) == GM_KIND_FRAME && all_of_kind(refs, count, GM_KIND_FRAME);
    uint32_t frames = is_stack ? count : keep_frames(a, v);
    if (frames > 0) {
        struct gm_stack_id stack = gm_intern_stack(a->m, a->list_items.v + GM_OPEN_FIRST(v), frames);
        if (stack.v == 0)
            return gm_builder_failure(a->m, offset, err);
        v->ref = GM_REF(GM_KIND_STACK, stack.v);
        return GM_OK;
    }
    uint32_t node;
    if (!add_node(a, refs, count, GM_OPEN_IS_RUN(v), &node))
        return gm_no_memory(err);
    v->ref = GM_REF(GM_KIND_LIST, node);
    return GM_OK;
}

/* ---- dictionaries ----------------------------------------------------------------------------------------------- */

uint32_t gm_assembler_dict(struct gm_assembler *a, const struct gm_read_value *pairs, size_t count)
{
    uint32_t refs = (uint32_t)(2 * count);
    if (count == 0)
        return GM_REF(GM_KIND_DICT, GM_NODE_EMPTY);
    if (a->node_refs.n > UINT32_MAX - refs || !GM_VEC_ROOM(&a->node_refs, refs) || a->nodes.n >= GM_MAX_ID)
        return GM_NO_REF;
    struct gm_node node = {.first = (uint32_t)a->node_refs.n, .count = refs};
    for (uint32_t i = 0; i < refs; i++) {
        uint32_t ref = gm_assembler_ref(a, &pairs[i]);
        if (ref == GM_NO_REF)
            return GM_NO_REF;
        a->node_refs.v[a->node_refs.n++] = ref;
    }
    return GM_VEC_PUSH(&a->nodes, node) ? GM_REF(GM_KIND_DICT, a->nodes.n - 1) : GM_NO_REF;
}

static enum gm_status seal_dict(struct gm_assembler *a, struct gm_read_value *v, uint64_t offset, struct gm_error *err)
{
    const struct gm_read_value *pairs = a->dict_pairs.v + GM_OPEN_FIRST(v);
    uint32_t count = GM_OPEN_COUNT(v);
    uint32_t row = GM_NO_REF;
    GM_TRY(gm_assembler_make_row(a, pairs, count / 2, &row, offset, err));
    if (row != GM_NO_REF) {
        v->ref = row;
        return GM_OK;
    }
    row = gm_assembler_dict(a, pairs, count / 2);
    if (row == GM_NO_REF)
        return gm_no_memory(err);
    v->ref = row;
    return GM_OK;
}

enum gm_status gm_assembler_seal(struct gm_assembler *a, struct gm_read_value *v, uint64_t offset, struct gm_error *err)
{
    if (GM_REF_KIND(v->ref) != GM_KIND_OPEN)
        return GM_OK;
    GM_TRY(GM_REF_INDEX(v->ref) == GM_OPEN_LIST ? seal_list(a, v, offset, err) : seal_dict(a, v, offset, err));
    if (v->slot != 0)
        a->memo.v[v->slot - 1] = v->ref;
    v->slot = 0;
    return GM_OK;
}

/* ---- the stack -------------------------------------------------------------------------------------------------- */

void gm_assembler_cut(struct gm_assembler *a, size_t height)
{
    while (a->stack.n > height) {
        const struct gm_read_value *v = &a->stack.v[--a->stack.n];
        if (GM_REF_KIND(v->ref) != GM_KIND_OPEN || GM_OPEN_COUNT(v) == 0)
            continue;
        if (GM_REF_INDEX(v->ref) == GM_OPEN_LIST)
            a->list_items.n = GM_OPEN_FIRST(v);
        else
            a->dict_pairs.n = GM_OPEN_FIRST(v);
    }
}

/* The hot question about a batch of values: is any of these kinds among them? `kinds` has a bit per gm_kind. */
static inline bool any_of_kinds(const struct gm_read_value *v, size_t count, uint32_t kinds)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++)
        found |= UINT32_C(1) << (v[i].ref >> GM_KIND_SHIFT);
    return (found & kinds) != 0;
}

/* Seals the values above `from`, then cuts the side stacks back to where the first of them began. */
static enum gm_status seal_above(struct gm_assembler *a, size_t from, uint64_t offset, struct gm_error *err)
{
    if (!any_of_kinds(a->stack.v + from, a->stack.n - from, UINT32_C(1) << GM_KIND_OPEN))
        return GM_OK;
    size_t list_end = a->list_items.n, dict_end = a->dict_pairs.n;
    for (size_t i = from; i < a->stack.n; i++) {
        struct gm_read_value *v = &a->stack.v[i];
        if (GM_REF_KIND(v->ref) != GM_KIND_OPEN)
            continue;
        size_t first = GM_OPEN_FIRST(v);
        bool is_list = GM_REF_INDEX(v->ref) == GM_OPEN_LIST, has_items = GM_OPEN_COUNT(v) > 0;
        GM_TRY(gm_assembler_seal(a, v, offset, err));
        if (has_items && is_list && first < list_end)
            list_end = first;
        if (has_items && !is_list && first < dict_end)
            dict_end = first;
    }
    a->list_items.n = list_end;
    a->dict_pairs.n = dict_end;
    return GM_OK;
}

/* Whether the values are events one after the other, from that one on. */
static bool are_events(const struct gm_read_value *v, size_t count, uint32_t first)
{
    size_t i = 0;
    while (i < count && v[i].ref == first + i)
        i++;
    return i == count && GM_REF_KIND(first) == GM_KIND_EVENT;
}

/* Whether a list is a run with the values above it, of which there are some. */
static bool stays_run(const struct gm_assembler *a, const struct gm_read_value *list, size_t extra)
{
    const uint32_t count = GM_OPEN_COUNT(list);
    return count == 0             ? are_events(list + 1, extra, list[1].ref)
           : GM_OPEN_IS_RUN(list) ? are_events(list + 1, extra, a->list_items.v[GM_OPEN_FIRST(list)] + count)
                                  : false;
}

/* Adds references to the values above `from` to list_items, which has room. */
static bool add_refs(struct gm_assembler *a, size_t from)
{
    for (size_t i = from; i < a->stack.n; i++) {
        uint32_t ref = gm_assembler_ref(a, &a->stack.v[i]);
        if (ref == GM_NO_REF)
            return false;
        a->list_items.v[a->list_items.n++] = ref;
    }
    return true;
}

static enum gm_status no_container(const char *what, uint64_t offset, struct gm_error *err)
{
    return gm_fail(err, GM_E_CORRUPT, offset, "items for a %s, but there is none under construction", what);
}

enum gm_status gm_assembler_append(struct gm_assembler *a, size_t from, uint64_t offset, struct gm_error *err)
{
    if (from == 0 || a->stack.v[from - 1].ref != GM_REF(GM_KIND_OPEN, GM_OPEN_LIST))
        return a->stack.n == from && from > 0 ? GM_OK : no_container("list", offset, err);
    GM_TRY(seal_above(a, from, offset, err));
    struct gm_read_value *list = &a->stack.v[from - 1];
    size_t extra = a->stack.n - from;
    uint32_t count = GM_OPEN_COUNT(list);
    uint32_t first = count == 0 ? (uint32_t)a->list_items.n : GM_OPEN_FIRST(list);
    const bool was_run = GM_OPEN_IS_RUN(list), is_run = extra > 0 && stays_run(a, list, extra);
    /* what lies behind belonged to containers that are complete by now */
    a->list_items.n = (size_t)first + (was_run ? 1 : count);
    if ((size_t)first + count + extra > UINT32_MAX / 2)
        return gm_fail(err, GM_E_LIMIT, offset, "a list of more than %u items", UINT32_MAX / 2);
    if (!GM_VEC_ROOM(&a->list_items, is_run ? 1 : was_run ? count + extra : extra))
        return gm_no_memory(err);
    for (uint32_t i = 1; was_run && !is_run && i < count; i++)
        a->list_items.v[a->list_items.n++] = a->list_items.v[first] + i;
    if (is_run) {
        if (count == 0)
            a->list_items.v[a->list_items.n++] = list[1].ref;
    } else if (!any_of_kinds(a->stack.v + from, extra, UINT32_C(1) << GM_KIND_NUMBER)) {
        uint32_t *to = a->list_items.v + a->list_items.n;
        for (size_t i = 0; i < extra; i++)
            to[i] = a->stack.v[from + i].ref;
        a->list_items.n += extra;
    } else if (!add_refs(a, from)) {
        return gm_no_memory(err);
    }
    list->bits = GM_OPEN_BITS(first, (count + extra) | (is_run ? GM_OPEN_RUN : 0));
    a->stack.n = from;
    return GM_OK;
}

enum gm_status gm_assembler_put(struct gm_assembler *a, size_t from, bool is_last, uint64_t offset,
                                struct gm_error *err)
{
    size_t extra = a->stack.n - from;
    if (from == 0 || a->stack.v[from - 1].ref != GM_REF(GM_KIND_OPEN, GM_OPEN_DICT))
        return extra == 0 && from > 0 ? GM_OK : no_container("dictionary", offset, err);
    if (extra % 2 != 0)
        return gm_fail(err, GM_E_CORRUPT, offset, "a dictionary with a key but no value");
    GM_TRY(seal_above(a, from, offset, err));
    struct gm_read_value *dict = &a->stack.v[from - 1];
    uint32_t count = GM_OPEN_COUNT(dict);
    if (is_last && count == 0) {
        uint32_t row = GM_NO_REF;
        GM_TRY(gm_assembler_make_row(a, a->stack.v + from, extra / 2, &row, offset, err));
        if (row != GM_NO_REF) {
            dict->ref = row;
            if (dict->slot != 0)
                a->memo.v[dict->slot - 1] = row;
            dict->slot = 0;
            a->stack.n = from;
            return GM_OK;
        }
    }
    uint32_t first = count == 0 ? (uint32_t)a->dict_pairs.n : GM_OPEN_FIRST(dict);
    a->dict_pairs.n = (size_t)first + count; /* likewise */
    if (a->dict_pairs.n + extra > UINT32_MAX / 2)
        return gm_fail(err, GM_E_LIMIT, offset, "a dictionary of more than %u items", UINT32_MAX / 4);
    if (!GM_VEC_ROOM(&a->dict_pairs, extra))
        return gm_no_memory(err);
    if (extra > 0)
        memcpy(a->dict_pairs.v + a->dict_pairs.n, a->stack.v + from, extra * sizeof *a->dict_pairs.v);
    a->dict_pairs.n += extra;
    dict->bits = GM_OPEN_BITS(first, count + extra);
    a->stack.n = from;
    return GM_OK;
}

static bool is_whole(const struct gm_read_value *v)
{
    return v->ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE);
}

enum gm_status gm_assembler_tuple(struct gm_assembler *a, size_t from, uint64_t offset, struct gm_error *err)
{
    struct gm_read_value *v = a->stack.v + from;
    if (a->stack.n - from == 2 && is_whole(&v[0]) && is_whole(&v[1])) {
        struct gm_pool_id pool = gm_assembler_pool(a, (struct gm_pool_key){v[0].bits, v[1].bits});
        if (pool.v == 0)
            return gm_builder_failure(a->m, offset, err);
        v[0] = (struct gm_read_value){.ref = GM_REF(GM_KIND_POOL, pool.v)};
        a->stack.n = from + 1;
        return GM_OK;
    }
    enum gm_status status = seal_above(a, from, offset, err);
    if (status != GM_OK)
        return status;
    /* A tuple is a list that is complete at once. */
    if (a->stack.n == from && (status = gm_assembler_room(a, offset, err)) != GM_OK)
        return status;
    size_t count = a->stack.n - from, first = a->list_items.n;
    if (first + count > UINT32_MAX / 2)
        return gm_fail(err, GM_E_LIMIT, offset, "a tuple of more than %u items", UINT32_MAX / 2);
    if (!GM_VEC_ROOM(&a->list_items, count))
        return gm_no_memory(err);
    if (!add_refs(a, from))
        return gm_no_memory(err);
    a->stack.v[from] =
        (struct gm_read_value){.bits = GM_OPEN_BITS(first, count), .ref = GM_REF(GM_KIND_OPEN, GM_OPEN_LIST)};
    status = gm_assembler_seal(a, &a->stack.v[from], offset, err);
    a->list_items.n = first;
    a->stack.n = from + 1;
    return status;
}

/* ---- the interface for decoders of trees ------------------------------------------------------------------------ */

static enum gm_status push(struct gm_assembler *a, struct gm_read_value v, uint64_t offset, struct gm_error *err)
{
    enum gm_status status = gm_assembler_room(a, offset, err);
    if (status == GM_OK)
        a->stack.v[a->stack.n++] = v;
    return status;
}

enum gm_status gm_assembler_null(struct gm_assembler *a, uint64_t offset, struct gm_error *err)
{
    return push(a, (struct gm_read_value){.ref = GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_NONE)}, offset, err);
}

enum gm_status gm_assembler_bool(struct gm_assembler *a, bool value, uint64_t offset, struct gm_error *err)
{
    uint32_t index = value ? GM_CONSTANT_TRUE : GM_CONSTANT_FALSE;
    return push(a, (struct gm_read_value){.ref = GM_REF(GM_KIND_CONSTANT, index)}, offset, err);
}

enum gm_status gm_assembler_integer(struct gm_assembler *a, uint64_t magnitude, bool is_negative, uint64_t offset,
                                    struct gm_error *err)
{
    enum gm_number type = !is_negative || magnitude == 0         ? GM_NUMBER_POSITIVE
                          : magnitude <= (uint64_t)INT64_MAX + 1 ? GM_NUMBER_NEGATIVE
                                                                 : GM_NUMBER_TOO_LARGE;
    uint64_t bits = is_negative ? 0 - magnitude : magnitude;
    return push(a, (struct gm_read_value){.bits = bits, .ref = GM_REF(GM_KIND_NUMBER, type)}, offset, err);
}

enum gm_status gm_assembler_real(struct gm_assembler *a, double value, uint64_t offset, struct gm_error *err)
{
    struct gm_read_value v = {.ref = GM_REF(GM_KIND_NUMBER, GM_NUMBER_REAL)};
    memcpy(&v.bits, &value, sizeof value);
    return push(a, v, offset, err);
}

enum gm_status gm_assembler_string(struct gm_assembler *a, const void *bytes, size_t length, uint64_t offset,
                                   struct gm_error *err)
{
    struct gm_string_id id = gm_intern_string(a->m, bytes, length);
    if (id.v == 0)
        return gm_builder_failure(a->m, offset, err);
    return push(a, (struct gm_read_value){.ref = GM_REF(GM_KIND_STRING, id.v)}, offset, err);
}

/* A tree needs no marks of the pickle kind; here a mark is the height just above an open container. */
enum gm_status gm_assembler_begin(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err)
{
    const enum gm_open type = is_dict ? GM_OPEN_DICT : GM_OPEN_LIST;
    if (a->marks.n >= GM_MAX_DEPTH)
        return gm_fail(err, GM_E_LIMIT, offset, "nested deeper than %d levels", GM_MAX_DEPTH);
    enum gm_status status = push(a, (struct gm_read_value){.ref = GM_REF(GM_KIND_OPEN, type)}, offset, err);
    if (status == GM_OK && !GM_VEC_PUSH(&a->marks, (uint32_t)a->stack.n))
        return gm_no_memory(err);
    return status;
}

/* After a child is complete: long lists move their items off the stack now and then, as Python's pickler does. */
enum gm_status gm_assembler_end(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err)
{
    if (a->marks.n == 0)
        return gm_fail(err, GM_E_INTERNAL, offset, "a container ends that was not begun");
    size_t from = a->marks.v[--a->marks.n];
    enum gm_status status =
        is_dict ? gm_assembler_put(a, from, true, offset, err) : gm_assembler_append(a, from, offset, err);
    if (status != GM_OK || a->marks.n == 0)
        return status;
    size_t outer = a->marks.v[a->marks.n - 1];
    if (a->stack.n - outer >= BATCH && a->stack.v[outer - 1].ref == GM_REF(GM_KIND_OPEN, GM_OPEN_LIST))
        return gm_assembler_append(a, outer, offset, err);
    return GM_OK;
}
