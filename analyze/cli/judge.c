/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/judge.h"

#include "analyze/diagnose/diagnose.h"
#include "analyze/profile/profile_report.h"
#include "analyze/report/remedy.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "analyze/state/state.h"
#include "replay/whatif/gpus.h"

#include <string.h>

enum { REMEDIES_MOST = 16 };

/* All allocations of the call site are dropped. false: no memory. */
static bool drop_site(struct gm_remedy *remedy, struct gm_report *report, const struct gm_snapshot *snapshot,
                      const struct gm_history *h)
{
    enum { UNKNOWN, THERE, ELSEWHERE };
    struct gm_names names;
    struct gm_remedy_change *changes = gm_arena_calloc(&report->arena, h->allocation_count + 1, sizeof *changes);
    uint8_t *place = gm_arena_calloc(&report->arena, (size_t)snapshot->stacks.count + 1, 1); /* [stack] */
    bool ok = gm_names_init(&names, snapshot, &report->arena) && changes != NULL && place != NULL;
    for (uint32_t a = 0; ok && a < h->allocation_count; a++) {
        const struct gm_stack_id stack = {gm_stack_of(h, a)};
        if (place[stack.v] == UNKNOWN) {
            const char *site = gm_names_site(&names, stack);
            ok = site != NULL;
            place[stack.v] = ok && strcmp(site, remedy->site) == 0 ? THERE : ELSEWHERE;
        }
        if (place[stack.v] == THERE)
            changes[remedy->count++] =
                (struct gm_remedy_change){.allocation = a, .gone = GM_REMEDY_NEVER, .again = GM_REMEDY_NEVER};
    }
    remedy->changes = changes;
    gm_names_free(&names);
    return ok;
}

/* Once what is said twice. */
static void add(struct gm_remedy *list[REMEDIES_MOST], size_t *n, struct gm_remedy *remedy)
{
    bool is_new = remedy != NULL && *n < REMEDIES_MOST;
    for (size_t i = 0; i < *n && is_new; i++)
        is_new = remedy->site == NULL || list[i]->site == NULL || strcmp(remedy->site, list[i]->site) != 0;
    if (is_new)
        list[(*n)++] = remedy;
}

/* Mistakes, those first of which most is to be expected: the bytes of a cache are not what the peak loses. */
static size_t list_mistakes(const struct gm_finding *list[REMEDIES_MOST], const struct gm_diagnosis *diagnosis)
{
    size_t n = 0;
    for (size_t i = 0; i < diagnosis->finding_count && n < REMEDIES_MOST; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (f->rank != GM_RANK_MISTAKE || f->remedy == NULL)
            continue;
        size_t at = n++;
        for (; at > 0 && f->severity == list[at - 1]->severity &&
               gm_diagnose_weight(f) > gm_diagnose_weight(list[at - 1]);
             at--)
            list[at] = list[at - 1];
        list[at] = f;
    }
    return n;
}

/* What is to be replayed: mistakes first, for there may be no time for all. Beside them no call site is a remedy. */
static size_t list_remedies(struct gm_remedy *list[REMEDIES_MOST], const struct gm_diagnosis *diagnosis)
{
    const struct gm_finding *mistakes[REMEDIES_MOST];
    const size_t count = list_mistakes(mistakes, diagnosis);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        add(list, &n, mistakes[i]->remedy);
    const bool has_mistake = n > 0;
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (f->rank != GM_RANK_MISTAKE && f->remedy != NULL && (!has_mistake || f->remedy->site == NULL))
            add(list, &n, f->remedy);
    }
    if (!has_mistake)
        add(list, &n, diagnosis->of_site);
    return n;
}

/* Replays what mending each finding would save, and has the rest of the diagnosis told again with those figures. */
static enum gm_status replay_remedies(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                                      struct gm_error *err)
{
    struct gm_report *report = &judged->report;
    struct gm_kept *kept = &judged->kept;
    struct gm_remedy *list[REMEDIES_MOST];
    const size_t n = kept->count == 0 ? 0 : list_remedies(list, &report->diagnosis);
    for (size_t i = 0; i < n; i++)
        for (size_t d = 0; d < kept->count && list[i]->site != NULL && list[i]->changes == NULL; d++)
            if (kept->v[d].history.device == list[i]->device &&
                !drop_site(list[i], report, snapshot, &kept->v[d].history))
                return gm_no_memory(err);
    for (size_t i = 0; i < n; i++)
        list[i]->is_asked = true;
    enum gm_status status = n == 0 ? GM_OK : gm_advice_remedies(report, kept, judged->threads, list, n, err);
    return status == GM_OK && n > 0 ? gm_diagnose_tell(report, err) : status;
}

