/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif.h"

#include "analyze/base/size.h"
#include "replay/allocator/allocator.h"
#include "replay/allocator/sim.h"
#include "replay/verify/follow.h"
#include "replay/verify/releases.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct whatif {
    struct gm_whatif_result *result;
    const struct gm_whatif_options *options;
    struct gm_history *h;
    const uint64_t *requested; /* [allocation] */
    struct gm_allocator model;
    struct gm_sim sim;
    struct gm_device device;
    struct gm_allocator_sink sink;
    struct gm_follow follow;
    struct gm_allocator_home home[256]; /* [pool of the history] */
    struct gm_releases releases;
    size_t next_release;
    size_t segment; /* the next row of h->segments */
    struct gm_walk walk;
    uint64_t budget;
    uint64_t peak_active, start_active; /* start_active: of the blocks of the start that are still there */
    struct gm_whatif_part level;        /* of the part that is being played */
};

static uint64_t current(const struct gm_stat s[GM_STAT_KINDS])
{
    return (uint64_t)s[GM_STAT_ALL].current;
}

/* ---- the failure ------------------------------------------------------------------------------------------------- */

static uint64_t largest_free(const struct whatif *w, uint8_t pool, uint32_t stream)
{
    const struct gm_free_set *set = gm_allocator_free_blocks(&w->model, pool, stream);
    struct gm_free_place last = {0};
    if (set != NULL)
        last = gm_free_set_last(set);
    return last.entry == NULL ? 0 : last.entry->size;
}

static void put(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint8_t pool, uint32_t owner)
{
    struct whatif *w = self;
    struct gm_whatif_failure *f = &w->result->failure;
    if (event == GM_EVENT_FREE_COMPLETED) {
        if (w->h->born[owner] == 0)
            w->start_active -= w->model.space.blocks.v[w->follow.block_of[owner]].size;
        w->follow.block_of[owner] = GM_SPACE_NONE; /* a retry or empty_cache() may have waited for it */
    }
    if (event != GM_EVENT_OOM)
        return;
    f->allocation = owner;
    f->rounded = size;
    f->device_free = address;
    f->largest_free = largest_free(w, pool, stream);
}

static void explain(struct whatif *w)
{
    struct gm_whatif_failure *f = &w->result->failure;
    char free[GM_SIZE_TEXT], largest[GM_SIZE_TEXT], active[GM_SIZE_TEXT], limit[GM_SIZE_TEXT];
    uint64_t cached = f->reserved - f->active,
             most = w->sim.capacity < w->model.limit ? w->sim.capacity : w->model.limit;
    gm_size_format(active, f->active);
    gm_size_format(limit, most);
    if (f->requested >= UINT64_C(1) << 60)
        snprintf(f->why, sizeof f->why, "PyTorch refuses requests of 2^60 bytes and more");
    else if (f->rounded > most - (f->active < most ? f->active : most))
        snprintf(f->why, sizeof f->why, "%s in use and this request are more than %s of %s", active,
                 w->model.limit < w->sim.capacity ? "the memory fraction" : "the device", limit);
    else
        snprintf(f->why, sizeof f->why,
                 "fragmentation: %s are cached, but the largest free block of this pool and stream has %s, and of "
                 "the device %s are left",
                 gm_size_format(free, cached), gm_size_format(largest, f->largest_free),
                 gm_size_format(limit, f->device_free));
}

