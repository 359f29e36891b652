/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments as rows of a map, all to one scale: what is longer than a row goes on in the next one, and what is much
 * shorter shares a row with its neighbours.
 */
#ifndef GM_RENDER_SEGMENT_ROWS_H
#define GM_RENDER_SEGMENT_ROWS_H

#include "analyze/report/report.h"
#include "render/display.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_MAP_MOST_ROWS = 44, GM_MAP_GAP = 4 /* between segments in one row */ };

struct gm_map_row {
    size_t first, count; /* segments; several only if they stand side by side */
    uint64_t offset;     /* of the row in its segment; 0 if there are several */
    uint64_t bytes;      /* of the row's part of the segment, or of all segments in it */
};
struct gm_map_rows {
    struct gm_map_row v[GM_MAP_MOST_ROWS];
    size_t n;
    size_t segments;  /* that are in the rows */
    uint64_t per_row; /* bytes that a whole row stands for */
};
/* At most `most` rows (up to GM_MAP_MOST_ROWS), the first segments of the map. `width`: of a row. */
struct gm_map_rows gm_map_rows_of(const struct gm_segment_map *map, size_t most, double width);

/* The fills of the three states of a block. */
struct gm_fill gm_map_fill(const struct gm_map_block *block);
/* Draws [offset, offset + bytes) of a segment from x to x + width, each pixel with what fills most of it. */
void gm_map_draw(struct gm_display *display, const struct gm_map_segment *segment, uint64_t offset, uint64_t bytes,
                 double x, double y, double width, double height);

#endif
