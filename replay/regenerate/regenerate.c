/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/regenerate/regenerate.h"

#include "analyze/base/ascii.h"
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

bool gm_regenerate_extras(struct gm_regenerated *out, enum gm_row_kind kind, const uint32_t *from, size_t count,
                          gm_is_overruled *is_overruled)
{
    const struct gm_extras *recorded = &out->recorded->extras[kind];
    struct rows GM_VEC(struct gm_extra);
    struct rows rows = {0};
    bool ok = true;
    for (size_t i = 0; ok && recorded->count > 0 && i < count; i++) {
        size_t at, n = from[i] == GM_NO_ROW ? 0 : gm_extras_of(recorded, from[i], &at);
        for (size_t k = 0; ok && k < n; k++) {
            struct gm_extra extra = recorded->v[at + k];
            if (is_overruled != NULL && is_overruled(out, &extra, i, from[i]))
                continue;
            extra.row = (uint32_t)i;
            ok = GM_VEC_PUSH(&rows, extra);
        }
    }
    out->snapshot.extras[kind] = (struct gm_extras){rows.v, rows.n};
    return (rows.v == NULL || gm_regenerated_own(out, rows.v)) && ok;
}

void gm_regenerated_free(struct gm_regenerated *g)
{
    for (size_t i = 0; i < g->array_count; i++)
        free(g->arrays[i]);
    gm_arena_free(&g->arena);
    *g = (struct gm_regenerated){0};
}

bool gm_forget_ring(struct gm_snapshot *s, struct gm_arena *arena)
{
    const struct gm_extras top = s->extras[GM_ROW_TOP];
    struct gm_extra *kept = gm_arena_calloc(arena, top.count, sizeof *kept);
    size_t count = 0, n;
    for (size_t i = 0; kept != NULL && i < top.count; i++) {
        const char *key = gm_string(s, (struct gm_string_id){top.v[i].key}, &n);
        if (!gm_begins_with(key, n, "trace_alloc_"))
            kept[count++] = top.v[i];
    }
    if (count < top.count)
        s->settings_tree = (struct gm_loose){.type = GM_LOOSE_MISSING}; /* or none would be written */
    s->extras[GM_ROW_TOP] = (struct gm_extras){kept, count};
    return kept != NULL;
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
