/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/freed.h"
#include "analyze/profile/profile_pass.h"

#include "analyze/base/address_map.h"

#include <stdlib.h>

static const struct gm_link nothing = {.operator_span = GM_PROFILE_NONE};

const struct gm_link *gm_link_of(const struct gm_links *links, size_t span)
{
    return links->of[span] == GM_PROFILE_NONE ? &nothing : &links->rows.v[links->of[span]];
}

/* What runs on devices, and which ids that has. */
static bool find_on_devices(struct gm_links *links, struct gm_address_map *ids, const struct gm_profile *p)
{
    for (size_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const bool is_on_device = gm_profile_span_is_on_device(span->kind);
        const uint64_t external = is_on_device ? gm_profile_detail_of(p, span)->external : 0;
        links->of[i] = GM_PROFILE_NONE;
        if (external == 0)
            continue;
        const uint32_t fresh = (uint32_t)links->rows.n, at = gm_map_number(ids, external, fresh);
        if (at == GM_MAP_NONE || (at == fresh && !GM_VEC_PUSH(&links->rows, nothing)))
            return false;
        struct gm_link *link = &links->rows.v[at];
        links->of[i] = at;
        if (span->kind != GM_SPAN_DEVICE_ANNOTATION) /* what a file says may wrap */
            link->device_ns = (int64_t)((uint64_t)link->device_ns + (uint64_t)span->duration_ns);
    }
    return true;
}

bool gm_links_find(struct gm_links *links, const struct gm_profile *p)
{
    GM_FREED_BY(gm_map_free) struct gm_address_map ids = {.slots = NULL};
    links->of = malloc((p->spans.n + 1) * sizeof *links->of);
    const bool ok = links->of != NULL && find_on_devices(links, &ids, p);
    for (uint32_t i = 0; ok && i < p->spans.n && links->rows.n > 0; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const uint64_t external = span->kind > GM_SPAN_PYTHON ? 0 : gm_profile_detail_of(p, span)->external;
        links->of[i] = external == 0 ? links->of[i] : gm_map_get(&ids, external);
        if (external != 0 && links->of[i] != GM_MAP_NONE && span->kind == GM_SPAN_OPERATOR)
            links->rows.v[links->of[i]].operator_span = i;
    }
    return ok;
}

void gm_links_free(struct gm_links *links)
{
    GM_FREE_ALL(links->of, links->rows.v);
}
