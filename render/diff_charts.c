/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pictures of comparisons share.
 */
#include "render/diff_charts.h"

#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"

#define DOT " \xc2\xb7 "

uint32_t gm_run_color(size_t i)
{
    /* Paul Tol's "bright" scheme after the grey of BASE, its grey and cyan left out */
    static const uint32_t colors[GM_RUNS_DRAWN] = {0x59636e, 0x4477aa, 0xee6677, 0x228833,
                                                   0xccbb44, 0xaa3377, 0x332288, 0xdd7722};
    return colors[i % GM_RUNS_DRAWN];
}

uint32_t gm_change_color(int64_t delta)
{
    return delta > 0 ? GM_GREW : delta < 0 ? GM_SHRANK : GM_MUTED;
}

const char *gm_change_text(struct gm_display *display, uint64_t base, uint64_t after)
{
    if (base == GM_REPORT_NONE || after == GM_REPORT_NONE)
        return "n/a";
    const int64_t delta = gm_diff_delta(base, after);
    if (delta == 0)
        return "unchanged";
    const char *text = gm_delta_text(display, delta);
    if (base == 0 || gm_diff_size(delta) / 100 > base) /* a percentage that long tells nothing */
        return text;
    const char *percent = gm_share_text(display, gm_diff_size(delta), base);
    const char *sign = percent[0] == '<' ? "" : delta > 0 ? "+" : "-";
    return gm_display_printf(display, "%s (%s%s)", text, sign, percent);
}

const char *gm_run_label(struct gm_display *display, const struct gm_comparison *c, size_t i, double width,
                         enum gm_text_size size)
{
    const char *role = c->run_count > 2 && i > 0 ? "" : i == 0 ? "base: " : "new: ";
    return gm_shorten_end(display, gm_display_printf(display, "%s%s", role, gm_name(c->labels[i])), width, size,
                          GM_REGULAR);
}

struct gm_page gm_diff_page_begin(struct gm_display *display, const struct gm_comparison *c, const char *title)
{
    const double half = c->run_count == 2 ? GM_PAGE_INNER / 2 - 20 : GM_PAGE_INNER / 2;
    const char *base = gm_run_label(display, c, 0, half, GM_TEXT_BODY);
    const char *after = c->run_count == 2 ? gm_run_label(display, c, 1, half, GM_TEXT_BODY)
                                          : gm_display_printf(display, "%zu more runs", c->run_count - 1);
    return gm_page_title(display, title, gm_display_printf(display, "%s" DOT "%s", base, after));
}
