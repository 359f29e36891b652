/* SPDX-License-Identifier: Apache-2.0
 *
 * gmreplay: a thin main. Options in; load, replay; words, JSON, CSV and the exit code out.
 */
#include "analyze/cli/call.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"
#include "analyze/formats/gmtrace_write.h"
#include "render/render.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>

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
    if (o->output != NULL && gm_replay_write_snapshot(run, o->output, &err) != GM_OK) /* takes what is told apart */
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
        gm_formats_note_error(&notices, path, failure);
    else if (gm_formats_open_places(&places, usual, &err) != GM_OK)
        gm_call_fail(call, NULL, &err);
    if (failure == NULL) {
        gm_replay_notices(&notices, run, &places);
        gm_formats_close_places(&places);
    }
    gm_formats_put(call, &usual->formats, &notices);
    gm_notices_free(&notices);
}

static void run_it(const struct gm_replay_options *options, struct gm_call *call, const char *path)
{
    struct gm_replay_run run = {.options = options, .terminal = &call->terminal, .capacity = UINT64_MAX};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    if (!options->usual.quiet)
        gm_replay_progress_start(&run.progress, &call->terminal, path);
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