/* What was there and what was short, of the device that ran out of memory first in the report. */
static const char *card_of_oom(const struct gm_report *report)
{
    const struct gm_oom_row *oom = NULL;
    for (size_t d = 0; oom == NULL && report->timelines != NULL && d < report->device_count; d++)
        oom = report->timelines[d].oom_count > 0 ? &report->timelines[d].ooms[0] : NULL;
    if (oom == NULL || oom->missing == 0 || oom->missing == GM_REPORT_NONE || oom->device_free == GM_REPORT_NONE)
        return NULL;
    const uint64_t needs = gm_plus(gm_plus(oom->levels.reserved, oom->device_free), oom->missing);
    size_t i = 0;
    while (i < gm_gpu_count() && (!gm_gpu_is_of_cuda(gm_gpu_at(i)) || gm_gpu_usable(gm_gpu_at(i)) < needs))
        i++;
    return i < gm_gpu_count() ? gm_gpu_at(i)->name : NULL;
}

static void follow(void *judged, const struct gm_history *history)
{
    struct gm_judged *of = judged;
    gm_advice_follow(&of->followed, history, of->most_events, of->threads);
}

static void wait_for_followed(void *judged)
{
    gm_followed_wait(&((struct gm_judged *)judged)->followed);
}

enum gm_status gm_judge_begin(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                              const struct gm_timeline_options *timeline, int64_t device, bool is_partial,
                              struct gm_error *err)
{
    struct gm_report *report = &judged->report;
    struct gm_state_options state = {.top = timeline->top, .device = device, .rules = timeline->rules};
    GM_TRY(gm_classifier_new(&state.classifier, state.rules, snapshot, err));
    struct gm_timeline_options options = *timeline; /* both analyses share what is learnt about the stacks */
    options.classifier = state.classifier;
    enum gm_status status = gm_state_analyze(report, snapshot, &state, err);
    const struct gm_gpu *card = options.serving.card == NULL ? NULL : gm_gpu_find(options.serving.card);
    if (status == GM_OK && snapshot->profile != NULL)
        status = gm_profile_analyze(report, snapshot->profile, card == NULL ? 0 : card->total, err);
    const struct gm_history_follower follower = {follow, wait_for_followed, judged};
    if (status == GM_OK && !is_partial)
        options.keep = &judged->kept;
    if (!is_partial && judged->threads > 1) {
        options.reader = judged->reader.read != NULL ? &judged->reader : NULL;
        options.follower = snapshot->source.is_salvaged ? NULL : &follower;
    }
    GM_THEN(status, gm_timeline_analyze(report, snapshot, &options, err));
    if (status == GM_OK && report->join != NULL && report->join->reason == NULL)
        status = gm_profile_analyze(report, options.beside->profile, card == NULL ? 0 : card->total, err);
    GM_THEN(status, gm_advice_begin(report, is_partial, judged->most_events, &judged->needs_replay, err));
    gm_classifier_free(state.classifier);
    return status;
}

enum gm_status gm_judge_end(struct gm_judged *judged, const struct gm_snapshot *snapshot, struct gm_error *err)
{
    struct gm_report *report = &judged->report;
    struct gm_kept *kept = &judged->kept;
    struct gm_diagnosing *diagnosing;
    enum gm_status status =
        gm_diagnose_begin(&diagnosing, report, snapshot, kept->count > 0 ? kept : NULL, GM_ASK_AHEAD, err);
    gm_followed_wait(&judged->followed);
    if (status == GM_OK && judged->needs_replay)
        status = gm_advice_replay(report, kept, &judged->followed, judged->threads, err);
    report->oom_card = card_of_oom(report);
    GM_THEN(status, gm_diagnose_end(diagnosing, err));
    gm_diagnosing_free(diagnosing);
    return status == GM_OK ? replay_remedies(judged, snapshot, err) : status;
}
