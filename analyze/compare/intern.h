/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for byte strings: equal bytes get equal numbers, in order of first appearance.
 */
#ifndef GM_COMPARE_INTERN_H
#define GM_COMPARE_INTERN_H

#include "analyze/base/arena.h"
#include "analyze/base/vec.h"

#include <stdbool.h>
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

/* The number of bytes[0..length), new or known; GM_INTERN_NONE: no memory. */
uint32_t gm_intern_add(struct gm_intern *intern, const void *bytes, size_t length);
void gm_intern_free(struct gm_intern *intern);

#endif
