/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/verify.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/address_map.h"
#include "analyze/base/clock.h"
#include "analyze/timeline/history/making.h"
#include "replay/verify/verify_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 64 }; /* reservations that one request may show the end of */

static uint32_t stream_of(struct gm_verifying *v, uint32_t event)
{
    return gm_follow_stream(&v->follow, gm_rare_at(&gm_events_of(v)->stream, gm_row(v, event)));
}

static void mismatch(struct gm_verifying *v, uint64_t event, uint64_t recorded, const char *reason)
{
    struct gm_verify_result *r = v->result;
    if (r->has_mismatch)
        return;
    r->has_mismatch = true;
    r->mismatch_event = event;
    r->recorded = recorded;
    r->chosen = GM_ABSENT;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

/* ---- recording what the model does ------------------------------------------------------------------------------- */

static void hear(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                 uint32_t pool, uint32_t owner)
{
    struct gm_verifying *v = self;
    bool is_new = event == GM_EVENT_SEGMENT_ALLOC || event == GM_EVENT_SEGMENT_MAP;
    (void)owner;
    gm_recorder_hear(v->recorder, event, address, size, stream, pool,
                     is_new                    ? v->model.origin /* the recorded growth */
                     : event == GM_EVENT_ALLOC ? v->request
                                               : v->event);
}

static size_t mark(const struct gm_verifying *v)
{
    return v->recorder == NULL ? 0 : gm_recorder_mark(v->recorder);
}

/* A block that the model should not have got goes back, unheard. */
static void undo(struct gm_verifying *v, uint32_t block, size_t since)
{
    if (block != GM_SPACE_NONE) {
        struct gm_space_block *b = &v->model.space.blocks.v[block];
        if (b->next != GM_SPACE_NONE && v->model.space.blocks.v[b->next].use == GM_SPACE_FREE)
            b->age = v->model.space.blocks.v[b->next].age; /* it was split off that */
        const uint64_t address = b->address;
        gm_allocator_free_completed(&v->model, block);
        const uint32_t merged = gm_space_free_at(&v->model.space, address);
        if (merged != GM_SPACE_NONE)
            v->model.gc_base.v[merged] = v->model.base_of_taken;
    }
    if (v->recorder != NULL)
        gm_recorder_take_back(v->recorder, since);
}

/* What the trace makes the model do, which the model does not tell. */
static void tell(struct gm_verifying *v, uint32_t event, uint64_t size, uint32_t stream, uint32_t pool)
{
    size_t row = gm_row(v, event);
    if (v->recorder != NULL)
        gm_recorder_put(v->recorder, (enum gm_action)gm_events_of(v)->action[row], gm_event_addr(gm_events_of(v), row),
                        size, stream, pool, event);
}

/* Puts recorded ranges in place that the model did not ask for. */
static void force_growths(struct gm_verifying *v)
{
    const struct gm_events *e = gm_events_of(v);
    for (; v->growth < v->growth_end; v->growth++) {
        size_t row = gm_row(v, v->growth);
        if (!gm_action_is_growth(e->action[row]))
            continue;
        uint32_t stream = stream_of(v, v->growth);
        uint32_t pool = gm_follow_pool(&v->follow, gm_history_segment_pool(v->h, v->growth));
        mismatch(v, v->growth, gm_event_addr(e, row), "the trace grew where the model did not need to");
        if (v->model.has_no_memory)
            return;
        v->model.origin = v->growth;
        if (gm_allocator_adopt_segment(&v->model, gm_event_addr(e, row), gm_event_size(e, row), stream, pool,
                                       e->action[row] == GM_ACTION_SEGMENT_MAP))
            tell(v, v->growth, gm_event_size(e, row), stream, pool);
    }
}

/* The model wanted pages where the trace did not map any, but elsewhere, or found room in what is mapped there: the
 * reservation, whose length nobody knows, has no room for them. */
static bool has_left_reservation(struct gm_verifying *v, uint64_t requested)
{
    const struct gm_events *e = gm_events_of(v);
    const size_t growth = gm_row(v, v->growth), request = gm_row(v, v->request);
    if (!v->infers || !v->is_growth_wrong || !v->wanted.is_map || v->wanted.address == GM_ABSENT ||
        v->model.has_no_memory)
        return false;
    const bool is_elsewhere =
        v->growth < v->growth_end
            ? e->action[growth] == GM_ACTION_SEGMENT_MAP && gm_event_addr(e, growth) != v->wanted.address
            : v->growth_end == v->request && e->action[request] == GM_ACTION_ALLOC &&
                  gm_space_free_at(&v->model.space, gm_event_addr(e, request)) != GM_SPACE_NONE;
    return is_elsewhere &&
           gm_allocator_end_reservation(&v->model, v->wanted.address, gm_rules_round(&v->model.conf.rules, requested));
}

uint32_t gm_verifying_pool(const struct gm_verifying *v, uint64_t requested)
{
    return gm_rules_round(&v->model.conf.rules, requested) <= GM_SMALL_SIZE ? v->home.small : v->home.large;
}

/* The block at `wanted_at` or none, unless that is 0. */
static uint32_t ask(struct gm_verifying *v, uint64_t requested, uint32_t event, uint32_t owner, uint64_t wanted_at)
{
    v->growth_end = event;
    v->is_growth_wrong = false;
    if (v->growth < event && v->infers)
        gm_infer_switch(v, v->growth);
    for (int tries = 0;; tries++) {
        v->model.wanted_at = wanted_at;
        uint32_t block = v->model.has_no_memory
                             ? GM_SPACE_NONE
                             : gm_allocator_malloc(&v->model, requested, stream_of(v, v->request), v->home, owner);
        v->model.has_failed = false; /* the device's refusal; nothing was changed by it */
        if (tries == MOST_TRIES || !has_left_reservation(v, requested))
            return block;
        v->ended_reservations++;
        v->is_growth_wrong = false;
    }
}

/* Whether the request before `event` may have been a retry: then memory went back or frees of other streams' uses were
 * completed just before, or an attempt failed half-way. A retry asks the device again, but does not search again. The
 * same holds for any growth with release_lock_on_cudamalloc: what other threads freed since the search was not seen. */
static bool may_be_retry(const struct gm_verifying *v, uint32_t event)
{
    const struct gm_events *e = gm_events_of(v);
    if (v->request_end == event && event > 0)
        return true;
    if (v->model.conf.releases_lock && v->growth < event)
        return true;
    if (v->growth == 0)
        return false;
    size_t row = gm_row(v, v->growth - 1);
    if (gm_action_is_release(e->action[row]))
        return true;
    bool is_plain = v->growth > 1 && e->action[row - 1] == GM_ACTION_FREE_REQUESTED &&
                    gm_event_addr(e, row - 1) == gm_event_addr(e, row);
    return e->action[row] == GM_ACTION_FREE_COMPLETED && !is_plain;
}

uint32_t gm_verifying_choose(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t *chosen)
{
    const bool is_counted = v->model.conf.gc_threshold > 0 && !v->model.has_no_memory; /* searches are */
    const uint64_t recorded = gm_addr_at(v, event), requested = gm_requested(v->h, a);
    const uint32_t pool = is_counted ? gm_verifying_pool(v, requested) : 0;
    const uint64_t searches = is_counted ? v->model.pools.v[pool].searches : 0;
    size_t before = mark(v);
    v->request = event;
    uint32_t block = ask(v, requested, event, a, recorded);
    *chosen = block == GM_SPACE_NONE ? v->model.passed_by : v->model.space.blocks.v[block].address;
    if (*chosen == recorded && v->growth == v->growth_end)
        return block;
    undo(v, block, before);
    if (is_counted)
        v->model.pools.v[pool].searches = searches;
    return GM_SPACE_NONE;
}

/* Expandable blocks are left for the next one as long as that reaches less far. The trace took another block than the
 * model: if that is because the last block of a reservation, whose end nobody knows, reaches too far in the model, the
 * reservation ends before. */
static bool has_ended_before(struct gm_verifying *v, uint64_t recorded, uint64_t chosen)
{
    struct gm_space *space = &v->model.space;
    uint32_t taken = gm_space_free_at(space, recorded), stopped = gm_space_free_at(space, chosen);
    if (!v->infers || taken == GM_SPACE_NONE || stopped == GM_SPACE_NONE || v->growth < v->growth_end)
        return false;
    const struct gm_space_block *b = &space->blocks.v[taken], *s = &space->blocks.v[stopped];
    if (!b->is_expandable || b->pool != s->pool || b->stream != s->stream)
        return false;
    /* Either the model stopped before it, as the next one reaches too far; or it went on, as the one taken does. */
    bool is_before = gm_allocator_is_before(&v->model, stopped, taken);
    uint32_t next = gm_allocator_next_free(&v->model, is_before ? stopped : taken), last = is_before ? next : taken;
    if (next == GM_SPACE_NONE || space->blocks.v[last].next != GM_SPACE_NONE)
        return false;
    uint64_t most = is_before ? gm_allocator_reach(&v->model, stopped) : gm_allocator_reach(&v->model, next) + 1;
    const struct gm_space_block *l = &space->blocks.v[last];
    if (l->size >= most || gm_allocator_reach(&v->model, last) < most ||
        !gm_allocator_end_reservation(&v->model, l->address + l->size, most))
        return false;
    v->ended_reservations++;
    return true;
}

/* Where the trace maps pages for a block that begins with them although memory below is free: that is the end of a
 * reservation, and another one begins there. */
static void end_reservation_before(struct gm_verifying *v, uint32_t event)
{
    const struct gm_space *space = &v->model.space;
    if (!v->infers || v->growth >= event || gm_action_at(v, v->growth) != GM_ACTION_SEGMENT_MAP)
        return;
    const uint64_t address = gm_addr_at(v, v->growth);
    uint32_t range = address == 0 ? GM_SPACE_NONE : gm_space_range_of(space, address - 1);
    if (gm_addr_at(v, event) != address || range == GM_SPACE_NONE)
        return;
    const struct gm_space_block *below = &space->blocks.v[space->ranges.v[range].last];
    if (below->use == GM_SPACE_FREE && below->is_expandable && below->address + below->size == address)
        v->ended_reservations += gm_allocator_end_reservation(&v->model, address, 0);
}

/* Whether the snapshot has the block that allocation `a` got, with another size. */
static bool has_other_size(const struct gm_verifying *v, uint32_t block, uint32_t a)
{
    uint32_t row = gm_final_block(v->h, a);
    return row != GM_NO_BLOCK && v->h->snapshot->blocks.size[row] != v->model.space.blocks.v[block].size;
}

/* expandable_segments may have been switched some time before a growth shows it: then it decides which free blocks are
 * taken, and how they are split. `block` is the choice with its first value. */
static uint32_t choose_switched(struct gm_verifying *v, uint32_t event, uint32_t a, uint32_t block, size_t before)
{
    bool first = v->model.conf.expandable_segments;
    uint64_t chosen;
    if (block != GM_SPACE_NONE)
        undo(v, block, before);
    v->model.conf.expandable_segments = v->recorded_expandable;
    uint32_t other = gm_verifying_choose(v, event, a, &chosen);
    if (other != GM_SPACE_NONE && !has_other_size(v, other, a)) {
        gm_infer_switch_now(v, event);
        return other;
    }
    undo(v, other, before);
    v->model.conf.expandable_segments = first;
    return block == GM_SPACE_NONE ? block : gm_verifying_choose(v, event, a, &chosen);
}

static void follow_alloc(struct gm_verifying *v, uint32_t event, uint32_t a)
{
    struct gm_history *h = v->h;
    struct gm_verify_result *r = v->result;
    const uint32_t grown = v->growth;
    const uint64_t recorded = gm_addr_at(v, event);
    uint64_t chosen, retried;
    size_t before = mark(v);
    bool may_switch = v->infers && !v->has_switched && v->growth == event;
    r->allocs++;
    end_reservation_before(v, event);
    v->request = event;
    gm_pools_choose_home(v, event, gm_pool_number(h, a), recorded);
    gm_ages_note(v, gm_requested(h, a));
    uint32_t block = gm_verifying_choose(v, event, a, &chosen);
    if (block == GM_SPACE_NONE && gm_ages_learn(v, recorded))
        block = gm_verifying_choose(v, event, a, &chosen);
    else if (block != GM_SPACE_NONE)
        gm_ages_confirm(v, recorded);
    while (block == GM_SPACE_NONE && chosen != GM_ABSENT && has_ended_before(v, recorded, chosen))
        block = gm_verifying_choose(v, event, a, &chosen);
    if (block == GM_SPACE_NONE && chosen != GM_ABSENT && may_be_retry(v, event)) {
        v->model.skips_search = true;
        block = gm_verifying_choose(v, event, a, &retried);
    }
    if (may_switch && (block == GM_SPACE_NONE || has_other_size(v, block, a)))
        block = choose_switched(v, event, a, block, before);
    if (block == GM_SPACE_NONE)
        block = gm_pools_guess(v, event, a, chosen);
    if (block != GM_SPACE_NONE) {
        v->follow.block_of[a] = block;
        gm_pools_settle_alloc(v, grown, a, block);
        r->exact++;
        return;
    }
    if (!r->has_mismatch) {
        const struct gm_allocator_pool *home = v->model.has_no_memory ? NULL : &v->model.pools.v[v->home.large];
        v->mismatched = home == NULL ? (struct gm_pool_key){0} : (struct gm_pool_key){home->id_first, home->id_second};
        gm_explain_alloc(v, event, a, chosen);
    }
    force_growths(v);
    if (v->model.has_no_memory)
        return;
    v->model.origin = event;
    block = gm_allocator_place(&v->model, recorded, gm_making_block_bytes(h, a), gm_requested(h, a), a);
    v->follow.block_of[a] = block;
    if (block != GM_SPACE_NONE)
        tell(v, event, gm_requested(h, a), v->model.space.blocks.v[block].stream, v->model.space.blocks.v[block].pool);
}

/* The alloc or oom that ends the request whose growth was before `event`; GM_NEVER if something else comes first. */
static uint32_t end_of_request(struct gm_verifying *v, uint32_t event)
{
    if (v->request_end != 0 && event <= v->request_end)
        return v->request_end;
    const uint32_t i = gm_retries_end_of_request(v, event);
    bool is_end = i < v->h->count && (gm_action_at(v, i) == GM_ACTION_ALLOC || gm_action_at(v, i) == GM_ACTION_OOM);
    if (!is_end)
        return GM_NEVER;
    v->request_end = i;
    return i;
}

/* Growths before something else than an alloc: an attempt that failed half-way, before a retry or the end. */
static void follow_failure(struct gm_verifying *v, uint32_t event)
{
    uint32_t end = end_of_request(v, event);
    if (end != GM_NEVER) {
        uint32_t a = v->h->of_event[end];
        uint64_t size = a == GM_NEVER ? gm_size_at(v, end) : gm_requested(v->h, a);
        v->request = end;
        size_t before = mark(v);
        gm_pools_choose_home(v, event, gm_history_segment_pool(v->h, v->growth),
                             gm_action_at(v, end) == GM_ACTION_ALLOC ? gm_addr_at(v, end) : 0);
        uint32_t block = ask(v, size, event, 0, 0);
        if (block != GM_SPACE_NONE)
            mismatch(v, event, GM_ABSENT, "the trace did not get the memory that the model found");
        undo(v, block, before);
    }
    v->growth_end = event;
    force_growths(v);
}

static void follow_release(struct gm_verifying *v, uint32_t event)
{
    size_t row = gm_row(v, event);
    v->result->releases++;
    gm_retries_see_release(v, event);
    gm_pools_settle_release(v, event);
    gm_release_order_see(v, event);
    if (gm_allocator_give_back(&v->model, gm_event_addr(gm_events_of(v), row), gm_event_size(gm_events_of(v), row)))
        v->result->releases_allowed++;
    else
        mismatch(v, event, gm_event_addr(gm_events_of(v), row),
                 "memory went back to the device that is not free and whole in the model");
    gm_release_order_end_run(v, event);
}

static void follow(struct gm_verifying *v)
{
    struct gm_walk walk = gm_walk_start(v->h);
    struct gm_change c;
    bool in_growth = false;
    uint64_t budget = ((uint64_t)v->h->count + v->h->allocation_count) * 256 + (UINT64_C(1) << 24);
    while (gm_walk_next(&walk, &c) && !v->model.has_no_memory) {
        uint8_t action = gm_action_at(v, c.event);
        v->event = v->model.origin = c.event;
        if (gm_action_is_growth(action) || c.kind == GM_CHANGE_ALLOC || action == GM_ACTION_OOM)
            gm_retries_note(v, c.event);
        if (gm_action_is_growth(action)) {
            v->result->growths++;
            v->growth = in_growth ? v->growth : c.event;
            in_growth = true;
            continue;
        }
        if (c.kind == GM_CHANGE_ALLOC) {
            v->growth = in_growth ? v->growth : c.event;
            follow_alloc(v, c.event, c.allocation);
        } else if (in_growth) {
            follow_failure(v, c.event);
        }
        in_growth = false;
        uint32_t block = c.allocation == GM_NEVER ? GM_SPACE_NONE : v->follow.block_of[c.allocation];
        size_t before = mark(v);
        if (c.kind == GM_CHANGE_LET_GO && v->recorder == NULL && gm_walk_skip_free(&walk, c.allocation))
            c.kind = GM_CHANGE_FREE;
        if (c.kind == GM_CHANGE_LET_GO && block != GM_SPACE_NONE)
            gm_allocator_free_requested(&v->model, block);
        else if (c.kind == GM_CHANGE_FREE && block != GM_SPACE_NONE)
            gm_allocator_free_completed(&v->model, block);
        else if (gm_action_is_release(action))
            follow_release(v, c.event);
        if (v->recorder != NULL && c.kind == GM_CHANGE_FREE && action == GM_ACTION_ALLOC)
            gm_recorder_take_back(v->recorder, before); /* its free is missing in the recording */
        else if (v->recorder != NULL)
            gm_recorder_copy(v->recorder, c.event, true);
        if (v->model.space.work > budget) {
            v->result->has_given_up = true;
            mismatch(v, c.event, GM_ABSENT, "the trace contradicts itself too often to be followed any further");
            return;
        }
    }
}

/* What the snapshot has at the address of `row`, and the model there. */
static void explain_end(struct gm_verifying *v, size_t row, const struct gm_space_block *b)
{
    static const char *const states[] = {"an inactive", "an active_allocated", "an active_pending_free"};
    static const char *const uses[] = {"a free", "an allocated", "a pending"};
    const struct gm_blocks *blocks = &v->h->snapshot->blocks;
    char model[160] = "none", reason[GM_MISMATCH_TEXT];
    if (b != NULL)
        snprintf(model, sizeof model, "%s one of %" PRIu64, uses[b->use], b->size);
    if (b != NULL && b->use != GM_SPACE_FREE && v->h->freed[b->owner] == GM_NEVER &&
        gm_final_block(v->h, b->owner) == GM_NO_BLOCK)
        snprintf(model + strlen(model), sizeof model - strlen(model),
                 ", which the trace never frees (event %" PRId64 ")", (int64_t)v->h->born[b->owner] - 1);
    snprintf(reason, sizeof reason, "the snapshot has %s block of %" PRIu64 " bytes there, the model %s",
             states[blocks->state[row]], blocks->size[row], model);
    mismatch(v, GM_ABSENT, blocks->address[row], reason);
}

/* Blocks of the snapshot that the model ends in. */
static void compare_end(struct gm_verifying *v)
{
    static const uint8_t use[] = {[GM_BLOCK_INACTIVE] = GM_SPACE_FREE,
                                  [GM_BLOCK_ACTIVE_ALLOCATED] = GM_SPACE_ALLOCATED,
                                  [GM_BLOCK_ACTIVE_PENDING_FREE] = GM_SPACE_PENDING};
    const struct gm_snapshot *s = v->h->snapshot;
    const struct gm_space *space = &v->model.space;
    GM_FREED_BY(gm_map_free) struct gm_address_map at = {0};
    uint32_t before;
    for (uint32_t b = 0; b < space->blocks.n; b++)
        if (space->blocks.v[b].use != GM_SPACE_UNUSED_SLOT)
            v->model.has_no_memory |= !gm_map_put(&at, space->blocks.v[b].address, b, &before);
    for (size_t row = 0; row < s->blocks.count; row++) {
        if (s->segments.device[s->blocks.segment[row]] != v->h->device)
            continue;
        uint32_t b = gm_map_get(&at, s->blocks.address[row]);
        bool is_same = b != GM_MAP_NONE && space->blocks.v[b].size == s->blocks.size[row] &&
                       space->blocks.v[b].use == use[s->blocks.state[row]];
        v->result->end_blocks++;
        v->result->end_blocks_same += is_same;
        if (!is_same && !v->result->has_mismatch)
            explain_end(v, row, b == GM_MAP_NONE ? NULL : &space->blocks.v[b]);
    }
}

/* What a run is told, and what it shows beside its result. */
enum { MOST_UNSPLIT = 8 };
struct shown {
    struct gm_pool_key unsplit[MOST_UNSPLIT]; /* private pools that never split: MemPool(no_split=True) */
    size_t unsplit_count;
    struct gm_pool_key mismatched; /* the pool of the first wrong choice; (0,0): the default one, or none */
    bool settles;                  /* the pools that are guessed become the history's */
    uint64_t guessed_pools;
    uint32_t *hints; /* [row of h->segments]: private pools, by the order of releases; NULL: it has shown none */
    uint32_t *found; /* the hints and what this run has shown beside them; NULL: nothing new */
    uint32_t *ages;  /* [count]; NULL: nothing was learnt */
    uint32_t count;
};

/* What the order of releases has shown beside the hints, for another run. */
static void keep_found(struct gm_verifying *v, struct shown *shown)
{
    uint32_t *found = v->order.found;
    bool has_new = false;
    free(shown->found);
    shown->found = NULL;
    for (size_t i = 0; found != NULL && i < v->h->segment_count; i++) {
        const uint32_t known = v->hints == NULL ? 0 : v->hints[i];
        found[i] = found[i] == 0 ? known : found[i];
        has_new |= found[i] != known;
    }
    if (has_new) {
        shown->found = found;
        v->order.found = NULL;
    }
}

/* What following the trace has shown. */
static void state_inferred(struct gm_verifying *v, const struct shown *shown)
{
    if (v->ended_reservations > 0)
        gm_infer(v->result, "reservation_length",
                 "reservations of expandable segments end where the trace goes on elsewhere: %" PRIu64 " times",
                 v->ended_reservations);
    if (v->ages.learnt > 0)
        gm_infer(v->result, "ages",
                 "which of what was there before the trace is older, from what was taken of equal blocks: %" PRIu64
                 " times",
                 v->ages.learnt);
    if (v->guessed_pools > 0)
        gm_infer(v->result, "pools",
                 "whose pool a segment was of that is gone in the end, from what was taken of it: %" PRIu64 " times",
                 v->guessed_pools);
    if (v->infers && shown->unsplit_count > 0)
        gm_infer(v->result, "no_split_pools", "%zu private pools never split their blocks: their growths show that",
                 shown->unsplit_count);
}

static bool run(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *recorded, bool infers,
                struct gm_event_recorder *recorder, struct shown *shown, bool wants_ages)
{
    struct gm_verifying v = {.result = result, .h = h, .infers = infers, .has_switched = true, .recorder = recorder};
    struct gm_conf conf = *recorded;
    uint64_t learnt = 0;
    *result = (struct gm_verify_result){.device = h->device, .events = h->count};
    v.device = gm_recorded_device(&v);
    v.recorded_expandable = conf.expandable_segments;
    if (infers)
        gm_infer_settings(&v, &conf);
    v.sink = (struct gm_allocator_sink){&v, hear};
    gm_allocator_init(&v.model, &conf, &v.device, recorder != NULL ? &v.sink : NULL);
    v.model.keeps_objects = recorder != NULL;
    v.model.private_by_segments = !gm_settings_expand_private(h->snapshot);
    if (conf.gc_threshold > 0)
        v.model.limit = UINT64_MAX - 1; /* there is one, so searches are counted: the clock of garbage collection */
    if (recorder != NULL)
        gm_recorder_begin(recorder, h);
    v.has_pages = calloc(h->pool_count + 1, sizeof *v.has_pages);
    bool ok = gm_follow_init(&v.follow, h, &v.model, h->allocation_count) && v.has_pages != NULL;
    for (size_t i = 0; ok && infers && i < shown->unsplit_count; i++)
        gm_allocator_never_split(&v.model,
                                 gm_allocator_home_of(&v.model, shown->unsplit[i].first, shown->unsplit[i].second));
    if (ok && infers)
        gm_infer_expandable(&v);
    ok = ok && gm_follow_adopt(&v.follow, infers, &learnt);
    if (ok && infers && learnt > 0)
        gm_infer(result, "block_sizes",
                 "the slack of %" PRIu64 " blocks that were live at the start, from what came beside them later",
                 learnt);
    gm_ages_begin(&v);
    gm_pools_begin(&v);
    v.hints = shown->hints;
    ok = ok && gm_release_order_begin(&v) && (!shown->settles || gm_pools_settle_begin(&v));
    const double from = gm_seconds();
    if (ok)
        follow(&v);
    result->seconds = gm_seconds() - from;
    if (ok)
        compare_end(&v);
    if (ok && recorder != NULL && !v.model.has_no_memory)
        gm_recorder_end(recorder, &v.model, v.follow.stream_of);
    state_inferred(&v, shown);
    ok = ok && (!shown->settles || gm_pools_settle_end(&v));
    shown->guessed_pools = v.guessed_pools;
    keep_found(&v, shown);
    shown->mismatched = v.mismatched;
    if (v.ages.learnt > 0 && wants_ages) {
        shown->count = v.ages.count;
        shown->ages = malloc(v.ages.count * sizeof *shown->ages);
        ok = ok && shown->ages != NULL;
        for (uint32_t i = 0; ok && i < v.ages.count; i++)
            shown->ages[i] = v.ages.place[i];
    }
    gm_ages_end(&v);
    result->stats = v.model.stats;
    ok = ok && !v.model.has_no_memory && gm_retries_count(&v);
    if (ok)
        gm_infer_allocator(&v);
    GM_FREE_ALL(v.notes.v, v.garbage, v.has_pages, v.settling.of_allocation, v.settling.of_segment);
    gm_release_order_free(&v.order);
    gm_follow_free(&v.follow);
    gm_allocator_free(&v.model);
    return ok;
}

/* Runs again as *more says. If it `is_better`, that and its result are kept, else what was there before. */
static bool try_with(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                     struct shown *shown, struct shown *more, bool *is_better)
{
    struct gm_verify_result other;
    more->found = NULL;
    const bool ok = run(&other, h, conf, true, NULL, more, false);
    *is_better = ok && (other.exact > result->exact || (gm_verify_passed(&other) && other.exact == result->exact));
    if (*is_better) {
        free(shown->found);
        *shown = *more;
        *result = other;
    } else {
        free(more->found);
    }
    return ok;
}

/* A private pool in which a choice is wrong may be one that never splits: if more is right then, it is. */
static bool find_unsplit_pools(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                               struct shown *shown)
{
    bool ok = true, is_better = true;
    while (ok && is_better && !gm_verify_passed(result) && shown->unsplit_count < MOST_UNSPLIT &&
           (shown->mismatched.first != 0 || shown->mismatched.second != 0)) {
        struct shown more = *shown;
        more.unsplit[more.unsplit_count++] = shown->mismatched;
        ok = try_with(result, h, conf, shown, &more, &is_better);
    }
    return ok;
}

/* With what the order of releases shows of pools that are gone, as long as that is more and no choice gets wrong by it.
 */
static bool find_gone_pools(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                            struct shown *shown)
{
    enum { MOST_RUNS = 4 };
    bool ok = true, is_better = true;
    for (int i = 0; ok && is_better && i < MOST_RUNS && shown->found != NULL; i++) {
        struct shown more = *shown;
        uint32_t *before = shown->hints;
        more.hints = shown->found;
        shown->found = NULL;
        ok = try_with(result, h, conf, shown, &more, &is_better);
        free(is_better ? before : more.hints);
    }
    return ok;
}

static bool find_pools(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                       struct shown *shown, bool wants_all)
{
    bool ok = run(result, h, conf, true, NULL, shown, false) && find_unsplit_pools(result, h, conf, shown);
    if (ok && (wants_all || !gm_verify_passed(result)))
        ok = find_gone_pools(result, h, conf, shown) && find_unsplit_pools(result, h, conf, shown);
    return ok;
}

static void forget(struct shown *shown)
{
    GM_FREE_ALL(shown->hints, shown->found, shown->ages);
}

static bool has_private_pools(const struct gm_history *h)
{
    bool has_private = false;
    for (size_t p = 0; p < h->pool_count; p++)
        has_private |= !gm_history_pool_is_default(&h->pools[p]);
    return has_private;
}

enum gm_status gm_verify_recorded(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                                  struct gm_event_recorder *recorder, struct gm_error *err)
{
    struct shown shown = {0};
    const bool has_private = has_private_pools(h);
    bool ok = true;
    if (has_private)
        ok = find_pools(result, h, conf, &shown, false);
    if (ok && (!has_private || recorder != NULL))
        ok = run(result, h, conf, true, recorder, &shown, false);
    result->exact_uninferred = result->exact;
    if (ok && result->inferred_count > 0) {
        struct gm_verify_result plain;
        ok = run(&plain, h, conf, false, NULL, &shown, false);
        result->exact_uninferred = plain.exact;
    }
    forget(&shown);
    return ok ? GM_OK : gm_no_memory(err);
}

enum gm_status gm_verify(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                         struct gm_error *err)
{
    return gm_verify_recorded(result, h, conf, NULL, err);
}

enum gm_status gm_verify_ages(struct gm_history *h, const struct gm_conf *conf, uint32_t **ages, uint32_t *count,
                              struct gm_error *err)
{
    struct gm_verify_result unused;
    struct shown shown = {0};
    *ages = NULL;
    *count = 0;
    if (conf->ties == GM_TIES_LOWEST)
        return GM_OK;
    if (!run(&unused, h, conf, true, NULL, &shown, true)) {
        forget(&shown);
        return gm_no_memory(err);
    }
    *ages = shown.ages;
    *count = shown.count;
    return GM_OK;
}

enum gm_status gm_verify_settle_pools(struct gm_history *h, const struct gm_conf *conf, struct gm_error *err)
{
    struct gm_verify_result result;
    struct shown shown = {0};
    if (!has_private_pools(h) || !h->snapshot->has_settings)
        return GM_OK;
    bool ok = find_pools(&result, h, conf, &shown, true);
    const bool is_known = ok && gm_verify_passed(&result);
    shown.settles = true;
    if (is_known && shown.guessed_pools > 0)
        ok = run(&result, h, conf, true, NULL, &shown, false);
    for (size_t i = 0; is_known && i < shown.unsplit_count; i++)
        for (size_t p = 0; p < h->pool_count; p++)
            h->pools[p].never_splits |=
                h->pools[p].id_first == shown.unsplit[i].first && h->pools[p].id_second == shown.unsplit[i].second;
    forget(&shown);
    return ok ? GM_OK : gm_no_memory(err);
}

bool gm_verify_passed(const struct gm_verify_result *r)
{
    return r->exact == r->allocs && r->growths == r->growths_predicted && r->releases == r->releases_allowed &&
           r->end_blocks == r->end_blocks_same && !r->has_given_up;
}
