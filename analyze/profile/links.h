/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/profile: what ran on devices and the operators that asked for it, by the external id that both
 * state.
 */
#ifndef GM_PROFILE_LINKS_H
#define GM_PROFILE_LINKS_H

#include "analyze/snapshot/profile.h"

struct gm_link {
    uint32_t operator_span; /* the last span of an operator with that id, or GM_PROFILE_NONE */
    int64_t device_ns;      /* of kernels, copies and memsets */
};
struct gm_links {                       /* zero-initialise */
    struct GM_VEC(struct gm_link) rows; /* of the ids that something on a device states */
    uint32_t *of;                       /* [span]: its row, or GM_PROFILE_NONE */
};

/* false: no memory. gm_links_free in any case. */
bool gm_links_find(struct gm_links *links, const struct gm_profile *p);
/* What is known of a span's external id; of none, and of what no device states, nothing. Never NULL. */
const struct gm_link *gm_link_of(const struct gm_links *links, size_t span);
void gm_links_free(struct gm_links *links);

#endif
