/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/freed.h"
#include "analyze/formats/assemble_value.h"

#include "analyze/base/bisect.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------------------------- */

bool gm_keep(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint32_t key, uint32_t ref)
{
    return GM_VEC_PUSH(&a->m->kept[kind], ((struct gm_kept_value){row, key, ref}));
}

/* The string that a pair has for a key; 0 if it is none, or if `columns` has it. */
static uint32_t kept_key(const struct gm_read_value *key, uint64_t columns)
{
    uint32_t word = key->ref - GM_REF(GM_KIND_STRING, 0);
    if (GM_REF_KIND(key->ref) != GM_KIND_STRING || (word < GM_KEY_COUNT && (columns >> word & 1) != 0))
        return 0;
    return word;
}

bool gm_keep_row(struct gm_assembler *a, enum gm_row_kind kind, uint32_t row, uint64_t columns,
                 const struct gm_read_value *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t key = kept_key(&pairs[2 * i], columns);
        if (key == 0)
            continue;
        uint32_t ref = gm_assembler_ref(a, &pairs[2 * i + 1]);
        if (ref == GM_NO_REF || !gm_keep(a, kind, row, key, ref))
            return false;
    }
    return true;
}

static size_t first_of_row(const struct gm_kept_list *list, uint32_t row)
{
    size_t low = 0;
    GM_BISECT(low, list->n, i, list->v[i].row < row);
    return low;
}

bool gm_keep_frame(struct gm_assembler *a, uint32_t frame, bool is_new, uint64_t columns,
                   const struct gm_read_value *pairs, size_t count)
{
    if (is_new)
        return gm_keep_row(a, GM_ROW_FRAME, frame, columns, pairs, count);
    const struct gm_kept_list *list = &a->m->kept[GM_ROW_FRAME];
    size_t at = first_of_row(list, frame);
    bool same = true;
    for (size_t i = 0; i < count && same; i++) {
        uint32_t key = kept_key(&pairs[2 * i], columns);
        if (key == 0)
            continue;
        uint32_t ref = gm_assembler_ref(a, &pairs[2 * i + 1]);
        if (ref == GM_NO_REF)
            return false;
        same = at < list->n && list->v[at].row == frame && list->v[at].key == key && list->v[at].ref == ref;
        at++;
    }
    return same || gm_builder_warn(a->m, "frames of equal name, file and line differ in other keys; those of the first "
                                         "were kept");
}

/* ---- orders ----------------------------------------------------------------------------------------------------- */

enum { MAX_ORDER = 256, MAX_LEARNED = 1000 };

/* A row whose keys come in another order than we know teaches us nothing but its new keys: each goes behind the key
 * that it follows. Bounded, since a file may invent as many shapes as it likes. */
