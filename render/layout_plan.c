/* SPDX-License-Identifier: Apache-2.0
 *
 * plan: one bar below the other, each as much shorter as its fix saves, and two lines: what the card has, and what of
 * it the plan may use.
 */
#include "render/charts.h"

#include <string.h>

static const double name_width = 276, bar_x = GM_PAGE_LEFT + 288, pitch = 48, bar_height = 26, value_width = 176;

struct stairs {
    struct gm_display *d;
    const struct gm_card_plan *plan;
    struct gm_chart_axis axis;
    double width;
};

static double x_of(const struct stairs *s, uint64_t bytes)
{
    return bar_x + gm_axis_span(&s->axis, bytes, s->width);
}

static void draw_piece(const struct stairs *s, uint64_t from, uint64_t to, double middle, struct gm_fill fill)
{
    if (to > from)
        gm_display_rect(s->d, x_of(s, from), middle - bar_height / 2, x_of(s, to) - x_of(s, from), bar_height, fill,
                        GM_RECT_PLAIN);
}

/* What is reserved, what of it is too much, and what the fix of this step has taken away. */
static void draw_step(const struct stairs *s, size_t i, double middle)
{
    const struct gm_plan_step *step = &s->plan->steps[i];
    const uint64_t before = i > 0 ? s->plan->steps[i - 1].peak : step->peak, capacity = s->plan->capacity;
    const uint64_t inside = step->peak < capacity ? step->peak : capacity;
    const struct gm_fill saved = {GM_TRACK, gm_paler(GM_MUTED, 0.5), GM_HATCH_DIAGONAL};
    gm_put(s->d, GM_PAGE_LEFT, step->price == NULL ? middle : middle - 8, name_width, gm_style_label, step->name);
    if (step->price != NULL)
        gm_put(s->d, GM_PAGE_LEFT, middle + 9, name_width, gm_style_note,
               gm_display_printf(s->d, "price: %s", step->price));
    draw_piece(s, 0, inside, middle, gm_use_fill(GM_USE_ALLOCATED));
    draw_piece(s, inside, step->peak, middle, gm_solid(GM_ALARM));
    draw_piece(s, step->peak, before, middle, saved);
    gm_put(s->d, GM_PAGE_RIGHT - value_width + 8, i > 0 ? middle - 8 : middle, value_width - 8, gm_style_label,
           gm_size_text(s->d, step->peak));
    if (i > 0)
        gm_put(s->d, GM_PAGE_RIGHT - value_width + 8, middle + 9, value_width - 8, gm_style_note,
               step->peak < before ? gm_display_printf(s->d, "%s less", gm_size_text(s->d, before - step->peak))
                                   : "nothing less by itself");
}

/* The limits, named above the bars on the side where there is more room. */
static void draw_limits(const struct stairs *s, double top, double bottom)
{
    const double capacity = x_of(s, s->plan->capacity), usable = x_of(s, s->plan->usable);
    struct gm_style style = gm_style_label;
    const bool is_left = capacity > bar_x + s->width / 2;
    style.anchor = is_left ? GM_ANCHOR_END : GM_ANCHOR_START;
    gm_display_line(s->d, usable, top, usable, bottom, GM_MUTED, true);
    gm_display_line(s->d, capacity, top - 6, capacity, bottom, GM_INK, false);
    const double x = is_left ? capacity - 6 : (usable > capacity ? usable : capacity) + 6;
    gm_put(s->d, x, top - 14, is_left ? x - bar_x + 200 : GM_PAGE_RIGHT - x, style,
           gm_display_printf(s->d, "may be used: %s of %s", gm_size_text(s->d, s->plan->capacity),
                             gm_size_text(s->d, s->plan->usable)));
}

void gm_layout_plan(struct gm_display *display, const struct gm_report *report)
{
    const struct gm_card_plan *plan = report->plan;
    struct gm_page page = gm_page_title(
        display, plan == NULL ? "Plan for a card" : gm_display_printf(display, "Plan for %s", plan->title),
        report->snapshot.path);
    if (plan == NULL || plan->step_count == 0) {
        gm_page_empty(&page, plan == NULL ? "The snapshot has no plan for a card: none was named" : plan->verdict);
        gm_page_end(&page);
        return;
    }
    uint64_t most = plan->usable;
    for (size_t i = 0; i < plan->step_count; i++)
        most = plan->steps[i].peak > most ? plan->steps[i].peak : most;
    const struct stairs s = {display, plan, gm_axis_bytes(most), GM_PAGE_RIGHT - value_width - bar_x};
    gm_page_section(&page, "Reserved at the peak, fix after fix", NULL);
    page.y += 34;
    const double bottom = page.y + pitch * (double)plan->step_count;
    gm_axis_draw(display, &s.axis, bar_x, s.width, page.y, bottom);
    for (size_t i = 0; i < plan->step_count; i++)
        draw_step(&s, i, page.y + pitch * ((double)i + 0.5));
    draw_limits(&s, page.y, bottom);
    page.y = bottom + GM_AXIS_HEIGHT + 12;
    const struct gm_piece keys[] = {
        {"reserved", 0, gm_use_fill(GM_USE_ALLOCATED)},
        {"more than may be used", 0, gm_solid(GM_ALARM)},
        {"saved by the fix", 0, {GM_TRACK, gm_paler(GM_MUTED, 0.5), GM_HATCH_DIAGONAL}},
    };
    page.y += gm_keys(display, page.y, keys, sizeof keys / sizeof *keys);
    for (const char *at = plan->verdict; *at != '\0'; at += strspn(at, "; ")) { /* one line is too short for all */
        const size_t length = strcspn(at, ";");
        gm_page_note(&page, gm_display_printf(display, "%.*s", (int)length, at));
        at += length;
    }
    gm_page_end(&page);
}
