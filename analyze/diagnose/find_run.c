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

/* [gm_stack_id] Whether it makes something, too, where frees have stacks of their own: then what it gives back is an
 * operator's doing, as of cuDNN's search for the fastest algorithm. NULL: no memory. */
static bool *find_operators(const struct gm_lives *l)
{
    bool *makes = gm_lives_of_stacks(l, sizeof *makes);
    if (makes != NULL && gm_history_frees_have_stacks(l->h))
        for (size_t a = 0; a < l->h->allocation_count; a++)
            makes[gm_lives_stack(l, a)] |= l->h->born[a] > 0;
    return makes;
}

/* Rounds that give memory back to the driver though it never refused any. */
static void find_emptied(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const struct gm_events *events = &l->snapshot->events;
    uint32_t rounds = 0, last = 0, stack = 0;
    char n[2][GM_NUMBER_TEXT];
    if (!l->gives_back || c->has_oom || c->view.timeline->fragmentation.retries > 0)
        return;
    GM_FREED bool *makes = find_operators(l);
    for (size_t i = 0; makes != NULL && i < l->h->device_event_count; i++) {
        const uint32_t e = l->h->device_events[i];
        const size_t row = l->h->first + e;
        if (!gm_action_is_release(events->action[row]) || makes[gm_event_stack(events, row).v])
            continue;
        const uint32_t round = gm_lives_round(l, e + 1);
        if (round == last || round == 0)
            continue;
        rounds++;
        last = round;
        stack = stack == 0 ? gm_event_stack(events, row).v : stack;
    }
    if (rounds < LEAST_EMPTIED || rounds * 2 < l->rounds.n)
        return;
    const struct gm_library_option *option = gm_library_option_for(l, rule->id, stack, NULL);
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
    LATER = 3 /* passes */
};

/* Up to that allocation, and from where the next one ends: how often what comes next does so from its birth on; 0:
 * something is not over. */
struct stretch {
    uint32_t allocation, later;
};

/* What stacks with frames made so far and did not keep, and what of it is made by code that still goes on. */
struct phase {
    uint64_t *made;                          /* [gm_stack_id] */
    uint32_t *last;                          /* [gm_stack_id]: its last event */
    struct GM_VEC(struct stretch) stretches; /* the last first */
    size_t end; /* 1 + the last allocation from which it does so once more; 0: there is none */
    uint64_t all, goes_on;
    uint32_t most;    /* the stack that made most of it */
    uint32_t trained; /* the last event of a backward pass or an optimizer; 0: none */
    uint32_t passes;  /* until then: how often the line that calls modules most did so */
};

static bool is_of_phase(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] > 0 && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0 && !gm_lives_is_lasting(l, a);
}

static void see_birth(struct phase *p, const struct gm_lives *l, uint32_t a)
{
    const uint32_t stack = gm_lives_stack(l, a);
    if (!is_of_phase(l, a))
        return;
    p->all += gm_requested(l->h, a);
    p->goes_on += gm_requested(l->h, a);
    p->made[stack] += gm_requested(l->h, a);
    p->most = p->made[stack] > p->made[p->most] ? stack : p->most;
    if (p->last[stack] == l->h->born[a])
        p->goes_on -= p->made[stack];
}

uint64_t gm_case_reserved_at_start(const struct gm_case *c, uint64_t *live, uint32_t *highest)
{
    const struct gm_history *h = c->lives->h;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    int64_t grown = 0, most = 0;
    *highest = 0;
    *live = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        *live += h->born[a] == 0 ? gm_block_bytes(h, a) : 0;
    while (gm_walk_next(&walk, &change)) {
        grown += change.reserved;
        *highest = grown > most ? change.event : *highest;
        most = grown > most ? grown : most;
    }
    const int64_t left = (int64_t)c->view.device->totals.reserved - grown;
    return left > 0 ? (uint64_t)left : 0;
}

/* Allocations are asked for in order: those before are forgotten. */
static uint32_t later_of(struct phase *p, uint32_t a)
{
    while (p->stretches.n > 0 && p->stretches.v[p->stretches.n - 1].allocation < a)
        p->stretches.n--;
    return p->stretches.n == 0 ? 0 : p->stretches.v[p->stretches.n - 1].later;
}

