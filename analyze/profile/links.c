/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/profile/links.h"

#include <stdlib.h>

static const struct gm_link nothing = {.operator_span = GM_PROFILE_NONE};

const struct gm_link *gm_link_of(const struct gm_links *links, uint64_t external)
{
    const uint32_t at = external == 0 ? GM_MAP_NONE : gm_map_get(&links->at, external);
    return at == GM_MAP_NONE ? &nothing : &links->rows.v[at];
}

bool gm_links_find(struct gm_links *links, const struct gm_profile *p)
{
    for (size_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const uint64_t external =
            gm_profile_span_is_on_device(span->kind) ? gm_profile_detail_of(p, span)->external : 0;
        if (external == 0)
            continue;
        const uint32_t fresh = (uint32_t)links->rows.n, at = gm_map_number(&links->at, external, fresh);
        if (at == GM_MAP_NONE || (at == fresh && !GM_VEC_PUSH(&links->rows, nothing)))
            return false;
        struct gm_link *link = &links->rows.v[at];
        if (span->kind != GM_SPAN_DEVICE_ANNOTATION) /* what a file says may wrap */
            link->device_ns = (int64_t)((uint64_t)link->device_ns + (uint64_t)span->duration_ns);
    }
    for (uint32_t i = 0; i < p->spans.n && links->rows.n > 0; i++) {
        const struct gm_profile_span *span = &p->spans.v[i];
        const uint64_t external = span->kind == GM_SPAN_OPERATOR ? gm_profile_detail_of(p, span)->external : 0;
        const uint32_t at = external == 0 ? GM_MAP_NONE : gm_map_get(&links->at, external);
        if (at != GM_MAP_NONE)
            links->rows.v[at].operator_span = i;
    }
    return true;
}

void gm_links_free(struct gm_links *links)
{
    gm_map_free(&links->at);
    free(links->rows.v);
}
