/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for byte strings: equal bytes get equal numbers, from 0 in order of first appearance, so nothing hangs on
 * hashes.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct gm_intern_entry {
    const void *bytes;
    size_t length;
    uint64_t hash;
};
struct gm_intern { /* zero-initialise */
    struct gm_arena arena;
    struct GM_VEC(struct gm_intern_entry) entries;
    uint32_t *slots; /* entry + 1; 0: empty */
    size_t mask;
};
#define GM_INTERN_NONE UINT32_MAX

/* The number of bytes[0..length), new or known; GM_INTERN_NONE: no memory. The first copies new bytes, with a NUL
 * behind them; the second takes those of the caller, which must last as long as `intern`. */
uint32_t gm_intern_add(struct gm_intern *intern, const void *bytes, size_t length);
uint32_t gm_intern_add_lasting(struct gm_intern *intern, const void *bytes, size_t length);
/* As the first one, for what mostly was met lately: `recent` (zero-initialise) has where, so that it is compared and
 * not hashed. */
enum { GM_INTERN_RECENT = 1 << 12 };
struct gm_intern_recent {
    uint32_t entries[GM_INTERN_RECENT][2]; /* two for each place: entry + 1; 0: none */
};
uint32_t gm_intern_again(struct gm_intern *intern, struct gm_intern_recent *recent, const void *bytes, size_t length);
/* The number of known bytes; GM_INTERN_NONE: they are not. */
uint32_t gm_intern_find(const struct gm_intern *intern, const void *bytes, size_t length);
/* Bytes of memory that it holds. */
uint64_t gm_intern_bytes(const struct gm_intern *intern);
void gm_intern_free(struct gm_intern *intern);
