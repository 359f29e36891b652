/* SPDX-License-Identifier: Apache-2.0
 *
 * The last step of loading: from the one value that the decoder left to the tables of the snapshot. Segments and blocks
 * are laid out in the order of the lists that name them; events stay where they were made if, as always in real files,
 * the traces name them in order.
 */
#include "analyze/base/freed.h"
#include "analyze/formats/assemble_value.h"

#include <stdlib.h>
#include <string.h>

struct finisher {
    struct gm_assembler *a;
    struct gm_snapshot *s;
    struct gm_trace *traces; /* s->traces while it is filled */
    uint64_t offset;
    struct gm_error *err;
};

/* ---- salvage: closing what is open ------------------------------------------------------------------------------ */

static bool is_open(const struct gm_read_value *v, enum gm_open type)
{
    return v->ref == GM_REF(GM_KIND_OPEN, type);
}

/* Completes the last value as far as that can be told, and hands it to the container that it belongs to if that lies in
 * the same group, the values from `base` on. *changed: there may be more to do. */
static enum gm_status close_last(struct finisher *f, size_t base, bool is_marked, bool *changed)
{
    struct gm_assembler *a = f->a;
    size_t last = a->stack.n - 1;
    struct gm_read_value *v = a->stack.v + last;
    *changed = true;
    if (is_open(v, GM_OPEN_DICT)) { /* a row with fields missing is no row */
        gm_assembler_cut(a, last);
        return GM_OK;
    }
    enum gm_status status = GM_OK;
    if (is_open(v, GM_OPEN_LIST)) {
        size_t first = GM_OPEN_COUNT(v) > 0 ? GM_OPEN_FIRST(v) : a->list_items.n;
        GM_TRY(gm_assembler_seal(a, v, f->offset, f->err));
        a->list_items.n = first;
    }
    /* Above a mark, a dictionary's keys and values take turns: a value where a key should be is the one item of the
     * list before it. Without marks every value belongs to what lies below it. */
    bool is_key = GM_REF_KIND(v->ref) == GM_KIND_STRING;
    bool is_item = !is_marked || ((last - base) % 2 == 0 && !is_key && is_open(&a->stack.v[base - 1], GM_OPEN_DICT));
    if (is_item && last > base && is_open(v - 1, GM_OPEN_LIST))
        return gm_assembler_append(a, last, f->offset, f->err);
    if (!is_marked && last >= 2 && is_open(v - 2, GM_OPEN_DICT)) {
        if (last > 2)
            gm_assembler_cut(a, last - 2);
        else
            status = gm_assembler_put(a, 1, false, f->offset, f->err);
        return status;
    }
    if (!is_marked && last >= 1 && is_open(v - 1, GM_OPEN_DICT)) { /* a key whose value is missing */
        gm_assembler_cut(a, last);
        return GM_OK;
    }
    *changed = false;
    return GM_OK;
}

/* Closes unfinished containers from the innermost out. Lists keep the items they have. A dictionary that is not
 * complete is no row and is dropped, except the outermost one, which keeps its complete pairs. */
static enum gm_status close_open(struct finisher *f)
{
    struct gm_assembler *a = f->a;
    for (;;) {
        bool is_marked = a->marks.n > 0, changed = true;
        size_t base = is_marked ? a->marks.v[--a->marks.n] : 0;
        enum gm_status status = GM_OK;
        is_marked = is_marked && base > 0; /* a mark at the very bottom has no container below it */
        while (status == GM_OK && changed && a->stack.n > (is_marked ? base : 1))
            status = close_last(f, base, is_marked, &changed);
        if (status != GM_OK || !is_marked)
            return status; /* the outermost value is sealed by the caller */
        if (is_open(&a->stack.v[base - 1], GM_OPEN_LIST))
            status = gm_assembler_append(a, base, f->offset, f->err);
        else if (base > 1)
            gm_assembler_cut(a, base - 1);
        else {
            gm_assembler_cut(a, base + (a->stack.n - base) / 2 * 2);
            status = gm_assembler_put(a, base, false, f->offset, f->err);
        }
        if (status != GM_OK)
            return status;
    }
}

/* ---- looking things up ------------------------------------------------------------------------------------------ */

static const struct gm_node *node_of(const struct finisher *f, uint32_t ref)
{
    return &f->a->nodes.v[GM_REF_INDEX(ref)];
}

static bool is_list(uint32_t ref)
{
    return GM_REF_KIND(ref) == GM_KIND_LIST;
}

