/* SPDX-License-Identifier: Apache-2.0
 *
 * gmanalyze: a thin main. Options and operands in; for each snapshot a job (job.c); messages, summaries, JSON and the
 * exit code out.
 */
#include "analyze/cli/analyze_options.h"

#include "analyze/cli/job.h"
#include "analyze/cli/page_runs.h"
#include "analyze/cli/watch_folder.h"

static enum gm_status analyse_all(struct gm_analyze_context *context, char **paths, size_t count, struct gm_error *err)
{
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
        if ((watches && gm_watch_run(&context, &err) != GM_OK) ||
            (argc > 0 && analyse_all(&context, argv, (size_t)argc, &err) != GM_OK))
            gm_call_fail(&shell.said, NULL, &err);
        gm_call_time(&shell.said, "total");
    }
    return gm_shell_end(&shell);
}
