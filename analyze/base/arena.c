/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/arena.h"

#include "analyze/base/arithmetic.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gm_arena_chunk {
    struct gm_arena_chunk *next;
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

enum { CHUNK = 64 * 1024 };

static void *take(struct gm_arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = gm_round_up(bytes, align);
    if (arena->head == NULL || arena->head->size - arena->used < bytes) {
        size_t size = bytes > CHUNK / 4 ? bytes : CHUNK;
        struct gm_arena_chunk *chunk = malloc(sizeof *chunk + size);
        if (chunk == NULL)
            return NULL;
        chunk->size = size;
        arena->bytes += sizeof *chunk + size;
        if (size != CHUNK && arena->head != NULL) { /* a big one goes behind the chunk in use */
            chunk->next = arena->head->next;
            arena->head->next = chunk;
            return chunk->data;
        }
        chunk->next = arena->head;
        arena->head = chunk;
        arena->used = 0;
    }
    void *p = arena->head->data + arena->used;
    arena->used += bytes;
    return p;
}

static void *take_all(struct gm_arena *arena, size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / 2 / size ? NULL : take(arena, count * size);
}

void *gm_arena_calloc(struct gm_arena *arena, size_t count, size_t size)
{
    void *p = take_all(arena, count, size);
    return p == NULL ? NULL : memset(p, 0, count * size);
}

void *gm_arena_array(struct gm_arena *arena, const void *v, size_t count, size_t size)
{
    void *p = take_all(arena, count, size);
    return p == NULL || count == 0 ? p : memcpy(p, v, count * size);
}

char *gm_arena_copy(struct gm_arena *arena, const char *s, size_t n)
{
    char *p = n < SIZE_MAX ? take(arena, n + 1) : NULL;
    if (p == NULL)
        return NULL;
    if (n > 0)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *gm_arena_vprintf(struct gm_arena *arena, const char *format, va_list args)
{
    char usual[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(usual, sizeof usual, format, args);
    char *p = n < 0 ? NULL : take(arena, (size_t)n + 1);
    if (p != NULL && (size_t)n < sizeof usual)
        memcpy(p, usual, (size_t)n + 1);
    else if (p != NULL)
        vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}

char *gm_arena_printf(struct gm_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *p = gm_arena_vprintf(arena, format, args);
    va_end(args);
    return p;
}

void gm_arena_free(struct gm_arena *arena)
{
    while (arena->head != NULL) {
        struct gm_arena_chunk *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
    arena->used = 0;
    arena->bytes = 0;
}
