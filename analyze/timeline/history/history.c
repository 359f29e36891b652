/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events belong to one allocation. Block bytes and pools come after (reconstruct.c).
 */
#include "analyze/timeline/history/history.h"

#include "analyze/base/address_map.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/filling.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/history/reconstruct.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

/* While events are paired. */
struct pairing {
    struct gm_history *h;
    size_t capacity; /* of the columns */
    size_t replaced_capacity, other_capacity, device_capacity;
    struct gm_address_map open;                    /* address to allocation: not freed so far */
    uint64_t same_stacks, other_stacks;            /* frees with the stack of their alloc, or another */
    bool has_free_requested, lacks_free_requested; /* of blocks allocated in the trace */
};

/* Counts something that does not fit. `id` and `what` are literals. */
void gm_history_note(struct gm_history *h, const char *id, const char *what, bool is_expected, uint64_t event,
                     uint64_t bytes)
{
    size_t i = 0, most = sizeof h->disagreements / sizeof *h->disagreements;
    while (i < h->reconciliation.disagreement_count && h->disagreements[i].id != id)
        i++;
    if (i == most)
        return; /* there are fewer kinds than rows */
    struct gm_disagreement *d = &h->disagreements[i];
    if (i == h->reconciliation.disagreement_count) {
        *d = (struct gm_disagreement){.id = id, .what = what, .first_event = event, .is_expected = is_expected};
        h->reconciliation.disagreement_count++;
    }
    d->count++;
    d->bytes = gm_sat_add(d->bytes, bytes);
}

#define ALLOCATION_COLUMNS(X) X(born) X(wide_let_go) X(freed) X(requested.near)
#define HAS_FINAL (GM_NEVER - 1) /* in `open`: an allocation whose final block was found; no allocation's number */

static bool reserve(struct pairing *p, size_t need)
{
    struct gm_history *h = p->h;
    size_t capacity = p->capacity;
    if (need <= p->capacity)
        return true;
#define GROW(column) (capacity = p->capacity, gm_grow(&h->column, &capacity, need, sizeof *h->column)) &&
    if (need >= HAS_FINAL || !(ALLOCATION_COLUMNS(GROW) true))
        return false;
    p->capacity = capacity;
    return true;
}

static bool add_other(struct pairing *p, uint32_t a, uint32_t stack, uint32_t final_block)
{
    struct gm_history *h = p->h;
    if (!gm_grow(&h->others, &p->other_capacity, h->other_count + 1, sizeof *h->others))
        return false;
    h->others[h->other_count++] = (struct gm_history_other){a, stack, final_block};
    return true;
}

/* A new allocation, or GM_NEVER if there is no memory. */
static uint32_t add(struct pairing *p, uint32_t born, uint64_t requested)
{
    struct gm_history *h = p->h;
    size_t a = h->allocation_count;
    if ((a == p->capacity && !reserve(p, a + 1)) || !gm_number_put(&h->requested, GM_HISTORY_SIZES, a, requested) ||
        (born == 0 && !add_other(p, (uint32_t)a, 0, GM_NO_BLOCK)))
        return GM_NEVER;
    h->born[a] = born;
    h->wide_let_go[a] = h->freed[a] = GM_NEVER;
    h->allocation_count++;
    return (uint32_t)a;
}

static bool replace(struct pairing *p, uint32_t event, uint32_t a)
{
    struct gm_history *h = p->h;
    if (!gm_grow(&h->replaced, &p->replaced_capacity, h->replaced_count + 1, sizeof *h->replaced))
        return false;
    h->replaced[h->replaced_count++] = (struct gm_history_replaced){event, a};
    h->freed[a] = event + 1;
    h->wide_let_go[a] = h->wide_let_go[a] < event + 1 ? h->wide_let_go[a] : event + 1;
    gm_history_note(h, "free-missing", "allocations ended without a free, when their address was allocated again",
                    false, event, gm_requested(h, a));
    return true;
}

/* A block that was there at moment 0 and of which only a free_requested is known: it was never live as far as the
 * contract's rule can tell (neither freed to completion nor active at the end). */
static void forget(struct gm_history *h, uint32_t a)
{
    h->wide_let_go[a] = h->freed[a] = 0;
    gm_history_note(h, "free-never-completed",
                    "frees of blocks older than the trace were neither completed nor are pending in the snapshot",
                    false, GM_REPORT_NONE, gm_requested(h, a));
}

