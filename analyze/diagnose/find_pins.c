/* SPDX-License-Identifier: Apache-2.0
 *
 * Small blocks that stay where something large was: they keep its segments from going back, and from serving what is
 * larger than what lies beside them. It is asked before what is kept for too long: who keeps little of every round is
 * told what that costs.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    LEAST_MIB = 64,
    LEAST_PINNED = 10 /* parts of what is reserved then */,
    LARGE = 16 /* of what is pinned: no small block */,
    FEW = 4 /* of what is pinned: what else is wrong with what pins it is no matter */
};

/* A moment at which the program has given its cache back, and what stays reserved then without being in use. */
struct given_back {
    uint32_t moment; /* GM_NEVER: there is none */
    uint64_t stranded, reserved;
};

/* The last moment at which about most stays, and a tenth of what is reserved, if that much is unused when most is live
 * after it: else it serves again. The end counts as one, where no backward pass may follow, which has use for all. */
static struct given_back most_stranded(const struct gm_case *c)
{
    const struct gm_history *h = c->lives->h;
    struct given_back most = {.moment = GM_NEVER};
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    uint32_t highest;
    uint64_t live = 0, reserved = c->lives->gives_back ? gm_case_reserved_at_start(c, &live, &highest) : 0;
    uint64_t busiest = 0; /* the most that is live since that moment */
    bool is_back = false, is_used = false;
    while (c->lives->gives_back && gm_walk_next(&walk, &change)) {
        const uint64_t stranded = gm_sat_sub(reserved, live);
        if (is_back && change.reserved >= 0 && stranded >= most.stranded / 4 * 3 &&
            stranded >= reserved / LEAST_PINNED) {
            most = (struct given_back){change.event, stranded, reserved};
            busiest = 0;
        }
        if (live > busiest) {
            busiest = live;
            is_used = stranded < reserved / LEAST_PINNED;
        }
        is_back = change.reserved < 0;
        reserved += (uint64_t)change.reserved;
        if (change.kind == GM_CHANGE_FREE)
            live = gm_sat_sub(live, gm_block_bytes(h, change.allocation));
        else if (change.kind == GM_CHANGE_ALLOC)
            live += gm_block_bytes(h, change.allocation);
    }
    if (is_used)
        most = (struct given_back){.moment = GM_NEVER};
    const uint64_t at_end = is_back ? gm_sat_sub(reserved, live) : c->report->evidence.stranded_fixed;
    if ((is_back || !c->lives->has_backward) && at_end > most.stranded &&
        gm_is_share(at_end, c->view.device->totals.reserved, 1.0 / LEAST_PINNED))
        most = (struct given_back){(uint32_t)h->count, at_end, c->view.device->totals.reserved};
    return most;
}

/* The moment at which something larger than the small pool's was made first that is gone by then: what was made before
 * lies in none of its segments. */
static uint32_t first_gone(const struct gm_history *h, uint32_t moment)
{
    uint32_t first = GM_NEVER;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_block_bytes(h, a) > GM_MIB && h->freed[a] <= moment && h->born[a] < first)
            first = h->born[a];
    return first;
}

/* Where nothing is trained, what no module sets up looks like a weight when it is used again and again. */
static bool is_result(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER) && !l->has_backward &&
           (gm_lives_by(l, a) & (GM_BY_LAYER | GM_BY_LOADING | GM_BY_COPYING)) == 0;
}

/* A small block in what was freed before, which is no part of what is trained or run. */
static bool survives(const struct gm_lives *l, size_t a, const struct given_back *back, uint32_t first)
{
    return l->h->born[a] > first && l->h->freed[a] > back->moment &&
           gm_block_bytes(l->h, a) <= back->stranded / LARGE && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0 &&
           (!gm_lives_is_of_weights(l, a) || is_result(l, a));
}

/* The small blocks that the program has made until then, and that are no part of what is trained or run; their bytes.
 */
static uint64_t collect_survivors(struct gm_case *c, const struct given_back *back, struct gm_set *set)
{
    const struct gm_lives *l = c->lives;
    const uint32_t first = first_gone(l->h, back->moment);
    uint64_t bytes = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        if (l->h->born[a] > back->moment || !survives(l, a, back, first))
            continue;
        bytes += gm_block_bytes(l->h, a);
        gm_set_add(set, a, 0, 0);
    }
    return bytes;
}

