/* SPDX-License-Identifier: Apache-2.0
 *
 * The peak of requested bytes. A block is live from its alloc to its free_completed. What was live before the trace is
 * known only in hindsight: blocks that are freed without an alloc, and blocks of the final segments without one. The
 * first pass follows the sum from an unknown start and finds the start on the way; where the peak is does not depend on
 * it. The second pass goes as far as the peak, to see what was live:
 *   peak = blocks with an alloc, live after the peak event
 *        + blocks freed after it without an alloc
 *        + blocks of the final segments without an alloc
 */
#include "analyze/state/categories.h"
#include "analyze/state/slices.h"
#include "analyze/timeline/live.h"
#include "analyze/timeline/timeline.h"

#include <stdlib.h>

/* Sums of a hostile file's sizes may pass 64 bits in between. */
__extension__ typedef __int128 gm_i128;

/* Blocks and their requested bytes. */
struct share {
    gm_i128 bytes;
    uint64_t blocks;
};

static void add(struct share *share, uint64_t bytes)
{
    share->bytes += bytes;
    share->blocks++;
}

struct walk {
    const struct gm_snapshot *snapshot;
    size_t first, count; /* of the device's events */
    int64_t device;
    struct gm_live live;    /* blocks with an alloc in the trace */
    gm_i128 live_bytes;     /* theirs */
    struct share unmatched; /* freed so far without an alloc */
};

static uint64_t bytes_of(uint64_t size)
{
    return size == GM_ABSENT ? 0 : size;
}

static bool step(struct walk *w, size_t event)
{
    const struct gm_events *e = &w->snapshot->events;
    struct gm_live_block block, before;
    switch (e->action[event]) {
    case GM_ACTION_ALLOC:
        block = (struct gm_live_block){e->addr[event], bytes_of(e->size[event]), e->stack[event], 1};
        if (!gm_live_put(&w->live, &block, &before))
            return false;
        w->live_bytes += block.requested;
        if (before.is_used) /* its free is not in the trace: two live blocks cannot share an address */
            w->live_bytes -= before.requested;
        return true;
    case GM_ACTION_FREE_COMPLETED:
    case GM_ACTION_FREE:
        if (gm_live_take(&w->live, e->addr[event], &block))
            w->live_bytes -= block.requested;
        else
            add(&w->unmatched, bytes_of(e->size[event]));
        return true;
    default:
        return true;
    }
}

/* What the first pass finds. */
struct found {
    size_t event;               /* the first one after which the sum is largest; `count`: before any */
    gm_i128 sum;                /* live_bytes - unmatched.bytes there */
    struct share unmatched;     /* freed later without an alloc */
    struct share *final_shares; /* per category: blocks of the final segments without an alloc */
};

static bool find_peak(struct found *found, struct walk *w, struct gm_classifier *classifier)
{
    found->event = w->count;
    for (size_t i = 0; i < w->count; i++) {
        if (!step(w, w->first + i))
            return false;
        gm_i128 sum = w->live_bytes - w->unmatched.bytes;
        if (sum > found->sum) {
            found->sum = sum;
            found->event = i;
            found->unmatched = w->unmatched;
        }
    }
    found->unmatched.bytes = w->unmatched.bytes - found->unmatched.bytes;
    found->unmatched.blocks = w->unmatched.blocks - found->unmatched.blocks;
    const struct gm_blocks *blocks = &w->snapshot->blocks;
    for (size_t b = 0; b < blocks->count; b++)
        if (blocks->state[b] != GM_BLOCK_INACTIVE && w->snapshot->segments.device[blocks->segment[b]] == w->device &&
            !gm_live_has(&w->live, blocks->address[b]))
            add(&found->final_shares[gm_classify(classifier, blocks->stack[b])], gm_block_requested(blocks, b));
    return true;
}

/* The second pass: shares of the blocks that are live after the first `events` events. */
static bool add_live(struct share *shares, struct walk *w, size_t events, struct gm_classifier *classifier)
{
    for (size_t i = 0; i < events; i++)
        if (!step(w, w->first + i))
            return false;
    for (size_t i = 0; w->live.slots != NULL && i <= w->live.mask; i++)
        if (w->live.slots[i].is_used)
            add(&shares[gm_classify(classifier, w->live.slots[i].stack)], w->live.slots[i].requested);
    return true;
}

/* ---- into the report -------------------------------------------------------------------------------------------- */

static uint64_t clamp(gm_i128 v)
{
    return v < 0 ? 0 : v >= (gm_i128)GM_REPORT_NONE ? GM_REPORT_NONE - 1 : (uint64_t)v;
}

static bool publish(struct gm_peak *peak, const struct share *shares, const struct gm_category_rules *rules,
                    struct gm_arena *arena)
{
    uint32_t categories = gm_category_count(rules);
    struct gm_amount *amounts = calloc(categories, sizeof *amounts);
    gm_i128 sum = 0;
    if (amounts == NULL)
        return false;
    for (uint32_t c = 0; c < categories; c++) {
        sum += shares[c].bytes;
        amounts[c] = (struct gm_amount){clamp(shares[c].bytes), shares[c].blocks};
    }
    peak->requested = clamp(sum);
    peak->categories = gm_slices_make(arena, rules, amounts, &peak->category_count);
    free(amounts);
    return peak->categories != NULL;
}

static bool analyze_device(struct gm_peak *peak, const struct gm_snapshot *s, size_t device,
                           const struct gm_category_rules *rules, struct gm_classifier *classifier,
                           struct gm_arena *arena)
{
    const struct gm_trace *trace = &s->traces[device];
    struct walk first = {.snapshot = s, .first = trace->first, .count = trace->count, .device = (int64_t)device};
    struct walk second = first;
    struct found found = {.final_shares = calloc(gm_category_count(rules), sizeof *found.final_shares)};
    bool ok = found.final_shares != NULL && find_peak(&found, &first, classifier);
    bool is_before = found.event == trace->count;
    struct share *shares = found.final_shares;
    ok = ok && add_live(shares, &second, is_before ? 0 : found.event + 1, classifier);
    if (ok) {
        /* Their stacks are not known: that of a free may be where it was freed. The last category has no stack. */
        struct share *no_stack = &shares[gm_category_count(rules) - 1];
        no_stack->bytes += found.unmatched.bytes;
        no_stack->blocks += found.unmatched.blocks;
        size_t row = trace->first + (is_before ? 0 : found.event);
        bool has_time = !is_before && s->events.time_us != NULL && s->events.time_us[row] >= 0;
        peak->event = is_before ? GM_REPORT_NONE : found.event;
        peak->time_us = has_time ? (uint64_t)s->events.time_us[row] : GM_REPORT_NONE;
        ok = publish(peak, shares, rules, arena);
    }
    free(shares);
    gm_live_free(&first.live);
    gm_live_free(&second.live);
    return ok;
}

enum gm_status gm_timeline_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                   const struct gm_category_rules *rules, struct gm_classifier *classifier,
                                   struct gm_error *err)
{
    struct gm_peak *peaks = gm_arena_calloc(&report->arena, report->device_count, sizeof *peaks);
    bool ok = peaks != NULL;
    for (size_t d = 0; ok && d < report->device_count; d++)
        if (report->devices[d].trace.events > 0)
            ok = analyze_device(&peaks[d], snapshot, (size_t)report->devices[d].device, rules, classifier,
                                &report->arena);
    if (!ok)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    report->peaks = peaks;
    return GM_OK;
}
