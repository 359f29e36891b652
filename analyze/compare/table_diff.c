/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of two runs by name, settings that differ, and which device is compared with which.
 */
#include "analyze/compare/comparison_parts.h"

#include "analyze/base/order.h"

#include <string.h>

bool gm_diff_row_changed(struct gm_diff_row *row, bool in_base, bool in_after)
{
    row->delta = gm_diff_delta(row->base.bytes, row->after.bytes);
    row->kind = row->delta > 0 ? GM_DIFF_GROWN : GM_DIFF_SHRUNK;
    if (!in_base)
        row->kind = GM_DIFF_NEW;
    else if (!in_after)
        row->kind = GM_DIFF_GONE;
    return row->base.bytes != row->after.bytes;
}

void gm_diff_count(struct gm_diff_sums *sums, struct gm_diff_tally *tally, const struct gm_diff_row *row)
{
    gm_i128 delta = (gm_i128)row->after.bytes - (gm_i128)row->base.bytes;
    if (delta == 0) {
        sums->same++;
        sums->same_bytes += row->base.bytes;
        return;
    }
    sums->counts[row->kind]++;
    tally->listed += delta;
    tally->deltas[row->kind] += delta;
}

void gm_diff_finish(struct gm_diff_sums *sums, const struct gm_diff_tally *tally, uint64_t base_total,
                    uint64_t after_total)
{
    gm_i128 delta = (gm_i128)after_total - (gm_i128)base_total;
    sums->is_known = true;
    sums->base_total = base_total;
    sums->after_total = after_total;
    sums->delta = gm_clamp_signed(delta);
    sums->listed = gm_clamp_signed(tally->listed);
    sums->residual = gm_clamp_signed(delta - tally->listed);
    for (int i = 0; i < GM_DIFF_KINDS; i++)
        sums->deltas[i] = gm_clamp_signed(tally->deltas[i]);
}

int gm_diff_row_order(const struct gm_diff_row *a, const struct gm_diff_row *b)
{
    const uint64_t x = gm_diff_size(a->delta), y = gm_diff_size(b->delta);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->name, b->name);
}

GM_ORDERING(by_change, struct gm_diff_row, GM_BY(gm_diff_row_order(a, b)));

bool gm_compare_by_name(struct gm_comparison *c, struct gm_diff_table *out, const struct gm_slices *base,
                        const struct gm_slices *after, uint64_t base_total, uint64_t after_total)
{
    if (base->v == NULL || after->v == NULL)
        return true; /* not known */
    struct gm_diff_row *rows = gm_arena_calloc(&c->arena, base->n + after->n, sizeof *rows);
    struct gm_diff_tally tally = {0};
    if (rows == NULL)
        return false;
    for (size_t i = 0, k = 0; i < base->n || k < after->n;) {
        int order = i == base->n ? 1 : k == after->n ? -1 : strcmp(base->v[i].name, after->v[k].name);
        const struct gm_slice *b = order <= 0 ? &base->v[i++] : NULL, *a = order >= 0 ? &after->v[k++] : NULL;
        struct gm_diff_row *row = &rows[out->count];
        *row = (struct gm_diff_row){.name = b != NULL ? b->name : a->name, .color = b != NULL ? b->color : a->color};
        if (b != NULL)
            row->base = (struct gm_amount){b->bytes, b->blocks};
        if (a != NULL)
            row->after = (struct gm_amount){a->bytes, a->blocks};
        bool changed = gm_diff_row_changed(row, b != NULL, a != NULL);
        gm_diff_count(&out->sums, &tally, row);
        out->count += changed;
    }
    GM_SORT(rows, out->count, by_change);
    out->rows = rows;
    gm_diff_finish(&out->sums, &tally, base_total, after_total);
    return true;
}

bool gm_compare_tables(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    const uint64_t bp = b->peaks[GM_LEVEL_REQUESTED], ap = a->peaks[GM_LEVEL_REQUESTED];
    return gm_compare_by_name(c, &pair->categories, &b->categories, &a->categories, b->totals.allocated,
                              a->totals.allocated) &&
           gm_compare_by_name(c, &pair->roles, &b->roles, &a->roles, b->totals.allocated, a->totals.allocated) &&
           gm_compare_by_name(c, &pair->pools, &b->pools, &a->pools, b->totals.allocated, a->totals.allocated) &&
           gm_compare_by_name(c, &pair->pools_reserved, &b->pools_reserved, &a->pools_reserved, b->totals.reserved,
                              a->totals.reserved) &&
           gm_compare_by_name(c, &pair->categories_at_peak, &b->categories_at_peak, &a->categories_at_peak, bp, ap) &&
           gm_compare_by_name(c, &pair->roles_at_peak, &b->roles_at_peak, &a->roles_at_peak, bp, ap) &&
           gm_compare_by_name(c, &pair->pools_at_peak, &b->pools_at_peak, &a->pools_at_peak, bp, ap);
}

/* ---- settings and the like --------------------------------------------------------------------------------------- */

GM_ORDERING(fact_order, struct gm_summary_fact, GM_BY(strcmp(a->group, b->group)) || GM_BY(strcmp(a->key, b->key)));

bool gm_compare_facts(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    struct gm_diff_fact *rows = gm_arena_calloc(&c->arena, b->fact_count + a->fact_count, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0, k = 0; i < b->fact_count || k < a->fact_count;) {
        int order = i == b->fact_count ? 1 : k == a->fact_count ? -1 : fact_order(&b->facts[i], &a->facts[k]);
        const struct gm_summary_fact *x = order <= 0 ? &b->facts[i++] : NULL, *y = order >= 0 ? &a->facts[k++] : NULL;
        const struct gm_summary_fact *main = x != NULL ? x : y;
        if (main == NULL || (x != NULL && y != NULL && strcmp(x->value, y->value) == 0))
            continue;
        rows[pair->fact_count++] =
            (struct gm_diff_fact){main->group, main->key, x != NULL ? x->value : NULL, y != NULL ? y->value : NULL};
    }
    pair->facts = rows;
    return true;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* By ordinal; but two runs of one device each are compared whatever it is called (rank 3 of a job has device 3). */
bool gm_compare_devices(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    struct gm_diff_device *rows = gm_arena_calloc(&c->arena, b->device_count + a->device_count, sizeof *rows);
    const bool are_single = b->device_count == 1 && a->device_count == 1;
    if (rows == NULL)
        return false;
    for (size_t i = 0, k = 0; i < b->device_count || k < a->device_count;) {
        int64_t x = i < b->device_count ? b->devices[i].device : INT64_MAX;
        int64_t y = k < a->device_count ? a->devices[k].device : INT64_MAX;
        bool takes_base = i < b->device_count && (are_single || k == a->device_count || x <= y);
        bool takes_after = k < a->device_count && (are_single || i == b->device_count || y <= x);
        rows[pair->device_count++] =
            (struct gm_diff_device){takes_base ? &b->devices[i++] : NULL, takes_after ? &a->devices[k++] : NULL};
    }
    pair->devices = rows;
    return true;
}