static bool has_private_pools(const struct gm_snapshot *s)
{
    bool has = false;
    for (uint32_t i = 0; i < s->segments.count && !has; i++)
        has = gm_segment_is_private(s, i);
    return has;
}

/* Of survivors that hold at most half of what they keep. false: there are none. */
static bool tell_as_mistake(struct gm_case *c, const struct gm_rule *rule)
{
    char size[3][GM_SIZE_TEXT], n[GM_NUMBER_TEXT];
    struct gm_set set = {.v = NULL};
    if (c->lives == NULL || c->has_oom || gm_case_is_wreckage(c) || c->report->expandable_is_on ||
        has_private_pools(c->lives->snapshot))
        return false;
    const struct given_back most = most_stranded(c);
    if (most.moment == GM_NEVER || most.stranded < LEAST_MIB * GM_MIB)
        return false;
    const uint64_t held = collect_survivors(c, &most, &set);
    if (held > most.stranded / 2)
        set.n = 0;
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, true,
        gm_case_printf(c,
                       "%s of them are there at event %s, where %s of the %s that are reserved are not in use and "
                       "cannot go back",
                       gm_size_format(size[0], held), gm_count_format(n, most.moment),
                       gm_size_format(size[1], most.stranded), gm_size_format(size[2], most.reserved)));
    if (f == NULL || f->remedy == NULL)
        return false;
    f->bytes = most.stranded;
    f->remedy->is_of_end = true;
    f->remedy->stays = held;
    return true;
}

/* The growth before which most lay in holes that were too small, and at least half of what was asked for. NULL: none.
 */
static const struct gm_growth_row *growth_in_pieces(const struct gm_case *c)
{
    const struct gm_fragmentation_history *f = &c->view.timeline->fragmentation;
    const struct gm_growth_row *most = NULL;
    for (size_t i = 0; i < f->growth_count; i++) {
        const struct gm_growth_row *g = &f->growths[i];
        const uint64_t small = g->unusable[GM_UNUSABLE_HOLE_TOO_SMALL];
        if (small != GM_REPORT_NONE && g->asked != GM_REPORT_NONE && small >= g->asked / 2 &&
            (most == NULL || small > most->unusable[GM_UNUSABLE_HOLE_TOO_SMALL]))
            most = g;
    }
    return most;
}

/* Of those that keep the holes apart while the program runs, and outlive the round; as if they had been made before the
 * first hole. What else they do wrong, others tell, if they are many, or may hold graphs. false: there are none. */
static bool tell_as_growth(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const struct gm_growth_row *g = l == NULL || c->has_oom || c->report->expandable_is_on ? NULL : growth_in_pieces(c);
    const uint64_t stranded = g == NULL ? 0 : g->unusable[GM_UNUSABLE_HOLE_TOO_SMALL];
    if (stranded < LEAST_MIB * GM_MIB || g->event >= l->h->count)
        return false;
    const uint32_t moment = (uint32_t)g->event, first = first_gone(l->h, moment);
    struct gm_set set = {.v = NULL};
    struct gm_blame blame;
    uint64_t held = 0;
    char size[3][GM_SIZE_TEXT], n[GM_NUMBER_TEXT];
    GM_FREED bool *is_made = gm_lives_of_stacks(l, sizeof *is_made); /* until then */
    for (size_t a = 0; is_made != NULL && a < l->h->allocation_count; a++) {
        const uint32_t from = (uint32_t)gm_max(l->h->born[a], moment);
        const uint32_t end = gm_lives_round_end(l, gm_lives_round(l, from) + 1);
        const struct given_back back = {(uint32_t)gm_min(end, l->last_made), stranded, 0};
        if (gm_block_bytes(l->h, a) <= GM_MIB || !survives(l, a, &back, first) ||
            (from > moment && !is_made[gm_lives_stack(l, a)]))
            continue;
        is_made[gm_lives_stack(l, a)] = true;
        held += from == moment ? gm_block_bytes(l->h, a) : 0;
        gm_set_add(&set, a, 0, 0);
    }
    gm_lives_blame(l, &set, &blame);
    const bool is_told = !c->failed && set.n > 0 && held <= stranded / 2 && held + stranded >= g->asked;
    if (is_told) {
        struct gm_finding *f = gm_case_say(
            c, rule, GM_INFO, stranded,
            "At event %s %s is asked for, and %s lie in holes that are too small: %s that stay are made in what was "
            "freed before. %s.",
            gm_count_format(n, g->event), gm_size_format(size[0], g->asked), gm_size_format(size[1], stranded),
            gm_size_format(size[2], held), rule->fix);
        gm_case_is_mistake(f, rule, NULL);
        f->site = blame.site;
        f->remedy = blame.bytes < stranded / FEW && !l->has_backward ? gm_case_remedy_of(c, &set)
                                                                     : gm_case_remedy_with(c, &set);
        if (f->remedy != NULL)
            f->remedy->is_of_holes = true;
    }
    gm_case_free_set(c, &set);
    return is_told;
}

