/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at free blocks through the space's map of them: they are few where live ones are many. Its order is that of a
 * hash, so only sums, maxima and rows with a total order are taken.
 */

#include "analyze/allocator/address_space.h"
#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include <stdlib.h>

/* ---- why cached bytes did not serve a request ------------------------------------------------------------------- */

/* Why cached bytes did not serve a request. The first of these that holds of a free block decides
 * (docs/fragmentation.md):
 *
 *   1. right pool and stream, and it is as large as the request      refused by a rule of the allocator
 *   2. an unsplit segment, or whole pages, of the default pools      could have gone back to the driver
 *   3. another pool                                                  wrong pool
 *   4. another stream                                                wrong stream
 *   5. what is left: right pool and stream, too small                hole too small
 *
 * Only 2 can hold of a part of a block. Private pools are left out there: while they are in use nothing of them goes
 * back. */

struct gm_unusable_sums gm_unusable_of(const struct gm_watch *watch, const struct gm_watch_look *look,
                                       const struct gm_history_pool *wanted)
{
    struct gm_unusable_sums sums = {0};
    uint64_t *by_reason = sums.by_reason;
    if (look->part_count == 0 && look->reserved != look->active) {
        for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
            by_reason[i] = GM_REPORT_NONE;
        sums.largest_hole = sums.right = GM_REPORT_NONE;
        return sums;
    }
    for (uint32_t i = 0; i < look->part_count; i++) {
        const struct gm_watch_part *part = &watch->parts.v[look->first_part + i];
        const struct gm_history_pool *pool = &watch->history->pools[part->pool];
        bool is_right_pool = gm_watch_is_pool(pool, wanted);
        if (is_right_pool && part->is_same_stream) {
            uint64_t whole = gm_history_pool_is_default(pool) ? part->whole_too_small : 0;
            by_reason[GM_UNUSABLE_FITS] += part->fits;
            by_reason[GM_UNUSABLE_WHOLE_SEGMENT] += whole;
            by_reason[GM_UNUSABLE_HOLE_TOO_SMALL] += part->cached - part->fits - whole;
            sums.right += part->cached;
            sums.largest_hole = part->largest > sums.largest_hole ? part->largest : sums.largest_hole;
        } else {
            uint64_t whole = gm_history_pool_is_default(pool) ? part->whole : 0;
            by_reason[GM_UNUSABLE_WHOLE_SEGMENT] += whole;
            by_reason[is_right_pool ? GM_UNUSABLE_WRONG_STREAM : GM_UNUSABLE_WRONG_POOL] += part->cached - whole;
        }
    }
    return sums;
}

const char *gm_site_or_null(struct gm_trace_pass *pass, struct gm_stack_id stack, bool *ok)
{
    const char *site = stack.v == 0 ? NULL : gm_names_site(pass->names, stack);
    *ok &= stack.v == 0 || site != NULL;
    return site;
}

uint64_t gm_time_between(const struct gm_history *h, uint32_t from, uint32_t to)
{
    uint64_t a = gm_history_time(h, from), b = gm_history_time(h, to);
    return a == GM_REPORT_NONE || b == GM_REPORT_NONE ? GM_REPORT_NONE : b > a ? b - a : 0;
}

/* ---- growths, and what they were for ---------------------------------------------------------------------------- */

enum { LOOK_AHEAD = 16 }; /* events: other threads' events may stand between a growth and its alloc */

/* The alloc whose block begins or ends in the new memory, or the oom that followed although pages had been mapped. */
static void find_request(const struct gm_history *h, const struct gm_rules *rules, struct gm_pool_growth *g)
{
    const struct gm_events *e = &h->snapshot->events;
    for (uint32_t i = g->end; i < h->count && i - g->end < LOOK_AHEAD; i++) {
        size_t row = h->first + i;
        uint64_t size = gm_event_bytes(e, row);
        bool is_same_stream = gm_rare_at(&e->stream, row) == g->stream;
        if (e->action[row] == GM_ACTION_ALLOC && is_same_stream && gm_event_addr(e, row) < g->to &&
            gm_sat_add(gm_event_addr(e, row), size > 0 ? size : 1) > g->from) {
            g->request = i;
            g->asked = gm_rules_round(rules, size);
            return;
        }
        if (e->action[row] == GM_ACTION_OOM && is_same_stream) {
            g->request = i;
            g->asked = size;
            return;
        }
    }
}

