/* SPDX-License-Identifier: Apache-2.0
 *
 * --sweep and --fit: runs the searches, tells them in words.
 */
#include "replay/cli/search.h"

#include "analyze/base/size.h"
#include "analyze/cli/interrupt.h"
#include "analyze/diagnose/diagnose.h"
#include "analyze/report/numbers.h"
#include "replay/cli/judged.h"
#include "replay/trials/card_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PLANNED = 1 << 20 /* events: a plan is many replays */,
    ROWS_SHOWN = 12,
    RETRIES = GM_NUMBER_TEXT + 24,
    CUT_TEXT = 80
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

unsigned gm_replay_threads(const struct gm_replay_run *run)
{
    long n = run->options->usual.threads > 0 ? (long)run->options->usual.threads : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (unsigned)n;
}

/* A real trace of a million events takes 25 seconds of one CPU. */
enum { BUDGET = 60, BUDGET_PER_MILLION = 60 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_over(void *asked)
{
    struct gm_replay_search *s = asked;
    double due = s->is_fitting || !s->has_fits ? s->budget : s->budget / 2;
    int none = GM_CUT_NOT, cut = gm_interrupt_is_pending()                 ? GM_CUT_INTERRUPT
                                 : s->budget > 0 && now() - s->began > due ? GM_CUT_BUDGET
                                                                           : GM_CUT_NOT;
    if (cut != GM_CUT_NOT)
        atomic_compare_exchange_strong(&s->cut[s->is_fitting], &none, cut);
    return cut != GM_CUT_NOT;
}

/* Why not all of the sweep, or of the fits, was tried; `text` has CUT_TEXT bytes. */
static const char *why_cut(char *text, const struct gm_replay_search *s, bool is_fitting)
{
    if (s->cut[is_fitting] == GM_CUT_BUDGET)
        snprintf(text, CUT_TEXT, "%sthe budget of %.0f s (--budget) was used up",
                 is_fitting || !s->has_fits ? "" : "half of ", s->budget);
    else
        snprintf(text, CUT_TEXT, "it was interrupted");
    return text;
}

static void set_budget(struct gm_replay_search *s, const struct gm_replay_run *run)
{
    double events = 0;
    for (size_t d = 0; d < run->snapshot.trace_count; d++)
        events += (double)run->snapshot.traces[d].count;
    s->began = now();
    s->has_fits = run->options->fit;
    s->budget = run->options->budget >= 0 ? (double)run->options->budget : BUDGET + BUDGET_PER_MILLION * 1e-6 * events;
}

struct gm_search_device gm_replay_search_device(const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_replay_repetition *r = &device->repetition;
    return (struct gm_search_device){.history = &run->kept.v[run->device_of[index]].history,
                                     .requested = device->requested,
                                     .baseline = device->conf,
                                     .refused = gm_replay_refused(run, index) == NULL ? NULL : &device->refused,
                                     .parts = device->parts,
                                     .part_count = r->is_used ? device->part_count : 0,
                                     .repeat = r->turns > 0 ? &r->plan : NULL,
                                     .stops_after_parts = gm_replay_stops_early(device)};
}

enum gm_status gm_replay_make_plan(struct gm_replay_run *run, struct gm_error *err)
{
    char note[GM_GPU_NOTE];
    if (run->options->plan == NULL)
        return GM_OK;
    struct gm_search_device *devices = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *devices);
    const uint8_t **roles = gm_arena_calloc(&run->arena, run->device_count + 1, sizeof *roles);
    const struct gm_search search = {.devices = devices,
                                     .device_count = run->device_count,
                                     .floor = gm_replay_most_untraced(run),
                                     .is_open = gm_replay_is_open(run),
                                     .threads = gm_replay_threads(run)};
    struct gm_plan_task task = {.report = &run->report,
                                .snapshot = &run->snapshot,
                                .conf = &run->conf,
                                .search = &search,
                                .roles = roles,
                                .most_events = PLANNED};
    if (devices == NULL || roles == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < run->device_count; i++) {
        devices[i] = gm_replay_search_device(run, i);
        devices[i].refused = NULL;
        roles[i] = run->kept.v[run->device_of[i]].role;
    }
    GM_TRY(gm_gpu_choose(&task.card, note, run->options->plan, err));
    GM_TRY(gm_ignore_ask(&run->ignore, &run->report, err));
    GM_TRY(gm_diagnose(&run->report, &run->snapshot, &run->kept, err));
    gm_ignore_count(&run->ignore, &run->report);
    return gm_card_plan_make(&task, err);
}

