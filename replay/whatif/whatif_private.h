/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to replay/whatif: one device while its requests are played.
 */
#pragma once

#include "replay/model/allocator.h"
#include "replay/model/sim.h"
#include "replay/verify/follow.h"
#include "replay/verify/releases.h"
#include "replay/whatif/whatif.h"

struct gm_carried {
    uint32_t block;
    bool is_start;
};

struct gm_playing {
    struct gm_whatif_result *result;
    const struct gm_whatif_options *options;
    struct gm_history *h;
    const uint64_t *requested; /* [allocation]; NULL: as recorded */
    struct gm_allocator model;
    struct gm_sim sim;
    struct gm_device device;
    struct gm_device elsewhere; /* from the recorded layout: for what was not recorded alike (places.c) */
    uint32_t grown_for, growth; /* then: the request that `growth`, the next recorded growth, belongs to */
    struct gm_allocator_sink sink;
    struct gm_follow follow;
    struct gm_allocator_home *home; /* [pool of the history] */
    struct gm_releases releases;
    size_t next_release;
    struct gm_walk walk;
    uint64_t budget;
    const struct gm_whatif_refused *refused; /* to be asked for; NULL: none */
    bool was_served;                         /* it was, and there is room: the replay is over */
    uint64_t peak_active, start_active;      /* start_active: of the blocks of the start that are still there */
    struct gm_whatif_part level;             /* of the part that is being played */
    size_t part;                             /* which one that is; SIZE_MAX: none */
    uint64_t peak_requested;
    struct gm_stat before; /* requested bytes, before the last request; with hooks only */
    uint64_t bins_seen;    /* free sets looked at for the largest block */
    bool counts;           /* classes: from the end of the start on */
    size_t next_move;      /* of options->moves */
    uint64_t given_back;   /* by the last empty_cache() of those */
    uint16_t *away;        /* [allocation]: moves after which it is not there; NULL without them */
    /* With options->repeat: */
    bool *is_start;             /* [allocation]: its block was live at the start */
    bool *is_once;              /* [allocation]: a turn does not ask for it again */
    struct gm_carried *carried; /* [carries] */
    struct gm_walk turn;        /* where a turn begins: the walk, */
    size_t turn_release;        /* and next_release */
};

static inline uint64_t gm_playing_now(const struct gm_stat s[GM_STAT_KINDS])
{
    return (uint64_t)s[GM_STAT_ALL].current;
}

static inline void gm_playing_count(struct gm_playing *w, uint32_t a, uint64_t bytes)
{
    for (size_t i = 0; w->counts && i < w->options->class_count; i++)
        w->options->classes[i].now[w->options->classes[i].of[a]] += bytes;
}

/* hooks.c: tells options->hooks. The first returns GM_SPACE_NONE if they refuse the block. */
uint32_t gm_playing_tell_allocated(struct gm_playing *w, uint32_t a, uint32_t block);
void gm_playing_tell_let_go(struct gm_playing *w, uint32_t a, uint32_t block);
void gm_playing_tell_freed(struct gm_playing *w, uint64_t address);
/* A hook said no: the replay stops as it does when the device fails. */
static inline void gm_playing_heed(struct gm_playing *w, bool goes_on)
{
    w->model.has_failed |= !goes_on;
}

struct gm_level_now {
    uint64_t reserved, allocated;
};
static inline struct gm_level_now gm_playing_levels(const struct gm_playing *w, const struct gm_whatif_hooks *hooks)
{
    struct gm_level_now levels = {w->model.total, gm_playing_now(w->model.stats.allocated_bytes)};
    if (hooks != NULL && hooks->levels != NULL)
        hooks->levels(hooks->self, &levels.reserved, &levels.allocated);
    return levels;
}

/* The same after a request, of which the peak of reserved bytes may be the one before a retry. */
static inline struct gm_level_now gm_playing_levels_of_request(const struct gm_playing *w,
                                                               const struct gm_whatif_hooks *hooks)
{
    struct gm_level_now levels = gm_playing_levels(w, hooks);
    if (hooks == NULL || hooks->levels == NULL)
        levels.reserved = w->model.highest;
    return levels;
}

static inline uint64_t gm_playing_request(const struct gm_playing *w, uint32_t a)
{
    return gm_whatif_request(w->requested, w->h, a);
}

/* The model's stream for a gm_stream_id. */
static inline uint32_t gm_playing_stream(struct gm_playing *w, uint32_t stream)
{
    return gm_follow_stream(&w->follow, w->options->on_one_stream ? gm_history_stream(w->h, 0).v : stream);
}

/* `hooks` are the options', so that a caller without can be compiled without. */
static inline uint32_t gm_playing_ask(struct gm_playing *w, uint32_t a, uint32_t stream,
                                      const struct gm_whatif_hooks *hooks)
{
    w->result->allocs++;
    w->model.highest = w->model.total;
    if (hooks != NULL) /* they may refuse what the model has counted */
        w->before = w->model.stats.requested_bytes[GM_STAT_ALL];
    const struct gm_allocator_home home = w->home[gm_pool_number(w->h, a)];
    if (home.is_default)
        gm_allocator_complete_waited(&w->model);
    uint32_t block = gm_allocator_malloc(&w->model, gm_playing_request(w, a), stream, home, a);
    return hooks == NULL ? block : gm_playing_tell_allocated(w, a, block);
}

/* notes.c: what the allocator reports (a gm_allocator_sink's put; the second also tells options->recorder), and what is
 * noted after a request: the peak of reserved bytes, that of requested bytes by class, a failure (of *request the first
 * members are read). `event` is GM_NEVER at the start. */
void gm_playing_hear(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                     uint32_t pool, uint32_t owner);
void gm_playing_hear_recorded(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size,
                              uint32_t stream, uint32_t pool, uint32_t owner);
void gm_playing_note_peak(struct gm_playing *w, const struct gm_level_now *levels, uint32_t event);
void gm_playing_note_classes(struct gm_playing *w);
void gm_playing_fail(struct gm_playing *w, const struct gm_whatif_failure *request, bool is_private);
void gm_playing_fail_alloc(struct gm_playing *w, uint32_t event, uint32_t a, bool is_at_start);

/* refused.c: asks for w->refused. */
void gm_playing_ask_refused(struct gm_playing *w);

/* start.c: what was live when the trace began. false: no memory. */
bool gm_playing_start(struct gm_playing *w);

/* places.c: puts the memory that is asked for where the recording had it, as long as it asked alike. Everything else
 * lies around the recorded addresses. */
void gm_playing_repeat_places(struct gm_playing *w);

/* give_back.c: everything that the allocator has of a device that is not simulated. */
void gm_playing_give_back(struct gm_playing *w);

/* turn.c: a step that is played again. */
bool gm_playing_prepare_turns(struct gm_playing *w); /* false: no memory */
void gm_playing_turn(struct gm_playing *w, bool is_again);
/* whatif.c: frees what the turn before left of that allocation. */
void gm_playing_drop(struct gm_playing *w, uint32_t a);
