/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/card_plan.h"

#include "analyze/report/numbers.h"
#include "analyze/report/report.h"
#include "replay/trials/bound.h"
#include "replay/trials/candidates.h"
#include "replay/trials/remedies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MISTAKES_MOST = 3,
    KINDS = 9,
    SPARE = 20 /* of so much one is spare */,
    FIXES_MOST = 1 /* settings */ + MISTAKES_MOST + KINDS,
    SETS_MOST = 1 << FIXES_MOST,
    SMALL = 100, /* of the peak, that a step saves */
    PERMILLE = 1000
};
/* What a fix costs, the cheapest first. */
enum price { SETTING, FREE, TIME, ACCURACY, DEVICES, PRICES };

/* When a fix is one, and what else it does. */
enum {
    WHILE_IDLE = 1,   /* as gm_plan_offload has it */
    IF_SINGLE = 2,    /* nothing in the trace is half or bf16; in place of states in 8 bits */
    IF_HALF = 4,      /* something is; likewise */
    UNLESS_FOUND = 8, /* the diagnosis has not named the states of the optimizer */
    INSTEAD = 16,     /* of the one before it, if that is at the same price */
    IN_PARTS = 32,    /* as gm_plan_parts has it */
    IN_BYTES = 64     /* states in 8 bits */
};

/* At one price the better ones first. `keeps`: of the bytes of these roles, in thousandths. */
static const struct kind {
    const char *what, *costs, *roles[6];
    enum price price;
    unsigned keeps, when;
} kinds[KINDS] = {
    {"half the microbatch", "time", {NULL}, TIME, PERMILLE, IN_PARTS},
    {"idle activations on the host", "time, if the bus is slower", {"Activation"}, TIME, PERMILLE, WHILE_IDLE},
    {"optimizer state on the host", "time", {"Optimizer state"}, TIME, 0, UNLESS_FOUND},
    {"half of that again", "time", {NULL}, TIME, PERMILLE, IN_PARTS},
    {"8-bit optimizer", "accuracy", {"Optimizer state"}, ACCURACY, 250, IN_BYTES},
    {"model.bfloat16()",
     "accuracy",
     {"Parameter", "Gradient", "Optimizer state", "Activation", "Temporary", "Input"},
     ACCURACY,
     500,
     IF_SINGLE},
    {"weights in half the bits", "accuracy", {"Parameter", "Gradient", "Optimizer state"}, ACCURACY, 500, IF_HALF},
    {"ZeRO-2 on 8 ranks", "devices", {"Optimizer state", "Gradient"}, DEVICES, 125, 0},
    {"ZeRO-3 on 8 ranks",
     "devices, and room for a gathered layer",
     {"Optimizer state", "Gradient", "Parameter"},
     DEVICES,
     125,
     INSTEAD},
};

struct planning {
    const struct gm_plan_task *task;
    struct gm_card_plan *plan;
    struct gm_fix fixes[FIXES_MOST];
    const char *what[FIXES_MOST], *costs[FIXES_MOST], *names[FIXES_MOST]; /* in full, and in few words */
    enum price price[FIXES_MOST];
    size_t count;
    bool has_states;                           /* the diagnosis would have them on the host */
    uint32_t in_bytes;                         /* the fix that keeps them in 8 bits */
    uint32_t replaced, instead_of[FIXES_MOST]; /* fixes that another one does, too: never both */
    uint32_t chosen;                           /* fixes; all of them if they are not enough */
    uint64_t fitted;                           /* peak of reserved bytes with them, in what the card has */
};

static struct gm_arena *arena_of(const struct planning *p)
{
    return &p->task->report->arena;
}

/* ---- the fixes --------------------------------------------------------------------------------------------------- */

static void add_fix(struct planning *p, const char *name, const char *what, const char *costs, enum price price,
                    const struct gm_remedy *remedies, size_t count)
{
    if (p->count == FIXES_MOST)
        return;
    p->price[p->count] = price;
    p->names[p->count] = name;
    p->what[p->count] = what;
    p->costs[p->count] = costs;
    p->fixes[p->count++] = (struct gm_fix){remedies, count};
}

static bool is_of(const struct kind *kind, const char *role)
{
    bool is = false;
    for (size_t i = 0; i < sizeof kind->roles / sizeof *kind->roles; i++)
        is |= kind->roles[i] != NULL && strcmp(kind->roles[i], role) == 0;
    return is;
}

