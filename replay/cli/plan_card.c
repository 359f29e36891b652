/* SPDX-License-Identifier: Apache-2.0
 *
 * --plan CARD: the shortest list of fixes after which the recording runs on that card with 5 % of it to spare, or that
 * all together are not enough, and by how much. Fixes are what the trace itself can prove: smaller or absent requests
 * of a role, mistakes that the diagnosis has found, another setting. What is not in it (other kernels, other shapes) is
 * none.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/document/document.h"
#include "analyze/report/numbers.h"
#include "render/plan_chart.h"
#include "render/render.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"
#include "replay/trials/candidates.h"
#include "replay/trials/remedies.h"

#include <stdlib.h>
#include <string.h>

enum {
    MISTAKES_MOST = 3,
    KINDS = 8,
    SETS_MOST = 924 /* 6 of 12 */,
    SPARE = 20 /* of so much one is spare */,
    FIXES_MOST = 1 /* settings */ + MISTAKES_MOST + KINDS,
    PERMILLE = 1000,
    BAR = 16
};
#define MOST_EVENTS (UINT64_C(1) << 28) /* of all replays together */

/* The cheaper ones first. `keeps`: of the bytes of these roles, in thousandths. */
static const struct kind {
    const char *what, *costs, *roles[3];
    unsigned keeps;
    enum {
        ALWAYS,
        WHILE_IDLE /* and all, but only for a time */,
        IF_SINGLE /* nothing in the trace is half or bf16 */
    } when;
} kinds[KINDS] = {
    {"half the microbatch", "time", {"Activation", "Input"}, 500, ALWAYS},
    {"bf16 activations", "accuracy, if they are fp32", {"Activation"}, 500, IF_SINGLE},
    {"idle activations on the host", "time, if the bus is slower", {"Activation"}, PERMILLE, WHILE_IDLE},
    {"optimizer state on the host", "time", {"Optimizer state"}, 0, ALWAYS},
    {"ZeRO-2 on 8 ranks", "devices", {"Optimizer state", "Gradient"}, 125, ALWAYS},
    {"half of that again", "time", {"Activation", "Input"}, 500, ALWAYS},
    {"8-bit optimizer", "accuracy", {"Optimizer state"}, 250, ALWAYS},
    {"ZeRO-3 on 8 ranks",
     "devices, and room for a gathered layer",
     {"Optimizer state", "Gradient", "Parameter"},
     125,
     ALWAYS},
};

struct stair {
    const char *what, *costs;
    uint64_t peak, saved;           /* of the device with the highest; GM_REPORT_NONE */
    const char *name, *price, *bar; /* for people: what stands before the details */
};
struct gm_replay_plan {
    const struct gm_gpu *card;
    uint64_t capacity;
    struct gm_fix fixes[FIXES_MOST];
    const char *what[FIXES_MOST], *costs[FIXES_MOST], *names[FIXES_MOST]; /* in full, and in few words */
    size_t count;
    struct stair stairs[FIXES_MOST + 2];
    size_t stair_count;
    uint32_t chosen; /* fixes; all of them if they are not enough */
    uint64_t missing, retries;
    bool is_enough, is_too_long;
};

/* ---- the fixes --------------------------------------------------------------------------------------------------- */

static void add_fix(struct gm_replay_plan *plan, const char *name, const char *what, const char *costs,
                    const struct gm_remedy *remedies, size_t count)
{
    if (plan->count == FIXES_MOST)
        return;
    plan->names[plan->count] = name;
    plan->what[plan->count] = what;
    plan->costs[plan->count] = costs;
    plan->fixes[plan->count++] = (struct gm_fix){remedies, count};
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

static bool add_kind(struct gm_replay_run *run, const struct kind *kind)
{
    if (kind->when == IF_SINGLE && has_half(&run->snapshot))
        return true;
    struct gm_remedy *remedies = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *remedies);
    size_t all = 0;
    for (size_t d = 0; d < run->device_count && remedies != NULL; d++) {
        const struct gm_kept_device *kept = &run->kept.v[run->device_of[d]];
        const struct gm_history *h = &kept->history;
        struct gm_remedy_change *changes = gm_arena_calloc(&run->arena, h->allocation_count + 1, sizeof *changes);
        if (changes == NULL)
            return false;
        remedies[d] = (struct gm_remedy){.device = h->device, .changes = changes};
        if (kind->when == WHILE_IDLE && !gm_plan_offload(changes, &remedies[d].count, h, kept->role))
            return false;
        for (uint32_t a = 0; kind->when != WHILE_IDLE && a < h->allocation_count; a++)
            if (is_of(kind, gm_timeline_role_name(kept->role[a])))
                changes[remedies[d].count++] = (struct gm_remedy_change){a, GM_REMEDY_NEVER, GM_REMEDY_NEVER,
                                                                         part_of(h->requested[a], kind->keeps)};
        all += remedies[d].count;
    }
    if (all > 0)
        add_fix(run->plan, kind->what, kind->what, kind->costs, remedies, run->device_count);
    return remedies != NULL;
}

