/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of the allocator: those that a replay has shown to help, and those that contradict each other.
 */
#include "analyze/allocator/conf.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"
#include "analyze/report/remedy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_DEVICES = 8 };

/* "100 %" only if it is; else cut, never rounded up. */
static void put_fidelity(struct gm_text *out, uint64_t exact, uint64_t allocs)
{
    uint64_t hundredths = (uint64_t)((double)exact / (double)(allocs == 0 ? 1 : allocs) * 10000);
    if (exact >= allocs)
        gm_text_add(out, "100 %");
    else
        gm_text_printf(out, "%" PRIu64 ".%02" PRIu64 " %%", hundredths / 100, hundredths % 100);
}

/* As it was recorded, with too little memory. */
static void put_limited(struct gm_text *out, const struct gm_advice_replay *before, const struct gm_advice_replay *now)
{
    if (!before->runs)
        gm_text_add(out, "and with the memory that the recording had it gets as far as was recorded, where the "
                         "recorded settings run out of it; what the program needs after that is not known; ");
    else if (before->retries > 0 || now->retries > 0)
        gm_text_printf(out, "and with the memory that the recording had %" PRIu64 " retries instead of %" PRIu64 ", ",
                       now->retries, before->retries);
}

static void put_change(struct gm_text *out, const struct gm_settings_advice *advice, const struct gm_advice_trial *best)
{
    char change[GM_SIZE_CHANGE_TEXT];
    gm_text_add(out, advice->is_limited ? " - replayed with unlimited memory: " : " - replayed: ");
    for (size_t d = 0; d < advice->device_count && d < SHOWN_DEVICES; d++) {
        const struct gm_advice_device *device = &advice->devices[d];
        const uint64_t before = advice->baseline->roomy.peaks[d];
        gm_text_printf(out, "%s reserved", gm_size_format_change(change, before, best->roomy.peaks[d]));
        if (device->recorded != before)
            gm_text_printf(out, " (recorded: %s)", gm_size_format(change, device->recorded));
        if (advice->device_count > 1)
            gm_text_printf(out, " on device %" PRId64, device->device);
        gm_text_add(out, ", ");
    }
    if (advice->is_limited)
        put_limited(out, &advice->baseline->limited, &best->limited);
}

static void put_detail(struct gm_text *out, const struct gm_settings_advice *advice, const struct gm_advice_trial *best)
{
    uint64_t exact = 0, allocs = 0;
    char n[2][GM_NUMBER_TEXT];
    if (best->settings[0] != '\0')
        gm_text_printf(out, GM_CONF_VARIABLE "=%s", best->settings);
    else
        gm_text_add(out, "PyTorch's default settings");
    if (advice->recorded[0] != '\0')
        gm_text_printf(out, " instead of %s", advice->recorded);
    put_change(out, advice, best);
    for (size_t d = 0; d < advice->device_count; d++) {
        exact += advice->devices[d].exact;
        allocs += advice->devices[d].allocs;
    }
    gm_text_add(out, "address fidelity ");
    put_fidelity(out, exact, allocs);
    gm_text_printf(
        out,
        ". That is: a model of the allocator, which chose %s of the %s recorded addresses, served the same "
        "requests in the same order under both settings; what was live before the trace was requested first.",
        gm_count_format(n[0], exact), gm_count_format(n[1], allocs));
    if (best->settings[0] != '\0')
        gm_text_add(out, " (" GM_CONF_OLD_VARIABLE ".)");
}

/* Of the device with the highest recorded peak. */
static struct gm_remedy *remedy_of(struct gm_case *c, const struct gm_settings_advice *advice, const char *settings)
{
    size_t most = 0;
    for (size_t d = 1; d < advice->device_count; d++)
        most = advice->devices[d].recorded > advice->devices[most].recorded ? d : most;
    struct gm_remedy *remedy = gm_case_remedy(c, advice->devices[most].device);
    if (remedy != NULL)
        remedy->settings = settings;
    return remedy;
}

/* ---- variable shapes --------------------------------------------------------------------------------------------- */

