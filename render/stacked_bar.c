/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacked bars: widths proportional to bytes, but nothing that exists is invisible.
 */
#include "render/page.h"

#include "analyze/base/size.h"
#include "render/metric.h"
#include "render/theme.h"

#include <math.h>
#include <stdbool.h>

enum { MOST_PARTS = 32, TWO_LINES = 34 };

/* Name and bytes on a part, as much as there is room for; below each other if the bar is high. Where the part is
 * hatched, its left end is left plain under the text. */
static void label_part(struct gm_display *display, const struct gm_piece *part, double x, double y, double width,
                       double height)
{
    const double pad = 7, room = width - 2 * pad, middle = y + height / 2;
    const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, gm_text_color_on(part->fill.color), GM_ANCHOR_START,
                                   GM_ELLIPSIS_END};
    char size[GM_SIZE_TEXT];
    gm_size_format(size, part->bytes);
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
