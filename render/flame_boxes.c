/* SPDX-License-Identifier: Apache-2.0 */
#include "render/flame_boxes.h"

#include "analyze/base/arithmetic.h"
#include "analyze/report/frame_kind.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/page.h"
#include "render/theme.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- which frames have a box ------------------------------------------------------------------------------------- */

struct tree {
    const struct gm_flame *flame;
    uint64_t least; /* bytes of what is seen */
    uint8_t *worth; /* [node] enum gm_frame_worth */
    bool *is_apply; /* [node] a function of autograd */
};
/* What a call passes through: 0 where there is none. */
struct passage {
    uint32_t own, native; /* the first of the program's own; of C++ what tells most: autograd's, else the innermost */
    uint32_t tail;
};

static uint32_t first_child(const struct gm_flame *flame, uint32_t node)
{
    const uint32_t child = flame->nodes[node].first_child;
    return child > node && child < flame->node_count ? child : 0;
}

/* Names in a file may have megabytes, and every box has one: only so many bytes are looked at. */
enum { LONGEST_NAME = 400 };

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* How many bytes of a name are shown: whole characters. */
static int head(const char *s)
{
    size_t n = strnlen(s, LONGEST_NAME + 1);
    if (n > LONGEST_NAME)
        for (n = LONGEST_NAME; n > 0 && is_inside_character(s[n]);)
            n--;
    return (int)n;
}

/* The end of a path: its file is there. */
static const char *tail(const char *s)
{
    const size_t n = strlen(s);
    if (n <= LONGEST_NAME)
        return s;
    s += n - LONGEST_NAME;
    while (is_inside_character(*s))
        s++;
    return s;
}

/* false: there is no memory. */
static bool look_at_names(struct tree *t, struct gm_arena *arena)
{
    const size_t n = t->flame->node_count;
    t->worth = gm_arena_calloc(arena, n, sizeof *t->worth);
    t->is_apply = gm_arena_calloc(arena, n, sizeof *t->is_apply);
    for (size_t i = 0; t->worth != NULL && t->is_apply != NULL && i < n; i++) {
        const struct gm_flame_node *node = &t->flame->nodes[i];
        const char *name = gm_name(node->name);
        char near[LONGEST_NAME + 1];
        memcpy(near, name, (size_t)head(name));
        near[head(name)] = '\0';
        t->worth[i] = (uint8_t)gm_flame_worth(near, node->filename == NULL ? NULL : tail(node->filename));
        t->is_apply[i] = t->worth[i] == GM_WORTH_NATIVE && strstr(near, "::apply(") != NULL;
    }
    return t->worth != NULL && t->is_apply != NULL;
}

/* The one that a frame calls for all of its bytes that are seen; 0: there is none. */
static uint32_t passes_to(const struct tree *t, uint32_t node)
{
    const struct gm_flame_node *nodes = t->flame->nodes;
    const uint32_t child = first_child(t->flame, node), other = child == 0 ? 0 : nodes[child].next_sibling;
    const bool is_one = other <= child || other >= t->flame->node_count || nodes[other].bytes <= t->least;
    const bool is_all = child != 0 && gm_sat_add(nodes[child].bytes, t->least) >= nodes[node].bytes;
    return is_one && is_all && nodes[node].self_bytes <= t->least ? child : 0;
}

static struct passage look_along(const struct tree *t, uint32_t node)
{
    struct passage p = {.own = 0};
    for (; node != 0; node = passes_to(t, node)) {
        if (p.own == 0 && t->worth[node] == GM_WORTH_OWN)
            p.own = node;
        if (t->worth[node] == GM_WORTH_NATIVE && (t->is_apply[node] || !t->is_apply[p.native]))
            p.native = node;
        p.tail = node;
    }
    return p;
}

static bool has_box(const struct tree *t, const struct gm_flame_box *above, const struct passage *p, uint32_t node)
{
    const uint8_t worth = t->worth[node];
    return worth == GM_WORTH_NATIVE    ? above->is_below_python || node == p->native
           : worth == GM_WORTH_LIBRARY ? above->is_below_own || p->own <= node
                                       : worth == GM_WORTH_OWN;
}

