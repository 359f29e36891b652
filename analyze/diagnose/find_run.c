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
        const uint32_t round = gm_lives_round(l, e + 1);
        if ((events->action[row] != GM_ACTION_SEGMENT_FREE && events->action[row] != GM_ACTION_SEGMENT_UNMAP) ||
            round == last || round == 0)
            continue;
        rounds++;
        last = round;
        stack = stack == 0 ? events->stack[row].v : stack;
    }
    if (rounds < LEAST_EMPTIED || rounds * 2 < l->rounds.n)
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, 0,
        "In %s of %s rounds of the loop memory goes back to the driver, which never refused any, and is taken "
        "again. Each time the device is waited for. %s.",
        gm_count_format(n[0], rounds), gm_count_format(n[1], l->rounds.n), rule->fix);
    gm_case_is_mistake(f, rule);
    f->site = stack == 0 ? NULL : gm_names_site(&l->names, (struct gm_stack_id){stack});
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

/* What is reserved at the end and was of use to an earlier phase only: after the last moment at which three fifths of
 * it were live. */
static void find_old_cache(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const uint64_t reserved = c->view.device->totals.reserved;
    uint64_t live = 0, most_after = 0;
    uint32_t last = 0;
    char size[2][GM_SIZE_TEXT], n[GM_NUMBER_TEXT];
    for (size_t a = 0; a < l->h->allocation_count; a++)
        live += l->h->born[a] == 0 ? l->h->block[a] : 0;
    for (uint32_t e = 0; e < l->h->count; e++) {
        const uint32_t a = l->h->of_event[e];
        if (a != GM_NEVER && l->h->born[a] == e + 1)
            live += l->h->block[a];
        else if (a != GM_NEVER && l->h->freed[a] == e + 1)
            live -= l->h->block[a] < live ? l->h->block[a] : live;
        most_after = live > most_after ? live : most_after;
        if (live >= reserved / 5 * 3) {
            last = e;
            most_after = 0;
        }
    }
    if (c->has_oom || last == 0 || gm_sat_sub(reserved, most_after) < GM_GIB || most_after > reserved / 2 ||
        l->h->count - last < l->h->count / 4 || gm_lives_round(l, (uint32_t)l->h->count) < gm_lives_round(l, last) + 2)
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, reserved - most_after,
        "After event %s at most %s are live, but %s stay reserved: the cache of a phase that is over. %s.",
        gm_count_format(n, last), gm_size_format(size[0], most_after), gm_size_format(size[1], reserved), rule->fix);
    gm_case_is_mistake(f, rule);
    const uint32_t a = l->h->of_event[last];
    f->site = a == GM_NEVER ? NULL : gm_names_site(&l->names, (struct gm_stack_id){l->h->stack[a]});
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
    struct gm_finding *f =
        gm_case_say(c, rule, GM_WARNING, oom->missing == GM_REPORT_NONE ? 0 : oom->missing,
                    "%s of the %s that were live are parameters, gradients and optimizer state, and no "
                    "mistake was found that would have spared what was missing. %s.",
                    gm_size_format(size[0], lasting), gm_size_format(size[1], oom->levels.requested), rule->fix);
    gm_case_is_mistake(f, rule);
    f->site = oom->site;
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
         "three fifths of what is reserved at the end were live once, and in the last quarter of the events, and two "
         "rounds of the loop, no more than half of it, and 1 GiB less",
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
