/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a run that serves a model: has a KV cache, or private pools, and trains nothing.
 */
#include "analyze/allocator/address_space.h"
#include "analyze/timeline/fragmentation/fragmentation.h"
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>

enum { LEAST_SHARE = 100 /* of what is reserved: who has less for what it serves does something else */ };

/* The first moment with a block of the cache, or of a private pool; GM_NEVER: there is none, or something is trained.
 */
static uint32_t first_moment(const struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    uint32_t first = GM_NEVER;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (pass->role[a] == GM_ROLE_GRADIENT || pass->role[a] == GM_ROLE_OPTIMIZER_STATE)
            return GM_NEVER;
        if ((pass->role[a] == GM_ROLE_KV_CACHE || gm_is_private_pool(h, gm_pool_number(h, a))) && h->born[a] < first)
            first = h->born[a];
    }
    for (size_t e = 0; pass->phase != NULL && e < h->count; e++)
        if (gm_phase_of(pass->phase, e) == GM_PHASE_BACKWARD || gm_phase_of(pass->phase, e) == GM_PHASE_OPTIMIZER)
            return GM_NEVER;
    return first;
}

/* When most is reserved from `first` on, and of these moments the one when most is requested. */
static uint32_t highest_moment(const struct gm_trace_pass *pass, uint32_t first, uint64_t *reserved)
{
    const struct gm_history *h = &pass->history;
    struct gm_sums now = gm_sums_start(pass), highest = {0};
    uint32_t best = first;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    for (bool more = true; more;) {
        if (walk.event >= first && (now.reserved > highest.reserved ||
                                    (now.reserved == highest.reserved && now.requested > highest.requested))) {
            highest = now;
            best = walk.event;
        }
        more = gm_walk_next(&walk, &c);
        if (more)
            gm_sums_apply(&now, pass, &c);
    }
    *reserved = gm_clamp(highest.reserved);
    return best;
}

/* Private pools are the graphs', but for weights and caches in them. */
static enum gm_serving_part part_of(const struct gm_trace_pass *pass, size_t a)
{
    const enum gm_role role = pass->role[a];
    if (role == GM_ROLE_PARAMETER || role == GM_ROLE_KV_CACHE)
        return role == GM_ROLE_PARAMETER ? GM_SERVING_WEIGHTS : GM_SERVING_CACHE;
    if (gm_is_private_pool(&pass->history, gm_pool_number(&pass->history, a)))
        return GM_SERVING_GRAPHS;
    if (role == GM_ROLE_ACTIVATION || role == GM_ROLE_TEMPORARY || role == GM_ROLE_INPUT)
        return GM_SERVING_PASSING;
    return role == GM_ROLE_WORKSPACE ? GM_SERVING_WORKSPACE : GM_SERVING_REST;
}

/* What is free then: of private pools theirs, of the others what could go back and what could not. */
static bool add_free(struct gm_trace_pass *pass, struct gm_serving *s, uint32_t moment)
{
    GM_FREED_BY(gm_space_free) struct gm_space space = {.reserved = 0};
    bool ok = gm_history_space_at(&pass->history, moment, &space);
    for (uint32_t i = 0; ok && i < space.blocks.n; i++) {
        const struct gm_space_block *b = &space.blocks.v[i];
        if (b->use != GM_SPACE_FREE)
            continue;
        const uint64_t whole = gm_watch_releasable(pass->watch, &space, i);
        if (gm_is_private_pool(&pass->history, b->pool)) {
            s->rows[GM_SERVING_GRAPHS].bytes += b->size;
            continue;
        }
        s->rows[GM_SERVING_UNUSED].bytes += whole;
        s->rows[GM_SERVING_FRAGMENTATION].bytes += b->size - whole;
    }
    return ok;
}

/* ---- how the cache grows ---------------------------------------------------------------------------------------- */

/* Caches that grow by torch.cat are made anew in each step, all tensors of them: in the order in which they were made,
 * as many as there are at one time are a step, and the steps' sums differ by what it adds. */
