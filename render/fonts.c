/* SPDX-License-Identifier: Apache-2.0
 *
 * Fonts. Reading the system's whole font configuration takes longer than drawing a chart, so the usual fonts come from
 * a configuration of our own that names just the folders where the preferred font is packaged; the system's is read
 * only for texts with characters which that font lacks, or where it is not installed.
 */
#include "render/paint.h"

#include "render/metric.h"

#include "analyze/base/beside.h"
#include "analyze/base/utf8.h"

#include <fontconfig/fontconfig.h>
#include <pango/pangofc-fontmap.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PREFERRED_FAMILY "DejaVu Sans"
#define FALLBACK_FAMILY "sans-serif"

struct gm_painter {
    pthread_mutex_t lock; /* guards `idle` and `system` */
    struct gm_canvas *idle;
    FcConfig *own;      /* our configuration, made the current one; NULL: the system's is */
    FcConfig *system;   /* the system's beside our own; NULL until needed */
    FcPattern *font;    /* the usual font: owns `covered` */
    FcCharSet *covered; /* its characters; NULL if the font does not say */
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
static void use_own(struct gm_painter *painter)
{
    FcConfig *config = FcConfigCreate();
    if (config == NULL)
        return;
    if (FcConfigParseAndLoadFromMemory(config, (const FcChar8 *)own_configuration, FcFalse) &&
        FcConfigBuildFonts(config) && add_own_fonts(config)) {
        FcPattern *font = match(config, PREFERRED_FAMILY);
        if (is_of_family(font, PREFERRED_FAMILY) && FcConfigSetCurrent(config)) {
            painter->own = config;
            painter->font = font;
            return;
        }
        if (font != NULL)
            FcPatternDestroy(font);
    }
    FcConfigDestroy(config);
}

static void typesetter_free(struct gm_typesetter *t)
{
    if (t->map == NULL)
        return;
    for (int size = 0; size < GM_TEXT_SIZES; size++)
        for (int weight = 0; weight < GM_WEIGHTS; weight++)
            g_object_unref(t->layouts[size][weight]);
    g_object_unref(t->context);
    g_object_unref(t->map);
}

void gm_painter_free(struct gm_painter *painter)
{
    if (painter == NULL)
        return;
    while (painter->idle != NULL) {
        struct gm_canvas *canvas = painter->idle;
        painter->idle = canvas->next;
        gm_canvas_forget_glyphs(canvas);
        typesetter_free(&canvas->usual);
        typesetter_free(&canvas->system);
        gm_png_scratch_free(&canvas->scratch);
        free(canvas->rows);
        free(canvas);
    }
    if (painter->font != NULL)
        FcPatternDestroy(painter->font);
    if (painter->system != NULL)
        FcConfigDestroy(painter->system);
    if (painter->own != NULL)
        FcConfigDestroy(painter->own);
    pthread_mutex_destroy(&painter->lock);
    free(painter);
}

struct gm_canvas *gm_painter_take(struct gm_painter *painter)
{
    pthread_mutex_lock(&painter->lock);
    struct gm_canvas *canvas = painter->idle;
    if (canvas != NULL)
        painter->idle = canvas->next;
    pthread_mutex_unlock(&painter->lock);
    return canvas != NULL ? canvas : calloc(1, sizeof *canvas);
}

void gm_painter_give_back(struct gm_painter *painter, struct gm_canvas *canvas)
{
    pthread_mutex_lock(&painter->lock);
    canvas->next = painter->idle;
    painter->idle = canvas;
    pthread_mutex_unlock(&painter->lock);
}

/* Hinting off and grey antialiasing: letters have the same shape and place whatever the machine's settings. */
static void typesetter_init(struct gm_typesetter *t, FcConfig *config, const char *family)
{
    t->map = pango_cairo_font_map_new();
    pango_cairo_font_map_set_resolution(PANGO_CAIRO_FONT_MAP(t->map), 72);
    if (config != NULL)
        pango_fc_font_map_set_config(PANGO_FC_FONT_MAP(t->map), config);
    t->context = pango_font_map_create_context(t->map);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(t->context, options);
    cairo_font_options_destroy(options);
    pango_context_set_language(t->context, pango_language_from_string("en"));
    pango_context_set_base_dir(t->context, PANGO_DIRECTION_LTR);
    pango_context_set_round_glyph_positions(t->context, FALSE); /* letters as far apart as the font says */
    for (int size = 0; size < GM_TEXT_SIZES; size++)
        for (int weight = 0; weight < GM_WEIGHTS; weight++) {
            PangoFontDescription *font = pango_font_description_new();
            pango_font_description_set_family_static(font, family);
            pango_font_description_set_absolute_size(font, gm_text_pixels((enum gm_text_size)size) * GM_DISPLAY_SCALE *
                                                               PANGO_SCALE);
            pango_font_description_set_weight(font, weight == GM_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
            PangoLayout *layout = pango_layout_new(t->context);
            pango_layout_set_font_description(layout, font);
            pango_layout_set_single_paragraph_mode(layout, TRUE);
            pango_layout_set_auto_dir(layout, FALSE);
            pango_font_description_free(font);
            t->layouts[size][weight] = layout;
        }
}

static bool is_covered(const struct gm_painter *painter, const char *text)
{
    if (painter->covered == NULL)
        return true;
    for (size_t i = 0, n = strlen(text); i < n;) {
        uint32_t code = 0;
        size_t length = gm_utf8_decode(text + i, n - i, &code);
        if (length > 1 && !FcCharSetHasChar(painter->covered, code))
            return false;
        i += length > 0 ? length : 1;
    }
    return true;
}

/* The system's configuration, read once; NULL if that fails (then the usual font has to do). fontconfig would complain
 * on its own where there is none. */
static FcConfig *system_config(struct gm_painter *painter)
{
    pthread_mutex_lock(&painter->lock);
    FcChar8 *file = painter->system == NULL ? FcConfigGetFilename(NULL, NULL) : NULL;
    if (file != NULL) {
        painter->system = FcInitLoadConfigAndFonts();
        FcStrFree(file);
    }
    FcConfig *config = painter->system;
    pthread_mutex_unlock(&painter->lock);
    return config;
}

PangoLayout *gm_canvas_layout(struct gm_painter *painter, struct gm_canvas *canvas, const struct gm_text_item *text)
{
    const char *family = painter->own != NULL ? PREFERRED_FAMILY : FALLBACK_FAMILY;
    if (painter->own != NULL && !is_covered(painter, text->text)) {
        FcConfig *config = canvas->system.map != NULL ? NULL : system_config(painter);
        if (config != NULL)
            typesetter_init(&canvas->system, config, family);
        if (canvas->system.map != NULL)
            return canvas->system.layouts[text->size][text->weight];
    }
    if (canvas->usual.map == NULL)
        typesetter_init(&canvas->usual, NULL, family);
    return canvas->usual.layouts[text->size][text->weight];
}

/* Draws every usual character once: a font's first letters cost a hundred times as much as the next ones, and whoever
 * makes a painter early (while a file is being read) has that behind him when there is something to draw. */
static void specimen(struct gm_painter *painter, struct gm_canvas *canvas)
{
    static const char usual[] = "ABCDEFGHIKLMNOPRSTUVWXZabcdefghijklmnopqrstuvwxyz0123456789.,:;/_-()<>%'\xc2\xb7 "
                                "\xe2\x80\xa6";
    static const struct {
        enum gm_text_size size;
        enum gm_weight weight;
        const char *text;
    } styles[] = {{GM_TEXT_TITLE, GM_BOLD, "CMSTabcdefgikmnoprstuvwyz"},
                  {GM_TEXT_HEADING, GM_BOLD, "ABTabcdefghiklmnorstuvwyz0123456789., /"},
                  {GM_TEXT_BODY, GM_REGULAR, usual},
                  {GM_TEXT_SMALL, GM_REGULAR, usual}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        const struct gm_text_item item = {.text = styles[i].text, .size = styles[i].size, .weight = styles[i].weight};
        PangoLayout *layout = gm_canvas_layout(painter, canvas, &item);
        pango_layout_set_text(layout, item.text, -1);
        const PangoLayoutLine *line = pango_layout_get_line_readonly(layout, 0);
        if (line != NULL)
            gm_canvas_write(canvas, NULL, line, 0, 0, 0);
    }
}

/* Canvases for as many threads as usually draw. If there is no memory, drawing will say so. */
static void warm_up(struct gm_painter *painter)
{
    struct gm_canvas *canvases[2];
    for (int i = 0; i < 2; i++)
        canvases[i] = gm_painter_take(painter);
    for (int i = 0; i < 2; i++)
        if (canvases[i] != NULL) {
            specimen(painter, canvases[i]);
            gm_painter_give_back(painter, canvases[i]);
        }
}

enum gm_status gm_painter_new(struct gm_painter **painter, struct gm_error *err)
{
    *painter = NULL;
    struct gm_painter *p = calloc(1, sizeof *p);
    if (p == NULL)
        return gm_no_memory(err);
    if (pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a mutex could not be made");
    }
    use_own(p);
    if (p->font == NULL)
        p->font = match(NULL, FALLBACK_FAMILY);
    if (p->font == NULL) {
        gm_painter_free(p);
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "no font for the charts: install one (on Debian and Ubuntu the package fonts-dejavu-core) or "
                       "ask for no charts");
    }
    if (FcPatternGetCharSet(p->font, FC_CHARSET, 0, &p->covered) != FcResultMatch)
        p->covered = NULL;
    warm_up(p);
    *painter = p;
    return GM_OK;
}
