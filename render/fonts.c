/* SPDX-License-Identifier: Apache-2.0
 *
 * The typesetter. Reading the system's whole font configuration takes longer than drawing a chart, so the usual fonts
 * come from a configuration of our own that names just the folders where the preferred font is packaged; the system's
 * is read only for texts with characters which that font lacks, or where it is not installed.
 */
#include "render/fonts.h"
#include "render/metric.h"

#include "analyze/base/beside.h"
#include "analyze/base/utf8.h"

#include <fontconfig/fontconfig.h>
#include <math.h>
#include <pango/pangofc-fontmap.h>
#include <stdlib.h>
#include <string.h>

#define FALLBACK_FAMILY "sans-serif"

/* Layouts of one font map, for each size and weight. */
struct setting {
    PangoFontMap *map; /* NULL: not made yet */
    PangoContext *context;
    PangoLayout *layouts[GM_TEXT_SIZES][GM_WEIGHTS];
};

struct gm_typesetter {
    FcConfig *own;                     /* our configuration, made the current one; NULL: the system's is */
    FcConfig *system;                  /* the system's beside our own; NULL until needed */
    FcPattern *font;                   /* the usual font: owns `covered` */
    FcCharSet *covered;                /* its characters; NULL if the font does not say */
    struct setting usual, with_system; /* of the current configuration, and of the system's */
};

/* As seen from this module, where the programs bring their font; fontconfig skips folders that do not exist. The caches
 * are the system's. */
#define OWN_FONTS "../../share/gmanalyze/fonts"
static const char own_configuration[] = "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>"
                                        "<dir>/usr/share/fonts/truetype/dejavu</dir>"
                                        "<dir>/usr/share/fonts/dejavu-sans-fonts</dir>"
                                        "<dir>/usr/share/fonts/dejavu</dir>"
                                        "<dir>/usr/share/fonts/TTF</dir>"
                                        "<cachedir>/var/cache/fontconfig</cachedir>"
                                        "<cachedir prefix=\"xdg\">fontconfig</cachedir>"
                                        "</fontconfig>";

/* The font that `config` (NULL: the current one) gives for `family`; NULL if it has none at all. */
static FcPattern *match(FcConfig *config, const char *family)
{
    FcPattern *wanted = FcPatternCreate();
    if (wanted == NULL)
        return NULL;
    FcResult result = FcResultNoMatch;
    FcPattern *font = NULL;
    if (FcPatternAddString(wanted, FC_FAMILY, (const FcChar8 *)family) &&
        FcConfigSubstitute(config, wanted, FcMatchPattern)) {
        FcDefaultSubstitute(wanted);
        font = FcFontMatch(config, wanted, &result);
    }
    FcPatternDestroy(wanted);
    FcChar8 *file = NULL;
    if (font != NULL && FcPatternGetString(font, FC_FILE, 0, &file) != FcResultMatch) {
        FcPatternDestroy(font);
        font = NULL;
    }
    return font;
}

static bool is_of_family(const FcPattern *font, const char *family)
{
    FcChar8 *name = NULL;
    return font != NULL && FcPatternGetString(font, FC_FAMILY, 0, &name) == FcResultMatch &&
           strcmp((const char *)name, family) == 0;
}

static bool add_own_fonts(FcConfig *config)
{
    char folder[PATH_MAX];
    return !gm_find_beside(folder, OWN_FONTS) || FcConfigAppFontAddDir(config, (const FcChar8 *)folder);
}

/* Tries our own configuration and makes it fontconfig's current one, so that pango does not read the system's. */
static void use_own(struct gm_typesetter *t)
{
    FcConfig *config = FcConfigCreate();
    if (config == NULL)
        return;
    if (FcConfigParseAndLoadFromMemory(config, (const FcChar8 *)own_configuration, FcFalse) &&
        FcConfigBuildFonts(config) && add_own_fonts(config)) {
        FcPattern *font = match(config, GM_FAMILY);
        if (is_of_family(font, GM_FAMILY) && FcConfigSetCurrent(config)) {
            t->own = config;
            t->font = font;
            return;
        }
        if (font != NULL)
            FcPatternDestroy(font);
    }
    FcConfigDestroy(config);
}

static void setting_free(struct setting *s)
{
    if (s->map == NULL)
        return;
    for (int size = 0; size < GM_TEXT_SIZES; size++)
        for (int weight = 0; weight < GM_WEIGHTS; weight++)
            g_object_unref(s->layouts[size][weight]);
    g_object_unref(s->context);
    g_object_unref(s->map);
}