static bool pair_alloc(struct pairing *p, uint32_t i, size_t row)
{
    const struct gm_events *e = &p->h->snapshot->events;
    const uint64_t address = gm_event_addr(e, row);
    uint32_t a = add(p, i + 1, gm_event_bytes(e, row)), before;
    if (a == GM_NEVER || !gm_map_put(&p->open, address, a, &before))
        return false;
    p->h->of_event[i] = a;
    p->h->odd_allocs += address % GM_MIN_BLOCK != 0;
    if (before == GM_MAP_NONE)
        return true;
    if (p->h->born[before] == 0 && p->h->freed[before] == GM_NEVER) {
        forget(p->h, before);
        return true;
    }
    return replace(p, i, before);
}

static bool pair_free_requested(struct pairing *p, uint32_t i, size_t row)
{
    struct gm_history *h = p->h;
    const struct gm_events *e = &h->snapshot->events;
    uint32_t a = gm_map_get(&p->open, gm_event_addr(e, row)), before;
    if (a == GM_MAP_NONE) {
        a = add(p, 0, gm_event_bytes(e, row));
        if (a == GM_NEVER || !gm_map_put(&p->open, gm_event_addr(e, row), a, &before))
            return false;
    } else if (h->wide_let_go[a] != GM_NEVER) {
        gm_history_note(h, "freed-twice", "frees were requested of blocks that were freed already", false, i,
                        gm_event_bytes(e, row));
        return true;
    }
    h->wide_let_go[a] = i + 1;
    h->of_event[i] = a;
    return true;
}

static bool pair_free_completed(struct pairing *p, uint32_t i, size_t row, bool is_both)
{
    struct gm_history *h = p->h;
    const struct gm_events *e = &h->snapshot->events;
    uint32_t a = gm_map_take(&p->open, gm_event_addr(e, row));
    if (a == GM_MAP_NONE) {
        a = add(p, 0, gm_event_bytes(e, row));
        if (a == GM_NEVER)
            return false;
        if (!is_both)
            h->wide_let_go[a] = 0; /* its free was requested before: it was pending at moment 0 */
    } else if (h->wide_let_go[a] == GM_NEVER && !is_both) {
        p->lacks_free_requested |= h->born[a] > 0;
    }
    if (h->born[a] == 0)
        gm_history_note(h, "free-without-alloc", "frees had no alloc in the trace: blocks older than it", true, i,
                        gm_event_bytes(e, row));
    else if (gm_event_stack(e, row).v != 0 && gm_event_stack(e, h->first + h->born[a] - 1).v != 0)
        ++*(gm_event_stack(e, row).v == gm_event_stack(e, h->first + h->born[a] - 1).v ? &p->same_stacks
                                                                                       : &p->other_stacks);
    h->of_event[i] = a;
    h->freed[a] = i + 1;
    if (h->wide_let_go[a] == GM_NEVER)
        h->wide_let_go[a] = i + 1;
    return true;
}

static bool keep_device_event(struct pairing *p, uint32_t i)
{
    struct gm_history *h = p->h;
    if (!gm_grow(&h->device_events, &p->device_capacity, h->device_event_count + 1, sizeof *h->device_events))
        return false;
    h->device_events[h->device_event_count++] = i;
    return true;
}

static bool pair_events(struct pairing *p)
{
    struct gm_history *h = p->h;
    const struct gm_events *e = &h->snapshot->events;
    for (size_t i = 0; i < h->count; i++) {
        size_t row = h->first + i;
        bool ok = true;
        h->of_event[i] = GM_NEVER;
        switch (e->action[row]) {
        case GM_ACTION_ALLOC:
            ok = pair_alloc(p, (uint32_t)i, row);
            break;
        case GM_ACTION_FREE_REQUESTED:
            ok = pair_free_requested(p, (uint32_t)i, row);
            break;
        case GM_ACTION_FREE_COMPLETED:
        case GM_ACTION_FREE:
            ok = pair_free_completed(p, (uint32_t)i, row, e->action[row] == GM_ACTION_FREE);
            break;
        default:
            ok = !gm_action_is_of_device(e->action[row]) || keep_device_event(p, (uint32_t)i);
            break;
        }
        if (!ok)
            return false;
    }
    return true;
}

