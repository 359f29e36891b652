/* SPDX-License-Identifier: Apache-2.0
 *
 * gmdiff: a thin main. Options and operands in; summaries, their comparison, the run directory, messages and the exit
 * code out.
 */
#include "analyze/base/threads.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/shell.h"
#include "analyze/document/documents.h"
#include "analyze/lib/lib_diff.h"

#include <stdatomic.h>

struct call {
    struct gm_shell shell;
    struct gm_diff_options options;
    struct gm_notices notices; /* for --format */
};

static void tell_inputs(struct call *call, const struct gm_diffed *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct gm_diff_input *input = &d->inputs[i];
        if (input->status != GM_OK) {
            gm_call_fail(&call->shell.said, input->path, &input->error);
            gm_notices_add_read(&call->notices, input->path, input->error.message);
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
    const struct gm_diffed *diffed;
    atomic_size_t done;
};

static void read_one(void *argument, size_t i)
{
    struct reading *r = argument;
    const struct gm_usual_options *usual = &r->diffed->options->usual;
    struct gm_diff_input *input = &r->diffed->inputs[i];
    const struct gm_load_options options = {
        .salvage = usual->salvage, .max_memory = usual->max_memory, .progress = &input->reading};
    struct gm_loaded *loaded;
    input->error = (struct gm_error){.offset = GM_NO_OFFSET};
    input->status = gm_loaded_read(&loaded, input->path, &options, &input->error);
    GM_THEN(input->status, gm_diff_summarise(input, &loaded->snapshot, r->diffed, &input->error));
    if (input->status == GM_OK && !usual->no_page)
        input->status = gm_page_trace_make(&input->page, &loaded->snapshot, &input->error);
    gm_unload(loaded);
    atomic_fetch_add(&r->done, 1);
}

static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    const struct reading *r = argument;
    struct gm_load_progress all = {.done = 0};
    for (size_t i = 0; i < r->diffed->count; i++) {
        const struct gm_load_progress *one = &r->diffed->inputs[i].reading;
        const uint64_t began = atomic_load(&one->began_us);
        all.done += atomic_load(&one->done);
        all.all += atomic_load(&one->all);
        all.began_us = all.began_us == 0 || (began > 0 && began < all.began_us) ? began : all.began_us;
    }
    line->done = atomic_load(&r->done);
    line->all = r->diffed->count;
    gm_text_printf(&line->text, "%zu of %zu, ", (size_t)line->done, r->diffed->count);
    if (all.done == all.all || !gm_bar_add_reading(&line->text, &all))
        gm_text_printf(&line->text, "%d s", (int)seconds);
}

/* `progress`: a bar there if it takes longer than a second; NULL: none. */
static void read_inputs(const struct gm_diffed *d, int workers, const struct gm_terminal *progress)
{
    struct reading r = {.diffed = d};
    struct gm_threads threads;
    struct gm_bar bar;
    gm_bar_start(&bar, progress, tell, &r);
    gm_threads_run(&threads, d->count, (size_t)workers, read_one, &r);
    gm_bar_stop(&bar);
}

/* ---- from summaries to files ------------------------------------------------------------------------------------- */

static void tell_growth(struct call *call, const struct gm_comparison *c)
{
    GM_FREED struct gm_text text = {0};
    gm_text_add(&text, "check failed: ");
    gm_diff_growth(&text, c);
    if (text.failed)
        gm_call_raise(&call->shell.said, GM_E_NOMEM);
    else
        gm_call_fail_with(&call->shell.said, NULL, GM_E_CHECK, text.data);
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

/* All files, while other threads draw. */
static enum gm_status make(struct gm_result *result, const struct gm_shell *shell, struct gm_error *err)
{
    struct gm_charts *charts;
    enum gm_status status = gm_charts_start(&charts, shell->fonts, result->charted, shell->threads, err);
    GM_THEN(status, gm_result_make_all(result, 1, err));
    return gm_charts_finish(charts, status, &result->files, err);
}

static enum gm_status publish(struct call *call, struct gm_result *result, struct gm_error *err)
{
    const struct gm_diffed *d = gm_diff_of(result);
    struct gm_run *run = NULL;
    enum gm_status status = gm_diff_conclude(result, err);
    gm_call_time(&call->shell.said, "compare");
    GM_THEN(status, make(result, &call->shell, err));
    GM_THEN(status, gm_shell_publish(&run, &call->shell, &result->files, d->name, GM_DIFF_JSON, err));
    GM_THEN(status, note_growth(call, &d->comparison, err));
    if (status == GM_OK) {
        struct gm_text summary = {0};
        gm_diff_summary(&summary, &d->comparison, gm_run_path(run));
        gm_shell_print(&call->shell, &summary);
        if (gm_verdict(result) != 0)
            tell_growth(call, &d->comparison);
    }
    gm_run_free(run);
    return status;
}

/* BASE and at least one other: what cannot be read does not stop the rest. */
static bool can_compare(const struct gm_diffed *d)
{
    for (size_t i = 1; i < d->count; i++)
        if (d->inputs[0].status == GM_OK && d->inputs[i].status == GM_OK)
            return true;
    return false;
}

static enum gm_status run(struct call *call, char **paths, size_t count, struct gm_error *err)
{
    const struct gm_usual_options *usual = &call->options.usual;
    struct gm_shell *shell = &call->shell;
    GM_TRY(gm_shell_begin(shell, usual, true, err));
    const struct gm_diffed of = {.options = &call->options,
                                 .rules = shell->rules,
                                 .rules_text = &shell->rules_text,
                                 .when = shell->when,
                                 .count = count};
    struct gm_result *result = gm_diff_new(NULL, &of);
    enum gm_status status = GM_OK;
    if (result == NULL)
        return gm_no_memory(err);
    const struct gm_diffed *d = gm_diff_of(result);
    for (size_t i = 0; i < count; i++)
        d->inputs[i].path = paths[i];
    read_inputs(d, shell->threads, usual->quiet ? NULL : &shell->said.terminal);
    gm_call_time(&shell->said, "read+analyse");
    tell_inputs(call, d);
    if (can_compare(d))
        status = publish(call, result, err);
    gm_formats_put(&shell->said, &usual->formats, &call->notices);
    gm_notices_free(&call->notices);
    gm_result_free(result);
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
