/* SPDX-License-Identifier: Apache-2.0
 *
 * Categories, roles and pools of a summary: the devices' lists, equal names added up.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/compare/comparison_parts.h"
#include "analyze/compare/summary_work.h"

#include <stdlib.h>
#include <string.h>

struct collected GM_VEC(struct gm_slice);

GM_ORDERING(by_name, struct gm_slice, GM_BY(strcmp(a->name, b->name)) || GM_UP(color));

size_t gm_slices_merge(struct gm_slice *v, size_t count)
{
    size_t n = 0;
    GM_SORT(v, count, by_name);
    for (size_t i = 0; i < count; i++) {
        if (n > 0 && strcmp(v[n - 1].name, v[i].name) == 0) {
            v[n - 1].bytes = gm_known_add(v[n - 1].bytes, v[i].bytes);
            v[n - 1].blocks = gm_known_add(v[n - 1].blocks, v[i].blocks);
        } else {
            v[n++] = v[i];
        }
    }
    return n;
}

static bool collect(struct collected *all, const struct gm_slice *slices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!GM_VEC_PUSH(all, slices[i]))
            return false;
    return true;
}

/* Sorted, merged and copied into the summary; frees what was collected. */
static bool publish(struct gm_summary_work *work, struct collected *all, bool ok, struct gm_slices *out)
{
    const size_t n = ok ? gm_slices_merge(all->v, all->n) : 0;
    struct gm_slice *own = ok ? gm_arena_array(&work->summary->arena, all->v, n, sizeof *own) : NULL;
    ok = own != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = (own[i].name = gm_summary_copy(work, own[i].name)) != NULL;
    free(all->v);
    *out = (struct gm_slices){ok ? own : NULL, ok ? n : 0};
    return ok;
}

static bool of_end(struct gm_summary_work *work)
{
    const struct gm_report *report = &work->report;
    struct collected categories = {0}, roles = {0}, pools = {0}, reserved = {0};
    bool ok = collect(&categories, report->categories, report->category_count), pools_ok = true;
    ok = publish(work, &categories, ok, &work->summary->categories);
    if (ok && report->roles != NULL)
        ok = publish(work, &roles, collect(&roles, report->roles, report->role_count), &work->summary->roles);
    if (work->options->is_short)
        return ok;
    for (size_t d = 0; ok && d < report->device_count; d++)
        for (size_t i = 0; i < report->devices[d].pool_count && pools_ok; i++) {
            const struct gm_pool_row *row = &report->devices[d].pools[i];
            const struct gm_slice a = {row->name, 0, row->totals.allocated, row->totals.allocated_blocks};
            const struct gm_slice r = {row->name, 0, row->totals.reserved, row->totals.segments};
            pools_ok = collect(&pools, &a, 1) && collect(&reserved, &r, 1);
        }
    bool first = publish(work, &pools, ok && pools_ok, &work->summary->pools);
    return publish(work, &reserved, ok && pools_ok, &work->summary->pools_reserved) && first;
}

static bool collect_pools_at_peak(struct gm_summary_work *work, size_t d, struct collected *all)
{
    const struct gm_history *h = &work->kept.v[d].history;
    const uint32_t moment = gm_summary_peak_moment(work, d);
    GM_FREED struct gm_amount *amounts = calloc(h->pool_count + 1, sizeof *amounts);
    bool ok = amounts != NULL;
    for (size_t a = 0; ok && a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, moment))
            gm_amount_add(&amounts[gm_pool_number(h, a)], &(struct gm_amount){gm_requested(h, a), 1});
    for (size_t i = 0; ok && i < h->pool_count; i++) {
        const struct gm_slice slice = {gm_history_pool_name(&work->report.arena, &h->pools[i]), 0, amounts[i].bytes,
                                       amounts[i].blocks};
        ok = slice.name != NULL && (slice.blocks == 0 || collect(all, &slice, 1));
    }
    return ok;
}

static bool of_peak(struct gm_summary_work *work)
{
    const struct gm_report *report = &work->report;
    struct collected categories = {0}, roles = {0}, pools = {0};
    bool ok = true, has_roles = true, has_pools = true;
    for (size_t d = 0; ok && d < report->device_count; d++) {
        const struct gm_peak_detail *detail = &report->timelines[d].peak;
        has_roles = has_roles && detail->roles != NULL;
        has_pools = has_pools && report->timelines[d].reconciliation.is_reconstructed && !work->options->is_short;
        ok = collect(&categories, report->peaks[d].categories, report->peaks[d].category_count) &&
             collect(&roles, detail->roles, detail->roles == NULL ? 0 : detail->role_count) &&
             (!has_pools || collect_pools_at_peak(work, d, &pools));
    }
    bool done = publish(work, &categories, ok, &work->summary->categories_at_peak);
    done = publish(work, &roles, ok, &work->summary->roles_at_peak) && done;
    done = publish(work, &pools, ok, &work->summary->pools_at_peak) && done;
    if (!has_roles)
        work->summary->roles_at_peak = (struct gm_slices){NULL, 0};
    if (!has_pools)
        work->summary->pools_at_peak = (struct gm_slices){NULL, 0};
    return done;
}

bool gm_summary_slices(struct gm_summary_work *work)
{
    return of_end(work) && (!work->summary->has_trace || of_peak(work));
}