GM_ORDERING(by_allocation, struct gm_history_other, GM_UP(allocation));

/* Without jumps, for which half it is in nothing foretells. */
static struct gm_history_other *find_other(const struct gm_history *h, size_t count, size_t a)
{
    struct gm_history_other *from = h->others;
    for (size_t n = count; n > 1; n -= n / 2)
        from += (from[n / 2].allocation <= a) * (n / 2);
    return count > 0 && from->allocation == a ? from : NULL;
}

const struct gm_history_other *gm_history_other(const struct gm_history *h, size_t a)
{
    if (h->others_of == NULL) /* not all are known yet */
        return find_other(h, h->other_count, a);
    const struct gm_history_others_of *of = &h->others_of[a / 64];
    const uint64_t bit = UINT64_C(1) << a % 64;
    return (of->are & bit) == 0 ? NULL : &h->others[of->before + (size_t)__builtin_popcountll(of->are & (bit - 1))];
}

static bool file_others(struct gm_history *h)
{
    const size_t n = h->allocation_count / 64 + 1;
    h->others_of = calloc(n, sizeof *h->others_of);
    for (size_t i = 0; h->others_of != NULL && i < h->other_count; i++)
        h->others_of[h->others[i].allocation / 64].are |= UINT64_C(1) << h->others[i].allocation % 64;
    for (size_t i = 1; h->others_of != NULL && i < n; i++)
        h->others_of[i].before = h->others_of[i - 1].before + (uint32_t)__builtin_popcountll(h->others_of[i - 1].are);
    return h->others_of != NULL;
}

/* The snapshot's active blocks: ends of allocations that are still open, or allocations older than the trace. */
static bool pair_final(struct pairing *p)
{
    struct gm_history *h = p->h;
    const struct gm_snapshot *s = h->snapshot;
    const size_t older = h->other_count;
    for (size_t b = 0; b < s->blocks.count; b++) {
        if (s->blocks.state[b] == GM_BLOCK_INACTIVE || s->segments.device[s->blocks.segment[b]] != h->device)
            continue;
        bool is_pending = s->blocks.state[b] == GM_BLOCK_ACTIVE_PENDING_FREE;
        uint32_t a = gm_map_get(&p->open, s->blocks.address[b]), before;
        if (a == HAS_FINAL) /* two final blocks at one address: the first is the allocation's */
            continue;
        struct gm_history_other *other = NULL;
        if (a == GM_MAP_NONE) {
            a = add(p, 0, gm_block_requested(&s->blocks, b));
            if (a == GM_NEVER)
                return false;
            if (is_pending)
                h->wide_let_go[a] = 0;
            other = &h->others[h->other_count - 1];
        } else {
            if (is_pending && h->wide_let_go[a] == GM_NEVER)
                h->wide_let_go[a] = (uint32_t)h->count;
            else if (!is_pending && h->wide_let_go[a] != GM_NEVER)
                gm_history_note(h, "freed-but-allocated",
                                "blocks were freed in the trace but are allocated in the snapshot", false,
                                h->wide_let_go[a] - 1, gm_requested(h, a));
            if (h->born[a] > 0 && !add_other(p, a, 0, GM_NO_BLOCK))
                return false;
            other = h->born[a] > 0 ? &h->others[h->other_count - 1] : find_other(h, older, a);
            if (!gm_map_put(&p->open, s->blocks.address[b], HAS_FINAL, &before))
                return false;
        }
        other->final_block = (uint32_t)b;
        other->stack =
            h->born[a] > 0 && gm_event_stack(&s->events, h->first + h->born[a] - 1).v != 0 ? 0 : s->blocks.stack[b].v;
    }
    if (h->other_count > older)
        GM_SORT(h->others, h->other_count, by_allocation);
    return true;
}

/* What is open and not among the snapshot's blocks. */
static void settle_open(struct pairing *p)
{
    struct gm_history *h = p->h;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (h->freed[a] != GM_NEVER || gm_final_block(h, a) != GM_NO_BLOCK)
            continue;
        if (h->born[a] == 0)
            forget(h, (uint32_t)a);
        else if (h->snapshot->profile == NULL) /* which lists no blocks */
            gm_history_note(h, "not-in-snapshot", "allocations were never freed but are not in the snapshot's blocks",
                            false, h->born[a] - 1, gm_requested(h, a));
    }
}

