/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/closest.h"

#include "analyze/base/ascii.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, MOST = 3 };

static char folded(char c)
{
    return gm_is_upper(c) ? (char)(c - 'A' + 'a') : c == '_' || c == ' ' ? '-' : c;
}

static uint8_t least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;
    return (uint8_t)(ab < c ? ab : c);
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    uint8_t rows[3][LONGEST + 1]; /* the last two, and this one */
    for (size_t k = 0; k <= m; k++)
        rows[0][k] = (uint8_t)k;
    for (size_t i = 1; i <= n; i++) {
        uint8_t *now = rows[i % 3];
        const uint8_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = (uint8_t)i;
        for (size_t k = 1; k <= m; k++) {
            const bool is_same = folded(a[i - 1]) == folded(b[k - 1]);
            now[k] = least(last[k] + 1U, now[k - 1] + 1U, last[k - 1] + (is_same ? 0U : 1U));
            if (i > 1 && k > 1 && folded(a[i - 1]) == folded(b[k - 2]) && folded(a[i - 2]) == folded(b[k - 1]))
                now[k] = least(now[k], before[k - 2] + 1U, UINT8_MAX);
        }
    }
    return rows[n % 3][m];
}

static bool begins_with(const char *name, const char *word, size_t length)
{
    size_t i = 0;
    while (i < length && name[i] != '\0' && folded(name[i]) == folded(word[i]))
        i++;
    return i == length;
}

struct gm_closest gm_closest_to(const char *word, size_t length)
{
    const size_t most = (length + 1) / 3;
    return (struct gm_closest){.word = word, .length = length, .distance = most < MOST ? most : MOST};
}

void gm_closest_offer(struct gm_closest *closest, const char *name)
{
    const size_t n = closest->length, m = strlen(name);
    if (n < 2 || n > LONGEST || m > LONGEST)
        return;
    size_t found = distance(closest->word, n, name, m);
    const bool is_beginning = begins_with(name, closest->word, n);
    if (found > 1 && is_beginning)
        found = 1;
    if (found > closest->distance ||
        (found == closest->distance && closest->name != NULL && is_beginning <= closest->is_beginning))
        return;
    closest->name = name;
    closest->distance = found;
    closest->is_beginning = is_beginning;
}

struct gm_closest_text gm_closest_hint(const struct gm_closest *closest, const char *before)
{
    struct gm_closest_text hint = {""};
    if (closest->name != NULL)
        snprintf(hint.text, sizeof hint.text, "; did you mean '%s%s'?", before, closest->name);
    return hint;
}
