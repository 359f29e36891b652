/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* The types of arrays are not known here: the pointers themselves are moved as bytes. */
static void *array_at(const void *where)
{
    void *p;
    memcpy(&p, where, sizeof p);
    return p;
}

static bool resize(void *where, size_t bytes)
{
    void *p = realloc(array_at(where), bytes);
    if (p != NULL)
        memcpy(where, &p, sizeof p);
    return p != NULL;
}

bool gm_grow(void *where, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t more = *capacity + *capacity / 2;
    size_t want = need > more ? need : more;
    if (want < 16)
        want = 16;
    if (want > SIZE_MAX / 2 / size)
        return false;
    if (!resize(where, want * size))
        return false;
    *capacity = want;
    return true;
}

void gm_trim(void *where, size_t count, size_t size)
{
    if (array_at(where) != NULL)
        (void)resize(where, (count > 0 ? count : 1) * size); /* else it stays as it is */
}
