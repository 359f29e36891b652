/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/whatif/whatif_private.h"

#include "analyze/base/size.h"

#include <stdio.h>
#include <string.h>

static uint64_t largest_free(const struct gm_playing *w, uint32_t pool, uint32_t stream)
{
    const struct gm_free_set *set = gm_allocator_free_blocks(&w->model, pool, stream);
    struct gm_free_place last = {0};
    if (set != NULL)
        last = gm_free_set_last(set);
    return last.entry == NULL ? 0 : last.entry->size;
}

/* A block is gone. What an earlier turn of a repeated step left behind is nobody's. */
static inline void forget(struct gm_playing *w, uint64_t address, uint64_t requested, uint32_t owner)
{
    uint32_t block = w->follow.block_of[owner];
    gm_playing_count(w, owner, -requested);
    if (block == GM_SPACE_NONE || w->model.space.blocks.v[block].address != address)
        return;
    if (w->is_start != NULL ? w->is_start[owner] : w->h->born[owner] == 0)
        w->start_active -= w->model.space.blocks.v[block].size;
    w->follow.block_of[owner] = GM_SPACE_NONE;
}

void gm_playing_hear(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                     uint32_t pool, uint32_t owner)
{
    struct gm_playing *w = self;
    struct gm_whatif_failure *f = &w->result->failure;
    if (event == GM_EVENT_FREE_COMPLETED) {
        forget(w, address, size, owner); /* a retry or empty_cache() may have waited for it */
        if (w->options->hooks != NULL)
            gm_playing_tell_freed(w, address);
    }
    if (event != GM_EVENT_OOM)
        return;
    f->rounded = size;
    f->device_free = address;
    f->largest_free = largest_free(w, pool, stream);
}

/* The same for a recorder. At the start only a failure is an event. */
void gm_playing_hear_recorded(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size,
                              uint32_t stream, uint32_t pool, uint32_t owner)
{
    struct gm_playing *w = self;
    gm_playing_hear(self, event, address, size, stream, pool, owner);
    if (w->model.origin != GM_ORIGIN_UNKNOWN)
        gm_recorder_hear(w->options->recorder, event, address, size, stream, pool, w->model.origin);
    else if (event == GM_EVENT_OOM)
        gm_recorder_fail_at_start(w->options->recorder, address, size, stream, pool, owner);
}

/* Of all pools and streams. Looking has a budget: a hostile trace grows often and has many streams. */
static uint64_t largest_of_all(struct gm_playing *w)
{
    uint64_t largest = 0, budget = 4 * ((uint64_t)w->h->count + w->h->allocation_count) + (UINT64_C(1) << 24);
    for (size_t p = 0; p < w->model.pools.n; p++) {
        const struct gm_allocator_pool *pool = &w->model.pools.v[p];
        w->bins_seen += pool->bins.n + 1;
        if (w->bins_seen > budget)
            return GM_ABSENT;
        for (size_t b = 0; b < pool->bins.n; b++) {
            struct gm_free_place last = gm_free_set_last(&pool->bins.v[b].set);
            if (last.entry != NULL && last.entry->size > largest)
                largest = last.entry->size;
        }
    }
    return largest;
}

/* After something was asked for: is it the peak of reserved bytes, or of requested ones? */
void gm_playing_note_peak(struct gm_playing *w, const struct gm_level_now *levels, uint32_t event)
{
    struct gm_whatif_peak *peak = &w->result->peak;
    const struct gm_whatif_hooks *hooks = w->options->hooks;
    bool has_levels = hooks != NULL && hooks->levels != NULL;
    if (levels->reserved <= peak->reserved)
        return;
    if (w->options->counts_reserved_only) {
        peak->reserved = levels->reserved;
        return;
    }
    *peak = (struct gm_whatif_peak){.reserved = levels->reserved,
                                    .allocated = levels->allocated,
                                    .active = has_levels ? levels->allocated : w->model.space.active,
                                    .requested = gm_playing_now(w->model.stats.requested_bytes),
                                    .largest_free = has_levels ? GM_ABSENT : largest_of_all(w),
                                    .event = event,
                                    .part = w->part};
    if (hooks != NULL && hooks->rose != NULL)
        gm_playing_heed(w, hooks->rose(hooks->self));
}

