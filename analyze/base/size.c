/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const unit_names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

char *gm_size_format(char out[GM_SIZE_TEXT], uint64_t bytes)
{
    unsigned unit = 0;
    while (unit < 6 && bytes >> (10 * (unit + 1)) != 0)
        unit++;
    if (unit == 0) {
        snprintf(out, GM_SIZE_TEXT, "%u B", (unsigned)bytes);
        return out;
    }
    /* hundredths of the unit, rounded half up; long double holds 64 bits exactly on x86 but nowhere else: split */
    uint64_t whole = bytes >> (10 * unit);
    uint64_t rest = bytes & ((UINT64_C(1) << (10 * unit)) - 1);
    unsigned shift = 10 * unit > 50 ? 10 * unit - 50 : 0; /* keeps rest * 100 below 2^64 */
    uint64_t part = rest >> shift;
    uint64_t one = UINT64_C(1) << (10 * unit - shift);
    uint64_t digits = whole >= 100 ? 10 : 100;
    uint64_t scaled = whole * digits + (part * digits + one / 2) / one;
    if (scaled >= 1024 * digits && unit < 6) { /* 1023.96 would show as 1024.0 */
        snprintf(out, GM_SIZE_TEXT, "1.00 %s", unit_names[unit + 1]);
        return out;
    }
    if (digits == 10)
        snprintf(out, GM_SIZE_TEXT, "%u.%u %s", (unsigned)(scaled / 10), (unsigned)(scaled % 10), unit_names[unit]);
    else
        snprintf(out, GM_SIZE_TEXT, "%u.%02u %s", (unsigned)(scaled / 100), (unsigned)(scaled % 100), unit_names[unit]);
    return out;
}

char *gm_size_format_delta(char out[GM_SIZE_TEXT], int64_t bytes)
{
    if (bytes == 0)
        return gm_size_format(out, 0);
    char plain[GM_SIZE_TEXT];
    gm_size_format(plain, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    snprintf(out, GM_SIZE_TEXT, "%c%.*s", bytes < 0 ? '-' : '+', GM_SIZE_TEXT - 2, plain);
    return out;
}

char *gm_size_format_change(char out[GM_SIZE_CHANGE_TEXT], uint64_t from, uint64_t to)
{
    char before[GM_SIZE_TEXT], after[GM_SIZE_TEXT];
    char *unit = strchr(gm_size_format(before, from), ' ');
    const char *other = strchr(gm_size_format(after, to), ' ');
    if (unit != NULL && other != NULL && strcmp(unit, other) == 0)
        *unit = '\0';
    snprintf(out, GM_SIZE_CHANGE_TEXT, "%s -> %s", before, after);
    return out;
}

__extension__ typedef unsigned __int128 gm_u128;

static bool parse_unit(const char *s, unsigned *shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"byte", 0}, {"bytes", 0}, {"", 0},   {"b", 0},   {"k", 10},   {"kb", 10}, {"kib", 10}, {"m", 20},
                 {"mb", 20},  {"mib", 20},  {"g", 30}, {"gb", 30}, {"gib", 30}, {"t", 40},  {"tb", 40},  {"tib", 40}};
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(s, units[i].name) == 0) {
            *shift = units[i].shift;
            return true;
        }
    return false;
}

bool gm_size_parse(const char *text, uint64_t *bytes)
{
    const char *s = text;
    while (isspace((unsigned char)*s))
        s++;
    uint64_t whole = 0, fraction = 0, scale = 1;
    bool any = false;
    for (; isdigit((unsigned char)*s); s++, any = true) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (whole > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        whole = whole * 10 + digit;
    }
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++, any = true)
            if (scale < UINT64_C(1000000000000000000)) { /* 18 digits: far below a byte of any unit */
                fraction = fraction * 10 + (uint64_t)(*s - '0');
                scale *= 10;
            }
    if (!any)
        return false;
    while (isspace((unsigned char)*s))
        s++;
    char unit[8];
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        n--;
    if (n >= sizeof unit)
        return false;
    memcpy(unit, s, n);
    unit[n] = '\0';
    unsigned shift = 0;
    if (!parse_unit(unit, &shift) || whole > ((uint64_t)INT64_MAX >> shift))
        return false;
    uint64_t total = (whole << shift) + (uint64_t)(((gm_u128)fraction << shift) / scale);
    if (total > INT64_MAX)
        return false;
    *bytes = total;
    return true;
}

char *gm_microseconds_format(char out[GM_SIZE_TEXT], uint64_t us)
{
    const uint64_t s = us / 1000000;
    if (us < 1000)
        snprintf(out, GM_SIZE_TEXT, "%" PRIu64 " us", us);
    else if (s == 0)
        snprintf(out, GM_SIZE_TEXT, "%" PRIu64 ".%03" PRIu64 " ms", us / 1000, us % 1000);
    else if (s < 60)
        snprintf(out, GM_SIZE_TEXT, "%" PRIu64 ".%03" PRIu64 " s", s, us / 1000 % 1000);
    else if (s < 3600)
        snprintf(out, GM_SIZE_TEXT, "%u min %u s", (unsigned char)(s / 60), (unsigned char)(s % 60));
    else
        snprintf(out, GM_SIZE_TEXT, "%" PRIu64 " h %u min", s / 3600, (unsigned char)(s / 60 % 60));
    return out;
}