static uint64_t part_of(uint64_t bytes, unsigned keeps)
{
    return bytes / PERMILLE * keeps + (bytes % PERMILLE * keeps + PERMILLE / 2) / PERMILLE;
}

/* Whether the trace shows types of two bytes: by autocast, or in the names of kernels. */
static bool has_half(const struct gm_snapshot *snapshot)
{
    static const char *const signs[] = {"autocast", "BFloat16", "c10::Half", "bfloat16", "float16"};
    const struct gm_strings *strings = &snapshot->strings;
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (memmem(strings->bytes, strings->start[strings->count], signs[k], strlen(signs[k])) != NULL)
            return true;
    return false;
}

static uint32_t fixes_at(const struct planning *p, unsigned price)
{
    uint32_t set = 0;
    for (size_t i = 0; i < p->count; i++)
        set |= (uint32_t)(p->price[i] == price) << i;
    return set;
}

static bool add_kind(struct planning *p, const struct kind *kind)
{
    const struct gm_plan_task *t = p->task;
    const bool is_of_bits = (kind->when & (IF_SINGLE | IF_HALF)) != 0;
    if ((is_of_bits && has_half(t->snapshot) == ((kind->when & IF_SINGLE) != 0)) ||
        ((kind->when & UNLESS_FOUND) != 0 && p->has_states))
        return true;
    struct gm_remedy *remedies = gm_arena_calloc(arena_of(p), t->search->device_count + 1, sizeof *remedies);
    size_t all = 0;
    for (size_t d = 0; d < t->search->device_count && remedies != NULL; d++) {
        const struct gm_history *h = t->search->devices[d].history;
        const uint8_t *role = t->roles[d];
        struct gm_remedy_change *changes = gm_arena_calloc(arena_of(p), h->allocation_count + 1, sizeof *changes);
        if (changes == NULL)
            return false;
        remedies[d] = (struct gm_remedy){.device = h->device, .changes = changes};
        const bool is_own = (kind->when & (WHILE_IDLE | IN_PARTS)) != 0;
        if (is_own &&
            !((kind->when & IN_PARTS) != 0 ? gm_plan_parts : gm_plan_offload)(changes, &remedies[d].count, h, role))
            return false;
        for (uint32_t a = 0; !is_own && a < h->allocation_count; a++)
            if (is_of(kind, gm_role_name(role[a])))
                changes[remedies[d].count++] = (struct gm_remedy_change){a, GM_REMEDY_NEVER, GM_REMEDY_NEVER,
                                                                         part_of(gm_requested(h, a), kind->keeps)};
        all += remedies[d].count;
    }
    const uint32_t last = p->count > 0 ? UINT32_C(1) << (p->count - 1) : 0;
    const uint32_t other = (kind->when & INSTEAD) != 0 ? last : is_of_bits ? p->in_bytes : 0;
    if (all > 0 && p->count < FIXES_MOST)
        p->replaced |= p->instead_of[p->count] = other & fixes_at(p, kind->price);
    if (all > 0 && (kind->when & IN_BYTES) != 0)
        p->in_bytes = UINT32_C(1) << p->count;
    if (all > 0)
        add_fix(p, kind->what, kind->what, kind->costs, kind->price, remedies, t->search->device_count);
    return remedies != NULL;
}

static enum price price_of(const struct gm_finding *f)
{
    static const char accuracy[] = "accuracy";
    if (!f->remedy->has_price)
        return FREE;
    return f->cost != NULL && strncmp(f->cost, accuracy, strlen(accuracy)) == 0 ? ACCURACY : TIME;
}

/* What it names allocations for, the diagnosis has found to be a mistake; a call site that is dropped is no fix. */
static void add_mistakes(struct planning *p)
{
    const struct gm_diagnosis *diagnosis = &p->task->report->diagnosis;
    size_t n = 0;
    for (size_t i = 0; i < diagnosis->finding_count && n < MISTAKES_MOST; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (f->remedy == NULL || f->remedy->changes == NULL || f->remedy->site != NULL ||
            f->remedy->settings_save != 0 /* settings are tried in any case */)
            continue;
        n++;
        p->has_states |= strcmp(f->id, "optimizer-state-dominates") == 0;
        add_fix(p, f->brief != NULL ? f->brief : f->title, f->fix != NULL ? f->fix : f->title, f->cost, price_of(f),
                f->remedy, 1);
    }
}