/* A request that found no memory. */
static void fail(struct whatif *w, uint32_t event, uint32_t a, bool is_at_start)
{
    struct gm_whatif_failure *f = &w->result->failure;
    if (w->model.has_no_memory || w->model.has_failed)
        return;
    w->result->has_failed = true;
    f->is_at_start = is_at_start;
    f->event = event;
    f->allocation = a;
    f->requested = w->requested[a];
    f->reserved = current(w->model.stats.reserved_bytes);
    f->active = current(w->model.stats.active_bytes);
    explain(w);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

static bool has_sound_layout(const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    const struct gm_segments *s = &h->snapshot->segments;
    uint64_t most = UINT64_C(1) << 61;
    for (size_t i = 0; i < s->count; i++)
        if (s->device[i] == h->device && (s->address[i] > most || s->total_size[i] > most - s->address[i]))
            return false;
    for (size_t i = 0; i < h->segment_count; i++) {
        size_t row = h->first + h->segments[i].event;
        if (e->addr[row] > most || e->size[row] > most - e->addr[row])
            return false;
    }
    return h->is_reconstructed;
}

static bool start_from_layout(struct whatif *w)
{
    uint64_t learnt;
    if (!gm_follow_adopt(&w->follow, true, &learnt))
        return false;
    const struct gm_space *space = &w->model.space;
    const struct gm_space_range *last = space->ranges.n == 0 ? NULL : &space->ranges.v[space->ranges.n - 1];
    size_t n = w->model.reservations.n;
    const struct gm_reservation_row *reservation = n == 0 ? NULL : &w->model.reservations.v[n - 1];
    uint64_t end = last == NULL ? 0 : last->address + last->size;
    if (reservation != NULL && reservation->address + reservation->size > end)
        end = reservation->address + reservation->size;
    gm_sim_begin_above(&w->sim, end, w->model.total);
    return true;
}

struct request {
    uint64_t stream; /* the handle */
    uint64_t address;
    uint32_t allocation;
};

static int by_stream(const void *left, const void *right)
{
    const struct request *a = left, *b = right;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->allocation < b->allocation ? -1 : a->allocation > b->allocation;
}

static uint32_t ask(struct whatif *w, uint32_t a, uint32_t stream)
{
    w->result->allocs++;
    return gm_allocator_malloc_at_home(&w->model, w->requested[a], stream, w->home[w->h->pool[a]], a);
}

static bool start_from_requests(struct whatif *w)
{
    struct gm_history *h = w->h;
    size_t n;
    struct gm_placed *placed = gm_follow_at_start(h, &n);
    struct request *list = malloc((n + 1) * sizeof *list);
    bool ok = placed != NULL && list != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t stream = gm_history_stream(h, placed[i].allocation).v;
        list[i] = (struct request){stream == 0 ? 0 : (uint64_t)h->snapshot->streams[stream], placed[i].address,
                                   placed[i].allocation};
    }
    if (ok)
        qsort(list, n, sizeof *list, by_stream);
    for (size_t i = 0; ok && i < n && !w->result->has_failed; i++) {
        uint32_t a = list[i].allocation;
        if (w->requested[a] == 0)
            continue;
        uint32_t stream = gm_follow_stream(&w->follow, gm_history_stream(h, a).v);
        ok = !w->model.has_no_memory;
        if (ok && (w->follow.block_of[a] = ask(w, a, stream)) == GM_SPACE_NONE)
            fail(w, 0, a, true);
        else if (ok && h->let_go[a] == 0)
            gm_allocator_free_requested(&w->model, w->follow.block_of[a]);
    }
    free(placed);
    free(list);
    return ok;
}

static bool start(struct whatif *w)
{
    struct gm_whatif_result *r = w->result;
    r->from_layout = w->options->from_layout && has_sound_layout(w->h);
    for (size_t p = 0; p < w->h->pool_count; p++) {
        const struct gm_history_pool *pool = &w->h->pools[p];
        bool is_known = pool->id_first != GM_ABSENT;
        w->home[p] = gm_allocator_home_of(&w->model, is_known ? pool->id_first : 0, is_known ? pool->id_second : 0);
    }
    if (w->model.has_no_memory || !(r->from_layout ? start_from_layout(w) : start_from_requests(w)))
        return false;
    for (size_t a = 0; a < w->h->allocation_count; a++)
        r->start_blocks += w->h->born[a] == 0 && w->follow.block_of[a] != GM_SPACE_NONE;
    r->start_bytes = w->start_active = w->peak_active = r->start_bytes_at_peak = w->model.space.active;
    r->start_reserved = w->model.total;
    return true;
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* empty_cache(): of the private pools, those whose memory went back then too were out of use. */
static void empty_cache(struct whatif *w, const struct gm_release_run *run)
{
    const struct gm_history *h = w->h;
    bool is_freeable[256] = {false};
    while (w->segment < h->segment_count && h->segments[w->segment].event < run->first)
        w->segment++;
    for (; w->segment < h->segment_count && h->segments[w->segment].event <= run->last; w->segment++)
        is_freeable[h->segments[w->segment].pool] = true;
    for (size_t p = 0; p < h->pool_count; p++) {
        if (!is_freeable[p] || w->home[p].is_default)
            continue;
        w->model.pools.v[w->home[p].small].is_freeable = true;
        w->model.pools.v[w->home[p].large].is_freeable = true;
    }
    gm_allocator_empty_cache(&w->model);
    for (size_t p = 0; p < w->model.pools.n; p++)
        w->model.pools.v[p].is_freeable = false;
    w->result->empty_caches++;
}

static void follow_others(struct whatif *w, uint32_t event)
{
    if (w->next_release < w->releases.count && w->releases.v[w->next_release].first == event) {
        const struct gm_release_run *run = &w->releases.v[w->next_release++];
        if (run->cause == GM_RELEASE_EMPTY_CACHE)
            empty_cache(w, run);
    }
}

static inline void follow_alloc(struct whatif *w, uint32_t event, uint32_t a)
{
    const struct gm_events *e = &w->h->snapshot->events;
    if (w->requested[a] == 0) {
        w->result->left_out++;
        return;
    }
    uint32_t stream = gm_follow_stream(&w->follow, gm_rare_at(&e->stream, w->h->first + event));
    uint32_t block = ask(w, a, stream);
    w->follow.block_of[a] = block;
    if (block == GM_SPACE_NONE) {
        fail(w, event, a, false);
        return;
    }
    uint64_t allocated = current(w->model.stats.allocated_bytes);
    if (allocated > w->level.peak_allocated)
        w->level.peak_allocated = allocated;
    if (w->model.total > w->level.peak_reserved)
        w->level.peak_reserved = w->model.total;
    if (w->model.space.active > w->peak_active) {
        w->peak_active = w->model.space.active;
        w->result->start_bytes_at_peak = w->start_active;
    }
}

static inline void follow_free(struct whatif *w, uint32_t a, bool is_completed)
{
    uint32_t block = w->follow.block_of[a];
    if (block == GM_SPACE_NONE)
        return;
    if (is_completed)
        gm_allocator_free_completed(&w->model, block);
    else
        gm_allocator_free_requested(&w->model, block);
}

/* Events up to `end`; false: the replay is over. */
static bool play(struct whatif *w, uint32_t end)
{
    struct gm_change c;
    while (w->walk.event < end && gm_walk_next(&w->walk, &c)) {
        switch (c.kind) {
        case GM_CHANGE_ALLOC:
            follow_alloc(w, c.event, c.allocation);
            break;
        case GM_CHANGE_LET_GO:
            follow_free(w, c.allocation, false);
            break;
        case GM_CHANGE_FREE:
            follow_free(w, c.allocation, true);
            break;
        default:
            follow_others(w, c.event);
            break;
        }
        if (w->result->has_failed || w->model.has_no_memory || w->model.has_failed ||
            w->model.space.work + w->sim.work > w->budget)
            return false;
    }
    return true;
}

/* Plays up to `end`, and notes the peaks meanwhile in *part, if there is one. */
static bool play_part(struct whatif *w, struct gm_whatif_part *part, uint32_t end)
{
    w->level.peak_allocated = current(w->model.stats.allocated_bytes);
    w->level.peak_reserved = w->model.total;
    bool goes_on = play(w, end);
    if (part != NULL) {
        part->peak_allocated = w->level.peak_allocated;
        part->peak_reserved = w->level.peak_reserved;
        part->allocated_at_end = current(w->model.stats.allocated_bytes);
    }
    return goes_on;
}

static void play_all(struct whatif *w)
{
    struct timespec from, to;
    bool goes_on = !w->result->has_failed;
    clock_gettime(CLOCK_MONOTONIC, &from);
    w->walk = gm_walk_start(w->h);
    for (size_t i = 0; goes_on && i < w->options->part_count; i++) {
        goes_on = play_part(w, NULL, w->options->parts[i].first);
        if (goes_on)
            goes_on = play_part(w, &w->options->parts[i], w->options->parts[i].end);
    }
    if (goes_on)
        play_part(w, NULL, UINT32_MAX);
    clock_gettime(CLOCK_MONOTONIC, &to);
    w->result->seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static enum gm_status status_of(const struct whatif *w, bool ok, struct gm_error *err)
{
    if (!ok || w->model.has_no_memory)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    if (w->model.has_failed)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "the simulated device gave out an address twice");
    if (w->model.space.work + w->sim.work > w->budget)
        return gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET,
                       "device %lld: the trace keeps the model busy far beyond its length", (long long)w->h->device);
    return GM_OK;
}

