/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/pickle_ops.h"

#include "analyze/base/ascii.h"
#include "analyze/base/utf8.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(unsigned char c)
{
    if (gm_is_digit((char)c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Digits to a number; *fits is false if it needs more than 64 bits. */
static bool parse_digits(const unsigned char *s, size_t n, uint64_t *value, bool *fits)
{
    *value = 0;
    *fits = true;
    for (size_t i = 0; i < n; i++) {
        if (!gm_is_digit((char)s[i]))
            return false;
        uint64_t digit = (uint64_t)(s[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            *fits = false;
        *value = *value * 10 + digit;
    }
    return n > 0;
}

bool gm_pickle_text_index(const unsigned char *s, size_t n, uint64_t *index)
{
    bool fits;
    return parse_digits(s, n, index, &fits) && fits;
}

bool gm_pickle_text_integer(const unsigned char *s, size_t n, bool is_int, struct gm_read_value *value)
{
    if (is_int && n == 2 && s[0] == '0' && (s[1] == '0' || s[1] == '1')) {
        *value =
            (struct gm_read_value){.ref = GM_REF(GM_KIND_CONSTANT, s[1] == '1' ? GM_CONSTANT_TRUE : GM_CONSTANT_FALSE)};
        return true;
    }
    if (!is_int && n > 0 && s[n - 1] == 'L')
        n--;
    bool is_negative = n > 0 && s[0] == '-';
    if (n > 0 && (s[0] == '-' || s[0] == '+')) {
        s++;
        n--;
    }
    uint64_t magnitude;
    bool fits;
    if (!parse_digits(s, n, &magnitude, &fits))
        return false;
    is_negative = is_negative && magnitude != 0;
    if (is_negative && magnitude > (uint64_t)INT64_MAX + 1)
        fits = false;
    enum gm_number type = !fits ? GM_NUMBER_TOO_LARGE : is_negative ? GM_NUMBER_NEGATIVE : GM_NUMBER_POSITIVE;
    *value =
        (struct gm_read_value){.bits = is_negative ? 0 - magnitude : magnitude, .ref = GM_REF(GM_KIND_NUMBER, type)};
    return true;
}

bool gm_pickle_text_real(const unsigned char *s, size_t n, double *value)
{
    char text[64];
    if (n == 0 || n >= sizeof text)
        return false;
    for (size_t i = 0; i < n; i++) { /* no blanks, no hexadecimal: what repr() writes */
        if (!gm_is_digit((char)s[i]) && strchr("+-.einfa", s[i]) == NULL)
            return false;
        text[i] = (char)s[i];
    }
    text[n] = '\0';
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    char *rest;
    *value = strtod_l(text, &rest, c);
    freelocale(c);
    return *rest == '\0';
}

static bool parse_hex(const unsigned char *s, size_t n, uint32_t *code)
{
    *code = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = hex_digit(s[i]);
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

bool gm_pickle_text_unicode(const unsigned char *s, size_t n, unsigned char *out, size_t *length)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t width = s[i] == '\\' && i + 1 < n ? (s[i + 1] == 'u' ? 4 : s[i + 1] == 'U' ? 8 : 0) : 0;
        uint32_t code = s[i];
        if (width == 0) {
            i++;
        } else {
            if (n - i - 2 < width || !parse_hex(s + i + 2, width, &code))
                return false;
            i += 2 + width;
            uint32_t low;
            if (code >= 0xd800 && code < 0xdc00 && n - i >= 6 && s[i] == '\\' && s[i + 1] == 'u' &&
                parse_hex(s + i + 2, 4, &low) && low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                i += 6;
            }
        }
        used += gm_utf8_encode(out + used, code);
    }
    *length = used;
    return true;
}

bool gm_pickle_text_string(const unsigned char *s, size_t n, unsigned char *out, size_t *length)
{
    if (n < 2 || (s[0] != '\'' && s[0] != '"') || s[n - 1] != s[0])
        return false;
    static const char from[] = "abtnvfr", to[] = "\a\b\t\n\v\f\r";
    size_t used = 0;
    for (size_t i = 1; i < n - 1; i++) {
        if (s[i] != '\\') {
            out[used++] = s[i];
            continue;
        }
        if (++i >= n - 1)
            return false;
        const char *known = strchr(from, s[i]);
        uint32_t code = 0;
        if (known != NULL && s[i] != '\0') {
            out[used++] = (unsigned char)to[known - from];
        } else if (s[i] == 'x') {
            if (n - 1 - i <= 2 || !parse_hex(s + i + 1, 2, &code))
                return false;
            out[used++] = (unsigned char)code;
            i += 2;
        } else if (s[i] >= '0' && s[i] <= '7') {
            for (int digits = 0; digits < 3 && i < n - 1 && s[i] >= '0' && s[i] <= '7'; digits++, i++)
                code = code * 8 + (uint32_t)(s[i] - '0');
            i--;
            out[used++] = (unsigned char)code;
        } else { /* a quote, a backslash, or an escape that Python leaves alone */
            if (s[i] != '\'' && s[i] != '"' && s[i] != '\\')
                out[used++] = '\\';
            out[used++] = s[i];
        }
    }
    *length = used;
    return true;
}
