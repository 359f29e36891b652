/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/formats.h"

#include <stdlib.h>
#include <string.h>

/* A string's number. The same pointer is asked for once per use of a frame, so its bytes are read only the first time.
 */
static uint32_t string_number(struct gm_triples *t, const char *s)
{
    uint32_t number = gm_map_get(&t->of_pointer, (uintptr_t)s), before;
    if (number != GM_MAP_NONE)
        return number;
    number = gm_intern_add_lasting(&t->strings, s, strlen(s));
    return number != GM_INTERN_NONE && gm_map_put(&t->of_pointer, (uintptr_t)s, number, &before) ? number
                                                                                                 : GM_INTERN_NONE;
}

uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number)
{
    name = name == NULL ? "" : name;
    filename = filename == NULL ? "" : filename;
    const uint32_t first = string_number(t, name), second = string_number(t, filename);
    const uint64_t key[] = {(uint64_t)first << 32 | second, number};
    uint32_t row =
        first == GM_INTERN_NONE || second == GM_INTERN_NONE ? GM_INTERN_NONE : gm_intern_add(&t->rows, key, sizeof key);
    const struct gm_triple triple = {name, filename, number};
    if (t->failed || row == GM_INTERN_NONE || (row == t->n && !GM_VEC_PUSH(t, triple))) {
        t->failed = true;
        return 0;
    }
    return row;
}

void gm_triples_free(struct gm_triples *t)
{
    gm_map_free(&t->of_pointer);
    gm_intern_free(&t->strings);
    gm_intern_free(&t->rows);
    free(t->v);
}
