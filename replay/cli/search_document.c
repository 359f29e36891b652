/* SPDX-License-Identifier: Apache-2.0
 *
 * What --sweep and --fit found: settings and their peaks, the smallest memory, and how little could be enough.
 */
#include "replay/cli/gmreplay.h"

#include <inttypes.h>

enum { ROWS_SHOWN = 12 };

/* The highest recorded peak of reserved bytes of the devices. */
static uint64_t recorded_peak(const struct gm_replay_search *s)
{
    uint64_t most = 0;
    for (size_t i = 0; i < s->search.device_count; i++)
        most = s->bounds[i].recorded_reserved > most ? s->bounds[i].recorded_reserved : most;
    return most;
}

/* The baseline's text, or the row's; "": PyTorch's defaults. */
static const char *text_of(const struct gm_replay_run *run, const struct gm_sweep_row *row)
{
    const struct gm_text *baseline = &run->search->baseline_text;
    return row->text != NULL ? row->text : baseline->length == 0 ? "" : baseline->data;
}

static const char *shown_text(const struct gm_replay_run *run, const struct gm_sweep_row *row)
{
    const char *text = text_of(run, row);
    return text[0] == '\0' ? "PyTorch's defaults" : text;
}

/* Why not all was tried; a key, and a clause. */
static const char *cut_key(int cut)
{
    return cut == GM_CUT_NOT ? NULL : cut == GM_CUT_BUDGET ? "budget" : "interrupted";
}

static const char *why_cut(struct gm_doc *doc, const struct gm_replay_search *s, bool is_fitting)
{
    if (s->cut[is_fitting] == GM_CUT_INTERRUPT)
        return "it was interrupted";
    return gm_doc_printf(doc, "%sthe budget of %.0f s (--budget) was used up",
                         is_fitting || !s->has_fits ? "" : "half of ", s->budget);
}

/* ---- a request that fails ---------------------------------------------------------------------------------------- */