/* Fills p->stretches, and p->end, backwards: by calls of one line of a model, between which other lines make something;
 * or rounds, where no modules are called. A recording of one step ends in a backward pass and the optimizer: that is no
 * phase of its own. */
static void look_ahead(struct phase *p, const struct gm_lives *l)
{
    const size_t stacks = l->snapshot->stacks.count + 1;
    GM_FREED uint64_t *calls = gm_lives_of_stacks(l, sizeof *calls);
    GM_FREED struct {
        uint32_t later, until; /* how often the line calls modules from there on; of that until all was trained */
    } *times = gm_lives_of_stacks(l, sizeof *times);
    uint64_t last = 0;
    uint32_t later = 0, before = 0;
    const bool has_modules = gm_lives_has_modules(l);
    if (*l->failed)
        return;
    for (uint32_t s = 0; s < stacks; s++)
        calls[s] = (l->by[s] & GM_BY_MODULE) != 0 ? gm_lives_module_call(l, s, 1) : 0;
    for (size_t a = l->h->allocation_count; a-- > 0;) {
        if (!gm_is_made(l->h, a))
            continue;
        const uint32_t e = l->h->born[a] - 1, stack = gm_lives_stack(l, a);
        if (!has_modules)
            later = 1 + gm_lives_round(l, (uint32_t)l->h->count) - gm_lives_round(l, e + 1);
        const bool is_backward = gm_lives_is_of_backward(l, a) || (l->by[stack] & GM_BY_ROOT) != 0;
        if (p->trained == 0 && (is_backward || (l->by[stack] & GM_BY_OPTIMIZER) != 0))
            p->trained = e;
        const bool is_call = calls[stack] != 0 && calls[stack] != last;
        if (is_call && p->trained > 0)
            p->passes = (uint32_t)gm_max(p->passes, ++times[calls[stack] % stacks].until);
        if (has_modules && is_backward)
            later = 0;
        else if (is_call)
            later = ++times[calls[stack] % stacks].later;
        last = (l->by[stack] & GM_BY_NOBODY) == 0 ? calls[stack] : last;
        if (later != before)
            *l->failed |= !GM_VEC_PUSH(&p->stretches, ((struct stretch){(uint32_t)a, later}));
        before = later;
    }
    p->end = p->stretches.n == 0 ? 0 : p->stretches.v[0].allocation + (size_t)1;
}

/* Whether that may be the end of a phase: before most is reserved, which may be less then; or with some and as many
 * passes to come as there were rounds, which others on the card have to wait for. After training most of what is
 * reserved must be cached, and twice as many passes come, however they are counted: else they are but a look at what
 * was trained. */
static bool is_in_time(const struct gm_lives *l, struct phase *p, const struct gm_change *change, uint32_t highest,
                       bool is_mostly_cached)
{
    const uint32_t e = change->event, later = later_of(p, change->allocation), rounds = gm_lives_round(l, e);
    if (e <= highest)
        return later > 0;
    if (p->trained > 0 && e > p->trained)
        return later >= LATER && is_mostly_cached && later / 2 > rounds && /* the first pass may be before them */
               later / 2 > p->passes;
    return later >= gm_max(rounds, LATER);
}

/* The moment with most cached memory at which the code that made nearly all so far is not to run again, and other code
 * begins. */
static uint32_t end_of_phase(const struct gm_case *c, struct phase *p, uint64_t *cached, uint32_t *stack)
{
    const struct gm_history *h = c->lives->h;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    uint32_t moment = GM_NEVER, highest;
    uint64_t live, reserved = gm_case_reserved_at_start(c, &live, &highest);
    uint64_t growth = 0 /* for a request that is not served yet */, goes_on = 0;
    *cached = 0;
    while (gm_walk_next(&walk, &change) && (change.kind != GM_CHANGE_ALLOC || change.allocation < p->end)) {
        *(change.reserved > 0 ? &growth : &reserved) += (uint64_t)change.reserved;
        if (change.kind == GM_CHANGE_FREE)
            live = gm_sat_sub(live, gm_block_bytes(h, change.allocation));
        if (change.kind != GM_CHANGE_ALLOC)
            continue;
        const uint64_t now = gm_sat_sub(reserved, live);
        const bool is_new = p->made[gm_lives_stack(c->lives, change.allocation)] == 0;
        const bool is_better = now > *cached + *cached / 8 /* not the next phase's own */ ||
                               (now >= *cached && p->goes_on < goes_on /* the phase's last words */);
        if (p->goes_on <= p->all / GOES_ON && p->all >= now && is_new && is_better &&
            is_in_time(c->lives, p, &change, highest, now >= reserved / 4 * 3)) {
            *cached = now;
            goes_on = p->goes_on;
            *stack = p->most;
            moment = change.event;
        }
        reserved += growth;
        growth = 0;
        live += gm_block_bytes(h, change.allocation);
        see_birth(p, c->lives, change.allocation);
    }
    return moment;
}

