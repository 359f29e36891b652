/* SPDX-License-Identifier: Apache-2.0 */
#include "render/number_text.h"

#include "analyze/base/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

char *gm_percent_text(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t total)
{
    if (total == 0) {
        snprintf(out, GM_NUMBER_TEXT, "n/a");
        return out;
    }
    double tenths = 1000.0 * (double)part / (double)total;
    uint64_t n = tenths < 1e15 ? (uint64_t)(tenths + 0.5) : UINT64_C(1000000000000000);
    if (n == 0 && part > 0)
        snprintf(out, GM_NUMBER_TEXT, "<0.1%%");
    else if (n == 1000 && part < total) /* never say that nothing is left when something is */
        snprintf(out, GM_NUMBER_TEXT, "99.9%%");
    else
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%u%%", n / 10, (unsigned)(n % 10));
    return out;
}

static const char *const magnitudes[] = {"", " k", " M", " G", " T", " P", " E"};

/* Three significant digits or so and a unit; idle zeros of the fraction are dropped if `trim`. */
static void compact(char out[GM_NUMBER_TEXT], uint64_t count, int trim)
{
    unsigned unit = 0;
    uint64_t one = 1;
    while (unit < 6 && count / one >= 1000) {
        one *= 1000;
        unit++;
    }
    uint64_t whole = count / one;
    uint64_t hundredths = one == 1 ? 0 : (count % one) / (one / 100 > 0 ? one / 100 : 1);
    if (hundredths > 99)
        hundredths = 99;
    if (unit == 0 || (trim && hundredths == 0))
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 "%s", whole, magnitudes[unit]);
    else if (whole >= 10 || (trim && hundredths % 10 == 0))
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%u%s", whole, (unsigned)hundredths / 10, magnitudes[unit]);
    else
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%02u%s", whole, (unsigned)hundredths, magnitudes[unit]);
}

char *gm_count_text(char out[GM_NUMBER_TEXT], uint64_t count)
{
    if (count >= 10000000) {
        compact(out, count, 0);
        return out;
    }
    unsigned n = (unsigned)count;
    if (n >= 1000000)
        snprintf(out, GM_NUMBER_TEXT, "%u,%03u,%03u", n / 1000000, n / 1000 % 1000, n % 1000);
    else if (n >= 1000)
        snprintf(out, GM_NUMBER_TEXT, "%u,%03u", n / 1000, n % 1000);
    else
        snprintf(out, GM_NUMBER_TEXT, "%u", n);
    return out;
}

char *gm_tick_count_text(char out[GM_NUMBER_TEXT], uint64_t count)
{
    compact(out, count, 1);
    return out;
}

#define LASTING(name, format, type, value, size)                                                                       \
    const char *name(struct gm_display *display, type value)                                                           \
    {                                                                                                                  \
        char text[size];                                                                                               \
        return gm_display_printf(display, "%s", format(text, value));                                                  \
    }
LASTING(gm_size_text, gm_size_format, uint64_t, bytes, GM_SIZE_TEXT)
LASTING(gm_number_text, gm_count_text, uint64_t, count, GM_NUMBER_TEXT)
LASTING(gm_digits_text, gm_count_format, uint64_t, number, GM_NUMBER_TEXT)
LASTING(gm_time_text, gm_duration_format, uint64_t, us, GM_NUMBER_TEXT)
LASTING(gm_delta_text, gm_size_format_delta, int64_t, bytes, GM_SIZE_TEXT)

const char *gm_share_text(struct gm_display *display, uint64_t part, uint64_t total)
{
    char text[GM_NUMBER_TEXT];
    return gm_display_printf(display, "%s", gm_percent_text(text, part, total));
}

const char *gm_decimals_text(struct gm_display *display, double value)
{
    const uint64_t thousandths = (uint64_t)(fmin(value, 9e12) * 1000 + 0.5);
    unsigned rest = (unsigned)(thousandths % 1000);
    int digits = rest == 0 ? 0 : 3;
    const char *whole = gm_digits_text(display, thousandths / 1000);
    for (; digits > 0 && rest % 10 == 0; digits--)
        rest /= 10;
    return digits == 0 ? whole : gm_display_printf(display, "%s.%0*u", whole, digits, rest);
}