/* `device` is the number of devices: no request failed, there is less than an untraced one has. */
static void say_failure(struct gm_doc *doc, const struct gm_replay_run *run, size_t device,
                        const struct gm_whatif_failure *f)
{
    static const char *const unknown[] = {"event", "site", "requested_bytes", "rounded_bytes", "device_free_bytes"};
    if (device < run->device_count) {
        GM_OBJECT(doc, "oom", gm_replay_failure_columns, f, &run->devices[device]);
        return;
    }
    gm_json_open(&doc->json, "oom", '{');
    gm_json_signed(&doc->json, "device", gm_replay_fullest_untraced(run));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        gm_json_null(&doc->json, unknown[i]);
    gm_json_number(&doc->json, "reserved_bytes", gm_replay_most_untraced(run));
    gm_json_string(&doc->json, "why", "a device that has no events has more reserved than this");
    gm_json_close(&doc->json, '}');
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* Whether it runs within --limit, which holds for devices that are not replayed, too. */
static enum gm_replay_verdict passes_of(const struct gm_replay_run *run, const struct gm_trial *t)
{
    const uint64_t limit = run->options->limit;
    if (limit == UINT64_MAX)
        return GM_VERDICT_NONE;
    if (!t->runs || t->peak_reserved > limit || gm_replay_most_untraced(run) > limit ||
        gm_replay_refused_need(run) > limit)
        return GM_VERDICT_FAIL;
    return run->search->search.is_open ? GM_VERDICT_UNKNOWN : GM_VERDICT_PASS;
}

static const struct gm_trial *baseline_of(const struct gm_replay_run *run)
{
    return &run->search->sweep.rows[run->search->sweep.baseline].trial;
}

static int64_t saved_by(const struct gm_replay_run *run, const struct gm_sweep_row *row)
{
    return row->trial.runs && baseline_of(run)->runs ? gm_sweep_saved(&run->search->sweep, row) : GM_SIGNED_NONE;
}

GM_CELL(i, saved_value, struct gm_sweep_row, row, saved_by(c->of, row));

static union gm_value result_value(const struct gm_cell_of *c)
{
    static const char *const words[] = {
        [GM_VERDICT_NONE] = "runs", [GM_VERDICT_PASS] = "PASS", [GM_VERDICT_FAIL] = "FAIL", [GM_VERDICT_UNKNOWN] = "?"};
    const struct gm_trial *t = &((const struct gm_sweep_row *)c->row)->trial;
    const struct gm_replay_run *run = c->of;
    return (union gm_value){.s = t->runs                                 ? words[passes_of(run, t)]
                                 : t->is_given_up                        ? "?"
                                 : t->failed_device == run->device_count ? "FAIL"
                                                                         : "OOM"};
}

GM_CELL(s, since_value, struct gm_sweep_row, row,
        row->since == NULL ? "any" : gm_doc_printf(c->doc, "%s+", row->since));

/* With a blank between two options, where a line may end. */
static union gm_value settings_value(const struct gm_cell_of *c)
{
    const struct gm_sweep_row *row = c->row;
    struct gm_text out = {0};
    bool in_list = false;
    if (row->text == NULL)
        gm_text_add(&out, "baseline: ");
    for (const char *at = shown_text(c->of, row); *at != '\0'; at++) {
        gm_text_add_char(&out, *at);
        in_list = *at == '[' || (in_list && *at != ']');
        if (*at == ',' && !in_list)
            gm_text_add_char(&out, ' ');
    }
    return (union gm_value){.s = gm_doc_take(c->doc, &out)};
}

static void put_row(const struct gm_cell_of *c)
{
    const struct gm_sweep_row *row = c->row;
    const struct gm_replay_run *run = c->of;
    const enum gm_replay_verdict passes = passes_of(run, &row->trial);
    struct gm_json *json = &c->doc->json;
    gm_json_string(json, "alloc_conf", text_of(run, row));
    gm_json_bool(json, "is_baseline", row->text == NULL);
    if (passes == GM_VERDICT_NONE || passes == GM_VERDICT_UNKNOWN)
        gm_json_null(json, "passes_limit");
    else
        gm_json_bool(json, "passes_limit", passes == GM_VERDICT_PASS);
    if (row->trial.runs || row->trial.is_given_up)
        gm_json_null(json, "oom");
    else
        say_failure(c->doc, run, row->trial.failed_device, &row->trial.failure);
}

#define FIELD(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_sweep_row, field)
static const struct gm_column row_columns[] = {
    FIELD(GM_BYTES, GM_ALL, "peak_reserved_bytes", "Reserved", trial.peak_reserved),
    GM_GET(GM_DELTA, GM_JSON, "saved_bytes", NULL, saved_value),
    GM_GET(GM_DELTA, GM_READ | GM_BLANK, NULL, "Saves", saved_value),
    FIELD(GM_COUNT, GM_ALL, "num_device_alloc", "Allocs", trial.device_allocs),
    FIELD(GM_COUNT, GM_ALL, "num_alloc_retries", "Retries", trial.retries),
    GM_GET(GM_TEXT, GM_READ, NULL, "", result_value),
    GM_GET(GM_TEXT, GM_READ, NULL, "PyTorch", since_value),
    GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Settings", settings_value),
    FIELD(GM_TEXT, GM_JSON, "needs_pytorch", NULL, since),
    FIELD(GM_BOOL, GM_JSON, "runs", NULL, trial.runs),
    FIELD(GM_BOOL, GM_JSON, "is_given_up", NULL, trial.is_given_up),
    GM_INSIDE(NULL, gm_replay_range_columns, struct gm_sweep_row, trial.range),
    GM_NESTED(NULL, put_row),
};
#undef FIELD

static void put_winner(struct gm_json *json, const struct gm_replay_run *run, const struct gm_sweep_row *row,
                       const char *line)
{
    const struct gm_trial *baseline = baseline_of(run);
    const uint64_t saved = baseline->runs ? (uint64_t)gm_sweep_saved(&run->search->sweep, row) : GM_REPORT_NONE;
    gm_json_string(json, "line", line);
    gm_json_string(json, "needs_pytorch", row->since);
    gm_json_number(json, "peak_reserved_bytes", row->trial.peak_reserved);
    gm_json_number(json, "saved_bytes", saved);
    gm_json_percent(json, "saved_percent", saved, baseline->peak_reserved);
}

static void tell_range(struct gm_doc *doc, const char *of, const struct gm_trial_range *range)
{
    const char *words = gm_replay_range_words(doc, range);
    if (words != NULL)
        gm_doc_tell(doc, "%s: %s", of, words);
}

static void tell_winner(struct gm_doc *doc, const struct gm_replay_run *run, const struct gm_sweep_row *row,
                        const char *label, const char *line)
{
    const struct gm_trial *baseline = baseline_of(run);
    const uint64_t peak = row->trial.peak_reserved;
    gm_doc_tell(doc, "%s%s:", label,
                row->since == NULL ? "" : gm_doc_printf(doc, " (PyTorch %s or later)", row->since));
    gm_doc_say(doc, GM_SAY_LINE, GM_READ, NULL, "%s", line);
    if (!baseline->runs) {
        gm_doc_tell(doc, "It runs with a peak of %s reserved; the baseline does not run.", gm_doc_bytes(doc, peak));
        return;
    }
    const uint64_t saved = (uint64_t)gm_sweep_saved(&run->search->sweep, row);
    gm_doc_tell(doc, "Replayed: %s -> %s reserved, saves %s (%s %%).", gm_doc_bytes(doc, baseline->peak_reserved),
                gm_doc_bytes(doc, peak), gm_doc_bytes(doc, saved), gm_doc_share(doc, saved, baseline->peak_reserved));
    tell_range(doc, "These", &row->trial.range);
}

static void say_winner(struct gm_doc *doc, const struct gm_replay_run *run, const char *key, const char *label,
                       size_t index)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    if (index == GM_SWEEP_NONE) {
        GM_OBJECT(doc, key, row_columns, NULL, NULL);
        return;
    }
    const struct gm_sweep_row *row = &sweep->rows[index];
    const char *line = gm_doc_printf(doc, GM_CONF_VARIABLE "=%s", row->text);
    gm_doc_open(doc, key, NULL);
    if (gm_doc_is(doc, GM_JSON))
        put_winner(&doc->json, run, row, line);
    else if (label != NULL)
        tell_winner(doc, run, row, label, line);
    gm_doc_close(doc);
}

