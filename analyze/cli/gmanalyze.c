/* SPDX-License-Identifier: Apache-2.0
 *
 * gmanalyze: a thin main. Options and operands in; for each snapshot a job (job.c); messages, summaries, JSON and the
 * exit code out.
 */
#include "analyze/cli/analyze_options.h"

#include "analyze/cli/interrupt.h"
#include "analyze/cli/job.h"
#include "analyze/cli/page_runs.h"
#include "analyze/fleet/arrivals.h"

#include <stdlib.h>
#include <sys/stat.h>

static enum gm_status report(struct gm_analyze_context *context, const struct gm_found_files *files,
                             struct gm_error *err)
{
    GM_FREED char **paths = calloc(files->n, sizeof *paths);
    if (paths == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < files->n; i++)
        paths[i] = files->v[i].path;
    context->shell->when = time(NULL);
    return gm_outcome_of_paths(context, paths, files->n, true, err);
}

static void tell_beginning(const struct gm_analyze_context *context, size_t known)
{
    GM_FREED struct gm_text text = {0};
    gm_text_printf(&text, "%s: waiting for snapshots; Ctrl-C ends it", context->options.watch);
    if (known > 0)
        gm_text_printf(&text, "; %zu that %s there already %s left out", known, known == 1 ? "is" : "are",
                       known == 1 ? "is" : "are");
    if (!text.failed)
        gm_call_note(&context->shell->said, text.data);
}

/* --watch: each snapshot that appears in a directory is reported as if it had been named, until a signal comes (a
 * second one ends the program at once), or nobody reads standard output any more. */
static enum gm_status watch_folder(struct gm_analyze_context *context, struct gm_error *err)
{
    struct gm_shell *shell = context->shell;
    const struct gm_analyze_options *options = &context->options;
    struct gm_arrivals *arrivals;
    size_t known;
    GM_TRY(gm_shell_begin(shell, &options->usual, true, err));
    enum gm_status status = gm_arrivals_open(&arrivals, options->watch, options->usual.results, &known, err);
    if (status != GM_OK) {
        gm_call_fail(&shell->said, options->watch, err);
        return GM_OK;
    }
    tell_beginning(context, known);
    gm_interrupt_hold(); /* not released: a signal ends the loop, and the exit code is that of what was reported */
    while (status == GM_OK && !gm_interrupt_is_pending() && !shell->said.has_lost_reader) {
        GM_FREED_BY(gm_found_files_free) struct gm_found_files ready = {0};
        status = gm_arrivals_wait(arrivals, &ready, err);
        if (status == GM_OK && ready.n > 0)
            status = report(context, &ready, err);
    }
    gm_arrivals_free(arrivals);
    return status;
}

/* A file that takes more memory than charts. */
static bool is_large(const char *path)
{
    enum { LARGE = 48 << 20 };
    struct stat about;
    return stat(path, &about) == 0 && about.st_size >= LARGE;
}

static enum gm_status analyse_all(struct gm_analyze_context *context, char **paths, size_t count, struct gm_error *err)
{
    for (size_t i = 0; i < count; i++)
        context->shell->draws_late |= is_large(paths[i]);
    if (context->shell->draws_late)
        gm_call_keep_lower();
    GM_TRY(gm_shell_begin(context->shell, &context->options.usual, true, err));
    return gm_outcome_of_paths(context, paths, count, count > 1, err);
}

int main(int argc, char **argv)
{
    struct gm_shell shell = {.threads = 0};
    struct gm_analyze_context context = {.options = GM_ANALYZE_DEFAULTS, .shell = &shell};
    struct gm_error err;
    context.options.usual.results = NULL; /* an operand may say */
    if (gm_call_begin(&shell.said, &gm_analyze_program, &argc, argv, &context.options)) {
        context.terminal = shell.said.terminal;
        if (context.options.viewer != NULL)
            gm_page_put_empty(&shell.said, context.options.viewer);
        if (context.options.chart && !context.options.usual.quiet && !context.options.usual.no_charts)
            context.pictures = gm_pictures_ask();
        const bool watches = context.options.watch != NULL;
        if ((watches && watch_folder(&context, &err) != GM_OK) ||
            (argc > 0 && analyse_all(&context, argv, (size_t)argc, &err) != GM_OK))
            gm_call_fail(&shell.said, NULL, &err);
        gm_call_time(&shell.said, "total");
    }
    return gm_shell_end(&shell);
}