enum gm_status gm_replay_try(const struct gm_replay_run *run, size_t index, struct gm_trial *trials, size_t count,
                             bool spreads, struct gm_error *err)
{
    struct gm_search_device *devices = calloc(run->device_count + 1, sizeof *devices);
    struct gm_search search = {.devices = devices, .threads = gm_replay_threads(run)};
    if (devices == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < run->device_count; i++)
        if (index == SIZE_MAX || i == index)
            devices[search.device_count++] = gm_replay_search_device(run, i);
    enum gm_status status = gm_trials_run(&search, trials, count, err);
    if (status == GM_OK && spreads)
        status = gm_trials_spread(&search, trials, count, err);
    free(devices);
    return status;
}

static enum gm_status list_devices(struct gm_replay_search *s, struct gm_replay_run *run, struct gm_error *err)
{
    s->devices = calloc(run->device_count + 1, sizeof *s->devices);
    s->bounds = calloc(run->device_count + 1, sizeof *s->bounds);
    if (s->devices == NULL || s->bounds == NULL)
        return gm_no_memory(err);
    bool is_open = false;
    for (size_t i = 0; i < run->device_count; i++) {
        s->devices[i] = gm_replay_search_device(run, i);
        is_open |= run->devices[i].was_refused;
    }
    s->search = (struct gm_search){.devices = s->devices,
                                   .device_count = run->device_count,
                                   .floor = gm_replay_most_untraced(run),
                                   .is_open = is_open,
                                   .threads = gm_replay_threads(run),
                                   .progress = &run->progress.searched,
                                   .is_over = is_over,
                                   .asked = s};
    set_budget(s, run);
    return GM_OK;
}

static enum gm_status run_fits(struct gm_replay_search *s, const struct gm_conf *baseline, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    s->is_fitting = true;
    const struct gm_sweep *from = &s->sweep; /* the one with unlimited memory */
    if (s->sweep.rows[0].trial.capacity != UINT64_MAX) {
        status = gm_sweep_run(&s->roomy, &s->search, baseline, UINT64_MAX, 0, err);
        from = &s->roomy;
    }
    if (status != GM_OK)
        return status;
    size_t rows[GM_SEARCHED_FITS] = {from->baseline, from->winner, GM_SWEEP_NONE};
    uint64_t least = UINT64_MAX / GM_FIT_GRANULE * GM_FIT_GRANULE;
    for (size_t i = 0; status == GM_OK && i < GM_SEARCHED_FITS; i++) {
        struct gm_fit *fit = &s->fits[i];
        bool is_cut = false;
        if (i == 2) {
            status = gm_least(fit, &rows[i], &s->search, from, least, &is_cut, err);
        } else if (rows[i] != GM_SWEEP_NONE) {
            const struct gm_trial *trial = &from->rows[rows[i]].trial;
            status = gm_fit_run(fit, &s->search, trial, trial->peak_reserved, err);
            least = fit->is_found && fit->capacity < least ? fit->capacity : least;
        }
        s->fitted[i] = rows[i] != GM_SWEEP_NONE ? &from->rows[rows[i]] : NULL;
    }
    return status;
}

