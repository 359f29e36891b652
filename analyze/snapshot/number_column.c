/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/snapshot/number_column.h"

#include "analyze/base/freed.h"

#include <stdlib.h>
#include <string.h>

/* A base with as much room below the number as above it. */
static uint64_t place_of(struct gm_number_kind kind, uint64_t value)
{
    const uint64_t half = (uint64_t)(GM_FAR_NUMBER / 2) << kind.shift;
    return (value - half) >> kind.shift << kind.shift;
}

/* The rows before have a good base already if the number is near that, or is none. */
bool gm_number_begin(struct gm_number_builder *b, struct gm_number_kind kind, uint64_t value)
{
    const uint64_t last = b->base.n == 0 ? 0 : b->base.v[b->base.n - 1];
    const bool stays = !kind.has_places || value == kind.absent || (value - last) >> kind.shift < GM_FAR_NUMBER;
    return (b->far.n > 0 || GM_VEC_PUSH(&b->far, kind.absent)) &&
           GM_VEC_PUSH(&b->base, stays ? last : place_of(kind, value));
}

bool gm_number_put_far(struct gm_number_builder *b, struct gm_number_kind kind, size_t row, uint64_t value)
{
    const bool is_absent = value == kind.absent;
    b->near[row] = GM_FAR_NUMBER | (uint32_t)(is_absent ? 0 : b->far.n);
    return is_absent || GM_VEC_PUSH(&b->far, value);
}

#define COPY(to, from, count) ((count) == 0 || memcpy(to, from, (count) * sizeof *(from)) != NULL)

bool gm_number_copy(struct gm_number_builder *to, const struct gm_number_builder *from, size_t rows)
{
    to->near = malloc((rows + 1) * sizeof *to->near);
    if (to->near == NULL || !GM_VEC_ROOM(&to->base, from->base.n) || !GM_VEC_ROOM(&to->far, from->far.n))
        return false;
    to->base.n = from->base.n;
    to->far.n = from->far.n;
    return COPY(to->near, from->near, rows) && COPY(to->base.v, from->base.v, from->base.n) &&
           COPY(to->far.v, from->far.v, from->far.n);
}

uint64_t gm_number_bytes(const struct gm_number_builder *b, size_t rows)
{
    return (b->near == NULL ? 0 : rows * sizeof *b->near) + GM_VEC_BYTES(&b->base) + GM_VEC_BYTES(&b->far);
}

void gm_number_free(struct gm_number_builder *b)
{
    GM_FREE_ALL(b->near, b->base.v, b->far.v);
    *b = (struct gm_number_builder){.near = NULL};
}