/* The box below `above` that begins with `node`: up to its shown frame, or to the tail if no other is shown there. */
static struct gm_flame_box box_from(const struct tree *t, const struct gm_flame_box *above, uint32_t node)
{
    const struct passage p = look_along(t, node);
    struct gm_flame_box box = {.first = node, .last = p.tail, .row = above->row + 1};
    for (; node != 0 && box.last == p.tail; node = passes_to(t, node)) {
        if (!has_box(t, above, &p, node))
            continue;
        if (box.node != 0)
            box.last = box.node;
        else
            box.node = node;
    }
    box.node = box.node != 0 ? box.node : p.tail;
    box.is_below_own = above->is_below_own || (p.own != 0 && p.own <= box.last);
    box.is_below_python = above->is_below_python || t->flame->nodes[box.node].is_python;
    return box;
}

uint32_t gm_flame_next(const struct gm_flame *flame, const struct gm_flame_box *box, uint32_t node)
{
    return node == box->last ? 0 : first_child(flame, node);
}

/* Row by row: the boxes of a row are the children of those in the row before. */
bool gm_flame_boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame, double least,
                       uint32_t most_rows)
{
    *boxes = (struct gm_flame_boxes){.n = 0};
    if (flame->node_count == 0 || flame->nodes[0].bytes == 0)
        return true;
    const double total = (double)flame->nodes[0].bytes;
    struct tree tree = {.flame = flame, .least = (uint64_t)(least * total)};
    boxes->v = gm_arena_calloc(arena, flame->node_count, sizeof *boxes->v);
    if (boxes->v == NULL || !look_at_names(&tree, arena))
        return false;
    boxes->v[boxes->n++] = (struct gm_flame_box){.width = 1};
    size_t steps = 0; /* of a well-formed tree no more than it has nodes */
    size_t shown = 1; /* boxes in the first most_rows rows; the others only tell how deep it goes */
    for (size_t i = 0; i < boxes->n; i++) {
        const struct gm_flame_box parent = boxes->v[i];
        if (parent.row < most_rows)
            shown = i + 1;
        boxes->deepest = parent.row;
        double x = parent.x;
        for (uint32_t k = first_child(flame, parent.last);
             k > parent.last && k < flame->node_count && steps < flame->node_count;
             k = flame->nodes[k].next_sibling, steps++) {
            double width = (double)flame->nodes[k].bytes / total;
            if (x + width > parent.x + parent.width) /* rounding; or a flame that does not add up */
                width = parent.x + parent.width - x;
            if (width < least || boxes->n == flame->node_count)
                continue;
            struct gm_flame_box box = box_from(&tree, &parent, k);
            box.x = x;
            box.width = width;
            for (uint32_t node = box.first; node != box.last; node = first_child(flame, node))
                boxes->passing++;
            boxes->v[boxes->n++] = box;
            x += width;
        }
    }
    boxes->narrow = flame->node_count - gm_min(boxes->n + boxes->passing, flame->node_count);
    boxes->n = shown;
    boxes->rows = boxes->v[shown - 1].row + 1;
    return true;
}

uint32_t gm_flame_color(const struct gm_flame_node *node)
{
    return node->is_python ? node->color : gm_paler(node->color, 0.55);
}

size_t gm_flame_keys(struct gm_piece keys[GM_FLAME_KEYS], const struct gm_peak *peak, const struct gm_flame *flame,
                     const struct gm_flame_boxes *boxes)
{
    size_t n = 0;
    for (size_t k = 0; k < peak->category_count && n < GM_FLAME_KEYS; k++) {
        const struct gm_slice *category = &peak->categories[k];
        bool is_seen = false;
        for (size_t i = 1; i < boxes->n && !is_seen; i++)
            is_seen = flame->nodes[boxes->v[i].node].color == category->color;
        if (is_seen)
            keys[n++] = (struct gm_piece){gm_name(category->name), 0, gm_solid(category->color)};
    }
    return n;
}

const char *gm_flame_colors(const struct gm_flame *flame, const struct gm_flame_boxes *boxes)
{
    bool has_native = false;
    for (size_t i = 1; i < boxes->n; i++)
        has_native |= !flame->nodes[boxes->v[i].node].is_python;
    return has_native ? "Colour: the category of most of its bytes; paler: not a Python frame"
                      : "Colour: the category of most of its bytes";
}