struct gm_pool_growth gm_growth_at(const struct gm_history *h, const struct gm_rules *rules, uint32_t first)
{
    const struct gm_events *e = &h->snapshot->events;
    struct gm_pool_growth g = {.first = first,
                               .end = first,
                               .from = UINT64_MAX,
                               .stream = gm_rare_at(&e->stream, h->first + first),
                               .request = GM_NEVER,
                               .asked = GM_REPORT_NONE};
    bool is_map = e->action[h->first + first] == GM_ACTION_SEGMENT_MAP;
    do {
        size_t row = h->first + g.end;
        uint64_t size = gm_event_bytes(e, row), to = gm_sat_add(gm_event_addr(e, row), size);
        g.bytes = gm_sat_add(g.bytes, size);
        g.from = gm_event_addr(e, row) < g.from ? gm_event_addr(e, row) : g.from;
        g.to = to > g.to ? to : g.to;
        g.end++;
    } while (is_map && g.end < h->count && e->action[h->first + g.end] == GM_ACTION_SEGMENT_MAP);
    g.bytes = g.bytes < GM_REPORT_NONE ? g.bytes : GM_REPORT_NONE - 1;
    find_request(h, rules, &g);
    return g;
}

uint64_t gm_watch_page(const struct gm_watch *watch, uint32_t pool)
{
    return watch->history->pools[pool].is_small ? GM_SMALL_SEGMENT : watch->rules.large_segment;
}

uint64_t gm_watch_releasable(const struct gm_watch *watch, const struct gm_space *space, uint32_t block)
{
    const struct gm_space_block *b = &space->blocks.v[block];
    if (!b->is_expandable)
        return b->prev == GM_SPACE_NONE && b->next == GM_SPACE_NONE ? b->size : 0;
    uint64_t page = gm_watch_page(watch, b->pool);
    if (page == 0 || b->size < page)
        return 0;
    uint32_t range = gm_space_range_of(space, b->address);
    if (range == GM_SPACE_NONE)
        return 0;
    uint64_t from = b->address - space->ranges.v[range].address;
    return gm_whole_units(from, from + b->size, page);
}

static size_t slots_of(const struct gm_space *space)
{
    return space->free_starts.slots == NULL ? 0 : space->free_starts.mask + 1;
}

/* All free blocks, in no order. */
#define FOR_EACH_FREE(space, block)                                                                                    \
    for (size_t slot_ = 0, end_ = slots_of(space); slot_ < end_; slot_++)                                              \
        for (uint32_t block = (space)->free_starts.slots[slot_].value,                                                 \
                      is_ = (space)->free_starts.slots[slot_].is_used;                                                 \
             is_ != 0; is_ = 0)

/* Work of a look at all free blocks: empty slots are read in a row, blocks are not. */
static uint64_t steps_of(const struct gm_space *space)
{
    return slots_of(space) / 8 + 2 * space->free_starts.count + 1;
}

/* ---- a request that found nothing -------------------------------------------------------------------------------- */

static void add_to_part(struct gm_watch *w, const struct gm_space *space, uint32_t block, uint64_t asked,
                        uint32_t stream)
{
    const struct gm_space_block *b = &space->blocks.v[block];
    struct gm_watch_part *part = &w->scratch[b->stream == stream].v[b->pool];
    uint64_t whole = gm_watch_releasable(w, space, block);
    part->cached += b->size;
    part->whole += whole;
    if (b->size >= asked)
        part->fits += b->size;
    else
        part->whole_too_small += whole;
    part->largest = b->size > part->largest ? b->size : part->largest;
}

