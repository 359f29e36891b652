/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/analyzed.h"

#include "analyze/base/sources.h"
#include "analyze/export/export.h"
#include "analyze/fleet/place.h"
#include "analyze/formats/load.h"
#include "analyze/snapshot/profile.h"
#include "replay/trials/settings_advice.h"
#include "replay/whatif/gpus.h"

#include <string.h>

static const struct gm_gpu *card_of(const struct gm_analyze_options *options)
{
    return options->gpu == NULL ? NULL : gm_gpu_find(options->gpu);
}

/* What options say of the trace, and what else is known when it is analysed. */
static struct gm_timeline_options timeline_options(const struct gm_analyze_options *options,
                                                   const struct gm_category_rules *rules)
{
    const struct gm_gpu *gpu = card_of(options);
    struct gm_timeline_options timeline = options->timeline;
    timeline.rules = rules;
    timeline.top = (size_t)options->usual.top;
    timeline.stream = options->stream.handle;
    timeline.has_stream = options->stream.is_given;
    timeline.serving.card = gpu == NULL ? NULL : gpu->name;
    timeline.serving.capacity = gpu == NULL ? 0 : gm_gpu_usable(gpu);
    return timeline;
}

static enum gm_status check_stream(const struct gm_wanted_stream *wanted, const struct gm_snapshot *snapshot,
                                   struct gm_error *err)
{
    for (uint32_t i = 1; i < snapshot->stream_count; i++)
        if (snapshot->streams[i] == wanted->handle)
            return GM_OK;
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--stream: no stream %lld in it", (long long)wanted->handle);
}

static bool is_partial(const struct gm_analyze_options *options)
{
    const struct gm_timeline_options *t = &options->timeline;
    return t->from.kind != GM_PLACE_NONE || t->to.kind != GM_PLACE_NONE || options->stream.is_given || t->min_size > 0;
}

/* The report with the strings that analysis does not know. */
static enum gm_status name_report(struct gm_report *report, const struct gm_analysis *of, struct gm_error *err)
{
    if (of->shown != NULL)
        report->snapshot.path = gm_arena_copy(&report->arena, of->shown, strlen(of->shown));
    if (report->snapshot.path == NULL)
        return gm_no_memory(err);
    return gm_shell_name(&report->arena, &report->run_name, &report->timestamp, of->name, of->when, err);
}

/* One of --kineto; messages about it name it, for the snapshot is what they begin with. */
static enum gm_status load_trace(struct gm_snapshot *beside, const char *path, const struct gm_usual_options *usual,
                                 struct gm_error *err)
{
    const struct gm_load_options load = {.salvage = usual->salvage, .max_memory = usual->max_memory};
    struct gm_error here;
    const enum gm_status status = gm_snapshot_load(beside, path, &load, &here);
    if (status != GM_OK) {
        gm_error_set(err, status, here.offset, "--kineto %s: %s", path, here.message);
        if (err != NULL)
            err->salvage = here.salvage;
        return status;
    }
    return beside->profile != NULL
               ? GM_OK
               : gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "--kineto %s: no trace of torch.profiler", path);
}

/* The one of several whose name has the rank, which it may not deny itself; *found is how many names have it. */
static enum gm_status load_by_name(struct gm_snapshot *beside, int64_t rank, const struct gm_analyze_options *options,
                                   size_t *found, struct gm_error *err)
{
    const struct gm_texts *traces = &options->kineto;
    const char *path = NULL;
    *found = 0;
    for (size_t i = 0; i < traces->n; i++)
        if (gm_place_detect(traces->v[i]).rank == rank) {
            path = traces->v[i];
            ++*found;
        }
    if (*found > 1)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--kineto: %zu traces have rank %lld in their names", *found,
                       (long long)rank);
    if (*found == 0)
        return GM_OK;
    GM_TRY(load_trace(beside, path, &options->usual, err));
    return beside->profile->rank < 0 || beside->profile->rank == rank
               ? GM_OK
               : gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET,
                         "--kineto %s: its name has rank %lld, it says rank %lld itself", path, (long long)rank,
                         (long long)beside->profile->rank);
}

/* The one of those without a rank in their names that says it is of that rank. They are read until it is found. */
static enum gm_status load_by_rank(struct gm_snapshot *beside, int64_t rank, const struct gm_analyze_options *options,
                                   struct gm_error *err)
{
    const struct gm_texts *traces = &options->kineto;
    for (size_t i = 0; i < traces->n; i++) {
        if (gm_place_detect(traces->v[i]).rank >= 0)
            continue;
        GM_TRY(load_trace(beside, traces->v[i], &options->usual, err));
        if (beside->profile->rank == rank)
            return GM_OK;
        gm_snapshot_free(beside);
        *beside = (struct gm_snapshot){.profile = NULL};
    }
    return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no --kineto trace is of rank %lld, by its name or distributedInfo",
                   (long long)rank);
}

/* --kineto: the trace of this snapshot. */
static enum gm_status load_beside(struct gm_snapshot *beside, const struct gm_snapshot *snapshot,
                                  const struct gm_analyze_options *options, struct gm_error *err)
{
    const int64_t rank = gm_place_detect(snapshot->source.path).rank;
    size_t found;
    if (snapshot->profile != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--kineto adds a trace to a snapshot, and this is a trace of torch.profiler itself");
    if (options->kineto.n == 1)
        return load_trace(beside, options->kineto.v[0], &options->usual, err);
    if (rank < 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "its path has no rank, by which one of several --kineto would be found");
    GM_TRY(load_by_name(beside, rank, options, &found, err));
    return found == 1 ? GM_OK : load_by_rank(beside, rank, options, err);
}

enum gm_status gm_analysis_begin(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                                 const struct gm_analysis *of, const struct gm_sample_sink *every_event,
                                 struct gm_error *err)
{
    const struct gm_analyze_options *options = of->options;
    struct gm_sources *sources = NULL;
    struct gm_snapshot beside = {.profile = NULL};
    enum gm_status status = GM_OK;
    if (options->stream.is_given)
        GM_TRY(check_stream(&options->stream, snapshot, err));
    if (options->usual.source != NULL)
        GM_TRY(gm_sources_open(&sources, options->usual.source, err));
    struct gm_timeline_options timeline = timeline_options(options, of->rules);
    timeline.sources = sources;
    timeline.every_event = every_event;
    if (options->kineto.n > 0) {
        status = load_beside(&beside, snapshot, options, err);
        timeline.beside = &beside;
        timeline.wants_joined = gm_exports_have(options->exports, GM_EXPORT_JOINED);
    }
    judged->threads = of->threads;
    judged->most_events = options->replay_events == 0 ? UINT64_MAX : (uint64_t)options->replay_events;
    GM_THEN(status, gm_judge_begin(judged, snapshot, &timeline, options->usual.device, is_partial(options), err));
    gm_snapshot_free(&beside);
    gm_sources_free(sources);
    return status == GM_OK ? name_report(&judged->report, of, err) : status;
}

enum gm_status gm_analysis_end(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                               const struct gm_analysis *of, struct gm_error *err)
{
    const struct gm_gpu *card = card_of(of->options);
    enum gm_status status = gm_ignore_ask(of->ignore, &judged->report, err);
    GM_THEN(status, gm_judge_end(judged, snapshot, err));
    if (status == GM_OK && card != NULL && judged->kept.count > 0)
        status = gm_advice_plan(&judged->report, snapshot, &judged->kept, of->threads, card, err);
    return status;
}