enum {
    LEAST_VARIED = 2 /* parts of what is made again in a later round */,
    LEAST_OF_ALL = 4 /* of what all make again: a shape may serve for some rounds */,
    LEAST_ROUNDS = 3,
    LOOKED_BACK = 8 /* rounds */
};

/* What rounds make again: all of it, and what has another size than in the rounds before. */
struct variety {
    uint64_t all, varied;
    uint64_t late, late_varied; /* the last half of it: few lengths are met once each, and then no more */
    uint32_t rounds, most;      /* in which most is varied; the stack of Python that makes most of it */
    uint32_t largest;           /* the round that makes most again */
};

/* Of lines, or of nobody: all, varied. */
typedef uint64_t of_round[2][2];

static uint64_t all_of(const of_round *r)
{
    return (*r)[0][0] + (*r)[1][0];
}

/* Rounds of two kinds, as steps of a generator and of its critic are, share lines that say so; what has no line says
 * nothing where these do not. */
static uint64_t varied_of(const of_round *r)
{
    return (*r)[0][1] + ((*r)[0][1] > (*r)[0][0] / LEAST_VARIED ? (*r)[1][1] : 0);
}

static void add_up(const of_round *of, size_t rounds, struct variety *found)
{
    for (uint32_t r = 0; r <= rounds; r++) {
        found->largest = all_of(&of[r]) > all_of(&of[found->largest]) ? r : found->largest;
        found->all += all_of(&of[r]);
        found->varied += varied_of(&of[r]);
        found->rounds += varied_of(&of[r]) > all_of(&of[r]) / LEAST_VARIED;
    }
    for (size_t r = rounds + 1; r-- > 0 && found->late < found->all / 2;) {
        found->late += all_of(&of[r]);
        found->late_varied += varied_of(&of[r]);
    }
}

/* As if each had the size that its like has in the round that makes most. Returns the first of that round that has
 * another size elsewhere, of those that a line makes: where the sizes come from. GM_NEVER: there is none. */
static uint32_t pad(const struct gm_lives *l, const struct gm_roster *roster, uint32_t largest, struct gm_set *set)
{
    uint32_t first = GM_NEVER;
    for (uint32_t i = 0; i < roster->n; i++) {
        const uint32_t a = roster->v[i], like = gm_roster_like(l, i, largest);
        const uint64_t bytes = like == GM_NEVER ? 0 : gm_requested(l->h, roster->v[like]);
        if (bytes == 0 || bytes == gm_requested(l->h, a))
            continue;
        gm_set_shrink(set, a, bytes);
        if ((gm_lives_by(l, a) & GM_BY_NOBODY) == 0)
            first = (uint32_t)gm_min(first, roster->v[like]);
    }
    return first;
}

/* Whether it had that size in one of the rounds before, too: where few lengths come again and again, each finds the
 * holes of its like. */
static bool was_as_large(const struct gm_lives *l, const struct gm_roster *roster, uint32_t row, uint32_t round)
{
    const uint64_t bytes = gm_requested(l->h, roster->v[row]);
    bool was = false;
    for (uint32_t r = round; r-- > 1 && !was && round - r <= LOOKED_BACK;) {
        const uint32_t like = gm_roster_like(l, row, r);
        was = like != GM_NEVER && gm_requested(l->h, roster->v[like]) == bytes;
    }
    return was;
}

static void look_at_shapes(const struct gm_lives *l, struct variety *found)
{
    const struct gm_roster *roster = l->roster;
    GM_FREED uint64_t *of_stack = gm_lives_of_stacks(l, sizeof *of_stack);
    GM_FREED of_round *of = gm_lives_scratch(l, l->rounds.n + 1, sizeof *of);
    *found = (struct variety){0};
    if (*l->failed)
        return;
    for (uint32_t i = 0; i < roster->n; i++) {
        const uint64_t bytes = gm_requested(l->h, roster->v[i]);
        const uint32_t stack = gm_lives_stack(l, roster->v[i]), round = gm_lives_round_of(l, roster->v[i]);
        const bool is_of_nobody = (l->by[stack] & GM_BY_NOBODY) != 0;
        if (round <= 1 || gm_roster_like(l, i, round - 1) == GM_NEVER)
            continue;
        of[round][is_of_nobody][0] += bytes;
        if (was_as_large(l, roster, i, round))
            continue;
        of[round][is_of_nobody][1] += bytes;
        of_stack[stack] += bytes;
        if (!is_of_nobody && of_stack[stack] > of_stack[found->most])
            found->most = stack;
    }
    add_up((const of_round *)of, l->rounds.n, found);
}

