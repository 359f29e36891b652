/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet_heatmap: a cell for each rank and iteration, three maps side by side down the page. Where there are more ranks
 * or iterations than cells, neighbours share one: it shows the highest of them (of efficiency the lowest).
 */
#include "analyze/report/fleet_model.h"
#include "render/charts.h"

#include <inttypes.h>
#include <math.h>

enum {
    ROWS = 96,
    COLUMNS = 48,
    SHADES = 16,
    ROW_LEAST = 12,
    ROW_WRITTEN = 16, /* has room for a number */
    ROWS_WRITTEN = 64,
    COLUMN_WRITTEN = 80,
    ROW_MOST = 26,
    COLUMN_MOST = 280,
    LABELS = 104,
    LONG_LABELS = 340
};

enum map { MAP_RESERVED, MAP_ALLOCATED, MAP_EFFICIENCY, MAPS };

struct grid {
    size_t rows, columns;       /* cells */
    size_t per_row, per_column; /* ranks and iterations in a cell, at most */
    double width, height, x;    /* of a cell; of the first one */
};

enum cell_state { CELL_EMPTY, CELL_UNREADABLE, CELL_VALUE };
struct cell {
    enum cell_state state;
    bool has_oom, has_unreadable;
    uint64_t bytes;       /* or thousandths of a percent */
    uint64_t part, whole; /* of the efficiency */
};

static size_t in_cells(size_t n, size_t most, size_t *per_cell)
{
    *per_cell = n == 0 ? 1 : (n + most - 1) / most;
    return (n + *per_cell - 1) / *per_cell;
}

static void take(struct cell *cell, const struct gm_fleet_item *item, enum map map)
{
    uint64_t value;
    cell->has_unreadable = cell->has_unreadable || item->status != GM_OK;
    cell->has_oom = cell->has_oom || (item->status == GM_OK && item->ooms > 0);
    if (item->status != GM_OK || (map == MAP_EFFICIENCY && item->totals.reserved == 0)) {
        if (cell->state == CELL_EMPTY && item->status != GM_OK)
            cell->state = CELL_UNREADABLE;
        return;
    }
    if (map == MAP_EFFICIENCY)
        value = (uint64_t)fmin(1e5 * (double)item->totals.allocated / (double)item->totals.reserved, 1e9);
    else
        value = map == MAP_RESERVED ? gm_fleet_reserved(item) : gm_fleet_allocated(item);
    const bool is_worse = map == MAP_EFFICIENCY ? value < cell->bytes : value > cell->bytes;
    if (cell->state != CELL_VALUE || is_worse) {
        cell->bytes = value;
        cell->part = item->totals.allocated;
        cell->whole = item->totals.reserved;
    }
    cell->state = CELL_VALUE;
}

static struct cell cell_of(const struct gm_fleet *f, const struct grid *g, size_t row, size_t column, enum map map)
{
    struct cell cell = {CELL_EMPTY, false, false, 0, 0, 0};
    for (size_t r = row * g->per_row; r < (row + 1) * g->per_row && r < f->row_count; r++)
        for (size_t c = column * g->per_column; c < (column + 1) * g->per_column && c < f->column_count; c++) {
            const size_t i = gm_fleet_find(f, r, c);
            if (i != SIZE_MAX)
                take(&cell, &f->items[i], map);
        }
    return cell;
}

/* Light to dark; few shades, so that the palette of the picture holds them. Efficiency: the lower, the redder, and a
 * colour means the same in all pictures. */
static uint32_t color_of(uint64_t value, uint64_t least, uint64_t most, enum map map)
{
    const double share = map == MAP_EFFICIENCY ? (double)value / 1e5
                         : most > least        ? (double)(value - least) / (double)(most - least)
                                               : 0.5;
    const double shade = (double)(unsigned)((share < 1 ? share : 1) * (SHADES - 1) + 0.5) / (SHADES - 1);
    if (map == MAP_EFFICIENCY)
        return gm_paler(0xb42318, 0.94 * shade);
    return gm_paler(map == MAP_RESERVED ? 0x1d4e89 : 0x1f6f4a, 0.88 - 0.88 * shade);
}

