/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/base64.h"

void gm_base64_add(struct gm_text *out, const void *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = data;
    char block[4096];
    size_t n = 0;
    for (size_t i = 0; i < length; i += 3) {
        const size_t have = length - i < 3 ? length - i : 3;
        const uint32_t word =
            (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (have > 2 ? p[i + 2] : 0);
        block[n++] = digits[word >> 18];
        block[n++] = digits[word >> 12 & 63];
        block[n++] = have > 1 ? digits[word >> 6 & 63] : '=';
        block[n++] = have > 2 ? digits[word & 63] : '=';
        if (n == sizeof block || i + 3 >= length) {
            gm_text_add_bytes(out, block, n);
            n = 0;
        }
    }
}
