/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for things that are told apart by two strings and a number: frames, functions, and (with one string) the
 * string table of a profile. Numbers count from 0 in the order of first appearance, so output does not hang on hashes.
 */
#ifndef GM_EXPORT_TRIPLES_H
#define GM_EXPORT_TRIPLES_H

#include "analyze/base/vec.h"

#include <stdint.h>

struct gm_triple {
    const char *name, *filename; /* not owned; never NULL */
    uint64_t number;
    uint64_t hash;
};
struct gm_triples { /* zero-initialise */
    struct gm_triple *v;
    size_t n, capacity;
    uint32_t *slots; /* index + 1 into v; 0: free */
    size_t mask;     /* mask + 1 slots, a power of two; 0: none yet */
    bool failed;     /* no memory: numbers are 0 from then on */
};

/* The number of (name, filename, number); NULL is "". */
uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number);
void gm_triples_free(struct gm_triples *t);

#endif