/* A recorder that was told to skip free_requested: then completed frees say nothing on what was pending before. */
static void undo_pending(struct pairing *p)
{
    struct gm_history *h = p->h;
    if (p->has_free_requested || !p->lacks_free_requested)
        return;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && h->wide_let_go[a] == 0 && h->freed[a] != GM_NEVER)
            h->wide_let_go[a] = h->freed[a];
}

/* Below the recorder's level "all", a free carries the stack of its allocation: then one without an alloc in the trace
 * tells where the block was made. */
static void take_stacks_of_frees(struct pairing *p)
{
    struct gm_history *h = p->h;
    if (p->same_stacks == 0 || p->other_stacks * 100 > p->same_stacks)
        return;
    for (size_t i = 0; i < h->count; i++) {
        uint32_t a = h->of_event[i];
        struct gm_history_other *other = a == GM_NEVER || h->born[a] > 0 ? NULL : find_other(h, h->other_count, a);
        if (other != NULL && other->stack == 0)
            other->stack = gm_event_stack(&h->snapshot->events, h->first + i).v;
    }
}

/* Pages that pairing will fill are asked for by another thread, which goes through all columns side by side. */
enum { WORTH_A_THREAD = 1 << 17 /* events */, STEPS = 256, FILLED = 5 };
struct filled {
    char *v[FILLED];
    size_t bytes[FILLED];
};

static void *ask_pages(void *argument)
{
    const struct filled *f = argument;
    for (size_t step = 0; step < STEPS; step++)
        for (int i = 0; i < FILLED; i++)
            gm_pages_ask(f->v[i], f->bytes[i] / STEPS * step, f->bytes[i] / STEPS * (step + 1));
    return NULL;
}

/* *p has its columns. */
static bool pair_events_beside_pages(struct pairing *p)
{
    const struct gm_history *h = p->h;
    const size_t column = h->allocs * sizeof *h->born;
    struct filled filled = {
        {(char *)h->of_event, (char *)h->born, (char *)h->wide_let_go, (char *)h->freed, (char *)h->requested.near},
        {h->count * sizeof *h->of_event, column, column, column, column}};
    pthread_t thread;
    const bool has_thread = h->count >= WORTH_A_THREAD && pthread_create(&thread, NULL, ask_pages, &filled) == 0;
    const bool ok = pair_events(p);
    if (has_thread)
        pthread_join(thread, NULL);
    return ok;
}

/* A free is completed soon after it is requested, unless other streams use the block. */
static bool narrow_let_go(struct gm_history *h)
{
    uint32_t all = 0;
    h->waits = malloc(h->allocation_count + 1);
    for (size_t a = 0; h->waits != NULL && a < h->allocation_count; a++) {
        const uint32_t waits = h->freed[a] - h->wide_let_go[a]; /* 0, too, where both are never */
        h->waits[a] = (uint8_t)waits;
        all |= waits;
    }
    if (h->waits == NULL)
        return false;
    if (all <= UINT8_MAX) {
        free(h->wide_let_go);
        h->wide_let_go = NULL;
    } else {
        free(h->waits);
        h->waits = NULL;
    }
    return true;
}

static bool pair(struct pairing *p)
{
    struct gm_history *h = p->h;
    const uint8_t *action = h->snapshot->events.action + h->first;
    for (size_t i = 0; i < h->count; i++) {
        h->allocs += action[i] == GM_ACTION_ALLOC;
        p->has_free_requested |= action[i] == GM_ACTION_FREE_REQUESTED;
    }
    h->of_event = malloc((h->count + 1) * sizeof *h->of_event);
    if (h->of_event == NULL || !reserve(p, h->allocs + 64) || !pair_events_beside_pages(p) || !pair_final(p))
        return false;
    undo_pending(p);
    settle_open(p);
    take_stacks_of_frees(p);
    if (!narrow_let_go(h))
        return false;
#define TRIM(column) gm_trim(&h->column, h->allocation_count, sizeof *h->column);
    ALLOCATION_COLUMNS(TRIM)
    return true;
}

bool gm_history_pair(struct gm_history *history, const struct gm_snapshot *snapshot, size_t device)
{
    *history = (struct gm_history){.snapshot = snapshot, .device = (int64_t)device};
    if (device < snapshot->trace_count) {
        history->first = snapshot->traces[device].first;
        history->count = snapshot->traces[device].count;
    }
    struct pairing p = {.h = history};
    bool ok = pair(&p) && file_others(history);
    gm_map_free(&p.open);
    return ok;
}