/* Whether what stays is a better reason. */
static bool is_pinned(const struct gm_finding *pins)
{
    return pins != NULL && pins->rank == GM_RANK_MISTAKE && pins->remedy != NULL && pins->remedy->is_of_end;
}

/* Sizes that change from round to round fit no hole that the last round left: a setting that mends that shows it. */
static void find_shapes(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_settings_advice *advice = gm_case_advice(c);
    struct variety shapes;
    struct gm_set set = {.v = NULL};
    char share[GM_NUMBER_TEXT], change[GM_SIZE_CHANGE_TEXT];
    if (advice == NULL || advice->verdict != GM_ADVICE_GIVEN ||
        (gm_case_found(c, "kv-cache-by-cat") != NULL && !c->lives->has_backward) ||
        is_pinned(gm_case_found(c, "pinned-segments")) || gm_case_found(c, "empty-cache-in-loop") != NULL)
        return; /* which leaves nothing of a round that the next one could not use */
    const struct gm_advice_trial *best = &advice->tried[advice->best];
    const uint64_t before = advice->before;
    if (best->saved < before / GM_LEAST_OF_SETTING)
        return;
    look_at_shapes(c->lives, &shapes);
    if (shapes.rounds < LEAST_ROUNDS || shapes.late_varied < shapes.late / LEAST_OF_ALL ||
        shapes.varied / LEAST_ROUNDS < best->saved) /* no round leaves larger holes than what it made */
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, best->saved,
        "%s %% of what the rounds of the loop make again has another size than in the rounds before, so new "
        "sizes fit no hole that old ones left. %s. With %s: %s reserved.",
        gm_share_format(share, shapes.varied, shapes.all), rule->fix, gm_settings_name(best->settings),
        gm_size_format_change(change, before, best->roomy.peak));
    gm_case_is_mistake(f, rule, NULL);
    f->brief = gm_case_printf(c, "%s, or %s", rule->brief, gm_settings_name(best->settings));
    const uint32_t first = pad(c->lives, c->lives->roster, shapes.largest, &set),
                   from = first == GM_NEVER ? shapes.most : gm_lives_stack(c->lives, first);
    const char *own = gm_lives_own_line(c->lives, from), *use = gm_lives_parting(c->lives, shapes.most, from);
    f->site = own == NULL || use == NULL || strncmp(own, use, strlen(own)) == 0
                  ? gm_lives_place(c->lives, shapes.most)
                  : gm_case_printf(c, "%s, used in %s", own, use);
    f->remedy = gm_case_remedy_with(c, &set);
    gm_case_free_set(c, &set);
    if (f->remedy == NULL)
        return;
    f->remedy->of_mistake = true;
    f->remedy->settings = best->settings;
    f->remedy->settings_save = best->saved;
}