static void say_winners(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    const struct gm_trial *baseline = baseline_of(run);
    const bool is_usual = sweep->usual_winner == sweep->winner;
    say_winner(doc, run, "winner", "Best settings", sweep->winner);
    say_winner(doc, run, "winner_for_any_version", is_usual ? NULL : "Best settings for any PyTorch",
               sweep->usual_winner);
    say_winner(doc, run, "winner_simpler", "Nearly as good, and simpler", sweep->simple_winner);
    if (sweep->winner != GM_SWEEP_NONE && baseline->runs)
        tell_range(doc, "The baseline", &baseline->range);
    if (sweep->winner != GM_SWEEP_NONE)
        gm_doc_tell(doc, "(" GM_CONF_OLD_VARIABLE ")");
    else
        gm_doc_tell(doc, "%s",
                    baseline->runs ? "No change is recommended: no settings save as much as 1 % of peak reserved."
                    : baseline->is_given_up
                        ? "No recommendation: the baseline kept the model busy for too long to compare with it."
                    : baseline->failed_device == run->device_count
                        ? "No recommendation: more is needed than there is, whatever the settings."
                        : "No recommendation: none of these settings runs.");
}

static void say_sweep(struct gm_doc *doc, const struct gm_replay_run *run, bool is_long)
{
    const struct gm_replay_search *s = run->search;
    const struct gm_sweep *sweep = &s->sweep;
    const uint64_t capacity = sweep->rows[0].trial.capacity;
    const size_t shown = is_long ? 0 : ROWS_SHOWN;
    gm_doc_open(doc, "sweep", "Sweep");
    gm_doc_tell(doc, "%zu settings and the baseline, each from an empty allocator, %s. Recorded peak reserved: %s.",
                sweep->count - 1, capacity == UINT64_MAX ? "unlimited memory" : gm_doc_bytes(doc, capacity),
                gm_doc_bytes(doc, recorded_peak(s)));
    if (gm_doc_is(doc, GM_JSON)) {
        gm_json_string(&doc->json, "start", "requests");
        gm_json_number(&doc->json, "memory_bytes", capacity); /* UINT64_MAX is GM_REPORT_NONE */
        gm_json_number(&doc->json, "recorded_peak_reserved_bytes", recorded_peak(s));
        gm_json_number(&doc->json, "left_out", sweep->left_out);
        gm_json_string(&doc->json, "cut", cut_key(s->cut[false]));
    }
    GM_OBJECT(doc, "baseline", row_columns, &sweep->rows[sweep->baseline], run);
    GM_TABLE(doc, row_columns, sweep->rows, sweep->count, .key = "rows", .txt_max = shown, .of = run,
             .feet = &sweep->rows[sweep->baseline], .foot_count = shown > 0 && sweep->baseline >= shown);
    if (sweep->left_out > 0)
        gm_doc_tell(doc, "Not tried: %zu more settings, because %s.", sweep->left_out, why_cut(doc, s, false));
    say_winners(doc, run);
    gm_doc_close(doc);
}

/* ---- the smallest memory ----------------------------------------------------------------------------------------- */

