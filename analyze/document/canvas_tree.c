/* SPDX-License-Identifier: Apache-2.0
 *
 * The flame graph of a peak as a tree of lines. A caller with one callee and nothing of its own shares a line with it.
 * Lines are given to the largest: no node is larger than its caller, so those that have one hang together.
 */
#include "analyze/base/order.h"
#include "analyze/document/canvas_parts.h"
#include "analyze/document/columns.h"
#include "analyze/document/sites.h"
#include "analyze/report/frame_kind.h"
#include "analyze/report/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 20, INDENT = 2, LEAST_LABEL = 24 }; /* columns */
static const char between[] = " > ", skipped[] = "...";

/* Beside each node of the flame graph. Of a line the outermost node is the head, the innermost one the tail. */
struct branch {
    uint64_t bytes; /* of node `node`, for the order in which lines are given */
    uint32_t node;
    uint32_t head, tail;      /* of its line; the tail is a head's only */
    uint32_t children, shown; /* lines right below, of which are shown; of a tail */
    uint32_t level;           /* of a head */
    bool is_shown;
    enum gm_frame_worth worth;
    bool is_named; /* in its line, for which there may be too many */
    size_t width;  /* columns of its site */
};

struct tree {
    const struct gm_text_canvas *canvas;
    const struct gm_flame_node *nodes;
    struct branch *of; /* [node_count] */
    size_t node_count, lines;
    bool *has_more; /* [level] whether something follows on that level */
    struct gm_text site;
};

static bool is_rest(const struct gm_flame_node *node)
{
    return strcmp(node->name, "(other)") == 0 && (node->filename == NULL || node->filename[0] == '\0');
}

/* ---- which lines ------------------------------------------------------------------------------------------------- */

static void find_lines(struct tree *t)
{
    for (uint32_t i = 1; i < t->node_count; i++)
        t->of[t->nodes[i].parent].children++;
    for (uint32_t i = 0; i < t->node_count; i++) {
        const uint32_t parent = t->nodes[i].parent;
        const bool is_joined = parent != 0 && t->of[parent].children == 1 && t->nodes[parent].self_blocks == 0;
        t->of[i].head = is_joined ? t->of[parent].head : i;
        t->of[t->of[i].head].tail = i;
    }
}

/* What stands below the tail of a line that is shown: the shown, and one for all others. */
static size_t lines_below(const struct tree *t, uint32_t tail)
{
    const struct branch *b = &t->of[tail];
    return b->shown == 0 ? 0 : b->shown + (b->shown < b->children || t->nodes[tail].self_blocks > 0);
}

static void show(struct tree *t, uint32_t head, bool is_shown)
{
    const uint32_t parent = t->nodes[head].parent;
    t->lines -= lines_below(t, parent);
    t->of[parent].shown = is_shown ? t->of[parent].shown + 1 : t->of[parent].shown - 1;
    t->lines += lines_below(t, parent);
    t->of[head].is_shown = is_shown;
    t->of[head].level = t->of[t->of[parent].head].level + 1;
}

GM_ORDERING(by_bytes, struct branch, GM_DOWN(bytes) || GM_UP(node));

/* false: there is no memory. */
static bool choose_lines(struct tree *t)
{
    const uint32_t deepest = (uint32_t)((t->canvas->columns - NUMBERS - LEAST_LABEL / 2) / INDENT) / 2 + 1;
    GM_FREED struct branch *order = malloc(t->node_count * sizeof *order);
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < t->node_count; i++)
        order[i] = (struct branch){.bytes = t->nodes[i].bytes, .node = i};
    qsort(order, t->node_count, sizeof *order, by_bytes);
    t->of[0].is_shown = true;
    for (size_t k = 0; k < t->node_count; k++) {
        const uint32_t i = order[k].node, above = t->of[t->nodes[i].parent].head;
        if (i == 0 || t->of[i].head != i || is_rest(&t->nodes[i]) || !t->of[above].is_shown ||
            t->of[above].level >= deepest)
            continue;
        show(t, i, true);
        if (t->lines > t->canvas->lines) {
            show(t, i, false);
            break;
        }
    }
    /* one that would stand for itself only */
    for (uint32_t i = 1; i < t->node_count; i++) {
        const struct branch *above = &t->of[t->nodes[i].parent];
        if (!t->of[i].is_shown && t->of[i].head == i && above->shown > 0 && above->shown + 1 == above->children &&
            t->nodes[t->nodes[i].parent].self_blocks == 0 && !is_rest(&t->nodes[i]))
            show(t, i, true);
    }
    return true;
}

