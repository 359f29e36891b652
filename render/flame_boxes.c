/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of a flame graph; see flame_boxes.h.
 */
#include "render/flame_boxes.h"

#include "render/metric.h"
#include "render/page.h"
#include "render/theme.h"

#include <inttypes.h>
#include <string.h>

/* Row by row: the boxes of a row are the children of those in the row before. */
bool gm_flame_boxes_of(struct gm_flame_boxes *boxes, struct gm_arena *arena, const struct gm_flame *flame, double least,
                       uint32_t most_rows)
{
    *boxes = (struct gm_flame_boxes){.n = 0};
    if (flame->node_count == 0 || flame->nodes[0].bytes == 0)
        return true;
    const double total = (double)flame->nodes[0].bytes;
    boxes->v = gm_arena_calloc(arena, flame->node_count, sizeof *boxes->v);
    if (boxes->v == NULL)
        return false;
    boxes->v[boxes->n++] = (struct gm_flame_box){0, 0, 0, 1};
    size_t steps = 0; /* of a well-formed tree no more than it has nodes */
    size_t shown = 1; /* boxes in the first most_rows rows; the others only tell how deep it goes */
    for (size_t i = 0; i < boxes->n; i++) {
        const struct gm_flame_box parent = boxes->v[i];
        if (parent.row < most_rows)
            shown = i + 1;
        boxes->deepest = parent.row;
        double x = parent.x;
        for (uint32_t k = flame->nodes[parent.node].first_child;
             k > parent.node && k < flame->node_count && steps < flame->node_count;
             k = flame->nodes[k].next_sibling, steps++) {
            double width = (double)flame->nodes[k].bytes / total;
            if (x + width > parent.x + parent.width) /* rounding; or a flame that does not add up */
                width = parent.x + parent.width - x;
            if (width < least || boxes->n == flame->node_count)
                continue;
            boxes->v[boxes->n++] = (struct gm_flame_box){k, parent.row + 1, x, width};
            x += width;
        }
    }
    boxes->narrow = flame->node_count - boxes->n;
    boxes->n = shown;
    boxes->rows = boxes->v[shown - 1].row + 1;
    return true;
}

uint32_t gm_flame_color(const struct gm_flame_node *node)
{
    return node->is_python ? node->color : gm_paler(node->color, 0.55);
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

const char *gm_flame_fitting(struct gm_display *display, const struct gm_flame_node *node, double room)
{
    const char *slash = node->filename != NULL ? strrchr(node->filename, '/') : NULL;
    struct gm_flame_node near = *node;
    if (slash != NULL)
        near.filename = slash + 1;
    const char *label = gm_flame_label(&display->arena, node), *shorter = gm_flame_label(&display->arena, &near);
    display->failed |= label == NULL || shorter == NULL;
    if (label == NULL || shorter == NULL)
        return "";
    if (gm_text_width(shorter, GM_TEXT_SMALL, GM_REGULAR) <= room)
        return gm_shorten_site(display, label, room, GM_TEXT_SMALL, GM_REGULAR);
    return gm_shorten_end(display, gm_name(node->name), room, GM_TEXT_SMALL, GM_REGULAR);
}