enum gm_status gm_replay_search(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    if (!o->sweep && !o->fit)
        return GM_OK;
    struct gm_replay_search *s = run->search = calloc(1, sizeof *s);
    if (s == NULL)
        return gm_no_memory(err);
    gm_interrupt_hold(); /* a signal ends the search, and waits until what was found is told */
    uint64_t capacity = o->sweep && o->backend != GM_REPLAY_NULL ? run->capacity : UINT64_MAX;
    const struct gm_conf *baseline = run->device_count > 0 ? &run->devices[0].conf : &run->conf;
    enum gm_status status = list_devices(s, run, err);
    gm_conf_text(&s->baseline_text, baseline);
    if (status == GM_OK && s->baseline_text.failed)
        status = gm_no_memory(err);
    for (size_t i = 0; status == GM_OK && i < run->device_count; i++)
        status = gm_bounds_find(&s->bounds[i], &s->devices[i], err);
    atomic_store(&run->progress.stage, GM_REPLAY_SWEEPING);
    if (status == GM_OK)
        status = gm_sweep_run(&s->sweep, &s->search, baseline, capacity, gm_replay_taken(run), err);
    atomic_store(&run->progress.stage, GM_REPLAY_FITTING);
    return status == GM_OK && o->fit ? run_fits(s, baseline, err) : status;
}

enum gm_status gm_replay_fit_recorded(struct gm_fit *fit, struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_replay_search *s = calloc(1, sizeof *s);
    struct gm_trial trial = {.is_baseline = true, .capacity = UINT64_MAX};
    *fit = (struct gm_fit){0};
    if (s == NULL)
        return gm_no_memory(err);
    s->is_fitting = true;
    enum gm_status status = list_devices(s, run, err);
    if (status == GM_OK)
        status = gm_trials_run(&s->search, &trial, 1, err);
    if (status == GM_OK && trial.runs)
        status = gm_fit_run(fit, &s->search, &trial, trial.peak_reserved, err);
    free(s->devices);
    free(s->bounds);
    free(s);
    return status;
}

void gm_replay_search_free(struct gm_replay_run *run)
{
    if (run->search == NULL)
        return;
    gm_sweep_free(&run->search->sweep);
    gm_sweep_free(&run->search->roomy);
    gm_text_free(&run->search->baseline_text);
    free(run->search->devices);
    free(run->search->bounds);
    free(run->search);
    run->search = NULL;
}

uint64_t gm_searched_peak(const struct gm_replay_search *s)
{
    uint64_t most = 0;
    for (size_t i = 0; i < s->search.device_count; i++)
        most = s->bounds[i].recorded_reserved > most ? s->bounds[i].recorded_reserved : most;
    return most;
}

const char *gm_searched_text(const struct gm_replay_run *run, const struct gm_sweep_row *row)
{
    const struct gm_text *baseline = &run->search->baseline_text;
    return row->text != NULL ? row->text : baseline->length == 0 ? "" : baseline->data;
}

/* ---- words: the sweep -------------------------------------------------------------------------------------------- */

enum gm_replay_verdict gm_searched_passes(const struct gm_replay_run *run, const struct gm_trial *t)
{
    if (run->options->limit == UINT64_MAX)
        return GM_VERDICT_NONE;
    if (!t->runs || t->peak_reserved > run->options->limit || gm_replay_most_untraced(run) > run->options->limit ||
        gm_replay_refused_need(run) > run->options->limit)
        return GM_VERDICT_FAIL;
    return run->search->search.is_open ? GM_VERDICT_UNKNOWN : GM_VERDICT_PASS;
}

static const char *result_of(const struct gm_replay_run *run, const struct gm_trial *t)
{
    if (!t->runs)
        return t->is_given_up ? "?" : t->failed_device == run->device_count ? "FAIL" : "OOM";
    static const char *const words[] = {
        [GM_VERDICT_NONE] = "runs", [GM_VERDICT_PASS] = "PASS", [GM_VERDICT_FAIL] = "FAIL", [GM_VERDICT_UNKNOWN] = "?"};
    return words[gm_searched_passes(run, t)];
}

