/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts' building blocks: numbers, axes, shortened texts, contrast.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/freed.h"
#include "analyze/base/size.h"
#include "render/axis.h"
#include "render/metric.h"
#include "render/number_text.h"
#include "render/theme.h"
#include "tests/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(percent)
{
    char out[GM_NUMBER_TEXT];
    assert_string_equal(gm_percent_text(out, 1, 3), "33.3%");
    assert_string_equal(gm_percent_text(out, 2, 3), "66.7%");
    assert_string_equal(gm_percent_text(out, 0, 5), "0.0%");
    assert_string_equal(gm_percent_text(out, 5, 5), "100.0%");
    assert_string_equal(gm_percent_text(out, 1, 1000000), "<0.1%");
    assert_string_equal(gm_percent_text(out, 999999, 1000000), "99.9%");
    assert_string_equal(gm_percent_text(out, 3, 2), "150.0%");
    assert_string_equal(gm_percent_text(out, 0, 0), "n/a");
    assert_string_equal(gm_percent_text(out, UINT64_MAX, UINT64_MAX), "100.0%");
    assert_true(strlen(gm_percent_text(out, UINT64_MAX, 1)) < GM_NUMBER_TEXT);
}

TEST(counts)
{
    char out[GM_NUMBER_TEXT];
    assert_string_equal(gm_count_text(out, 0), "0");
    assert_string_equal(gm_count_text(out, 999), "999");
    assert_string_equal(gm_count_text(out, 1000), "1,000");
    assert_string_equal(gm_count_text(out, 1002003), "1,002,003");
    assert_string_equal(gm_count_text(out, 9999999), "9,999,999");
    assert_string_equal(gm_count_text(out, 12345678), "12.3 M");
    assert_string_equal(gm_count_text(out, UINT64_C(1050000000)), "1.05 G");
    assert_string_equal(gm_count_text(out, UINT64_C(1) << 62), "4.61 E");
    assert_string_equal(gm_tick_count_text(out, 0), "0");
    assert_string_equal(gm_tick_count_text(out, 500), "500");
    assert_string_equal(gm_tick_count_text(out, 2000), "2 k");
    assert_string_equal(gm_tick_count_text(out, 1500000), "1.5 M");
}

TEST(ticks)
{
    char out[GM_NUMBER_TEXT];
    assert_string_equal(gm_tick_bytes_format(out, 0), "0");
    assert_string_equal(gm_tick_bytes_format(out, 512), "512 B");
    assert_string_equal(gm_tick_bytes_format(out, 100), "100 B");
    assert_string_equal(gm_tick_bytes_format(out, 2 * GM_GIB), "2 GiB");
    assert_string_equal(gm_tick_bytes_format(out, GM_GIB + GM_GIB / 2), "1.5 GiB");
    assert_string_equal(gm_tick_bytes_format(out, GM_GIB + GM_GIB / 4), "1.25 GiB");
    assert_string_equal(gm_tick_bytes_format(out, 200 * GM_MIB), "200 MiB");
}

TEST(sum_stops)
{
    assert_true(gm_sat_add(1, 2) == 3);
    assert_true(gm_sat_add(UINT64_MAX, 0) == UINT64_MAX);
    assert_true(gm_sat_add(UINT64_MAX - 1, 5) == UINT64_MAX);
}

static void check_axis(struct gm_chart_axis axis, uint64_t largest, unsigned most_steps)
{
    double top = axis.step * axis.steps;
    assert_true(axis.steps >= 1 && axis.steps <= most_steps);
    assert_true(top >= (double)largest);
    assert_true(top - axis.step < fmax((double)largest, 1)); /* no tick too many */
    if (axis.step > 1)
        assert_true(axis.steps * 2.5 > most_steps); /* and not too few */
}

TEST(axes)
{
    uint64_t value = 1;
    for (int i = 0; i < 2000; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
        uint64_t largest = value >> (i % 64);
        struct gm_chart_axis bytes = gm_axis_bytes(largest), counts = gm_axis_counts(largest);
        check_axis(bytes, largest, 6);
        int exponent;
        assert_true(frexp(bytes.step, &exponent) == 0.5); /* a power of two */
        check_axis(counts, largest, 4);
        double mantissa = counts.step;
        while (mantissa >= 9.99)
            mantissa /= 10;
        assert_true(fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 5) < 1e-6);
    }
    struct gm_chart_axis axis = gm_axis_bytes(11 * GM_GIB); /* 0, 2, ... 12 GiB */
    assert_true(axis.step == 2.0 * GM_GIB && axis.steps == 6);
    assert_true(fabs(gm_axis_span(&axis, 3 * GM_GIB, 480) - 120) < 1e-9);
    assert_true(gm_axis_span(&axis, 0, 480) == 0);
    assert_true(gm_axis_span(&axis, 1, 480) == 0.5);
    assert_true(gm_axis_span(&axis, UINT64_MAX, 480) == 480);
}

/* Whatever the numbers: a line for every tick; labels that are whole, apart from each other and at least two. */
static void check_drawn_axis(const struct gm_chart_axis *axis, double width)
{
    GM_FREED_BY(gm_display_free) struct gm_display d = {0};
    gm_axis_draw(&d, axis, 100, width, 10, 50);
    unsigned lines = 0, labels = 0;
    double end = 0;
    for (size_t i = 0; i < d.items.n; i++) {
        const struct gm_text_item *text = &d.items.v[i].text;
        if (d.items.v[i].kind != GM_ITEM_TEXT) {
            lines++;
            continue;
        }
        double w = gm_text_width(text->text, text->size, text->weight);
        assert_int_equal(text->anchor, GM_ANCHOR_MIDDLE);
        assert_true(w <= text->max_width);
        assert_true(labels++ > 0 ? text->x - w / 2 > end + 4 : strcmp(text->text, "0") == 0);
        end = text->x + w / 2;
        double tick = (text->x - 100) / (width / axis->steps); /* on a line */
        assert_true(fabs(tick - round(tick)) < 1e-6);
    }
    assert_true(!d.failed && lines == axis->steps + 1 && labels >= 2);
}

