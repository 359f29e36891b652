/* SPDX-License-Identifier: Apache-2.0
 *
 * An arena hands out memory that lives and dies together: many allocations, one gm_arena_free. Zero-initialise it.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct gm_arena_chunk;
struct gm_arena {
    struct gm_arena_chunk *head;
    size_t used;  /* bytes handed out of head */
    size_t bytes; /* of all chunks */
};

/* Zeroed memory for `count` objects of `size` bytes, aligned for any type; NULL if there is none (or on overflow). */
void *gm_arena_calloc(struct gm_arena *arena, size_t count, size_t size);
/* The same with what v has; v may be NULL where nothing is copied. */
void *gm_arena_array(struct gm_arena *arena, const void *v, size_t count, size_t size);
/* A NUL-terminated copy of s[0..n); NULL if there is no memory. */
char *gm_arena_copy(struct gm_arena *arena, const char *s, size_t n);
/* A formatted string owned by the arena; NULL if there is no memory. */
char *gm_arena_printf(struct gm_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *gm_arena_vprintf(struct gm_arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void gm_arena_free(struct gm_arena *arena);
