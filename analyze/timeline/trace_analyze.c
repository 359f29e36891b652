/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the passes in order, for one device after the other.
 */
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_pass.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- what is handed out ----------------------------------------------------------------------------------------- */

/* After all else: moves what `keep` is to have out of the passes. false: no memory. */
static bool keep_passes(struct gm_kept *kept, struct gm_trace_pass *passes, size_t count)
{
    *kept = (struct gm_kept){.v = calloc(count + 1, sizeof *kept->v), .count = count};
    bool ok = kept->v != NULL;
    for (size_t d = 0; ok && d < count; d++) {
        struct gm_kept_device *device = &kept->v[d];
        device->steps = passes[d].kept_steps;
        device->step_count = passes[d].kept_step_count;
        device->from = passes[d].from;
        device->to = passes[d].to;
        device->settled = passes[d].settled;
        passes[d].kept_steps = NULL;
        device->history = passes[d].history;
        device->category = passes[d].category;
        device->role = passes[d].role;
        device->phase = passes[d].phase;
        passes[d].history = (struct gm_history){0};
        passes[d].phase = NULL;
        passes[d].category = NULL;
        passes[d].role = NULL;
    }
    if (!ok)
        gm_kept_free(kept);
    return ok;
}

void gm_kept_free(struct gm_kept *kept)
{
    for (size_t d = 0; kept->v != NULL && d < kept->count; d++) {
        gm_history_free(&kept->v[d].history);
        GM_FREE_ALL(kept->v[d].category, kept->v[d].role, kept->v[d].phase, kept->v[d].steps);
    }
    free(kept->v);
    *kept = (struct gm_kept){0};
}

/* Leaves out what --stream and --min-size do not ask for. */
static bool hide(struct gm_trace_pass *pass)
{
    const struct gm_timeline_options *options = pass->options;
    const struct gm_history *h = &pass->history;
    if (!options->has_stream && options->min_size == 0)
        return true;
    pass->hidden = calloc(h->allocation_count + 1, 1);
    if (pass->hidden == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const int64_t handle = gm_stream_handle(pass->snapshot, gm_history_stream(h, a).v);
        pass->hidden[a] = gm_requested(h, a) < options->min_size || (options->has_stream && handle != options->stream);
    }
    return true;
}

static bool categorize(struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    pass->category = malloc((h->allocation_count + 1) * sizeof *pass->category);
    for (size_t a = 0; pass->category != NULL && a < h->allocation_count; a++)
        pass->category[a] = (uint16_t)gm_classify(pass->options->classifier, (struct gm_stack_id){gm_stack_of(h, a)});
    return pass->category != NULL;
}

static void free_pass(struct gm_trace_pass *pass)
{
    gm_trace_forget_steps(pass);
    gm_trace_forget_calls(pass);
    gm_trace_forget_curves(pass);
    gm_trace_forget_parts(pass);
    gm_watch_free(pass->watch);
    gm_history_free(&pass->history);
    GM_FREE_ALL(pass->phase, pass->kept_steps, pass->ranges, pass->range_changes, pass->category, pass->role,
                pass->reason, pass->hidden);
}

/* Whether --from and --to are places of some device. */
struct gm_window {
    bool was_found;
    struct gm_error nowhere; /* why the first device with events has none */
    bool has_events;         /* it has */
};

/* A device without such a place is looked at as a whole. */
static bool find_window(struct gm_trace_pass *pass)
{
    struct gm_error err;
    bool has_window = gm_trace_window(pass, &err) == GM_OK;
    if (!has_window && !pass->window->has_events) {
        pass->window->nowhere = err;
        pass->window->has_events = pass->history.count > 0;
    }
    pass->window->was_found = pass->window->was_found || has_window;
    return gm_trace_filter(pass, has_window);
}

/* ---- two at a time ----------------------------------------------------------------------------------------------- */

enum { WORTH_A_THREAD = 10000 /* events: they take longer than a thread takes to start */ };