const char *gm_flame_label(struct gm_arena *arena, const struct gm_flame_node *node)
{
    const char *name = gm_name(node->name);
    if (node->filename == NULL || node->filename[0] == '\0' || strcmp(node->filename, "??") == 0)
        return gm_arena_copy(arena, name, (size_t)head(name));
    if (node->line == GM_REPORT_NONE || node->line == 0)
        return gm_arena_printf(arena, "%.*s  %s", head(name), name, tail(node->filename));
    return gm_arena_printf(arena, "%.*s  %s:%" PRIu64, head(name), name, tail(node->filename), node->line);
}

/* Of a function in C++ the last two parts of its name, without parameters; of others all. */
static const char *last_parts(struct gm_display *display, const struct gm_flame_node *node)
{
    const char *name = gm_name(node->name);
    const size_t end = node->is_python || name[0] == '(' ? 0 : gm_min(gm_name_length(name), strcspn(name, "<"));
    size_t begin = end;
    for (int parts = 0; begin > 1 && parts < 2;)
        parts += strncmp(name + --begin - 1, "::", 2) == 0;
    begin = begin > 1 ? begin + 1 : 0;
    const size_t length = gm_min(end - begin, (size_t)head(name + begin));
    return end == 0 ? name : gm_display_printf(display, "%.*s", (int)length, name + begin);
}

const char *gm_flame_fitting(struct gm_display *display, const struct gm_flame_node *node, double room)
{
    struct gm_flame_node near = *node;
    if (node->filename != NULL)
        near.filename = gm_path_base(node->filename);
    const char *label = gm_flame_label(&display->arena, node), *shorter = gm_flame_label(&display->arena, &near);
    display->failed |= label == NULL || shorter == NULL;
    if (label == NULL || shorter == NULL)
        return "";
    if (gm_text_width(shorter, GM_TEXT_SMALL, GM_REGULAR) <= room)
        return gm_shorten_site(display, label, room, GM_TEXT_SMALL, GM_REGULAR);
    return gm_shorten_end(display, last_parts(display, node), room, GM_TEXT_SMALL, GM_REGULAR);
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 64, NARROWEST = 2 /* pixels */ };
static const double pitch = 19, height = 18, pad = 5;

bool gm_flame_boxes_drawn(struct gm_flame_boxes *boxes, struct gm_display *display, const struct gm_flame *flame)
{
    return gm_flame_boxes_of(boxes, &display->arena, flame, NARROWEST / (GM_PAGE_INNER * GM_DISPLAY_SCALE), MOST_ROWS);
}

/* The value goes to the right end, if there is room for both. */
static void label_box(struct gm_display *d, const struct gm_flame_node *node, const char *value, uint32_t color,
                      double x, double width, double middle)
{
    const double least = 26, gap = 14, enough = 200, room = width - 2 * pad;
    struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, gm_text_color_on(color), GM_ANCHOR_START, GM_ELLIPSIS_END};
    if (width < least)
        return;
    const double value_width = gm_text_width(value, style.size, style.weight), left = room - value_width - gap;
    const char *label = gm_flame_fitting(d, node, room);
    const bool has_value =
        value[0] != '\0' && (left >= enough || gm_text_width(label, style.size, style.weight) <= left);
    gm_put(d, x + pad, middle, has_value ? left : room, style, has_value ? gm_flame_fitting(d, node, left) : label);
    if (has_value) {
        style.anchor = GM_ANCHOR_END;
        gm_put(d, x + width - pad, middle, value_width, style, value);
    }
}

