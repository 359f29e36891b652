/* SPDX-License-Identifier: Apache-2.0
 *
 * top_consumers: the largest live blocks, each with where it was made, its size and its category.
 */
#include "render/charts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 30 };

/* Columns of a row: rank, device (if there are several), site, bar, and behind the longest bar `room` for its size. */
struct columns {
    double rank_end, device, site, site_end, bar, bar_width;
};

static struct columns columns_of(const struct gm_report *report, double room)
{
    struct columns c = {.rank_end = GM_PAGE_LEFT + 16};
    c.device = c.rank_end + 12;
    c.site = report->device_count > 1 ? c.device + 56 : c.device;
    c.site_end = 412;
    c.bar = c.site_end + 12;
    c.bar_width = GM_PAGE_RIGHT - room - c.bar;
    return c;
}

/* How many blocks from `first` on are told as one: those that would have the same row. */
static size_t run_at(const struct gm_report *report, size_t first, size_t n)
{
    const struct gm_block_row *a = &report->top_blocks[first], *b = a + 1;
    size_t run = 1;
    for (; first + run < n && b->bytes == a->bytes && b->device == a->device && b->color == a->color &&
           (b->role == a->role || !gm_block_has_role_only(a)) && strcmp(gm_name(b->site), gm_name(a->site)) == 0;
         b++)
        run++;
    return run;
}

static const char *size_of(struct gm_display *d, const struct gm_block_row *block, size_t run)
{
    const char *size = gm_size_text(d, block->bytes);
    return run > 1 ? gm_display_printf(d, "%zu x %s", run, size) : size;
}

/* The category on the bar if it fits there, else after the value, else (both narrow) ellipsised after the value. */
static void label_bar(struct gm_display *d, const struct columns *c, const struct gm_block_row *block, size_t run,
                      double span, double middle)
{
    const char *size = size_of(d, block, run);
    double value_x = c->bar + span + 7;
    double value_width = gm_text_width(size, GM_TEXT_BODY, GM_REGULAR);
    gm_put_value(d, value_x, GM_PAGE_RIGHT, middle, gm_style_label, size);
    const char *category =
        gm_block_has_role_only(block) ? gm_display_printf(d, "No stack: %s", block->role) : gm_name(block->category);
    double category_width = gm_text_width(category, GM_TEXT_SMALL, GM_REGULAR);
    double after = value_x + value_width + 10;
    struct gm_style style = gm_style_note;
    if (category_width + 12 <= span || span - 12 > GM_PAGE_RIGHT - after) {
        style.color = gm_text_color_on(block->color);
        gm_put(d, c->bar + 6, middle, span - 12, style, category);
    } else {
        gm_put_value(d, after, GM_PAGE_RIGHT, middle, style, category);
    }
}

static void draw_row(struct gm_display *d, const struct gm_report *report, const struct columns *c,
                     const struct gm_chart_axis *axis, size_t i, size_t run, double middle)
{
    const struct gm_block_row *block = &report->top_blocks[i];
    gm_put_between(d, GM_PAGE_LEFT - 4, c->rank_end, middle, gm_style_end, gm_display_printf(d, "%zu", i + 1));
    if (report->device_count > 1)
        gm_put_between(d, c->device, c->site - 8, middle, gm_style_note,
                       gm_display_printf(d, "dev %" PRId64, block->device));
    struct gm_style site = gm_style_label;
    site.size = GM_TEXT_SMALL;
    site.ellipsis = GM_ELLIPSIS_MIDDLE;
    gm_put_between(d, c->site, c->site_end, middle, site,
                   gm_shorten_site(d, gm_name(block->site), c->site_end - c->site, site.size, site.weight));
    double span = gm_axis_span(axis, block->bytes, c->bar_width);
    gm_display_rect(d, c->bar, middle - 8, span, 16, gm_solid(block->color), GM_RECT_BAR);
    label_bar(d, c, block, run, span, middle);
}

static void draw_heading(struct gm_page *page, const struct gm_report *report, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = gm_sat_add(sum, report->top_blocks[i].bytes);
    const char *blocks = gm_number_text(page->display, report->totals.allocated_blocks);
    const char *percent = gm_share_text(page->display, sum, report->totals.allocated);
    const char *remark = gm_display_printf(page->display, "together %s, %s of what is allocated in %s blocks",
                                           gm_size_text(page->display, sum), percent, blocks);
    const char *heading = n == 1
                              ? "The largest block"
                              : gm_display_printf(page->display, "The %zu largest blocks, by where they were made", n);
    gm_page_section(page, heading, remark);
}

void gm_layout_top_consumers(struct gm_display *display, const struct gm_report *report)
{
    const double pitch = 22;
    struct gm_page page = gm_page_begin(display, report, "Top consumers");
    size_t n = report->top_block_count < MOST_ROWS ? report->top_block_count : MOST_ROWS;
    if (n == 0) {
        gm_page_section(&page, "The largest blocks", NULL);
        gm_page_empty(&page, report->totals.allocated_blocks == 0
                                 ? "No block was allocated when the snapshot was taken."
                                 : "No blocks were listed: the run asked for none (--top 0).");
        gm_page_end(&page);
        return;
    }
    draw_heading(&page, report, n);
    struct gm_chart_axis axis = gm_axis_bytes(report->top_blocks[0].bytes);
    size_t rows = 0;
    double room = 0;
    for (size_t i = 0, run; i < n; i += run, rows++) {
        run = run_at(report, i, n);
        room = fmax(room, gm_text_width(size_of(display, &report->top_blocks[i], run), GM_TEXT_BODY, GM_REGULAR) + 14);
    }
    struct columns c = columns_of(report, room);
    double bottom = page.y + pitch * (double)rows, middle = page.y + pitch / 2;
    gm_axis_draw(display, &axis, c.bar, c.bar_width, page.y, bottom);
    for (size_t i = 0, run = 0; i < n; i += run, middle += pitch) {
        run = run_at(report, i, n);
        draw_row(display, report, &c, &axis, i, run, middle);
    }
    page.y = bottom + GM_AXIS_HEIGHT;
    gm_page_end(&page);
}
