/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif.h"

#include "analyze/base/clock.h"
#include "replay/whatif/whatif_private.h"

#include <stdlib.h>
#include <string.h>

/* empty_cache(), or the end of a MemPool: of the private pools, those whose memory went back then too were out of use.
 */
static void give_back(struct gm_playing *w, const struct gm_release_run *run)
{
    const struct gm_history *h = w->h;
    const size_t first = gm_history_segment_row(h, run->first), end = gm_history_segment_row(h, run->last + 1);
    for (size_t i = first; i < end; i++)
        gm_allocator_set_freeable(&w->model, w->home[h->segments[i].pool], true);
    if (run->cause == GM_RELEASE_POOL)
        gm_allocator_empty_pool(&w->model, h->pools[run->pool].id_first, h->pools[run->pool].id_second);
    else
        gm_allocator_empty_cache(&w->model);
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    if (hooks != NULL && hooks->emptied != NULL)
        gm_playing_heed(w, hooks->emptied(hooks->self, w->model.origin));
    for (size_t i = first; i < end; i++)
        gm_allocator_set_freeable(&w->model, w->home[h->segments[i].pool], false);
    w->result->empty_caches += run->cause == GM_RELEASE_EMPTY_CACHE;
}

static void follow_others(struct gm_playing *w, uint32_t event)
{
    if (w->next_release < w->releases.count && w->releases.v[w->next_release].first == event) {
        const struct gm_release_run *run = &w->releases.v[w->next_release++];
        if (run->cause != GM_RELEASE_REQUEST)
            give_back(w, run);
    } else if (w->refused != NULL && w->refused->event == event) {
        gm_playing_ask_refused(w);
    } else if (w->options->recorder != NULL) {
        gm_recorder_copy(w->options->recorder, event, false);
    }
}

static inline void follow_free(struct gm_playing *w, uint32_t a, bool is_completed, const struct gm_whatif_hooks *hooks)
{
    uint32_t block = w->follow.block_of[a];
    if (block == GM_SPACE_NONE)
        return;
    if (is_completed)
        gm_allocator_free_completed(&w->model, block);
    else
        gm_allocator_free_requested(&w->model, block);
    if (hooks != NULL && !is_completed)
        gm_playing_tell_let_go(w, a, block);
}

void gm_playing_drop(struct gm_playing *w, uint32_t a)
{
    if (w->options->repeat == NULL || gm_let_go(w->h, a) > w->options->repeat->end)
        follow_free(w, a, false, w->options->hooks);
    follow_free(w, a, true, w->options->hooks);
    w->follow.block_of[a] = GM_SPACE_NONE;
}

/* The block that a turn asked for takes the place of the one of the turn before. */
static void replace(struct gm_playing *w, uint32_t a, uint32_t before, uint32_t block)
{
    w->follow.block_of[a] = before;
    gm_playing_drop(w, a);
    w->follow.block_of[a] = block;
}

/* Asks for the block of `a` and notes what that comes to; GM_SPACE_NONE: the replay has failed. */
static inline uint32_t serve(struct gm_playing *w, uint32_t event, uint32_t a, uint32_t stream,
                             const struct gm_whatif_hooks *hooks)
{
    uint32_t block = gm_playing_ask(w, a, stream, hooks);
    w->follow.block_of[a] = block;
    if (block == GM_SPACE_NONE) {
        gm_playing_fail_alloc(w, event, a, false);
        return block;
    }
    struct gm_level_now levels = gm_playing_levels_of_request(w, hooks);
    if (levels.allocated > w->level.peak_allocated)
        w->level.peak_allocated = levels.allocated;
    if (levels.reserved > w->level.peak_reserved) {
        w->level.peak_reserved = levels.reserved;
        gm_playing_note_peak(w, &levels, event);
    }
    if (w->options->class_count > 0) {
        gm_playing_count(w, a, w->model.requested.v[block]);
        gm_playing_note_classes(w);
    }
    if (w->model.space.active > w->peak_active) {
        w->peak_active = w->model.space.active;
        w->result->start_bytes_at_peak = w->start_active;
    }
    return block;
}

