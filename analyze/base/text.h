/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing byte buffer for writing reports. Zero-initialise it. Appending cannot fail visibly: when memory runs out
 * the buffer sets `failed` and ignores the rest, so a writer checks once, at the end.
 */
#pragma once

#include "analyze/base/freed.h" /* GM_FREED struct gm_text: freed where the function is left */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_text {
    char *data; /* NUL-terminated once anything was appended; owned, gm_text_free */
    size_t length;
    size_t capacity;
    bool failed;
};

void gm_text_add(struct gm_text *t, const char *s);
void gm_text_add_bytes(struct gm_text *t, const void *s, size_t n);
void gm_text_add_char(struct gm_text *t, char c);
void gm_text_repeat(struct gm_text *t, char c, size_t n);
void gm_text_printf(struct gm_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gm_text_add_number(struct gm_text *t, uint64_t number);
void gm_text_add_count(struct gm_text *t, uint64_t count); /* "1,234,567" */
/* A cell of CSV: in quotes; a blank before what a spreadsheet would take for a formula. */
void gm_text_add_csv(struct gm_text *t, const char *s);
/* A comma and the number; nothing after the comma if it is UINT64_MAX, which stands for what is not known. */
void gm_text_add_csv_number(struct gm_text *t, uint64_t number);
/* Text or the value of an attribute of XML 1.0: what that has no way to write becomes U+FFFD. */
void gm_text_add_xml(struct gm_text *t, const char *s);
void gm_text_free(struct gm_text *t);

/* What stands behind the last '/' of a path: into it; all of it without one. */
const char *gm_file_name(const char *path);
/* What was written, in an arena, and frees it; NULL: no memory. */
struct gm_arena;
char *gm_text_take(struct gm_text *t, struct gm_arena *arena);
