/* SPDX-License-Identifier: Apache-2.0
 *
 * fragmentation_map: the largest segments at the end with their blocks, to scale.
 */
#include "render/charts.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "render/devices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- segments as rows: what is longer than one goes on in the next, what is much shorter shares one with its
 * neighbours, and what would look the same as the next has one for all of them
 */

enum { MAP_MOST_ROWS = 44, MAP_GAP = 4 /* between segments in one row */ };

struct map_row {
    size_t first, count; /* segments; several only if they stand side by side */
    uint64_t offset;     /* of the row in its segment; 0 if there are several */
    uint64_t bytes;      /* of the row's part of the segment, or of all segments in it */
};
struct map_rows {
    struct map_row v[MAP_MOST_ROWS];
    size_t n;
    size_t segments;  /* of the map that are in the rows */
    uint64_t per_row; /* bytes that a whole row stands for */
};
enum {
    STATES = 3,
    SHARE = 6,  /* what is longer than this part of a row has one for itself */
    WRAPPED = 7 /* at most so many segments are longer than a row */
};

static double width_of(uint64_t bytes, uint64_t per_row, double width)
{
    return fmax(width * ((double)bytes / (double)per_row), 1.0 / GM_DISPLAY_SCALE);
}

/* The rows for one scale, as far as there is room for whole segments. */
static struct map_rows arrange(const struct gm_segment_map *map, uint64_t per_row, size_t most, double width)
{
    struct map_rows rows = {.per_row = per_row};
    double free_from = width; /* in the last row, if it is one of several segments */
    bool is_shared = false;
    for (size_t i = 0; i < map->segment_count; i++) {
        const uint64_t bytes = map->segments[i].bytes;
        if (bytes == 0)
            continue;
        if (bytes > per_row / SHARE || map->segments[i].alike > 0) {
            const uint64_t need = bytes / per_row + (bytes % per_row != 0);
            if (need > most - rows.n)
                return rows;
            for (uint64_t k = 0; k < need; k++) {
                const uint64_t offset = k * per_row, left = bytes - offset;
                rows.v[rows.n++] = (struct map_row){i, 1, offset, left < per_row ? left : per_row};
            }
            is_shared = false;
        } else {
            const double w = width_of(bytes, per_row, width);
            if (!is_shared || free_from + w > width) {
                if (rows.n == most)
                    return rows;
                rows.v[rows.n++] = (struct map_row){.first = i};
                free_from = 0;
                is_shared = true;
            }
            struct map_row *row = &rows.v[rows.n - 1];
            row->count = i - row->first + 1;
            row->bytes = gm_sat_add(row->bytes, bytes);
            free_from += w + MAP_GAP;
        }
        rows.segments = i + 1;
    }
    rows.segments = map->segment_count;
    return rows;
}

/* Of the first so many of the map, with those that are alike. */
static size_t segments_of(const struct gm_segment_map *map, size_t listed)
{
    size_t n = listed;
    for (size_t i = 0; i < listed; i++)
        n += map->segments[i].alike;
    return n;
}