bool gm_keep_order_slow(struct gm_assembler *a, enum gm_order_kind kind, uint64_t present,
                        const struct gm_read_value *pairs, size_t count)
{
    a->order_seen[kind][gm_order_slot(present)] = present;
    if (++a->order_learned[kind] > MAX_LEARNED)
        return true;
    size_t after = 0; /* where the next new key goes */
    for (size_t i = 0; i < count && i < MAX_ORDER; i++) {
        uint32_t key = kept_key(&pairs[2 * i], 0);
        if (key == 0)
            continue;
        const size_t n = a->m->key_orders[kind].n;
        size_t at = 0;
        while (at < n && a->m->key_orders[kind].v[at] != key)
            at++;
        if (at == n) {
            if (n == MAX_ORDER)
                return true;
            if (!GM_VEC_PUSH(&a->m->key_orders[kind], key))
                return false;
            uint32_t *v = a->m->key_orders[kind].v;
            memmove(v + after + 1, v + after, (n - after) * sizeof *v);
            v[after] = key;
            at = after;
        }
        after = at + 1;
    }
    return true;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

struct converter {
    struct gm_assembler *a;
    uint64_t *first; /* by node: where its values begin among the loose ones, + 1; 1: wanted, not there yet */
    bool any_lost;
};

/* The node of a container's reference, 0 if it is none. */
static uint32_t node_of(const struct gm_assembler *a, uint32_t ref)
{
    switch (GM_REF_KIND(ref)) {
    case GM_KIND_LIST:
    case GM_KIND_DICT:
        return GM_REF_INDEX(ref);
    case GM_KIND_HISTORY:
        return a->history.v[GM_REF_INDEX(ref)].node;
    default:
        return 0;
    }
}

static struct gm_loose number(const struct gm_read_value *v)
{
    switch (GM_REF_INDEX(v->ref)) {
    case GM_NUMBER_POSITIVE:
        return (struct gm_loose){.type = GM_LOOSE_POSITIVE, .bits = v->bits};
    case GM_NUMBER_NEGATIVE:
        return (struct gm_loose){.type = GM_LOOSE_NEGATIVE, .bits = v->bits};
    case GM_NUMBER_REAL:
        return (struct gm_loose){.type = GM_LOOSE_REAL, .bits = v->bits};
    default: /* more than 64 bits */
        return (struct gm_loose){.type = GM_LOOSE_NONE};
    }
}

static struct gm_loose loose_value(struct converter *c, uint32_t ref)
{
    struct gm_read_value v = gm_assembler_value(c->a, ref);
    uint32_t index = GM_REF_INDEX(v.ref);
    switch (GM_REF_KIND(v.ref)) {
    case GM_KIND_CONSTANT:
        return (struct gm_loose){.type = ref == GM_KEPT_MISSING       ? GM_LOOSE_MISSING
                                         : index == GM_CONSTANT_TRUE  ? GM_LOOSE_TRUE
                                         : index == GM_CONSTANT_FALSE ? GM_LOOSE_FALSE
                                                                      : GM_LOOSE_NONE};
    case GM_KIND_NUMBER:
        return number(&v);
    case GM_KIND_STRING:
        return (struct gm_loose){.type = GM_LOOSE_STRING, .bits = index};
    case GM_KIND_FRAME:
        return (struct gm_loose){.type = GM_LOOSE_FRAME, .bits = index};
    case GM_KIND_STACK:
        return (struct gm_loose){.type = GM_LOOSE_STACK, .bits = index};
    case GM_KIND_POOL:
        return (struct gm_loose){.type = GM_LOOSE_POOL, .bits = index};
    case GM_KIND_LIST:
    case GM_KIND_DICT:
    case GM_KIND_HISTORY: {
        uint32_t node = node_of(c->a, ref);
        uint8_t type = GM_REF_KIND(v.ref) == GM_KIND_LIST ? GM_LOOSE_LIST : GM_LOOSE_DICT;
        uint32_t count = c->a->nodes.v[node].count;
        return (struct gm_loose){.type = type, .count = count, .bits = count > 0 ? c->first[node] - 1 : 0};
    }
    default: /* a row, which is in a table or nowhere */
        c->any_lost = true;
        return (struct gm_loose){.type = GM_LOOSE_NONE};
    }
}

static void want(struct converter *c, uint32_t ref)
{
    uint32_t node = node_of(c->a, ref);
    if (node != 0)
        c->first[node] = 1;
}

/* Everything that a container holds was complete before it, so its node's number is lower: one walk down finds all that
 * is wanted, one walk up converts it, and nothing recurses. */
static bool convert_nodes(struct converter *c)
{
    const struct gm_assembler *a = c->a;
    for (size_t i = a->nodes.n; i-- > 1;) {
        const struct gm_node *node = &a->nodes.v[i];
        for (uint32_t j = 0; c->first[i] != 0 && j < node->count; j++)
            want(c, gm_node_ref(a, node, j));
    }
    for (size_t i = 1; i < a->nodes.n; i++) {
        const struct gm_node *node = &a->nodes.v[i];
        if (c->first[i] == 0)
            continue;
        if (!GM_VEC_ROOM(&a->m->loose, node->count))
            return false;
        c->first[i] = a->m->loose.n + 1;
        for (uint32_t j = 0; j < node->count; j++)
            a->m->loose.v[a->m->loose.n++] = loose_value(c, gm_node_ref(a, node, j));
    }
    return true;
}

/* Until now an extra's value was a reference in `bits`. */
static struct gm_loose reference(uint32_t ref)
{
    return (struct gm_loose){.bits = ref};
}

bool gm_keep_values(struct gm_assembler *a, uint32_t settings, struct gm_loose *settings_tree)
{
    struct gm_snapshot_memory *m = a->m;
    size_t extras = 0;
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++)
        extras += m->extras[kind].n;
    *settings_tree = (struct gm_loose){.type = GM_LOOSE_MISSING};
    if (extras == 0 && settings == GM_NO_REF)
        return true;
    struct converter c = {.a = a, .first = calloc(a->nodes.n, sizeof *c.first)};
    if (c.first == NULL)
        return false;
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++)
        for (size_t i = 0; i < m->extras[kind].n; i++)
            want(&c, (uint32_t)m->extras[kind].v[i].value.bits);
    if (settings != GM_NO_REF)
        want(&c, settings);
    bool ok = convert_nodes(&c);
    for (int kind = 0; ok && kind < GM_ROW_KIND_COUNT; kind++)
        for (size_t i = 0; i < m->extras[kind].n; i++)
            m->extras[kind].v[i].value = loose_value(&c, (uint32_t)m->extras[kind].v[i].value.bits);
    if (ok && settings != GM_NO_REF)
        *settings_tree = loose_value(&c, settings);
    free(c.first);
    return ok && (!c.any_lost || gm_builder_warn(m, "something that looks like a segment, a block, an event or an "
                                                    "annotation stands where none belongs; it was not kept"));
}

