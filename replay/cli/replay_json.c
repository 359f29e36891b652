/* SPDX-License-Identifier: Apache-2.0
 *
 * --json: gmreplay.replay/1.
 */
#include "analyze/document/json_out.h"
#include "analyze/report/view.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_mismatch(struct gm_json *json, const struct gm_verify_result *r)
{
    if (!r->has_mismatch) {
        gm_json_null(json, "first_mismatch");
        return;
    }
    gm_json_open(json, "first_mismatch", '{');
    gm_json_number(json, "event", r->mismatch_event);
    gm_json_number(json, "recorded", r->recorded);
    gm_json_number(json, "chosen", r->chosen);
    gm_json_string(json, "reason", r->reason);
    gm_json_close(json, '}');
}

static void add_stat(struct gm_json *json, const char *name, const char *kind, const struct gm_stat *s)
{
    const struct {
        const char *what;
        int64_t value;
    } values[] = {{"current", s->current}, {"peak", s->peak}, {"allocated", s->allocated}, {"freed", s->freed}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char key[96];
        snprintf(key, sizeof key, "%s%s%s.%s", name, kind[0] == '\0' ? "" : ".", kind, values[i].what);
        gm_json_signed(json, key, values[i].value);
    }
}

/* As torch.cuda.memory_stats() names them. */
static void add_stats(struct gm_json *json, const struct gm_stats *s)
{
    static const char *const kinds[] = {"all", "small_pool", "large_pool"};
    gm_json_open(json, "memory_stats", '{');
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        add_stat(json, #name, kinds[i], &s->name[i]);
    GM_STAT_MAP(X)
#undef X
    add_stat(json, "oversize_allocations", "", &s->oversize_allocations);
    add_stat(json, "oversize_segments", "", &s->oversize_segments);
    gm_json_signed(json, "num_alloc_retries", s->num_alloc_retries);
    gm_json_signed(json, "num_ooms", s->num_ooms);
    gm_json_signed(json, "max_split_size", s->max_split_size);
    gm_json_signed(json, "num_sync_all_streams", s->num_sync_all_streams);
    gm_json_signed(json, "num_device_alloc", s->num_device_alloc);
    gm_json_signed(json, "num_device_free", s->num_device_free);
    gm_json_close(json, '}');
}

static void add_peaks(struct gm_json *json, const struct gm_stats *s, int64_t retries, int64_t ooms)
{
    gm_json_signed(json, "peak_allocated_bytes", s->allocated_bytes[GM_STAT_ALL].peak);
    gm_json_signed(json, "peak_reserved_bytes", s->reserved_bytes[GM_STAT_ALL].peak);
    gm_json_signed(json, "peak_active_bytes", s->active_bytes[GM_STAT_ALL].peak);
    gm_json_signed(json, "peak_requested_bytes", s->requested_bytes[GM_STAT_ALL].peak);
    gm_json_signed(json, "num_alloc_retries", retries);
    gm_json_signed(json, "num_ooms", ooms);
}

static void add_other_allocator(struct gm_json *json, const struct gm_verify_result *r)
{
    gm_json_string(json, "other_allocator", r->other_allocator[0] != '\0' ? r->other_allocator : NULL);
}

static void add_verified(struct gm_json *json, const struct gm_verify_result *r)
{
    gm_json_signed(json, "device", r->device);
    gm_json_number(json, "events", r->events);
    gm_json_number(json, "allocs", r->allocs);
    gm_json_number(json, "exact_addresses", r->exact);
    gm_json_number(json, "exact_addresses_uninferred", r->exact_uninferred);
    gm_json_number(json, "growths", r->growths);
    gm_json_number(json, "growths_predicted", r->growths_predicted);
    gm_json_number(json, "releases", r->releases);
    gm_json_number(json, "releases_allowed", r->releases_allowed);
    gm_json_number(json, "end_blocks", r->end_blocks);
    gm_json_number(json, "end_blocks_same", r->end_blocks_same);
    add_peaks(json, &r->stats, (int64_t)r->retries, (int64_t)r->ooms);
    add_mismatch(json, r);
    add_other_allocator(json, r);
}

static void add_failure(struct gm_json *json, struct gm_replay_run *run, size_t index)
{
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    const struct gm_whatif_failure *f = &r->failure;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    if (!r->has_failed) {
        gm_json_null(json, "oom");
        return;
    }
    size_t depth = 0;
    const struct gm_frame_row *frames = gm_names_frames(&run->names, f->stack, &depth);
    gm_json_open(json, "oom", '{');
    gm_json_number(json, "event", f->is_at_start ? GM_REPORT_NONE : f->event);
    uint64_t time = f->is_at_start ? GM_REPORT_NONE : gm_history_time(h, f->event);
    if (time != GM_REPORT_NONE)
        time = gm_plus(time, gm_replay_forecast_us(&run->devices[index], r->parts_played - 1));
    gm_json_number(json, "time_us", time);
    uint64_t member = GM_REPORT_NONE, step = GM_REPORT_NONE;
    if (!f->is_at_start && !gm_replay_member_of(&run->devices[index], r->parts_played - 1, &member, &step))
        member = step = GM_REPORT_NONE;
    gm_json_number(json, "member", member);
    gm_json_number(json, "step", step);
    gm_json_string(json, "site", gm_names_site(&run->names, f->stack));
    gm_json_number(json, "requested_bytes", f->requested);
    gm_json_number(json, "rounded_bytes", f->rounded);
    gm_json_number(json, "device_free_bytes", f->device_free);
    gm_json_number(json, "reserved_bytes", f->reserved);
    gm_json_number(json, "active_bytes", f->active);
    gm_json_number(json, "largest_free_bytes", f->largest_free);
    gm_json_string(json, "why", f->why);
    gm_json_open(json, "frames", '[');
    for (size_t i = 0; frames != NULL && i < depth; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "name", frames[i].name);
        gm_json_string(json, "filename", frames[i].filename);
        gm_json_number(json, "line", frames[i].line);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}

/* The recording ended out of memory. */
static void add_refused(struct gm_json *json, const struct gm_replay_device *device)
{
    if (!device->was_refused) {
        gm_json_null(json, "recorded_end");
        return;
    }
    gm_json_open_flat(json, "recorded_end", '{');
    gm_json_number(json, "event", device->refused.request.event);
    gm_json_number(json, "refused_bytes", device->refused.size);
    gm_json_number(json, "in_use_bytes", device->refused.in_use);
    gm_json_number(json, "needed_bytes", device->refused.needs);
    gm_json_close(json, '}');
}

static void add_replayed(struct gm_json *json, struct gm_replay_run *run, size_t index)
{
    static const char *const only_verify[] = {"exact_addresses", "exact_addresses_uninferred",
                                              "growths",         "growths_predicted",
                                              "end_blocks",      "end_blocks_same"};
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    gm_json_signed(json, "device", r->device);
    gm_json_number(json, "events", r->events);
    gm_json_number(json, "allocs", r->allocs);
    for (size_t i = 0; i < sizeof only_verify / sizeof only_verify[0]; i++)
        gm_json_null(json, only_verify[i]);
    add_peaks(json, &r->stats, r->stats.num_alloc_retries, r->stats.num_ooms);
    gm_json_null(json, "first_mismatch");
    gm_replay_range_json(json, &run->devices[index].range);
    add_other_allocator(json, &run->devices[index].verify);
    gm_json_open(json, "start", '{');
    gm_json_string(json, "from", r->from_layout ? "recorded layout" : "requests");
    gm_json_number(json, "blocks", r->start_blocks);
    gm_json_number(json, "bytes", r->start_bytes);
    gm_json_number(json, "reserved_bytes", r->start_reserved);
    gm_json_number(json, "bytes_at_peak", r->start_bytes_at_peak);
    gm_json_close(json, '}');
    gm_json_number(json, "dropped", r->left_out);
    gm_json_number(json, "empty_cache_calls", r->empty_caches);
    gm_json_number(json, "recorded_ooms", r->recorded_ooms);
    gm_json_number(json, "recorded_releases_for_requests", r->recorded_releases);
    add_refused(json, &run->devices[index]);
    add_failure(json, run, index);
    gm_replay_repetition_json(json, run, index);
    gm_replay_peak_json(json, run, index);
    gm_replay_gpu_json(json, run, index);
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC)
        gm_json_null(json, "memory_stats"); /* they are the caching allocator's */
    else
        add_stats(json, &r->stats);
}