/* The largest scale that shows no fewer segments than the one at which the largest segment is one row. */
static struct map_rows map_rows_of(const struct gm_segment_map *map, size_t most, double width)
{
    uint64_t largest = 0;
    most = most < MAP_MOST_ROWS ? most : MAP_MOST_ROWS;
    for (size_t i = 0; i < map->segment_count; i++)
        largest = map->segments[i].bytes > largest ? map->segments[i].bytes : largest;
    if (largest == 0 || most == 0)
        return (struct map_rows){.n = 0};
    size_t longer = 0;
    while (longer < map->segment_count && segments_of(map, longer + 1) <= WRAPPED)
        longer++;
    const uint64_t least = longer < map->segment_count ? map->segments[longer].bytes : 1;
    struct map_rows best = arrange(map, largest, most, width);
    for (uint64_t part = 2; part <= most; part++) {
        const uint64_t per_row = largest / part + (largest % part != 0);
        struct map_rows rows = arrange(map, per_row, most, width);
        if (per_row < least || rows.segments < best.segments)
            break;
        best = rows;
    }
    return best;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct gm_fill map_fill(const struct gm_map_block *block)
{
    static const struct gm_fill pending = {0xe8a33d, 0x7a4a00, GM_HATCH_CROSS};
    return block->state == 0 ? gm_use_fill(GM_USE_CACHED) : block->state == 2 ? pending : gm_solid(block->color);
}

static bool is_alike(const struct gm_map_block *a, const struct gm_map_block *b)
{
    return a->state == b->state && a->color == b->color;
}

/* What fills most of [from, to): the block that has most of what is in the most frequent state. NULL: nothing. *at: the
 * first block that reaches beyond `from`; moves on. */
static const struct gm_map_block *most_of(const struct gm_map_segment *segment, size_t *at, double from, double to)
{
    double bytes[STATES] = {0}, most[STATES] = {0};
    const struct gm_map_block *largest[STATES] = {NULL};
    const struct gm_map_block *end = segment->blocks + segment->block_count;
    while (*at < segment->block_count &&
           (double)segment->blocks[*at].offset + (double)segment->blocks[*at].bytes <= from)
        (*at)++;
    for (const struct gm_map_block *b = segment->blocks + *at; b < end && (double)b->offset < to; b++) {
        const double overlap = fmin((double)b->offset + (double)b->bytes, to) - fmax((double)b->offset, from);
        const unsigned state = b->state < STATES ? b->state : 1;
        if (overlap <= 0)
            continue;
        bytes[state] += overlap;
        if (overlap > most[state]) {
            most[state] = overlap;
            largest[state] = b;
        }
    }
    unsigned state = 0;
    for (unsigned s = 1; s < STATES; s++)
        if (bytes[s] > bytes[state])
            state = s;
    return largest[state];
}

static size_t first_block(const struct gm_map_segment *segment, uint64_t offset)
{
    const struct gm_map_block *blocks = segment->blocks;
    size_t low = 0;
    GM_BISECT(low, segment->block_count, i, gm_sat_add(blocks[i].offset, blocks[i].bytes) <= offset);
    return low;
}

/* A run of pixels with one fill. Blocks that are wide enough end with a hairline of paper. */
static void draw_run(struct gm_display *d, const struct gm_map_block *block, double x, double y, double width,
                     double height, bool is_end_of_block)
{
    const double wide = 3, hairline = is_end_of_block && width >= wide ? 1.0 / GM_DISPLAY_SCALE : 0;
    if (block != NULL)
        gm_display_rect(d, x, y, width - hairline, height, map_fill(block), GM_RECT_BAR);
}

static void map_draw(struct gm_display *display, const struct gm_map_segment *segment, uint64_t offset, uint64_t bytes,
                     double x, double y, double width, double height)
{
    const size_t pixels = (size_t)fmax(round(width * GM_DISPLAY_SCALE), 1);
    const double pixel = 1.0 / GM_DISPLAY_SCALE, span = (double)bytes / (double)pixels;
    x = round(x * GM_DISPLAY_SCALE) / GM_DISPLAY_SCALE;
    gm_display_rect(display, x, y, (double)pixels * pixel, height, gm_solid(GM_TRACK), GM_RECT_PLAIN);
    size_t at = first_block(segment, offset), start = 0;
    const struct gm_map_block *run = NULL;
    for (size_t p = 0; p < pixels; p++) {
        const double from = (double)offset + span * (double)p;
        const struct gm_map_block *b = most_of(segment, &at, from, from + span);
        const double so_far = (double)(p - start) * pixel;
        if (p == 0 || b == run || (b != NULL && run != NULL && is_alike(b, run) && so_far < 3)) {
            run = b;
            continue;
        }
        draw_run(display, run, x + (double)start * pixel, y, so_far, height, true);
        run = b;
        start = p;
    }
    draw_run(display, run, x + (double)start * pixel, y, (double)(pixels - start) * pixel, height, false);
}

enum { MOST_CATEGORIES = 64, LEGEND_ROWS = 20 };
static const double bar_x = 206, bar_width = 480, label_x = 694, bar_height = 15, pitch = 19;

/* ---- what the colours mean --------------------------------------------------------------------------------------- */

/* Bytes by category, over all rows drawn. */
struct tally {
    struct gm_piece categories[MOST_CATEGORIES];
    size_t n;
    uint64_t others, free, pending, none, total; /* none: in segments, and in no block of the file */
};

static void count_block(struct tally *t, const struct gm_map_block *block, uint64_t times)
{
    const uint64_t bytes = gm_known_mul(block->bytes, times);
    t->total = gm_sat_add(t->total, bytes);
    if (block->state == 0) {
        t->free = gm_sat_add(t->free, bytes);
        return;
    }
    if (block->state == 2) {
        t->pending = gm_sat_add(t->pending, bytes);
        return;
    }
    const char *name = gm_name(block->category);
    size_t k = 0;
    while (k < t->n && t->categories[k].name != name &&
           (t->categories[k].fill.color != block->color || strcmp(t->categories[k].name, name) != 0))
        k++;
    if (k == MOST_CATEGORIES) {
        t->others = gm_sat_add(t->others, bytes);
        return;
    }
    if (k == t->n)
        t->categories[t->n++] = (struct gm_piece){name, 0, gm_solid(block->color)};
    t->categories[k].bytes = gm_sat_add(t->categories[k].bytes, bytes);
}

GM_ORDERING(largest_first, struct gm_piece, GM_DOWN(bytes) || GM_BY(strcmp(a->name, b->name)));

static void draw_legend(struct gm_page *page, struct tally *t)
{
    struct gm_piece parts[LEGEND_ROWS + 3];
    const struct gm_map_block cached = {.state = 0}, pending = {.state = 2};
    size_t n = 0;
    qsort(t->categories, t->n, sizeof *t->categories, largest_first);
    parts[n++] = (struct gm_piece){"Free (cached)", t->free, map_fill(&cached)};
    if (t->pending > 0)
        parts[n++] = (struct gm_piece){"Pending", t->pending, map_fill(&pending)};
    if (t->none > 0)
        parts[n++] = (struct gm_piece){"In no block of the file", t->none, gm_solid(GM_TRACK)};
    for (size_t i = 0; i < t->n && i < LEGEND_ROWS; i++)
        parts[n++] = t->categories[i];
    gm_page_section(page, "What the colours mean", "bytes: in the segments shown");
    page->y += gm_legend(page->display, page->y, 2, parts, n, t->total);
    uint64_t rest = t->others;
    for (size_t i = LEGEND_ROWS; i < t->n; i++)
        rest = gm_sat_add(rest, t->categories[i].bytes);
    if (rest > 0)
        gm_page_note(page, gm_display_printf(page->display, "Smaller categories, in their own colours: %s together",
                                             gm_size_text(page->display, rest)));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static uint64_t used_in(const struct gm_map_segment *segment)
{
    uint64_t used = 0;
    for (size_t i = 0; i < segment->block_count; i++)
        if (segment->blocks[i].state != 0)
            used = gm_sat_add(used, segment->blocks[i].bytes);
    return used;
}

static const char *pool_text(struct gm_display *d, const struct gm_map_segment *segment)
{
    return segment->stream_number == 0
               ? gm_name(segment->pool)
               : gm_display_printf(d, "%s, stream %" PRIu32, gm_name(segment->pool), segment->stream_number);
}

/* At the left which segment it is, at the right what it belongs to and how full it is. */
static void label_row(struct gm_display *d, const struct gm_segment_map *map, const struct map_row *row, double y)
{
    const struct gm_map_segment *segment = &map->segments[row->first];
    const struct gm_map_segment *last = &map->segments[row->first + row->count - 1];
    struct gm_style end = gm_style_end;
    end.color = GM_INK;
    if (row->offset > 0) {
        end.color = GM_MUTED;
        gm_put_between(d, GM_PAGE_LEFT, bar_x - 8, y, end, gm_display_printf(d, "+ %s", gm_size_text(d, row->offset)));
        return;
    }
    const size_t n = segments_of(map, row->first + row->count) - segments_of(map, row->first);
    gm_put_between(d, GM_PAGE_LEFT, bar_x - 76, y, gm_style_note,
                   n == 1 ? gm_display_printf(d, "0x%" PRIx64, segment->address)
                          : gm_display_printf(d, "%s segments %s", gm_digits_text(d, n),
                                              last->bytes == segment->bytes ? "of" : "up to"));
    gm_put_between(d, bar_x - 72, bar_x - 8, y, end, gm_size_text(d, segment->bytes));
    uint64_t used = 0;
    for (size_t i = 0; i < row->count; i++)
        used = gm_sat_add(used, used_in(segment + i));
    uint64_t total = row->count == 1 ? segment->bytes : row->bytes;
    const char *percent = gm_share_text(d, used, total);
    bool is_one_pool = true;
    for (size_t i = 1; i < row->count; i++)
        is_one_pool &= strcmp(gm_name(segment[i].pool), gm_name(segment->pool)) == 0 &&
                       segment[i].stream_number == segment->stream_number;
    gm_put_between(d, label_x, GM_PAGE_RIGHT - 44, y, gm_style_note,
                   is_one_pool ? pool_text(d, segment) : "several pools");
    gm_put_between(d, GM_PAGE_RIGHT - 42, GM_PAGE_RIGHT, y, end, percent);
}

static void draw_row(struct gm_display *d, const struct gm_segment_map *map, const struct map_rows *rows,
                     const struct map_row *row, double y)
{
    double x = bar_x;
    for (size_t i = 0; i < row->count; i++) {
        const struct gm_map_segment *segment = &map->segments[row->first + i];
        const uint64_t bytes = row->count == 1 ? row->bytes : segment->bytes;
        const double width = width_of(bytes, rows->per_row, bar_width);
        if (bytes > 0 && x + width <= bar_x + bar_width + 1)
            map_draw(d, segment, row->offset, bytes, x, y, fmin(width, bar_x + bar_width - x), bar_height);
        x += bytes > 0 ? width + MAP_GAP : 0;
    }
}

static void note_rest(struct gm_page *page, const struct gm_segment_map *map, const struct map_rows *rows)
{
    uint64_t bytes = map->rest_bytes;
    for (size_t i = rows->segments; i < map->segment_count; i++)
        bytes = gm_sat_add(bytes, gm_known_mul(map->segments[i].bytes, map->segments[i].alike + 1));
    const size_t shown = segments_of(map, rows->segments);
    const size_t more = map->segment_total > shown ? map->segment_total - shown : 0;
    if (more > 0)
        gm_page_note(page, gm_display_printf(page->display, "+ %s more segment%s, none larger than these: %s",
                                             gm_digits_text(page->display, more), more == 1 ? "" : "s",
                                             gm_size_text(page->display, bytes)));
}

static void draw_device(struct gm_page *page, const struct gm_report *report, const struct gm_traced *traced,
                        size_t most, struct tally *tally)
{
    const struct gm_segment_map *map = &traced->timeline->map;
    struct gm_display *d = page->display;
    const struct map_rows rows = map_rows_of(map, most, bar_width);
    const char *heading = report->device_count > 1
                              ? gm_display_printf(d, "Device %" PRId64 ": segments at the end", traced->device->device)
                              : "Segments at the end of the trace";
    gm_page_section(page, heading,
                    rows.n == 0
                        ? NULL
                        : gm_display_printf(d, "%s of %s, largest first; a whole row is %s",
                                            gm_digits_text(d, segments_of(map, rows.segments)),
                                            gm_digits_text(d, map->segment_total), gm_size_text(d, rows.per_row)));
    if (rows.n == 0) {
        gm_page_empty(page, map->segment_total == 0 ? "Nothing was reserved at the end." : "No segment has any bytes.");
        return;
    }
    gm_put_between(d, GM_PAGE_LEFT, bar_x - 76, page->y, gm_style_note, "address");
    gm_put_between(d, bar_x - 72, bar_x - 8, page->y, gm_style_end, "size");
    gm_put_between(d, label_x, GM_PAGE_RIGHT - 44, page->y, gm_style_note, "pool, stream");
    gm_put_between(d, GM_PAGE_RIGHT - 42, GM_PAGE_RIGHT, page->y, gm_style_end, "in use");
    page->y += 11;
    for (size_t i = 0; i < rows.n; i++) {
        label_row(d, map, &rows.v[i], page->y + bar_height / 2);
        draw_row(d, map, &rows, &rows.v[i], page->y);
        page->y += pitch;
    }
    for (size_t i = 0; i < rows.segments; i++) {
        const struct gm_map_segment *segment = &map->segments[i];
        const uint64_t before = tally->total, bytes = gm_known_mul(segment->bytes, segment->alike + 1);
        for (size_t b = 0; b < segment->block_count; b++)
            count_block(tally, &segment->blocks[b], segment->alike + 1);
        const uint64_t gap = bytes - gm_min(bytes, tally->total - before);
        tally->none = gm_sat_add(tally->none, gap);
        tally->total = gm_sat_add(tally->total, gap);
    }
    note_rest(page, map, &rows);
    page->y += 18;
}

void gm_layout_fragmentation_map(struct gm_display *display, const struct gm_report *report)
{
    struct gm_page page = gm_page_begin(display, report, "Fragmentation map");
    const struct gm_traced_devices devices = gm_traced_devices(report);
    struct tally tally = {.n = 0};
    if (devices.n == 0) {
        gm_page_section(&page, "Segments at the end", NULL);
        gm_page_empty(&page, "The snapshot has no trace: its history was not recorded.");
        gm_page_end(&page);
        return;
    }
    const size_t most = devices.n == 1 ? MAP_MOST_ROWS : devices.n <= 4 ? 16 : 10;
    for (size_t i = 0; i < devices.n; i++)
        draw_device(&page, report, &devices.v[i], most, &tally);
    gm_traced_note_hidden(&page, &devices);
    page.y += devices.hidden > 0 ? 18 : 0;
    if (tally.total > 0)
        draw_legend(&page, &tally);
    gm_page_end(&page);
}