enum gm_status gm_history_build(struct gm_history *history, const struct gm_snapshot *snapshot, size_t device,
                                const struct gm_watcher *watcher, struct gm_error *err)
{
    if (gm_history_pair(history, snapshot, device) && gm_history_reconstruct(history, watcher))
        return GM_OK;
    gm_history_free(history);
    return gm_no_memory(err);
}

void gm_history_free(struct gm_history *h)
{
    gm_number_free(&h->requested);
    gm_number_free(&h->block);
    GM_FREE_ALL(h->born, h->freed, h->waits, h->wide_let_go, h->pool, h->wide_pool, h->others, h->others_of,
                h->of_event, h->device_events, h->replaced, h->segments, h->final_pool, h->pools, h->pool_of_id);
    *h = (struct gm_history){0};
}

bool gm_history_set_pool(struct gm_history *h, size_t a, uint32_t pool)
{
    if (h->wide_pool == NULL && pool > UINT8_MAX) {
        h->wide_pool = malloc((h->allocation_count + 1) * sizeof *h->wide_pool);
        for (size_t i = 0; h->wide_pool != NULL && i < h->allocation_count; i++)
            h->wide_pool[i] = h->pool[i];
        if (h->wide_pool == NULL)
            return false;
    }
    if (h->wide_pool != NULL)
        h->wide_pool[a] = pool;
    else
        h->pool[a] = (uint8_t)pool;
    return true;
}

/* The row of the event that made it, or freed it. */
static size_t telling_row(const struct gm_history *h, size_t a)
{
    return h->first + (h->born[a] > 0                               ? h->born[a] - 1
                       : h->freed[a] > 0 && h->freed[a] != GM_NEVER ? h->freed[a] - 1
                                                                    : 0);
}

uint64_t gm_history_address(const struct gm_history *h, size_t a)
{
    const uint32_t block = h->born[a] > 0 ? GM_NO_BLOCK : gm_final_block(h, a);
    if (block != GM_NO_BLOCK)
        return h->snapshot->blocks.address[block];
    return h->count == 0 ? GM_ABSENT : gm_event_addr(&h->snapshot->events, telling_row(h, a));
}

GM_ORDERING(by_address, struct gm_at_address, GM_UP(address) || GM_UP(allocation));

struct gm_at_address *gm_history_placed(const struct gm_history *h, uint32_t moment, size_t *count)
{
    size_t n = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        n += gm_history_is_active(h, a, moment);
    struct gm_at_address *list = malloc((n + 1) * sizeof *list);
    *count = n;
    n = 0;
    for (size_t a = 0; list != NULL && a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, moment))
            list[n++] = (struct gm_at_address){gm_history_address(h, a), (uint32_t)a};
    GM_SORT(list, n, by_address);
    return list;
}

struct gm_stream_id gm_history_stream(const struct gm_history *h, size_t a)
{
    const struct gm_snapshot *s = h->snapshot;
    const uint32_t block = gm_final_block(h, a);
    if (block != GM_NO_BLOCK)
        return s->segments.stream[s->blocks.segment[block]];
    return (struct gm_stream_id){h->count == 0 ? 0 : gm_rare_at(&s->events.stream, telling_row(h, a))};
}

size_t gm_history_segment_row(const struct gm_history *h, uint32_t event)
{
    size_t low = 0;
    GM_BISECT(low, h->segment_count, i, h->segments[i].event < event);
    return low;
}

uint32_t gm_history_segment_pool(const struct gm_history *h, uint32_t event)
{
    const size_t row = gm_history_segment_row(h, event);
    return row < h->segment_count && h->segments[row].event == event ? h->segments[row].pool : 0;
}

const char *gm_history_pool_name(struct gm_arena *arena, const struct gm_history_pool *pool)
{
    const char *kind = pool->is_small ? "small" : "large";
    return gm_history_pool_is_default(pool)
               ? kind
               : gm_arena_printf(arena, "private (%" PRIu64 ",%" PRIu64 ") %s", pool->id_first, pool->id_second, kind);
}

enum { MUCH = 20, NEXT_TO_NOTHING = 100 /* parts of the peak */ };