/* The value of a key in a dictionary; the last one counts, as in Python. GM_NO_REF if there is none. */
static uint32_t lookup(const struct finisher *f, uint32_t dict, enum gm_word key)
{
    if (GM_REF_KIND(dict) != GM_KIND_DICT)
        return GM_NO_REF;
    const struct gm_node *node = node_of(f, dict);
    for (uint32_t i = node->count; i >= 2; i -= 2)
        if (gm_node_ref(f->a, node, i - 2) == GM_REF(GM_KIND_STRING, key))
            return gm_node_ref(f->a, node, i - 1);
    return GM_NO_REF;
}

/* Python objects can be shared, so a list may name a row again, and real files do that now and then. But naming takes
 * two bytes of file where a row takes a hundred of memory: what is named may not be far more than what is there. */
enum { SHARED_AT_LEAST = 65536, SHARED_TIMES = 4 };

static enum gm_status check_sharing(const struct finisher *f, const char *what, size_t named, size_t made)
{
    if (named <= SHARED_AT_LEAST || named / SHARED_TIMES <= made)
        return GM_OK;
    return gm_fail(f->err, GM_E_LIMIT, GM_NO_OFFSET, "%s: %zu are named, but the file holds only %zu", what, named,
                   made);
}

/* ---- segments and blocks ---------------------------------------------------------------------------------------- */

/* Counts the blocks of a list of segments, checking that it is one. */
static enum gm_status count_blocks(struct finisher *f, const struct gm_node *list, const char *what, size_t *blocks)
{
    *blocks = 0;
    GM_TRY(check_sharing(f, what, list->count, f->a->m->segments.n));
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t ref = gm_node_ref(f->a, list, i);
        if (GM_REF_KIND(ref) != GM_KIND_SEGMENT)
            return gm_fail(f->err, GM_E_CORRUPT, GM_NO_OFFSET, "%s[%u] is no segment", what, (unsigned)i);
        const struct gm_segment_row *row = &f->a->m->segments.v[GM_REF_INDEX(ref)];
        if (row->address == GM_ABSENT || row->total_size == GM_ABSENT)
            return gm_fail(f->err, GM_E_CORRUPT, GM_NO_OFFSET, "%s[%u] has no valid address or total_size", what,
                           (unsigned)i);
        const struct gm_node *members = node_of(f, row->blocks);
        for (uint32_t j = 0; j < members->count; j++) {
            uint32_t block = gm_node_ref(f->a, members, j);
            if (GM_REF_KIND(block) != GM_KIND_BLOCK || f->a->m->blocks.v[GM_REF_INDEX(block)].size == GM_ABSENT)
                return gm_fail(f->err, GM_E_CORRUPT, GM_NO_OFFSET, "%s[%u], blocks[%u] is no block with a size", what,
                               (unsigned)i, (unsigned)j);
        }
        *blocks += members->count;
    }
    return check_sharing(f, "blocks", *blocks, f->a->m->blocks.n);
}

static void fill_segment(const struct finisher *f, struct gm_segment_columns *s, struct gm_block_columns *b, size_t i,
                         const struct gm_segment_row *row, size_t block)
{
#define PUT_SEGMENT(type, name) s->name[i] = row->name;
#define PUT_BLOCK(type, name) b->name[block] = from->name;
    GM_SEGMENT_FIELDS(PUT_SEGMENT)
    const struct gm_node *members = node_of(f, row->blocks);
    s->block_first[i] = block;
    s->block_count[i] = members->count;
    uint64_t address = row->address;
    for (uint32_t j = 0; j < members->count; j++, block++) {
        const struct gm_block_build_row *from = &f->a->m->blocks.v[GM_REF_INDEX(gm_node_ref(f->a, members, j))];
        GM_BLOCK_FIELDS(PUT_BLOCK)
        if (from->address == GM_ABSENT)
            b->address[block] = address;
        b->segment[block] = (uint32_t)i;
        address = b->address[block] + from->size; /* wraps on lies; only a label */
    }
}

