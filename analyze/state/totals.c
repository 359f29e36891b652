/* SPDX-License-Identifier: Apache-2.0
 *
 * Totals: one walk over all blocks, summed per segment, then per device and over all.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/state/state_pass.h"

void gm_totals_add(struct gm_totals *to, const struct gm_totals *from)
{
    to->reserved = gm_sat_add(to->reserved, from->reserved);
    to->allocated = gm_sat_add(to->allocated, from->allocated);
    to->pending = gm_sat_add(to->pending, from->pending);
    to->active = gm_sat_add(to->active, from->active);
    to->requested = gm_sat_add(to->requested, from->requested);
    to->inactive = gm_sat_add(to->inactive, from->inactive);
    to->rounding = gm_sat_sub(to->active, to->requested);
    to->segments += from->segments;
    to->blocks += from->blocks;
    to->active_blocks += from->active_blocks;
    to->allocated_blocks += from->allocated_blocks;
    to->inactive_blocks += from->inactive_blocks;
}

static void add_active(struct gm_segment_sums *sums, const struct gm_blocks *blocks, size_t b)
{
    struct gm_totals *t = &sums->totals;
    uint64_t size = blocks->size[b], requested = gm_block_requested(blocks, b);
    t->active_blocks++;
    t->active = gm_sat_add(t->active, size);
    t->requested = gm_sat_add(t->requested, requested);
    sums->over_requested |= requested > size;
    sums->lacks_requested |= blocks->requested[b] == GM_ABSENT;
    if (blocks->state[b] == GM_BLOCK_ACTIVE_ALLOCATED) {
        t->allocated_blocks++;
        t->allocated = gm_sat_add(t->allocated, size);
        sums->allocated_requested = gm_sat_add(sums->allocated_requested, requested);
    } else {
        t->pending = gm_sat_add(t->pending, size);
    }
}

static void sum_segment(struct gm_segment_sums *sums, const struct gm_snapshot *s, size_t segment)
{
    const struct gm_blocks *blocks = &s->blocks;
    struct gm_totals *t = &sums->totals;
    size_t first = s->segments.block_first[segment], count = s->segments.block_count[segment];
    uint64_t at = s->segments.address[segment];
    *sums = (struct gm_segment_sums){.tiles = true};
    t->segments = 1;
    t->reserved = s->segments.total_size[segment];
    t->blocks = count;
    for (size_t b = first; b < first + count; b++) {
        uint64_t size = blocks->size[b];
        sums->tiles &= blocks->address[b] == at;
        at = gm_sat_add(at, size);
        sums->block_bytes = gm_sat_add(sums->block_bytes, size);
        if (blocks->state[b] == GM_BLOCK_INACTIVE) {
            t->inactive_blocks++;
            t->inactive = gm_sat_add(t->inactive, size);
        } else {
            add_active(sums, blocks, b);
        }
    }
    t->rounding = gm_sat_sub(t->active, t->requested);
}

static void sum_host(struct gm_report *report, const struct gm_snapshot *s)
{
    report->host_reserved = report->host_active = GM_REPORT_NONE;
    if (s->host_segments.count == 0)
        return;
    report->host_reserved = report->host_active = 0;
    for (size_t i = 0; i < s->host_segments.count; i++)
        report->host_reserved = gm_sat_add(report->host_reserved, s->host_segments.total_size[i]);
    for (size_t b = 0; b < s->host_blocks.count; b++)
        if (s->host_blocks.state[b] != GM_BLOCK_INACTIVE)
            report->host_active = gm_sat_add(report->host_active, s->host_blocks.size[b]);
}

void gm_pass_totals(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        struct gm_totals *totals = &pass->devices[d].totals;
        for (size_t i = device->first; i < device->first + device->count; i++) {
            sum_segment(&pass->sums[i], pass->snapshot, pass->order[i]);
            gm_totals_add(totals, &pass->sums[i].totals);
        }
        gm_totals_add(&pass->report->totals, totals);
    }
    sum_host(pass->report, pass->snapshot);
}