static const char *value_text(struct gm_display *d, const struct cell *cell, enum map map)
{
    if (map == MAP_EFFICIENCY)
        return gm_display_printf(d, "%s", gm_share_text(d, cell->part, cell->whole));
    return gm_display_printf(d, "%s", gm_size_text(d, cell->bytes));
}

static const char *row_label(struct gm_display *d, const struct gm_fleet *f, const struct grid *g, size_t row)
{
    const size_t first = row * g->per_row;
    size_t last = first + g->per_row - 1;
    last = last < f->row_count ? last : f->row_count - 1;
    if (first == last || f->rows[first].rank < 0 || f->rows[last].rank < 0)
        return gm_name(f->rows[first].label);
    return gm_display_printf(d, "%" PRId64 "-%" PRId64, f->rows[first].rank, f->rows[last].rank);
}

static const char *column_label(struct gm_display *d, const struct gm_fleet *f, const struct grid *g, size_t column)
{
    const int64_t iteration = f->columns[column * g->per_column].iteration;
    if (iteration < 0)
        return f->column_count > 1 ? "none" : "";
    return gm_display_printf(d, "%" PRId64, iteration);
}

static void draw_labels(struct gm_display *d, const struct gm_fleet *f, const struct grid *g, double top)
{
    struct gm_style left = gm_style_note, below = gm_style_note;
    left.anchor = GM_ANCHOR_END;
    left.ellipsis = GM_ELLIPSIS_START; /* names of files differ at their ends */
    below.anchor = GM_ANCHOR_MIDDLE;
    double last = top - 100;
    for (size_t r = 0; r < g->rows; r++) {
        const double y = top + g->height * ((double)r + 0.5);
        if (y - last < 12)
            continue;
        gm_put(d, g->x - 7, y, g->x - GM_PAGE_LEFT - 12, left, row_label(d, f, g, r));
        last = y;
    }
    last = 0;
    for (size_t c = 0; c < g->columns; c++) {
        const double x = g->x + g->width * ((double)c + 0.5);
        const char *label = column_label(d, f, g, c);
        const double width = gm_text_width(label, GM_TEXT_SMALL, GM_REGULAR) + 6;
        if (x - width / 2 < last)
            continue;
        gm_put(d, x, top + g->height * (double)g->rows + 10, width, below, label);
        last = x + width / 2;
    }
}

static void draw_cell(struct gm_display *d, const struct grid *g, double x, double y, const struct cell *cell,
                      uint32_t color, enum map map)
{
    static const struct gm_fill unreadable = {GM_TRACK, GM_ALARM, GM_HATCH_CROSS};
    const double gap = g->width > 6 && g->height > 6 ? 1 : 0;
    const struct gm_fill fill = cell->state == CELL_UNREADABLE ? unreadable
                                : cell->state == CELL_EMPTY    ? gm_solid(GM_TRACK)
                                                               : gm_solid(color);
    gm_display_rect(d, x, y, g->width - gap, g->height - gap, fill, GM_RECT_PLAIN);
    if (cell->has_oom && g->width >= 8)
        gm_display_rect(d, x, y, 5, g->height - gap, gm_solid(GM_ALARM), GM_RECT_PLAIN);
    if (cell->has_unreadable && cell->state == CELL_VALUE && g->width >= 16)
        gm_display_rect(d, x + g->width - gap - 8, y, 8, g->height - gap, unreadable, GM_RECT_PLAIN);
    const char *text = cell->state == CELL_VALUE ? value_text(d, cell, map) : "-";
    struct gm_style style = gm_style_tick;
    style.color = gm_text_color_on(color);
    if (cell->state != CELL_UNREADABLE && g->height >= 15 &&
        gm_text_width(text, GM_TEXT_SMALL, GM_REGULAR) + 14 <= g->width)
        gm_put(d, x + (g->width - gap) / 2, y + g->height / 2, g->width - 4, style, text);
}