static enum gm_status fill_segments(struct finisher *f, uint32_t ref, const char *what, struct gm_segments *segments,
                                    struct gm_blocks *blocks)
{
    if (ref == GM_NO_REF || ref == GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_NONE))
        return GM_OK;
    if (!is_list(ref))
        return gm_fail(f->err, GM_E_CORRUPT, GM_NO_OFFSET, "'%s' is no list", what);
    const struct gm_node *list = node_of(f, ref);
    size_t block_total;
    GM_TRY(count_blocks(f, list, what, &block_total));
    struct gm_segment_columns s = {0};
    struct gm_block_columns b = {0};
    if (!gm_new_segment_columns(&f->a->m->arena, &s, list->count) ||
        !gm_new_block_columns(&f->a->m->arena, &b, block_total))
        return gm_no_memory(f->err);
    size_t block = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct gm_segment_row *row = &f->a->m->segments.v[GM_REF_INDEX(gm_node_ref(f->a, list, i))];
        fill_segment(f, &s, &b, i, row, block);
        block += s.block_count[i];
    }
    GM_TRY(gm_keep_segments(f->a, list, segments == &f->s->host_segments, block_total, f->err));
    *segments = gm_segments_of(&s, list->count);
    *blocks = gm_blocks_of(&b, block_total);
    return GM_OK;
}

/* ---- traces ----------------------------------------------------------------------------------------------------- */

/* Whether a list is the events [next, next + count), as every real trace is. */
static bool is_event_run(const struct gm_node *list, size_t next)
{
    return list->count == 0 || (list->is_run && list->run_of == GM_KIND_EVENT && list->first == next);
}

struct trace_lists {
    const struct gm_node *list[2]; /* device_traces, host_traces: lists of lists of events; NULL if absent */
    struct gm_trace *traces[2];
};

/* Fills the traces' ranges; *in_order tells whether the events already lie in this order. Events that are no events
 * (an unknown shape) are left out with a warning. */
static enum gm_status measure_traces(struct finisher *f, struct trace_lists *t, bool *in_order, size_t *total)
{
    size_t next = 0;
    *in_order = true;
    for (int side = 0; side < 2; side++)
        for (uint32_t d = 0; t->list[side] != NULL && d < t->list[side]->count; d++) {
            uint32_t ref = gm_node_ref(f->a, t->list[side], d);
            struct gm_trace *trace = &t->traces[side][d];
            *trace = (struct gm_trace){.first = next, .max_entries = GM_ABSENT};
            if (!is_list(ref)) {
                if (!gm_builder_warn(f->a->m, "device_traces[%u] is no list of events and was ignored", (unsigned)d))
                    return gm_no_memory(f->err);
                continue;
            }
            const struct gm_node *list = node_of(f, ref);
            if (is_event_run(list, next)) {
                trace->count = list->count;
            } else {
                *in_order = false;
                for (uint32_t i = 0; i < list->count; i++)
                    trace->count += GM_REF_KIND(gm_node_ref(f->a, list, i)) == GM_KIND_EVENT;
                if (trace->count != list->count &&
                    !gm_builder_warn(f->a->m, "%zu entries of device_traces[%u] are no events and were ignored",
                                     (size_t)list->count - trace->count, (unsigned)d))
                    return gm_no_memory(f->err);
            }
            next += trace->count;
        }
    *total = next;
    *in_order = *in_order && next == f->a->m->events.count;
    return check_sharing(f, "events", next, f->a->m->events.count);
}

static enum gm_status reorder_events(struct finisher *f, const struct trace_lists *t, size_t total)
{
    GM_FREED uint32_t *order = malloc((total + 1) * sizeof *order);
    if (order == NULL)
        return gm_no_memory(f->err);
    size_t n = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t d = 0; t->list[side] != NULL && d < t->list[side]->count; d++) {
            uint32_t ref = gm_node_ref(f->a, t->list[side], d);
            const struct gm_node *list = is_list(ref) ? node_of(f, ref) : &f->a->nodes.v[GM_NODE_EMPTY];
            for (uint32_t i = 0; i < list->count; i++) {
                uint32_t event = gm_node_ref(f->a, list, i);
                if (GM_REF_KIND(event) == GM_KIND_EVENT)
                    order[n++] = GM_REF_INDEX(event);
            }
        }
    enum gm_status status = gm_keep_rows(f->a, GM_ROW_EVENT, GM_ROW_EVENT, order, n, f->err);
    if (status == GM_OK && !gm_builder_permute_events(f->a->m, order, n))
        status = gm_no_memory(f->err);
    return status;
}