/* ---- what a line says -------------------------------------------------------------------------------------------- */

/* "forward  model.py:88", until the next call. */
static const char *site_of(struct tree *t, const struct gm_flame_node *node)
{
    t->site.length = 0;
    gm_frame_add(&t->site, node->name, node->filename == NULL ? "" : gm_path_base(node->filename), node->line);
    return t->site.failed ? "" : t->site.data;
}

static void add_name(struct gm_text *out, struct tree *t, uint32_t node, size_t room)
{
    const bool is_dim = t->canvas->has_colour && t->of[node].worth != GM_WORTH_OWN;
    gm_text_add(out, is_dim ? "\x1b[2m" : "");
    gm_site_add(out, site_of(t, &t->nodes[node]), room);
    gm_text_add(out, is_dim ? "\x1b[0m" : "");
}

/* A line's names and dots from the head to the tail, into `out` (NULL: nowhere); returns their columns. Frames that
 * tell nothing are left out without dots. */
static size_t add_names(struct gm_text *out, struct tree *t, uint32_t head, uint32_t tail)
{
    size_t width = 0;
    bool is_gap = false;
    for (uint32_t i = head;; i = t->nodes[i].first_child) {
        const struct branch *b = &t->of[i];
        const bool has_dots = !b->is_named && b->worth != GM_WORTH_NOISE && !is_gap;
        if (b->is_named || has_dots) {
            if (out != NULL && width > 0)
                gm_text_add(out, between);
            width += (width == 0 ? 0 : sizeof between - 1) + (has_dots ? sizeof skipped - 1 : b->width);
            if (out != NULL && has_dots)
                gm_text_add(out, skipped);
            else if (out != NULL)
                add_name(out, t, i, b->width);
            is_gap = has_dots;
        }
        if (i == tail)
            return width;
    }
}

/* The innermost frame of the highest worth from `least` on; 0: there is none. */
static uint32_t innermost(const struct tree *t, uint32_t head, uint32_t tail, enum gm_frame_worth least)
{
    uint32_t i = tail;
    while (t->of[i].worth < least && i != head)
        i = t->nodes[i].parent;
    return t->of[i].worth < least ? 0 : i;
}

/* Names that frame, too, if it has room. */
static bool name_it(struct tree *t, uint32_t head, uint32_t tail, uint32_t node, size_t room)
{
    const bool was_named = t->of[node].is_named;
    t->of[node].is_named = true;
    t->of[node].is_named = was_named || add_names(NULL, t, head, tail) <= room;
    return t->of[node].is_named;
}

/* The same for all frames of that worth, from the innermost outwards. */
static void name_more(struct tree *t, uint32_t head, uint32_t tail, enum gm_frame_worth worth, size_t room)
{
    for (uint32_t i = tail;; i = t->nodes[i].parent)
        if ((t->of[i].worth == worth && !name_it(t, head, tail, i, room)) || i == head)
            return;
}

/* What was called last, by Python if it was; what tells the line from those beside it; then the program's own frames,
 * then those of libraries. */
