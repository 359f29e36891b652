/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/analyze_options.h"

#include "analyze/timeline/trace_analyze.h"

#include <string.h>

/* Reads digits of base 10 or 16; their end, or NULL if there are none or the number is 2^63 or more. */
static const char *read_digits(const char *text, unsigned base, uint64_t *value)
{
    const char *at = text;
    for (*value = 0;; at++) {
        unsigned c = (unsigned char)*at, lower = c | 0x20;
        unsigned digit = c >= '0' && c <= '9'                         ? c - '0'
                         : base == 16 && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                                      : base;
        if (digit == base)
            return at == text ? NULL : at;
        if (*value > ((uint64_t)INT64_MAX - digit) / base)
            return NULL;
        *value = *value * base + digit;
    }
}

static bool read_number(const char *text, uint64_t *value)
{
    const char *end = read_digits(text, 10, value);
    return end != NULL && *end == '\0';
}

/* "3.5s", "120ms", "250us": microseconds; what is finer than one is cut off. */
static bool read_time(const char *text, uint64_t *value)
{
    static const struct {
        const char *unit;
        uint64_t us;
    } units[] = {{"s", 1000000}, {"ms", 1000}, {"us", 1}};
    uint64_t whole = 0, part = 0, scale = 1;
    const char *at = read_digits(text, 10, &whole);
    if (at != NULL && *at == '.') {
        const char *from = at + 1;
        for (at = from; *at >= '0' && *at <= '9'; at++)
            if (scale < 1000000) {
                scale *= 10;
                part = 10 * part + (uint64_t)(*at - '0');
            }
        if (at == from)
            return false;
    }
    for (size_t i = 0; at != NULL && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(at, units[i].unit) == 0 && whole < INT64_MAX / units[i].us) {
            *value = whole * units[i].us + part * units[i].us / scale;
            return true;
        }
    return false;
}

bool gm_value_place(const char *text, void *value)
{
    struct gm_place *place = value;
    bool is_step = strncmp(text, "step:", 5) == 0, is_event = strncmp(text, "event:", 6) == 0;
    uint64_t number;
    if (is_step || is_event ? read_number(text + (is_step ? 5 : 6), &number) : read_number(text, &number))
        *place = (struct gm_place){is_step ? GM_PLACE_STEP : GM_PLACE_EVENT, number};
    else if (!is_step && !is_event && read_time(text, &number))
        *place = (struct gm_place){GM_PLACE_TIME, number};
    else
        return false;
    return true;
}

void gm_place_words(struct gm_text *out)
{
    gm_text_add(out, "event:\nstep:\n");
}

bool gm_value_stream(const char *text, void *value)
{
    bool is_negative = text[0] == '-'; /* a file's handles are signed */
    const char *digits = text + is_negative;
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    uint64_t handle;
    const char *end = read_digits(is_hex ? digits + 2 : digits, is_hex ? 16 : 10, &handle);
    if (end == NULL || *end != '\0')
        return false;
    *(struct gm_wanted_stream *)value =
        (struct gm_wanted_stream){is_negative ? -(int64_t)handle : (int64_t)handle, true};
    return true;
}
