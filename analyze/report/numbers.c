/* SPDX-License-Identifier: Apache-2.0
 *
 * Percent by hand: printf would take the decimal point from the locale and round as the binary fraction happens to lie.
 */
#include "analyze/report/numbers.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "analyze/report/view.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *not_available(char out[GM_NUMBER_TEXT])
{
    return memcpy(out, "n/a", sizeof "n/a");
}

char *gm_count_format(char out[GM_NUMBER_TEXT], uint64_t count)
{
    if (count == GM_REPORT_NONE)
        return not_available(out);
    char digits[GM_NUMBER_TEXT];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

char *gm_bytes_format(char out[GM_NUMBER_TEXT], uint64_t bytes)
{
    return bytes == GM_REPORT_NONE ? not_available(out) : gm_size_format(out, bytes);
}

char *gm_percent_format(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t whole, unsigned decimals)
{
    if (whole == 0 || part == GM_REPORT_NONE || whole == GM_REPORT_NONE)
        return not_available(out);
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000};
    uint64_t unit = powers[decimals];
    while (whole >> 44 != 0) { /* keeps the product below from overflowing */
        whole >>= 1;
        part >>= 1;
    }
    uint64_t times = part / whole;
    if (times > UINT64_C(1000000000000)) /* only nonsense gets here; keep it printable */
        times = UINT64_C(1000000000000);
    uint64_t scaled = times * 100 * unit + (part % whole * 100 * unit + whole / 2) / whole;
    if (decimals == 0)
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64, scaled);
    else
        snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%0*" PRIu64, scaled / unit, (int)decimals, scaled % unit);
    return out;
}

char *gm_share_format(char out[GM_NUMBER_TEXT], uint64_t part, uint64_t whole)
{
    gm_percent_format(out, part, whole, 1);
    if (part > 0 && strcmp(out, "0.0") == 0)
        memcpy(out, "<0.1", sizeof "<0.1");
    if (part < whole && strcmp(out, "100.0") == 0) /* as charts: never that nothing is left where something is */
        memcpy(out, "99.9", sizeof "99.9");
    return out;
}

/* Puts the sign before text; both fit. */
static char *put_sign(char out[GM_NUMBER_TEXT], int64_t value, const char text[GM_NUMBER_TEXT])
{
    snprintf(out, GM_NUMBER_TEXT, "%s%.*s", value < 0 ? "-" : "", GM_NUMBER_TEXT - 2, text);
    return out;
}

char *gm_signed_count_format(char out[GM_NUMBER_TEXT], int64_t value)
{
    char text[GM_NUMBER_TEXT];
    return put_sign(out, value, gm_count_format(text, gm_magnitude(value)));
}

char *gm_signed_bytes_format(char out[GM_NUMBER_TEXT], int64_t value)
{
    char text[GM_NUMBER_TEXT];
    return put_sign(out, value, gm_bytes_format(text, gm_magnitude(value)));
}

const char *gm_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

char *gm_duration_format(char out[GM_NUMBER_TEXT], uint64_t us)
{
    return us == GM_REPORT_NONE ? not_available(out) : gm_microseconds_format(out, us);
}

char *gm_since_us_format(char out[GM_NUMBER_TEXT], uint64_t from, uint64_t us)
{
    if (us == GM_REPORT_NONE || from == GM_REPORT_NONE)
        return not_available(out);
    char text[GM_NUMBER_TEXT];
    gm_duration_format(text, us < from ? from - us : us - from);
    return put_sign(out, us < from ? -1 : 1, text);
}

char *gm_since_format(char out[GM_NUMBER_TEXT], const struct gm_view *view, uint64_t time_us)
{
    return gm_since_us_format(out, view->timeline->reconciliation.first_time_us, time_us);
}

char *gm_event_format(char out[GM_NUMBER_TEXT], uint64_t event)
{
    return event == GM_REPORT_NONE ? memcpy(out, "start", sizeof "start") : gm_count_format(out, event);
}

char *gm_real_format(char out[GM_NUMBER_TEXT], double value)
{
    if (!isfinite(value) || fabs(value) > 9e14) {
        memcpy(out, "n/a", sizeof "n/a");
        return out;
    }
    const int64_t thousandths = (int64_t)(fabs(value) * 1000 + 0.5);
    int n = snprintf(out, GM_NUMBER_TEXT, "%s%" PRId64 ".%03d", value < 0 && thousandths > 0 ? "-" : "",
                     thousandths / 1000, (int)(thousandths % 1000));
    while (n > 0 && out[n - 1] == '0')
        out[--n] = '\0';
    if (n > 0 && out[n - 1] == '.')
        out[--n] = '\0';
    return out;
}

char *gm_ratio_format(char out[GM_NUMBER_TEXT], double value)
{
    const uint64_t thousandths = (uint64_t)(fmin(fmax(value, 0), 1e15) * 1000 + 0.5);
    snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%03u", thousandths / 1000, (unsigned)(thousandths % 1000));
    return out;
}

char *gm_delta_bytes_format(char out[GM_NUMBER_TEXT], int64_t delta)
{
    static_assert((int)GM_NUMBER_TEXT >= (int)GM_SIZE_TEXT, "a size has room");
    return gm_size_format_delta(out, delta);
}

char *gm_tick_bytes_format(char out[GM_NUMBER_TEXT], uint64_t bytes)
{
    char size[GM_SIZE_TEXT];
    gm_size_format(size, bytes);
    char *unit = strchr(size, ' ');
    if (bytes == 0 || unit == NULL) {
        snprintf(out, GM_NUMBER_TEXT, "0");
        return out;
    }
    char *end = unit;
    if (memchr(size, '.', (size_t)(unit - size)) != NULL) {
        while (end[-1] == '0')
            end--;
        if (end[-1] == '.')
            end--;
    }
    snprintf(out, GM_NUMBER_TEXT, "%.*s%s", (int)(end - size), size, unit);
    return out;
}

struct gm_tick_unit gm_tick_unit(double us)
{
    static const struct gm_tick_unit units[] = {{1, "us"}, {1e3, "ms"}, {1e6, "s"}, {60e6, "min"}, {3600e6, "h"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && us > (units[i + 1].us > 1e6 ? 2 : 1) * units[i + 1].us)
        i++;
    return units[i];
}

double gm_tick_step(double end, unsigned most)
{
    static const double factors[] = {1, 2, 5};
    double ten = 1;
    while (end / (5 * ten) > most)
        ten *= 10;
    while (ten > 1e-3 && end / (ten / 10 * 5) <= most)
        ten /= 10;
    for (int i = 0; i < 3; i++)
        if (end / (factors[i] * ten) <= most)
            return factors[i] * ten;
    return 5 * ten;
}