static enum gm_status run(struct gm_whatif_result *result, struct gm_history *h,
                          const struct gm_whatif_options *options, struct gm_error *err)
{
    struct whatif *w = malloc(sizeof *w);
    if (w == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    *w = (struct whatif){.result = result, .options = options, .h = h, .sim = gm_sim_init(options->capacity)};
    *result = (struct gm_whatif_result){.device = h->device, .events = h->count};
    w->requested = options->requested != NULL ? options->requested : h->requested;
    w->budget = ((uint64_t)h->count + h->allocation_count) * 256 + (UINT64_C(1) << 28);
    w->device = gm_sim_device(&w->sim);
    w->sink = (struct gm_allocator_sink){w, put};
    gm_allocator_init(&w->model, &options->conf, &w->device, &w->sink);
    bool ok = gm_follow_init(&w->follow, h, &w->model) && gm_releases_find(&w->releases, h) && start(w);
    if (ok)
        play_all(w);
    const uint8_t *action = h->snapshot->events.action + h->first;
    for (size_t i = 0; i < h->count; i++)
        result->recorded_ooms += action[i] == GM_ACTION_OOM;
    result->stats = w->model.stats;
    enum gm_status status = status_of(w, ok, err);
    gm_releases_free(&w->releases);
    gm_follow_free(&w->follow);
    gm_allocator_free(&w->model);
    gm_sim_free(&w->sim);
    free(w);
    return status;
}

enum gm_status gm_whatif(struct gm_whatif_result *result, struct gm_history *h, const struct gm_whatif_options *options,
                         struct gm_error *err)
{
    struct gm_error first;
    enum gm_status status = run(result, h, options, &first);
    if (status != GM_E_INTERNAL || !result->from_layout) {
        if (status != GM_OK && err != NULL)
            *err = first;
        return status;
    }
    /* A layout that contradicts itself leaves no room to go on from. */
    struct gm_whatif_options empty = *options;
    empty.from_layout = false;
    return run(result, h, &empty, err);
}
