/* SPDX-License-Identifier: Apache-2.0
 *
 * category_breakdown: allocated bytes by category, sorted; and how they are spread over the devices.
 */
#include "render/charts.h"

#include "render/devices.h"
#include "render/fold.h"

#include <assert.h>

static const double name_x = GM_PAGE_LEFT + 22, bar_x = 240, bar_width = 400;
static const double bytes_end = 736, share_end = 796, blocks_end = GM_PAGE_RIGHT;

static void draw_captions(struct gm_page *page)
{
    gm_put_between(page->display, bar_x + bar_width + 8, bytes_end, page->y, gm_style_end, "allocated");
    gm_put_between(page->display, bytes_end + 8, share_end, page->y, gm_style_end, "share");
    gm_put_between(page->display, share_end + 8, blocks_end, page->y, gm_style_end, "blocks");
    page->y += 10;
}

static void draw_rows(struct gm_page *page, const struct gm_folded *f)
{
    const double pitch = 25, bar = 16;
    struct gm_display *d = page->display;
    draw_captions(page);
    uint64_t largest = 0; /* the folded part, last, can be the largest */
    for (size_t i = 0; i < f->n; i++)
        largest = f->parts[i].bytes > largest ? f->parts[i].bytes : largest;
    struct gm_chart_axis axis = gm_axis_bytes(largest);
    double bottom = page->y + pitch * (double)f->n;
    gm_axis_draw(d, &axis, bar_x, bar_width, page->y, bottom);
    struct gm_style muted = gm_style_value;
    muted.color = GM_MUTED;
    for (size_t i = 0; i < f->n; i++) {
        const struct gm_piece *part = &f->parts[i];
        double middle = page->y + pitch * ((double)i + 0.5);
        gm_display_rect(d, GM_PAGE_LEFT, middle - 6, 12, 12, part->fill, GM_RECT_SWATCH);
        gm_put_between(d, name_x, bar_x - 8, middle, gm_style_label, part->name);
        gm_display_rect(d, bar_x, middle - bar / 2, gm_axis_span(&axis, part->bytes, bar_width), bar, part->fill,
                        GM_RECT_BAR);
        gm_put_between(d, bar_x + bar_width + 8, bytes_end, middle, gm_style_value, gm_size_text(d, part->bytes));
        gm_put_between(d, bytes_end + 4, share_end, middle, gm_style_value, gm_share_text(d, part->bytes, f->bytes));
        gm_put_between(d, share_end + 4, blocks_end, middle, muted, gm_number_text(d, f->blocks[i]));
    }
    page->y = bottom + GM_AXIS_HEIGHT;
}

static uint64_t device_parts(struct gm_piece *parts, size_t *count, const struct gm_device_report *device,
                             const void *of)
{
    const struct gm_folded *f = of;
    static_assert((int)GM_FOLD_ROWS <= (int)GM_DEVICE_PARTS, "they have room");
    gm_fold_like(f, device->categories, device->category_count, parts);
    *count = f->n;
    return gm_pieces_sum(parts, f->n);
}

static void draw_devices(struct gm_page *page, const struct gm_report *report, const struct gm_folded *f)
{
    page->y += 20;
    gm_page_section(page, "By device", "colours as above; at the bar's end: allocated");
    gm_device_bars(page, report, 26, 20, device_parts, f);
}

static void draw_roles(struct gm_page *page, const struct gm_report *report)
{
    if (!gm_report_roles_say_more(report))
        return;
    const struct gm_folded f = gm_fold_categories(page->display, report->roles, report->role_count, GM_FOLD_ROWS - 2);
    page->y += 20;
    gm_page_section(page, "Allocated memory by role", "role: what for, inferred from stacks, lifetimes and sizes");
    gm_stacked_bar(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 36, f.parts, f.n, (double)f.bytes);
    page->y += 36 + 8;
    page->y += gm_legend(page->display, page->y, 2, f.parts, f.n, f.bytes) + 4;
    gm_fold_note(page, report->roles, &f);
}

void gm_layout_category_breakdown(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Category breakdown");
    struct gm_folded f = gm_fold_categories(display, report->categories, report->category_count, GM_FOLD_ROWS - 2);
    gm_page_section(&page, "Allocated memory by category", NULL);
    if (f.n == 0) {
        gm_page_empty(&page, "No block was allocated when the snapshot was taken.");
    } else {
        gm_stacked_bar(display, GM_PAGE_LEFT, page.y, GM_PAGE_INNER, 36, f.parts, f.n, (double)f.bytes);
        page.y += 36 + 22;
        draw_rows(&page, &f);
        gm_fold_note(&page, report->categories, &f);
        if (report->device_count > 1)
            draw_devices(&page, report, &f);
        draw_roles(&page, report);
    }
    gm_page_end(&page);
}