/* Moves the parts in use from the scratch table behind those noted so far. */
static bool keep_parts(struct gm_watch *w, struct gm_watch_look *look)
{
    look->first_part = (uint32_t)w->parts.n;
    for (int same = 0; same < 2; same++)
        for (size_t pool = 0; pool < w->scratch[same].n; pool++) {
            struct gm_watch_part *part = &w->scratch[same].v[pool];
            if (part->cached == 0)
                continue;
            part->pool = (uint32_t)pool;
            part->is_same_stream = same != 0;
            w->has_no_memory |= !GM_VEC_PUSH(&w->parts, *part);
            *part = (struct gm_watch_part){0};
        }
    look->part_count = (uint32_t)w->parts.n - look->first_part;
    return !w->has_no_memory;
}

static bool look(struct gm_watch *w, const struct gm_space *space, uint64_t asked, uint32_t stream,
                 struct gm_watch_look *out)
{
    for (int same = 0; same < 2; same++)
        while (w->scratch[same].n < w->history->pool_count)
            if (!GM_VEC_PUSH(&w->scratch[same], (struct gm_watch_part){0})) {
                w->has_no_memory = true;
                return false;
            }
    FOR_EACH_FREE(space, block)
    add_to_part(w, space, block, asked, stream);
    return keep_parts(w, out);
}

static struct gm_watch_look levels_of(const struct gm_space *space, uint32_t event)
{
    return (struct gm_watch_look){
        .event = event, .reserved = space->reserved, .active = space->active, .pending = space->pending};
}

static void see_growth(struct gm_watch *w, const struct gm_space *space, uint32_t event)
{
    struct gm_watch_look row = levels_of(space, event);
    uint64_t steps = steps_of(space) + w->history->pool_count;
    if (w->growths.n == GM_WATCH_GROWTHS || event >= w->history->count)
        return;
    if (w->growth_steps + steps <= GM_WATCH_GROWTH_STEPS && w->parts.n < GM_WATCH_PARTS) {
        struct gm_pool_growth g = gm_growth_at(w->history, &w->rules, event);
        w->growth_steps += steps;
        look(w, space, g.asked, g.stream, &row);
    }
    w->has_no_memory |= !GM_VEC_PUSH(&w->growths, row);
}

const struct gm_watch_look *gm_watch_growth(const struct gm_watch *w, uint32_t event)
{
    size_t low = 0;
    GM_BISECT(low, w->growths.n, i, w->growths.v[i].event < event);
    return low < w->growths.n && w->growths.v[low].event == event ? &w->growths.v[low] : NULL;
}

/* ---- out of memory ---------------------------------------------------------------------------------------------- */

/* Of a hole's live neighbours the smaller one, which is cheaper to move; the lower one if they are equal. */
static uint32_t pinned_by(const struct gm_space *space, const struct gm_space_block *hole)
{
    const struct gm_space_block *below = hole->prev == GM_SPACE_NONE ? NULL : &space->blocks.v[hole->prev];
    const struct gm_space_block *above = hole->next == GM_SPACE_NONE ? NULL : &space->blocks.v[hole->next];
    if (below == NULL && above == NULL)
        return GM_NEVER;
    const struct gm_space_block *pin = below == NULL || (above != NULL && above->size < below->size) ? above : below;
    return pin->owner == GM_SPACE_NONE ? GM_NEVER : pin->owner;
}

static bool is_before(const struct gm_watch_hole *a, const struct gm_watch_hole *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->address < b->address;
}

static void offer_hole(struct gm_watch_oom *oom, const struct gm_watch_hole *hole)
{
    size_t at = oom->hole_count;
    if (at == GM_WATCH_HOLES && !is_before(hole, &oom->holes[at - 1]))
        return;
    at = at == GM_WATCH_HOLES ? at - 1 : at;
    oom->hole_count = at + 1;
    while (at > 0 && is_before(hole, &oom->holes[at - 1])) {
        oom->holes[at] = oom->holes[at - 1];
        at--;
    }
    oom->holes[at] = *hole;
}

struct gm_history_pool gm_watch_oom_pool(const struct gm_history *h, uint32_t event)
{
    const struct gm_snapshot *s = h->snapshot;
    return gm_history_pool_named(s, gm_rare_at(&s->events.pool, h->first + event),
                                 gm_event_size(&s->events, h->first + event) <= GM_SMALL_SIZE);
}