/* At the end of a row. What is too long is broken between two options. */
static void add_settings(struct gm_doc *doc, const char *text)
{
    enum { COLUMN = 51 };
    char item[GM_CANDIDATE_TEXT];
    while (text[0] != '\0') {
        size_t n = 0;
        for (bool in_list = false; text[n] != '\0' && n + 1 < sizeof item && (n == 0 || in_list || text[n - 1] != ',');
             n++)
            in_list = text[n] == '[' || (in_list && text[n] != ']');
        memcpy(item, text, n);
        item[n] = '\0';
        gm_replay_put_item(doc, item, COLUMN);
        text += n;
    }
}

static void add_row(struct gm_doc *doc, const struct gm_replay_run *run, const struct gm_sweep_row *row)
{
    const struct gm_trial *t = &row->trial;
    const char *text = gm_searched_text(run, row);
    bool can_compare = t->runs && run->search->sweep.rows[run->search->sweep.baseline].trial.runs;
    gm_text_printf(doc->out, "  %10s %10s %7s %7s %-4s %4s%s %s", gm_doc_bytes(doc, t->peak_reserved),
                   can_compare ? gm_doc_signed_bytes(doc, gm_sweep_saved(&run->search->sweep, row)) : "-",
                   gm_doc_count(doc, t->device_allocs), gm_doc_count(doc, t->retries), result_of(run, t),
                   row->since != NULL ? row->since : "any", row->since != NULL ? "+" : " ",
                   row->text == NULL ? "baseline: " : "");
    add_settings(doc, text[0] == '\0' ? "PyTorch's defaults" : text);
    gm_text_add_char(doc->out, '\n');
}

static void add_paste_line(struct gm_doc *doc, const struct gm_replay_run *run, const char *label, size_t index)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    const struct gm_sweep_row *row = &sweep->rows[index];
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    char b[GM_SIZE_CHANGE_TEXT], c[GM_NUMBER_TEXT];
    gm_text_printf(doc->out, "%s%s%s%s\n  " GM_CONF_VARIABLE "=%s\n", label, row->since != NULL ? " (PyTorch " : "",
                   row->since != NULL ? row->since : "", row->since != NULL ? " or later):" : ":", row->text);
    if (!baseline->runs) {
        gm_text_printf(doc->out, "  runs with a peak of %s reserved; the baseline does not run\n",
                       gm_doc_bytes(doc, row->trial.peak_reserved));
        return;
    }
    uint64_t saved = (uint64_t)gm_sweep_saved(sweep, row);
    gm_text_printf(doc->out, "  replayed: %s reserved, saves %s (%s %%)\n",
                   gm_size_format_change(b, baseline->peak_reserved, row->trial.peak_reserved),
                   gm_doc_bytes(doc, saved), gm_percent_format(c, saved, baseline->peak_reserved, 1));
    gm_replay_range_words(doc, "  the baseline: ", &baseline->range);
    gm_replay_range_words(doc, "  these: ", &row->trial.range);
}

static void add_winner(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    if (sweep->winner == GM_SWEEP_NONE) {
        gm_text_add(doc->out,
                    baseline->runs ? "no change is recommended: no settings save as much as 1 % of peak reserved\n"
                    : baseline->is_given_up
                        ? "no recommendation: the baseline kept the model busy for too long to compare with it\n"
                    : baseline->failed_device == run->device_count
                        ? "no recommendation: more is needed than there is, whatever the settings\n"
                        : "no recommendation: none of these settings runs\n");
        return;
    }
    add_paste_line(doc, run, "best settings", sweep->winner);
    if (sweep->usual_winner != sweep->winner && sweep->usual_winner != GM_SWEEP_NONE)
        add_paste_line(doc, run, "best settings for any PyTorch", sweep->usual_winner);
    if (sweep->simple_winner != GM_SWEEP_NONE)
        add_paste_line(doc, run, "nearly as good, and simpler", sweep->simple_winner);
    gm_text_add(doc->out, "(" GM_CONF_OLD_VARIABLE ")\n");
}