static inline void follow_alloc(struct gm_playing *w, uint32_t event, uint32_t a, const struct gm_whatif_hooks *hooks)
{
    const struct gm_events *e = &w->h->snapshot->events;
    if (gm_playing_request(w, a) == 0) {
        w->result->left_out++;
        return;
    }
    if (w->away != NULL && w->away[a] > 0)
        return;
    const uint32_t before = w->follow.block_of[a]; /* of the turn before, if the step is played again */
    if (before != GM_SPACE_NONE && w->options->repeat != NULL && w->is_once[a])
        return;
    uint32_t stream = gm_playing_stream(w, gm_rare_at(&e->stream, w->h->first + event));
    uint32_t block = serve(w, event, a, stream, hooks);
    if (block != GM_SPACE_NONE && before != GM_SPACE_NONE)
        replace(w, a, before, block);
}

/* The next of options->moves; what is given up is freed at once. */
static void move(struct gm_playing *w)
{
    const struct gm_whatif_move *m = &w->options->moves[w->next_move++];
    const uint32_t a = m->allocation;
    if (a == GM_NEVER) {
        const uint64_t before = w->model.total;
        gm_allocator_empty_cache(&w->model);
        w->given_back = m->is_back ? before - w->model.total : 0;
        return;
    }
    const uint32_t end = gm_let_go(w->h, a) < w->h->freed[a] ? gm_let_go(w->h, a) : w->h->freed[a];
    uint32_t *block = &w->follow.block_of[a];
    if (m->is_back && m->moment < w->h->born[a]) { /* it was not made yet */
        if (gm_playing_request(w, a) > 0 && w->away[a] == 0 && *block == GM_SPACE_NONE)
            serve(w, m->moment, a, gm_playing_stream(w, gm_history_stream(w->h, a).v), NULL);
        return;
    }
    w->away[a] = (uint16_t)(w->away[a] + (m->is_back ? -1 : 1));
    if (gm_playing_request(w, a) == 0 || m->moment >= end || m->moment < w->h->born[a])
        return; /* it is not there then, either way */
    if (!m->is_back && *block != GM_SPACE_NONE) {
        follow_free(w, a, false, NULL);
        follow_free(w, a, true, NULL);
        *block = GM_SPACE_NONE;
    } else if (m->is_back && w->away[a] == 0 && *block == GM_SPACE_NONE) {
        serve(w, m->moment, a, gm_playing_stream(w, gm_history_stream(w->h, a).v), NULL);
    }
}

/* Those up to that moment. */
static bool play_moves(struct gm_playing *w, uint32_t moment)
{
    while (w->next_move < w->options->move_count && w->options->moves[w->next_move].moment <= moment &&
           !w->result->has_failed)
        move(w);
    if (w->result->has_failed)
        w->result->stopped_at = moment;
    return !w->result->has_failed;
}

/* Whether nothing comes between the two events of a free, and nobody looks; then the second is passed over. */
static inline bool is_free_next(struct gm_playing *w, uint32_t a, uint32_t end, const struct gm_whatif_hooks *hooks)
{
    const struct gm_whatif_options *o = w->options;
    return hooks == NULL && o->recorder == NULL && w->walk.event < end &&
           (w->next_move >= o->move_count || o->moves[w->next_move].moment > w->walk.event) &&
           gm_walk_skip_free(&w->walk, a);
}

/* Events up to `end`; false: the replay is over. */
static inline bool play_with(struct gm_playing *w, uint32_t end, const struct gm_whatif_hooks *hooks)
{
    struct gm_change c;
    while (w->walk.event < end && gm_walk_next(&w->walk, &c)) {
        w->model.origin = c.event;
        if (hooks != NULL && hooks->before != NULL)
            gm_playing_heed(w, hooks->before(hooks->self, c.event));
        if (w->next_move < w->options->move_count && !play_moves(w, c.event))
            return false;
        switch (c.kind) {
        case GM_CHANGE_ALLOC:
            follow_alloc(w, c.event, c.allocation, hooks);
            break;
        case GM_CHANGE_LET_GO:
            follow_free(w, c.allocation, is_free_next(w, c.allocation, end, hooks), hooks);
            if (hooks == NULL)
                continue; /* that cannot fail */
            break;
        case GM_CHANGE_FREE:
            follow_free(w, c.allocation, true, hooks);
            if (hooks == NULL)
                continue;
            break;
        default:
            follow_others(w, c.event);
            break;
        }
        if (w->result->has_failed || w->was_served || w->model.has_no_memory || w->model.has_failed ||
            w->model.space.work + w->sim.work > w->budget) {
            w->result->stopped_at = c.event;
            return false;
        }
    }
    w->result->left_reserved = w->model.total + w->given_back;
    const bool is_end = end >= w->h->count && w->next_move < w->options->move_count;
    return !is_end || play_moves(w, (uint32_t)w->h->count);
}