/* ---- final rows ------------------------------------------------------------------------------------------------- */

bool gm_keep_all(struct gm_assembler *a, enum gm_row_kind kind)
{
    const struct gm_kept_list *kept = &a->m->kept[kind];
    struct gm_snapshot_memory *m = a->m;
    if (!GM_VEC_ROOM(&m->extras[kind], kept->n))
        return false;
    for (size_t i = 0; i < kept->n; i++)
        m->extras[kind].v[m->extras[kind].n++] =
            (struct gm_extra){kept->v[i].row, kept->v[i].key, reference(kept->v[i].ref)};
    return true;
}

enum gm_status gm_keep_rows(struct gm_assembler *a, enum gm_row_kind from, enum gm_row_kind to, const uint32_t *order,
                            size_t count, struct gm_error *err)
{
    enum { SHARED_AT_LEAST = 1 << 20, SHARED_TIMES = 4 };
    const struct gm_kept_list *kept = &a->m->kept[from];
    struct gm_snapshot_memory *m = a->m;
    const size_t most = kept->n * SHARED_TIMES + SHARED_AT_LEAST;
    for (size_t i = 0; i < count && kept->n > 0; i++)
        for (size_t at = first_of_row(kept, order[i]); at < kept->n && kept->v[at].row == order[i]; at++) {
            if (m->extras[to].n >= most)
                return gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET, "rows with unknown keys are shared too often");
            struct gm_extra extra = {(uint32_t)i, kept->v[at].key, reference(kept->v[at].ref)};
            if (!GM_VEC_PUSH(&m->extras[to], extra))
                return gm_no_memory(err);
        }
    return GM_OK;
}

