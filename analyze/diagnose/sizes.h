/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of all allocations of a role, ascending.
 */
#ifndef GM_DIAGNOSE_SIZES_H
#define GM_DIAGNOSE_SIZES_H

#include "analyze/diagnose/lives.h"

struct gm_sizes {
    uint64_t *v;
    uint32_t *met; /* [n] of each size, where it stands first: how many were asked for (gm_sizes_has_another) */
    size_t n;
};

/* false: no memory. Free also then. */
bool gm_sizes_of_role(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role);
/* Of those that are. */
bool gm_sizes_of_those(struct gm_sizes *sizes, const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t));
/* Of the first gradients: those of the round with the first backward pass, or until one of them goes later. */
bool gm_sizes_of_first_gradients(struct gm_sizes *sizes, const struct gm_lives *l);
void gm_sizes_free(struct gm_sizes *sizes);
bool gm_sizes_has(const struct gm_sizes *sizes, uint64_t size);
/* Whether there is one of that size that was not met before. */
bool gm_sizes_has_another(struct gm_sizes *sizes, uint64_t size);

#endif
