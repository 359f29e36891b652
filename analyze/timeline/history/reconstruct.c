/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells every event of a trace to the address space, which splits and merges as the allocator did. An event that the
 * space contradicts is right where it can be (the newer of two overlapping blocks is the real one); what was given up
 * for it is counted.
 */
#include "analyze/timeline/history/reconstruct.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* ---- pools ------------------------------------------------------------------------------------------------------ */

static bool make_pools(struct gm_history *h)
{
    h->pool_of_id = calloc(2 * ((size_t)h->snapshot->pool_count + 2), sizeof *h->pool_of_id);
    return h->pool_of_id != NULL && gm_grow(&h->pools, &h->pool_capacity, 1, sizeof *h->pools);
}

uint32_t gm_reconstruct_pool(struct gm_reconstruction *t, uint32_t id, bool is_small)
{
    struct gm_history *h = t->h;
    const struct gm_snapshot *s = h->snapshot;
    struct gm_history_pool pool = {GM_ABSENT, GM_ABSENT, .is_small = is_small};
    if (id != GM_RECONSTRUCT_NO_POOL)
        pool = gm_history_pool_named(s, id, is_small);
    const size_t row = id == GM_RECONSTRUCT_NO_POOL             ? s->pool_count + (size_t)1
                       : gm_history_pool_is_said_default(&pool) ? 0
                                                                : id; /* the default one may be said or not */
    uint32_t *number = &h->pool_of_id[2 * row + is_small];
    if (*number == 0) {
        if (!gm_grow(&h->pools, &h->pool_capacity, h->pool_count + 1, sizeof *h->pools)) {
            t->has_no_memory = true;
            return 0;
        }
        h->pools[h->pool_count++] = pool;
        *number = (uint32_t)h->pool_count;
    }
    return *number - 1;
}

uint32_t gm_reconstruct_pool_of_segment(struct gm_reconstruction *t, size_t segment)
{
    const struct gm_snapshot *s = t->h->snapshot;
    struct gm_pool_id id = s->segments.pool[segment];
    bool is_small =
        s->segments.type[segment] == GM_SEGMENT_SMALL ||
        (s->segments.type[segment] == GM_SEGMENT_TYPE_ABSENT && s->segments.total_size[segment] == GM_SMALL_SEGMENT);
    return gm_reconstruct_pool(t, id.v, is_small);
}

/* The final segment that holds `address`, or UINT32_MAX. */
static uint32_t final_of(const struct gm_reconstruction *t, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, t->final_count, i, t->finals[i].from <= address);
    return low > 0 && address < t->finals[low - 1].to ? t->finals[low - 1].segment : UINT32_MAX;
}

/* Whether the pages of the segment event `row` are small ones. They are mapped one at a time, and large ones never in
 * that size; but many may go back at once. So it is as when they were mapped, or else as the snapshot has what lies
 * there. */
static bool are_small_pages(struct gm_reconstruction *t, size_t row, uint32_t final)
{
    const struct gm_segments *g = &t->h->snapshot->segments;
    const struct gm_events *e = &t->h->snapshot->events;
    const uint64_t most = ((uint64_t)t->h->count + 64) * 64;
    for (size_t i = row + 1; i-- > t->h->first && t->looked_at < most; t->looked_at++)
        if (e->action[i] == GM_ACTION_SEGMENT_MAP && gm_event_addr(e, row) - gm_event_addr(e, i) < gm_event_size(e, i))
            return gm_event_size(e, i) % t->rules.large_segment != 0;
    return final == UINT32_MAX || g->type[final] == GM_SEGMENT_TYPE_ABSENT
               ? gm_event_size(e, row) % t->rules.large_segment != 0
               : g->type[final] == GM_SEGMENT_SMALL;
}

uint32_t gm_reconstruct_pool_of_event(struct gm_reconstruction *t, size_t row, bool is_map)
{
    const struct gm_snapshot *s = t->h->snapshot;
    uint32_t id = gm_rare_at(&s->events.pool, row), final = final_of(t, gm_event_addr(&s->events, row));
    if (final != UINT32_MAX && (s->segments.stream[final].v != gm_rare_at(&s->events.stream, row) ||
                                (s->segments.is_expandable[final] == GM_TRUE) != is_map))
        final = UINT32_MAX;
    const bool is_small = is_map ? are_small_pages(t, row, final) : gm_event_size(&s->events, row) == GM_SMALL_SEGMENT;
    if (id != 0 || final == UINT32_MAX)
        return gm_reconstruct_pool(t, id, is_small);
    /* A segment of another size was another one, gone by the end: its kind is its own, only the pool's id is likely the
     * same. */
    if (!is_map && s->segments.total_size[final] == gm_event_size(&s->events, row))
        return gm_reconstruct_pool_of_segment(t, final);
    return gm_reconstruct_pool(t, s->segments.pool[final].v, is_small);
}

