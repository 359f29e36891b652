/* SPDX-License-Identifier: Apache-2.0 */
#include "render/page.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "render/devices.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#define DOT "  \xc2\xb7  "

const struct gm_style gm_style_label = {GM_TEXT_BODY, GM_REGULAR, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
const struct gm_style gm_style_value = {GM_TEXT_BODY, GM_REGULAR, GM_INK, GM_ANCHOR_END, GM_ELLIPSIS_END};
const struct gm_style gm_style_note = {GM_TEXT_SMALL, GM_REGULAR, GM_MUTED, GM_ANCHOR_START, GM_ELLIPSIS_END};
const struct gm_style gm_style_end = {GM_TEXT_SMALL, GM_REGULAR, GM_MUTED, GM_ANCHOR_END, GM_ELLIPSIS_END};
const struct gm_style gm_style_tick = {GM_TEXT_SMALL, GM_REGULAR, GM_MUTED, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};

void gm_put(struct gm_display *display, double x, double y, double max_width, struct gm_style style, const char *text)
{
    const struct gm_text_item item = {
        x, y, max_width, text, style.color, style.size, style.weight, style.anchor, style.ellipsis};
    gm_display_text(display, &item);
}

void gm_put_between(struct gm_display *display, double x1, double x2, double y, struct gm_style style, const char *text)
{
    gm_put(display, style.anchor == GM_ANCHOR_END ? x2 : x1, y, x2 - x1, style, text);
}

void gm_put_value(struct gm_display *display, double x1, double x2, double y, struct gm_style style, const char *text)
{
    double width = fmin(gm_text_width(text, style.size, style.weight), x2 - x1);
    double half = 0.6 * gm_text_pixels(style.size);
    gm_display_rect(display, style.anchor == GM_ANCHOR_END ? x2 - width - 3 : x1 - 3, y - half, width + 6, 2 * half,
                    gm_solid(GM_PAPER), GM_RECT_PLAIN);
    gm_put_between(display, x1, x2, y, style, text);
}

static const char *totals_line(struct gm_display *display, const struct gm_report *report)
{
    const struct gm_totals *t = &report->totals;
    const char *reserved = gm_size_text(display, t->reserved);
    const char *allocated = gm_size_text(display, t->allocated);
    const char *cached = gm_size_text(display, t->inactive);
    const char *percent = gm_share_text(display, t->allocated, t->reserved);
    const char *line =
        gm_display_printf(display, "%s reserved" DOT "%s allocated" DOT "%s cached", reserved, allocated, cached);
    if (t->pending > 0)
        line = gm_display_printf(display, "%s" DOT "%s pending", line, gm_size_text(display, t->pending));
    if (t->reserved > 0)
        line = gm_display_printf(display, "%s" DOT "%s efficient", line, percent);
    return line;
}

struct gm_page gm_page_title(struct gm_display *display, const char *title, const char *line)
{
    const struct gm_style big = {GM_TEXT_TITLE, GM_BOLD, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
    gm_put(display, GM_PAGE_LEFT, 36, GM_PAGE_INNER, big, title);
    gm_put(display, GM_PAGE_LEFT, 63, GM_PAGE_INNER, gm_style_label, line);
    return (struct gm_page){display, 99};
}

struct gm_page gm_page_begin(struct gm_display *display, const struct gm_report *report, const char *title)
{
    return gm_page_begin_with(display, report, title, totals_line(display, report));
}

struct gm_page gm_page_begin_with(struct gm_display *display, const struct gm_report *report, const char *title,
                                  const char *line)
{
    const char *name = gm_name(report->run_name);
    const char *devices = gm_devices_text(display, report);
    double room = GM_PAGE_INNER - gm_text_width(devices, GM_TEXT_BODY, GM_REGULAR) - 60;
    name = gm_shorten_end(display, name, room, GM_TEXT_BODY, GM_REGULAR);
    struct gm_page page = gm_page_title(display, title, gm_display_printf(display, "Run %s" DOT "%s", name, devices));
    page.y -= 17;
    struct gm_style muted = gm_style_label;
    muted.color = GM_MUTED;
    gm_put(display, GM_PAGE_LEFT, page.y, GM_PAGE_INNER, muted, line);
    page.y += 19;
    if (report->snapshot.is_salvaged) {
        struct gm_style alarm = gm_style_label;
        alarm.color = GM_ALARM;
        gm_put(display, GM_PAGE_LEFT, page.y, GM_PAGE_INNER, alarm,
               gm_display_printf(display, "The file is damaged: only what comes before byte %" PRIu64 " is shown",
                                 report->snapshot.salvaged_offset));
        page.y += 19;
    }
    page.y += 17;
    return page;
}

void gm_page_section(struct gm_page *page, const char *heading, const char *remark)
{
    const struct gm_style style = {GM_TEXT_HEADING, GM_BOLD, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
    double width = gm_text_width(heading, GM_TEXT_HEADING, GM_BOLD);
    gm_put(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, style, heading);
    if (remark != NULL) {
        gm_put_between(page->display, GM_PAGE_LEFT + width + 16, GM_PAGE_RIGHT, page->y, gm_style_end, remark);
    }
    page->y += 17;
}

void gm_page_note(struct gm_page *page, const char *note)
{
    page->y += 8;
    gm_put(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, gm_style_note, note);
    page->y += 8;
}

void gm_page_empty(struct gm_page *page, const char *reason)
{
    const double height = 150;
    struct gm_display *d = page->display;
    gm_display_rect(d, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, height, gm_solid(GM_TRACK), GM_RECT_PLAIN);
    const double x1 = GM_PAGE_LEFT, x2 = GM_PAGE_RIGHT, y1 = page->y, y2 = page->y + height;
    gm_display_line(d, x1, y1, x2, y1, GM_GRID, false);
    gm_display_line(d, x1, y2, x2, y2, GM_GRID, false);
    gm_display_line(d, x1, y1, x1, y2, GM_GRID, false);
    gm_display_line(d, x2, y1, x2, y2, GM_GRID, false);
    struct gm_style style = {GM_TEXT_HEADING, GM_BOLD, GM_MUTED, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};
    gm_put(d, (x1 + x2) / 2, page->y + height / 2 - 12, GM_PAGE_INNER - 40, style, "Nothing to draw");
    style.size = GM_TEXT_BODY;
    style.weight = GM_REGULAR;
    gm_put(d, (x1 + x2) / 2, page->y + height / 2 + 12, GM_PAGE_INNER - 40, style, reason);
    page->y += height + 32; /* a section may follow */
}

void gm_page_end(struct gm_page *page)
{
    page->display->height = page->y + 16;
}

const char *gm_name(const char *name)
{
    return name == NULL || name[0] == '\0' ? "(unnamed)" : name;
}

uint64_t gm_pieces_sum(const struct gm_piece *parts, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = gm_sat_add(sum, parts[i].bytes);
    return sum;
}

double gm_legend(struct gm_display *display, double y, unsigned columns, const struct gm_piece *parts, size_t count,
                 uint64_t total)
{
    const double row_height = 20, gutter = 36;
    const double width = (GM_PAGE_INNER - gutter * (columns - 1)) / columns;
    const size_t rows = (count + columns - 1) / columns;
    struct gm_style muted = gm_style_value;
    muted.color = GM_MUTED;
    for (size_t i = 0; i < count; i++) {
        double x = GM_PAGE_LEFT + (double)(i / rows) * (width + gutter);
        double middle = y + (double)(i % rows) * row_height + row_height / 2;
        gm_display_rect(display, x, middle - 6, 12, 12, parts[i].fill, GM_RECT_SWATCH);
        gm_put_between(display, x + 20, x + width - 140, middle, gm_style_label, parts[i].name);
        gm_put_between(display, x + width - 136, x + width - 56, middle, gm_style_value,
                       gm_size_text(display, parts[i].bytes));
        gm_put_between(display, x + width - 52, x + width, middle, muted,
                       gm_share_text(display, parts[i].bytes, total));
    }
    return (double)rows * row_height;
}

double gm_keys(struct gm_display *display, double y, const struct gm_piece *parts, size_t count)
{
    const double row_height = 19, swatch = 18, gap = 22;
    double x = GM_PAGE_LEFT, middle = y + row_height / 2;
    for (size_t i = 0; i < count; i++) {
        const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, GM_INK, GM_ANCHOR_START, GM_ELLIPSIS_END};
        double width = fmin(gm_text_width(parts[i].name, style.size, style.weight), GM_PAGE_INNER - swatch);
        if (x > GM_PAGE_LEFT && x + swatch + width > GM_PAGE_RIGHT) {
            x = GM_PAGE_LEFT;
            middle += row_height;
        }
        gm_display_rect(display, x, middle - 5.5, 11, 11, parts[i].fill, GM_RECT_SWATCH);
        gm_put(display, x + swatch, middle, width, style, parts[i].name);
        x += swatch + width + gap;
    }
    return count == 0 ? 0 : middle + row_height / 2 - y;
}

struct gm_piece gm_unexplained_piece(const struct gm_ledger *ledger)
{
    uint64_t bytes = ledger->residual < 0 ? 0 - (uint64_t)ledger->residual : (uint64_t)ledger->residual;
    return (struct gm_piece){"Unexplained", bytes, gm_use_fill(GM_USE_RESIDUAL)};
}

void gm_unexplained_note(struct gm_page *page, const struct gm_ledger *ledger)
{
    if (ledger->residual == 0)
        return;
    const char *size = gm_size_text(page->display, gm_unexplained_piece(ledger).bytes);
    page->y += 4;
    gm_page_note(
        page,
        ledger->residual > 0
            ? gm_display_printf(page->display,
                                "Unexplained: %s are reserved, but the file's blocks do not say for what", size)
            : gm_display_printf(page->display, "Unexplained: the file's blocks sum to %s more than is reserved", size));
}

/* ---- stacked bars: widths proportional to bytes, but nothing that exists is invisible ---------------------------- */

enum { MOST_PARTS = 32, TWO_LINES = 34 };

/* Name and bytes on a part, as much as there is room for; below each other if the bar is high. Where the part is
 * hatched, its left end is left plain under the text. */
static void label_part(struct gm_display *display, const struct gm_piece *part, double x, double y, double width,
                       double height)
{
    const double pad = 7, room = width - 2 * pad, middle = y + height / 2;
    const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, gm_text_color_on(part->fill.color), GM_ANCHOR_START,
                                   GM_ELLIPSIS_END};
    const char *size = gm_size_text(display, part->bytes);
    const char *both = gm_display_printf(display, "%s  %s", part->name, size);
    double size_width = gm_text_width(size, style.size, style.weight);
    double name_width = gm_text_width(part->name, style.size, style.weight);
    if (height < 12 || size_width > room)
        return;
    bool is_two_lines = height >= TWO_LINES && name_width <= room;
    bool is_one_line = height < TWO_LINES && gm_text_width(both, style.size, style.weight) <= room;
    double text_width = is_two_lines  ? fmax(name_width, size_width)
                        : is_one_line ? gm_text_width(both, style.size, style.weight)
                                      : size_width;
    if (part->fill.hatch != GM_HATCH_NONE)
        gm_display_rect(display, x, y, fmin(pad + text_width + 4, width), height, gm_solid(part->fill.color),
                        GM_RECT_PLAIN);
    if (is_two_lines) {
        gm_put(display, x + pad, middle - 7.5, room, style, part->name);
        gm_put(display, x + pad, middle + 7.5, room, style, size);
    } else {
        gm_put(display, x + pad, middle, room, style, is_one_line ? both : size);
    }
}

/* Raises what is thinner than `least` to it and takes that from the widest part. */
static void keep_visible(double *widths, size_t count, double least)
{
    double given = 0;
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        if (widths[i] > 0 && widths[i] < least) {
            given += least - widths[i];
            widths[i] = least;
        }
        if (widths[i] > widths[widest])
            widest = i;
    }
    if (widths[widest] > given + least)
        widths[widest] -= given;
}

void gm_stacked_bar(struct gm_display *display, double x, double y, double width, double height,
                    const struct gm_piece *parts, size_t count, double scale)
{
    double widths[MOST_PARTS] = {0};
    if (count > MOST_PARTS)
        count = MOST_PARTS;
    double sum = 0; /* absurd inputs: `scale` comes from a sum that stopped at the largest integer */
    for (size_t i = 0; i < count; i++)
        sum += (double)parts[i].bytes;
    scale = fmax(scale, sum);
    for (size_t i = 0; i < count; i++)
        widths[i] = scale > 0 ? width * ((double)parts[i].bytes / scale) : 0;
    keep_visible(widths, count, 1);
    double at = x;
    for (size_t i = 0; i < count; i++) {
        if (widths[i] <= 0)
            continue;
        double gap = widths[i] > 4 ? 1.0 / GM_DISPLAY_SCALE : 0; /* a hairline of paper between parts */
        gm_display_rect(display, at, y, widths[i] - gap, height, parts[i].fill, GM_RECT_BAR);
        label_part(display, &parts[i], at, y, widths[i], height);
        at += widths[i];
    }
}
