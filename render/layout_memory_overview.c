/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_overview: what the reserved memory is doing, in total and per device, and whose the allocated memory is.
 */
#include "render/charts.h"

#include "render/devices.h"
#include "render/fold.h"

enum { USES = 4, CATEGORY_ROWS = 14 };

/* Without the ledger's residual the parts sum to what is reserved. */
static void uses_of(const struct gm_totals *totals, const struct gm_ledger *ledger, struct gm_piece parts[USES])
{
    parts[0] = (struct gm_piece){"Allocated", totals->allocated, gm_use_fill(GM_USE_ALLOCATED)};
    parts[1] = (struct gm_piece){"Cached", totals->inactive, gm_use_fill(GM_USE_CACHED)};
    parts[2] = (struct gm_piece){"Pending free", totals->pending, gm_use_fill(GM_USE_PENDING)};
    parts[3] = gm_unexplained_piece(ledger);
}

static void draw_total(struct gm_page *page, const struct gm_report *report)
{
    struct gm_piece parts[USES];
    uses_of(&report->totals, &report->ledger, parts);
    uint64_t sum = gm_pieces_sum(parts, USES);
    gm_page_section(page, report->device_count > 1 ? "All devices: allocated and cached" : "Allocated and cached",
                    "cached: reserved by PyTorch's allocator, in nobody's use");
    if (sum == 0) {
        gm_page_empty(page, "The snapshot has no segments: nothing was reserved when it was taken.");
        return;
    }
    gm_stacked_bar(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 40, parts, USES, (double)sum);
    page->y += 40 + 8;
    size_t shown = 2;
    for (size_t i = 2; i < USES; i++)
        if (parts[i].bytes > 0)
            parts[shown++] = parts[i];
    unsigned columns = shown == 3 ? 3 : 2;
    page->y += gm_legend(page->display, page->y, columns, parts, shown, report->totals.reserved);
    gm_unexplained_note(page, &report->ledger);
    page->y += 22;
}

static uint64_t device_uses(struct gm_piece *parts, size_t *count, const struct gm_device_report *device,
                            const void *of)
{
    (void)of;
    uses_of(&device->totals, &device->ledger, parts);
    *count = USES;
    return device->totals.reserved;
}

static void draw_devices(struct gm_page *page, const struct gm_report *report)
{
    gm_page_section(page, "By device", "at the bar's end: reserved");
    gm_device_bars(page, report, 29, 22, device_uses, NULL);
    page->y += 20;
}

static void draw_categories(struct gm_page *page, const struct gm_report *report)
{
    gm_page_section(page, "Allocated memory by category", "category: what code made them, told by the stack");
    struct gm_folded f = gm_fold_categories(page->display, report->categories, report->category_count, CATEGORY_ROWS);
    if (f.n == 0) {
        gm_page_empty(page, "No block was allocated when the snapshot was taken.");
        return;
    }
    gm_stacked_bar(page->display, GM_PAGE_LEFT, page->y, GM_PAGE_INNER, 40, f.parts, f.n, (double)f.bytes);
    page->y += 40 + 10;
    page->y += gm_legend(page->display, page->y, 2, f.parts, f.n, f.bytes) + 8;
    gm_fold_note(page, report->categories, &f);
}

void gm_layout_memory_overview(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Memory overview");
    draw_total(&page, report);
    if (report->device_count > 1 && report->totals.reserved > 0)
        draw_devices(&page, report);
    draw_categories(&page, report);
    gm_page_end(&page);
}