uint64_t gm_reconstruct_size(const struct gm_reconstruction *t, const struct gm_space_block *block, uint64_t rounded,
                             uint64_t available)
{
    bool is_small = t->h->pools[block->pool].is_small;
    bool is_split =
        gm_rules_split(&t->rules, is_small, block->is_expandable || t->is_expandable, rounded, available - rounded);
    return is_split ? rounded : available;
}

/* ---- allocations ------------------------------------------------------------------------------------------------ */

static void note(struct gm_reconstruction *t, const char *id, const char *what, uint32_t event, uint64_t bytes)
{
    gm_history_note(t->h, id, what, false, event, bytes);
}

/* Ends a block in the space that cannot be there any more; its allocation goes on until its own end. */
static void evict(struct gm_reconstruction *t, uint32_t block, uint32_t event)
{
    uint32_t owner = t->space.blocks.v[block].owner;
    note(t, "overlap", "blocks were still live where newer ones or freed segments are", event,
         t->space.blocks.v[block].size);
    t->block_of[owner] = GM_SPACE_NONE;
    gm_reconstruct_release(t, block, owner);
}

static bool is_free_above(const struct gm_reconstruction *t, uint32_t block)
{
    const uint32_t next = t->space.blocks.v[block].next;
    return next != GM_SPACE_NONE && t->space.blocks.v[next].use == GM_SPACE_FREE;
}

void gm_reconstruct_set(struct gm_reconstruction *t, uint32_t a, uint64_t size, uint32_t pool)
{
    t->has_no_memory |= !gm_number_put(&t->h->block, GM_HISTORY_SIZES, a, size) || !gm_history_set_pool(t->h, a, pool);
}

/* A block turns out to be larger or smaller than was thought; `size` is its real one. */
static void learn(struct gm_reconstruction *t, uint32_t block, uint64_t size)
{
    uint32_t owner = t->space.blocks.v[block].owner;
    uint64_t old = gm_block_bytes(t->h, owner);
    const bool had_free = is_free_above(t, block);
    enum gm_space_status status = gm_space_resize(&t->space, block, size);
    t->has_no_memory |= status == GM_SPACE_NO_MEMORY;
    if (status != GM_SPACE_OK)
        return;
    gm_reconstruct_count_learnt(t, block, old, is_free_above(t, block) - had_free);
    gm_reconstruct_set(t, owner, size, gm_pool_number(t->h, owner));
    t->attributed += (gm_i128)size - old;
    gm_history_note(t->h, "size-learnt", "block sizes were learnt from what was allocated beside them later", true,
                    GM_REPORT_NONE, size > old ? size - old : old - size);
}

/* A free block that begins at `address`, where there is none yet. GM_SPACE_NONE: no segment is there. */
static uint32_t make_start(struct gm_reconstruction *t, uint32_t event, uint64_t address)
{
    struct gm_history *h = t->h;
    for (int tries = 0; tries < 4 && !t->has_no_memory; tries++) {
        uint32_t at = gm_space_free_at(&t->space, address);
        if (at == GM_SPACE_NONE)
            at = gm_space_block_of(&t->space, address);
        if (at == GM_SPACE_NONE)
            return GM_SPACE_NONE;
        const struct gm_space_block *b = &t->space.blocks.v[at];
        if (b->use == GM_SPACE_FREE && b->address == address)
            return at;
        if (b->use != GM_SPACE_FREE) {
            uint64_t rounded = gm_rules_round(&t->rules, gm_requested(h, b->owner));
            if (gm_final_block(h, b->owner) == GM_NO_BLOCK && address - b->address >= rounded && rounded < b->size)
                learn(t, at, rounded);
            else
                evict(t, at, event);
            continue;
        }
        const struct gm_space_block *below = b->prev == GM_SPACE_NONE ? NULL : &t->space.blocks.v[b->prev];
        bool has_slack = below != NULL && h->born[below->owner] == 0 &&
                         gm_final_block(h, below->owner) == GM_NO_BLOCK && !b->is_expandable &&
                         !h->pools[b->pool].is_small && address - b->address <= GM_SMALL_SIZE;
        if (has_slack) {
            learn(t, b->prev, below->size + (address - b->address));
            continue;
        }
        note(t, "not-at-block-start", "blocks were allocated inside a free block instead of at its start", event,
             address - b->address);
        at = gm_space_cut(&t->space, at, address - b->address);
        t->has_no_memory |= at == GM_SPACE_NONE;
        return at;
    }
    return GM_SPACE_NONE;
}

