/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments in rows; see segment_rows.h.
 */
#include "render/segment_rows.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <math.h>
#include <string.h>

enum {
    STATES = 3,
    SHARE = 6,  /* what is longer than this part of a row has one for itself */
    WRAPPED = 7 /* at most so many segments are longer than a row */
};

/* ---- rows ----------------------------------------------------------------------------------------------------------
 */

static double width_of(uint64_t bytes, uint64_t per_row, double width)
{
    return fmax(width * ((double)bytes / (double)per_row), 1.0 / GM_DISPLAY_SCALE);
}

/* The rows for one scale, as far as there is room for whole segments. */
static struct gm_map_rows arrange(const struct gm_segment_map *map, uint64_t per_row, size_t most, double width)
{
    struct gm_map_rows rows = {.per_row = per_row};
    double free_from = width; /* in the last row, if it is one of several segments */
    bool is_shared = false;
    for (size_t i = 0; i < map->segment_count; i++) {
        const uint64_t bytes = map->segments[i].bytes;
        if (bytes == 0)
            continue;
        if (bytes > per_row / SHARE) {
            const uint64_t need = bytes / per_row + (bytes % per_row != 0);
            if (need > most - rows.n)
                return rows;
            for (uint64_t k = 0; k < need; k++) {
                const uint64_t offset = k * per_row, left = bytes - offset;
                rows.v[rows.n++] = (struct gm_map_row){i, 1, offset, left < per_row ? left : per_row};
            }
            is_shared = false;
        } else {
            const double w = width_of(bytes, per_row, width);
            if (!is_shared || free_from + w > width) {
                if (rows.n == most)
                    return rows;
                rows.v[rows.n++] = (struct gm_map_row){.first = i};
                free_from = 0;
                is_shared = true;
            }
            struct gm_map_row *row = &rows.v[rows.n - 1];
            row->count = i - row->first + 1;
            row->bytes = gm_sat_add(row->bytes, bytes);
            free_from += w + GM_MAP_GAP;
        }
        rows.segments = i + 1;
    }
    rows.segments = map->segment_count;
    return rows;
}

/* The largest scale that shows no fewer segments than the one at which the largest segment is one row. */
struct gm_map_rows gm_map_rows_of(const struct gm_segment_map *map, size_t most, double width)
{
    uint64_t largest = 0;
    most = most < GM_MAP_MOST_ROWS ? most : GM_MAP_MOST_ROWS;
    for (size_t i = 0; i < map->segment_count; i++)
        largest = map->segments[i].bytes > largest ? map->segments[i].bytes : largest;
    if (largest == 0 || most == 0)
        return (struct gm_map_rows){.n = 0};
    const uint64_t least = map->segment_count > WRAPPED ? map->segments[WRAPPED].bytes : 1;
    struct gm_map_rows best = arrange(map, largest, most, width);
    for (uint64_t part = 2; part <= most; part++) {
        const uint64_t per_row = largest / part + (largest % part != 0);
        struct gm_map_rows rows = arrange(map, per_row, most, width);
        if (per_row < least || rows.segments < best.segments)
            break;
        best = rows;
    }
    return best;
}

/* ---- blocks --------------------------------------------------------------------------------------------------------
 */

struct gm_fill gm_map_fill(const struct gm_map_block *block)
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
        gm_display_rect(d, x, y, width - hairline, height, gm_map_fill(block), GM_RECT_BAR);
}

void gm_map_draw(struct gm_display *display, const struct gm_map_segment *segment, uint64_t offset, uint64_t bytes,
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