/* What happens with less. */
static void tell_less(struct gm_doc *doc, struct gm_replay_run *run, const struct gm_fit *fit)
{
    const struct gm_whatif_failure *f = &fit->failure;
    if (fit->capacity == 0)
        return;
    const char *less;
    if (fit->is_cut && fit->failing == 0)
        less = "less may do: the search was cut short";
    else if (fit->is_given_up)
        less = "with 2 MiB less the model was busy for too long to tell";
    else if (fit->failed_device == run->device_count)
        less =
            gm_doc_printf(doc, "too little with 2 MiB less: device %" PRId64 ", which has no events, has more reserved",
                          gm_replay_fullest_untraced(run));
    else
        less = gm_doc_printf(doc, "fails with 2 MiB less: device %" PRId64 ", %s, %s for %s",
                             run->devices[fit->failed_device].kept->history.device,
                             f->is_at_start ? "live since before the trace"
                                            : gm_doc_printf(doc, "event %s", gm_doc_count(doc, f->event)),
                             gm_doc_bytes(doc, f->requested), gm_replay_site(run, f->stack));
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s", less);
}

/* Each one is slow: it waits for the device, and gives back what is cached. */
static const char *with_retries(struct gm_doc *doc, uint64_t retries)
{
    return retries == 0 ? "" : gm_doc_printf(doc, ", with %s", gm_doc_some(doc, retries, "retry", "retries"));
}

static void tell_fit(struct gm_doc *doc, struct gm_replay_run *run, size_t i)
{
    static const char *const names[] = {"Baseline", "Settings with the lowest peak",
                                        "Settings that run with least memory"};
    const struct gm_fit *fit = &run->search->fits[i];
    const bool is_open = run->search->search.is_open;
    gm_doc_tell(doc, "%s: %s", names[i], shown_text(run, run->search->fitted[i]));
    if (!fit->is_found) {
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s (%u replays)",
                   fit->is_cut ? "not known: the search was cut short" : "does not run with any memory that was tried",
                   fit->replays);
        return;
    }
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s %s (--memory %" PRIu64 "MiB)%s; lower bound %s; %u replays",
               is_open ? "gets to where the recording ended with" : "runs with", gm_doc_bytes(doc, fit->capacity),
               fit->capacity >> 20, with_retries(doc, fit->retries), gm_doc_bytes(doc, fit->lower_bound), fit->replays);
    if (fit->everywhere == UINT64_MAX && !fit->is_cut)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL,
                   "elsewhere the driver may put segments so that nothing that was tried is enough");
    else if (fit->everywhere > fit->capacity && fit->everywhere != UINT64_MAX)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "wherever the driver puts segments, as far as was tried: with %s",
                   gm_doc_bytes(doc, fit->everywhere));
    tell_less(doc, run, fit);
    if (is_open)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL,
                   "at least as much is needed; what is enough, and the smallest card, is not known");
    else if (fit->gpu != NULL)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "smallest card: %s (%s), %s usable%s", fit->gpu->name,
                   fit->gpu->title, gm_doc_bytes(doc, gm_gpu_usable(fit->gpu)), with_retries(doc, fit->gpu_retries));
    else if (!fit->is_cut)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "smallest card: none in the table has that much");
}

static void put_fit(struct gm_doc *doc, const struct gm_replay_run *run, size_t i)
{
    static const char *const names[] = {"baseline", "winner", "least"};
    const struct gm_fit *fit = &run->search->fits[i];
    const bool is_open = run->search->search.is_open, is_found = fit->is_found;
    struct gm_json *json = &doc->json;
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "alloc_conf", text_of(run, run->search->fitted[i]));
    gm_json_string(json, "of", names[i]);
    gm_json_number(json, "lower_bound_bytes", fit->lower_bound == 0 ? GM_REPORT_NONE : fit->lower_bound);
    gm_json_number(json, "capacity_bytes", is_found && !is_open ? fit->capacity : GM_REPORT_NONE);
    gm_json_number(json, "capacity_everywhere_bytes", is_found && !is_open ? fit->everywhere : GM_REPORT_NONE);
    gm_json_number(json, "at_least_bytes", is_found ? fit->capacity : GM_REPORT_NONE);
    gm_json_number(json, "peak_reserved_unlimited_bytes", run->search->fitted[i]->trial.peak_reserved);
    gm_json_number(json, "num_alloc_retries", is_found ? fit->retries : GM_REPORT_NONE);
    gm_json_number(json, "replays", fit->replays);
    gm_json_bool(json, "is_cut", fit->is_cut);
    gm_json_string(json, "gpu", fit->gpu != NULL ? fit->gpu->name : NULL);
    gm_json_number(json, "gpu_num_alloc_retries", fit->gpu != NULL ? fit->gpu_retries : GM_REPORT_NONE);
    if (is_found && fit->capacity > 0 && !(fit->is_cut && fit->failing == 0)) {
        gm_json_open(json, "next_lower", '{');
        gm_json_number(json, "capacity_bytes", fit->failing);
        gm_json_bool(json, "is_given_up", fit->is_given_up);
        if (fit->is_given_up)
            gm_json_null(json, "oom");
        else
            say_failure(doc, run, fit->failed_device, &fit->failure);
        gm_json_close(json, '}');
    } else {
        gm_json_null(json, "next_lower");
    }
    gm_json_close(json, '}');
}

