/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the bytes at the peak are: modules, layers that repeat, and what names a block otherwise (docs/modules.md).
 */
#include "analyze/document/sections.h"
#include "analyze/report/frame_kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NODES_SHOWN = 24, TAGS_SHOWN = 8, PER_MILLE_LEAST = 10 /* smaller nodes are for JSON */ };

#define PURPOSE(key, field) GM_KEY(GM_BYTES, key, struct gm_purposes, field)
static const struct gm_column purpose_columns[] = {
    PURPOSE("weights", weights),         PURPOSE("gradients", gradients),     PURPOSE("optimizer_state", states),
    PURPOSE("activations", activations), PURPOSE("temporaries", temporaries), PURPOSE("other", others),
};

/* What most of the bytes are for. */
static const char *mostly(const struct gm_purposes *p)
{
    static const char *const names[] = {"weights", "gradients", "optimizer", "activations", "temporary", "other"};
    const uint64_t parts[] = {p->weights, p->gradients, p->states, p->activations, p->temporaries, p->others};
    size_t best = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] > parts[best])
            best = i;
    return parts[best] == 0 ? NULL : names[best];
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

struct tree {
    uint64_t whole; /* GM_PART_OF */
    const struct gm_module_node *nodes;
};

GM_CELL(u, node_calls, struct gm_module_node, n, n->calls < 2 ? GM_REPORT_NONE : n->calls);

/* "~" of what is not the same for all: their mean. */
static union gm_value node_each(const struct gm_cell_of *c)
{
    const struct gm_module_node *n = c->row;
    const char *mean = n->calls < 2 ? NULL : gm_doc_bytes(c->doc, n->bytes / n->calls);
    return (union gm_value){.s = mean == NULL || n->least == n->most ? mean : gm_doc_printf(c->doc, "~%s", mean)};
}

GM_CELL(s, node_mostly, struct gm_module_node, row, mostly(&row->use));

/* "  :36 > gpt.py", indented by its depth: line 36 of the code above it calls forward of gpt.py; other functions are
 * named. */
static union gm_value node_name(const struct gm_cell_of *c)
{
    const struct gm_module_node *n = c->row;
    const struct gm_module_node *parent = &((const struct tree *)c->of)->nodes[n->parent];
    const bool is_forward = strcmp(n->function, "forward") == 0, has_line = n->caller_line != GM_REPORT_NONE;
    const bool is_here = parent->file != NULL && n->caller != NULL && strcmp(parent->file, n->caller) == 0;
    char margin[32] = "", line[24] = "";
    memset(margin, ' ', gm_min(2 * (uint64_t)(n->depth - 1), sizeof margin - 1));
    if (has_line)
        (void)snprintf(line, sizeof line, ":%" PRIu64, n->caller_line);
    return (union gm_value){.s = gm_doc_printf(c->doc, "%s%s%s > %s%s%s", margin,
                                               is_here || n->caller == NULL ? "" : gm_path_base(n->caller), line,
                                               gm_path_base(n->file), is_forward ? "" : " ",
                                               is_forward ? "" : n->function)};
}

GM_CELL(s, node_source, struct gm_module_node, n, gm_source_words(c->doc, n->source, n->source_note));

static void add_calls(const struct gm_cell_of *c)
{
    const struct gm_module_node *n = c->row;
    GM_LIST(c->doc, "call_bytes", GM_BYTES, n->call_bytes, n->call_count);
}

static const struct gm_column node_columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_module_node, bytes),
    GM_PART_OF(GM_MD | GM_JSON, "percent", "Share", struct gm_module_node, bytes),
    GM_GET(GM_COUNT, GM_READ | GM_BLANK, NULL, "Calls", node_calls),
    GM_GET(GM_FIGURE, GM_READ | GM_BLANK, NULL, "Each", node_each),
    GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Mostly", node_mostly),
    GM_GET(GM_NAME, GM_READ, NULL, "Line, and what it calls", node_name),
    GM_KEY(GM_TEXT, "function", struct gm_module_node, function),
    GM_KEY(GM_TEXT, "file", struct gm_module_node, file),
    GM_KEY(GM_TEXT, "caller_file", struct gm_module_node, caller),
    GM_KEY(GM_COUNT, "caller_line", struct gm_module_node, caller_line),
    GM_KEY(GM_TEXT, "caller_source", struct gm_module_node, source),
    GM_KEY(GM_TEXT, "caller_source_note", struct gm_module_node, source_note),
    GM_GET(GM_NAME, GM_READ | GM_UNDER, NULL, "Line", node_source),
    GM_KEY(GM_COUNT, "parent", struct gm_module_node, parent),
    GM_KEY(GM_COUNT, "depth", struct gm_module_node, depth),
    GM_KEY(GM_COUNT, "blocks", struct gm_module_node, blocks),
    GM_KEY(GM_BYTES, "own_bytes", struct gm_module_node, own),
    GM_INSIDE("by_role", purpose_columns, struct gm_module_node, use),
    GM_KEY(GM_COUNT, "calls", struct gm_module_node, calls),
    GM_KEY(GM_BYTES, "least_bytes", struct gm_module_node, least),
    GM_KEY(GM_BYTES, "most_bytes", struct gm_module_node, most),
    GM_NESTED(NULL, add_calls),
};

