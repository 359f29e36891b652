/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of characters, the same in every locale; bytes of UTF-8 beyond ASCII are in none. And how a text begins and
 * ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* As isspace(). */
static inline bool gm_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One that stands for itself, in one column: a letter, a digit, a sign, a blank. */
static inline bool gm_is_printable(char c)
{
    return c >= 0x20 && c < 0x7f;
}

/* Of a text of `n` bytes: how many printable ones it begins with. */
static inline size_t gm_printable_run(const char *text, size_t n)
{
    const uint64_t ones = UINT64_MAX / 255;
    size_t run = 0;
    for (uint64_t eight; run + sizeof eight <= n; run += sizeof eight) {
        memcpy(&eight, text + run, sizeof eight);
        if (((eight | (eight - 0x20 * ones) | (eight + ones)) & 0x80 * ones) != 0)
            break;
    }
    while (run < n && gm_is_printable(text[run]))
        run++;
    return run;
}

/* Of a text of `n` bytes. */
static inline bool gm_is_text(const char *text, size_t n, const char *word)
{
    return (n == 0 || text[0] == word[0]) && n == strlen(word) && memcmp(text, word, n) == 0;
}

static inline bool gm_begins_with(const char *text, size_t n, const char *begin)
{
    const size_t m = strlen(begin);
    return n >= m && memcmp(text, begin, m) == 0;
}

static inline bool gm_ends_with(const char *text, size_t n, const char *end)
{
    const size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* Lists that end with NULL, without empty texts: the text begins with one of them, is one of them; one is in it. */
static inline bool gm_begins_with_any(const char *text, const char *const *begins)
{
    while (*begins != NULL && (text[0] != (*begins)[0] || strncmp(text, *begins, strlen(*begins)) != 0))
        begins++;
    return *begins != NULL;
}

static inline bool gm_is_one_of(const char *text, const char *const *words)
{
    while (*words != NULL && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

static inline bool gm_is_one_of_texts(const char *text, size_t n, const char *const *words)
{
    while (*words != NULL && !gm_is_text(text, n, *words))
        words++;
    return *words != NULL;
}

static inline bool gm_has_any(const char *text, const char *const *parts)
{
    while (*parts != NULL && strstr(text, *parts) == NULL)
        parts++;
    return *parts != NULL;
}