void gm_typesetter_free(struct gm_typesetter *t)
{
    if (t == NULL)
        return;
    setting_free(&t->usual);
    setting_free(&t->with_system);
    if (t->font != NULL)
        FcPatternDestroy(t->font);
    if (t->system != NULL)
        FcConfigDestroy(t->system);
    if (t->own != NULL)
        FcConfigDestroy(t->own);
    free(t);
}

/* Hinting off and grey antialiasing: letters have the same shape and place whatever the machine's settings. */
static void setting_init(struct setting *s, FcConfig *config, const char *family)
{
    s->map = pango_cairo_font_map_new();
    pango_cairo_font_map_set_resolution(PANGO_CAIRO_FONT_MAP(s->map), 72);
    if (config != NULL)
        pango_fc_font_map_set_config(PANGO_FC_FONT_MAP(s->map), config);
    s->context = pango_font_map_create_context(s->map);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(s->context, options);
    cairo_font_options_destroy(options);
    pango_context_set_language(s->context, pango_language_from_string("en"));
    pango_context_set_base_dir(s->context, PANGO_DIRECTION_LTR);
    pango_context_set_round_glyph_positions(s->context, FALSE); /* letters as far apart as the font says */
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_font_features_new("liga=0")); /* as the atlas does without */
    for (int size = 0; size < GM_TEXT_SIZES; size++)
        for (int weight = 0; weight < GM_WEIGHTS; weight++) {
            PangoFontDescription *font = pango_font_description_new();
            pango_font_description_set_family_static(font, family);
            pango_font_description_set_absolute_size(font, gm_text_pixels((enum gm_text_size)size) * GM_DISPLAY_SCALE *
                                                               PANGO_SCALE);
            pango_font_description_set_weight(font, weight == GM_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
            PangoLayout *layout = pango_layout_new(s->context);
            pango_layout_set_font_description(layout, font);
            pango_layout_set_single_paragraph_mode(layout, TRUE);
            pango_layout_set_auto_dir(layout, FALSE);
            pango_layout_set_attributes(layout, attributes);
            pango_font_description_free(font);
            s->layouts[size][weight] = layout;
        }
    pango_attr_list_unref(attributes);
}

static bool is_covered(const struct gm_typesetter *t, const char *text)
{
    if (t->covered == NULL)
        return true;
    for (size_t i = 0, n = strlen(text); i < n;) {
        uint32_t code = 0;
        size_t length = gm_utf8_decode(text + i, n - i, &code);
        if (length > 1 && !FcCharSetHasChar(t->covered, code))
            return false;
        i += length > 0 ? length : 1;
    }
    return true;
}

/* The system's configuration, read once; NULL if that fails (then the usual font has to do). fontconfig would complain
 * on its own where there is none. */
static FcConfig *system_config(struct gm_typesetter *t)
{
    FcChar8 *file = t->system == NULL ? FcConfigGetFilename(NULL, NULL) : NULL;
    if (file != NULL) {
        t->system = FcInitLoadConfigAndFonts();
        FcStrFree(file);
    }
    return t->system;
}

PangoLayout *gm_typesetter_layout(struct gm_typesetter *t, const char *text, enum gm_text_size size,
                                  enum gm_weight weight)
{
    const char *family = t->own != NULL ? GM_FAMILY : FALLBACK_FAMILY;
    if (t->own != NULL && !is_covered(t, text)) {
        FcConfig *config = t->with_system.map != NULL ? NULL : system_config(t);
        if (config != NULL)
            setting_init(&t->with_system, config, family);
        if (t->with_system.map != NULL)
            return t->with_system.layouts[size][weight];
    }
    if (t->usual.map == NULL)
        setting_init(&t->usual, NULL, family);
    return t->usual.layouts[size][weight];
}

enum gm_status gm_typesetter_new(struct gm_typesetter **typesetter, struct gm_error *err)
{
    struct gm_typesetter *t = *typesetter = calloc(1, sizeof *t);
    if (t == NULL)
        return gm_no_memory(err);
    use_own(t);
    if (t->font == NULL)
        t->font = match(NULL, FALLBACK_FAMILY);
    if (t->font == NULL) {
        gm_typesetter_free(t);
        *typesetter = NULL;
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "no font for the charts: install one (on Debian and Ubuntu the package fonts-dejavu-core) or "
                       "ask for no charts");
    }
    if (FcPatternGetCharSet(t->font, FC_CHARSET, 0, &t->covered) != FcResultMatch)
        t->covered = NULL;
    return GM_OK;
}

/* ---- into a picture ---------------------------------------------------------------------------------------------- */

/* A part of the picture, in pixels, as much of a line's ink at x, y as lies in it; a little more, for edges. */
struct box {
    int x1, x2, y1, y2;
};