/* What it names allocations for, the diagnosis has found to be a mistake. */
static enum gm_status add_mistakes(struct gm_replay_run *run, struct gm_error *err)
{
    enum gm_status status = gm_ignore_ask(&run->ignore, &run->report, err);
    if (status == GM_OK)
        status = gm_diagnose(&run->report, &run->snapshot, &run->kept, err);
    if (status == GM_OK)
        gm_ignore_count(&run->ignore, &run->report);
    size_t n = 0;
    for (size_t i = 0; status == GM_OK && i < run->report.diagnosis.finding_count && n < MISTAKES_MOST; i++) {
        const struct gm_finding *f = &run->report.diagnosis.findings[i];
        if (f->remedy == NULL || f->remedy->changes == NULL)
            continue;
        n++;
        add_fix(run->plan, f->brief != NULL ? f->brief : f->title, f->fix != NULL ? f->fix : f->title, f->cost,
                f->remedy, 1);
    }
    return status;
}

/* The one of the first candidates that needs least. */
static enum gm_status add_settings(struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_candidates *list = gm_arena_calloc(&run->arena, 1, sizeof *list);
    struct gm_trial trials[1 + GM_CANDIDATES_FEW] = {{.is_baseline = true, .capacity = UINT64_MAX}};
    struct gm_remedy *remedy = gm_arena_calloc(&run->arena, 1, sizeof *remedy);
    size_t best = 0;
    if (list == NULL || remedy == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_candidates_make(list, &run->conf, true, err);
    for (size_t i = 0; status == GM_OK && i < list->few; i++)
        trials[1 + i] = (struct gm_trial){.conf = list->rows[i].conf, .capacity = UINT64_MAX};
    if (status == GM_OK)
        status = gm_replay_try(run, SIZE_MAX, trials, 1 + list->few, false, err);
    for (size_t i = 1; status == GM_OK && i <= list->few; i++)
        best = trials[i].runs && trials[i].peak_reserved < trials[best].peak_reserved ? i : best;
    if (status != GM_OK || best == 0)
        return status;
    *remedy = (struct gm_remedy){.device = run->devices[0].whatif.device, .settings = list->rows[best - 1].text};
    add_fix(run->plan, list->rows[best - 1].text, list->rows[best - 1].text, "nothing", remedy, 1);
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

/* All of them, and all but the setting, which may cost room in pieces: if neither runs there, no fewer do. */
static enum gm_status try_all(bool *runs, const struct gm_replay_plan *plan, const struct gm_search *search,
                              struct gm_error *err)
{
    const uint32_t all = (UINT32_C(1) << plan->count) - 1, sets[] = {all, all & ~UINT32_C(1)};
    struct gm_trial trials[2];
    for (int i = 0; i < 2; i++)
        trials[i] = (struct gm_trial){.capacity = plan->capacity, .taken = GM_GPU_CONTEXT};
    enum gm_status status = gm_fixes_try(trials, sets, 2, plan->fixes, plan->count, search, err);
    *runs = status == GM_OK && (trials[0].runs || trials[1].runs);
    return status;
}

/* The smallest sets first, of these the one with the cheapest fixes. */
static enum gm_status choose(struct gm_replay_plan *plan, const struct gm_search *search, struct gm_error *err)
{
    uint32_t *sets = calloc(SETS_MOST, sizeof *sets);
    struct gm_trial *trials = calloc(SETS_MOST, sizeof *trials);
    bool runs = false;
    enum gm_status status = sets == NULL || trials == NULL ? gm_no_memory(err) : try_all(&runs, plan, search, err);
    plan->chosen = (UINT32_C(1) << plan->count) - 1;
    for (unsigned size = 0; status == GM_OK && runs && size <= plan->count && !plan->is_enough; size++) {
        size_t n = 0;
        for (uint32_t set = 0; set < UINT32_C(1) << plan->count; set++) {
            if (bits(set) != size)
                continue;
            trials[n] = (struct gm_trial){.capacity = plan->capacity, .taken = GM_GPU_CONTEXT};
            sets[n++] = set;
        }
        status = gm_fixes_try(trials, sets, n, plan->fixes, plan->count, search, err);
        for (size_t i = 0; status == GM_OK && i < n && !plan->is_enough; i++) {
            plan->is_enough = trials[i].runs;
            plan->chosen = sets[i];
            plan->retries = trials[i].retries;
        }
    }
    free(sets);
    free(trials);
    return status;
}

/* One after the other, with unlimited memory. */
static enum gm_status climb(struct gm_replay_plan *plan, const struct gm_search *search, struct gm_error *err)
{
    struct gm_trial trials[1 + FIXES_MOST] = {{.capacity = UINT64_MAX}};
    uint32_t sets[1 + FIXES_MOST] = {0};
    size_t n = 1;
    plan->stairs[0] = (struct stair){.name = "as recorded", .what = "as recorded", .saved = GM_REPORT_NONE};
    for (size_t i = 0; i < plan->count; i++) {
        if ((plan->chosen >> i & 1) == 0)
            continue;
        plan->stairs[n] = (struct stair){.name = plan->names[i], .what = plan->what[i], .costs = plan->costs[i]};
        trials[n].capacity = UINT64_MAX;
        sets[n] = sets[n - 1] | UINT32_C(1) << i;
        n++;
    }
    enum gm_status status = gm_fixes_try(trials, sets, n, plan->fixes, plan->count, search, err);
    for (size_t i = 0; status == GM_OK && i < n; i++) {
        plan->stairs[i].peak = trials[i].peak_reserved > search->floor ? trials[i].peak_reserved : search->floor;
        if (i > 0)
            plan->stairs[i].saved =
                plan->stairs[i - 1].peak > plan->stairs[i].peak ? plan->stairs[i - 1].peak - plan->stairs[i].peak : 0;
    }
    plan->stair_count = n + 1;
    plan->missing = plan->stairs[n - 1].peak > plan->capacity ? plan->stairs[n - 1].peak - plan->capacity : 0;
    plan->stairs[n] = (struct stair){
        .name = plan->card->name, .what = plan->card->name, .peak = plan->capacity, .saved = GM_REPORT_NONE};
    return status;
}

enum gm_status gm_replay_make_plan(struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_replay_plan *plan;
    char note[GM_GPU_NOTE];
    uint64_t events = 0;
    if (run->options->plan == NULL)
        return GM_OK;
    struct gm_search_device *devices = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *devices);
    plan = run->plan = gm_arena_calloc(&run->arena, 1, sizeof *plan);
    if (plan == NULL || devices == NULL)
        return gm_no_memory(err);
    GM_TRY(gm_gpu_choose(&plan->card, note, run->options->plan, err));
    plan->capacity = gm_gpu_usable(plan->card) - gm_gpu_usable(plan->card) / SPARE;
    for (size_t i = 0; i < run->device_count; i++) {
        devices[i] = gm_replay_search_device(run, i);
        devices[i].refused = NULL; /* with other sizes it would be another request */
        events += run->devices[i].whatif.events;
    }
    plan->is_too_long = events > MOST_EVENTS >> 8;
    if (plan->is_too_long)
        return GM_OK;
    const struct gm_search search = {.devices = devices,
                                     .device_count = run->device_count,
                                     .floor = gm_replay_most_untraced(run),
                                     .threads = gm_replay_threads(run)};
    enum gm_status status = add_settings(run, err);
    if (status == GM_OK)
        status = add_mistakes(run, err);
    for (size_t i = 0; status == GM_OK && i < sizeof kinds / sizeof *kinds; i++)
        if (!add_kind(run, &kinds[i]))
            status = gm_no_memory(err);
    if (status == GM_OK)
        status = choose(plan, &search, err);
    return status == GM_OK ? climb(plan, &search, err) : status;
}

bool gm_replay_plan_fails(const struct gm_replay_run *run)
{
    return run->plan != NULL && (!run->plan->is_enough || gm_replay_is_open(run));
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static const char *brief(struct gm_doc *doc, const char *text)
{
    const char *colon = text == NULL ? NULL : strstr(text, ": ");
    return colon == NULL ? text : gm_doc_printf(doc, "%.*s", (int)(colon - text), text);
}

/* A clause. */
static const char *verdict_of(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_plan *plan = run->plan;
    if (plan->is_too_long)
        return "not made: this run is too long to be replayed so often";
    if (!plan->is_enough && plan->missing == 0)
        return "not enough: with all that the trace can prove it runs out of memory";
    if (!plan->is_enough)
        return gm_doc_printf(doc, "not enough: with all that the trace can prove %s are missing",
                             gm_doc_bytes(doc, plan->missing));
    return gm_doc_printf(doc, "it runs %s, with %d %% to spare%s%s",
                         plan->chosen == 0 ? "as it is" : "with these, and with no shorter list", 100 / SPARE,
                         plan->retries == 0 ? ""
                                            : gm_doc_printf(doc, ", giving cached memory back %s time%s",
                                                            gm_doc_count(doc, plan->retries), gm_plural(plan->retries)),
                         gm_replay_is_open(run) ? ", as far as it goes: the recording ended out of memory" : "");
}

enum gm_status gm_replay_draw_plan(struct gm_text *out, const struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_plan *plan = run->plan;
    struct gm_plan_step steps[FIXES_MOST + 1];
    struct gm_text words = {0};
    struct gm_doc doc;
    struct gm_painter *painter = NULL;
    struct gm_png png = {NULL, 0};
    gm_doc_begin(&doc, GM_TXT, &words);
    const struct gm_plan_picture picture = {.title = gm_doc_printf(&doc, "Plan for %s", plan->card->title),
                                            .trace = run->report.snapshot.path,
                                            .verdict = verdict_of(&doc, run),
                                            .usable = gm_gpu_usable(plan->card),
                                            .capacity = plan->capacity,
                                            .steps = steps,
                                            .count = plan->stair_count > 0 ? plan->stair_count - 1 : 0};
    for (size_t i = 0; i < picture.count; i++)
        steps[i] =
            (struct gm_plan_step){plan->stairs[i].name, brief(&doc, plan->stairs[i].costs), plan->stairs[i].peak};
    enum gm_status status = gm_painter_new(&painter, err);
    if (status == GM_OK)
        status = gm_chart_draw(&png, painter, &picture, GM_CHART_PLAN, err);
    if (status == GM_OK)
        gm_text_add_bytes(out, (const char *)png.data, png.length);
    if (status == GM_OK && (out->failed || words.failed))
        status = gm_no_memory(err);
    free(png.data);
    gm_painter_free(painter);
    gm_doc_end(&doc);
    gm_text_free(&words);
    return status;
}

void gm_replay_say_plan(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "fix", struct stair, what),
        GM_KEY(GM_TEXT, "costs", struct stair, costs),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Fixes, one after the other", struct stair, name),
        GM_FIELD(GM_BYTES, GM_READ | GM_JSON, "peak_reserved_bytes", "Reserved", struct stair, peak),
        GM_FIELD(GM_BYTES, GM_READ | GM_JSON | GM_BLANK, "saves_bytes", "Saves", struct stair, saved),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "", struct stair, bar),
        GM_FIELD(GM_TEXT, GM_READ | GM_UNDER, NULL, "Price", struct stair, price),
    };
    struct gm_replay_plan *plan = run->plan;
    if (plan == NULL)
        return;
    const bool is_json = gm_doc_is(doc, GM_JSON);
    uint64_t most = 1;
    for (size_t i = 0; i < plan->stair_count; i++)
        most = plan->stairs[i].peak > most ? plan->stairs[i].peak : most;
    for (size_t i = 0; i < plan->stair_count; i++) {
        struct stair *stair = &plan->stairs[i];
        stair->price = stair->costs == NULL ? NULL : gm_doc_printf(doc, "price: %s", brief(doc, stair->costs));
        stair->bar = gm_doc_printf(doc, "%.*s", (int)((double)stair->peak / (double)most * BAR), "################");
    }
    if (is_json) {
        gm_json_open(&doc->json, "plan", '{');
        gm_json_string(&doc->json, "gpu", plan->card->name);
        gm_json_number(&doc->json, "usable_bytes", gm_gpu_usable(plan->card));
        gm_json_number(&doc->json, "capacity_bytes", plan->capacity);
        if (plan->is_too_long || (plan->is_enough && gm_replay_is_open(run)))
            gm_json_null(&doc->json, "is_enough");
        else
            gm_json_bool(&doc->json, "is_enough", plan->is_enough);
        gm_json_number(&doc->json, "num_alloc_retries", plan->is_enough ? plan->retries : GM_REPORT_NONE);
        gm_json_number(&doc->json, "missing_bytes",
                       plan->is_enough || plan->is_too_long ? GM_REPORT_NONE : plan->missing);
    } else {
        gm_text_printf(doc->out, "plan for %s: %s usable, %s without what is to spare\n", plan->card->title,
                       gm_doc_bytes(doc, gm_gpu_usable(plan->card)), gm_doc_bytes(doc, plan->capacity));
    }
    const size_t shown = plan->stair_count - (is_json && plan->stair_count > 0); /* the card is no step */
    gm_doc_table(doc, &(struct gm_table){.key = "steps", GM_COLUMNS(columns), GM_ROWS(plan->stairs, shown)});
    if (is_json)
        gm_json_close(&doc->json, '}');
    else
        gm_text_printf(doc->out, "  %s\n", verdict_of(doc, run));
}