void gm_playing_note_classes(struct gm_playing *w)
{
    uint64_t requested = gm_playing_now(w->model.stats.requested_bytes);
    if (requested <= w->peak_requested)
        return;
    w->peak_requested = requested;
    for (size_t i = 0; i < w->options->class_count; i++)
        memcpy(w->options->classes[i].at_peak, w->options->classes[i].now,
               w->options->classes[i].count * sizeof *w->options->classes[i].now);
}

/* What is there, but in pieces. */
static void explain_pieces(struct gm_playing *w, bool is_private)
{
    struct gm_whatif_failure *f = &w->result->failure;
    char cached[GM_SIZE_TEXT], largest[GM_SIZE_TEXT], left[GM_SIZE_TEXT];
    uint64_t of_limit = w->model.limit > f->reserved ? w->model.limit - f->reserved : 0;
    bool is_limited = of_limit < f->device_free;
    snprintf(f->why, sizeof f->why,
             "fragmentation: %s are cached, but the largest free block of this pool and stream has %s, and of the "
             "%s %s are left%s",
             gm_size_format(cached, f->reserved - f->active), gm_size_format(largest, f->largest_free),
             is_limited ? "memory fraction" : "device", gm_size_format(left, is_limited ? of_limit : f->device_free),
             is_private ? "; a request to a private pool makes no other give memory back" : "");
}

static void explain(struct gm_playing *w, bool is_private)
{
    struct gm_whatif_failure *f = &w->result->failure;
    char active[GM_SIZE_TEXT], limit[GM_SIZE_TEXT];
    /* Others may have a part of a real device. */
    uint64_t capacity = w->options->device == NULL ? w->sim.capacity : f->device_free + f->reserved;
    uint64_t most = capacity < w->model.limit ? capacity : w->model.limit;
    gm_size_format(active, f->active);
    gm_size_format(limit, most);
    if (f->requested >= UINT64_C(1) << 60)
        snprintf(f->why, sizeof f->why, "PyTorch refuses requests of 2^60 bytes and more");
    else if (f->rounded > most - (f->active < most ? f->active : most))
        snprintf(f->why, sizeof f->why, "%s in use and this request are more than %s of %s", active,
                 w->model.limit < capacity ? "the memory fraction" : "the device", limit);
    else
        explain_pieces(w, is_private);
}

/* A request that found no memory. */
void gm_playing_fail(struct gm_playing *w, const struct gm_whatif_failure *request, bool is_private)
{
    struct gm_whatif_failure *f = &w->result->failure;
    if (w->model.has_no_memory || w->model.has_failed)
        return;
    w->result->has_failed = true;
    f->is_at_start = request->is_at_start;
    f->is_refused = request->is_refused;
    f->event = request->event;
    f->stack = request->stack;
    f->requested = request->requested;
    struct gm_level_now levels = gm_playing_levels(w, w->options->hooks);
    bool has_levels = w->options->hooks != NULL && w->options->hooks->levels != NULL;
    f->reserved = levels.reserved;
    f->active = has_levels ? levels.allocated : w->model.space.active;
    if (!f->is_at_start) { /* peaks count from the first event on */
        levels = gm_playing_levels_of_request(w, w->options->hooks);
        if (levels.reserved > w->level.peak_reserved)
            w->level.peak_reserved = levels.reserved;
    }
    gm_playing_note_peak(w, &levels, f->is_at_start ? GM_NEVER : f->event);
    if (f->why[0] == '\0')
        explain(w, is_private);
}

void gm_playing_fail_alloc(struct gm_playing *w, uint32_t event, uint32_t a, bool is_at_start)
{
    const struct gm_whatif_failure request = {.is_at_start = is_at_start,
                                              .event = event,
                                              .stack = {gm_stack_of(w->h, a)},
                                              .requested = gm_playing_request(w, a)};
    gm_playing_fail(w, &request, !w->home[gm_pool_number(w->h, a)].is_default);
}
