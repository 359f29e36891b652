/* SPDX-License-Identifier: Apache-2.0
 *
 * What is larger than its like: one batch, one tensor.
 */
#include "analyze/diagnose/kept.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LEAST_ROUNDS = 4, MOST_IN_CALL = 3 };

/* ---- one batch --------------------------------------------------------------------------------------------------- */

/* Highest requested bytes of each round. */
static uint64_t *peaks_of_rounds(const struct gm_lives *l)
{
    const struct gm_history *h = l->h;
    uint64_t *peaks = gm_lives_scratch(l, l->rounds.n + 1, sizeof *peaks);
    uint64_t now = 0;
    for (size_t a = 0; peaks != NULL && a < h->allocation_count; a++)
        now += h->born[a] == 0 ? gm_requested(h, a) : 0;
    for (uint32_t e = 0, r = 0; peaks != NULL && e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER)
            continue;
        while (r < l->rounds.n && l->rounds.v[r] <= e)
            r++;
        if (h->born[a] == e + 1)
            now += gm_requested(h, a);
        else if (h->freed[a] == e + 1)
            now = gm_sat_sub(now, gm_requested(h, a));
        peaks[r] = gm_max(now, peaks[r]);
    }
    return peaks;
}

/* What is left of a round may make the peak of the one that follows. */
static bool is_other(uint32_t round, uint32_t odd)
{
    return round != odd && round != odd + 1;
}

/* The round of the peak, and the next lower one; false: it does not stand out, or others do, too. */
static bool stands_out(const struct gm_lives *l, const uint64_t *peaks, uint32_t *odd, uint32_t *next)
{
    const size_t n = l->rounds.n;
    size_t near = 0, others = 0;
    *odd = *next = 0;
    for (uint32_t r = 1; r <= n; r++)
        *odd = *odd == 0 || peaks[r] > peaks[*odd] ? r : *odd;
    for (uint32_t r = 1; r <= n; r++)
        if (is_other(r, *odd))
            *next = *next == 0 || peaks[r] > peaks[*next] ? r : *next;
    if (*odd < 2 || peaks[*odd] < peaks[*next] + peaks[*next] / 4)
        return false;
    for (uint32_t r = 1; r <= n; r++) {
        near += is_other(r, *odd) && peaks[r] >= peaks[*next] / 4 * 3;
        others += is_other(r, *odd);
    }
    return near * 2 >= others;
}

/* What the round asked for as it would be if it were like the other one; of what that has not, nothing is known. */
static void shrink(const struct gm_lives *l, const struct gm_roster *roster, uint32_t odd, uint32_t like,
                   struct gm_set *set, uint64_t *same, uint64_t *all)
{
    for (uint32_t i = 0; i < roster->n; i++) {
        const uint64_t size = gm_requested(l->h, roster->v[i]);
        if (gm_lives_round_of(l, roster->v[i]) != odd)
            continue;
        const uint32_t other = gm_roster_like(l, i, like);
        *all += size;
        *same += other != GM_NEVER ? size : 0;
        if (other != GM_NEVER && gm_requested(l->h, roster->v[other]) < size)
            gm_set_shrink(set, roster->v[i], gm_requested(l->h, roster->v[other]));
    }
}

static void find_outlier(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    if (l->rounds.n < LEAST_ROUNDS)
        return;
    GM_FREED uint64_t *peaks = peaks_of_rounds(l);
    struct gm_set set = {.v = NULL};
    uint32_t odd = 0, next = 0;
    uint64_t same = 0, all = 0;
    char size[2][GM_SIZE_TEXT];
    if (peaks != NULL && stands_out(l, peaks, &odd, &next)) {
        shrink(l, l->roster, odd, next, &set, &same, &all);
        if (same < all / 4 * 3) /* another kind of work */
            set.n = 0;
        gm_case_accuse(c, rule, &set, false,
                       gm_case_printf(c, "round %" PRIu32 " of %zu peaks at %s, the next at %s", odd, l->rounds.n,
                                      gm_size_format(size[0], peaks[odd]), gm_size_format(size[1], peaks[next])));
    }
}

/* ---- one tensor -------------------------------------------------------------------------------------------------- */

/* Where nothing failed: what is made out of something much smaller, a few operations in a row, and is gone then. */
enum {
    OF_GIANT = 4 /* parts of the largest: what is less is only made of it */,
    GAP = 8 /* no other is as large */,
    PIECES = 32,
    COUNTERS = 1024,
    MOST_AT_ONCE = 6,
    MOST_IN_ROW = 16
};

struct giants {
    uint32_t largest, first; /* at the peak; of those in a row with it */
    uint64_t at_peak;
    size_t at_once, in_round; /* at the peak; how often that stack makes some in a row, in that round: many are pieces,
                                or layers */
    bool is_in_rounds;        /* else they may as well be passes of a loop that sets the run up */
};

