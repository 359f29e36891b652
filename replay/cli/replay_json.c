/* SPDX-License-Identifier: Apache-2.0
 *
 * --json: gmreplay.replay/1.
 */
#include "analyze/document/report_columns.h"
#include "analyze/document/documents.h"
#include "analyze/report/view.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"

#include <stdio.h>
#include <string.h>

static void add_mismatch(struct gm_doc *doc, const struct gm_verify_result *r)
{
    if (!r->has_mismatch) {
        gm_json_null(&doc->json, "first_mismatch");
        return;
    }
    gm_json_open(&doc->json, "first_mismatch", '{');
    gm_json_number(&doc->json, "event", r->mismatch_event);
    gm_json_number(&doc->json, "recorded", r->recorded);
    gm_json_number(&doc->json, "chosen", r->chosen);
    gm_json_string(&doc->json, "reason", r->reason);
    gm_json_close(&doc->json, '}');
}

static void add_stat(struct gm_doc *doc, const char *name, const char *kind, const struct gm_stat *s)
{
    const struct {
        const char *what;
        int64_t value;
    } values[] = {{"current", s->current}, {"peak", s->peak}, {"allocated", s->allocated}, {"freed", s->freed}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char key[96];
        snprintf(key, sizeof key, "%s%s%s.%s", name, kind[0] == '\0' ? "" : ".", kind, values[i].what);
        gm_json_signed(&doc->json, key, values[i].value);
    }
}

