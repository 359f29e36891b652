/* SPDX-License-Identifier: Apache-2.0
 *
 * Glyphs as cairo draws them, kept, and put straight onto a picture's indices, as pixman would put them onto pixels of
 * 5-6-5 bits. Where two touch, that would need pixels: such lines are left to cairo.
 */
#include "render/paint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EDGES = 64, MOST_GLYPHS = 200 /* of a line */ };

/* ---- how much of each pixel a glyph covers ----------------------------------------------------------------------- */

/* Newer cairos draw letters at quarters of a pixel. */
static int phases(void)
{
    return cairo_version() >= CAIRO_VERSION_ENCODE(1, 17, 4) ? 4 : 1;
}

static void glyph_free(struct gm_glyph *glyph)
{
    free(glyph->shares);
    if (glyph->font != NULL)
        g_object_unref(glyph->font);
    *glyph = (struct gm_glyph){0};
}

void gm_canvas_forget_glyphs(struct gm_canvas *canvas)
{
    for (size_t i = 0; i < GM_GLYPHS; i++)
        glyph_free(&canvas->glyphs[i]);
    canvas->glyph_count = 0;
}

/* From what is drawn in black on a surface of the kind ARGB32, without what is empty around it. false: it has colours,
 * or there is no memory. */
static bool take_shares(struct gm_glyph *glyph, cairo_surface_t *surface)
{
    const unsigned char *data = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    int x1 = glyph->width, y1 = glyph->height, x2 = 0, y2 = 0;
    uint32_t all = 0;
    for (int y = 0; y < glyph->height; y++)
        for (int x = 0; x < glyph->width; x++) {
            uint32_t pixel;
            memcpy(&pixel, data + y * stride + 4 * x, 4);
            if (pixel == 0)
                continue;
            all |= pixel;
            x1 = x < x1 ? x : x1;
            x2 = x + 1 > x2 ? x + 1 : x2;
            y1 = y < y1 ? y : y1;
            y2 = y + 1;
        }
    if (all == 0)
        return true;
    glyph->left += x1;
    glyph->top += y1;
    glyph->width = x2 - x1;
    glyph->height = y2 - y1;
    glyph->shares = malloc((size_t)glyph->width * (size_t)glyph->height);
    for (int y = y1; glyph->shares != NULL && y < y2; y++)
        for (int x = x1; x < x2; x++) {
            uint32_t pixel;
            memcpy(&pixel, data + y * stride + 4 * x, 4);
            glyph->shares[(y - y1) * glyph->width + x - x1] = (uint8_t)(pixel >> 24);
        }
    return glyph->shares != NULL && (all & 0xffffff) == 0;
}

/* false: as take_shares says. */
static bool draw(struct gm_glyph *glyph, PangoGlyphInfo info)
{
    const int edge = 2;
    PangoRectangle ink;
    pango_font_get_glyph_extents(glyph->font, info.glyph, &ink, NULL);
    pango_extents_to_pixels(&ink, NULL);
    if (ink.width <= 0 || ink.height <= 0)
        return true;
    glyph->left = ink.x - edge;
    glyph->top = ink.y - edge;
    glyph->width = ink.width + 2 * edge;
    glyph->height = ink.height + 2 * edge;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, glyph->width, glyph->height);
    cairo_t *cr = cairo_create(surface);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE); /* of the boxes that pango draws for unknown characters */
    cairo_move_to(cr, (double)glyph->phase / phases() - glyph->left, -glyph->top);
    info.geometry.x_offset = info.geometry.y_offset = 0;
    pango_cairo_show_glyph_string(cr, glyph->font, &(PangoGlyphString){1, &info, &(int){0}, 1});
    cairo_surface_flush(surface);
    const bool ok = cairo_status(cr) == CAIRO_STATUS_SUCCESS && take_shares(glyph, surface);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return ok;
}

/* The one that is kept, or made now; NULL: none can be. */
static const struct gm_glyph *find(struct gm_canvas *canvas, PangoFont *font, const PangoGlyphInfo *info, int phase)
{
    const size_t hash = ((size_t)font >> 5) + info->glyph * 4 + (size_t)phase;
    for (size_t i = 0; i < GM_GLYPHS; i++) {
        struct gm_glyph *glyph = &canvas->glyphs[((hash ^ hash >> 11) + i) % GM_GLYPHS];
        if (glyph->font == font && glyph->number == info->glyph && glyph->phase == phase)
            return glyph;
        if (glyph->font != NULL)
            continue;
        *glyph = (struct gm_glyph){.font = g_object_ref(font), .number = info->glyph, .phase = phase};
        if (draw(glyph, *info)) {
            canvas->glyph_count++;
            return glyph;
        }
        glyph_free(glyph);
        return NULL;
    }
    return NULL;
}

/* ---- colours over indices ---------------------------------------------------------------------------------------- */

/* Of two shares of 255. */
static uint32_t product_of(uint32_t a, uint32_t b)
{
    return (a * b + 0x80) * 0x101 >> 16;
}