void gm_flame_draw(struct gm_page *page, const struct gm_flame *flame, const struct gm_diff_flame *diff,
                   const struct gm_flame_boxes *boxes, const char *root)
{
    const struct gm_style bold = {GM_TEXT_SMALL, GM_BOLD, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
    struct gm_display *d = page->display;
    for (size_t i = 0; i < boxes->n; i++) {
        const struct gm_flame_box *box = &boxes->v[i];
        const struct gm_flame_node *node = &flame->nodes[box->node];
        const struct gm_diff_node *both = diff == NULL ? NULL : &diff->nodes[box->node];
        const double x = GM_PAGE_LEFT + GM_PAGE_INNER * box->x, width = GM_PAGE_INNER * box->width;
        const double y = page->y + pitch * box->row, hairline = width > 3 ? 1.0 / GM_DISPLAY_SCALE : 0;
        /* too narrow for a hairline: every second one paler, or neighbours would look like one */
        const double paler = hairline > 0 || i % 2 == 0 ? 0 : 0.35;
        const uint32_t color = i == 0         ? GM_GRID
                               : both != NULL ? gm_diff_node_color(both)
                                              : gm_paler(gm_flame_color(node), paler);
        gm_display_rect(d, x, y, width - hairline, height, gm_solid(color), GM_RECT_BAR);
        if (i == 0) {
            gm_put(d, x + pad, y + height / 2, width - 2 * pad, bold, root);
            continue;
        }
        const char *value = both == NULL                ? gm_size_text(d, node->bytes)
                            : both->base == both->after ? ""
                                                        : gm_delta_text(d, gm_diff_delta(both->base, both->after));
        label_box(d, node, value, color, x, width, y + height / 2);
    }
    page->y += pitch * boxes->rows + 8;
}

void gm_flame_notes(struct gm_page *page, const struct gm_flame_boxes *boxes, const char *svg)
{
    struct gm_display *d = page->display;
    const size_t deeper = boxes->deepest + 1 > boxes->rows ? boxes->deepest + 1 - boxes->rows : 0;
    if (deeper > 0)
        gm_page_note(page,
                     gm_display_printf(d, "%s deeper level%s not shown here; %s has %s", gm_digits_text(d, deeper),
                                       deeper == 1 ? " is" : "s are", svg, deeper == 1 ? "it" : "them"));
    if (boxes->passing > 0) {
        const bool is_one = boxes->passing == 1;
        gm_page_note(page, gm_display_printf(d, "%s frame%s a call on %s not shown; %s names %s",
                                             gm_digits_text(d, boxes->passing),
                                             is_one ? " that only passes" : "s that only pass", is_one ? "is" : "are",
                                             svg, is_one ? "it" : "them"));
    }
    if (boxes->narrow > 0)
        gm_page_note(page, gm_display_printf(d, "%s frame%s too narrow to be shown", gm_digits_text(d, boxes->narrow),
                                             boxes->narrow == 1 ? " is" : "s are"));
}

/* ---- of two runs ------------------------------------------------------------------------------------------------- */

const struct gm_flame *gm_diff_flame_of(struct gm_display *display, const struct gm_diff_flame *diff)
{
    struct gm_flame *flame = gm_arena_calloc(&display->arena, 1, sizeof *flame);
    struct gm_flame_node *nodes = gm_arena_calloc(&display->arena, diff->node_count, sizeof *nodes);
    if (flame == NULL || nodes == NULL) {
        display->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < diff->node_count; i++) {
        const struct gm_diff_node *node = &diff->nodes[i];
        nodes[i] =
            (struct gm_flame_node){.name = node->name,
                                   .filename = node->file,
                                   .line = GM_REPORT_NONE,
                                   .parent = node->parent,
                                   .depth = node->depth,
                                   .first_child = node->first_child,
                                   .next_sibling = node->next_sibling,
                                   .is_python = node->is_python,
                                   .bytes = node->width,
                                   .blocks = gm_sat_add(node->base, node->after)}; /* what is passed on of both */
    }
    *flame = (struct gm_flame){nodes, diff->node_count};
    return flame;
}

uint32_t gm_diff_node_color(const struct gm_diff_node *node)
{
    enum { SHADES = 8 };
    static const uint32_t unchanged = 0xe6e9ed;
    const uint64_t most = node->base > node->after ? node->base : node->after;
    const int64_t delta = gm_diff_delta(node->base, node->after);
    if (delta == 0 || most == 0)
        return unchanged;
    /* few shades, so that the picture's palette holds them; small changes are made visible */
    const double share = sqrt((double)gm_diff_size(delta) / (double)most);
    const double shade = ceil(share * SHADES) / SHADES;
    return gm_paler(delta > 0 ? 0xd7301f : 0x2171b5, 0.85 * (1 - shade));
}
