/* SPDX-License-Identifier: Apache-2.0
 *
 * --sweep and --fit in JSON.
 */
#include "replay/cli/search.h"

#include "analyze/document/json_out.h"
#include "replay/cli/judged.h"

static const char *const fit_names[] = {"baseline", "winner", "least"}; /* what a fit is of, as in JSON */

/* No request failed: it is less than the floor. */
static void add_json_floor(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const char *const unknown[] = {"event", "site", "requested_bytes", "rounded_bytes", "device_free_bytes"};
    gm_json_open(&doc->json, "oom", '{');
    gm_json_signed(&doc->json, "device", gm_replay_fullest_untraced(run));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        gm_json_null(&doc->json, unknown[i]);
    gm_json_number(&doc->json, "reserved_bytes", gm_replay_most_untraced(run));
    gm_json_string(&doc->json, "why", "a device that has no events has more reserved than this");
    gm_json_close(&doc->json, '}');
}

static void add_json_failure(struct gm_doc *doc, struct gm_replay_run *run, size_t device,
                             const struct gm_whatif_failure *f)
{
    if (device == run->device_count) {
        add_json_floor(doc, run);
        return;
    }
    gm_json_open(&doc->json, "oom", '{');
    gm_json_signed(&doc->json, "device", run->devices[device].whatif.device);
    gm_json_number(&doc->json, "event", f->is_at_start ? GM_REPORT_NONE : f->event);
    gm_json_string(&doc->json, "site", gm_searched_site(run, f->stack));
    gm_json_number(&doc->json, "requested_bytes", f->requested);
    gm_json_number(&doc->json, "rounded_bytes", f->rounded);
    gm_json_number(&doc->json, "device_free_bytes", f->device_free);
    gm_json_number(&doc->json, "reserved_bytes", f->reserved);
    gm_json_string(&doc->json, "why", f->why);
    gm_json_close(&doc->json, '}');
}

static void add_json_row(struct gm_doc *doc, struct gm_replay_run *run, const char *key, const struct gm_sweep_row *row)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    const struct gm_trial *t = &row->trial;
    bool can_compare = t->runs && sweep->rows[sweep->baseline].trial.runs;
    gm_json_open(&doc->json, key, '{');
    gm_json_string(&doc->json, "alloc_conf", gm_searched_text(run, row));
    gm_json_bool(&doc->json, "is_baseline", row->text == NULL);
    gm_json_string(&doc->json, "needs_pytorch", row->since);
    gm_json_bool(&doc->json, "runs", t->runs);
    gm_json_bool(&doc->json, "is_given_up", t->is_given_up);
    gm_json_number(&doc->json, "peak_reserved_bytes", t->peak_reserved);
    gm_replay_range_json(doc, &t->range);
    if (can_compare)
        gm_json_signed(&doc->json, "saved_bytes", gm_sweep_saved(sweep, row));
    else
        gm_json_null(&doc->json, "saved_bytes");
    gm_json_number(&doc->json, "num_device_alloc", t->device_allocs);
    gm_json_number(&doc->json, "num_alloc_retries", t->retries);
    const enum gm_replay_verdict passes = gm_searched_passes(run, t);
    if (passes == GM_VERDICT_NONE || passes == GM_VERDICT_UNKNOWN)
        gm_json_null(&doc->json, "passes_limit");
    else
        gm_json_bool(&doc->json, "passes_limit", passes == GM_VERDICT_PASS);
    if (t->runs || t->is_given_up)
        gm_json_null(&doc->json, "oom");
    else
        add_json_failure(doc, run, t->failed_device, &t->failure);
    gm_json_close(&doc->json, '}');
}

static void add_json_winner(struct gm_doc *doc, struct gm_replay_run *run, const char *key, size_t index)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    if (index == GM_SWEEP_NONE) {
        gm_json_null(&doc->json, key);
        return;
    }
    const struct gm_sweep_row *row = &sweep->rows[index];
    const struct gm_trial *baseline = &sweep->rows[sweep->baseline].trial;
    struct gm_text line = {0};
    gm_text_printf(&line, GM_CONF_VARIABLE "=%s", row->text);
    doc->out->failed |= line.failed;
    gm_json_open(&doc->json, key, '{');
    gm_json_string(&doc->json, "line", line.data);
    gm_json_string(&doc->json, "needs_pytorch", row->since);
    gm_json_number(&doc->json, "peak_reserved_bytes", row->trial.peak_reserved);
    if (baseline->runs) {
        gm_json_signed(&doc->json, "saved_bytes", gm_sweep_saved(sweep, row));
        gm_json_percent(&doc->json, "saved_percent", (uint64_t)gm_sweep_saved(sweep, row), baseline->peak_reserved);
    } else {
        gm_json_null(&doc->json, "saved_bytes");
        gm_json_null(&doc->json, "saved_percent");
    }
    gm_json_close(&doc->json, '}');
    gm_text_free(&line);
}

/* Why it is not all that there would be. */
static void add_json_cut(struct gm_doc *doc, int cut)
{
    gm_json_string(&doc->json, "cut", cut == GM_CUT_NOT ? NULL : cut == GM_CUT_BUDGET ? "budget" : "interrupted");
}