struct aside {
    struct gm_trace_pass *pass;
    bool (*run)(struct gm_trace_pass *);
    bool is_done;
};

static void *run_aside(void *argument)
{
    struct aside *aside = argument;
    aside->is_done = aside->run(aside->pass);
    return NULL;
}

/* Both, `aside` in a thread of its own: neither may touch what the other looks at. If the second waits for the first
 * (`is_alone`), or the trace is short, one after the other. */
static bool run_both(struct gm_trace_pass *pass, bool (*first)(struct gm_trace_pass *),
                     bool (*aside)(struct gm_trace_pass *), bool is_alone)
{
    struct aside other = {pass, aside, false};
    pthread_t thread;
    if (is_alone || pass->history.count < WORTH_A_THREAD || pthread_create(&thread, NULL, run_aside, &other) != 0)
        return first(pass) && aside(pass);
    const bool ok = first(pass);
    pthread_join(thread, NULL);
    return ok && other.is_done;
}

static void *let_read(void *argument)
{
    struct gm_trace_pass *pass = argument;
    pass->options->reader->read(pass->options->reader->self, &pass->history);
    return NULL;
}

static bool reconstruct(struct gm_trace_pass *pass)
{
    return gm_history_reconstruct(&pass->history, &pass->watcher);
}

/* What needs only the events that belong together. */
static bool look_at_events(struct gm_trace_pass *pass)
{
    gm_trace_ask_roles(pass);
    if (pass->options->keep != NULL && !pass->options->has_peaks_only)
        pass->settled = gm_history_settled(&pass->history);
    return hide(pass) && gm_trace_find_steps(pass) && (pass->options->has_peaks_only || categorize(pass)) &&
           (pass->options->is_brief || gm_trace_calls(pass));
}

static bool has_reader(const struct gm_trace_pass *pass)
{
    return pass->options->reader != NULL && pass->history.count >= WORTH_A_THREAD;
}

/* What needs only the history, and the window. The reader, which takes longer than what else is left, begins before
 * parts are walked. */
static bool walk_levels(struct gm_trace_pass *pass)
{
    const bool ok = gm_trace_levels(pass);
    pass->is_read = ok && has_reader(pass) && pthread_create(&pass->reader, NULL, let_read, pass) == 0;
    return ok && (pass->options->is_brief || pass->is_read || gm_trace_part_levels(pass));
}

static bool look_at_allocations(struct gm_trace_pass *pass)
{
    return gm_trace_steps(pass) && find_window(pass) && (pass->options->has_peaks_only || gm_trace_roles(pass));
}

/* What the levels and the roles are for. */
static bool conclude(struct gm_trace_pass *pass, struct gm_memory_summary *memory)
{
    const struct gm_timeline_options *options = pass->options;
    bool ok = gm_trace_curves(pass) && (options->is_brief || gm_trace_modules(pass) /* its calls take memory */) &&
              gm_trace_peak(pass) && (options->has_peaks_only || gm_trace_ooms(pass)) && gm_trace_reconciliation(pass);
    if (!options->is_brief)
        ok = ok && (!pass->is_read || gm_trace_part_levels(pass)) && gm_trace_role_reasons(pass) &&
             gm_trace_flame(pass) && gm_trace_fragmentation(pass) && gm_trace_map(pass) && gm_trace_parts(pass) &&
             gm_trace_memory(pass, memory) && gm_trace_serving(pass) && gm_trace_dims(pass) && gm_trace_join(pass);
    return ok;
}

static enum gm_status run_passes(struct gm_trace_pass *pass, struct gm_memory_summary *memory, struct gm_error *err)
{
    const struct gm_timeline_options *options = pass->options;
    pass->watch = gm_watch_new(&pass->watcher, &pass->history, pass->snapshot, options->is_brief);
    bool ok = pass->watch != NULL &&
              gm_history_pair(&pass->history, pass->snapshot, (size_t)pass->report->devices[pass->index].device) &&
              run_both(pass, look_at_events, reconstruct, false);
    pass->to = (uint32_t)pass->history.count;
    if (ok && options->follower != NULL && pass->history.count >= WORTH_A_THREAD)
        options->follower->begin(options->follower->self, &pass->history);
    ok = ok && gm_trace_begin_curves(pass) &&
         run_both(pass, look_at_allocations, walk_levels, gm_has_window(options) || options->every_event != NULL);
    ok = ok && conclude(pass, memory);
    if (pass->is_read)
        pthread_join(pass->reader, NULL);
    return ok ? GM_OK : gm_no_memory(err);
}