static void find_pinned(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_evidence *e = &c->report->evidence;
    const struct gm_fragmentation *f = &c->report->fragmentation;
    struct gm_text t = {0};
    char size[GM_SIZE_TEXT];
    if (tell_as_mistake(c, rule) || tell_as_growth(c, rule) || e->thin_inactive < LEAST_MIB * GM_MIB ||
        !gm_is_share(e->thin_inactive, c->report->totals.reserved, 0.02))
        return;
    gm_text_printf(
        &t, "%" PRIu64 " segment%s with at most a tenth in use hold%s %s of cached memory; %" PRIu64 " live block%s",
        e->thin_segments, gm_plural(e->thin_segments), e->thin_segments == 1 ? "s" : "",
        gm_size_format(size, e->thin_inactive), e->thin_live, gm_plural(e->thin_live));
    if (e->thin_small > 0)
        gm_text_printf(&t, " (%" PRIu64 " of at most 1 MiB)", e->thin_small);
    gm_text_printf(&t, " keep%s %s. ", e->thin_live == 1 ? "s" : "", e->thin_segments == 1 ? "it" : "them");
    if (f->pin_count > 0)
        gm_text_printf(&t, "The block that pins most was made at: %s.", f->pins[0].block.site);
    gm_text_add(&t, " Allocating long-lived tensors before the large temporary ones, or copying the survivors (x = "
                    "x.clone()) before torch.cuda.empty_cache(), frees such segments.");
    gm_case_put_wreckage(c, &t);
    gm_case_add(c, rule, gm_case_is_wreckage(c) || c->lives != NULL ? GM_INFO : GM_WARNING, e->thin_inactive, &t);
}

static const struct gm_rule rules[] = {
    {.id = "pinned-segments",
     .title = "A few live blocks keep whole segments from going back",
     .find = find_pinned,
     .brief = "make what stays first",
     .fix = "Make what stays before what is large and passes, or keep it on the host",
     .snippet = "- big = activations(); keep = torch.zeros(n, device=\"cuda\")\n"
                "+ keep = torch.zeros(n, device=\"cuda\"); big = activations()",
     .means = "Tensors that live long were made among large ones that did not. They sit in segments that are otherwise "
              "empty, and can neither be given back nor serve a larger request.",
     .severity =
         "warning, or info after an error, where a trace was looked at without that, and of growth that was not "
         "replayed",
     .when = "where the program gave its cache back, or in the end without a backward pass, 64 MiB and a tenth of what "
             "is reserved are not in use, and blocks of at most a 16th of that which were made until then, without "
             "weights, gradients and states of optimizers, hold at most half of it, if a tenth is unused also when "
             "most is live after that. Or memory grew where holes that were too small had half of what was asked for, "
             "and all of it together with such blocks that outlive the next round, too. The saving is that of making "
             "them before all else. Else `cudaMalloc` segments with 10 MiB or more inactive and at most a tenth as "
             "much active: together at least 64 MiB inactive and 2 % of reserved",
     .what_to_do = "Allocate long-lived tensors before large temporary ones, or copy the survivors before "
                   "`empty_cache()`"},
};
const struct gm_theme gm_theme_pins = GM_THEME(rules);