static void say_fits(struct gm_doc *doc, struct gm_replay_run *run)
{
    const struct gm_replay_search *s = run->search;
    const bool is_json = gm_doc_is(doc, GM_JSON);
    gm_doc_open(doc, "fit",
                gm_doc_printf(doc, "Fit: the smallest memory found that %s",
                              s->search.is_open ? "is not too little" : "runs it"));
    if (s->cut[true] != GM_CUT_NOT)
        gm_doc_tell(doc, "Not all was tried, because %s.", why_cut(doc, s, true));
    if (is_json) {
        gm_json_number(&doc->json, "granule_bytes", GM_FIT_GRANULE);
        gm_json_string(&doc->json, "cut", cut_key(s->cut[true]));
        gm_json_open(&doc->json, "settings", '[');
    }
    for (size_t i = 0; i < GM_SEARCHED_FITS; i++)
        if (s->fitted[i] != NULL && is_json)
            put_fit(doc, run, i);
        else if (s->fitted[i] != NULL)
            tell_fit(doc, run, i);
    if (is_json)
        gm_json_close(&doc->json, ']');
    gm_doc_close(doc);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

struct bound_row {
    int64_t device;
    struct gm_bounds b;
    const char *kind, *separate_kind;
    uint64_t replayed;
};

static void say_bounds(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_HANDLE, GM_ALL, "device", "Device", struct bound_row, device),
        GM_KEY(GM_BYTES, "recorded_peak_reserved_bytes", struct bound_row, b.recorded_reserved),
        GM_FIELD(GM_BYTES, GM_ALL, "live_bytes", "Not freed", struct bound_row, b.live),
        GM_FIELD(GM_BYTES, GM_ALL, "active_bytes", "Active", struct bound_row, b.active),
        GM_FIELD(GM_BYTES, GM_ALL, "plan_bytes", "Planned", struct bound_row, b.plan),
        GM_KEY(GM_TEXT, "plan_kind", struct bound_row, kind),
        GM_FIELD(GM_BYTES, GM_ALL, "separate_active_bytes", "By pools", struct bound_row, b.separate),
        GM_FIELD(GM_BYTES, GM_ALL, "separate_plan_bytes", "Planned", struct bound_row, b.separate_plan),
        GM_KEY(GM_TEXT, "separate_plan_kind", struct bound_row, separate_kind),
        GM_FIELD(GM_BYTES, GM_ALL, "peak_reserved_bytes", "Replayed", struct bound_row, replayed),
    };
    struct bound_row *rows = gm_doc_rows(doc, run->device_count, sizeof *rows);
    bool is_quick = false;
    for (size_t i = 0; rows != NULL && i < run->device_count; i++) {
        const struct gm_bounds *b = &run->search->bounds[i];
        const struct gm_replay_device *d = &run->devices[i];
        rows[i] = (struct bound_row){.device = d->kept->history.device,
                                     .b = *b,
                                     .kind = !b->is_known  ? NULL
                                             : b->is_quick ? "by birth"
                                                           : "by size",
                                     .separate_kind = !b->is_known           ? NULL
                                                      : b->is_separate_quick ? "by birth"
                                                                             : "by size",
                                     .replayed = gm_replay_reserved(d)};
        is_quick |= b->is_quick || b->is_separate_quick;
    }
    gm_doc_open(doc, NULL, "Bounds: how little memory could be enough");
    GM_TABLE(doc, columns, rows, rows == NULL ? 0 : run->device_count, .key = "bounds");
    gm_doc_tell(doc,
                "Blocks not yet freed; with frees not yet completed; these planned by who knows all lifetimes; the "
                "same with PyTorch's separate pools; and this replay%s.",
                gm_replay_has_failed(run) ? ", until it failed" : "");
    if (is_quick)
        gm_doc_tell(doc, "Planned quickly: too many blocks at the same time.");
    gm_doc_close(doc);
}

void gm_replay_say_search(struct gm_doc *doc, struct gm_replay_run *run, bool is_long)
{
    if (run->search == NULL)
        return;
    if (run->options->sweep)
        say_sweep(doc, run, is_long);
    if (run->options->fit)
        say_fits(doc, run);
    say_bounds(doc, run);
}