static void draw_map(struct gm_page *page, const struct gm_fleet *f, const struct grid *g, enum map map)
{
    static const char *const titles[MAPS] = {"Peak reserved", "Peak allocated",
                                             "Efficiency: allocated of reserved at the end"};
    uint64_t least = UINT64_MAX, most = 0;
    struct cell low = {CELL_EMPTY, false, false, 0, 0, 0}, high = low;
    for (size_t r = 0; r < g->rows; r++)
        for (size_t c = 0; c < g->columns; c++) {
            const struct cell cell = cell_of(f, g, r, c, map);
            if (cell.state != CELL_VALUE)
                continue;
            if (cell.bytes < least) {
                least = cell.bytes;
                low = cell;
            }
            if (cell.bytes >= most) {
                most = cell.bytes;
                high = cell;
            }
        }
    if (low.state != CELL_VALUE)
        return;
    gm_page_section(page, titles[map],
                    gm_display_printf(page->display, "%s to %s", value_text(page->display, &low, map),
                                      value_text(page->display, &high, map)));
    page->y += 4;
    for (size_t r = 0; r < g->rows; r++)
        for (size_t c = 0; c < g->columns; c++) {
            const struct cell cell = cell_of(f, g, r, c, map);
            const uint32_t color = cell.state == CELL_VALUE ? color_of(cell.bytes, least, most, map) : GM_TRACK;
            draw_cell(page->display, g, g->x + g->width * (double)c, page->y + g->height * (double)r, &cell, color,
                      map);
        }
    draw_labels(page->display, f, g, page->y);
    page->y += g->height * (double)g->rows + 44;
}

static struct grid grid_of(const struct gm_fleet *f)
{
    /* names of files are longer than those of ranks; rows without a rank are the last ones */
    const bool has_names = f->row_count > 0 && f->rows[f->row_count - 1].rank < 0;
    struct grid g = {.x = GM_PAGE_LEFT + (has_names ? LONG_LABELS : LABELS)};
    g.rows = in_cells(f->row_count, ROWS, &g.per_row);
    g.columns = in_cells(f->column_count, COLUMNS, &g.per_column);
    g.width = (GM_PAGE_RIGHT - g.x) / (double)(g.columns > 0 ? g.columns : 1);
    g.width = g.width > COLUMN_MOST ? COLUMN_MOST : g.width;
    const double least = g.rows <= ROWS_WRITTEN && g.width >= COLUMN_WRITTEN ? ROW_WRITTEN : ROW_LEAST;
    g.height = 420.0 / (double)(g.rows > 0 ? g.rows : 1);
    g.height = g.height < least ? least : g.height > ROW_MOST ? ROW_MOST : g.height;
    return g;
}

void gm_layout_fleet_heatmap(struct gm_display *display, const struct gm_fleet *f)
{
    const struct grid g = grid_of(f);
    struct gm_page page = gm_page_title(display, "Ranks and iterations",
                                        gm_display_printf(display, "%s \xc2\xb7 %zu of %zu snapshots read",
                                                          gm_name(f->run_name), f->read_count, f->item_count));
    for (int map = 0; map < MAPS && f->read_count > 0; map++)
        draw_map(&page, f, &g, (enum map)map);
    if (f->read_count == 0)
        gm_page_empty(&page, "No snapshot could be read.");
    gm_page_note(&page,
                 "Ranks down, iterations across. Grey, a dash: no snapshot; red crosses: unreadable; red edge: ran out "
                 "of memory");
    if (g.per_row > 1 || g.per_column > 1) {
        gm_page_note(&page, gm_display_printf(display,
                                              "A cell stands for up to %zu rank%s and %zu iteration%s and shows the "
                                              "highest of them, of efficiency the lowest",
                                              g.per_row, g.per_row == 1 ? "" : "s", g.per_column,
                                              g.per_column == 1 ? "" : "s"));
        gm_page_note(&page, "Crosses at the right of a cell: some of them are unreadable");
    }
    gm_page_end(&page);
}