/* As torch.cuda.memory_stats() names them. */
static void add_stats(struct gm_doc *doc, const struct gm_stats *s)
{
    static const char *const kinds[] = {"all", "small_pool", "large_pool"};
    gm_json_open(&doc->json, "memory_stats", '{');
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        add_stat(doc, #name, kinds[i], &s->name[i]);
    GM_STAT_MAP(X)
#undef X
    add_stat(doc, "oversize_allocations", "", &s->oversize_allocations);
    add_stat(doc, "oversize_segments", "", &s->oversize_segments);
    gm_json_signed(&doc->json, "num_alloc_retries", s->num_alloc_retries);
    gm_json_signed(&doc->json, "num_ooms", s->num_ooms);
    gm_json_signed(&doc->json, "max_split_size", s->max_split_size);
    gm_json_signed(&doc->json, "num_sync_all_streams", s->num_sync_all_streams);
    gm_json_signed(&doc->json, "num_device_alloc", s->num_device_alloc);
    gm_json_signed(&doc->json, "num_device_free", s->num_device_free);
    gm_json_close(&doc->json, '}');
}

static void add_peaks(struct gm_doc *doc, const struct gm_stats *s, int64_t retries, int64_t ooms)
{
    gm_json_signed(&doc->json, "peak_allocated_bytes", s->allocated_bytes[GM_STAT_ALL].peak);
    gm_json_signed(&doc->json, "peak_reserved_bytes", s->reserved_bytes[GM_STAT_ALL].peak);
    gm_json_signed(&doc->json, "peak_active_bytes", s->active_bytes[GM_STAT_ALL].peak);
    gm_json_signed(&doc->json, "peak_requested_bytes", s->requested_bytes[GM_STAT_ALL].peak);
    gm_json_signed(&doc->json, "num_alloc_retries", retries);
    gm_json_signed(&doc->json, "num_ooms", ooms);
}

static void add_other_allocator(struct gm_doc *doc, const struct gm_verify_result *r)
{
    gm_json_string(&doc->json, "other_allocator", r->other_allocator[0] != '\0' ? r->other_allocator : NULL);
}

static void add_verified(struct gm_doc *doc, const struct gm_verify_result *r)
{
    gm_json_signed(&doc->json, "device", r->device);
    gm_json_number(&doc->json, "events", r->events);
    gm_json_number(&doc->json, "allocs", r->allocs);
    gm_json_number(&doc->json, "exact_addresses", r->exact);
    gm_json_number(&doc->json, "exact_addresses_uninferred", r->exact_uninferred);
    gm_json_number(&doc->json, "growths", r->growths);
    gm_json_number(&doc->json, "growths_predicted", r->growths_predicted);
    gm_json_number(&doc->json, "releases", r->releases);
    gm_json_number(&doc->json, "releases_allowed", r->releases_allowed);
    gm_json_number(&doc->json, "end_blocks", r->end_blocks);
    gm_json_number(&doc->json, "end_blocks_same", r->end_blocks_same);
    add_peaks(doc, &r->stats, (int64_t)r->retries, (int64_t)r->ooms);
    add_mismatch(doc, r);
    add_other_allocator(doc, r);
}

static void add_failure(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    const struct gm_whatif_failure *f = &r->failure;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    if (!r->has_failed) {
        gm_json_null(&doc->json, "oom");
        return;
    }
    size_t depth = 0;
    const struct gm_frame_row *frames = gm_names_frames(&run->names, f->stack, &depth);
    gm_json_open(&doc->json, "oom", '{');
    gm_json_number(&doc->json, "event", f->is_at_start ? GM_REPORT_NONE : f->event);
    uint64_t time = f->is_at_start ? GM_REPORT_NONE : gm_history_time(h, f->event);
    if (time != GM_REPORT_NONE)
        time = gm_plus(time, gm_replay_forecast_us(&run->devices[index], r->parts_played - 1));
    gm_json_number(&doc->json, "time_us", time);
    uint64_t member = GM_REPORT_NONE, step = GM_REPORT_NONE;
    if (!f->is_at_start && !gm_replay_member_of(&run->devices[index], r->parts_played - 1, &member, &step))
        member = step = GM_REPORT_NONE;
    gm_json_number(&doc->json, "member", member);
    gm_json_number(&doc->json, "step", step);
    gm_json_string(&doc->json, "site", gm_names_site(&run->names, f->stack));
    gm_json_number(&doc->json, "requested_bytes", f->requested);
    gm_json_number(&doc->json, "rounded_bytes", f->rounded);
    gm_json_number(&doc->json, "device_free_bytes", f->device_free);
    gm_json_number(&doc->json, "reserved_bytes", f->reserved);
    gm_json_number(&doc->json, "active_bytes", f->active);
    gm_json_number(&doc->json, "largest_free_bytes", f->largest_free);
    gm_json_string(&doc->json, "why", f->why);
    gm_json_frames(doc, frames, frames == NULL ? 0 : depth);
    gm_json_close(&doc->json, '}');
}

/* The recording ended out of memory. */
static void add_refused(struct gm_doc *doc, const struct gm_replay_device *device)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_COUNT, "event", struct gm_refused, request.event),
        GM_KEY(GM_BYTES, "refused_bytes", struct gm_refused, size),
        GM_KEY(GM_BYTES, "in_use_bytes", struct gm_refused, in_use),
        GM_KEY(GM_BYTES, "needed_bytes", struct gm_refused, needs),
    };
    GM_OBJECT(doc, "recorded_end", columns, device->was_refused ? &device->refused : NULL, NULL);
}

static void add_replayed(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    static const char *const only_verify[] = {"exact_addresses", "exact_addresses_uninferred",
                                              "growths",         "growths_predicted",
                                              "end_blocks",      "end_blocks_same"};
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    gm_json_signed(&doc->json, "device", r->device);
    gm_json_number(&doc->json, "events", r->events);
    gm_json_number(&doc->json, "allocs", r->allocs);
    for (size_t i = 0; i < sizeof only_verify / sizeof only_verify[0]; i++)
        gm_json_null(&doc->json, only_verify[i]);
    add_peaks(doc, &r->stats, r->stats.num_alloc_retries, r->stats.num_ooms);
    gm_json_null(&doc->json, "first_mismatch");
    gm_replay_range_json(doc, &run->devices[index].range);
    add_other_allocator(doc, &run->devices[index].verify);
    gm_json_open(&doc->json, "start", '{');
    gm_json_string(&doc->json, "from", r->from_layout ? "recorded layout" : "requests");
    gm_json_number(&doc->json, "blocks", r->start_blocks);
    gm_json_number(&doc->json, "bytes", r->start_bytes);
    gm_json_number(&doc->json, "reserved_bytes", r->start_reserved);
    gm_json_number(&doc->json, "bytes_at_peak", r->start_bytes_at_peak);
    gm_json_close(&doc->json, '}');
    gm_json_number(&doc->json, "dropped", r->left_out);
    gm_json_number(&doc->json, "empty_cache_calls", r->empty_caches);
    gm_json_number(&doc->json, "recorded_ooms", r->recorded_ooms);
    gm_json_number(&doc->json, "recorded_releases_for_requests", r->recorded_releases);
    add_refused(doc, &run->devices[index]);
    add_failure(doc, run, index);
    gm_replay_repetition_json(doc, run, index);
    gm_replay_peak_json(doc, run, index);
    gm_replay_gpu_json(doc, run, index);
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC)
        gm_json_null(&doc->json, "memory_stats"); /* they are the caching allocator's */
    else
        add_stats(doc, &r->stats);
}

