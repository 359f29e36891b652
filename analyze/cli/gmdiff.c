/* SPDX-License-Identifier: Apache-2.0
 *
 * gmdiff: a thin main. Options and operands in; summaries, their comparison, the run directory, messages and the exit
 * code out.
 */
#include "analyze/cli/gmdiff.h"

#include "analyze/base/threads.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/page_runs.h"
#include "analyze/document/documents.h"
#include "analyze/formats/load.h"
#include "analyze/run/run_names.h"
#include "analyze/state/shown_names.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct call {
    struct gm_shell shell;
    struct gm_diff_options options;
    struct gm_notices notices; /* for --format */
};

struct input {
    const char *path;
    char name[GM_NAME_SIZE]; /* found in the path */
    enum gm_status status;   /* of reading it */
    struct gm_error error;
    struct gm_summary summary; /* if status is GM_OK */
    bool is_salvaged;
    uint64_t salvaged_offset;
    struct gm_page_trace page; /* if options.wants_page */
    struct gm_load_progress reading;
};

struct inputs_options {
    struct gm_summary_options summary;
    bool salvage, wants_page;
    uint64_t max_memory; /* as in struct gm_load_options */
    int threads;
    const struct gm_terminal *progress; /* a bar there if it takes longer than a second; NULL: none */
};

static void tell_inputs(struct call *call, const struct input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct input *input = &inputs[i];
        if (input->status != GM_OK) {
            gm_call_fail(&call->shell.said, input->path, &input->error);
            gm_formats_note_error(&call->notices, input->path, &input->error);
            continue;
        }
        for (size_t w = 0; w < input->summary.warning_count; w++)
            gm_call_warn(&call->shell.said, input->path, input->summary.warnings[w]);
        if (input->is_salvaged)
            gm_call_warn(&call->shell.said, input->path, "damaged, only a part of it is compared");
    }
}

/* ---- the snapshots as summaries ----------------------------------------------------------------------------------
 *
 * Read by several threads. Never more snapshots are in memory than there are threads; the result does not depend on
 * their number. */

struct reading {
    struct input *inputs;
    const struct inputs_options *options;
    size_t count;
    atomic_size_t done;
};

static void read_one(void *argument, size_t i)
{
    struct reading *r = argument;
    const struct inputs_options *options = r->options;
    struct input *input = &r->inputs[i];
    const struct gm_load_options load = {
        .salvage = options->salvage, .max_memory = options->max_memory, .progress = &input->reading};
    struct gm_snapshot snapshot = {0};
    input->error = (struct gm_error){.offset = GM_NO_OFFSET};
    gm_name_detect(input->name, input->path);
    input->status = gm_snapshot_load(&snapshot, input->path, &load, &input->error);
    if (input->status == GM_OK) {
        input->is_salvaged = snapshot.source.is_salvaged;
        input->salvaged_offset = snapshot.source.salvaged_offset;
        input->status = gm_summary_make(&input->summary, &snapshot, input->name, &options->summary, &input->error);
    }
    if (input->status == GM_OK && options->wants_page)
        input->status = gm_page_trace_make(&input->page, &snapshot, &input->error);
    gm_snapshot_free(&snapshot);
    atomic_fetch_add(&r->done, 1);
}

static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    const struct reading *r = argument;
    struct gm_load_progress all = {.done = 0};
    for (size_t i = 0; i < r->count; i++) {
        const struct gm_load_progress *one = &r->inputs[i].reading;
        const uint64_t began = atomic_load(&one->began_us);
        all.done += atomic_load(&one->done);
        all.all += atomic_load(&one->all);
        all.began_us = all.began_us == 0 || (began > 0 && began < all.began_us) ? began : all.began_us;
    }
    line->done = atomic_load(&r->done);
    line->all = r->count;
    gm_text_printf(&line->text, "%zu of %zu, ", (size_t)line->done, r->count);
    if (all.done == all.all || !gm_bar_add_reading(&line->text, &all))
        gm_text_printf(&line->text, "%d s", (int)seconds);
}

/* Reads inputs[i].path for every i; sets the rest. */
static void read_inputs(struct input *inputs, size_t count, const struct inputs_options *options)
{
    struct reading r = {.inputs = inputs, .options = options, .count = count};
    struct gm_threads threads;
    struct gm_bar bar;
    gm_bar_start(&bar, options->progress, tell, &r);
    gm_threads_run(&threads, count, (size_t)options->threads, read_one, &r);
    gm_bar_stop(&bar);
}

static void free_inputs(struct input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gm_summary_free(&inputs[i].summary);
        gm_page_trace_free(&inputs[i].page);
    }
}

/* ---- from summaries to files ------------------------------------------------------------------------------------- */

