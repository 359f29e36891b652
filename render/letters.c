/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of atlas.h's letters: measured, ellipsised, and put straight onto a picture's indices.
 */
#include "render/atlas.h"
#include "render/metric.h"
#include "render/paint.h"

#include "analyze/base/utf8.h"

#include <math.h>
#include <string.h>

enum { MOST_LETTERS = 1024 };

/* ---- where they stand -------------------------------------------------------------------------------------------- */

/* A text as letters, and where each begins, in units. */
struct line {
    const struct gm_letters *letters;
    size_t n;
    uint8_t v[MOST_LETTERS];
    int32_t at[MOST_LETTERS];
};

/* The number of a letter that is not ASCII; GM_LETTERS: it is not in the atlas. */
static uint8_t number_of(uint32_t code)
{
    static const uint32_t others[] = {GM_ATLAS_OTHERS};
    uint8_t i = GM_ASCII_LETTERS;
    while (i < GM_LETTERS && others[i - GM_ASCII_LETTERS] != code)
        i++;
    return i;
}

/* false: the atlas has not all of it. */
static bool read_line(struct line *line, const struct gm_text_item *text)
{
    const char *s = text->text;
    line->letters = &gm_atlas[text->size][text->weight];
    line->n = 0;
    for (size_t i = 0, length = strlen(s), step = 1; i < length; i += step) {
        uint32_t code = (unsigned char)s[i];
        if (code >= 0x80)
            step = gm_utf8_decode(s + i, length - i, &code);
        else
            step = 1;
        const bool is_ascii = code >= GM_ASCII_FIRST && code < GM_ASCII_FIRST + GM_ASCII_LETTERS;
        const uint8_t now = is_ascii ? (uint8_t)(code - GM_ASCII_FIRST) : number_of(code);
        const size_t k = line->n++;
        if (now == GM_LETTERS || step == 0 || k == MOST_LETTERS)
            return false;
        line->v[k] = now;
        line->at[k] = k == 0 ? 0
                             : line->at[k - 1] + line->letters->v[line->v[k - 1]].advance +
                                   line->letters->kerns[line->v[k - 1]][now];
    }
    return true;
}

/* Of the letters [begin, end). */
static int32_t width_of(const struct line *line, size_t begin, size_t end)
{
    return begin == end ? 0 : line->at[end - 1] + line->letters->v[line->v[end - 1]].advance - line->at[begin];
}

/* What is shown of a line: its first `head` letters and those from `tail` on, with an ellipsis between them if that is
 * not all. */
struct cut {
    size_t head, tail;
};

/* As much as there is room for beside an ellipsis. */
static struct cut cut_to(const struct line *line, int32_t room, enum gm_ellipsis ellipsis)
{
    struct cut cut = {0, line->n};
    while (cut.head < cut.tail) {
        const int32_t head = width_of(line, 0, cut.head), tail = width_of(line, cut.tail, line->n);
        const bool is_head = ellipsis == GM_ELLIPSIS_END || (ellipsis == GM_ELLIPSIS_MIDDLE && head <= tail);
        const int32_t width =
            is_head ? width_of(line, 0, cut.head + 1) + tail : head + width_of(line, cut.tail - 1, line->n);
        if (width > room)
            break;
        cut.head += is_head;
        cut.tail -= !is_head;
    }
    return cut;
}

/* ---- colours over indices ---------------------------------------------------------------------------------------- */

static struct gm_ink *ink_of(struct gm_canvas *canvas, uint32_t color, uint8_t under)
{
    struct gm_ink *ink = &canvas->inks[(color ^ color >> 8 ^ color >> 16 ^ under) % GM_INKS];
    if (ink->is_set && ink->color == color && ink->under == under)
        return ink;
    *ink = (struct gm_ink){.is_set = true, .color = color, .under = under};
    memset(ink->covered, 0xff, sizeof ink->covered);
    ink->covered[0] = under;
    return ink;
}

static uint8_t ink_index(struct gm_ink *ink, struct gm_palette *palette, uint8_t share)
{
    if (ink->covered[share] < 0) {
        uint32_t argb = (uint32_t)share << 24;
        for (int shift = 0; shift < 24; shift += 8)
            argb |= gm_product_of(ink->color >> shift & 0xff, share) << shift;
        ink->covered[share] = gm_palette_over(palette, ink->under, argb);
    }
    return (uint8_t)ink->covered[share];
}

/* ---- putting them there ------------------------------------------------------------------------------------------ */

/* Clipped to the picture, from x, y on the baseline. */
static void put(struct gm_canvas *canvas, const struct gm_pixels *to, const struct gm_letter *letter, long x, long y,
                uint32_t color)
{
    const long left = x + letter->left, top = y + letter->top, room = (long)to->width - left;
    const long begin = left < 0 ? -left : 0, end = room < letter->width ? room : letter->width;
    struct gm_ink *ink = ink_of(canvas, color, 0);
    for (long line = top < 0 ? -top : 0; line < letter->height && top + line < (long)to->height; line++) {
        const uint8_t *shares = gm_atlas_shares + letter->shares + line * letter->width;
        uint8_t *row = gm_pixels_row(to, (size_t)(top + line));
        for (long i = begin; i < end; i++) {
            if (row[left + i] != ink->under) {
                if (shares[i] == 0)
                    continue;
                ink = ink_of(canvas, color, row[left + i]);
            }
            row[left + i] = ink_index(ink, &canvas->palette, shares[i]);
        }
    }
}

/* Where letters go: the beginning of the line, and the colour. */
struct pen {
    struct gm_canvas *canvas;
    const struct gm_pixels *to;
    long x, y;
    uint32_t color;
};

static void put_at(const struct pen *pen, const struct gm_letter *letter, int32_t at)
{
    put(pen->canvas, pen->to, letter, pen->x + (at + GM_ATLAS_UNIT / 2) / GM_ATLAS_UNIT, pen->y, pen->color);
}

/* The letters [begin, end), the first of them at `at`. */
static void put_run(const struct pen *pen, const struct line *line, size_t begin, size_t end, int32_t at)
{
    for (size_t i = begin; i < end; i++)
        put_at(pen, &line->letters->v[line->v[i]], at + line->at[i] - line->at[begin]);
}

bool gm_letters_put(struct gm_canvas *canvas, const struct gm_pixels *to, const struct gm_text_item *text)
{
    struct line line;
    if (!read_line(&line, text))
        return false;
    const struct gm_letter *ellipsis = &line.letters->v[GM_ELLIPSIS];
    const int32_t room = (int32_t)(fmin(text->max_width, GM_DISPLAY_WIDTH) * GM_DISPLAY_SCALE * GM_ATLAS_UNIT);
    const bool fits = width_of(&line, 0, line.n) <= room;
    if (!fits && ellipsis->advance > room)
        return true;
    const struct cut cut =
        fits ? (struct cut){line.n, line.n} : cut_to(&line, room - ellipsis->advance, text->ellipsis);
    const int32_t head = width_of(&line, 0, cut.head), tail = head + (fits ? 0 : ellipsis->advance);
    const int32_t width = tail + width_of(&line, cut.tail, line.n);
    const struct gm_origin origin = gm_text_origin(text, (double)width / GM_ATLAS_UNIT);
    const struct pen pen = {canvas, to, (long)origin.x, (long)origin.baseline, text->color};
    put_run(&pen, &line, 0, cut.head, 0);
    if (!fits)
        put_at(&pen, ellipsis, head);
    put_run(&pen, &line, cut.tail, line.n, tail);
    return true;
}