static enum gm_status fill_traces(struct finisher *f, uint32_t device, uint32_t host)
{
    struct trace_lists t = {0};
    const uint32_t refs[2] = {device, host};
    for (int side = 0; side < 2; side++) {
        if (!is_list(refs[side])) {
            if (refs[side] != GM_NO_REF && refs[side] != GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_NONE) &&
                !gm_builder_warn(f->a->m, "the traces are no list and were ignored"))
                return gm_no_memory(f->err);
            continue;
        }
        t.list[side] = node_of(f, refs[side]);
        t.traces[side] = gm_arena_calloc(&f->a->m->arena, t.list[side]->count, sizeof *t.traces[side]);
        if (t.traces[side] == NULL)
            return gm_no_memory(f->err);
    }
    /* host_traces may also be one list of events rather than one per device */
    bool in_order = true;
    size_t total = 0;
    enum gm_status status = measure_traces(f, &t, &in_order, &total);
    if (status == GM_OK && !in_order)
        status = reorder_events(f, &t, total);
    else if (status == GM_OK && !gm_keep_all(f->a, GM_ROW_EVENT))
        status = gm_no_memory(f->err);
    if (status != GM_OK)
        return status;
    f->s->traces = f->traces = t.traces[0];
    f->s->trace_count = t.list[0] != NULL ? t.list[0]->count : 0;
    f->s->host_traces = t.traces[1];
    f->s->host_trace_count = t.list[1] != NULL ? t.list[1]->count : 0;
    return GM_OK;
}

/* trace_alloc_max_entries and trace_alloc_overflowed: at the top or among the settings, one for all or one per
 * device (a list, or a pair that was taken for a pool id). */
static void fill_ring_field(struct finisher *f, uint32_t ref, bool is_overflowed)
{
    struct gm_trace *traces = f->traces;
    const struct gm_node *list = is_list(ref) ? node_of(f, ref) : NULL;
    for (size_t d = 0; traces != NULL && d < f->s->trace_count; d++) {
        uint32_t item = ref;
        if (list != NULL && d >= list->count)
            break;
        if (list != NULL)
            item = gm_node_ref(f->a, list, (uint32_t)d);
        struct gm_read_value v = gm_assembler_value(f->a, item);
        bool is_number = v.ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE);
        if (is_overflowed && (is_number || GM_REF_KIND(v.ref) == GM_KIND_CONSTANT)) {
            bool yes = is_number ? v.bits != 0 : GM_REF_INDEX(v.ref) == GM_CONSTANT_TRUE;
            if (v.ref != GM_REF(GM_KIND_CONSTANT, GM_CONSTANT_NONE))
                traces[d].overflowed = yes ? GM_TRUE : GM_FALSE;
        } else if (!is_overflowed && is_number) {
            traces[d].max_entries = v.bits;
        } else if (!is_overflowed && GM_REF_KIND(ref) == GM_KIND_POOL && d < 2) {
            const struct gm_pool_key *pair = &f->a->m->pools.v[GM_REF_INDEX(ref)];
            traces[d].max_entries = d == 0 ? pair->first : pair->second;
        }
    }
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

struct setting_list GM_VEC(struct gm_setting);

static const char *key_text(struct finisher *f, const char *prefix, uint32_t key)
{
    const struct gm_snapshot_memory *m = f->a->m;
    struct gm_read_value v = gm_assembler_value(f->a, key);
    const char *dot = prefix[0] != '\0' ? "." : "";
    if (GM_REF_KIND(v.ref) == GM_KIND_STRING) {
        uint64_t start = m->string_start.v[GM_REF_INDEX(v.ref)], end = m->string_start.v[GM_REF_INDEX(v.ref) + 1];
        int length = end - start > 200 ? 200 : (int)(end - start);
        return gm_arena_printf(&f->a->m->arena, "%s%s%.*s", prefix, dot, length, m->string_bytes.v + start);
    }
    if (v.ref == GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE))
        return gm_arena_printf(&f->a->m->arena, "%s%s%llu", prefix, dot, (unsigned long long)v.bits);
    return gm_arena_printf(&f->a->m->arena, "%s%s?", prefix, dot);
}

/* A scalar setting; false if the value is none. */
static bool scalar_setting(const struct finisher *f, uint32_t ref, struct gm_setting *setting)
{
    struct gm_read_value v = gm_assembler_value(f->a, ref);
    uint32_t index = GM_REF_INDEX(v.ref);
    switch (GM_REF_KIND(v.ref)) {
    case GM_KIND_CONSTANT:
        setting->type = index == GM_CONSTANT_NONE ? GM_SETTING_NONE : GM_SETTING_BOOL;
        setting->integer = index == GM_CONSTANT_TRUE;
        return true;
    case GM_KIND_NUMBER:
        setting->type = index == GM_NUMBER_REAL ? GM_SETTING_REAL : GM_SETTING_INTEGER;
        if (index == GM_NUMBER_REAL)
            memcpy(&setting->real, &v.bits, sizeof setting->real);
        else
            setting->integer = index == GM_NUMBER_POSITIVE && v.bits > INT64_MAX ? INT64_MAX : (int64_t)v.bits;
        return index != GM_NUMBER_TOO_LARGE;
    case GM_KIND_STRING:
        setting->type = GM_SETTING_STRING;
        setting->string.v = index;
        return true;
    default:
        return false;
    }
}