/* The runs that could be read, and why the others could not. */
static enum gm_status compare(struct gm_comparison *c, char name[GM_NAME_SIZE], struct call *call,
                              const struct input *inputs, size_t count, struct gm_error *err)
{
    const struct gm_summary **runs = calloc(count, sizeof *runs);
    size_t n = 0;
    if (runs == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (inputs[i].status == GM_OK)
            runs[n++] = &inputs[i].summary;
    enum gm_status status = gm_diff_compare(c, name, runs, n, &call->options, call->shell.when, err);
    free(runs);
    struct gm_diff_failure *failures = status == GM_OK ? gm_arena_calloc(&c->arena, count - n, sizeof *failures) : NULL;
    for (size_t i = 0; failures != NULL && i < count; i++)
        if (inputs[i].status != GM_OK) {
            struct gm_diff_failure *failure = &failures[c->failure_count++];
            *failure = (struct gm_diff_failure){gm_clean_copy(&c->arena, inputs[i].path),
                                                gm_clean_copy(&c->arena, inputs[i].error.message)};
            if (failure->path == NULL || failure->why == NULL)
                status = gm_no_memory(err);
        }
    c->failures = failures;
    return status == GM_OK && failures == NULL ? gm_no_memory(err) : status;
}

static void check_growth(struct call *call, const struct gm_comparison *c)
{
    struct gm_text text = {0}, why = {0};
    gm_diff_growth(&why, c);
    if (why.length > 0)
        gm_text_printf(&text, "check failed: %s", why.data);
    if (why.failed || text.failed)
        gm_call_raise(&call->shell.said, GM_E_NOMEM);
    else if (text.length > 0)
        gm_call_fail_with(&call->shell.said, NULL, GM_E_CHECK, text.data);
    gm_text_free(&text);
    gm_text_free(&why);
}

static enum gm_status note_growth(struct call *call, const struct gm_comparison *c, struct gm_error *err)
{
    struct gm_notice_places places;
    const enum gm_status status = gm_formats_open_places(&places, &call->options.usual, err);
    if (status == GM_OK && call->options.usual.formats.n > 0)
        gm_notices_of_comparison(&call->notices, c, &places);
    gm_formats_close_places(&places);
    return status;
}

/* The texts, while other threads draw. */
static enum gm_status make(struct gm_run_files *files, const struct gm_shell *shell, const struct gm_comparison *c,
                           struct gm_error *err)
{
    const bool is_drawn = shell->fonts != NULL;
    const struct gm_charted charted = gm_charts_of_comparison(c);
    const struct gm_text_names names = gm_diff_texts(is_drawn);
    struct gm_charts *charts;
    enum gm_status status = gm_charts_start(&charts, shell->fonts, charted, shell->threads, err);
    for (size_t i = 0; status == GM_OK && i < names.n; i++)
        status = gm_diff_make(gm_run_files_text(files, names.v[i]), names.v[i], c, is_drawn, err);
    return gm_charts_finish(charts, status, files, err);
}

/* memory.html with the runs that could be read, called as in the reports. */
static enum gm_status add_page(struct gm_run_files *files, const struct call *call, struct input *inputs, size_t count,
                               const struct gm_comparison *c, struct gm_error *err)
{
    const struct gm_page_trace **traces = calloc(count, sizeof *traces);
    size_t n = 0;
    if (traces == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].status != GM_OK)
            continue;
        gm_page_trace_call(&inputs[i].page, c->labels[n], inputs[i].summary.path, c->timestamp);
        traces[n++] = &inputs[i].page;
    }
    gm_page_add(files, traces, n, &call->shell.rules_text);
    free(traces);
    return GM_OK;
}

static enum gm_status publish(struct call *call, struct input *inputs, size_t count, struct gm_error *err)
{
    struct gm_comparison c = {0};
    struct gm_run *run = NULL;
    struct gm_run_files files = {.count = 0};
    char name[GM_NAME_SIZE];
    enum gm_status status = compare(&c, name, call, inputs, count, err);
    gm_call_time(&call->shell.said, "compare");
    GM_THEN(status, make(&files, &call->shell, &c, err));
    GM_THEN(status, add_page(&files, call, inputs, count, &c, err));
    GM_THEN(status, gm_shell_publish(&run, &call->shell, &files, name, GM_DIFF_JSON, err));
    GM_THEN(status, note_growth(call, &c, err));
    if (status == GM_OK) {
        struct gm_text summary = {0};
        gm_diff_summary(&summary, &c, gm_run_path(run));
        gm_shell_print(&call->shell, &summary);
        check_growth(call, &c);
    }
    gm_run_files_free(&files);
    gm_run_free(run);
    gm_comparison_free(&c);
    return status;
}

/* BASE and at least one other: what cannot be read does not stop the rest. */
static bool can_compare(const struct input *inputs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (inputs[0].status == GM_OK && inputs[i].status == GM_OK)
            return true;
    return false;
}

static enum gm_status run(struct call *call, char **paths, size_t count, struct gm_error *err)
{
    const struct gm_usual_options *usual = &call->options.usual;
    struct gm_shell *shell = &call->shell;
    enum gm_status status = gm_shell_begin(shell, usual, true, err);
    if (status != GM_OK)
        return status;
    struct input *inputs = calloc(count, sizeof *inputs);
    if (inputs == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < count; i++)
        inputs[i].path = paths[i];
    const struct inputs_options reading = {.summary = gm_diff_reading(&call->options, shell->rules),
                                           .salvage = usual->salvage,
                                           .wants_page = !usual->no_page,
                                           .max_memory = usual->max_memory,
                                           .threads = shell->threads,
                                           .progress = usual->quiet ? NULL : &shell->said.terminal};
    read_inputs(inputs, count, &reading);
    gm_call_time(&shell->said, "read+analyse");
    tell_inputs(call, inputs, count);
    if (can_compare(inputs, count))
        status = publish(call, inputs, count, err);
    gm_formats_put(&shell->said, &usual->formats, &call->notices);
    gm_notices_free(&call->notices);
    free_inputs(inputs, count);
    free(inputs);
    return status;
}

int main(int argc, char **argv)
{
    struct call call = {.options = GM_DIFF_DEFAULTS};
    struct gm_error err;
    if (gm_call_begin(&call.shell.said, &gm_diff_program, &argc, argv, &call.options) &&
        run(&call, argv, (size_t)argc, &err) != GM_OK)
        gm_call_fail(&call.shell.said, NULL, &err);
    return gm_shell_end(&call.shell);
}