static void add_json_sweep(struct gm_doc *doc, struct gm_replay_run *run)
{
    const struct gm_sweep *sweep = &run->search->sweep;
    uint64_t capacity = sweep->rows[0].trial.capacity;
    gm_json_open(&doc->json, "sweep", '{');
    gm_json_string(&doc->json, "start", "requests");
    gm_json_number(&doc->json, "memory_bytes", capacity == UINT64_MAX ? GM_REPORT_NONE : capacity);
    gm_json_number(&doc->json, "recorded_peak_reserved_bytes", gm_searched_peak(run->search));
    add_json_row(doc, run, "baseline", &sweep->rows[sweep->baseline]);
    add_json_winner(doc, run, "winner", sweep->winner);
    add_json_winner(doc, run, "winner_for_any_version", sweep->usual_winner);
    add_json_winner(doc, run, "winner_simpler", sweep->simple_winner);
    gm_json_number(&doc->json, "left_out", sweep->left_out);
    add_json_cut(doc, run->search->cut[false]);
    gm_json_open(&doc->json, "rows", '[');
    for (size_t i = 0; i < sweep->count; i++)
        add_json_row(doc, run, NULL, &sweep->rows[i]);
    gm_json_close(&doc->json, ']');
    gm_json_close(&doc->json, '}');
}

static void add_json_fit(struct gm_doc *doc, struct gm_replay_run *run, size_t i)
{
    const struct gm_fit *fit = &run->search->fits[i];
    gm_json_open(&doc->json, NULL, '{');
    gm_json_string(&doc->json, "alloc_conf", gm_searched_text(run, run->search->fitted[i]));
    gm_json_string(&doc->json, "of", fit_names[i]);
    gm_json_number(&doc->json, "lower_bound_bytes", fit->lower_bound == 0 ? GM_REPORT_NONE : fit->lower_bound);
    const bool is_open = run->search->search.is_open;
    gm_json_number(&doc->json, "capacity_bytes", fit->is_found && !is_open ? fit->capacity : GM_REPORT_NONE);
    gm_json_number(&doc->json, "capacity_everywhere_bytes",
                   fit->is_found && !is_open && fit->everywhere != UINT64_MAX ? fit->everywhere : GM_REPORT_NONE);
    gm_json_number(&doc->json, "at_least_bytes", fit->is_found ? fit->capacity : GM_REPORT_NONE);
    gm_json_number(&doc->json, "peak_reserved_unlimited_bytes", run->search->fitted[i]->trial.peak_reserved);
    gm_json_number(&doc->json, "num_alloc_retries", fit->is_found ? fit->retries : GM_REPORT_NONE);
    gm_json_number(&doc->json, "replays", fit->replays);
    gm_json_bool(&doc->json, "is_cut", fit->is_cut);
    gm_json_string(&doc->json, "gpu", fit->gpu != NULL ? fit->gpu->name : NULL);
    gm_json_number(&doc->json, "gpu_num_alloc_retries", fit->gpu != NULL ? fit->gpu_retries : GM_REPORT_NONE);
    if (fit->is_found && fit->capacity > 0 && !(fit->is_cut && fit->failing == 0)) {
        gm_json_open(&doc->json, "next_lower", '{');
        gm_json_number(&doc->json, "capacity_bytes", fit->failing);
        gm_json_bool(&doc->json, "is_given_up", fit->is_given_up);
        if (fit->is_given_up)
            gm_json_null(&doc->json, "oom");
        else
            add_json_failure(doc, run, fit->failed_device, &fit->failure);
        gm_json_close(&doc->json, '}');
    } else {
        gm_json_null(&doc->json, "next_lower");
    }
    gm_json_close(&doc->json, '}');
}

/* How a plan was made. */
static void add_json_kind(struct gm_doc *doc, const char *key, bool is_known, bool is_quick)
{
    gm_json_string(&doc->json, key, !is_known ? NULL : is_quick ? "by birth" : "by size");
}

static void add_json_bounds(struct gm_doc *doc, const struct gm_replay_run *run, size_t i)
{
    const struct gm_bounds *b = &run->search->bounds[i];
    uint64_t none = GM_REPORT_NONE;
    gm_json_open(&doc->json, NULL, '{');
    gm_json_signed(&doc->json, "device", run->devices[i].whatif.device);
    gm_json_number(&doc->json, "recorded_peak_reserved_bytes", b->recorded_reserved);
    gm_json_number(&doc->json, "live_bytes", b->is_known ? b->live : none);
    gm_json_number(&doc->json, "active_bytes", b->is_known ? b->active : none);
    gm_json_number(&doc->json, "plan_bytes", b->is_known ? b->plan : none);
    add_json_kind(doc, "plan_kind", b->is_known, b->is_quick);
    gm_json_number(&doc->json, "separate_active_bytes", b->is_known ? b->separate : none);
    gm_json_number(&doc->json, "separate_plan_bytes", b->is_known ? b->separate_plan : none);
    add_json_kind(doc, "separate_plan_kind", b->is_known, b->is_separate_quick);
    gm_json_signed(&doc->json, "peak_reserved_bytes", run->devices[i].whatif.stats.reserved_bytes[GM_STAT_ALL].peak);
    gm_json_close(&doc->json, '}');
}

void gm_replay_search_json(struct gm_doc *doc, struct gm_replay_run *run)
{
    if (run->search == NULL)
        return;
    if (run->options->sweep)
        add_json_sweep(doc, run);
    if (run->options->fit) {
        gm_json_open(&doc->json, "fit", '{');
        gm_json_number(&doc->json, "granule_bytes", GM_FIT_GRANULE);
        add_json_cut(doc, run->search->cut[true]);
        gm_json_open(&doc->json, "settings", '[');
        for (size_t i = 0; i < GM_SEARCHED_FITS; i++)
            if (run->search->fitted[i] != NULL)
                add_json_fit(doc, run, i);
        gm_json_close(&doc->json, ']');
        gm_json_close(&doc->json, '}');
    }
    gm_json_open(&doc->json, "bounds", '[');
    for (size_t i = 0; i < run->device_count; i++)
        add_json_bounds(doc, run, i);
    gm_json_close(&doc->json, ']');
}
