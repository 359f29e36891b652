/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/columns.h"

#include "analyze/base/ascii.h"
#include "analyze/base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Where Unicode has wide characters, in whole neighbourhoods: a narrow one that is counted as two costs a column, a
 * wide one that is counted as one breaks the line. */
static const struct {
    uint32_t first, last;
} wide[] = {{0x1100, 0x11ff},   {0x2300, 0x23ff},  {0x25fd, 0x27bf},   {0x2b00, 0x2bff},   {0x2e80, 0x4dff},
            {0x4e00, 0xa4cf},   {0xa960, 0xa97f},  {0xac00, 0xd7ff},   {0xf900, 0xfaff},   {0xfe10, 0xfe6f},
            {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x16fe0, 0x18dff}, {0x1aff0, 0x1b2ff}, {0x1d300, 0x1d37f},
            {0x1f000, 0x1faff}, {0x20000, 0x3ffff}};

size_t gm_columns_char(char out[GM_COLUMNS_CHAR], size_t *columns, const char *s, size_t n)
{
    uint32_t code = 0;
    size_t length = gm_utf8_decode(s, n, &code);
    const size_t used = gm_utf8_clean_line(out, GM_COLUMNS_CHAR, s, length > 0 ? length : 1);
    const bool is_escape = used > 1 && out[0] == '\\';
    *columns = is_escape ? used : 1;
    for (size_t i = 0; length > 0 && !is_escape && i < sizeof wide / sizeof *wide; i++)
        if (code >= wide[i].first && code <= wide[i].last)
            *columns = 2;
    return length > 0 ? length : 1;
}

static size_t columns_of(const char *s, size_t n)
{
    size_t total = gm_printable_run(s, n);
    for (size_t i = total; i < n;) {
        char shown[GM_COLUMNS_CHAR];
        size_t columns = 0;
        i += gm_columns_char(shown, &columns, s + i, n - i);
        total += columns;
    }
    return total;
}

size_t gm_columns(const char *s)
{
    return columns_of(s, strlen(s));
}

/* Appends what of s[0..n) fits `columns`; returns the bytes taken and adds the columns used to *used. */
static size_t add_fitting(struct gm_text *out, const char *s, size_t n, size_t columns, size_t *used)
{
    size_t i = gm_printable_run(s, n < columns ? n : columns), total = i;
    gm_text_add_bytes(out, s, i);
    while (i < n) {
        char shown[GM_COLUMNS_CHAR];
        size_t wants = 0;
        size_t length = gm_columns_char(shown, &wants, s + i, n - i);
        if (total + wants > columns)
            break;
        gm_text_add(out, shown);
        total += wants;
        i += length;
    }
    *used += total;
    return i;
}

void gm_columns_cut(struct gm_text *out, const char *s, size_t columns, bool keep_tail)
{
    size_t n = strlen(s), used = 0;
    size_t total = columns_of(s, n);
    if (total <= columns) {
        add_fitting(out, s, n, columns, &used);
        return;
    }
    size_t dots = columns < 3 ? columns : 3;
    if (!keep_tail) {
        add_fitting(out, s, n, columns - dots, &used);
        gm_text_repeat(out, '.', dots);
        return;
    }
    gm_text_repeat(out, '.', dots);
    size_t i = gm_printable_run(s, n < total - (columns - dots) ? n : total - (columns - dots));
    total -= i;
    while (i < n && total > columns - dots) {
        char shown[GM_COLUMNS_CHAR];
        size_t wants = 0;
        i += gm_columns_char(shown, &wants, s + i, n - i);
        total -= wants;
    }
    add_fitting(out, s + i, n - i, columns - dots, &used);
}

void gm_columns_cell(struct gm_text *out, const char *s, size_t columns, enum gm_cell cell)
{
    GM_FREED struct gm_text cut = {0};
    gm_columns_cut(&cut, s, columns, cell == GM_CELL_TAIL);
    if (cut.failed)
        out->failed = true;
    const char *shown = cut.data != NULL ? cut.data : "";
    size_t used = gm_columns(shown);
    size_t pad = used < columns ? columns - used : 0;
    if (cell == GM_CELL_RIGHT)
        gm_text_repeat(out, ' ', pad);
    gm_text_add(out, shown);
    if (cell != GM_CELL_RIGHT)
        gm_text_repeat(out, ' ', pad);
}

/* Whether s[0..n), what follows a blank, is the unit of a number before it: "%", "GiB,", "ms". */
static bool is_unit(const char *s, size_t n)
{
    static const char *const units[] = {"%",   "B",  "KiB", "MiB", "GiB", "TiB", "PiB",
                                        "EiB", "us", "ms",  "s",   "min", "h"};
    while (n > 0 && strchr(",.;:)", s[n - 1]) != NULL)
        n--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == n && memcmp(units[i], s, n) == 0)
            return true;
    return false;
}

/* The end of the word at s[i]. A number and its unit are one: a line that begins with "GiB" is hard to read. */
static size_t word_end(const char *s, size_t n, size_t i)
{
    while (i < n && s[i] != ' ')
        i++;
    if (i == 0 || i == n || s[i - 1] < '0' || s[i - 1] > '9')
        return i;
    size_t next = i + 1;
    while (next < n && s[next] != ' ')
        next++;
    return is_unit(s + i + 1, next - i - 1) ? next : i;
}

void gm_columns_wrap(struct gm_text *out, const char *s, size_t indent)
{
    size_t n = strlen(s), column = indent;
    for (size_t i = 0; i < n;) {
        while (i < n && s[i] == ' ')
            i++;
        size_t word = word_end(s, n, i);
        if (word == i)
            break;
        size_t wants = columns_of(s + i, word - i);
        if (column > indent && column + 1 + wants > GM_LINE) {
            gm_text_add_char(out, '\n');
            gm_text_repeat(out, ' ', indent);
            column = indent;
        } else if (column > indent) {
            gm_text_add_char(out, ' ');
            column++;
        }
        i += add_fitting(out, s + i, word - i, GM_LINE - column, &column);
        while (i < word) { /* a word that is wider than a line */
            gm_text_add_char(out, '\n');
            gm_text_repeat(out, ' ', indent);
            column = indent;
            i += add_fitting(out, s + i, word - i, GM_LINE - column, &column);
        }
    }
    gm_text_add_char(out, '\n');
}
