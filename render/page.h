/* SPDX-License-Identifier: Apache-2.0
 *
 * What every chart's page has: title lines, sections, notes, an empty frame; and the shapes they share.
 */
#pragma once

#include "analyze/report/report.h"
#include "render/display.h"

#include <stddef.h>
#include <stdint.h>

#define GM_PAGE_LEFT 28.0
#define GM_PAGE_RIGHT 872.0
#define GM_PAGE_INNER (GM_PAGE_RIGHT - GM_PAGE_LEFT)

struct gm_style {
    enum gm_text_size size;
    enum gm_weight weight;
    uint32_t color;
    enum gm_anchor anchor;
    enum gm_ellipsis ellipsis;
};
extern const struct gm_style gm_style_label; /* body text in ink, from the left */
extern const struct gm_style gm_style_value; /* body text in ink, from the right */
extern const struct gm_style gm_style_note;  /* small muted text, from the left */
extern const struct gm_style gm_style_end;   /* the same from the right */
extern const struct gm_style gm_style_tick;  /* the same around a middle */

void gm_put(struct gm_display *display, double x, double y, double max_width, struct gm_style style, const char *text);
/* A label that starts left and ends right of a gap from x1 to x2: gm_put with room from x1 to x2. */
void gm_put_between(struct gm_display *display, double x1, double x2, double y, struct gm_style style,
                    const char *text);

/* The same on a plate of paper as wide as the text, for values that may stand on grid lines. */
void gm_put_value(struct gm_display *display, double x1, double x2, double y, struct gm_style style, const char *text);

/* A page being laid out: `y` is where the next thing goes. */
struct gm_page {
    struct gm_display *display;
    double y;
};

/* A title and a line. */
struct gm_page gm_page_title(struct gm_display *display, const char *title, const char *line);
/* Title, run and devices, totals of the state at the end. */
struct gm_page gm_page_begin(struct gm_display *display, const struct gm_report *report, const char *title);
/* The same with another line in place of the totals. */
struct gm_page gm_page_begin_with(struct gm_display *display, const struct gm_report *report, const char *title,
                                  const char *line);
/* A heading, and a muted remark at its right (NULL: none). */
void gm_page_section(struct gm_page *page, const char *heading, const char *remark);
/* One muted line. */
void gm_page_note(struct gm_page *page, const char *note);
/* A frame that says why there is nothing to see. */
void gm_page_empty(struct gm_page *page, const char *reason);
void gm_page_end(struct gm_page *page);

/* "(unnamed)" for an empty or missing name. */
const char *gm_name(const char *name);

/* A piece of a stacked bar, a row of a legend. */
struct gm_piece {
    const char *name;
    uint64_t bytes;
    struct gm_fill fill;
};
/* Parts side by side from x on; `scale` bytes are `width` wide. Every part that is not 0 gets some width, taken from
 * the largest one; parts that are wide enough are labelled with name and bytes, or bytes, or not. */
void gm_stacked_bar(struct gm_display *display, double x, double y, double width, double height,
                    const struct gm_piece *parts, size_t count, double scale);
/* Swatch, name, bytes, percent of total: down the columns. Returns the height. */
double gm_legend(struct gm_display *display, double y, unsigned columns, const struct gm_piece *parts, size_t count,
                 uint64_t total);
/* Swatches and names only, side by side on as many lines as it takes. Returns the height. */
double gm_keys(struct gm_display *display, double y, const struct gm_piece *parts, size_t count);
/* "Unexplained": the residual without its sign, where a file's blocks do not sum to what it says is reserved; 0 bytes
 * if they do. And a line that says what that part is and of which sign. */
struct gm_piece gm_unexplained_piece(const struct gm_ledger *ledger);
void gm_unexplained_note(struct gm_page *page, const struct gm_ledger *ledger);
uint64_t gm_pieces_sum(const struct gm_piece *parts, size_t count);