/* The model alone should not pay for hooks. */
static bool play(struct gm_playing *w, uint32_t end)
{
    return w->options->hooks == NULL ? play_with(w, end, NULL) : play_with(w, end, w->options->hooks);
}

/* Plays up to `end`, and notes the peaks meanwhile in *part, if there is one. */
static bool play_part(struct gm_playing *w, struct gm_whatif_part *part, uint32_t end)
{
    uint32_t from = w->walk.event;
    w->part = part == NULL ? SIZE_MAX : (size_t)(part - w->options->parts);
    struct gm_level_now levels = gm_playing_levels(w, w->options->hooks);
    w->level.peak_allocated = levels.allocated;
    w->level.peak_reserved = levels.reserved;
    bool goes_on = play(w, end);
    w->result->played += w->walk.event - from;
    if (part != NULL) {
        w->result->parts_played++;
        part->peak_allocated = w->level.peak_allocated;
        part->peak_reserved = w->level.peak_reserved;
        part->allocated_at_end = gm_playing_levels(w, w->options->hooks).allocated;
        const struct gm_whatif_hooks *hooks = w->options->hooks;
        if (hooks != NULL && hooks->ended != NULL && !w->model.has_failed)
            gm_playing_heed(w, hooks->ended(hooks->self, w->part));
    }
    return goes_on && !w->model.has_failed;
}

static void play_all(struct gm_playing *w)
{
    bool goes_on = !w->result->has_failed && !w->model.has_failed;
    const double from = gm_seconds();
    w->walk = gm_walk_start(w->h);
    for (size_t i = 0; goes_on && i < w->options->part_count; i++) {
        struct gm_whatif_part *part = &w->options->parts[i];
        if (!part->is_again && w->walk.event < part->first)
            goes_on = play_part(w, NULL, part->first);
        if (goes_on && w->options->repeat != NULL && part->first == w->options->repeat->first &&
            part->end == w->options->repeat->end)
            gm_playing_turn(w, part->is_again);
        if (goes_on)
            goes_on = play_part(w, part, part->end);
    }
    if (goes_on && !w->options->stops_after_parts)
        play_part(w, NULL, UINT32_MAX);
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    if (hooks != NULL && hooks->finished != NULL && !w->model.has_failed && !w->model.has_no_memory) {
        w->result->stopped_at = GM_NEVER;
        gm_playing_heed(w, hooks->finished(hooks->self));
    }
    w->result->seconds = gm_seconds() - from;
}

/* What is away from the beginning on is not asked for then. */
static bool prepare_moves(struct gm_playing *w)
{
    if (w->options->move_count == 0)
        return true;
    w->away = calloc(w->h->allocation_count + 1, sizeof *w->away);
    while (w->away != NULL && w->next_move < w->options->move_count && w->options->moves[w->next_move].moment == 0 &&
           !w->options->moves[w->next_move].is_back)
        move(w);
    return w->away != NULL;
}

static enum gm_status status_of(const struct gm_playing *w, bool ok, struct gm_error *err)
{
    if (!ok || w->model.has_no_memory)
        return gm_no_memory(err);
    if (w->model.has_failed)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET,
                       w->options->device == NULL && w->options->hooks == NULL
                           ? "the simulated device gave out an address twice"
                           : "the device failed");
    if (w->model.space.work + w->sim.work > w->budget)
        return gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET,
                       "device %lld: the trace keeps the model busy far beyond its length", (long long)w->h->device);
    return GM_OK;
}

/* How busy the trace may keep the model: in proportion to the events that are played. */
static uint64_t budget_of(const struct gm_playing *w)
{
    uint64_t events = (uint64_t)w->h->count + w->h->allocation_count;
    for (size_t i = 0; i < w->options->part_count; i++)
        if (w->options->parts[i].is_again)
            events += w->options->parts[i].end - w->options->parts[i].first;
    return events * 256 + (UINT64_C(1) << 28);
}

