/* SPDX-License-Identifier: Apache-2.0
 *
 * Text in columns of a terminal: how wide a string is, cutting it to fit, cells of a table, paragraphs. Every function
 * takes any bytes: what is not printable is shown as U+FFFD, so that no name can break a line.
 */
#pragma once

#include "analyze/base/text.h"

#include <stddef.h>

enum { GM_LINE = 80 }; /* no line of a text report is wider */
enum gm_cell { GM_CELL_LEFT, GM_CELL_RIGHT, GM_CELL_TAIL /* left-aligned; if too long its end is what counts */ };

/* One character of s[0..n), n > 0, as it may be shown (gm_utf8_clean_line): its UTF-8 or its escape in out, its columns
 * in *columns (1, or 2 for East Asian wide ones and most symbols; never less than a terminal uses). Returns the number
 * of bytes of s that it takes. */
enum { GM_COLUMNS_CHAR = 12 };
size_t gm_columns_char(char out[GM_COLUMNS_CHAR], size_t *columns, const char *s, size_t n);
/* Columns of a whole string. */
size_t gm_columns(const char *s);
/* Appends s, cut to `columns`: "..." stands for what was cut, at the end, or at the beginning if keep_tail. */
void gm_columns_cut(struct gm_text *out, const char *s, size_t columns, bool keep_tail);
/* The same with padding, so that it takes exactly `columns`. */
void gm_columns_cell(struct gm_text *out, const char *s, size_t columns, enum gm_cell cell);
/* Appends s as a paragraph that fits GM_LINE, ended by a newline. The cursor is at column `indent` already; the lines
 * after the first are indented by it. Runs of blanks become one; a number stays with its unit; a word that is too long
 * is broken. */
void gm_columns_wrap(struct gm_text *out, const char *s, size_t indent);