/* What a colour makes of a pixel of which it covers `share`. */
static uint16_t cover(uint16_t pixel, uint32_t color, uint8_t share)
{
    const uint32_t under = gm_color_of_pixel(pixel);
    uint32_t covered = 0;
    for (int shift = 0; shift < 24; shift += 8)
        covered |= (product_of(color >> shift & 0xff, share) + product_of(under >> shift & 0xff, 255U - share))
                   << shift;
    return gm_pixel_of(covered);
}

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

static uint8_t index_of(struct gm_palette *palette, uint8_t under, uint16_t now)
{
    return now == palette->pixels[under] ? under : gm_palette_index(palette, now);
}

static uint8_t ink_index(struct gm_ink *ink, struct gm_palette *palette, uint8_t share)
{
    if (ink->covered[share] < 0)
        ink->covered[share] = index_of(palette, ink->under, cover(palette->pixels[ink->under], ink->color, share));
    return (uint8_t)ink->covered[share];
}

/* ---- putting them there ------------------------------------------------------------------------------------------ */

struct placed {
    const struct gm_glyph *glyph;
    long left, top;
};

/* Whether both cover a pixel. */
static bool touch(const struct placed *a, const struct placed *b)
{
    const long left = a->left > b->left ? a->left : b->left, top = a->top > b->top ? a->top : b->top;
    for (long x = left; x < a->left + a->glyph->width && x < b->left + b->glyph->width; x++)
        for (long y = top; y < a->top + a->glyph->height && y < b->top + b->glyph->height; y++)
            if (a->glyph->shares[(y - a->top) * a->glyph->width + x - a->left] != 0 &&
                b->glyph->shares[(y - b->top) * b->glyph->width + x - b->left] != 0)
                return true;
    return false;
}

static void put(struct gm_canvas *canvas, const struct gm_pixels *to, const struct placed *placed, uint32_t color)
{
    const struct gm_glyph *glyph = placed->glyph;
    const long left = placed->left, top = placed->top, room = (long)to->width - left;
    const long begin = left < 0 ? -left : 0, end = room < glyph->width ? room : glyph->width;
    struct gm_ink *ink = ink_of(canvas, color, 0);
    for (long line = top < 0 ? -top : 0; line < glyph->height && top + line < (long)to->height; line++) {
        const uint8_t *shares = glyph->shares + line * glyph->width;
        uint8_t *row = gm_pixels_row(to, (size_t)(top + line));
        for (long i = begin; i < end; i++) {
            if (shares[i] == 0)
                continue;
            if (row[left + i] != ink->under)
                ink = ink_of(canvas, color, row[left + i]);
            row[left + i] = ink_index(ink, &canvas->palette, shares[i]);
        }
    }
}

/* All of a line that begins on the baseline at x, y, as many as there is room for; more than that: not all can be told.
 */
static size_t list(struct placed placed[MOST_GLYPHS], struct gm_canvas *canvas, const PangoLayoutLine *line, double x,
                   double y)
{
    int at = 0;
    size_t n = 0;
    for (const GSList *node = line->runs; node != NULL; node = node->next) {
        const PangoGlyphItem *run = node->data;
        for (int i = 0; i < run->glyphs->num_glyphs; at += run->glyphs->glyphs[i++].geometry.width) {
            const PangoGlyphInfo *info = &run->glyphs->glyphs[i];
            if (info->glyph == PANGO_GLYPH_EMPTY || run->item->analysis.font == NULL)
                continue;
            const long step = (long)floor((x + (double)(at + info->geometry.x_offset) / PANGO_SCALE) * phases() + 0.5);
            const int phase = (int)(((step % phases()) + phases()) % phases());
            const struct gm_glyph *glyph = find(canvas, run->item->analysis.font, info, phase);
            if (glyph == NULL || (glyph->shares != NULL && n == MOST_GLYPHS))
                return MOST_GLYPHS + 1;
            if (glyph->shares != NULL)
                placed[n++] =
                    (struct placed){glyph, (step - phase) / phases() + glyph->left,
                                    (long)floor(y + (double)info->geometry.y_offset / PANGO_SCALE + 0.5) + glyph->top};
        }
    }
    return n;
}

bool gm_canvas_write(struct gm_canvas *canvas, const struct gm_pixels *to, const PangoLayoutLine *line, double x,
                     double y, uint32_t color)
{
    struct placed placed[MOST_GLYPHS];
    /* Here and not in the midst of a line: the way that a line goes shows in the palette's order, so that it may depend
     * on nothing but the line. */
    if (canvas->glyph_count > GM_GLYPHS / 2)
        gm_canvas_forget_glyphs(canvas);
    const size_t n = list(placed, canvas, line, x, y), colors = canvas->palette.n;
    /* While a palette gets full it matters which edge is met first. */
    bool ok = n <= MOST_GLYPHS && (colors == GM_COLORS || colors <= GM_COLORS - MOST_EDGES);
    for (size_t i = 0; ok && i < n; i++)
        ok = i == 0 || !touch(&placed[i - 1], &placed[i]);
    for (size_t i = 0; ok && i < n && to != NULL; i++)
        put(canvas, to, &placed[i], color);
    return ok;
}
