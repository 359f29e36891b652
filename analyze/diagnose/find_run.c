/* SPDX-License-Identifier: Apache-2.0
 *
 * The run as a whole: a cache that is given back all the time, or never, and a device that is simply too
 * small.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>
#include <string.h>

/* ---- the driver -------------------------------------------------------------------------------------------------- */

enum { LEAST_EMPTIED = 3 };

/* Rounds that give memory back to the driver though it never refused any. */
static void find_emptied(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const struct gm_events *events = &l->snapshot->events;
    uint32_t rounds = 0, last = 0, stack = 0;
    char n[2][GM_NUMBER_TEXT];
    if (c->has_oom || c->view.timeline->fragmentation.retries > 0)
        return;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const size_t row = l->h->first + e;
        if (events->action[row] != GM_ACTION_SEGMENT_FREE && events->action[row] != GM_ACTION_SEGMENT_UNMAP)
            continue;
        const uint32_t round = gm_lives_round(l, e + 1);
        if (round == last || round == 0)
            continue;
        rounds++;
        last = round;
        stack = stack == 0 ? events->stack[row].v : stack;
    }
    if (rounds < LEAST_EMPTIED || rounds * 2 < l->rounds.n)
        return;
    const struct gm_library_option *option = gm_library_option_for(l, rule->id, stack);
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, 0,
        "In %s of %s rounds of the loop memory goes back to the driver, which never refused any, and is taken "
        "again. Each time the device is waited for. %s.",
        gm_count_format(n[0], rounds), gm_count_format(n[1], l->rounds.n), option != NULL ? option->fix : rule->fix);
    gm_case_is_mistake(f, rule, option);
    f->site = stack == 0 ? NULL : gm_lives_place(l, stack);
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

enum {
    GOES_ON = 50 /* parts of what was made so far */,
    LEAST_CACHED = 10 /* parts of what is reserved */,
    LEAST_CACHED_MIB = 64,
    LATER_ROUNDS = 2
};

/* What stacks with frames made so far and did not keep, and what of it is made by code that still goes on. */
struct phase {
    uint64_t *made; /* [gm_stack_id] */
    uint32_t *last; /* [gm_stack_id]: its last event */
    uint64_t all, goes_on;
    uint32_t most; /* the stack that made most of it */
};

static bool is_of_phase(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] > 0 && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0 && !gm_lives_is_lasting(l, a);
}

static void see_birth(struct phase *p, const struct gm_lives *l, uint32_t a)
{
    const uint32_t stack = gm_stack_of(l->h, a);
    if (!is_of_phase(l, a))
        return;
    p->all += gm_requested(l->h, a);
    p->goes_on += gm_requested(l->h, a);
    p->made[stack] += gm_requested(l->h, a);
    p->most = p->made[stack] > p->made[p->most] ? stack : p->most;
    if (p->last[stack] == l->h->born[a])
        p->goes_on -= p->made[stack];
}

/* What was reserved before the trace; `*highest`: the event after which most is, for the first time. */
static uint64_t reserved_at_start(const struct gm_case *c, uint32_t *highest)
{
    struct gm_walk walk = gm_walk_start(c->lives->h);
    struct gm_change change;
    int64_t grown = 0, most = 0;
    *highest = 0;
    while (gm_walk_next(&walk, &change)) {
        grown += change.reserved;
        *highest = grown > most ? change.event : *highest;
        most = grown > most ? grown : most;
    }
    const int64_t left = (int64_t)c->view.device->totals.reserved - grown;
    return left > 0 ? (uint64_t)left : 0;
}

/* The moment with most cached memory, before most is reserved, at which the code that made nearly all so far is not to
 * run again. */
