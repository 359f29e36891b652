/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/sweep.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

static int group(const struct gm_trial *t)
{
    return t->runs ? 0 : t->is_given_up ? 2 : 1;
}

/* Those that run first: by peak, device allocations, retries. Of those that fail the ones that get farther. Then by the
 * shorter text; the baseline, which changes nothing, before its equals. */
GM_ORDERING(by_merit, struct gm_sweep_row,
            GM_BY(group(&a->trial) - group(&b->trial)) ||
                (a->trial.runs
                     ? GM_UP(trial.peak_reserved) || GM_UP(trial.device_allocs) || GM_UP(trial.retries)
                     : !a->trial.is_given_up && (GM_UP(trial.failure.is_at_start) || GM_DOWN(trial.failure.event))) ||
                GM_BY((a->text != NULL) - (b->text != NULL)) ||
                (a->text != NULL &&
                 (GM_BY(GM_ORDER(strlen(a->text), strlen(b->text))) || GM_BY(strcmp(a->text, b->text)))));

int64_t gm_sweep_saved(const struct gm_sweep *sweep, const struct gm_sweep_row *row)
{
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    if (!baseline->runs || !row->trial.runs)
        return 0;
    return (int64_t)(baseline->peak_reserved - row->trial.peak_reserved);
}

/* Worth a change: it runs where the baseline does not, or saves at least a hundredth of its peak. */
static bool is_worth_it(const struct gm_sweep *sweep, const struct gm_sweep_row *row)
{
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    if (row->text == NULL || !row->trial.runs || baseline->is_given_up)
        return false;
    int64_t saved = gm_sweep_saved(sweep, row);
    return !baseline->runs || (saved > 0 && (uint64_t)saved >= (baseline->peak_reserved + 99) / 100);
}

/* Of a text as in PYTORCH_ALLOC_CONF: the colons outside of a list in brackets. */
static size_t count_options(const char *text)
{
    size_t count = 0;
    bool is_in_list = false;
    for (const char *c = text; *c != '\0'; c++) {
        is_in_list = *c == '[' || (is_in_list && *c != ']');
        count += *c == ':' && !is_in_list;
    }
    return count;
}

static void choose_simple_winner(struct gm_sweep *sweep)
{
    if (sweep->usual_winner == GM_SWEEP_NONE)
        return;
    const struct gm_sweep_row *winner = &sweep->rows[sweep->winner], *usual = &sweep->rows[sweep->usual_winner];
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    uint64_t most =
        winner->trial.peak_reserved + (baseline->runs ? baseline->peak_reserved : winner->trial.peak_reserved) / 100;
    size_t fewest = count_options(usual->text);
    for (size_t i = sweep->usual_winner; i < sweep->count; i++) {
        const struct gm_sweep_row *row = &sweep->rows[i];
        if (row->since != NULL || !is_worth_it(sweep, row) || row->trial.peak_reserved > most ||
            count_options(row->text) >= fewest)
            continue;
        sweep->simple_winner = i;
        fewest = count_options(row->text);
    }
}

static void choose_winners(struct gm_sweep *sweep)
{
    sweep->winner = sweep->usual_winner = sweep->simple_winner = sweep->baseline = GM_SWEEP_NONE;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->rows[i].text == NULL)
            sweep->baseline = i;
    for (size_t i = sweep->count; i-- > 0;) {
        if (!is_worth_it(sweep, &sweep->rows[i]))
            continue;
        sweep->winner = i;
        if (sweep->rows[i].since == NULL)
            sweep->usual_winner = i;
    }
    choose_simple_winner(sweep);
}

static enum gm_status run_rows(struct gm_sweep *sweep, const struct gm_search *search, uint64_t capacity,
                               uint64_t taken, struct gm_error *err)
{
    GM_FREED struct gm_trial *trials = calloc(sweep->count, sizeof *trials);
    if (trials == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < sweep->count; i++)
        trials[i] = (struct gm_trial){.is_baseline = i == 0,
                                      .conf = i == 0 ? gm_conf_default() : sweep->list->rows[i - 1].conf,
                                      .capacity = capacity,
                                      .taken = taken,
                                      .is_needed = i == 0};
    enum gm_status status = gm_trials_run(search, trials, sweep->count, err);
    size_t kept = 0;
    for (size_t i = 0; i < sweep->count; i++)
        if (!trials[i].is_left_out)
            sweep->rows[kept++] = (struct gm_sweep_row){.text = i == 0 ? NULL : sweep->list->rows[i - 1].text,
                                                        .since = i == 0 ? NULL : sweep->list->rows[i - 1].since,
                                                        .trial = trials[i]};
    sweep->left_out = sweep->count - kept;
    sweep->count = kept;
    return status;
}

/* One more look at those that matter, with segments in other places. */
static enum gm_status spread(struct gm_sweep *sweep, const struct gm_search *search, struct gm_error *err)
{
    const size_t named[] = {sweep->baseline, sweep->winner, sweep->usual_winner, sweep->simple_winner};
    enum { NAMED = sizeof named / sizeof named[0] };
    struct gm_trial trials[GM_SWEEP_RANGED + NAMED];
    size_t rows[GM_SWEEP_RANGED + NAMED], n = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        bool is_named = i < GM_SWEEP_RANGED;
        for (size_t k = 0; k < NAMED; k++)
            is_named |= named[k] == i;
        if (!is_named)
            continue;
        trials[n] = sweep->rows[i].trial;
        rows[n++] = i;
    }
    enum gm_status status = gm_trials_spread(search, trials, n, err);
    for (size_t i = 0; i < n; i++)
        sweep->rows[rows[i]].trial.range = trials[i].range;
    return status;
}

enum gm_status gm_sweep_run(struct gm_sweep *sweep, const struct gm_search *search, const struct gm_conf *baseline,
                            uint64_t capacity, uint64_t taken, struct gm_error *err)
{
    *sweep = (struct gm_sweep){.list = malloc(sizeof *sweep->list),
                               .rows = calloc(GM_CANDIDATES_MOST + 1, sizeof *sweep->rows)};
    enum gm_status status = sweep->list == NULL || sweep->rows == NULL
                                ? gm_no_memory(err)
                                : gm_candidates_make(sweep->list, baseline, capacity != UINT64_MAX, err);
    if (status == GM_OK) {
        sweep->count = sweep->list->count + 1;
        status = run_rows(sweep, search, capacity, taken, err);
    }
    if (status != GM_OK) {
        gm_sweep_free(sweep);
        return status;
    }
    qsort(sweep->rows, sweep->count, sizeof *sweep->rows, by_merit);
    choose_winners(sweep);
    status = spread(sweep, search, err);
    if (status != GM_OK)
        gm_sweep_free(sweep);
    return status;
}

void gm_sweep_free(struct gm_sweep *sweep)
{
    GM_FREE_ALL(sweep->list, sweep->rows);
    *sweep = (struct gm_sweep){0};
}