static bool find_growth(const struct gm_trace_pass *pass, struct gm_serving *s, size_t at_once)
{
    const struct gm_history *h = &pass->history;
    GM_FREED uint64_t *sums = calloc(h->allocation_count + 1, sizeof *sums);
    size_t n = 0, steps, alike = 0;
    if (sums == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count && at_once > 0; a++)
        if (pass->role[a] == GM_ROLE_KV_CACHE)
            sums[n++ / at_once] += gm_requested(h, a);
    steps = at_once == 0 ? 0 : n / at_once;
    const uint64_t last = steps < 2 ? 0 : gm_sat_sub(sums[steps - 1], sums[steps - 2]);
    for (size_t i = 1; i < steps; i++)
        alike += last > 0 && sums[i] > sums[i - 1] && sums[i] - sums[i - 1] == last;
    if (alike >= 2 && 2 * alike >= steps - 1) {
        s->growth = last;
        s->steps = alike;
    }
    return true;
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

/* What the device could have: as the command line says, or as the first failure shows. */
static void find_capacity(const struct gm_trace_pass *pass, struct gm_serving *s)
{
    const struct gm_serving_wishes *wishes = &pass->options->serving;
    s->card = wishes->card;
    s->capacity = wishes->card != NULL ? wishes->capacity : GM_REPORT_NONE;
    if (wishes->card == NULL && pass->out->oom_count > 0)
        s->capacity = gm_plus(pass->out->ooms[0].levels.reserved, pass->out->ooms[0].device_free);
    s->tokens = wishes->tokens;
    s->sequences = wishes->sequences;
}

static uint64_t parts_of(uint64_t room, uint64_t each)
{
    return room == GM_REPORT_NONE || each == GM_REPORT_NONE || each == 0 ? GM_REPORT_NONE : room / each;
}

static void conclude(struct gm_serving *s)
{
    const uint64_t none = GM_REPORT_NONE, passing = s->rows[GM_SERVING_PASSING].bytes;
    s->per_token = s->cache == 0                           ? none
                   : s->tokens > 0                         ? s->cache / s->tokens
                   : s->growth != none && s->sequences > 0 ? s->growth / s->sequences
                                                           : none;
    s->per_sequence = s->sequences > 0 && s->cache > 0 ? (s->cache + passing) / s->sequences : none;
    s->room = s->capacity == none ? none : gm_sat_sub(s->capacity, s->reserved);
    s->more_tokens = parts_of(s->room, s->per_token);
    s->more_sequences = parts_of(s->room, s->per_sequence);
    s->more_steps = parts_of(s->room, s->growth);
}

bool gm_trace_serving(struct gm_trace_pass *pass)
{
    static const char *const names[GM_SERVING_PARTS] = {
        "Weights",         "KV cache",      "Graph pools",    "Workspaces", "Activations and temporaries",
        "Everything else", "Fragmentation", "Unused reserved"};
    const struct gm_history *h = &pass->history;
    const uint32_t first = h->is_reconstructed && h->count > 0 ? first_moment(pass) : GM_NEVER;
    size_t at_once = 0;
    if (first == GM_NEVER || pass->out->filter != NULL)
        return true;
    struct gm_serving *s = gm_arena_calloc(&pass->report->arena, 1, sizeof *s);
    if (s == NULL)
        return false;
    *s = (struct gm_serving){.growth = GM_REPORT_NONE, .steps = 0};
    const uint32_t moment = highest_moment(pass, first, &s->reserved);
    for (int i = 0; i < GM_SERVING_PARTS; i++)
        s->rows[i] = (struct gm_serving_row){names[i], 0, i < GM_SERVING_FRAGMENTATION ? 0 : GM_REPORT_NONE};
    for (size_t a = 0; a < h->allocation_count; a++) {
        const bool is_cache = pass->role[a] == GM_ROLE_KV_CACHE;
        at_once += is_cache && h->freed[a] == GM_NEVER;
        if (!gm_history_is_active(h, a, moment))
            continue;
        struct gm_serving_row *row = &s->rows[part_of(pass, a)];
        row->bytes += gm_block_bytes(h, a);
        row->blocks++;
        s->cache += is_cache ? gm_requested(h, a) : 0;
    }
    s->event = gm_event_of_moment(moment);
    find_capacity(pass, s);
    const bool ok = add_free(pass, s, moment) && find_growth(pass, s, at_once);
    conclude(s);
    const bool is_asked = s->tokens > 0 || s->sequences > 0;
    const uint64_t held = gm_known_add(s->rows[GM_SERVING_CACHE].bytes, s->rows[GM_SERVING_GRAPHS].bytes);
    pass->out->serving = is_asked || held >= s->reserved / LEAST_SHARE ? s : NULL;
    return ok;
}