static uint32_t end_of_phase(const struct gm_case *c, struct phase *p, uint64_t *cached, uint32_t *stack)
{
    const struct gm_history *h = c->lives->h;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    uint32_t moment = GM_NEVER, highest;
    uint64_t reserved = reserved_at_start(c, &highest), live = 0;
    *cached = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        live += h->born[a] == 0 ? gm_block_bytes(h, a) : 0;
    while (gm_walk_next(&walk, &change) && change.event <= highest) {
        reserved += (uint64_t)change.reserved;
        if (change.kind == GM_CHANGE_FREE)
            live = gm_sat_sub(live, gm_block_bytes(h, change.allocation));
        if (change.kind != GM_CHANGE_ALLOC)
            continue;
        if (p->goes_on <= p->all / GOES_ON && p->all > 0 &&
            gm_sat_sub(reserved, live) > *cached + *cached / 8) { /* not the next phase's own */
            *cached = reserved - live;
            *stack = p->most;
            moment = change.event;
        }
        live += gm_block_bytes(h, change.allocation);
        see_birth(p, c->lives, change.allocation);
    }
    return moment;
}

/* Whether the loop goes on from then on, in training with a forward pass that ends in a backward pass: a recording of
 * one step ends in the optimizer. */
static bool is_followed(const struct gm_lives *l, uint32_t moment)
{
    bool is_forward = false, is_found = !l->has_optimizer;
    for (uint32_t e = moment; e < l->h->count && !is_found; e++) {
        const uint32_t a = gm_made_by(l->h, e);
        if (a == GM_NEVER)
            continue;
        const bool is_backward =
            gm_lives_is_of_backward(l, a) || (gm_lives_by(l, a) & (GM_BY_BACKWARD | GM_BY_ROOT)) != 0;
        if (is_backward && !is_forward)
            return false;
        is_found = is_backward;
        is_forward |= !is_backward && (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_OPTIMIZER)) == 0;
    }
    return is_found && gm_lives_round(l, (uint32_t)l->h->count) >= gm_lives_round(l, moment) + LATER_ROUNDS;
}

/* Setting up weights is no phase: a module has run, if any does. */
static bool is_after_setup(const struct gm_lives *l, uint32_t moment)
{
    bool is_after = !gm_lives_has_modules(l);
    for (size_t a = 0; a < l->h->allocation_count && !is_after; a++)
        is_after = l->h->born[a] > 0 && l->h->born[a] <= moment && (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
    return is_after;
}

/* Nothing of what is cached then is of use to the code that made it; whether something else uses it, a replay tells. */
static void find_old_cache(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const size_t stacks = (size_t)l->snapshot->stacks.count + 1;
    struct phase p = {.made = calloc(stacks, sizeof *p.made), .last = calloc(stacks, sizeof *p.last)};
    struct gm_remedy_change *change = gm_arena_calloc(&c->report->arena, 1, sizeof *change);
    uint64_t cached = 0;
    uint32_t moment = GM_NEVER, stack = 0;
    char size[GM_SIZE_TEXT], n[GM_NUMBER_TEXT];
    c->failed |= p.made == NULL || p.last == NULL || change == NULL;
    for (size_t a = 0; !c->failed && a < l->h->allocation_count; a++)
        if (is_of_phase(l, a) && l->h->born[a] > p.last[gm_stack_of(l->h, a)])
            p.last[gm_stack_of(l->h, a)] = l->h->born[a];
    if (!c->failed)
        moment = end_of_phase(c, &p, &cached, &stack);
    free(p.made);
    free(p.last);
    if (moment == GM_NEVER || c->has_oom || !is_after_setup(l, moment) || !is_followed(l, moment) ||
        cached < LEAST_CACHED_MIB * GM_MIB || cached < gm_view_peak_reserved(&c->view) / LEAST_CACHED)
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, cached,
        "At event %s the code that made nearly all so far has run for the last time, and %s of what it used stay "
        "reserved. %s.",
        gm_count_format(n, moment), gm_size_format(size, cached), rule->fix);
    gm_case_is_mistake(f, rule, NULL);
    f->site = gm_lives_parting(l, stack, gm_stack_of(l->h, l->h->of_event[moment]));
    *change = (struct gm_remedy_change){.allocation = GM_REMEDY_NEVER, .gone = moment};
    f->remedy = gm_case_remedy(c, c->view.device->device);
    if (f->remedy != NULL) {
        f->remedy->changes = change;
        f->remedy->count = 1;
    }
}

