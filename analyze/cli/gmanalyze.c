/* SPDX-License-Identifier: Apache-2.0
 *
 * gmanalyze: a thin main. Options and operands in; for each snapshot a job (job.c); messages, summaries, JSON and the
 * exit code out.
 */
#include "analyze/cli/gmanalyze.h"

#include "analyze/cli/job.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/page_runs.h"

#include <stdlib.h>
#include <string.h>

/* Their names and paths; NULL: no memory. */
static struct gm_job *new_jobs(char **paths, size_t count, const char *name)
{
    struct gm_job *jobs = calloc(count, sizeof *jobs);
    char(*names)[GM_NAME_SIZE] = calloc(count, sizeof *names);
    bool ok = jobs != NULL && names != NULL;
    for (size_t i = 0; ok && i < count; i++)
        gm_operands_name(names[i], paths[i], name, count > 1);
    ok = ok && gm_operands_number(names, count);
    for (size_t i = 0; ok && i < count; i++) {
        jobs[i].path = paths[i];
        jobs[i].is_one_of_several = count > 1;
        memcpy(jobs[i].name, names[i], sizeof jobs[i].name);
    }
    free(names);
    if (!ok)
        free(jobs);
    return ok ? jobs : NULL;
}

static enum gm_status analyse_all(struct gm_analyze_context *context, char **paths, size_t count, struct gm_error *err)
{
    const struct gm_analyze_options *options = &context->options;
    GM_TRY(gm_shell_begin(context->shell, &options->usual, true, err));
    const int threads = context->shell->threads, workers = (size_t)threads < count ? threads : (int)count;
    context->draw_threads = threads / workers;
    struct gm_job *jobs = new_jobs(paths, count, options->usual.name);
    if (jobs == NULL)
        return gm_no_memory(err);
    gm_outcome_run(context, jobs, count, workers);
    free(jobs);
    return GM_OK;
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
        if (argc > 0 && analyse_all(&context, argv, (size_t)argc, &err) != GM_OK)
            gm_call_fail(&shell.said, NULL, &err);
        gm_call_time(&shell.said, "total");
    }
    return gm_shell_end(&shell);
}
