/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds for every page; see page_checks.h.
 */
#include "tests/render/page_checks.h"

#include "render/metric.h"
#include "render/theme.h"
#include "tests/unit.h"

#include <math.h>
#include <string.h>

/* ---- looking at a display list ------------------------------------------------------------------------------- */

struct gm_box ink_box(const struct gm_text_item *t)
{
    double w = fmin(gm_text_width(t->text, t->size, t->weight), t->max_width);
    double shift = t->anchor == GM_ANCHOR_START ? 0 : t->anchor == GM_ANCHOR_MIDDLE ? 0.5 : 1;
    double size = gm_text_pixels(t->size);
    return (struct gm_box){t->x - shift * w, t->y - 0.55 * size, w, 1.1 * size};
}

bool do_overlap(struct gm_box a, struct gm_box b)
{
    const double eps = 0.01;
    return a.x + eps < b.x + b.w && b.x + eps < a.x + a.w && a.y + eps < b.y + b.h && b.y + eps < a.y + a.h;
}

const struct gm_text_item *find_text(const struct gm_display *d, const char *text)
{
    for (size_t i = 0; i < d->items.n; i++)
        if (d->items.v[i].kind == GM_ITEM_TEXT && strcmp(d->items.v[i].text.text, text) == 0)
            return &d->items.v[i].text;
    return NULL;
}

const struct gm_text_item *find_part(const struct gm_display *d, const char *part)
{
    for (size_t i = 0; i < d->items.n; i++)
        if (d->items.v[i].kind == GM_ITEM_TEXT && strstr(d->items.v[i].text.text, part) != NULL)
            return &d->items.v[i].text;
    return NULL;
}

const struct gm_rect_item *nth_rect(const struct gm_display *d, enum gm_rect_role role, size_t n)
{
    for (size_t i = 0; i < d->items.n; i++)
        if (d->items.v[i].kind == GM_ITEM_RECT && d->items.v[i].rect.role == role && n-- == 0)
            return &d->items.v[i].rect;
    return NULL;
}

size_t count_parts(const struct gm_display *d, const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < d->items.n; i++)
        n += d->items.v[i].kind == GM_ITEM_TEXT && strstr(d->items.v[i].text.text, part) != NULL;
    return n;
}

const struct gm_area_item *nth_area(const struct gm_display *d, size_t n)
{
    for (size_t i = 0; i < d->items.n; i++)
        if (d->items.v[i].kind == GM_ITEM_AREA && n-- == 0)
            return &d->items.v[i].area;
    return NULL;
}

static struct gm_report made;
static struct gm_display shown;

static void forget(void)
{
    gm_report_free(&made);
    gm_display_free(&shown);
    made = (struct gm_report){0};
    shown = (struct gm_display){0};
}

__attribute__((constructor)) static void forget_each(void)
{
    unit_end_with(forget);
}

struct gm_report *sampled(enum sample sample)
{
    gm_report_free(&made);
    sample_make(&made, sample);
    return &made;
}

const struct gm_display *laid_out(const struct gm_report *report, enum gm_chart chart)
{
    gm_display_free(&shown);
    shown = (struct gm_display){0};
    gm_chart_layout(&shown, report, chart);
    assert_false(shown.failed);
    return &shown;
}

/* ---- what holds for every page ---------------------------------------------------------------------------------- */

/* The box that a text may occupy, by its anchor and max_width (not by its estimated width). */
static struct gm_box text_box(const struct gm_text_item *text)
{
    double size = gm_text_pixels(text->size);
    double shift = text->anchor == GM_ANCHOR_START ? 0 : text->anchor == GM_ANCHOR_MIDDLE ? 0.5 : 1;
    return (struct gm_box){text->x - shift * text->max_width, text->y - 0.6 * size, text->max_width, 1.2 * size};
}

static void check_area_on_page(const struct gm_display *d, const struct gm_area_item *a)
{
    assert_true(a->x >= 40 && a->x + a->n <= (GM_DISPLAY_WIDTH - 20) * GM_DISPLAY_SCALE);
    for (size_t i = 0; i < a->n; i++)
        if (a->top[i] < a->bottom[i] && (a->top[i] < 40 || a->bottom[i] > d->height * GM_DISPLAY_SCALE))
            fail_msg("an area leaves the page in column %zu: %u to %u", i, a->top[i], a->bottom[i]);
}

static bool is_area_in(const struct gm_area_item *a, struct gm_box box)
{
    const double left = (double)a->x, first = floor(box.x * GM_DISPLAY_SCALE) - left;
    const double last = ceil((box.x + box.w) * GM_DISPLAY_SCALE) - left;
    for (size_t i = first > 0 ? (size_t)first : 0; i < a->n && (double)i <= last; i++) {
        const struct gm_box column = {(double)(a->x + i) / GM_DISPLAY_SCALE, (double)a->top[i] / GM_DISPLAY_SCALE,
                                      1.0 / GM_DISPLAY_SCALE,
                                      ((double)a->bottom[i] - (double)a->top[i]) / GM_DISPLAY_SCALE};
        if (column.h > 0 && do_overlap(box, column))
            return true;
    }
    return false;
}