/* ---- capacity ---------------------------------------------------------------------------------------------------- */

/* After the replays: out of memory, and no mistake that would have spared it. */
static void find_capacity(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_oom_row *oom = c->has_oom && c->view.timeline->oom_count > 0 ? &c->view.timeline->ooms[0] : NULL;
    uint64_t lasting = 0;
    char size[2][GM_SIZE_TEXT];
    if (oom == NULL ||
        (oom->verdict != GM_OOM_CAPACITY && !gm_is_share(oom->levels.requested, oom->levels.reserved, 0.9)))
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->findings[i].rank == GM_RANK_MISTAKE && c->findings[i].severity != GM_INFO)
            return;
    for (size_t i = 0; i < oom->role_count; i++)
        if (strcmp(oom->roles[i].name, "Parameter") == 0 || strcmp(oom->roles[i].name, "Gradient") == 0 ||
            strcmp(oom->roles[i].name, "Optimizer state") == 0)
            lasting += oom->roles[i].bytes;
    if (!gm_is_share(lasting, oom->levels.requested, 0.5))
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, oom->missing == GM_REPORT_NONE ? 0 : oom->missing,
        "%s of the %s that were live are parameters, gradients and optimizer state, and no "
        "mistake was found that would have spared what was missing.%s %s.",
        gm_size_format(size[0], lasting), gm_size_format(size[1], oom->levels.requested),
        c->report->oom_card == NULL
            ? ""
            : gm_case_printf(c, " The smallest card with as much as that request needed is %s.", c->report->oom_card),
        rule->fix);
    gm_case_is_mistake(f, rule, NULL);
    f->site = gm_site_has_stack(oom->site) ? oom->site : gm_case_site_with_most(c, c->view.index);
}

static const struct gm_rule rules[] = {
    {.id = "empty-cache-in-loop",
     .title = "The cache is given back in every round",
     .find = find_emptied,
     .needs_lives = true,
     .brief = "no empty_cache() in the loop",
     .fix = "Leave torch.cuda.empty_cache() out of the loop",
     .snippet = "  for batch in loader:\n"
                "      step(batch)\n"
                "-     torch.cuda.empty_cache()",
     .cost = "none; it is faster",
     .severity = "warning",
     .when = "in at least 3 rounds, and half of them, memory goes back to the driver, which never refused any",
     .what_to_do = "No `torch.cuda.empty_cache()` in a loop"},
    {.id = "cache-of-finished-phase",
     .title = "The cache of a phase that is over stays reserved",
     .find = find_old_cache,
     .needs_lives = true,
     .brief = "empty_cache() between phases",
     .fix = "Call torch.cuda.empty_cache() once between the phases, if something else needs the memory",
     .snippet = "  train()\n"
                "+ torch.cuda.empty_cache()\n"
                "  serve()",
     .cost = "none",
     .severity = "warning",
     .when =
         "at some moment the stacks that made 98 % of all so far, of which one is a module's, if there are modules, "
         "have run for the last time, a 20th of peak "
         "reserved or "
         "more is cached, two rounds of the loop follow, and reserved memory would be lower if it were given back then",
     .what_to_do = "`torch.cuda.empty_cache()` once, after the phase that needed it"},
    {.id = "plain-capacity",
     .title = "The device is too small for what the program keeps",
     .find = find_capacity,
     .is_last = true,
     .unit = " missing",
     .brief = "shard, offload or shrink",
     .fix =
         "Shard parameters and states over more devices (FSDP), keep them in bf16 or 8 bits, offload them, or take a "
         "larger card",
     .snippet = "- model = model.cuda()\n"
                "+ model = fully_shard(model)  # over N ranks; or a smaller type",
     .cost = "communication, accuracy, or money",
     .severity = "warning",
     .when = "out of memory, by capacity or with nine tenths of what is reserved in use, parameters, gradients and "
             "optimizer state were half of what was live, and no "
             "mistake was found",
     .what_to_do = "Sharding, smaller types, offloading, a larger card"},
};
const struct gm_theme gm_theme_run = GM_THEME(rules);