static void put_outside(struct gm_reconstruction *t, uint32_t a, uint64_t rounded)
{
    gm_reconstruct_set(t, a, rounded, gm_reconstruct_pool(t, GM_RECONSTRUCT_NO_POOL, rounded <= GM_SMALL_SIZE));
    t->block_of[a] = GM_SPACE_NONE;
    t->outside += rounded;
}

/* The size that the snapshot gives a block which is live at its end; `size` is what the rules say. */
static uint64_t trust_snapshot(struct gm_reconstruction *t, uint32_t a, uint64_t size, uint64_t available)
{
    struct gm_history *h = t->h;
    const uint32_t block = gm_final_block(h, a);
    if (block == GM_NO_BLOCK)
        return size;
    uint64_t real = h->snapshot->blocks.size[block];
    if (real == size || real == 0 || real > available)
        return size;
    h->reconciliation.sizes_from_snapshot++;
    h->reconciliation.sizes_from_snapshot_bytes =
        gm_clamp((gm_i128)h->reconciliation.sizes_from_snapshot_bytes + (real > size ? real - size : size - real));
    return real;
}

static void tell_alloc(struct gm_reconstruction *t, uint32_t event, uint32_t a)
{
    struct gm_history *h = t->h;
    uint64_t address = gm_event_addr(&h->snapshot->events, h->first + event);
    uint64_t rounded = gm_rules_round(&t->rules, gm_requested(h, a));
    uint32_t at = gm_space_free_at(&t->space, address);
    if (at == GM_SPACE_NONE)
        at = make_start(t, event, address);
    if (at == GM_SPACE_NONE) {
        put_outside(t, a, rounded);
        t->attributed += rounded;
        note(t, "outside-segments", "blocks were allocated outside all segments", event, rounded);
        return;
    }
    while (t->space.blocks.v[at].size < rounded && !t->has_no_memory) { /* what is live above it cannot be there */
        uint32_t above = t->space.blocks.v[at].next;
        if (above == GM_SPACE_NONE)
            break;
        evict(t, above, event);
        at = gm_space_free_at(&t->space, address);
    }
    if (t->has_no_memory)
        return;
    const struct gm_space_block *b = &t->space.blocks.v[at];
    uint64_t size = b->size;
    if (rounded > size)
        note(t, "does-not-fit", "blocks are larger than the rest of their segment", event, rounded - size);
    else
        size = gm_reconstruct_size(t, b, rounded, size);
    size = trust_snapshot(t, a, size, b->size);
    gm_reconstruct_set(t, a, size, b->pool);
    t->attributed += size;
    const uint64_t before = b->size;
    const bool was_split = b->prev != GM_SPACE_NONE || b->next != GM_SPACE_NONE;
    t->block_of[a] = gm_space_take(&t->space, at, size, a);
    t->has_no_memory |= t->block_of[a] == GM_SPACE_NONE;
    if (!t->has_no_memory)
        gm_reconstruct_count_take(t, a, before, was_split);
}