/* Nothing is made of it: a counter at most, which goes first. */
static bool is_workspace(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    uint32_t next = gm_next_made(h, h->born[a]);
    if (next < h->count && h->freed[gm_made_by(h, next)] < h->freed[a] &&
        gm_requested(h, gm_made_by(h, next)) <= gm_requested(h, a) / COUNTERS)
        next = gm_next_made(h, next + 1);
    return next >= h->freed[a] - 1;
}

static bool is_passing(const struct gm_lives *l, size_t a)
{
    const unsigned whole = GM_BY_OPTIMIZER | GM_BY_CLIPPING | GM_BY_LOADING | GM_BY_COPYING | GM_BY_LINEAR;
    const uint8_t role = l->role[a];
    return !l->taken[a] && l->h->born[a] > 0 && !gm_lives_is_lasting(l, a) &&
           gm_lives_round(l, l->h->freed[a]) <= gm_lives_round(l, l->h->born[a]) + 1 && role != GM_ROLE_PARAMETER &&
           role != GM_ROLE_OPTIMIZER_STATE && role != GM_ROLE_KV_CACHE && role != GM_ROLE_INPUT &&
           (gm_lives_by(l, a) & whole) == 0;
}

/* false: something else is as large, there are many, or they come from elsewhere. */
static bool collect_giants(const struct gm_lives *l, struct gm_set *set, struct giants *g)
{
    const struct gm_history *h = l->h;
    uint64_t size = 0;
    uint32_t begun = 0, last = 0, before; /* the stack that made the one before */
    size_t alive = 0, in_row = 0;
    bool has_others = false;
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (gm_lives_at_peak(l, a) && is_passing(l, a) && !is_workspace(l, a) && gm_requested(h, a) > size) {
            g->largest = a;
            size = gm_requested(h, a);
        }
    for (size_t a = 0; a < h->allocation_count; a++)
        has_others |= h->born[a] == 0 && gm_requested(h, a) > size / GAP;
    for (uint32_t e = 0; !has_others && size > 0 && e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        const uint64_t bytes = a == GM_NEVER ? 0 : gm_requested(h, a);
        before = last;
        last = bytes > 0 && h->born[a] == e + 1 ? gm_lives_stack(l, a) : last;
        if (bytes <= size / GAP)
            continue;
        if (is_workspace(l, a)) {
            if (alive > 0 && h->born[a] == e + 1) /* for what is made of a piece it is a piece's */
                gm_set_shrink(set, a, bytes / PIECES);
            continue;
        }
        const bool is_giant = bytes >= size / OF_GIANT;
        alive -= h->freed[a] == e + 1 && is_giant;
        if (h->born[a] != e + 1 || (!is_giant && alive == 0))
            continue;
        begun = alive == 0 ? a : begun;
        in_row = alive == 0 ? 1 : in_row + 1;
        has_others = !is_passing(l, a) || in_row > MOST_IN_ROW;
        g->first = a == g->largest ? begun : g->first;
        g->at_once += gm_lives_at_peak(l, a);
        g->at_peak += gm_lives_at_peak(l, a) ? bytes : 0;
        g->is_in_rounds |=
            last == gm_lives_stack(l, g->largest) && (gm_lives_round(l, h->born[a]) > 0 || l->rounds.n == 0);
        g->in_round += last == gm_lives_stack(l, g->largest) && (last != before || in_row == 1) &&
                       gm_lives_round(l, h->born[a]) == gm_lives_round(l, l->peak);
        alive += is_giant;
        gm_set_shrink(set, a, bytes / PIECES);
    }
    return size > 0 && !has_others && g->at_once <= MOST_AT_ONCE && (!g->is_in_rounds || g->in_round <= MOST_IN_CALL) &&
           gm_is_share(g->at_peak, l->at_peak, 0.5);
}

/* Whether it may well be wanted as a whole: what a backward pass uses has to be made again in pieces; and what is made
 * of something half as large. */
static bool is_wanted(const struct gm_lives *l, const struct gm_set *set, const struct giants *g)
{
    bool is_wanted = gm_requested(l->h, g->first) <= gm_requested(l->h, g->largest) / 2;
    for (size_t i = 0; i < set->n && !is_wanted; i++)
        is_wanted = gm_lives_is_of_backward(l, set->v[i].allocation);
    return is_wanted;
}

static void find_giant_of_peak(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    struct giants g = {.largest = 0};
    char size[GM_SIZE_TEXT];
    if (!collect_giants(l, &set, &g)) {
        gm_case_free_set(c, &set);
        return;
    }
    const bool has_price = is_wanted(l, &set, &g);
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, false,
        gm_case_printf(c, "a tensor of %s, made of much smaller ones, and what is made of it are the peak",
                       gm_size_format(size, gm_requested(l->h, g.largest))));
    if (f == NULL)
        return;
    f->title = "One tensor makes the peak";
    f->unit = NULL;
    f->site = gm_lives_place(l, gm_lives_stack(l, g.first));
    if (has_price)
        gm_case_is_choice(f);
}