static void add_sweep(struct gm_doc *doc, const struct gm_replay_run *run, bool is_long)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    uint64_t capacity = sweep->rows[0].trial.capacity;
    gm_text_printf(doc->out, "sweep: %zu settings and the baseline, each from an empty allocator, %s\n",
                   sweep->count - 1, capacity == UINT64_MAX ? "unlimited memory" : gm_doc_bytes(doc, capacity));
    gm_text_printf(doc->out, "  recorded peak reserved: %s\n", gm_doc_bytes(doc, gm_searched_peak(run->search)));
    gm_text_printf(doc->out, "  %10s %10s %7s\n  %10s %10s %7s %7s %-4s %-5s %s\n", "peak", "", "device", "reserved",
                   "saved", "allocs", "retries", run->options->limit == UINT64_MAX ? "" : "lim.", "torch", "settings");
    size_t shown = is_long || sweep->count <= ROWS_SHOWN ? sweep->count : ROWS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        add_row(doc, run, &sweep->rows[i]);
    if (shown <= sweep->baseline) {
        gm_text_add(doc->out, "  ...\n");
        add_row(doc, run, &sweep->rows[sweep->baseline]);
    }
    if (shown < sweep->count)
        gm_text_printf(doc->out, "  ... all %zu rows: --json FILE\n", sweep->count);
    if (sweep->left_out > 0) {
        char why[CUT_TEXT];
        gm_text_printf(doc->out, "not tried: %zu more settings, because %s\n", sweep->left_out,
                       why_cut(why, run->search, false));
    }
    add_winner(doc, run);
}

/* ---- words: memory ----------------------------------------------------------------------------------------------- */

const char *gm_searched_site(struct gm_replay_run *run, struct gm_stack_id stack)
{
    const char *site = gm_names_site(&run->names, stack);
    return site == NULL ? "?" : site;
}

static void add_failing(struct gm_doc *doc, struct gm_replay_run *run, const struct gm_fit *fit)
{
    const struct gm_whatif_failure *f = &fit->failure;
    if (fit->capacity == 0)
        return;
    if (fit->is_cut && fit->failing == 0) {
        gm_text_add(doc->out, "    less may do: the search was cut short\n");
        return;
    }
    if (fit->is_given_up) {
        gm_text_add(doc->out, "    with 2 MiB less the model was busy for too long to tell\n");
        return;
    }
    if (fit->failed_device == run->device_count) {
        gm_text_printf(doc->out,
                       "    too little with 2 MiB less: device %" PRId64 ", which has no events, has more reserved\n",
                       gm_replay_fullest_untraced(run));
        return;
    }
    gm_text_printf(doc->out, "    fails with 2 MiB less: device %" PRId64 ", ",
                   run->devices[fit->failed_device].whatif.device);
    if (f->is_at_start)
        gm_text_add(doc->out, "live since before the trace");
    else
        gm_text_printf(doc->out, "event %s", gm_doc_count(doc, f->event));
    struct gm_text site = {0};
    gm_text_printf(&site, " for %s", gm_searched_site(run, f->stack));
    gm_text_printf(doc->out, ", %s", gm_doc_bytes(doc, f->requested));
    gm_replay_put_item(doc, site.failed ? "" : site.data, 6);
    gm_text_add_char(doc->out, '\n');
    doc->out->failed |= site.failed;
    gm_text_free(&site);
}

/* Each one is slow: it waits for the device, and gives back what is cached. */
static const char *retries_of(char text[RETRIES], uint64_t retries)
{
    char a[GM_NUMBER_TEXT];
    snprintf(text, RETRIES, retries == 1 ? ", with %s retry" : ", with %s retries", gm_count_format(a, retries));
    return retries == 0 ? "" : text;
}