enum gm_status gm_timeline_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                   const struct gm_timeline_options *options, struct gm_error *err)
{
    size_t n = report->device_count;
    struct gm_names names;
    struct gm_window window = {.was_found = false};
    const bool has_roles = !options->has_peaks_only;
    struct gm_role_stacks *role_stacks = has_roles ? gm_role_stacks_new(snapshot) : NULL;
    struct gm_peak *peaks = gm_arena_calloc(&report->arena, n, sizeof *peaks);
    struct gm_device_timeline *timelines = gm_arena_calloc(&report->arena, n, sizeof *timelines);
    struct gm_memory_summary *memory = gm_arena_calloc(&report->arena, n, sizeof *memory);
    GM_FREED struct gm_trace_pass *passes = calloc(n + 1, sizeof *passes);
    struct gm_join *join = NULL;
    enum gm_status status = GM_OK;
    if (options->beside != NULL && !gm_join_new(&join, report, snapshot, options->beside))
        status = gm_no_memory(err);
    if (!gm_names_init(&names, snapshot, &report->arena) || (has_roles && role_stacks == NULL) || peaks == NULL ||
        timelines == NULL || memory == NULL || passes == NULL)
        status = gm_no_memory(err);
    for (size_t d = 0; status == GM_OK && d < n; d++) {
        passes[d] = (struct gm_trace_pass){.snapshot = snapshot,
                                           .options = options,
                                           .report = report,
                                           .names = &names,
                                           .role_stacks = role_stacks,
                                           .index = d,
                                           .window = &window,
                                           .join = join,
                                           .out = &timelines[d],
                                           .peak = &peaks[d]};
        status = run_passes(&passes[d], &memory[d], err);
    }
    if (status == GM_OK && !window.was_found && window.nowhere.status != GM_OK) {
        status = window.nowhere.status;
        if (err != NULL)
            *err = window.nowhere;
    }
    if (status == GM_OK && has_roles && !gm_trace_state_roles(report, passes))
        status = gm_no_memory(err);
    if (status == GM_OK && join != NULL && !gm_trace_join_blocks(passes, n))
        status = gm_no_memory(err);
    if (status == GM_OK && options->keep != NULL && !keep_passes(options->keep, passes, n))
        status = gm_no_memory(err);
    if (status != GM_OK && options->follower != NULL)
        options->follower->wait(options->follower->self);
    for (size_t d = 0; passes != NULL && d < n; d++)
        free_pass(&passes[d]);
    gm_join_free(join);
    gm_role_stacks_free(role_stacks);
    gm_names_free(&names);
    if (status == GM_OK) {
        report->peaks = peaks;
        report->timelines = timelines;
        report->memory = memory;
    }
    return status;
}

enum gm_status gm_timeline_keep(struct gm_report *report, struct gm_kept *kept, const struct gm_snapshot *snapshot,
                                const struct gm_timeline_options *options, struct gm_error *err)
{
    struct gm_state_options state = {.top = 1, .device = -1, .rules = options->rules};
    GM_TRY(gm_classifier_new(&state.classifier, state.rules, snapshot, err));
    struct gm_timeline_options timeline = *options;
    timeline.classifier = state.classifier;
    timeline.top = 1;
    timeline.keep = kept;
    enum gm_status status = gm_state_analyze(report, snapshot, &state, err);
    GM_THEN(status, gm_timeline_analyze(report, snapshot, &timeline, err));
    gm_classifier_free(state.classifier);
    return status;
}
