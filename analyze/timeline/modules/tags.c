/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak by what names a block: operator, annotation, metadata, compiled region, graph node. Each
 * block is in one row of each table, or in what is not told.
 */
#include "analyze/base/address_map.h"

#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/timeline/modules/module_work.h"

#include <stdlib.h>
#include <string.h>

static uint64_t *part_of(struct gm_purposes *use, uint8_t role)
{
    switch (role) {
    case GM_ROLE_PARAMETER:
        return &use->weights;
    case GM_ROLE_GRADIENT:
        return &use->gradients;
    case GM_ROLE_OPTIMIZER_STATE:
        return &use->states;
    case GM_ROLE_ACTIVATION:
        return &use->activations;
    case GM_ROLE_TEMPORARY:
        return &use->temporaries;
    default:
        return &use->others;
    }
}

void gm_purposes_add(struct gm_purposes *use, uint8_t role, uint64_t bytes)
{
    uint64_t *part = part_of(use, role);
    *part = gm_known_add(*part, bytes);
}

void gm_purposes_merge(struct gm_purposes *to, const struct gm_purposes *more)
{
#define X(name) to->name = gm_known_add(to->name, more->name);
    GM_PURPOSE_MAP(X)
#undef X
}

enum { NAMES_MOST = 4 /* of annotations around each other */ };

struct tags {
    struct gm_trace_pass *pass;
    struct table {
        struct gm_intern keys;
        struct GM_VEC(struct gm_tag_row) rows; /* [key] */
        struct gm_tag_row untold;
    } tables[GM_TAG_COUNT];
    uint32_t *of_stack[GM_TAG_COUNT]; /* [gm_stack_id] the row + 2; 1: none; 0: not asked. NULL: not by stack */
    uint32_t *attached;               /* [allocation] gm_string_id of the metadata attached to it; NULL: none is */
};

static void count(struct gm_tag_row *row, const struct gm_trace_pass *pass, size_t a)
{
    const uint64_t bytes = gm_requested(&pass->history, a);
    row->bytes = gm_known_add(row->bytes, bytes);
    row->blocks++;
    gm_purposes_add(&row->use, gm_role_of(pass, a), bytes);
}

/* The row with this name, + 2; GM_NEVER: no memory. */
static uint32_t row_called(struct tags *t, enum gm_tag tag, const char *label, const char *detail)
{
    struct table *table = &t->tables[tag];
    GM_FREED_BY(gm_text_free) struct gm_text key = {0};
    gm_text_add(&key, label);
    gm_text_add_char(&key, '\n'); /* no label has one */
    gm_text_add(&key, detail == NULL ? "" : detail);
    const uint32_t number = key.failed ? GM_INTERN_NONE : gm_intern_add(&table->keys, key.data, key.length);
    if (number == GM_INTERN_NONE || number >= GM_NEVER - 2)
        return GM_NEVER;
    if (number == table->rows.n) {
        struct gm_tag_row row = {.detail = detail};
        row.label = gm_arena_copy(&t->pass->report->arena, label, strlen(label));
        if (row.label == NULL || !GM_VEC_PUSH(&table->rows, row))
            return GM_NEVER;
    }
    return number + 2;
}

/* ---- which row: each returns row + 2, 1 for none, GM_NEVER for no memory ---------------------------------------- */

static uint32_t by_stack(struct tags *t, enum gm_tag tag, uint32_t stack)
{
    uint32_t *known = &t->of_stack[tag][stack];
    const char *label = NULL, *detail = NULL;
    if (*known != 0)
        return *known;
    const bool ok =
        (tag == GM_TAG_NODE ? gm_graph_node_of : gm_operator_of)(t->pass, (struct gm_stack_id){stack}, &label, &detail);
    *known = !ok ? GM_NEVER : label == NULL ? 1 : row_called(t, tag, label, detail);
    return *known;
}

/* Strings that tell nothing: none, an empty one, and what PyTorch writes for none. */
static uint32_t by_string(struct tags *t, enum gm_tag tag, uint32_t string)
{
    size_t n;
    const char *text = gm_string(t->pass->snapshot, (struct gm_string_id){string}, &n);
    if (string == 0 || n == 0 || (n == 3 && memcmp(text, "N/A", 3) == 0))
        return 1;
    const char *label = gm_names_string(t->pass->names, (struct gm_string_id){string});
    return label == NULL ? GM_NEVER : row_called(t, tag, label, NULL);
}

static uint32_t by_annotation(struct tags *t, uint32_t event)
{
    const struct gm_trace_pass *pass = t->pass;
    const char *names[NAMES_MOST];
    size_t n = 0;
    for (uint32_t r = gm_trace_range_at(pass, event); r != 0 && n < NAMES_MOST; r = pass->ranges[r - 1].around)
        if ((names[n++] = gm_names_string(pass->names, pass->ranges[r - 1].name)) == NULL)
            return GM_NEVER;
    if (n == 0)
        return 1;
    GM_FREED_BY(gm_text_free) struct gm_text label = {0};
    for (size_t i = n; i-- > 0;) {
        gm_text_add_bytes(&label, names[i], (size_t)gm_names_shown(names[i]));
        gm_text_add(&label, i > 0 ? " > " : "");
    }
    return label.failed ? GM_NEVER : row_called(t, GM_TAG_ANNOTATION, label.data, NULL);
}

