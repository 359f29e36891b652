/* SPDX-License-Identifier: Apache-2.0
 *
 * What is marked on a timeline: the peaks and where memory ran out, labelled above it; steps, phases and other named
 * ranges as rows of bands.
 */
#include "render/timeline_plot.h"

#include "analyze/base/size.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double label_row = 17, band_row = 15, band_height = 13, gap = 9;
static const double right = GM_PLOT_X + GM_PLOT_WIDTH;

/* Rows of bands, from the top. */
enum band_kind { BAND_STEP, BAND_PHASE, BAND_OUTER, BAND_INNER, BAND_KINDS };

static const struct gm_steps *steps_of(const struct gm_traced *traced)
{
    return &traced->timeline->steps;
}

/* The row of a band; BAND_KINDS: it is not shown. */
static enum band_kind kind_of(const struct gm_band *band)
{
    if (band->is_step)
        return BAND_STEP;
    if (band->phase != GM_PHASE_OTHER)
        return BAND_PHASE;
    return band->depth == 0 ? BAND_OUTER : band->depth == 1 ? BAND_INNER : BAND_KINDS;
}

static size_t count_bands(const struct gm_steps *steps, enum band_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < steps->band_count; i++)
        n += kind_of(&steps->bands[i]) == kind;
    return n;
}

double gm_plot_marks_height(const struct gm_traced *traced)
{
    double height = 2 * label_row + 2 + gap;
    for (int kind = 0; kind < BAND_KINDS; kind++)
        if (count_bands(steps_of(traced), (enum band_kind)kind) > 0)
            height += band_row;
    return height;
}

/* ---- bands ------------------------------------------------------------------------------------------------------- */

static const uint32_t phases[GM_PHASE_COUNT] = {
    [GM_PHASE_FORWARD] = 0xcfe2f7, [GM_PHASE_BACKWARD] = 0xf9dcc4, [GM_PHASE_OPTIMIZER] = 0xd4ebd0,
    [GM_PHASE_PREFILL] = 0xe3d7f1, [GM_PHASE_DECODE] = 0xf6f0b8,
};

void gm_plot_phase_keys(struct gm_page *page, const bool is_drawn[GM_PHASE_COUNT])
{
    struct gm_piece keys[GM_PHASE_COUNT];
    size_t n = 0;
    for (int phase = 0; phase < GM_PHASE_COUNT; phase++) {
        if (!is_drawn[phase])
            continue;
        const char *name = gm_display_printf(page->display, "Phase: %s", gm_phase_name((enum gm_phase)phase));
        keys[n++] = (struct gm_piece){name, 0, gm_solid(phases[phase])};
    }
    page->y += gm_keys(page->display, page->y, keys, n);
}

static uint32_t color_of(const struct gm_band *band, size_t i)
{
    if (!band->is_step && band->phase != GM_PHASE_OTHER)
        return phases[band->phase];
    return i % 2 == 0 ? 0xdfe4ea : 0xf0f2f5;
}

/* As much of a band's name as says something: "ProfilerStep#12", or only "12" of a step. */
static const char *label_for(const struct gm_plot *plot, const struct gm_band *band, double width)
{
    const double pad = 8;
    const char *name = gm_name(band->name);
    if (!band->is_step && band->phase != GM_PHASE_OTHER)
        name = gm_phase_name(band->phase);
    if (gm_text_width(name, GM_TEXT_SMALL, GM_REGULAR) + pad <= width)
        return name;
    if (band->is_step) {
        size_t n = strlen(name), digits = 0;
        while (digits < n && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
            digits++;
        const char *number = name + n - digits;
        return digits > 0 && gm_text_width(number, GM_TEXT_SMALL, GM_REGULAR) + pad <= width ? number : NULL;
    }
    const double least = 44;
    return width < least ? NULL : gm_shorten_end(plot->display, name, width - pad, GM_TEXT_SMALL, GM_REGULAR);
}

static void draw_band(const struct gm_plot *plot, const struct gm_band *band, size_t i, double x1, double x2, double y)
{
    const double hairline = x2 - x1 > 2 ? 1.0 / GM_DISPLAY_SCALE : 0;
    gm_display_rect(plot->display, x1, y, x2 - x1 - hairline, band_height, gm_solid(color_of(band, i)), GM_RECT_PLAIN);
    const char *label = label_for(plot, band, x2 - x1);
    if (label == NULL)
        return;
    const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, GM_INK, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};
    gm_put(plot->display, (x1 + x2) / 2, y + band_height / 2, x2 - x1 - 4, style, label);
}

