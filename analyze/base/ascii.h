/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of characters, the same in every locale; bytes of UTF-8 beyond ASCII are in none.
 */
#ifndef GM_BASE_ASCII_H
#define GM_BASE_ASCII_H

#include <stdbool.h>

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

#endif
