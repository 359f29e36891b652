/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals per stream and per pool of each device: the device's segments sorted by key, equal keys summed.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/order.h"

#include <stdlib.h>

struct keyed {
    uint64_t a, b, c;
    size_t i; /* in gm_pass.order */
};

GM_ORDERING(compare, struct keyed, GM_UP(a) || GM_UP(b) || GM_UP(c) || GM_UP(i));

static bool same(const struct keyed *x, const struct keyed *y)
{
    return x->a == y->a && x->b == y->b && x->c == y->c;
}

/* Sorts them; returns how many groups of equal ones there are. */
static size_t group(struct keyed *keys, size_t n)
{
    size_t groups = n > 0;
    qsort(keys, n, sizeof *keys, compare);
    for (size_t i = 1; i < n; i++)
        groups += !same(&keys[i - 1], &keys[i]);
    return groups;
}

static bool fill_streams(struct gm_pass *pass, size_t d, struct keyed *keys)
{
    const struct gm_device_pass *device = &pass->device_passes[d];
    const struct gm_snapshot *s = pass->snapshot;
    for (size_t k = 0; k < device->count; k++) {
        uint32_t stream = s->segments.stream[pass->order[device->first + k]].v;
        keys[k] = (struct keyed){.a = pass->stream_number[stream], .i = device->first + k};
    }
    size_t groups = group(keys, device->count), row = 0;
    struct gm_stream_row *rows = gm_arena_calloc(&pass->report->arena, groups, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t k = 0; k < device->count; k++) {
        uint32_t stream = s->segments.stream[pass->order[keys[k].i]].v;
        row += k > 0 && !same(&keys[k - 1], &keys[k]);
        rows[row].stream = gm_stream_handle(s, stream);
        rows[row].number = (uint32_t)keys[k].a;
        gm_totals_add(&rows[row].totals, &pass->sums[keys[k].i].totals);
    }
    pass->devices[d].streams = rows;
    pass->devices[d].stream_count = groups;
    return true;
}

/* Default pools first, small before large, then private ones by id. */
static bool fill_pools(struct gm_pass *pass, size_t d, struct keyed *keys)
{
    const struct gm_device_pass *device = &pass->device_passes[d];
    const struct gm_snapshot *s = pass->snapshot;
    for (size_t k = 0; k < device->count; k++) {
        size_t segment = pass->order[device->first + k];
        uint32_t pool = s->segments.pool[segment].v;
        struct gm_pool_key id = pool != 0 ? s->pools[pool] : (struct gm_pool_key){0, 0};
        uint8_t type = s->segments.type[segment];
        keys[k] = (struct keyed){id.first, id.second, (type == GM_SEGMENT_TYPE_ABSENT ? 8u : type) * 2u + (pool == 0),
                                 device->first + k};
    }
    size_t groups = group(keys, device->count), row = 0;
    struct gm_pool_row *rows = gm_arena_calloc(&pass->report->arena, groups, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t k = 0; k < device->count; k++) {
        size_t segment = pass->order[keys[k].i];
        uint32_t pool = s->segments.pool[segment].v;
        row += k > 0 && !same(&keys[k - 1], &keys[k]);
        struct gm_pool_row *out = &rows[row];
        if (out->name == NULL) {
            out->name = gm_pool_name(&pass->report->arena, s, segment);
            out->kind = gm_pool_kind(s, segment);
            out->id_first = pool != 0 ? s->pools[pool].first : GM_REPORT_NONE;
            out->id_second = pool != 0 ? s->pools[pool].second : GM_REPORT_NONE;
            out->is_private = gm_segment_is_private(s, segment);
            if (out->name == NULL)
                return false;
        }
        out->has_expandable |= gm_segment_is_expandable(s, segment);
        gm_totals_add(&out->totals, &pass->sums[keys[k].i].totals);
    }
    pass->devices[d].pools = rows;
    pass->devices[d].pool_count = groups;
    return true;
}

bool gm_pass_device_rows(struct gm_pass *pass)
{
    size_t most = 1;
    for (size_t d = 0; d < pass->device_count; d++)
        most = pass->device_passes[d].count > most ? pass->device_passes[d].count : most;
    GM_FREED struct keyed *keys = malloc(most * sizeof *keys);
    bool has_memory = keys != NULL;
    for (size_t d = 0; has_memory && d < pass->device_count; d++)
        has_memory = fill_streams(pass, d, keys) && fill_pools(pass, d, keys);
    return has_memory;
}
