/* SPDX-License-Identifier: Apache-2.0
 *
 * gmreplay: a thin main. Options in; load, replay; words, JSON, CSV and the exit code out.
 */
#include "analyze/cli/call.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"
#include "analyze/cli/snapshot_file.h"
#include "analyze/formats/gmtrace_write.h"
#include "render/render.h"
#include "replay/cli/gmreplay.h"
#include "replay/regenerate/regenerate.h"

#include <stdlib.h>
#include <string.h>

static enum gm_status draw_plan(struct gm_text *out, const struct gm_report *report, struct gm_error *err)
{
    struct gm_painter *painter = NULL;
    struct gm_png png = {NULL, 0};
    enum gm_status status = gm_painter_new(&painter, err);
    GM_THEN(status, gm_chart_draw(&png, painter, report, GM_CHART_PLAN, err));
    if (status == GM_OK)
        gm_text_add_bytes(out, (const char *)png.data, png.length);
    free(png.data);
    gm_painter_free(painter);
    return status == GM_OK && out->failed ? gm_no_memory(err) : status;
}

static enum gm_status make(struct gm_text *out, int output, struct gm_replay_run *run, struct gm_error *err)
{
    if (output == GM_REPLAY_CHART)
        return draw_plan(out, &run->report, err);
    if (output == GM_REPLAY_TRACE)
        return gm_write_gmtrace(&run->snapshot, out, err);
    if (output == GM_REPLAY_CSV)
        gm_replay_csv(out, run);
    else
        gm_replay_document(out, output == GM_REPLAY_JSON ? GM_JSON : GM_TXT, run, true);
    return GM_OK;
}

/* -o: the snapshot of the replay, as PyTorch would have written it. */
static enum gm_status write_snapshot(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    struct gm_regenerated made;
    gm_kept_free(&run->kept); /* as large as the trace, and not needed any more */
    GM_TRY(gm_regenerate(&made, &run->recorder, o->alloc_conf == NULL ? NULL : &run->conf, o->alloc_conf, err));
    const enum gm_status status = gm_put_snapshot(&made.snapshot, o->output, err);
    gm_regenerated_free(&made);
    return status;
}

/* All outputs, also when one of them fails. */
static void write_outputs(struct gm_replay_run *run, struct gm_call *call)
{
    const struct gm_replay_options *o = run->options;
    struct gm_text text = {0};
    struct gm_error err;
    bool is_stdout_free = !gm_path_is_standard(o->output) && !gm_formats_take_stdout(&o->usual.formats);
    for (int i = 0; i < GM_REPLAY_SNAPSHOT; i++) {
        const char *path = gm_replay_output_path(o, i);
        is_stdout_free &= !gm_path_is_standard(path);
        if (path != NULL && make(&text, i, run, &err) == GM_OK)
            gm_call_put(call, path, &text);
        else if (path != NULL)
            gm_call_fail(call, NULL, &err);
        gm_text_free(&text);
    }
    if (!o->usual.quiet && is_stdout_free) {
        gm_replay_document(&text, GM_TXT, run, false);
        gm_call_print(call, &text);
    }
    if (o->output != NULL && write_snapshot(run, &err) != GM_OK) /* takes what is told apart */
        gm_call_fail(call, NULL, &err);
}

/* --format. `failure`: why there is no run to tell of; NULL: there is one. */
static void write_notices(struct gm_replay_run *run, struct gm_call *call, const char *path,
                          const struct gm_error *failure)
{
    const struct gm_usual_options *usual = &run->options->usual;
    struct gm_notices notices = {.failed = false};
    struct gm_notice_places places;
    struct gm_error err;
    if (usual->formats.n == 0)
        return;
    if (failure != NULL)
        gm_notices_add_read(&notices, path, failure->message);
    else if (gm_formats_open_places(&places, usual, &err) != GM_OK)
        gm_call_fail(call, NULL, &err);
    if (failure == NULL) {
        gm_replay_notices(&notices, run, &places);
        gm_formats_close_places(&places);
    }
    gm_formats_put(call, &usual->formats, &notices);
    gm_notices_free(&notices);
}

/* "[########            ] 33 of 82 replays, 4 s: sweep"; a fit and a plan do not know how many it will be. */
static void tell_progress(struct gm_bar_line *line, const void *argument, double elapsed)
{
    static const char *const verbs[] = {"reading", "analysing", "replaying", "plan", "sweep", "fit"};
    const struct gm_replay_progress *p = argument;
    const int stage = atomic_load(&p->stage), seconds = (int)elapsed;
    const size_t done = atomic_load(&p->searched.done);
    const char *base = strrchr(p->path, '/');
    line->done = stage == GM_REPLAY_READING ? atomic_load(&p->read.done) : done;
    line->all = stage == GM_REPLAY_READING    ? atomic_load(&p->read.all)
                : stage == GM_REPLAY_SWEEPING ? atomic_load(&p->searched.all)
                                              : 0;
    if (stage == GM_REPLAY_SWEEPING)
        gm_text_printf(&line->text, "%zu of %zu replays, ", done, (size_t)line->all);
    else if (stage >= GM_REPLAY_PLANNING)
        gm_text_printf(&line->text, "%zu replays, ", done);
    if (stage == GM_REPLAY_READING && gm_bar_add_reading(&line->text, &p->read))
        gm_text_add(&line->text, ":");
    else
        gm_text_printf(&line->text, "%d s: %s", seconds, verbs[stage]);
    if (stage < GM_REPLAY_PLANNING)
        gm_text_printf(&line->text, " %s", base == NULL ? p->path : base + 1);
}

static void run_it(const struct gm_replay_options *options, struct gm_call *call, const char *path)
{
    struct gm_replay_run run = {
        .options = options, .terminal = &call->terminal, .capacity = UINT64_MAX, .progress.path = path};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    if (!options->usual.quiet)
        gm_bar_start(&run.progress.bar, &call->terminal, tell_progress, &run.progress);
    struct gm_text rules = {0};
    enum gm_status status = gm_rules_load(&run.rules, options->usual.categories, &rules, &err);
    gm_text_free(&rules);
    GM_THEN(status, gm_ignore_load(&run.ignore, &options->usual, &err));
    GM_THEN(status, gm_replay_run(&run, path, &err));
    gm_bar_stop(&run.progress.bar);
    if (!options->usual.quiet)
        gm_message_flush(&run.messages);
    if (status == GM_OK) {
        const enum gm_status outcome = gm_replay_status(&run);
        write_notices(&run, call, path, NULL);
        write_outputs(&run, call);
        gm_call_raise(call, outcome);
    } else {
        write_notices(&run, call, path, &err);
        gm_call_fail(call, status == GM_E_USAGE || status == GM_E_MISSING ? NULL : path, &err);
    }
    if (status == GM_OK && options->usual.verbose) {
        struct gm_text message = {0};
        gm_message_add(&message, &call->terminal, GM_MESSAGE_NOTE, NULL, "the model: %.1f million events/s",
                       gm_replay_speed(&run) * 1e-6);
        gm_message_flush(&message);
    }
    bool has_searched = run.search != NULL;
    gm_ignore_end(&run.ignore, call);
    gm_replay_free(&run);
    if (has_searched)
        gm_interrupt_release();
}

int main(int argc, char **argv)
{
    struct gm_replay_options options = GM_REPLAY_DEFAULTS;
    struct gm_call call = {.exit_code = 0};
    if (gm_call_begin(&call, &gm_replay_program, &argc, argv, &options))
        run_it(&options, &call, argv[0]);
    return gm_call_end(&call);
}