static uint32_t row_of(struct tags *t, enum gm_tag tag, size_t a)
{
    const struct gm_history *h = &t->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    const size_t row = h->first + h->born[a] - 1; /* of its alloc, if it has one */
    if (tag == GM_TAG_OPERATOR || tag == GM_TAG_NODE)
        return by_stack(t, tag, gm_stack_of(h, a));
    if (tag == GM_TAG_METADATA && t->attached != NULL && t->attached[a] != 0)
        return by_string(t, tag, t->attached[a]);
    if (h->born[a] == 0)
        return 1;
    if (tag == GM_TAG_ANNOTATION)
        return by_annotation(t, h->born[a] - 1);
    return by_string(t, tag, gm_rare_at(tag == GM_TAG_REGION ? &e->compile_context : &e->user_metadata, row));
}

/* ---- metadata that was attached later --------------------------------------------------------------------------- */

/* Events that say `annotate` name the address of what lives there then; the last word counts. */
static bool attach(struct tags *t, struct gm_address_map *live)
{
    const struct gm_history *h = &t->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    uint32_t before;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && !gm_map_put(live, gm_history_address(h, a), (uint32_t)a, &before))
            return false;
    while (gm_walk_next(&walk, &c)) {
        const size_t row = h->first + c.event;
        if (c.kind == GM_CHANGE_ALLOC && !gm_map_put(live, gm_history_address(h, c.allocation), c.allocation, &before))
            return false;
        if (e->action[row] != GM_ACTION_ANNOTATE)
            continue;
        const uint32_t a = gm_map_get(live, gm_event_addr(e, row));
        if (a != GM_MAP_NONE && gm_history_is_active(h, a, c.event))
            t->attached[a] = gm_rare_at(&e->user_metadata, row);
    }
    return true;
}

static bool find_attached(struct tags *t)
{
    const struct gm_history *h = &t->pass->history;
    if (h->count == 0 || memchr(h->snapshot->events.action + h->first, GM_ACTION_ANNOTATE, h->count) == NULL)
        return true;
    GM_FREED_BY(gm_map_free) struct gm_address_map live = {0};
    t->attached = calloc(h->allocation_count + 1, sizeof *t->attached);
    return t->attached != NULL && attach(t, &live);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

GM_ORDERING(by_bytes, struct gm_tag_row,
            GM_DOWN(bytes) || GM_BY(strcmp(a->label, b->label)) ||
                GM_BY(a->detail == NULL || b->detail == NULL ? 0 : strcmp(a->detail, b->detail)));

static bool publish(struct tags *t, enum gm_tag tag)
{
    struct table *table = &t->tables[tag];
    struct gm_tag_table *out = &t->pass->out->modules.tags[tag];
    const size_t n = table->rows.n, top = t->pass->options->top;
    out->untold = table->untold;
    if (n == 0)
        return true;
    GM_SORT(table->rows.v, n, by_bytes);
    out->total = n;
    out->count = n < top ? n : top;
    out->rows = gm_arena_array(&t->pass->report->arena, table->rows.v, out->count, sizeof *out->rows);
    if (out->rows == NULL)
        return false;
    for (size_t i = out->count; i < n; i++) {
        out->rest.bytes = gm_known_add(out->rest.bytes, table->rows.v[i].bytes);
        out->rest.blocks += table->rows.v[i].blocks;
        gm_purposes_merge(&out->rest.use, &table->rows.v[i].use);
    }
    return true;
}

static bool fill(struct tags *t)
{
    const struct gm_trace_pass *pass = t->pass;
    for (size_t a = 0; a < pass->history.allocation_count; a++) {
        if (!gm_module_counts(pass, a))
            continue;
        for (int tag = 0; tag < GM_TAG_COUNT; tag++) {
            const uint32_t row = row_of(t, (enum gm_tag)tag, a);
            if (row == GM_NEVER)
                return false;
            struct table *table = &t->tables[tag];
            count(row == 1 || table->rows.v == NULL ? &table->untold : &table->rows.v[row - 2], pass, a);
        }
    }
    return true;
}

static bool find_tags(struct gm_trace_pass *pass)
{
    struct tags t = {.pass = pass};
    const size_t stacks = (size_t)pass->snapshot->stacks.count + 1;
    t.of_stack[GM_TAG_OPERATOR] = calloc(stacks, sizeof(uint32_t));
    t.of_stack[GM_TAG_NODE] = calloc(stacks, sizeof(uint32_t));
    bool ok = t.of_stack[GM_TAG_OPERATOR] != NULL && t.of_stack[GM_TAG_NODE] != NULL && find_attached(&t) && fill(&t);
    for (int tag = 0; tag < GM_TAG_COUNT; tag++) {
        ok = ok && publish(&t, (enum gm_tag)tag);
        gm_intern_free(&t.tables[tag].keys);
        GM_FREE_ALL(t.tables[tag].rows.v, t.of_stack[tag]);
    }
    free(t.attached);
    return ok;
}

bool gm_trace_modules(struct gm_trace_pass *pass)
{
    return find_tags(pass) && gm_module_tree(pass) && gm_module_layers(pass);
}