static void add_inferred(struct gm_json *json, const struct gm_replay_run *run)
{
    gm_json_open(json, "inferred", '[');
    for (size_t d = 0; run->options->verify && d < run->device_count; d++) {
        const struct gm_verify_result *r = &run->devices[d].verify;
        for (size_t i = 0; i < r->inferred_count; i++) {
            gm_json_open_flat(json, NULL, '{');
            gm_json_signed(json, "device", r->device);
            gm_json_string(json, "what", r->inferred[i].what);
            gm_json_string(json, "value", r->inferred[i].value);
            gm_json_close(json, '}');
        }
    }
    gm_json_close(json, ']');
}

static void add_changes(struct gm_json *json, const struct gm_replay_run *run)
{
    gm_json_open(json, "changes", '[');
    for (size_t i = 0; i < run->options->changes.n; i++) {
        const struct gm_changed_class *c = &run->changed[i];
        char class[GM_CHANGE_NAME + 64];
        snprintf(class, sizeof class, "%s:%s", c->kind, c->name);
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "class", class);
        gm_json_bool(json, "is_dropped", c->factor == 0);
        gm_json_number(json, "allocations", c->allocations);
        gm_json_number(json, "bytes_before", c->bytes_before);
        gm_json_number(json, "bytes_after", c->bytes_after);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_replay_json(struct gm_text *out, struct gm_replay_run *run)
{
    struct gm_json json = {.out = out};
    const char *verdict = gm_replay_verdict(run);
    gm_json_open(&json, NULL, '{');
    gm_json_string(&json, "schema", "gmreplay.replay/1");
    gm_json_string(&json, "mode", run->options->verify ? "verify" : "what-if");
    gm_json_string(&json, "backend", gm_replay_backend_name(run->options->backend));
    gm_json_string(&json, "alloc_conf", run->conf_text.length == 0 ? "" : run->conf_text.data);
    gm_json_number(&json, "memory_bytes", run->capacity == UINT64_MAX ? GM_REPORT_NONE : run->capacity);
    if (run->gpu != NULL)
        gm_json_string(&json, "gpu", run->gpu->name);
    add_inferred(&json, run);
    add_changes(&json, run);
    gm_json_open(&json, "devices", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        gm_json_open(&json, NULL, '{');
        if (run->options->verify)
            add_verified(&json, &run->devices[i].verify);
        else
            add_replayed(&json, run, i);
        gm_json_close(&json, '}');
    }
    gm_json_close(&json, ']');
    gm_replay_untraced_json(&json, run);
    gm_replay_note_json(&json, run);
    gm_replay_limit_json(&json, run);
    gm_replay_oom_advice_json(&json, run);
    gm_replay_search_json(&json, run);
    gm_json_number(&json, "events_per_second", (uint64_t)gm_replay_speed(run));
    if (verdict != NULL)
        gm_json_string(&json, "verdict", verdict);
    else
        gm_json_null(&json, "verdict");
    gm_json_close(&json, '}');
    gm_text_add_char(out, '\n');
}