static int within(double at, size_t end)
{
    return (int)fmax(0, fmin(at, (double)end));
}

static struct box box_of(const struct gm_pixels *to, const PangoRectangle *ink, const struct gm_origin *origin)
{
    const double left = origin->x + (double)ink->x / PANGO_SCALE, top = origin->baseline + (double)ink->y / PANGO_SCALE;
    return (struct box){within(left - 2, to->width), within(left + (double)ink->width / PANGO_SCALE + 3, to->width),
                        within(top - 2, to->height), within(top + (double)ink->height / PANGO_SCALE + 3, to->height)};
}

/* Letters at whole pixels, as the atlas has them; newer cairos would draw them at quarters. */
static void round_places(const PangoLayoutLine *line)
{
    int at = 0;
    for (const GSList *node = line->runs; node != NULL; node = node->next) {
        PangoGlyphString *glyphs = ((PangoGlyphItem *)node->data)->glyphs;
        for (int i = 0; i < glyphs->num_glyphs; i++) {
            PangoGlyphGeometry *geometry = &glyphs->glyphs[i].geometry;
            geometry->x_offset = PANGO_UNITS_ROUND(at + geometry->x_offset) - at;
            at += geometry->width;
        }
    }
}

static void put(const struct gm_pixels *to, struct gm_palette *palette, const struct box *box, cairo_surface_t *surface)
{
    const unsigned char *data = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface);
    for (int y = box->y1; y < box->y2; y++, data += stride) {
        uint8_t *row = gm_pixels_row(to, (size_t)y);
        for (int x = box->x1; x < box->x2; x++) {
            uint32_t argb;
            memcpy(&argb, data + (x - box->x1) * (int)sizeof argb, sizeof argb);
            if (argb != 0)
                row[x] = gm_palette_over(palette, row[x], argb);
        }
    }
}

/* The line with its beginning at x, y of the surface. */
static cairo_status_t draw(cairo_surface_t *surface, PangoLayoutLine *line, double x, double y, uint32_t color)
{
    cairo_t *cr = cairo_create(surface);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE); /* of the boxes that pango draws for unknown characters */
    cairo_set_source_rgb(cr, (double)(color >> 16 & 0xff) / 255, (double)(color >> 8 & 0xff) / 255,
                         (double)(color & 0xff) / 255);
    cairo_move_to(cr, x, y);
    pango_cairo_show_layout_line(cr, line);
    cairo_surface_flush(surface);
    const cairo_status_t status = cairo_status(cr);
    cairo_destroy(cr);
    return status;
}

/* The line to set; the typesetter's, until the next one. */
static PangoLayoutLine *line_of(struct gm_typesetter *t, const struct gm_text_item *text)
{
    static const PangoEllipsizeMode modes[] = {
        [GM_ELLIPSIS_END] = PANGO_ELLIPSIZE_END,
        [GM_ELLIPSIS_MIDDLE] = PANGO_ELLIPSIZE_MIDDLE,
        [GM_ELLIPSIS_START] = PANGO_ELLIPSIZE_START,
    };
    PangoLayout *layout = gm_typesetter_layout(t, text->text, text->size, text->weight);
    pango_layout_set_ellipsize(layout, modes[text->ellipsis]);
    pango_layout_set_width(layout, (int)(text->max_width * GM_DISPLAY_SCALE * PANGO_SCALE));
    pango_layout_set_text(layout, text->text, -1);
    return pango_layout_get_line_readonly(layout, 0);
}

enum gm_status gm_typeset(struct gm_typesetter *t, const struct gm_pixels *to, struct gm_palette *palette,
                          const struct gm_text_item *text, struct gm_error *err)
{
    PangoRectangle ink, extents;
    PangoLayoutLine *line = line_of(t, text);
    if (line == NULL)
        return GM_OK;
    pango_layout_line_get_extents(line, &ink, &extents);
    const struct gm_origin origin = gm_text_origin(text, (double)extents.width / PANGO_SCALE);
    const struct box box = box_of(to, &ink, &origin);
    round_places(line);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, box.x2 - box.x1, box.y2 - box.y1);
    const cairo_status_t status = draw(surface, line, origin.x - box.x1, origin.baseline - box.y1, text->color);
    if (status == CAIRO_STATUS_SUCCESS)
        put(to, palette, &box, surface);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        return GM_OK;
    return gm_fail(err, status == CAIRO_STATUS_NO_MEMORY ? GM_E_NOMEM : GM_E_INTERNAL, GM_NO_OFFSET,
                   "a chart could not be painted: %s", cairo_status_to_string(status));
}