/* Settings nest one level (roundup_power2_divisions); deeper ones are not known and left out. */
static enum gm_status flatten_settings(struct finisher *f, uint32_t dict, const char *prefix, int level,
                                       struct setting_list *list)
{
    enum { MAX_SETTINGS = 10000, MAX_LEVEL = 2 };
    const struct gm_node *node = node_of(f, dict);
    for (uint32_t i = 0; i + 1 < node->count && list->n < MAX_SETTINGS; i += 2) {
        uint32_t value = gm_node_ref(f->a, node, i + 1);
        struct gm_setting setting = {.key = key_text(f, prefix, gm_node_ref(f->a, node, i))};
        if (setting.key == NULL)
            return gm_no_memory(f->err);
        if (GM_REF_KIND(value) == GM_KIND_DICT && level < MAX_LEVEL) {
            GM_TRY(flatten_settings(f, value, setting.key, level + 1, list));
        } else if (scalar_setting(f, value, &setting)) {
            if (!GM_VEC_PUSH(list, setting))
                return gm_no_memory(f->err);
        }
    }
    return GM_OK;
}

static enum gm_status fill_settings(struct finisher *f, uint32_t ref)
{
    if (GM_REF_KIND(ref) != GM_KIND_DICT && ref != GM_REF(GM_KIND_LIST, GM_NODE_EMPTY))
        return GM_OK;
    f->s->has_settings = true;
    if (GM_REF_KIND(ref) != GM_KIND_DICT)
        return GM_OK;
    GM_FREED struct setting_list list = {0};
    GM_TRY(flatten_settings(f, ref, "", 1, &list));
    f->s->settings = gm_arena_array(&f->a->m->arena, list.v, list.n, sizeof *list.v);
    if (f->s->settings == NULL)
        return gm_no_memory(f->err);
    f->s->setting_count = list.n;
    fill_ring_field(f, lookup(f, ref, GM_KEY_TRACE_ALLOC_MAX_ENTRIES), false);
    fill_ring_field(f, lookup(f, ref, GM_KEY_TRACE_ALLOC_OVERFLOWED), true);
    return GM_OK;
}

/* ---- annotations ------------------------------------------------------------------------------------------------ */

/* Keeps the annotations that the list names, in its order. */
static enum gm_status fill_annotations(struct finisher *f, uint32_t ref)
{
    struct gm_snapshot_memory *m = f->a->m;
    const struct gm_node *list = is_list(ref) ? node_of(f, ref) : &f->a->nodes.v[GM_NODE_EMPTY];
    f->s->has_annotations = is_list(ref);
    bool in_order = list->count == m->annotations.n &&
                    (list->count == 0 || (list->is_run && list->run_of == GM_KIND_ANNOTATION && list->first == 0));
    if (in_order)
        return gm_keep_all(f->a, GM_ROW_ANNOTATION) ? GM_OK : gm_no_memory(f->err);
    struct gm_annotation *kept = malloc(((size_t)list->count + 1) * sizeof *kept);
    GM_FREED uint32_t *order = malloc(((size_t)list->count + 1) * sizeof *order);
    if (kept == NULL || order == NULL) {
        free(kept);
        return gm_no_memory(f->err);
    }
    size_t n = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t item = gm_node_ref(f->a, list, i);
        if (GM_REF_KIND(item) != GM_KIND_ANNOTATION)
            continue;
        order[n] = GM_REF_INDEX(item);
        kept[n++] = m->annotations.v[GM_REF_INDEX(item)];
    }
    free(m->annotations.v);
    m->annotations.v = kept;
    m->annotations.n = n;
    return gm_keep_rows(f->a, GM_ROW_ANNOTATION, GM_ROW_ANNOTATION, order, n, f->err);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool is_bare_list(const struct finisher *f, uint32_t root)
{
    return is_list(root) &&
           (node_of(f, root)->count == 0 || GM_REF_KIND(gm_node_ref(f->a, node_of(f, root), 0)) == GM_KIND_SEGMENT);
}

