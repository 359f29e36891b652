/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

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
    void *p;
    memcpy(&p, where, sizeof p); /* its type is not known here: the pointer itself is moved as bytes */
    p = realloc(p, want * size);
    if (p == NULL)
        return false;
    memcpy(where, &p, sizeof p);
    *capacity = want;
    return true;
}
