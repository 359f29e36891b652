/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/utf8.h"

#include <stdbool.h>
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

static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0xfeff;
}

size_t gm_utf8_clean_line(char *out, size_t size, const char *in, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        uint32_t code = 0;
        size_t length = gm_utf8_decode(in + i, n - i, &code);
        bool keep = length > 0 && !is_unsafe(code);
        const char *from = keep ? in + i : "\xef\xbf\xbd";
        size_t count = keep ? length : 3;
        if (used + count + 1 > size)
            break;
        memcpy(out + used, from, count);
        used += count;
        i += length > 0 ? length : 1;
    }
    out[used] = '\0';
    return used;
}