static void draw_names(struct gm_text *out, struct tree *t, uint32_t head, size_t room)
{
    const uint32_t tail = t->of[head].tail;
    for (uint32_t i = tail;; i = t->nodes[i].parent) {
        t->of[i].is_named = false;
        t->of[i].worth = gm_flame_worth(t->nodes[i].name, t->nodes[i].filename);
        t->of[i].width = gm_columns(site_of(t, &t->nodes[i]));
        if (i == head)
            break;
    }
    uint32_t first = 0;
    for (int least = GM_WORTH_LIBRARY; first == 0; least--)
        first = innermost(t, head, tail, (enum gm_frame_worth)least);
    t->of[first].is_named = true;
    if (add_names(NULL, t, head, tail) > room) {
        add_name(out, t, first, room);
        return;
    }
    uint32_t outermost = head;
    while (t->of[outermost].worth == GM_WORTH_NOISE && outermost != tail)
        outermost = t->nodes[outermost].first_child;
    if (t->of[outermost].worth != GM_WORTH_NOISE)
        name_it(t, head, tail, outermost, room);
    for (int worth = GM_WORTH_OWN; worth > GM_WORTH_NOISE; worth--)
        name_more(t, head, tail, (enum gm_frame_worth)worth, room);
    add_names(out, t, head, tail);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* Up to the label; returns the columns that are left for it. */
static size_t begin_line(struct gm_text *out, struct tree *t, uint64_t bytes, uint32_t level, bool is_last)
{
    char size[GM_NUMBER_TEXT], share[GM_NUMBER_TEXT];
    const bool is_utf8 = t->canvas->is_utf8;
    gm_text_printf(out, "%11s %5s%%  ", gm_bytes_format(size, bytes), gm_share_format(share, bytes, t->nodes[0].bytes));
    for (uint32_t k = 2; k < level; k++)
        gm_text_add(out, !t->has_more[k] ? "  " : is_utf8 ? "\u2502 " : "| ");
    if (level > 1)
        gm_text_add(out, is_last ? is_utf8 ? "\u2514 " : "` " : is_utf8 ? "\u251c " : "+ ");
    t->has_more[level] = !is_last;
    return t->canvas->columns - NUMBERS - (size_t)INDENT * (level - 1);
}

/* The first of node and its later siblings that has a line; 0: none. */
static uint32_t shown_from(const struct tree *t, uint32_t node)
{
    while (node != 0 && !t->of[node].is_shown)
        node = t->nodes[node].next_sibling;
    return node;
}

static bool has_rest(const struct tree *t, uint32_t tail)
{
    return t->of[tail].shown < t->of[tail].children || t->nodes[tail].self_blocks > 0;
}

/* Below the tail's lines: what has none. */
static void draw_rest(struct gm_text *out, struct tree *t, uint32_t tail, uint32_t level)
{
    uint64_t bytes = t->nodes[tail].self_bytes;
    bool is_counted = true;
    GM_FREED struct gm_text label = {0};
    for (uint32_t i = t->nodes[tail].first_child; i != 0; i = t->nodes[i].next_sibling) {
        bytes += t->of[i].is_shown ? 0 : t->nodes[i].bytes;
        is_counted = is_counted && !is_rest(&t->nodes[i]);
    }
    const uint32_t hidden = t->of[tail].children - t->of[tail].shown;
    if (hidden > 0 && is_counted)
        gm_text_printf(&label, "%" PRIu32 " more", hidden);
    else if (hidden > 0)
        gm_text_add(&label, "smaller ones");
    if (t->nodes[tail].self_blocks > 0)
        gm_text_add(&label, hidden > 0 ? ", and itself" : "itself");
    const size_t room = begin_line(out, t, bytes, level, true);
    gm_columns_cut(out, label.data != NULL ? label.data : "", room, false);
    gm_text_add_char(out, '\n');
    out->failed = out->failed || label.failed;
}

static void draw_line(struct gm_text *out, struct tree *t, uint32_t head)
{
    const struct gm_flame_node *node = &t->nodes[head];
    const bool is_last = shown_from(t, node->next_sibling) == 0 && !has_rest(t, node->parent);
    draw_names(out, t, head, begin_line(out, t, node->bytes, t->of[head].level, is_last));
    gm_text_add_char(out, '\n');
}

static void draw_lines(struct gm_text *out, struct tree *t)
{
    uint32_t at = shown_from(t, t->nodes[0].first_child);
    while (at != 0) {
        draw_line(out, t, at);
        uint32_t next = shown_from(t, t->nodes[t->of[at].tail].first_child);
        while (next == 0 && at != 0) {
            const uint32_t above = t->nodes[at].parent;
            next = shown_from(t, t->nodes[at].next_sibling);
            if (next == 0 && has_rest(t, above))
                draw_rest(out, t, above, t->of[at].level);
            if (next == 0)
                at = t->of[above].head;
        }
        at = next;
    }
}

static void draw_tree(struct gm_text *out, const struct gm_view *view, const struct gm_text_canvas *canvas)
{
    const struct gm_flame *flame = &view->timeline->flame;
    struct tree t = {.canvas = canvas, .nodes = flame->nodes, .node_count = flame->node_count};
    if (flame->node_count == 0)
        return;
    t.of = calloc(flame->node_count, sizeof *t.of);
    t.has_more = calloc(canvas->columns, sizeof *t.has_more);
    if (t.of == NULL || t.has_more == NULL) {
        out->failed = true;
    } else {
        find_lines(&t);
        if (choose_lines(&t))
            draw_lines(out, &t);
        else
            out->failed = true;
    }
    out->failed = out->failed || t.site.failed;
    gm_text_free(&t.site);
    GM_FREE_ALL(t.of, t.has_more);
}

void gm_canvas_tree(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas)
{
    gm_canvas_devices(out, report, canvas, "at its peak", draw_tree);
}