/* Bands that would be too thin to tell one from the next, as one. */
static void draw_crowd(const struct gm_plot *plot, size_t n, enum band_kind kind, double x1, double x2, double y)
{
    static const char *const names[BAND_KINDS] = {"steps", "phases", "ranges", "ranges"};
    const struct gm_style style = {GM_TEXT_SMALL, GM_REGULAR, GM_INK, GM_ANCHOR_MIDDLE, GM_ELLIPSIS_END};
    gm_display_rect(plot->display, x1, y, fmax(x2 - x1, 1), band_height, gm_solid(0xdfe4ea), GM_RECT_PLAIN);
    const char *label = gm_display_printf(plot->display, "%s %s", gm_digits_text(plot->display, n), names[kind]);
    if (gm_text_width(label, style.size, style.weight) + 8 <= x2 - x1)
        gm_put(plot->display, (x1 + x2) / 2, y + band_height / 2, x2 - x1 - 4, style, label);
}

/* Notes the phases whose colours it used. */
static void draw_band_row(const struct gm_plot *plot, enum band_kind kind, double y, bool is_drawn[GM_PHASE_COUNT])
{
    static const char *const captions[BAND_KINDS] = {"steps", "phases", "ranges", ""};
    const struct gm_steps *steps = steps_of(plot->traced);
    const double legible = 3; /* wide */
    const size_t n = count_bands(steps, kind);
    gm_put_between(plot->display, GM_PAGE_LEFT - 8, GM_PLOT_X - 7, y + band_height / 2, gm_style_end, captions[kind]);
    double first = right, last = GM_PLOT_X, sum = 0;
    for (size_t i = 0; i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (kind_of(band) != kind)
            continue;
        const double x1 = gm_plot_x_of(plot, band->first_event, band->from_us);
        const double x2 = gm_plot_x_of(plot, band->last_event, band->to_us);
        first = fmin(first, x1);
        last = fmax(last, x2);
        sum += fmax(x2 - x1, 0);
    }
    if (n > 1 && sum / (double)n < legible) {
        draw_crowd(plot, n, kind, first, last, y);
        return;
    }
    double drawn = GM_PLOT_X; /* up to here: bands never lie on each other */
    size_t k = 0;
    for (size_t i = 0; i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (kind_of(band) != kind)
            continue;
        const double x1 = fmax(gm_plot_x_of(plot, band->first_event, band->from_us), drawn);
        const double x2 = fmax(gm_plot_x_of(plot, band->last_event, band->to_us), x1 + 1);
        if (x2 <= right + 1 && x1 < right) {
            draw_band(plot, band, k++, x1, fmin(x2, right), y);
            is_drawn[band->phase] = is_drawn[band->phase] || kind == BAND_PHASE;
        }
        drawn = fmax(drawn, x2);
    }
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

static void put_diamond(struct gm_display *d, double x, double y, uint32_t color)
{
    enum { RADIUS = 9, WIDTH = 2 * RADIUS + 1 };
    const double px = round(x * GM_DISPLAY_SCALE), py = round(y * GM_DISPLAY_SCALE);
    for (int pass = 0; pass < 2; pass++) { /* a rim of paper, then the mark */
        const int radius = RADIUS - 2 * pass;
        uint16_t *top = gm_display_rows(d, WIDTH), *bottom = gm_display_rows(d, WIDTH);
        if (d->failed)
            return;
        for (int i = 0; i <= 2 * radius; i++) {
            const int half = radius - abs(i - radius);
            top[i] = (uint16_t)(py - half);
            bottom[i] = (uint16_t)(py + half + 1);
        }
        gm_display_area(d, &(struct gm_area_item){(size_t)px - (size_t)radius, (size_t)(2 * radius + 1), top, bottom,
                                                  gm_solid(pass == 0 ? GM_PAPER : color), false});
    }
}

/* A label in a row above the plot, beside a line that leads down to its mark; on the side with more room, and in front
 * of lines that were drawn before. */
static void put_label(const struct gm_plot *plot, double x, double y, uint32_t color, const char *text)
{
    struct gm_style style = {GM_TEXT_SMALL, GM_BOLD, color, GM_ANCHOR_START, GM_ELLIPSIS_END};
    const double width = gm_text_width(text, style.size, style.weight), pad = 6;
    bool is_left = x + pad + width > GM_PAGE_RIGHT;
    if (is_left && x - pad - width < GM_PAGE_LEFT && GM_PAGE_RIGHT - x > x - GM_PAGE_LEFT)
        is_left = false;
    const double from = is_left ? fmax(GM_PAGE_LEFT, x - pad - width) : x + pad;
    const double to = is_left ? x - pad : fmin(GM_PAGE_RIGHT, x + pad + width);
    style.anchor = is_left ? GM_ANCHOR_END : GM_ANCHOR_START;
    gm_display_rect(plot->display, from - 2, y - label_row / 2 + 1, to - from + 4, label_row - 2, gm_solid(GM_PAPER),
                    GM_RECT_PLAIN);
    gm_put_value(plot->display, from, to, y, style, text);
}

/* The peak of requested bytes: on the top of the stack, where its block bytes are. */
static void mark_peak(const struct gm_plot *plot, double y)
{
    const struct gm_peak *peak = plot->traced->peak;
    if (peak->requested == 0)
        return;
    const bool has_active = peak->levels.active != GM_REPORT_NONE && peak->levels.active > 0;
    const double x = gm_plot_x_of_event(plot, peak->event);
    const double mark = gm_plot_y_of(plot, has_active ? peak->levels.active : peak->requested);
    gm_display_line(plot->display, x - 0.5, y - 6, x - 0.5, plot->top, GM_INK, false);
    gm_display_line(plot->display, x - 0.5, plot->top, x - 0.5, fmax(mark, plot->top), GM_INK, true);
    put_diamond(plot->display, x, mark, GM_INK);
    put_label(plot, x, y, GM_INK,
              gm_display_printf(plot->display, "Peak: %s requested at %s", gm_size_text(plot->display, peak->requested),
                                gm_moment_text(plot->display, plot->traced, peak->event, peak->time_us)));
}

static void mark_reserved(const struct gm_plot *plot, double y)
{
    const struct gm_moment *peak = &plot->traced->timeline->peak_reserved;
    if (peak->levels.reserved == 0 || peak->levels.reserved == GM_REPORT_NONE)
        return;
    const double x = gm_plot_x_of_event(plot, peak->event), mark = gm_plot_y_of(plot, peak->levels.reserved);
    gm_display_line(plot->display, x - 0.5, y - 6, x - 0.5, fmax(mark, plot->top), GM_MUTED, false);
    put_label(plot, x, y, GM_MUTED,
              gm_display_printf(plot->display, "Most reserved: %s at %s",
                                gm_size_text(plot->display, peak->levels.reserved),
                                gm_moment_text(plot->display, plot->traced, peak->event, peak->time_us)));
}

/* Where memory ran out: lines through the whole plot with flags at their feet, as long as flags do not overlap. */
static void mark_ooms(const struct gm_plot *plot)
{
    const struct gm_device_timeline *timeline = plot->traced->timeline;
    const struct gm_style style = {GM_TEXT_SMALL, GM_BOLD, GM_PAPER, GM_ANCHOR_START, GM_ELLIPSIS_END};
    for (size_t i = 0; i < timeline->oom_count; i++) {
        const double x = gm_plot_x_of_event(plot, timeline->ooms[i].event);
        gm_display_line(plot->display, x - 0.5, plot->top, x - 0.5, plot->bottom, GM_OOM_LINE, false);
    }
    double taken = GM_PAGE_LEFT; /* up to here */
    for (size_t i = 0; i < timeline->oom_count; i++) {
        const double x = gm_plot_x_of_event(plot, timeline->ooms[i].event);
        const char *text = gm_display_printf(plot->display, "Out of memory: %s asked for",
                                             gm_size_text(plot->display, timeline->ooms[i].asked));
        const double width = gm_text_width(text, style.size, style.weight) + 8;
        const double from = x + width > GM_PAGE_RIGHT ? x - width : x;
        if (from < taken)
            continue;
        taken = from + width + 2;
        gm_display_rect(plot->display, from, plot->bottom - 17, width, 16, gm_solid(GM_OOM_LINE), GM_RECT_PLAIN);
        gm_put(plot->display, from + 4, plot->bottom - 9, width - 4, style, text);
    }
}

void gm_plot_marks(const struct gm_plot *plot, double y, bool is_drawn[GM_PHASE_COUNT])
{
    mark_peak(plot, y + label_row / 2);
    mark_reserved(plot, y + label_row + label_row / 2);
    mark_ooms(plot);
    y += 2 * label_row + 2;
    for (int kind = 0; kind < BAND_KINDS; kind++) {
        if (count_bands(steps_of(plot->traced), (enum band_kind)kind) == 0)
            continue;
        draw_band_row(plot, (enum band_kind)kind, y, is_drawn);
        y += band_row;
    }
}