static enum gm_status run(struct gm_whatif_result *result, struct gm_history *h,
                          const struct gm_whatif_options *options, const struct gm_whatif_refused *refused,
                          struct gm_error *err)
{
    GM_FREED struct gm_playing *w = malloc(sizeof *w);
    if (w == NULL)
        return gm_no_memory(err);
    *w = (struct gm_playing){
        .result = result, .options = options, .h = h, .sim = gm_sim_init(options->capacity, options->placement)};
    w->sim.taken = options->taken;
    w->refused = refused;
    *result = (struct gm_whatif_result){.device = h->device, .events = h->count, .stopped_at = GM_NEVER};
    w->requested = options->requested;
    w->budget = budget_of(w);
    w->part = SIZE_MAX;
    for (size_t i = 0; i < options->class_count; i++) {
        memset(options->classes[i].now, 0, options->classes[i].count * sizeof *options->classes[i].now);
        memset(options->classes[i].at_peak, 0, options->classes[i].count * sizeof *options->classes[i].at_peak);
    }
    w->device = options->device != NULL ? *options->device : gm_sim_device(&w->sim);
    w->sink = (struct gm_allocator_sink){w, options->recorder != NULL ? gm_playing_hear_recorded : gm_playing_hear};
    gm_allocator_init(&w->model, &options->conf, &w->device, &w->sink);
    w->model.counts_reserved_only = options->counts_reserved_only;
    w->model.keeps_objects = options->recorder != NULL;
    w->model.untold = options->recorder != NULL ? 0 : ~(1U << GM_EVENT_FREE_COMPLETED | 1U << GM_EVENT_OOM);
    if (options->recorder != NULL)
        gm_recorder_begin(options->recorder, h);
    bool ok = gm_follow_init(&w->follow, h, &w->model, h->allocation_count) && gm_releases_find(&w->releases, h) &&
              gm_playing_prepare_turns(w) && prepare_moves(w) && gm_playing_start(w);
    if (ok)
        play_all(w);
    result->recorded_releases = w->releases.requests;
    const uint8_t *action = h->snapshot->events.action + h->first;
    uint64_t ooms = 0;
    for (size_t i = 0; i < h->device_event_count; i++)
        ooms += action[h->device_events[i]] == GM_ACTION_OOM;
    result->recorded_ooms = ooms;
    result->stats = w->model.stats;
    result->hangs_on_placement = w->model.has_tied && w->sim.given > 0;
    enum gm_status status = status_of(w, ok, err);
    if (status == GM_OK && options->recorder != NULL)
        gm_recorder_end(options->recorder, &w->model, w->follow.stream_of);
    if (status == GM_OK && options->device != NULL) {
        gm_playing_give_back(w);
        status = status_of(w, ok, err);
    }
    gm_releases_free(&w->releases);
    gm_follow_free(&w->follow);
    gm_allocator_free(&w->model);
    gm_sim_free(&w->sim);
    GM_FREE_ALL(w->away, w->is_start, w->is_once, w->carried, w->home);
    return status;
}

/* Whether there is no room for options->refused, either. It is asked for in a replay of its own. */
static enum gm_status is_refused_again(bool *is_refused, struct gm_history *h, const struct gm_whatif_options *options,
                                       struct gm_error *err)
{
    struct gm_whatif_options plain = *options;
    struct gm_whatif_result result;
    *is_refused = false;
    if (options->refused == NULL || options->capacity == UINT64_MAX)
        return GM_OK;
    plain.part_count = plain.class_count = 0;
    plain.recorder = NULL;
    enum gm_status status = run(&result, h, &plain, options->refused, err);
    *is_refused = status == GM_OK && result.has_failed && result.failure.is_refused;
    return status;
}

enum gm_status gm_whatif(struct gm_whatif_result *result, struct gm_history *h, const struct gm_whatif_options *options,
                         struct gm_error *err)
{
    struct gm_error first;
    bool is_refused;
    *result = (struct gm_whatif_result){.stopped_at = GM_NEVER};
    enum gm_status status = is_refused_again(&is_refused, h, options, &first);
    GM_THEN(status, run(result, h, options, is_refused ? options->refused : NULL, &first));
    if (status != GM_E_INTERNAL || !result->from_layout) {
        if (status != GM_OK && err != NULL)
            *err = first;
        return status;
    }
    /* A layout that contradicts itself leaves no room to go on from. */
    struct gm_whatif_options empty = *options;
    empty.from_layout = false;
    return run(result, h, &empty, NULL, err);
}
