/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/json_number.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(const unsigned char *s, size_t n, size_t i)
{
    return i < n && s[i] >= '0' && s[i] <= '9';
}

static size_t skip_digits(const unsigned char *s, size_t n, size_t i)
{
    while (is_digit(s, n, i))
        i++;
    return i;
}

/* strtod in the C locale; the text was checked before. */
static enum gm_json_number_kind parse_real(const unsigned char *s, size_t length, double *real)
{
    char text[GM_JSON_NUMBER_MAX];
    memcpy(text, s, length);
    text[length] = '\0';
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return GM_JSON_NO_NUMBER;
    *real = strtod_l(text, NULL, c);
    freelocale(c);
    return GM_JSON_REAL;
}

/* The end of the fraction and the exponent at s[i]; *ok is false if one of them has no digits. */
static size_t skip_fraction(const unsigned char *s, size_t n, size_t i, bool *ok)
{
    *ok = true;
    if (i < n && s[i] == '.') {
        *ok = is_digit(s, n, ++i);
        i = skip_digits(s, n, i);
    }
    if (*ok && i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-'))
            i++;
        *ok = is_digit(s, n, i);
        i = skip_digits(s, n, i);
    }
    return i;
}

size_t gm_json_number_parse(const unsigned char *s, size_t n, struct gm_json_number *number)
{
    *number = (struct gm_json_number){.kind = GM_JSON_NO_NUMBER};
    n = n < GM_JSON_NUMBER_MAX ? n : GM_JSON_NUMBER_MAX;
    size_t i = n > 0 && s[0] == '-', first = i;
    number->is_negative = i > 0;
    bool fits = true;
    for (; is_digit(s, n, i); i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        fits = fits && number->magnitude <= (UINT64_MAX - digit) / 10;
        number->magnitude = number->magnitude * 10 + digit;
    }
    if (i == first)
        return i;
    if (s[first] == '0' && i > first + 1) { /* a number cannot begin with 0 and go on: the digit behind is too much */
        *number = (struct gm_json_number){.kind = GM_JSON_INTEGER, .is_negative = number->is_negative};
        return first + 1;
    }
    bool ok;
    size_t length = skip_fraction(s, n, i, &ok);
    if (length == GM_JSON_NUMBER_MAX)
        number->kind = GM_JSON_TOO_LONG;
    else if (ok && length == i && fits)
        number->kind = GM_JSON_INTEGER;
    else if (ok)
        number->kind = parse_real(s, length, &number->real);
    return length;
}
