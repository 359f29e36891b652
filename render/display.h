/* SPDX-License-Identifier: Apache-2.0
 *
 * The display list: a page as rectangles, lines, areas and texts in logical coordinates (1 unit = 1 pixel when the
 * picture is shown 900 wide; the painter draws at GM_DISPLAY_SCALE). Layouts make it, the painter and the tests read
 * it. Painted in order, later items over earlier ones.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_DISPLAY_WIDTH = 900, GM_DISPLAY_SCALE = 2 };

/* A fill is a colour, and a pattern of a second colour over it so that it can be told without seeing colours. */
enum gm_hatch { GM_HATCH_NONE, GM_HATCH_DIAGONAL, GM_HATCH_CROSS, GM_HATCH_DOTS, GM_HATCH_COUNT };
struct gm_fill {
    uint32_t color; /* 0xRRGGBB */
    uint32_t hatch_color;
    enum gm_hatch hatch;
};

enum gm_text_size { GM_TEXT_TITLE, GM_TEXT_HEADING, GM_TEXT_BODY, GM_TEXT_SMALL, GM_TEXT_SIZES };
enum gm_weight { GM_REGULAR, GM_BOLD, GM_WEIGHTS };
enum gm_anchor { GM_ANCHOR_START, GM_ANCHOR_MIDDLE, GM_ANCHOR_END };
enum gm_ellipsis { GM_ELLIPSIS_END, GM_ELLIPSIS_MIDDLE, GM_ELLIPSIS_START };

enum gm_item_kind { GM_ITEM_RECT, GM_ITEM_LINE, GM_ITEM_AREA, GM_ITEM_TEXT };

/* What a rectangle stands for. Bars are data: their width is proportional to a value. The rest is furniture. */
enum gm_rect_role { GM_RECT_PLAIN, GM_RECT_BAR, GM_RECT_SWATCH };

struct gm_rect_item {
    double x, y, w, h;
    struct gm_fill fill;
    enum gm_rect_role role;
};
struct gm_line_item {
    double x1, y1, x2, y2; /* horizontal or vertical */
    uint32_t color;
    bool is_dashed;
};
/* What lies between two curves, pixel for pixel: column i (of one pixel) is filled from top[i] to above bottom[i], and
 * not at all where that is empty. In pixels of the picture: GM_DISPLAY_SCALE to a unit. */
struct gm_area_item {
    size_t x, n; /* left edge and number of columns */
    const uint16_t *top, *bottom;
    struct gm_fill fill;
    bool is_overlay; /* only the hatch is painted, over what lies there */
};
struct gm_text_item {
    double x;         /* of the anchor */
    double y;         /* vertical middle of the capital letters */
    double max_width; /* the painter ellipsises what is wider: a text never leaves its box */
    const char *text; /* UTF-8, owned by the display list */
    uint32_t color;
    enum gm_text_size size;
    enum gm_weight weight;
    enum gm_anchor anchor;
    enum gm_ellipsis ellipsis;
};
struct gm_item {
    enum gm_item_kind kind;
    union {
        struct gm_rect_item rect;
        struct gm_line_item line;
        struct gm_area_item area;
        struct gm_text_item text;
    };
};

struct gm_display {
    double height; /* of the page; its width is GM_DISPLAY_WIDTH */
    struct GM_VEC(struct gm_item) items;
    struct gm_arena arena; /* owns the texts */
    bool failed;           /* memory ran out: the list is incomplete and must not be used */
};

void gm_display_free(struct gm_display *display);

/* Appending never fails visibly: it sets `failed`. */
void gm_display_rect(struct gm_display *display, double x, double y, double w, double h, struct gm_fill fill,
                     enum gm_rect_role role);
void gm_display_line(struct gm_display *display, double x1, double y1, double x2, double y2, uint32_t color,
                     bool is_dashed);
/* Rows for an area: n zeros that live as long as the list; NULL (and failed) if there is no memory. */
uint16_t *gm_display_rows(struct gm_display *display, size_t n);
/* area->top and area->bottom must live as long as the list. */
void gm_display_area(struct gm_display *display, const struct gm_area_item *area);
/* `text` is copied; of one that no page could show whole only the beginning (a name in a file may have megabytes). */
void gm_display_text(struct gm_display *display, const struct gm_text_item *text);
/* A formatted string that lives as long as the list; "" (and failed) if there is no memory. */
const char *gm_display_printf(struct gm_display *display, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
