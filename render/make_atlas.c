/* SPDX-License-Identifier: Apache-2.0
 *
 * make_atlas FILE.c: writes atlas.h's tables, as pango and cairo draw these letters. Part of the build.
 */
#include "analyze/base/utf8.h"
#include "render/atlas.h"
#include "render/fonts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 128, LEFT = 32, BASELINE = 96 /* of the surface that a letter is drawn on, in pixels */ };

/* The letters as UTF-8. */
static char texts[GM_LETTERS][5];

static void name_letters(void)
{
    static const uint32_t others[] = {GM_ATLAS_OTHERS};
    for (uint32_t i = 0; i < GM_LETTERS; i++)
        gm_utf8_encode((unsigned char *)texts[i],
                       i < GM_ASCII_LETTERS ? GM_ASCII_FIRST + i : others[i - GM_ASCII_LETTERS]);
}

static int width_of(PangoLayout *layout, const char *first, const char *second)
{
    char text[sizeof texts[0] * 2];
    int width;
    snprintf(text, sizeof text, "%.4s%.4s", first, second);
    pango_layout_set_text(layout, text, -1);
    pango_layout_get_size(layout, &width, NULL);
    return width;
}

/* Writes the shares of what of the surface is not empty, and enters where that is. */
static void write_shares(FILE *out, struct gm_letter *letter, cairo_surface_t *surface)
{
    const unsigned char *data = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    int x1 = SIDE, y1 = SIDE, x2 = 0, y2 = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            if (data[y * stride + x] != 0) {
                x1 = x < x1 ? x : x1;
                x2 = x + 1 > x2 ? x + 1 : x2;
                y1 = y < y1 ? y : y1;
                y2 = y + 1;
            }
    if (x2 == 0)
        return;
    letter->left = (int16_t)(x1 - LEFT);
    letter->top = (int16_t)(y1 - BASELINE);
    letter->width = (uint8_t)(x2 - x1);
    letter->height = (uint8_t)(y2 - y1);
    for (int y = y1; y < y2; y++)
        for (int x = x1; x < x2; x++)
            fprintf(out, "%d,%s", data[y * stride + x], x + 1 < x2 ? "" : "\n");
}

static void draw(FILE *out, struct gm_letter *letter, PangoLayout *layout)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, SIDE, SIDE);
    cairo_t *cr = cairo_create(surface);
    cairo_move_to(cr, LEFT, BASELINE);
    pango_cairo_show_layout_line(cr, pango_layout_get_line_readonly(layout, 0));
    cairo_surface_flush(surface);
    write_shares(out, letter, surface);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
}

static bool is_of_the_font(PangoLayout *layout)
{
    const PangoGlyphItem *run = pango_layout_get_line_readonly(layout, 0)->runs->data;
    PangoFontDescription *font = pango_font_describe(run->item->analysis.font);
    const bool is = strcmp(pango_font_description_get_family(font), GM_FAMILY) == 0;
    pango_font_description_free(font);
    return is;
}

/* The shares to `out`, all else to `table`. false: these letters are another font's. */
static bool write_style(FILE *out, FILE *table, PangoLayout *layout)
{
    static uint32_t shares;
    int advances[GM_LETTERS];
    fprintf(table, "{{");
    for (int i = 0; i < GM_LETTERS; i++) {
        struct gm_letter l = {.shares = shares};
        advances[i] = width_of(layout, texts[i], "");
        if (!is_of_the_font(layout))
            return false;
        draw(out, &l, layout);
        shares += (uint32_t)l.width * l.height;
        fprintf(table, "{%d,%d,%d,%d,%d,%u},\n", advances[i], l.left, l.top, l.width, l.height, l.shares);
    }
    fprintf(table, "}, {");
    for (int i = 0; i < GM_LETTERS; i++) {
        fprintf(table, "{");
        for (int k = 0; k < GM_LETTERS; k++)
            fprintf(table, "%d,", width_of(layout, texts[i], texts[k]) - advances[i] - advances[k]);
        fprintf(table, "},\n");
    }
    fprintf(table, "}},\n");
    return true;
}

static bool write_atlas(FILE *out, FILE *table, struct gm_typesetter *typesetter)
{
    fprintf(out, "#include \"render/atlas.h\"\nconst uint8_t gm_atlas_shares[] = {\n");
    for (int size = 0; size < GM_TEXT_SIZES; size++) {
        fprintf(table, "{");
        for (int weight = 0; weight < GM_WEIGHTS; weight++)
            if (!write_style(out, table,
                             gm_typesetter_layout(typesetter, "", (enum gm_text_size)size, (enum gm_weight)weight)))
                return false;
        fprintf(table, "},\n");
    }
    fprintf(out, "};\nconst struct gm_letters gm_atlas[GM_TEXT_SIZES][GM_WEIGHTS] = {\n");
    return true;
}

/* Ends at once: what libraries hold need not be freed. */
int main(int argc, char **argv)
{
    struct gm_typesetter *typesetter;
    struct gm_error err;
    char *rest = NULL;
    size_t length = 0;
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL, *table = open_memstream(&rest, &length);
    if (out == NULL || table == NULL) {
        perror(argc == 2 ? argv[1] : "usage: make_atlas FILE.c");
        _exit(1);
    }
    name_letters();
    if (gm_typesetter_new(&typesetter, &err) != GM_OK || !write_atlas(out, table, typesetter)) {
        fprintf(stderr, "make_atlas: the letters of charts are drawn while building, of " GM_FAMILY
                        ", which is not there: install it (on Debian and Ubuntu the package fonts-dejavu-core)\n");
        unlink(argv[1]);
        _exit(1);
    }
    fclose(table);
    fprintf(out, "%s};\n", rest);
    const int failed = ferror(out) | fclose(out);
    _exit(failed != 0);
}