static void find_giant(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    const uint32_t stack = c->has_oom ? gm_lives_stack_at(l, l->first_oom) : 0;
    uint64_t largest = 0, call = 0;
    size_t made = 0;       /* by that call, as large: some is one thing in steps, many are weights */
    bool is_state = false; /* what the call made before it stays: neither can be in pieces */
    char size[4][GM_SIZE_TEXT];
    if (!c->has_oom)
        find_giant_of_peak(c, rule);
    const struct gm_oom_row *oom = gm_case_oom(c);
    const bool is_logits = (l->by[stack] & GM_BY_LOSS) != 0 && gm_case_found(c, "vocabulary-copies") != NULL;
    if (oom == NULL || oom->asked == GM_REPORT_NONE || is_logits)
        return;
    const uint64_t asked = oom->asked, in_use = oom->levels.requested;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint64_t bytes = gm_requested(l->h, a);
        const bool is_same =
            stack != 0 && bytes > asked / 4 && gm_lives_is_beside(l, stack, gm_lives_stack(l, a), GM_INSIDE);
        if (is_same && gm_history_is_active(l->h, a, l->first_oom)) {
            call = gm_sat_add(call, bytes);
            is_state |= l->role[a] == GM_ROLE_PARAMETER;
        }
        made += is_same;
        largest = bytes > largest && !is_same ? bytes : largest;
    }
    const uint64_t least = gm_sat_add(asked, call);
    if (is_state || asked / 4 < largest || made > MOST_IN_CALL || least / 2 < gm_sat_sub(in_use, call))
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_CRITICAL, least,
        "One tensor of %s was asked for, %s was in use%s, and no tensor of other code is larger than a quarter of "
        "it. What would have been made of it comes on top: %s is the least that is saved. %s.",
        gm_size_format(size[0], asked), gm_size_format(size[1], in_use),
        call == 0 ? "" : gm_case_printf(c, ", %s of it made by the same function", gm_size_format(size[2], call)),
        gm_size_format(size[3], least), rule->fix);
    f->site = oom->site;
    gm_case_is_mistake(f, rule, NULL);
}

static const struct gm_rule rules[] = {
    {.id = "outlier-batch",
     .title = "One batch needs much more than the others",
     .find_in_lives = find_outlier,
     .brief = "split the largest batch",
     .fix = "Cut, split or leave out batches that are much larger than the others, or sort them by length",
     .snippet = "- loader = DataLoader(data, batch_size=n)\n"
                "+ loader = DataLoader(data, batch_sampler=by_tokens(data, max_tokens))",
     .cost = "little: it is one batch",
     .means = "The peak is that of one batch, which is much larger than the others.",
     .when = "of at least 4 rounds one, not the first, peaks a quarter above the next one, near which most others are",
     .what_to_do = "Limit the size of a batch (`max_tokens`), not the number of its items"},
    {.id = "kept-for-later",
     .title = "What past rounds made is kept",
     .find_in_lives = gm_find_outlived,
     .brief = "keep tensor.cpu()",
     .fix = "Keep tensor.cpu(), or detach() and del what holds it, unless later rounds use it",
     .snippet = "- self.last = out\n"
                "+ self.last = out.detach().cpu()",
     .means = "A variable holds what a single round made, an evaluation as well, while later rounds run.",
     .when =
         "a tenth of the peak was made in past rounds, is there two rounds later or to the end, is neither a weight, "
         "a state, a gradient of one, a cache of keys and values nor data, and no other rule has told it; a graph "
         "is `loss-keeps-graph`",
     .what_to_do = "`out.cpu()`, `out.detach()`, or `del` of what holds it"},
    {.id = "giant-tensor",
     .title = "One tensor is too large for the device",
     .unit = " or more",
     .find_in_lives = find_giant,
     .brief = "make it in pieces",
     .fix = "Make it in pieces, or do not make it: chunk the operation, or use one that needs no such tensor",
     .snippet = "- y = f(x)\n"
                "+ y = torch.cat([f(part) for part in x.split(n)])",
     .means = "One operation makes something much larger than what it works on: all pairs, a one-hot row for each "
              "index, all at once.",
     .severity =
         "critical, or warning where it sets the peak; info if a backward pass uses it, or what it is made of is "
         "half as large",
     .when =
         "memory ran out for a request of at least 4 times the largest tensor that another function made, and what "
         "that call had made and asked for is twice what else was in use, and no state; or, where it did not run out, "
         "half of the peak are at most "
         "6 tensors, the largest made by no layer with a weight and in at most 3 goes in its round, or before all "
         "rounds, that are made in a row and gone before the round after the next, nothing made by itself is larger "
         "than an eighth of it; the saving is that of 32 pieces",
     .what_to_do = "`for part in x.split(n)`; an index in place of a one-hot row; a fused operator"},
};
const struct gm_theme gm_theme_odd = GM_THEME(rules);
