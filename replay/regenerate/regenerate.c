/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/regenerate/regenerate.h"

#include "replay/regenerate/regenerate_private.h"

#include <stdlib.h>

bool gm_regenerated_own(struct gm_regenerated *out, void *array)
{
    if (out->array_count == GM_REGENERATED_ARRAYS) {
        free(array);
        return false;
    }
    out->arrays[out->array_count++] = array;
    return true;
}

void gm_regenerated_free(struct gm_regenerated *g)
{
    for (size_t i = 0; i < g->array_count; i++)
        free(g->arrays[i]);
    gm_arena_free(&g->arena);
    *g = (struct gm_regenerated){0};
}

enum gm_status gm_regenerate(struct gm_regenerated *out, struct gm_event_recorder *r, const struct gm_conf *conf,
                             const char *text, struct gm_error *err)
{
    *out = (struct gm_regenerated){.snapshot = *r->snapshot, .recorded = r->snapshot};
    out->snapshot.memory = NULL;
    bool ok = !r->has_no_memory && gm_regenerate_events(out, r) && gm_regenerate_segments(out, r) &&
              (conf == NULL || gm_regenerate_settings(out, conf, text));
    if (ok)
        return GM_OK;
    gm_regenerated_free(out);
    return gm_no_memory(err);
}