static void find_replayed(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_settings_advice *advice = gm_case_advice(c);
    char change[GM_SIZE_CHANGE_TEXT];
    struct gm_text t = {0};
    if (advice == NULL || advice->verdict != GM_ADVICE_GIVEN || gm_case_found(c, "variable-shapes") != NULL)
        return;
    const struct gm_advice_trial *best = &advice->tried[advice->best];
    put_detail(&t, advice, best);
    const bool is_much = best->saved >= GM_GIB && best->saved >= advice->before / 20;
    const struct gm_oom_row *oom = gm_case_oom(c);
    const bool is_in_pieces = oom != NULL && oom->verdict == GM_OOM_FRAGMENTATION && !gm_oom_is_full(oom);
    struct gm_finding *f = gm_case_add(c, rule, is_much && gm_case_is_short(c) ? GM_WARNING : GM_INFO, best->saved, &t);
    f->remedy = remedy_of(c, advice, best->settings);
    f->rank = is_in_pieces ? GM_RANK_WRONG_FIGURES : is_much ? GM_RANK_LARGE_SETTING : GM_RANK_SETTING;
    f->brief = gm_case_printf(c, "%s (replayed: %s reserved)", gm_settings_name(best->settings),
                              gm_size_format_change(change, advice->before, best->roomy.peak));
}

static void find_conflict(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t max_split = c->report->evidence.max_split;
    char size[GM_SIZE_TEXT];
    if (max_split == UINT64_MAX || !c->report->expandable_is_on)
        return;
    struct gm_finding *f =
        gm_case_say(c, rule, GM_WARNING, GM_REPORT_NONE,
                    "max_split_size_mb is in force (%s) together with expandable_segments:True. Blocks at or above "
                    "that size are then neither split nor given to smaller requests, so expandable segments may grow "
                    "without need.",
                    gm_size_format(size, max_split));
    if (!c->has_view) /* no replay tells what it costs: it is surer than what else a file without a trace shows */
        f->rank = GM_RANK_ROLE;
}

static void find_idle_gc(struct gm_case *c, const struct gm_rule *rule)
{
    if (c->report->evidence.has_idle_gc_limit)
        gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                    "It acts only when a memory limit is in force (torch.cuda.set_per_process_memory_fraction or "
                    "per_process_memory_fraction), and the recorded settings text names none.");
}

static const struct gm_rule rules[] = {
    {.id = "variable-shapes",
     .title = "Sizes that change from round to round leave memory in pieces",
     .find_in_lives = find_shapes,
     .needs_trace = true,
     .brief = "pad to few lengths",
     .fix = "Pad to few lengths (buckets), or set PYTORCH_ALLOC_CONF=expandable_segments:True",
     .snippet = "- length = max(lengths)\n"
                "+ length = next(n for n in (256, 512, 1024, 2048) if n >= max(lengths))",
     .cost = "none for the setting; padding is computed, too",
     .means = "Each round asks for other sizes than the one before, so that what it frees does not serve the next, and "
              "reserved memory grows beyond what is live.",
     .when =
         "of what a round makes again half has another size than in any of the 8 rounds before, in at least 3 rounds; "
         "that is "
         "a quarter of the last half of what they make again, and 3 times what a replay with another setting saves, a "
         "twentieth of peak reserved memory at least. The saving is that of sizes of all rounds as in the one that "
         "makes most, or of the "
         "setting where that is nearly as much, or more than twice",
     .what_to_do = "Few lengths; or the setting that it names"},
    {.id = "replayed-settings",
     .title = "Another allocator setting lowers peak reserved memory",
     .find = find_replayed,
     .severity = "info, or warning where the driver refused memory, from 1 GiB and 5 % of the replayed peak on",
     .when = "a replay of the trace with other allocator settings lowers peak reserved memory by at least 64 MiB and 1 "
             "%: [see below](#settings-that-were-replayed)",
     .what_to_do = "Set what it names, in place of the recorded settings"},
    {.id = "conflicting-settings",
     .title = "max_split_size and expandable segments work against each other",
     .find = find_conflict,
     .when = "`max_split_size_mb` is set and expandable segments are on",
     .what_to_do = "Leave `max_split_size_mb` out; of a trace, a replay tells what it costs"},
    {.id = "gc-threshold-without-limit",
     .title = "garbage_collection_threshold may have no effect",
     .find = find_idle_gc,
     .severity = "info",
     .when = "`garbage_collection_threshold` is set and the settings text names no `per_process_memory_fraction`",
     .what_to_do = "Nothing, unless a limit was meant to be set"},
};
const struct gm_theme gm_theme_settings = GM_THEME(rules);