static enum gm_status note_top_keys(struct finisher *f, uint32_t root)
{
    const struct gm_node *node = node_of(f, root);
    const struct gm_snapshot_memory *m = f->a->m;
    for (uint32_t i = 0; i + 1 < node->count; i += 2) {
        uint32_t key = gm_node_ref(f->a, node, i);
        bool known = GM_REF_KIND(key) == GM_KIND_STRING && GM_REF_INDEX(key) >= GM_KEY_SEGMENTS &&
                     GM_REF_INDEX(key) <= GM_KEY_HOST_TRACES;
        if (known || GM_REF_KIND(key) != GM_KIND_STRING)
            continue;
        uint64_t start = m->string_start.v[GM_REF_INDEX(key)], end = m->string_start.v[GM_REF_INDEX(key) + 1];
        if (!gm_builder_warn(f->a->m, "unknown key '%.*s' of the snapshot was ignored",
                             end - start > 80 ? 80 : (int)(end - start), m->string_bytes.v + start))
            return gm_no_memory(f->err);
    }
    return GM_OK;
}

/* Everything that was kept beside the tables, now that all rows have their places. */
static enum gm_status keep(struct finisher *f, uint32_t root)
{
    uint32_t settings = lookup(f, root, GM_KEY_ALLOCATOR_SETTINGS);
    bool ok = GM_REF_KIND(root) != GM_KIND_DICT || gm_keep_top(f->a, node_of(f, root));
    ok = ok && gm_keep_all(f->a, GM_ROW_FRAME) &&
         gm_keep_values(f->a, f->s->has_settings ? settings : GM_NO_REF, &f->s->settings_tree);
    return ok ? GM_OK : gm_no_memory(f->err);
}

static enum gm_status fill(struct finisher *f, uint32_t root)
{
    bool is_bare = is_bare_list(f, root);
    uint32_t segments = is_bare ? root : lookup(f, root, GM_KEY_SEGMENTS);
    uint32_t traces = lookup(f, root, GM_KEY_DEVICE_TRACES);
    if (traces == GM_NO_REF)
        traces = lookup(f, root, GM_KEY_TRACES); /* the old viewer's wrapping of a bare list */
    if (segments == GM_NO_REF && traces == GM_NO_REF)
        return gm_fail(
            f->err, GM_E_FORMAT, GM_NO_OFFSET,
            "no memory snapshot: it holds neither 'segments' nor 'device_traces', nor is it a list of segments");
    f->s->source.is_bare_segment_list = is_bare;
    if (!is_bare)
        GM_TRY(note_top_keys(f, root));
    GM_TRY(fill_segments(f, segments, "segments", &f->s->segments, &f->s->blocks));
    GM_TRY(fill_segments(f, lookup(f, root, GM_KEY_HOST_SEGMENTS), "host_segments", &f->s->host_segments,
                         &f->s->host_blocks));
    GM_TRY(fill_traces(f, traces, lookup(f, root, GM_KEY_HOST_TRACES)));
    GM_TRY(fill_annotations(f, lookup(f, root, GM_KEY_EXTERNAL_ANNOTATIONS)));
    GM_TRY(fill_settings(f, lookup(f, root, GM_KEY_ALLOCATOR_SETTINGS)));
    fill_ring_field(f, lookup(f, root, GM_KEY_TRACE_ALLOC_MAX_ENTRIES), false);
    fill_ring_field(f, lookup(f, root, GM_KEY_TRACE_ALLOC_OVERFLOWED), true);
    return keep(f, root);
}

enum gm_status gm_assembler_finish(struct gm_assembler *a, struct gm_snapshot *snapshot, bool is_partial,
                                   uint64_t offset, struct gm_error *err)
{
    struct finisher f = {.a = a, .s = snapshot, .offset = offset, .err = err};
    *snapshot = (struct gm_snapshot){0};
    GM_TRY(is_partial ? close_open(&f) : GM_OK);
    if (is_partial && a->stack.n > 1)
        gm_assembler_cut(a, 1);
    if (a->stack.n != 1)
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no memory snapshot: the file holds nothing complete");
    enum gm_status status = gm_assembler_seal(a, &a->stack.v[0], offset, err);
    GM_THEN(status, fill(&f, a->stack.v[0].ref));
    if (status != GM_OK) {
        *snapshot = (struct gm_snapshot){0};
        return status;
    }
    gm_builder_publish(a->m, snapshot);
    a->m = NULL; /* the snapshot owns it now */
    return GM_OK;
}
