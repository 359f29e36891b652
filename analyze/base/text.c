/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/text.h"

#include "analyze/base/arena.h"
#include "analyze/base/utf8.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct gm_text *t, size_t extra)
{
    if (t->failed)
        return false;
    if (extra >= SIZE_MAX / 4 - t->length) {
        t->failed = true;
        return false;
    }
    size_t need = t->length + extra + 1;
    if (need > t->capacity) {
        size_t capacity = t->capacity * 2 > need ? t->capacity * 2 : need < 256 ? 256 : need;
        char *data = realloc(t->data, capacity);
        if (data == NULL) {
            t->failed = true;
            return false;
        }
        t->data = data;
        t->capacity = capacity;
    }
    return true;
}

void gm_text_add_bytes(struct gm_text *t, const void *s, size_t n)
{
    if (!reserve(t, n))
        return;
    if (n > 0)
        memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void gm_text_add(struct gm_text *t, const char *s)
{
    gm_text_add_bytes(t, s, strlen(s));
}

void gm_text_add_char(struct gm_text *t, char c)
{
    if (!reserve(t, 1))
        return;
    t->data[t->length++] = c;
    t->data[t->length] = '\0';
}

void gm_text_repeat(struct gm_text *t, char c, size_t n)
{
    if (!reserve(t, n))
        return;
    memset(t->data + t->length, c, n);
    t->length += n;
    t->data[t->length] = '\0';
}

/* Where there is room for usual lines it is printed once. */
void gm_text_printf(struct gm_text *t, const char *format, ...)
{
    va_list args, again;
    if (!reserve(t, 120))
        return;
    va_start(args, format);
    va_copy(again, args);
    const size_t room = t->capacity - t->length;
    int n = vsnprintf(t->data + t->length, room, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= room && reserve(t, (size_t)n))
        n = vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
    va_end(again);
    t->failed |= n < 0;
    t->length += t->failed ? 0 : (size_t)n;
    t->data[t->length] = '\0';
}

enum { DIGITS = 20 }; /* of the largest number */

/* Returns the first digit; the last one stands at digits[DIGITS - 1]. */
static size_t put_digits(char digits[DIGITS], uint64_t number)
{
    size_t at = DIGITS;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return at;
}

void gm_text_add_number(struct gm_text *t, uint64_t number)
{
    char digits[DIGITS];
    const size_t at = put_digits(digits, number);
    gm_text_add_bytes(t, digits + at, DIGITS - at);
}

void gm_text_add_count(struct gm_text *t, uint64_t count)
{
    char digits[DIGITS];
    const size_t first = put_digits(digits, count);
    for (size_t i = first; i < DIGITS; i++) {
        if (i > first && (DIGITS - i) % 3 == 0)
            gm_text_add_char(t, ',');
        gm_text_add_char(t, digits[i]);
    }
}

void gm_text_add_csv(struct gm_text *t, const char *s)
{
    gm_text_add_char(t, '"');
    if (s[0] != '\0' && strchr("=+-@", s[0]) != NULL)
        gm_text_add_char(t, ' ');
    for (; *s != '\0'; s++) {
        if (*s == '"')
            gm_text_add_char(t, '"');
        gm_text_add_char(t, *s);
    }
    gm_text_add_char(t, '"');
}

void gm_text_add_csv_number(struct gm_text *t, uint64_t number)
{
    gm_text_add_char(t, ',');
    if (number != UINT64_MAX)
        gm_text_add_number(t, number);
}

static const char *entity(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void gm_text_add_xml(struct gm_text *t, const char *s)
{
    for (size_t i = 0, n = strlen(s); i < n;) {
        uint32_t code = 0;
        const size_t length = gm_utf8_decode(s + i, n - i, &code);
        const bool is_blank = code == '\n' || code == '\t';
        if (length == 0 || (code < 0x20 && !is_blank) || code == 0x7f || code == 0xfffe || code == 0xffff)
            gm_text_add(t, "\xef\xbf\xbd");
        else if (entity(code) != NULL)
            gm_text_add(t, entity(code));
        else
            gm_text_add_bytes(t, s + i, length);
        i += length > 0 ? length : 1;
    }
}

void gm_text_free(struct gm_text *t)
{
    free(t->data);
    *t = (struct gm_text){0};
}

char *gm_text_take(struct gm_text *t, struct gm_arena *arena)
{
    char *copy = t->failed ? NULL : gm_arena_copy(arena, t->length == 0 ? "" : t->data, t->length);
    gm_text_free(t);
    return copy;
}

const char *gm_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
