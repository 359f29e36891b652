/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the forward pass: the reconciliation, and the address space beside the snapshot, block by block.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/snapshot/profile.h"
#include "analyze/timeline/history/reconstruct.h"

#include <stdlib.h>

static gm_i128 range_end(const struct gm_space_block *b)
{
    return (gm_i128)b->address + b->size;
}

/* The space's blocks in ascending order of address. NULL: no memory. */
static const struct gm_space_block **list_blocks(const struct gm_space *space, size_t *count)
{
    const struct gm_space_block **list = malloc((space->blocks.n + 1) * sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list != NULL && i < space->ranges.n; i++) {
        size_t first = n;
        for (uint32_t b = space->ranges.v[i].last; b != GM_SPACE_NONE; b = space->blocks.v[b].prev)
            list[n++] = &space->blocks.v[b];
        for (size_t low = first, high = n; low + 1 < high; low++) {
            const struct gm_space_block *swap = list[low];
            list[low] = list[--high];
            list[high] = swap;
        }
    }
    *count = n;
    return list;
}

static bool is_same(const struct gm_space_block *b, const struct gm_blocks *blocks, size_t row)
{
    return b->address == blocks->address[row] && b->size == blocks->size[row] &&
           b->use == gm_space_use_of(blocks->state[row]);
}

/* Walks the snapshot's blocks and the space's side by side. Blocks of a segment need not be in order in a lying file:
 * such a one is simply not found. */
static bool compare_blocks(struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    const struct gm_snapshot *s = h->snapshot;
    size_t n, at = 0;
    GM_FREED const struct gm_space_block **list = list_blocks(&t->space, &n);
    if (list == NULL)
        return false;
    for (size_t i = 0; i < t->final_count; i++) {
        uint32_t segment = t->finals[i].segment;
        size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
        while (at < n && list[at]->address < t->finals[i].from)
            at++;
        for (size_t row = first; row < end; row++) {
            while (at < n && list[at]->address < s->blocks.address[row] && range_end(list[at]) <= t->finals[i].to)
                at++;
            h->reconciliation.end_blocks++;
            if (at < n && is_same(list[at], &s->blocks, row)) {
                h->reconciliation.end_blocks_same++;
                at++;
            }
        }
    }
    return true;
}

static struct gm_levels snapshot_levels(const struct gm_reconstruction *t)
{
    const struct gm_snapshot *s = t->h->snapshot;
    struct gm_sums sums = {0};
    if (s->profile != NULL) /* it lists no segments, but may state what they sum to */
        sums.reserved = gm_profile_reserved(s->profile, t->h->device);
    for (size_t i = 0; i < s->segments.count; i++) {
        if (s->segments.device[i] != t->h->device)
            continue;
        sums.reserved += s->segments.total_size[i];
        size_t first = s->segments.block_first[i], end = first + s->segments.block_count[i];
        for (size_t b = first; b < end; b++) {
            if (s->blocks.state[b] == GM_BLOCK_INACTIVE)
                continue;
            sums.active += s->blocks.size[b];
            sums.requested += gm_block_requested(&s->blocks, b);
            if (s->blocks.state[b] == GM_BLOCK_ACTIVE_ALLOCATED)
                sums.allocated += s->blocks.size[b];
        }
    }
    return gm_sums_told(&sums);
}

/* The allocations that are there at `moment`, and what is reserved then. */
static struct gm_levels levels_at(const struct gm_history *h, uint32_t moment, gm_i128 reserved)
{
    struct gm_sums sums = {.reserved = reserved};
    for (size_t a = 0; a < h->allocation_count; a++)
        gm_sums_hold(&sums, h, a, moment);
    return gm_sums_told(&sums);
}

static void count_never_freed(const struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    gm_i128 bytes = 0, unsplit = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (h->freed[a] != GM_NEVER)
            continue;
        uint64_t rounded = gm_rules_round(&t->rules, gm_requested(h, a));
        unsplit += gm_block_bytes(h, a) > rounded ? gm_block_bytes(h, a) - rounded : 0;
        if (h->born[a] == 0)
            continue;
        h->reconciliation.never_freed_blocks++;
        bytes += gm_block_bytes(h, a);
    }
    h->reconciliation.never_freed_bytes = gm_clamp(bytes);
    h->reconciliation.unsplit_bytes = h->is_reconstructed ? gm_clamp(unsplit) : GM_REPORT_NONE;
}

/* Before event 0, of what is reserved at the end. */
static gm_i128 reserved_at_start(const struct gm_history *h, gm_i128 reserved)
{
    const struct gm_events *e = &h->snapshot->events;
    for (size_t i = 0; i < h->device_event_count; i++)
        reserved -= gm_reserved_by(e, h->first + h->device_events[i]);
    return reserved;
}

bool gm_reconstruct_end(struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    struct gm_reconciliation *out = &h->reconciliation;
    out->snapshot = snapshot_levels(t);
    h->reserved_at_start = reserved_at_start(h, out->snapshot.reserved);
    out->at_start = levels_at(h, 0, h->reserved_at_start);
    out->at_end = levels_at(h, (uint32_t)h->count, h->is_reconstructed ? t->space.reserved : out->snapshot.reserved);
    out->residual_active = gm_signed_gap(out->at_end.active, out->snapshot.active);
    out->residual_reserved = gm_signed_gap(out->at_end.reserved, out->snapshot.reserved);
    count_never_freed(t);
    out->first_time_us = out->last_time_us = GM_REPORT_NONE;
    if (h->count > 0) {
        out->first_time_us = gm_history_time(h, 0);
        out->last_time_us = gm_history_time(h, h->count - 1);
    }
    return !h->is_reconstructed || compare_blocks(t);
}