static void tell_free(struct gm_reconstruction *t, uint32_t a)
{
    t->attributed -= gm_block_bytes(t->h, a);
    if (t->block_of[a] != GM_SPACE_NONE)
        gm_reconstruct_release(t, t->block_of[a], a);
    else if (t->h->pools[gm_pool_number(t->h, a)].id_first == GM_ABSENT)
        t->outside -= gm_block_bytes(t->h, a);
    t->block_of[a] = GM_SPACE_NONE;
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

static void keep_segment(struct gm_reconstruction *t, uint32_t event, uint32_t pool, uint32_t stream)
{
    struct gm_history *h = t->h;
    if (gm_grow(&h->segments, &t->segment_capacity, h->segment_count + 1, sizeof *h->segments))
        h->segments[h->segment_count++] = (struct gm_history_segment){event, stream, pool};
    else
        t->has_no_memory = true;
}

static void tell_map(struct gm_reconstruction *t, uint32_t event, bool is_map)
{
    struct gm_history *h = t->h;
    const struct gm_events *e = &h->snapshot->events;
    size_t row = h->first + event;
    uint32_t pool = gm_reconstruct_pool_of_event(t, row, is_map);
    enum gm_space_status status = gm_space_map(&t->space, gm_event_addr(e, row), gm_event_size(e, row),
                                               gm_rare_at(&e->stream, row), pool, is_map);
    t->has_no_memory |= status == GM_SPACE_NO_MEMORY;
    keep_segment(t, event, pool, gm_rare_at(&e->stream, row));
    if (status == GM_SPACE_OK)
        gm_reconstruct_count_segment(t, pool, gm_event_size(e, row), is_map, 1);
    if (status == GM_SPACE_CONFLICT)
        note(t, "segment-overlap", "segments were allocated where there is one already", event, gm_event_size(e, row));
    if (h->pools[pool].id_first == 0 && h->pools[pool].id_second == 0)
        t->is_expandable = is_map;
}

static void tell_unmap(struct gm_reconstruction *t, uint32_t event)
{
    struct gm_history *h = t->h;
    size_t row = h->first + event;
    uint64_t address = gm_event_addr(&h->snapshot->events, row), size = gm_event_size(&h->snapshot->events, row);
    uint32_t range = gm_space_range_of(&t->space, address);
    const struct gm_space_block *in = range == GM_SPACE_NONE ? NULL : &t->space.blocks.v[t->space.ranges.v[range].last];
    bool is_unmap = h->snapshot->events.action[row] == GM_ACTION_SEGMENT_UNMAP;
    const uint32_t pool = in != NULL ? in->pool : gm_reconstruct_pool_of_event(t, row, is_unmap);
    keep_segment(t, event, pool, in != NULL ? in->stream : gm_rare_at(&h->snapshot->events.stream, row));
    enum gm_space_status status = gm_space_unmap(&t->space, address, size);
    for (uint64_t at = address; status == GM_SPACE_CONFLICT && size <= UINT64_MAX - address && at < address + size;) {
        uint32_t block = gm_space_block_of(&t->space, at); /* what is live in it cannot be there */
        if (block == GM_SPACE_NONE)
            break;
        uint64_t end = t->space.blocks.v[block].address + t->space.blocks.v[block].size;
        if (t->space.blocks.v[block].use != GM_SPACE_FREE)
            evict(t, block, event);
        if (t->has_no_memory)
            return;
        at = end;
        if (at >= address + size)
            status = gm_space_unmap(&t->space, address, size);
    }
    t->has_no_memory |= status == GM_SPACE_NO_MEMORY;
    if (status == GM_SPACE_OK)
        gm_reconstruct_count_segment(t, pool, size, is_unmap, -1);
    if (status == GM_SPACE_CONFLICT)
        note(t, "segment-unknown", "freed segments are not among the known ones", event, size);
}

/* ---- the trace -------------------------------------------------------------------------------------------------- */

static void see(struct gm_reconstruction *t, enum gm_occasion occasion, uint32_t moment)
{
    if (t->watcher != NULL)
        t->watcher->see(t->watcher->self, occasion, &t->space, moment);
}

/* Segment events, which are not about an allocation, and what is to be seen before they happen. */
static void tell_segment(struct gm_reconstruction *t, uint32_t event)
{
    const uint8_t *action = t->h->snapshot->events.action + t->h->first;
    switch (action[event]) {
    case GM_ACTION_SEGMENT_ALLOC:
        see(t, GM_OCCASION_GROWTH, event);
        tell_map(t, event, false);
        break;
    case GM_ACTION_SEGMENT_MAP:
        if (event == 0 || action[event - 1] != GM_ACTION_SEGMENT_MAP)
            see(t, GM_OCCASION_GROWTH, event);
        tell_map(t, event, true);
        break;
    case GM_ACTION_SEGMENT_FREE:
    case GM_ACTION_SEGMENT_UNMAP:
        tell_unmap(t, event);
        break;
    case GM_ACTION_OOM:
        see(t, GM_OCCASION_OOM, event);
        break;
    default:
        break;
    }
}

static void check_residual(struct gm_reconstruction *t)
{
    const gm_i128 residual = t->attributed - t->outside - t->space.active, worst = t->h->reconciliation.worst_residual;
    if (residual != 0 && (residual < 0 ? -residual : residual) > (worst < 0 ? -worst : worst))
        t->h->reconciliation.worst_residual = gm_clamp_signed(residual);
}

/* Steps in the space. */
static uint64_t budget_of(const struct gm_history *h)
{
    return ((uint64_t)h->count + h->allocation_count) * 64 + (UINT64_C(1) << 22);
}

/* Follows all events. false: gave up, for want of memory or because too much contradicts itself. */
static bool tell_events(struct gm_reconstruction *t)
{
    struct gm_history *h = t->h;
    const uint64_t budget = budget_of(h);
    size_t stride = t->watcher == NULL || t->watcher->samples == 0 ? h->count + 1 : h->count / t->watcher->samples + 1;
    size_t next_sample = stride;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    while (gm_walk_next(&walk, &c)) {
        if (c.kind != GM_CHANGE_ALLOC)
            gm_reconstruct_keep_peak(t);
        if (c.kind == GM_CHANGE_LET_GO && walk.event < next_sample && gm_walk_skip_free(&walk, c.allocation))
            c.kind = GM_CHANGE_FREE;
        switch (c.kind) {
        case GM_CHANGE_ALLOC:
            tell_alloc(t, c.event, c.allocation);
            h->stats_peak_moment = t->is_at_peak ? c.event + 1 : h->stats_peak_moment;
            break;
        case GM_CHANGE_LET_GO:
            if (t->block_of[c.allocation] != GM_SPACE_NONE) {
                gm_reconstruct_count_let_go(t, t->block_of[c.allocation]);
                gm_space_let_go(&t->space, t->block_of[c.allocation]);
            }
            break;
        case GM_CHANGE_FREE:
            tell_free(t, c.allocation);
            break;
        default:
            tell_segment(t, c.event);
            break;
        }
        check_residual(t);
        if (t->has_no_memory || t->space.work > budget)
            return false;
        if (walk.event >= next_sample) {
            see(t, GM_OCCASION_SAMPLE, walk.event);
            next_sample += stride;
        }
    }
    gm_reconstruct_keep_peak(t);
    return true;
}

/* false: no memory. */
static bool give_up(struct gm_history *h, const char *reason)
{
    gm_number_free(&h->block);
    h->is_reconstructed = h->reconciliation.is_reconstructed = false;
    h->segment_count = 0;
    h->reconciliation.reason = reason;
    return gm_number_copy(&h->block, &h->requested, h->allocation_count);
}

static bool has_segments(const struct gm_reconstruction *t)
{
    if (t->final_count > 0 || t->h->snapshot->profile != NULL) /* that has sums of segments, and no addresses */
        return t->final_count > 0;
    const uint8_t *action = t->h->snapshot->events.action + t->h->first;
    bool has_growths = false;
    for (size_t i = 0; !has_growths && i < t->h->device_event_count; i++)
        has_growths = gm_action_is_growth(action[t->h->device_events[i]]);
    return has_growths;
}

GM_ORDERING(by_address, struct gm_final_range, GM_UP(from) || GM_UP(segment));

static bool list_finals(struct gm_reconstruction *t)
{
    const struct gm_segments *g = &t->h->snapshot->segments;
    size_t kept = 0;
    t->finals = malloc((g->count + 1) * sizeof *t->finals);
    if (t->finals == NULL)
        return false;
    for (size_t i = 0; i < g->count; i++)
        if (g->device[i] == t->h->device && g->total_size[i] > 0 && g->total_size[i] <= UINT64_MAX - 8 - g->address[i])
            t->finals[t->final_count++] =
                (struct gm_final_range){g->address[i], g->address[i] + g->total_size[i], (uint32_t)i};
    GM_SORT(t->finals, t->final_count, by_address);
    for (size_t i = 0; i < t->final_count; i++) {
        if (kept == 0 || t->finals[kept - 1].to <= t->finals[i].from)
            t->finals[kept++] = t->finals[i];
        else
            gm_history_note(t->h, "segments-overlap", "segments of the snapshot overlap others", false, GM_REPORT_NONE,
                            g->total_size[t->finals[i].segment]);
    }
    t->final_count = kept;
    return true;
}

bool gm_history_reconstruct(struct gm_history *h, const struct gm_watcher *watcher)
{
    const struct gm_conf conf = gm_settings_recorded(h->snapshot, NULL);
    struct gm_reconstruction t = {.h = h,
                                  .rules = conf.rules,
                                  .is_expandable = conf.expandable_segments,
                                  .watcher = watcher,
                                  .counts = watcher != NULL && watcher->counts};
    h->is_reconstructed = h->reconciliation.is_reconstructed = true;
    t.block_of = malloc((h->allocation_count + 1) * sizeof *t.block_of);
    h->pool = calloc(h->allocation_count + 1, sizeof *h->pool);
    h->final_pool = calloc(h->snapshot->segments.count + 1, sizeof *h->final_pool);
    bool ok = t.block_of != NULL && h->pool != NULL && h->final_pool != NULL && make_pools(h) &&
              gm_number_copy(&h->block, &h->requested, h->allocation_count) &&
              (watcher == NULL || gm_space_keep_segments(&t.space));
    if (ok)
        gm_reconstruct_pool(&t, 0, false);
    ok = ok && list_finals(&t);
    if (ok && !has_segments(&t)) {
        ok = give_up(h, h->snapshot->profile == NULL ? "the file lists no segments of this device"
                                                     : "a profiler's trace lists no segments");
    } else if (ok && gm_reconstruct_begin(&t)) {
        gm_reconstruct_count_start(&t);
        bool is_told = tell_events(&t);
        ok = !t.has_no_memory;
        if (ok && !is_told)
            ok = give_up(h, "the events contradict the segments so often that following them was given up");
    } else {
        ok = false;
    }
    ok = ok && gm_reconstruct_end(&t);
    gm_space_free(&t.space);
    GM_FREE_ALL(t.finals, t.block_of);
    return ok;
}

bool gm_reconstruct_foresee(struct gm_history *h)
{
    const struct gm_conf conf = gm_settings_recorded(h->snapshot, NULL);
    struct gm_reconstruction t = {.h = h, .rules = conf.rules, .is_expandable = conf.expandable_segments};
    h->final_pool = calloc(h->snapshot->segments.count + 1, sizeof *h->final_pool);
    bool ok = h->final_pool != NULL && make_pools(h);
    if (ok)
        gm_reconstruct_pool(&t, 0, false);
    ok = ok && list_finals(&t) && has_segments(&t) && gm_reconstruct_segments(&t);
    for (size_t i = 0; ok && i < h->device_event_count; i++) {
        tell_segment(&t, h->device_events[i]);
        ok = !t.has_no_memory && t.space.work <= budget_of(h);
    }
    h->is_reconstructed = ok;
    gm_space_free(&t.space);
    free(t.finals);
    return ok;
}

bool gm_history_segments_at_start(struct gm_history *h, struct gm_space *space)
{
    struct gm_history scratch = *h; /* what does not fit has been counted before; several threads may ask at once */
    struct gm_reconstruction t = {.h = &scratch, .rules = gm_settings_recorded(h->snapshot, NULL).rules};
    size_t n = h->snapshot->segments.count;
    scratch.final_pool = calloc(n + 1, sizeof *scratch.final_pool);
    scratch.pools = NULL;
    scratch.pool_capacity = 0;
    bool ok = scratch.final_pool != NULL && make_pools(&scratch) &&
              gm_grow(&scratch.pools, &scratch.pool_capacity, h->pool_count + 1, sizeof *scratch.pools);
    if (ok) {
        memcpy(scratch.pools, h->pools, h->pool_count * sizeof *h->pools);
        memcpy(scratch.pool_of_id, h->pool_of_id, 2 * ((size_t)h->snapshot->pool_count + 2) * sizeof *h->pool_of_id);
    }
    ok = ok && list_finals(&t) && gm_reconstruct_segments(&t);
    if (ok && scratch.pool_count > h->pool_count) { /* only if the reconstruction did not get as far as this */
        struct gm_history before = *h;
        h->pools = scratch.pools;
        h->pool_count = scratch.pool_count;
        h->pool_capacity = scratch.pool_capacity;
        h->pool_of_id = scratch.pool_of_id;
        h->final_pool = scratch.final_pool;
        scratch.pools = before.pools;
        scratch.pool_of_id = before.pool_of_id;
        scratch.final_pool = before.final_pool;
    }
    GM_FREE_ALL(scratch.pools, scratch.pool_of_id, scratch.final_pool, t.finals);
    *space = t.space;
    return ok;
}
