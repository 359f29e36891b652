/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of characters, the same in every locale; bytes of UTF-8 beyond ASCII are in none. And how a text ends.
 */
#ifndef GM_BASE_ASCII_H
#define GM_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool gm_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool gm_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool gm_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool gm_is_letter(char c)
{
    return gm_is_upper(c) || gm_is_lower(c);
}

/* Of a text of `n` bytes. */
static inline bool gm_ends_with(const char *text, size_t n, const char *end)
{
    const size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

#endif