/* Whether somebody does not want a setting: no finding that it mends; where the diagnosis has no replay to find one,
 * what the rule leaves out is the setting. */
static bool is_ignored(struct gm_report *report)
{
    static const char *const mended[] = {"variable-shapes", "replayed-settings"};
    struct gm_diagnosis *diagnosis = &report->diagnosis;
    bool is = false;
    for (size_t k = 0; k < sizeof mended / sizeof *mended; k++) {
        for (size_t i = 0; i < diagnosis->ignored_count; i++)
            is |= strcmp(diagnosis->ignored[i].id, mended[k]) == 0;
        for (size_t i = 0; i < diagnosis->ignore_rule_count && report->advice == NULL; i++) {
            struct gm_ignore_rule *rule = &diagnosis->ignore_rules[i];
            const bool falls = rule->site == NULL && strcmp(rule->id, mended[k]) == 0;
            rule->findings += falls;
            is |= falls;
        }
    }
    return is;
}

/* The one of the first candidates that needs least. */
static enum gm_status add_settings(struct planning *p, struct gm_error *err)
{
    const struct gm_search *search = p->task->search;
    struct gm_candidates *list = gm_arena_calloc(arena_of(p), 1, sizeof *list);
    struct gm_trial trials[1 + GM_CANDIDATES_FEW] = {{.is_baseline = true, .capacity = UINT64_MAX}};
    struct gm_remedy *remedy = gm_arena_calloc(arena_of(p), 1, sizeof *remedy);
    size_t best = 0;
    if (list == NULL || remedy == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_candidates_make_few(list, p->task->conf, err);
    for (size_t i = 0; status == GM_OK && i < list->count; i++)
        trials[1 + i] = (struct gm_trial){.conf = list->rows[i].conf, .capacity = UINT64_MAX};
    GM_THEN(status, gm_trials_run(search, trials, 1 + list->count, err));
    for (size_t i = 1; status == GM_OK && i <= list->count; i++)
        best = trials[i].runs && trials[i].peak_reserved < trials[best].peak_reserved ? i : best;
    if (status != GM_OK || best == 0)
        return status;
    *remedy = (struct gm_remedy){.device = search->devices[0].history->device, .settings = list->rows[best - 1].text};
    add_fix(p, list->rows[best - 1].text, list->rows[best - 1].text, "none", SETTING, remedy, 1);
    return GM_OK;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static unsigned bits(uint32_t set)
{
    unsigned n = 0;
    for (; set != 0; set &= set - 1)
        n++;
    return n;
}

/* Whether two of them do the same. */
static bool is_twice(const struct planning *p, uint32_t set)
{
    bool is = false;
    for (size_t i = 0; i < p->count; i++)
        is |= (set >> i & 1) != 0 && (set & p->instead_of[i]) != 0;
    return is;
}

/* The first of these sets with which it runs, giving back its cache at most so often; false: none. */
static enum gm_status try_sets(bool *runs, uint32_t *first, struct planning *p, const uint32_t *sets, size_t n,
                               uint64_t retries, struct gm_error *err)
{
    GM_FREED struct gm_trial *trials = calloc(n + 1, sizeof *trials);
    *runs = false;
    for (size_t i = 0; i < n && trials != NULL; i++)
        trials[i] = (struct gm_trial){.capacity = p->plan->capacity, .taken = GM_GPU_CONTEXT};
    enum gm_status status =
        trials == NULL ? gm_no_memory(err) : gm_fixes_try(trials, sets, n, p->fixes, p->count, p->task->search, err);
    for (size_t i = 0; status == GM_OK && i < n && !*runs; i++) {
        *runs = trials[i].runs && trials[i].retries <= retries;
        *first = *runs ? sets[i] : *first;
        p->fitted = *runs ? gm_max(trials[i].peak_reserved, p->task->search->floor) : p->fitted;
        p->plan->retries = *runs ? trials[i].retries : p->plan->retries;
    }
    return status;
}

/* Of `chosen` as few at that price as are enough with the others; of equally many those that stand first. What costs
 * nothing is not left out for retries, which cost time. */
static enum gm_status choose_at(struct planning *p, unsigned price, struct gm_error *err)
{
    const uint32_t at = fixes_at(p, price), others = p->chosen & ~at;
    GM_FREED uint32_t *sets = calloc(SETS_MOST, sizeof *sets);
    bool runs = false;
    enum gm_status status = sets == NULL ? gm_no_memory(err) : GM_OK;
    for (unsigned size = 0; status == GM_OK && !runs && size < bits(p->chosen & at); size++) {
        size_t n = 0;
        for (uint32_t set = 0; set <= at; set++)
            if ((set & ~at) == 0 && bits(set) == size && !is_twice(p, set))
                sets[n++] = others | set;
        status = try_sets(&runs, &p->chosen, p, sets, n, price < TIME ? p->plan->retries : UINT64_MAX, err);
    }
    return status;
}

/* Whether it is not the memory that the recording itself ran out of. */
static bool has_more_than_recorded(const struct planning *p)
{
    const struct gm_search *search = p->task->search;
    struct gm_recorded_limit limit;
    bool has_more = true;
    for (size_t d = 0; d < search->device_count; d++)
        has_more &= search->devices[d].refused == NULL ||
                    !gm_bound_limit(&limit, search->devices[d].history, p->task->conf) || limit.bytes == GM_ABSENT ||
                    p->plan->capacity > limit.bytes;
    return has_more;
}

/* The cheapest: none at a price if all cheaper ones are enough; then as few as can be at each price, from the highest
 * on. The setting may cost room in pieces, so it is tried without it, too. */
static enum gm_status choose(struct planning *p, struct gm_error *err)
{
    bool *is_enough = &p->plan->is_enough;
    enum gm_status status = GM_OK;
    if (has_more_than_recorded(p))
        status = try_sets(is_enough, &p->chosen, p, (const uint32_t[]){0}, 1, UINT64_MAX, err);
    unsigned highest = 0;
    uint32_t all = 0;
    for (; status == GM_OK && !*is_enough && highest < PRICES; highest++) {
        all |= fixes_at(p, highest) & ~p->replaced;
        const uint32_t sets[] = {all, all & ~fixes_at(p, SETTING)};
        status = try_sets(is_enough, &p->chosen, p, sets, 2, UINT64_MAX, err);
    }
    for (unsigned price = highest; status == GM_OK && *is_enough && price > 0; price--)
        status = choose_at(p, price - 1, err);
    p->chosen = *is_enough ? p->chosen : all;
    return status;
}

/* Up to ": ". */
static const char *first_words(const struct planning *p, const char *text)
{
    const char *colon = text == NULL ? NULL : strstr(text, ": ");
    return colon == NULL ? text : gm_arena_copy(arena_of(p), text, (size_t)(colon - text));
}

/* Of these fixes the one that saves most, on top of what is there. */
static enum gm_status best_of(size_t *fix, uint64_t *peak, struct planning *p, uint32_t there, uint32_t among,
                              struct gm_error *err)
{
    struct gm_trial trials[FIXES_MOST] = {{0}};
    uint32_t sets[FIXES_MOST] = {0};
    size_t fixes[FIXES_MOST] = {0}, n = 0, best = 0;
    for (size_t i = 0; i < p->count; i++) {
        if ((among >> i & 1) == 0)
            continue;
        trials[n].capacity = UINT64_MAX;
        sets[n] = there | UINT32_C(1) << i;
        fixes[n++] = i;
    }
    GM_TRY(gm_fixes_try(trials, sets, n, p->fixes, p->count, p->task->search, err));
    for (size_t i = 1; i < n; i++)
        best = trials[i].peak_reserved < trials[best].peak_reserved ? i : best;
    *fix = fixes[best];
    *peak = gm_max(trials[best].peak_reserved, p->task->search->floor);
    return GM_OK;
}

/* The next of what is left: of the cheapest, or of the cheapest that save something before those that do later. */
static enum gm_status take_next(struct planning *p, uint32_t *there, uint32_t left, uint64_t before,
                                struct gm_plan_step *step, struct gm_error *err)
{
    size_t taken = FIXES_MOST;
    uint64_t then = before;
    for (unsigned price = SETTING; price < PRICES && then > before - before / SMALL; price++) {
        const uint32_t among = left & fixes_at(p, price);
        size_t fix;
        uint64_t peak;
        if (among == 0)
            continue;
        GM_TRY(best_of(&fix, &peak, p, *there, among, err));
        if (taken < FIXES_MOST && peak > before - before / SMALL)
            continue;
        taken = fix;
        then = peak;
    }
    *step = (struct gm_plan_step){.name = p->names[taken],
                                  .what = p->what[taken],
                                  .costs = p->costs[taken],
                                  .price = first_words(p, p->costs[taken]),
                                  .peak = then};
    *there |= UINT32_C(1) << taken;
    return GM_OK;
}

/* Each fix without the others. */
static enum gm_status try_alone(struct planning *p, struct gm_error *err)
{
    struct gm_trial trials[FIXES_MOST] = {{0}};
    uint32_t sets[FIXES_MOST];
    struct gm_plan_step *alone = gm_arena_calloc(arena_of(p), 1 + FIXES_MOST, sizeof *alone);
    for (size_t i = 0; i < p->count; i++) {
        trials[i].capacity = UINT64_MAX;
        sets[i] = UINT32_C(1) << i;
    }
    if (alone == NULL)
        return gm_no_memory(err);
    GM_TRY(gm_fixes_try(trials, sets, p->count, p->fixes, p->count, p->task->search, err));
    for (size_t i = 0; i < p->count; i++)
        alone[i] = (struct gm_plan_step){
            .what = p->what[i], .costs = p->costs[i], .peak = gm_max(trials[i].peak_reserved, p->task->search->floor)};
    p->plan->alone = alone;
    p->plan->alone_count = p->count;
    return GM_OK;
}

/* What is reserved beyond the card with unlimited memory is cache, which goes back when the driver refuses more. */
static struct gm_plan_step giving_back(const struct planning *p)
{
    char n[GM_NUMBER_TEXT];
    const uint64_t times = p->plan->retries;
    const char *name =
        gm_arena_printf(arena_of(p), "the cache goes back %s time%s", gm_count_format(n, times), gm_plural(times));
    return (struct gm_plan_step){.name = name, .what = name, .costs = "time", .price = "time", .peak = p->fitted};
}

/* One after the other, with unlimited memory. */
static enum gm_status climb(struct planning *p, struct gm_error *err)
{
    struct gm_card_plan *plan = p->plan;
    struct gm_plan_step *steps = gm_arena_calloc(arena_of(p), 2 + FIXES_MOST, sizeof *steps);
    struct gm_trial recorded = {.capacity = UINT64_MAX};
    uint32_t there = 0;
    size_t n = 1;
    if (steps == NULL)
        return gm_no_memory(err);
    GM_TRY(gm_fixes_try(&recorded, &there, 1, p->fixes, p->count, p->task->search, err));
    steps[0] = (struct gm_plan_step){.name = "as recorded",
                                     .what = "as recorded",
                                     .saved = GM_REPORT_NONE,
                                     .peak = gm_max(recorded.peak_reserved, p->task->search->floor)};
    for (; there != p->chosen; n++) {
        GM_TRY(take_next(p, &there, p->chosen & ~there, steps[n - 1].peak, &steps[n], err));
        steps[n].saved = gm_sat_sub(steps[n - 1].peak, steps[n].peak);
    }
    if (plan->is_enough && steps[n - 1].peak > plan->capacity) {
        steps[n] = giving_back(p);
        steps[n].saved = gm_sat_sub(steps[n - 1].peak, steps[n].peak);
        n++;
    }
    plan->steps = steps;
    plan->step_count = n;
    plan->missing = gm_sat_sub(steps[n - 1].peak, plan->capacity);
    return GM_OK;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static const char *verdict_of(const struct planning *p)
{
    const struct gm_card_plan *plan = p->plan;
    struct gm_text text = {0};
    char s[GM_NUMBER_TEXT];
    if (plan->is_open)
        gm_text_printf(&text, "the recording ended %s; ", plan->ended);
    if (plan->step_count == 0) {
        gm_text_add(&text, "no plan is made: this run is too long to be replayed so often");
    } else if (!plan->is_enough) {
        char needs[GM_NUMBER_TEXT];
        gm_text_printf(&text, "not enough: with all that the trace can prove ");
        gm_text_printf(&text, plan->missing == 0 ? "it runs out of memory" : "%s are reserved: %s are missing",
                       gm_bytes_format(needs, plan->steps[plan->step_count - 1].peak),
                       gm_bytes_format(s, plan->missing));
    } else {
        gm_text_printf(&text, "it %s %s, with %d %% to spare", plan->is_open ? "gets past that" : "runs",
                       plan->step_count == 1 ? "as it is" : "with these fixes, and not with cheaper or fewer ones",
                       100 / SPARE);
        if (plan->is_open)
            gm_text_add(&text, "; what comes after it is not known");
    }
    return gm_text_take(&text, arena_of(p));
}

static const char *brief_of(const struct planning *p)
{
    const struct gm_card_plan *plan = p->plan;
    struct gm_text text = {0};
    char s[GM_NUMBER_TEXT];
    if (plan->step_count == 0)
        gm_text_printf(&text, "none for %s: this run is too long to be replayed so often", plan->card);
    else if (!plan->is_enough && plan->missing > 0)
        gm_text_printf(&text, "%s: not enough with all %zu fixes, %s missing", plan->card, plan->step_count - 1,
                       gm_bytes_format(s, plan->missing));
    else if (!plan->is_enough)
        gm_text_printf(&text, "%s: not enough with all %zu fixes", plan->card, plan->step_count - 1);
    else
        gm_text_printf(&text, "%s: %s %s", plan->card, plan->is_open ? "gets past its out of memory" : "runs",
                       plan->step_count == 1 ? "as it is" : "with ");
    for (size_t i = 1; plan->is_enough && i < plan->step_count; i++)
        gm_text_printf(&text, "%s%s", i > 1 ? " + " : "", plan->steps[i].name);
    if (plan->is_enough && plan->is_open)
        gm_text_add(&text, "; the rest is unknown");
    return gm_text_take(&text, arena_of(p));
}

/* Of the first device that ran out of memory. */
static const char *end_of(const struct planning *p)
{
    const struct gm_search *search = p->task->search;
    size_t d = 0;
    char event[GM_NUMBER_TEXT], size[GM_NUMBER_TEXT];
    while (d < search->device_count && search->devices[d].refused == NULL)
        d++;
    if (d == search->device_count) /* other requests are replayed than those that were recorded */
        return "out of memory";
    const struct gm_refused *refused = search->devices[d].refused;
    return gm_arena_printf(arena_of(p), "out of memory at event %s of device %" PRId64 " (%s refused)",
                           gm_count_format(event, refused->request.event), search->devices[d].history->device,
                           gm_bytes_format(size, refused->size));
}

enum gm_status gm_card_plan_make(const struct gm_plan_task *task, struct gm_error *err)
{
    struct planning p = {.task = task, .plan = gm_arena_calloc(&task->report->arena, 1, sizeof *p.plan)};
    uint64_t events = 0;
    if (p.plan == NULL)
        return gm_no_memory(err);
    for (size_t d = 0; d < task->search->device_count; d++)
        events += task->search->devices[d].history->count;
    const uint64_t usable = gm_gpu_usable(task->card);
    *p.plan = (struct gm_card_plan){.card = task->card->name,
                                    .title = task->card->title,
                                    .usable = usable,
                                    .capacity = usable - usable / SPARE,
                                    .is_open = task->search->is_open};
    enum gm_status status = GM_OK;
    p.plan->ended = end_of(&p);
    if (p.plan->ended == NULL)
        return gm_no_memory(err);
    if (events <= task->most_events) {
        if (!is_ignored(task->report))
            status = add_settings(&p, err);
        if (status == GM_OK)
            add_mistakes(&p);
        for (size_t i = 0; status == GM_OK && i < KINDS; i++)
            if (!add_kind(&p, &kinds[i]))
                status = gm_no_memory(err);
        GM_THEN(status, choose(&p, err));
        GM_THEN(status, climb(&p, err));
        GM_THEN(status, try_alone(&p, err));
    }
    p.plan->verdict = verdict_of(&p);
    p.plan->brief = brief_of(&p);
    task->report->plan = p.plan;
    return status == GM_OK && (p.plan->verdict == NULL || p.plan->brief == NULL) ? gm_no_memory(err) : status;
}
