/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t gm_utf8_decode(const char *s, size_t n, uint32_t *code)
{
    const unsigned char *b = (const unsigned char *)s;
    if (b[0] < 0x80) {
        *code = b[0];
        return 1;
    }
    size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || n < length)
        return 0;
    uint32_t c = b[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (b[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *code = c;
    return length;
}

size_t gm_utf8_encode(unsigned char out[4], uint32_t code)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = 0xfffd;
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i > 1; i--, code >>= 6)
        out[i - 1] = (unsigned char)(0x80 | (code & 0x3f));
    out[0] = (unsigned char)(lead[n] | code);
    return n;
}

/* What cannot be seen: Default_Ignorable_Code_Point of Unicode 15.1 (DerivedCoreProperties.txt; all controls of the
 * direction are in it), blanks and separators other than U+0020, U+2800, and format controls that are not in it. */
static const struct {
    uint32_t first, last;
} invisible[] = {
    {0x00, 0x1f},     {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160},
    {0x1680, 0x1680}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},
    {0x2800, 0x2800}, {0x3000, 0x3000},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_visible(uint32_t c)
{
    size_t i = 0;
    if (c >= 0x20 && c < 0x7f)
        return true;
    while (i < sizeof invisible / sizeof *invisible && invisible[i].last < c)
        i++;
    return i == sizeof invisible / sizeof *invisible || c < invisible[i].first;
}

size_t gm_utf8_clean_line(char *out, size_t size, const char *in, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        char escape[12] = "\xef\xbf\xbd"; /* U+FFFD */
        const size_t length = gm_utf8_decode(in + i, n - i, &code);
        const bool keep = length > 0 && is_visible(code);
        if (length > 0 && !keep)
            snprintf(escape, sizeof escape,
                     code < 0x100     ? "\\x%02x"
                     : code < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                     (unsigned)code);
        const size_t count = keep ? length : strlen(escape);
        if (used + count + 1 > size)
            break;
        memcpy(out + used, keep ? in + i : escape, count);
        used += count;
        i += length > 0 ? length : 1;
    }
    out[used] = '\0';
    return used;
}