static void see_oom(struct gm_watch *w, const struct gm_space *space, uint32_t event)
{
    const struct gm_history *h = w->history;
    const struct gm_events *e = &h->snapshot->events;
    if (w->oom_count == GM_WATCH_OOMS || event >= h->count)
        return;
    struct gm_watch_oom *oom = &w->ooms[w->oom_count++];
    uint32_t stream = gm_rare_at(&e->stream, h->first + event);
    uint64_t asked = gm_event_size(e, h->first + event);
    struct gm_history_pool wanted = gm_watch_oom_pool(h, event);
    *oom = (struct gm_watch_oom){.look = levels_of(space, event)};
    look(w, space, asked, stream, &oom->look);
    FOR_EACH_FREE(space, block)
    {
        const struct gm_space_block *b = &space->blocks.v[block];
        if (b->stream != stream || b->size >= asked || !gm_watch_is_pool(&h->pools[b->pool], &wanted))
            continue;
        struct gm_watch_hole hole = {b->size, b->address, pinned_by(space, b)};
        offer_hole(oom, &hole);
    }
}

/* ---- regular samples --------------------------------------------------------------------------------------------- */

/* Whether `steps` more are within the share of `budget` that is due at `moment`. */
static bool is_due(const struct gm_watch *w, uint64_t spent, uint64_t steps, uint64_t budget, uint32_t moment)
{
    double share = w->history->count == 0 ? 1 : (double)moment / (double)w->history->count;
    return (double)(spent + steps) <= (double)budget * share;
}

void gm_watch_see_free(struct gm_watch_free *free, const struct gm_watch *w, const struct gm_space *space,
                       uint32_t block)
{
    free->whole += gm_watch_releasable(w, space, block);
    free->largest = gm_max(free->largest, space->blocks.v[block].size);
}

/* Who looks for pins sees free blocks, too. */
static void see_sample(struct gm_watch *w, const struct gm_space *space, uint32_t moment)
{
    const uint64_t steps = steps_of(space), blocks = space->blocks.n - space->unused.n + space->ranges.n;
    const bool is_sample = is_due(w, w->sample_steps, steps, GM_WATCH_SAMPLE_STEPS, moment);
    const bool has_pins = is_due(w, w->pin_steps, blocks, GM_WATCH_PIN_STEPS, moment);
    struct gm_watch_free free = {0};
    if (has_pins) {
        w->pin_steps += blocks;
        free = gm_watch_pins(w, space, moment);
    } else if (is_sample) {
        FOR_EACH_FREE(space, block)
        gm_watch_see_free(&free, w, space, block);
    }
    if (!is_sample)
        return;
    w->sample_steps += steps;
    const uint64_t cached = space->reserved - space->active;
    const struct gm_watch_sample sample = {
        .moment = moment, .cached = cached, .stranded = cached - free.whole, .largest_free = free.largest};
    w->has_no_memory |= !GM_VEC_PUSH(&w->samples, sample);
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void see(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment)
{
    struct gm_watch *w = self;
    if (w->has_no_memory)
        return;
    if (occasion == GM_OCCASION_OOM)
        see_oom(w, space, moment);
    else if (w->sees_only_ooms)
        return;
    else if (occasion == GM_OCCASION_GROWTH)
        see_growth(w, space, moment);
    else
        see_sample(w, space, moment);
}

struct gm_watch *gm_watch_new(struct gm_watcher *watcher, const struct gm_history *history,
                              const struct gm_snapshot *snapshot, bool sees_only_ooms)
{
    struct gm_watch *watch = calloc(1, sizeof *watch);
    *watcher =
        (struct gm_watcher){.self = watch, .see = see, .samples = sees_only_ooms ? 0 : 512, .counts = !sees_only_ooms};
    if (watch != NULL) {
        watch->history = history;
        watch->sees_only_ooms = sees_only_ooms;
        watch->rules = gm_settings_recorded(snapshot, NULL).rules;
    }
    return watch;
}

void gm_watch_free(struct gm_watch *watch)
{
    if (watch == NULL)
        return;
    GM_FREE_ALL(watch->parts.v, watch->scratch[0].v, watch->scratch[1].v, watch->growths.v, watch->samples.v, watch);
}