/* Setting up weights is no phase: a module has run, if any does, or most of it (the stack `most`) was made by code that
 * sets up no module. */
static bool is_after_setup(const struct gm_lives *l, uint32_t moment, uint32_t most)
{
    bool is_after = !gm_lives_has_modules(l) || (l->by[most] & (GM_BY_LAYER | GM_BY_LOADING | GM_BY_COPYING)) == 0;
    for (size_t a = 0; a < l->h->allocation_count && !is_after; a++)
        is_after = l->h->born[a] > 0 && l->h->born[a] <= moment && (gm_lives_by(l, a) & GM_BY_MODULE) != 0;
    return is_after;
}

/* Nothing of what is cached then is of use to the code that made it; whether something else uses it, a replay tells. */
static void find_old_cache(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct phase p = {.made = gm_lives_of_stacks(l, sizeof *p.made), .last = gm_lives_of_stacks(l, sizeof *p.last)};
    struct gm_set set = {.v = NULL};
    uint64_t cached = 0;
    uint32_t moment = GM_NEVER, stack = 0;
    char size[GM_SIZE_TEXT], n[GM_NUMBER_TEXT];
    look_ahead(&p, l);
    for (size_t a = 0; p.end > 0 && a < l->h->allocation_count; a++)
        if (is_of_phase(l, a) && l->h->born[a] > p.last[gm_lives_stack(l, a)])
            p.last[gm_lives_stack(l, a)] = l->h->born[a];
    if (p.end > 0)
        moment = end_of_phase(c, &p, &cached, &stack);
    GM_FREE_ALL(p.made, p.last, p.stretches.v);
    if (moment == GM_NEVER || c->has_oom || !is_after_setup(l, moment, stack) || cached < LEAST_CACHED_MIB * GM_MIB ||
        cached < gm_view_peak_reserved(&c->view) / LEAST_CACHED)
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, cached,
        "At event %s the code that made nearly all so far has run for the last time, and %s of what it used stay "
        "reserved. %s.",
        gm_count_format(n, moment), gm_size_format(size, cached), rule->fix);
    gm_case_is_mistake(f, rule, NULL);
    f->site = gm_lives_parting(l, stack, gm_lives_stack(l, l->h->of_event[moment]));
    gm_set_end(&set, GM_REMEDY_NEVER, moment);
    f->remedy = gm_case_remedy_with(c, &set);
    if (f->remedy != NULL)
        f->remedy->is_of_end = true;
    gm_case_free_set(c, &set);
}

/* ---- capacity ---------------------------------------------------------------------------------------------------- */

static const char smaller_pass[] = "Run smaller batches, as many as make one, checkpoint the layers, use bf16 where it "
                                   "is fp32, or take a larger card";

/* What a mistake is said to save is as much as was missing, or nobody knows. */
static bool would_spare(const struct gm_finding *f, const struct gm_oom_row *oom)
{
    const uint64_t saves = f->remedy == NULL ? GM_REPORT_NONE : f->remedy->saving.alone;
    return saves == GM_REPORT_NONE || oom->missing == GM_REPORT_NONE || saves >= oom->missing;
}

static uint64_t bytes_of(const struct gm_oom_row *oom, const char *role)
{
    return gm_slice_named(oom->roles, oom->role_count, role).bytes;
}