static void add_fit(struct gm_doc *doc, struct gm_replay_run *run, size_t i)
{
    const struct gm_fit *fit = &run->search->fits[i];
    const char *text = gm_searched_text(run, run->search->fitted[i]);
    char c[RETRIES];
    gm_text_printf(doc->out, "  %s: %s\n",
                   i == 0   ? "baseline"
                   : i == 1 ? "settings with the lowest peak"
                            : "settings that run with least memory",
                   text[0] == '\0' ? "PyTorch's defaults" : text);
    if (!fit->is_found) {
        gm_text_printf(doc->out, "    %s (%u replays)\n",
                       fit->is_cut ? "not known: the search was cut short"
                                   : "does not run with any memory that was tried",
                       fit->replays);
        return;
    }
    bool is_open = run->search->search.is_open;
    gm_text_printf(doc->out, "    %s %s (--memory %" PRIu64 "MiB)%s; lower bound %s; %u replays\n",
                   is_open ? "gets to where the recording ended with" : "runs with", gm_doc_bytes(doc, fit->capacity),
                   fit->capacity >> 20, retries_of(c, fit->retries), gm_doc_bytes(doc, fit->lower_bound), fit->replays);
    if (fit->everywhere == UINT64_MAX && !fit->is_cut)
        gm_text_add(doc->out, "    elsewhere the driver may put segments so that nothing that was tried is enough\n");
    else if (fit->everywhere > fit->capacity && fit->everywhere != UINT64_MAX)
        gm_text_printf(doc->out, "    wherever the driver puts segments, as far as was tried: with %s\n",
                       gm_doc_bytes(doc, fit->everywhere));
    add_failing(doc, run, fit);
    if (is_open)
        gm_text_add(doc->out, "    at least as much is needed; what is enough, and the smallest card, is not known\n");
    else if (fit->gpu != NULL)
        gm_text_printf(doc->out, "    smallest card: %s (%s), %s usable%s\n", fit->gpu->name, fit->gpu->title,
                       gm_doc_bytes(doc, gm_gpu_usable(fit->gpu)), retries_of(c, fit->gpu_retries));
    else if (!fit->is_cut)
        gm_text_add(doc->out, "    smallest card: none in the table has that much\n");
}

static void add_height(struct gm_doc *doc, const char *what, uint64_t bound, uint64_t plan, bool is_quick)
{
    gm_text_printf(doc->out, "  %-30s %10s %10s%s\n", what, gm_doc_bytes(doc, bound), gm_doc_bytes(doc, plan),
                   is_quick ? " (quickly: too many blocks at the same time)" : "");
}

static void add_bounds(struct gm_doc *doc, const struct gm_replay_run *run, size_t i)
{
    const struct gm_bounds *b = &run->search->bounds[i];
    gm_text_printf(doc->out, "bounds of device %" PRId64 ": how little memory could be enough\n",
                   run->devices[i].whatif.device);
    if (!b->is_known) {
        gm_text_add(doc->out, "  not computed: its sizes are no device's\n");
        return;
    }
    gm_text_printf(doc->out, "  %-30s %10s %10s\n", "", "at least", "planned");
    gm_text_printf(doc->out, "  %-30s %10s\n", "blocks not yet freed", gm_doc_bytes(doc, b->live));
    add_height(doc, "and frees not yet completed", b->active, b->plan, b->is_quick);
    add_height(doc, "with PyTorch's separate pools", b->separate, b->separate_plan, b->is_separate_quick);
    gm_text_printf(doc->out, "  %-30s %21s\n",
                   run->devices[i].whatif.has_failed ? "this replay, until it failed" : "this replay",
                   gm_doc_bytes(doc, (uint64_t)run->devices[i].whatif.stats.reserved_bytes[GM_STAT_ALL].peak));
}

void gm_replay_search_words(struct gm_doc *doc, struct gm_replay_run *run, bool is_long)
{
    if (run->search == NULL)
        return;
    if (run->options->sweep)
        add_sweep(doc, run, is_long);
    if (run->options->fit)
        gm_text_printf(doc->out, "fit: the smallest memory found that %s\n",
                       run->search->search.is_open ? "is not too little" : "runs it");
    if (run->search->cut[true] != GM_CUT_NOT) {
        char why[CUT_TEXT];
        gm_text_printf(doc->out, "  not all was tried, because %s\n", why_cut(why, run->search, true));
    }
    for (size_t i = 0; i < GM_SEARCHED_FITS; i++)
        if (run->search->fitted[i] != NULL)
            add_fit(doc, run, i);
    for (size_t i = 0; i < run->device_count; i++)
        add_bounds(doc, run, i);
}
