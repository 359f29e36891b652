/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers for things that are told apart by two strings and a number: frames, functions, and (with one string) the
 * string table of a profile. Numbers count from 0 in the order of first appearance, so output does not hang on hashes.
 * Strings must last as long as their table, unchanged.
 */
#ifndef GM_EXPORT_TRIPLES_H
#define GM_EXPORT_TRIPLES_H

#include "analyze/base/address_map.h"
#include "analyze/base/intern.h"

struct gm_triple {
    const char *name, *filename; /* not owned; never NULL */
    uint64_t number;
};
struct gm_triples { /* zero-initialise */
    struct gm_triple *v;
    size_t n, capacity;
    struct gm_address_map of_pointer; /* a string's address to its number in strings */
    struct gm_intern strings, rows;
    bool failed; /* no memory: numbers are 0 from then on */
};

/* The number of (name, filename, number); NULL is "". */
uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number);
void gm_triples_free(struct gm_triples *t);

#endif