/* Nodes that are worth a line, parents before what is below them; the list has the largest first. */
static size_t choose(const struct gm_modules *m, struct gm_module_node *rows, size_t most)
{
    size_t n = 0, i = m->nodes[0].first_child;
    while (i != 0 && n < most) {
        const bool is_worth = m->nodes[i].bytes >= m->nodes[0].bytes / 1000 * PER_MILLE_LEAST;
        if (is_worth)
            rows[n++] = m->nodes[i];
        if (is_worth && m->nodes[i].first_child != 0) {
            i = m->nodes[i].first_child;
            continue;
        }
        while (i != 0 && m->nodes[i].next_sibling == 0)
            i = m->nodes[i].parent;
        i = i == 0 ? 0 : m->nodes[i].next_sibling;
    }
    return n;
}

static void say_tree(struct gm_doc *d, const struct gm_modules *m, uint64_t whole)
{
    const struct tree tree = {whole, m->nodes};
    if (gm_doc_is(d, GM_JSON)) {
        GM_TABLE(d, node_columns, m->nodes, m->node_count, .key = "nodes", .of = &tree);
        return;
    }
    struct gm_module_node *rows = gm_doc_rows(d, NODES_SHOWN, sizeof *rows);
    const size_t shown = rows == NULL || m->node_count == 0 ? 0 : choose(m, rows, NODES_SHOWN);
    if (shown == 0)
        return;
    gm_doc_tell(d,
                "By the lines that call modules, from the stacks%s. Calls of one line are told apart by the order of "
                "the stacks: layers, or one module called again.",
                m->nodes[0].own == 0
                    ? ""
                    : gm_doc_printf(d, "; %s were made in no module's code", gm_doc_bytes(d, m->nodes[0].own)));
    GM_TABLE(d, node_columns, rows, shown, .of = &tree);
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static void say_layers(struct gm_doc *d, const struct gm_modules *m)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_ALL, "role", "Role", struct gm_layers_row, role),
        GM_FIELD(GM_COUNT, GM_ALL, "times", "Times", struct gm_layers_row, times),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_each", "Each", struct gm_layers_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks_each", "Blocks each", struct gm_layers_row, blocks),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_outside", "Besides", struct gm_layers_row, outside),
    };
    GM_TABLE(d, columns, m->layers, m->layer_count, .key = "layers",
             .title = m->layer_count == 0 ? NULL : "Layers: the same sizes from the same stacks, again and again");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const struct gm_column tag_columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_tag_row, bytes),
    GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Blocks", struct gm_tag_row, blocks),
    GM_PART_OF(GM_ALL, "percent", "Share", struct gm_tag_row, bytes),
    GM_FIELD(GM_NAME, GM_ALL, "label", "Name", struct gm_tag_row, label),
    GM_KEY(GM_TEXT, "detail", struct gm_tag_row, detail),
    GM_INSIDE("by_role", purpose_columns, struct gm_tag_row, use),
};

static void say_tags(struct gm_doc *d, const struct gm_tag_table *t, const char *key, const char *title, uint64_t whole)
{
    const size_t shown = t->count <= TAGS_SHOWN + 1 ? t->count : TAGS_SHOWN; /* as in gm_section_slices() */
    struct gm_tag_row feet[2] = {t->rest, t->untold};
    if (gm_doc_is(d, GM_JSON)) {
        gm_doc_open(d, key, NULL);
        GM_TABLE(d, tag_columns, t->rows, t->count, .key = "rows", .of = &whole);
        gm_json_number(&d->json, "total", t->total);
        gm_json_number(&d->json, "rest_bytes", t->rest.bytes);
        gm_json_number(&d->json, "not_told_bytes", t->untold.bytes);
        gm_doc_close(d);
        return;
    }
    if (t->count == 0)
        return;
    for (size_t i = shown; i < t->count; i++) {
        feet[0].bytes = gm_plus(feet[0].bytes, t->rows[i].bytes);
        feet[0].blocks += t->rows[i].blocks;
    }
    feet[0].label = gm_doc_printf(d, "(%zu more)", t->total - shown);
    feet[1].label = "(not told)";
    GM_TABLE(d, tag_columns, t->rows, shown, .title = title, GM_FEET_OF(feet, t->total > shown, t->untold.blocks > 0),
             .of = &whole);
}

void gm_section_modules(struct gm_doc *d, const struct gm_view *v)
{
    static const struct {
        const char *key, *title;
    } tables[] = {
#define X(name, key, title) {key, title},
        GM_TAG_MAP(X)
#undef X
    };
    const struct gm_modules *m = &v->timeline->modules;
    gm_doc_open(d, gm_doc_is(d, GM_JSON) ? "modules" : NULL, NULL);
    say_tree(d, m, v->peak->requested);
    say_layers(d, m);
    for (size_t i = 0; i < GM_TAG_COUNT; i++)
        say_tags(d, &m->tags[i], tables[i].key, tables[i].title, v->peak->requested);
    gm_doc_close(d);
}

bool gm_modules_are_told(const struct gm_view *v)
{
    const struct gm_modules *m = &v->timeline->modules;
    size_t rows = m->node_count + m->layer_count;
    for (size_t i = 0; i < GM_TAG_COUNT; i++)
        rows += m->tags[i].count;
    return rows > 0;
}