enum gm_status gm_keep_segments(struct gm_assembler *a, const struct gm_node *list, bool is_host, size_t blocks,
                                struct gm_error *err)
{
    const struct gm_snapshot_memory *m = a->m;
    if (m->kept[GM_ROW_SEGMENT].n == 0 && m->kept[GM_ROW_BLOCK].n == 0)
        return GM_OK;
    GM_FREED uint32_t *segments = malloc(((size_t)list->count + 1) * sizeof *segments);
    GM_FREED uint32_t *order = malloc((blocks + 1) * sizeof *order);
    size_t n = 0;
    enum gm_status status = GM_OK;
    if (segments == NULL || order == NULL)
        status = gm_no_memory(err);
    for (uint32_t i = 0; status == GM_OK && i < list->count; i++) {
        segments[i] = GM_REF_INDEX(gm_node_ref(a, list, i));
        const struct gm_node *members = &a->nodes.v[GM_REF_INDEX(m->segments.v[segments[i]].blocks)];
        for (uint32_t j = 0; j < members->count; j++)
            order[n++] = GM_REF_INDEX(gm_node_ref(a, members, j));
    }
    GM_THEN(status, gm_keep_rows(a, GM_ROW_SEGMENT, is_host ? GM_ROW_HOST_SEGMENT : GM_ROW_SEGMENT, segments,
                                 list->count, err));
    GM_THEN(status, gm_keep_rows(a, GM_ROW_BLOCK, is_host ? GM_ROW_HOST_BLOCK : GM_ROW_BLOCK, order, n, err));
    return status;
}

/* ---- the outermost dictionary ----------------------------------------------------------------------------------- */

/* Whether the tables of the snapshot hold all that the value of a known key says. */
static bool is_in_tables(uint32_t key, uint32_t ref, bool has_device_traces)
{
    bool is_list = GM_REF_KIND(ref) == GM_KIND_LIST;
    switch (key) {
    case GM_KEY_TRACES:
        return is_list && !has_device_traces;
    case GM_KEY_SEGMENTS:
    case GM_KEY_DEVICE_TRACES:
    case GM_KEY_EXTERNAL_ANNOTATIONS:
    case GM_KEY_HOST_SEGMENTS:
    case GM_KEY_HOST_TRACES:
        return is_list;
    case GM_KEY_ALLOCATOR_SETTINGS:
        return GM_REF_KIND(ref) == GM_KIND_DICT || ref == GM_REF(GM_KIND_LIST, GM_NODE_EMPTY);
    default:
        return false;
    }
}

static bool learn_top_key(struct gm_snapshot_memory *m, uint32_t key)
{
    enum { MAX_TOP_ORDER = 64 };
    size_t at = 0;
    while (at < m->key_orders[GM_ORDER_TOP].n && m->key_orders[GM_ORDER_TOP].v[at] != key)
        at++;
    return at < m->key_orders[GM_ORDER_TOP].n || at >= MAX_TOP_ORDER || GM_VEC_PUSH(&m->key_orders[GM_ORDER_TOP], key);
}

bool gm_keep_top(struct gm_assembler *a, const struct gm_node *root)
{
    uint32_t last[GM_KEY_COUNT] = {0}; /* index + 1: a key may stand there twice, and the last one counts */
    for (uint32_t i = 0; i + 1 < root->count; i += 2) {
        uint32_t word = gm_node_ref(a, root, i) - GM_REF(GM_KIND_STRING, 0);
        if (word < GM_KEY_COUNT)
            last[word] = i + 1;
    }
    for (uint32_t i = 0; i + 1 < root->count; i += 2) {
        uint32_t key = GM_REF_INDEX(gm_node_ref(a, root, i)), value = gm_node_ref(a, root, i + 1);
        if (GM_REF_KIND(gm_node_ref(a, root, i)) != GM_KIND_STRING || (key < GM_KEY_COUNT && last[key] != i + 1))
            continue;
        if (!is_in_tables(key, value, last[GM_KEY_DEVICE_TRACES] != 0) && !gm_keep(a, GM_ROW_TOP, 0, key, value))
            return false;
        if (!learn_top_key(a->m, key))
            return false;
    }
    return gm_keep_all(a, GM_ROW_TOP);
}