/* What is requested, and what of it is older than the trace and goes before the last allocation is made. */
struct live {
    const struct gm_history *h;
    uint32_t last;
    gm_i128 all, older;
    struct gm_walk walk;
};

static struct live live_at_start(const struct gm_history *h)
{
    struct live live = {.h = h, .walk = gm_walk_start(h)};
    size_t made = h->allocation_count;
    while (made > 0 && !gm_is_made(h, made - 1))
        made--;
    live.last = made > 0 ? h->born[made - 1] : 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        live.all += h->born[a] == 0 ? gm_requested(h, a) : 0;
        live.older += h->born[a] == 0 && h->freed[a] <= live.last ? gm_requested(h, a) : 0;
    }
    return live;
}

/* false: the trace is over. */
static bool follow(struct live *live, uint32_t *moment)
{
    struct gm_change c;
    if (!gm_walk_next(&live->walk, &c))
        return false;
    *moment = c.event + 1;
    if (c.kind == GM_CHANGE_ALLOC)
        live->all += gm_requested(live->h, c.allocation);
    if (c.kind == GM_CHANGE_FREE) {
        live->all -= gm_requested(live->h, c.allocation);
        live->older -=
            live->h->born[c.allocation] == 0 && *moment <= live->last ? gm_requested(live->h, c.allocation) : 0;
    }
    return true;
}

uint64_t gm_history_growth(const struct gm_history *h, uint32_t event, uint32_t *next)
{
    const struct gm_events *e = &h->snapshot->events;
    uint64_t growth = 0;
    for (; event < h->count && gm_action_is_growth(e->action[h->first + event]); event++)
        growth = gm_sat_add(growth, gm_event_size(e, h->first + event));
    if (next != NULL)
        *next = event;
    return growth;
}

/* Whether a free was completed right before that row, and not as it was requested: a request that is refused waits for
 * what is pending, which would not have served it before. */
static bool has_waited(const struct gm_history *h, size_t row)
{
    const struct gm_events *e = &h->snapshot->events;
    return row > h->first && e->action[row - 1] == GM_ACTION_FREE_COMPLETED &&
           (row - 1 == h->first || e->action[row - 2] != GM_ACTION_FREE_REQUESTED ||
            gm_event_addr(e, row - 2) != gm_event_addr(e, row - 1));
}

bool gm_history_had_room(const struct gm_history *h, uint32_t growth, uint64_t bytes)
{
    const struct gm_events *e = &h->snapshot->events;
    const uint32_t stream = gm_rare_at(&e->stream, h->first + growth), pool = gm_rare_at(&e->pool, h->first + growth);
    bool has_room = false;
    size_t row = h->first + growth;
    for (; row > h->first && gm_action_is_release(e->action[row - 1]); row--) {
        const uint64_t size = gm_event_bytes(e, row - 1);
        has_room |= size >= bytes && (size == GM_SMALL_SEGMENT) == (bytes == GM_SMALL_SEGMENT) &&
                    gm_rare_at(&e->stream, row - 1) == stream && gm_rare_at(&e->pool, row - 1) == pool;
    }
    return has_room && !has_waited(h, row);
}

bool gm_history_frees_have_stacks(const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    for (size_t row = h->first; row < h->first + h->count; row++)
        if (e->action[row] == GM_ACTION_FREE_REQUESTED || e->action[row] == GM_ACTION_FREE_COMPLETED)
            return gm_event_stack(e, row).v > GM_STACK_EMPTY;
    return false;
}

struct gm_settled gm_history_settled(const struct gm_history *h)
{
    struct gm_settled settled = {0};
    const struct live start = live_at_start(h);
    struct live live = start;
    uint32_t moment = 0;
    gm_i128 most = live.all;
    if (live.older == 0)
        return settled;
    while (start.older * MUCH > most && follow(&live, &moment))
        most = live.all > most ? live.all : most;
    const gm_i128 little = most / NEXT_TO_NOTHING;
    if (start.older <= most / MUCH)
        return settled;
    live = start;
    while (settled.peak == 0 && follow(&live, &moment)) {
        if (live.older <= little && settled.begin == 0)
            settled.begin = moment;
        if (settled.begin > 0 && live.all >= most - little)
            settled = (struct gm_settled){settled.begin, moment, gm_clamp(live.all)};
    }
    return settled.peak > 0 ? settled : (struct gm_settled){0};
}