static void check_on_page(const struct gm_display *d)
{
    assert_true(d->height > 100 && d->height < 4000);
    for (size_t i = 0; i < d->items.n; i++) {
        const struct gm_item *item = &d->items.v[i];
        if (item->kind == GM_ITEM_TEXT) {
            struct gm_box box = text_box(&item->text);
            if (!(box.w > 0 && box.x >= 0 && box.x + box.w <= GM_DISPLAY_WIDTH + 1e-6 && box.y >= 0 &&
                  box.y + box.h <= d->height))
                fail_msg("\"%.60s\" leaves the page: x %.1f w %.1f y %.1f", item->text.text, box.x, box.w, box.y);
        } else if (item->kind == GM_ITEM_RECT) {
            const struct gm_rect_item *r = &item->rect;
            if (!(r->w >= 0 && r->h > 0 && r->x >= 20 && r->x + r->w <= GM_DISPLAY_WIDTH - 20 && r->y >= 0 &&
                  r->y + r->h <= d->height))
                fail_msg("a rectangle leaves the page: x %.1f w %.1f y %.1f h %.1f", r->x, r->w, r->y, r->h);
        } else if (item->kind == GM_ITEM_AREA) {
            check_area_on_page(d, &item->area);
        } else {
            const struct gm_line_item *l = &item->line;
            assert_true(l->x1 >= 0 && l->x2 <= GM_DISPLAY_WIDTH && l->x1 <= l->x2 && l->y1 >= 0 && l->y1 <= l->y2 &&
                        l->y2 <= d->height);
        }
    }
}

static void check_texts_apart(const struct gm_display *d)
{
    for (size_t i = 0; i < d->items.n; i++) {
        if (d->items.v[i].kind != GM_ITEM_TEXT)
            continue;
        const struct gm_text_item *text = &d->items.v[i].text;
        struct gm_box box = ink_box(text);
        for (size_t k = i + 1; k < d->items.n; k++) {
            const struct gm_item *later = &d->items.v[k];
            if (later->kind == GM_ITEM_TEXT && do_overlap(box, ink_box(&later->text)))
                fail_msg("\"%.60s\" overlaps \"%.60s\"", text->text, later->text.text);
            if (later->kind == GM_ITEM_RECT &&
                do_overlap(box, (struct gm_box){later->rect.x, later->rect.y, later->rect.w, later->rect.h}))
                fail_msg("\"%.60s\" is painted over", text->text);
            if (later->kind == GM_ITEM_AREA && is_area_in(&later->area, box))
                fail_msg("\"%.60s\" is painted over by an area", text->text);
        }
    }
}

/* Every text can be read on what lies under its middle. */
static void check_contrast(const struct gm_display *d)
{
    for (size_t i = 0; i < d->items.n; i++) {
        if (d->items.v[i].kind != GM_ITEM_TEXT)
            continue;
        const struct gm_text_item *text = &d->items.v[i].text;
        struct gm_box box = ink_box(text);
        double x = box.x + box.w / 2, y = text->y;
        uint32_t ground = GM_PAPER;
        bool is_hatched = false;
        for (size_t k = 0; k < i; k++) {
            const struct gm_rect_item *r = &d->items.v[k].rect;
            if (d->items.v[k].kind == GM_ITEM_RECT && r->x <= x && x < r->x + r->w && r->y <= y && y < r->y + r->h) {
                ground = r->fill.color;
                is_hatched = r->fill.hatch != GM_HATCH_NONE;
            }
            const struct gm_area_item *a = &d->items.v[k].area;
            if (d->items.v[k].kind == GM_ITEM_AREA && is_area_in(a, (struct gm_box){x, y, 0.1, 0.1})) {
                ground = a->fill.color;
                is_hatched = a->fill.hatch != GM_HATCH_NONE;
            }
        }
        if (is_hatched || gm_contrast(text->color, ground) < 3.9)
            fail_msg("\"%.60s\" in %06x on %06x%s cannot be read", text->text, (unsigned)text->color, (unsigned)ground,
                     is_hatched ? " hatched" : "");
    }
}

static bool is_tick(const struct gm_item *item)
{
    return item->kind == GM_ITEM_TEXT && item->text.size == GM_TEXT_SMALL && item->text.color == GM_MUTED &&
           item->text.anchor == GM_ANCHOR_MIDDLE;
}

/* A number with its end missing says something else: no tick label may be ellipsised. */
static void check_ticks_whole(const struct gm_display *d)
{
    for (size_t i = 0; i < d->items.n; i++) {
        const struct gm_text_item *text = &d->items.v[i].text;
        if (is_tick(&d->items.v[i]) && gm_text_width(text->text, text->size, text->weight) > text->max_width)
            fail_msg("tick label \"%s\" is wider than its %.1f", text->text, text->max_width);
    }
}

void check_page(const struct gm_report *report, enum gm_chart chart)
{
    const struct gm_display *d = laid_out(report, chart);
    check_on_page(d);
    check_texts_apart(d);
    check_contrast(d);
    check_ticks_whole(d);
}