TEST(axis_labels)
{
    static const double widths[] = {264, 350, 400, 688};
    uint64_t value = 1;
    for (int i = 0; i < 2000; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
        uint64_t largest = value >> (i % 64);
        struct gm_chart_axis bytes = gm_axis_bytes(largest), counts = gm_axis_counts(largest);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            check_drawn_axis(&bytes, widths[w]);
            check_drawn_axis(&counts, widths[w]);
        }
    }
    struct gm_chart_axis axis = gm_axis_bytes(11 * GM_GIB); /* where there is room, every tick has its label */
    GM_FREED_BY(gm_display_free) struct gm_display d = {0};
    gm_axis_draw(&d, &axis, 100, 688, 10, 50);
    assert_int_equal(d.items.n, 7 + 7);
}

TEST(shorten)
{
    GM_FREED_BY(gm_display_free) struct gm_display d = {0};
    const char *site = "forward  a/very/long/path/to/the/model/attention.py:88";
    double full = gm_text_width(site, GM_TEXT_SMALL, GM_REGULAR);
    assert_ptr_equal(gm_shorten_site(&d, site, full, GM_TEXT_SMALL, GM_REGULAR), site);
    assert_string_equal(gm_shorten_site(&d, site, full - 1, GM_TEXT_SMALL, GM_REGULAR),
                        "forward  \xe2\x80\xa6/long/path/to/the/model/attention.py:88");
    assert_string_equal(gm_shorten_site(&d, site, 180, GM_TEXT_SMALL, GM_REGULAR),
                        "forward  \xe2\x80\xa6/attention.py:88");
    static const char *const sites[] = {"forward  a/very/long/path/to/the/model/attention.py:88",
                                        "no_path_at_all_but_a_very_very_long_name_indeed",
                                        "just/a/path/without/any/function/in/front/of/it.py:3",
                                        "f  averyveryverylongfilenamewithoutdirectories.py:12",
                                        "a_long_function_name_of_some_kind  x.py:1",
                                        "\xe6\xb3\xa8\xe6\xb3\xa8\xe6\xb3\xa8  \xe6\xb3\xa8/\xe6\xb3\xa8.py:1",
                                        "  ",
                                        ""};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        for (double width = 60; width < 400; width += 7) {
            const char *s = gm_shorten_site(&d, sites[i], width, GM_TEXT_SMALL, GM_REGULAR);
            assert_true(gm_text_width(s, GM_TEXT_SMALL, GM_REGULAR) <= width + 1e-9);
            const char *e = gm_shorten_end(&d, sites[i], width, GM_TEXT_BODY, GM_BOLD);
            assert_true(gm_text_width(e, GM_TEXT_BODY, GM_BOLD) <= width + 1e-9);
        }
    assert_string_equal(gm_shorten_end(&d, "abc defghijklmnopqrst", 60, GM_TEXT_SMALL, GM_REGULAR) +
                            strlen(gm_shorten_end(&d, "abc defghijklmnopqrst", 60, GM_TEXT_SMALL, GM_REGULAR)) - 3,
                        "\xe2\x80\xa6");
    assert_false(d.failed);
}

/* A file may hold names of any length: nothing may take time that grows faster than they do. */
TEST(giant_names)
{
    enum { N = 10 << 20 };
    GM_FREED char *name = malloc(N + 1);
    assert_non_null(name);
    GM_FREED_BY(gm_display_free) struct gm_display d = {0};
    static const char *const fillers[] = {"/", " ", "W", "\xe6\xb3\xa8"};
    for (size_t i = 0; i < 4; i++) {
        size_t step = strlen(fillers[i]), n = 0;
        for (; n + step <= N; n += step)
            memcpy(name + n, fillers[i], step);
        name[n] = '\0';
        const char *s = gm_shorten_site(&d, name, 300, GM_TEXT_SMALL, GM_REGULAR);
        assert_true(gm_text_width(s, GM_TEXT_SMALL, GM_REGULAR) <= 300);
        const struct gm_text_item item = {.text = name, .max_width = 300, .size = GM_TEXT_SMALL};
        gm_display_text(&d, &item);
        const char *kept = d.items.v[i].text.text;
        size_t length = strlen(kept);
        assert_true(length > 900 && length < 1100);
        assert_memory_equal(kept, name, (length - 3) / step * step);
        assert_int_equal((length - 3) % step, 0); /* no half characters */
        assert_string_equal(kept + length - 3, "\xe2\x80\xa6");
    }
    assert_false(d.failed);
}

TEST(contrast)
{
    assert_true(fabs(gm_contrast(0x000000, 0xffffff) - 21) < 1e-6);
    assert_true(fabs(gm_contrast(0x777777, 0xffffff) - 4.48) < 0.01); /* WCAG's well-known example */
    assert_int_equal(gm_text_color_on(0x103060), GM_PAPER);
    assert_int_equal(gm_text_color_on(0xffee88), GM_INK);
    assert_true(gm_contrast(GM_MUTED, GM_PAPER) > 4.5 && gm_contrast(GM_ALARM, GM_PAPER) > 4.5);
}