static void add_inferred(struct gm_doc *doc, const struct gm_replay_run *run)
{
    gm_json_open(&doc->json, "inferred", '[');
    for (size_t d = 0; run->options->verify && d < run->device_count; d++) {
        const struct gm_verify_result *r = &run->devices[d].verify;
        for (size_t i = 0; i < r->inferred_count; i++) {
            gm_json_open_flat(&doc->json, NULL, '{');
            gm_json_signed(&doc->json, "device", r->device);
            gm_json_string(&doc->json, "what", r->inferred[i].what);
            gm_json_string(&doc->json, "value", r->inferred[i].value);
            gm_json_close(&doc->json, '}');
        }
    }
    gm_json_close(&doc->json, ']');
}

GM_CELL(s, class_of, struct gm_changed_class, changed, gm_doc_printf(c->doc, "%s:%s", changed->kind, changed->name));

GM_CELL(b, is_dropped, struct gm_changed_class, row, row->factor == 0);

static const struct gm_column changed_columns[] = {
    GM_GET(GM_TEXT, GM_JSON, "class", NULL, class_of),
    GM_GET(GM_BOOL, GM_JSON, "is_dropped", NULL, is_dropped),
    GM_KEY(GM_COUNT, "allocations", struct gm_changed_class, allocations),
    GM_KEY(GM_BYTES, "bytes_before", struct gm_changed_class, bytes_before),
    GM_KEY(GM_BYTES, "bytes_after", struct gm_changed_class, bytes_after),
};

void gm_replay_json(struct gm_text *out, struct gm_replay_run *run)
{
    struct gm_doc doc;
    const char *verdict = gm_replay_verdict(run);
    gm_doc_begin(&doc, GM_JSON, out);
    gm_json_string(&doc.json, "schema", "gmreplay.replay/1");
    gm_json_string(&doc.json, "mode", run->options->verify ? "verify" : "what-if");
    gm_json_string(&doc.json, "backend", gm_replay_backend_name(run->options->backend));
    gm_json_string(&doc.json, "alloc_conf", run->conf_text.length == 0 ? "" : run->conf_text.data);
    gm_json_number(&doc.json, "memory_bytes", run->capacity == UINT64_MAX ? GM_REPORT_NONE : run->capacity);
    if (run->gpu != NULL) {
        gm_json_string(&doc.json, "gpu", run->gpu->name);
        gm_json_number(&doc.json, "gpu_total_bytes", run->gpu->total);
    }
    add_inferred(&doc, run);
    GM_TABLE(&doc, changed_columns, run->changed, run->options->changes.n, .key = "changes");
    gm_json_open(&doc.json, "devices", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        gm_json_open(&doc.json, NULL, '{');
        if (run->options->verify)
            add_verified(&doc, &run->devices[i].verify);
        else
            add_replayed(&doc, run, i);
        gm_json_close(&doc.json, '}');
    }
    gm_json_close(&doc.json, ']');
    gm_replay_untraced(&doc, run);
    gm_replay_notes(&doc, run);
    gm_replay_limit_json(&doc, run);
    gm_replay_oom_advice_json(&doc, run);
    gm_replay_search_json(&doc, run);
    gm_section_plan(&doc, run->report.plan);
    gm_json_number(&doc.json, "events_per_second", (uint64_t)gm_replay_speed(run));
    gm_json_string(&doc.json, "verdict", verdict);
    gm_doc_end(&doc);
}