/* After the replays: out of memory, and no mistake that would have spared it. */
static void find_capacity(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_oom_row *oom = gm_case_oom(c);
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    struct gm_role_advice advice;
    char size[3][GM_SIZE_TEXT];
    if (oom == NULL || (oom->verdict != GM_OOM_CAPACITY && !gm_oom_is_full(oom)))
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->findings[i].rank == GM_RANK_MISTAKE && c->findings[i].severity != GM_INFO &&
            would_spare(&c->findings[i], oom))
            return;
    const uint64_t lasting = bytes_of(oom, "Parameter") + bytes_of(oom, "Gradient") + bytes_of(oom, "Optimizer state"),
                   passing = bytes_of(oom, "Activation") + bytes_of(oom, "Temporary");
    const bool is_lasting = gm_is_share(lasting, oom->levels.requested, 0.5);
    if (!is_lasting &&
        (!gm_is_share(passing, oom->levels.requested, 0.5) || !gm_advice_of(&advice, "Activation", &c->view, true)))
        return;
    struct gm_finding *f =
        gm_case_say(c, rule, GM_WARNING, oom->missing == GM_REPORT_NONE ? 0 : oom->missing,
                    "Of the %s that were live, %s are parameters, gradients and optimizer state, %s what a pass makes, "
                    "and no mistake was found that would have spared what was missing.%s %s.",
                    gm_size_format(size[0], oom->levels.requested), gm_size_format(size[1], lasting),
                    gm_size_format(size[2], passing), gm_case_card(c), is_lasting ? rule->fix : smaller_pass);
    gm_case_is_mistake(f, rule, NULL);
    f->site = diagnosis->oom_place != NULL                        ? diagnosis->oom_place
              : oom->site != NULL && gm_site_has_stack(oom->site) ? oom->site
                                                                  : gm_case_site_with_most(c, c->view.index);
    if (is_lasting)
        return;
    f->brief = advice.in_short;
    f->fix = smaller_pass;
    f->cost = "time: more steps, or work done twice";
    f->snippet = "- for batch in loader:  # of 64\n"
                 "+ for batch in loader:  # of 16, and a step after every fourth";
    f->site = diagnosis->oom_pass != NULL ? diagnosis->oom_pass : f->site;
}

static const struct gm_rule rules[] = {
    {.id = "empty-cache-in-loop",
     .title = "The cache is given back in every round",
     .find_in_lives = find_emptied,
     .brief = "no empty_cache() in the loop",
     .fix = "Leave torch.cuda.empty_cache() out of the loop",
     .snippet = "  for batch in loader:\n"
                "      step(batch)\n"
                "-     torch.cuda.empty_cache()",
     .cost = "none; it is faster",
     .means = "`torch.cuda.empty_cache()` in a loop gives memory back that the next round takes again. It costs time, "
              "and saves nothing.",
     .when = "in at least 3 rounds, and half of them, memory goes back to the driver, which never refused any, "
             "and not by an operator that makes something, too",
     .what_to_do = "No `torch.cuda.empty_cache()` in a loop"},
    {.id = "cache-of-finished-phase",
     .title = "The cache of a phase that is over stays reserved",
     .find_in_lives = find_old_cache,
     .brief = "empty_cache() between phases",
     .fix = "Call torch.cuda.empty_cache() once between the phases, if something else needs the memory",
     .snippet = "  train()\n"
                "+ torch.cuda.empty_cache()\n"
                "  serve()",
     .means = "A phase that is over left a cache that has no pieces of the sizes which the next phase asks for.",
     .when =
         "at some moment other code begins, and the stacks that made 98 % of all so far, of which one is a module's, "
         "if there are modules, or the largest sets up none, have run for the last time; a tenth of peak reserved or "
         "more is cached, and most is reserved later, or three passes follow (after training three quarters of what is "
         "reserved, and twice as many passes as there were steps); a replay that gives it back then has a peak of "
         "reserved memory a tenth lower, or, where as many passes follow as were before, a quarter less reserved when "
         "the trace ends",
     .what_to_do = "`torch.cuda.empty_cache()` once, after the phase that needed it"},
    {.id = "plain-capacity",
     .title = "The device is too small for this run",
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
     .means =
         "Weights, gradients and states, or what one pass makes, are most of what was there when memory ran out, and "
         "none of it is a mistake.",
     .when = "out of memory, by capacity or with nine tenths of what is reserved in use; parameters, gradients and "
             "optimizer state were half of what was live, or activations and temporaries were; and no mistake was "
             "found that saves what was missing",
     .what_to_do = "Sharding, smaller types, offloading, a larger card; of a pass, smaller batches and checkpointing"},
};
const struct gm_theme gm_theme_run = GM_THEME(rules);
