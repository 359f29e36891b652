/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job.h"

#include "analyze/base/threads.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 100 }; /* of a stage */

struct outcome {
    const struct gm_analyze_context *context;
    struct gm_text json; /* so far: of several snapshots an array */
    struct gm_notices notices;
    struct gm_run *last; /* of the last operand that succeeded */
    struct gm_job *jobs;
    size_t count;
    atomic_size_t told;   /* jobs, from the first one on */
    pthread_mutex_t lock; /* of those who tell */
    struct gm_bar bar;
};

static void collect_json(struct outcome *outcome, const struct gm_job *job)
{
    if (outcome->context->options.usual.json == NULL)
        return;
    if (outcome->count > 1)
        gm_text_add(&outcome->json, outcome->json.length == 0 ? "[\n" : ",\n");
    size_t length = job->json.length;
    if (outcome->count > 1 && length > 0 && job->json.data[length - 1] == '\n')
        length--;
    gm_text_add_bytes(&outcome->json, job->json.data, length);
}

/* Tells a job that is done, and frees it. */
static void add(struct outcome *outcome, struct gm_job *job)
{
    struct gm_shell *shell = outcome->context->shell;
    gm_call_raise(&shell->said, job->status);
    gm_message_flush(&job->messages);
    for (size_t i = 0; i < job->notices.all.n; i++)
        gm_notices_add(&outcome->notices, &job->notices.all.v[i], NULL);
    outcome->notices.failed = outcome->notices.failed || job->notices.failed;
    if (job->run != NULL) {
        collect_json(outcome, job);
        gm_shell_print(shell, &job->summary);
        gm_call_print(&shell->said, &job->explained);
        gm_run_free(outcome->last);
        outcome->last = job->run;
        job->run = NULL;
    }
    gm_job_free(job);
}

/* "[########            ] 3 of 8, 12 s: drawing rank3_memory_snapshot.pickle"; of what is read its bytes; of one file
 * without "0 of 1". */
static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    static const char *const verbs[] = {"waiting for", "reading", "analysing", "drawing", "writing", "done with"};
    const struct outcome *o = argument;
    const size_t told = atomic_load(&o->told);
    const struct gm_job *job = &o->jobs[told < o->count ? told : o->count - 1];
    size_t done = 0;
    for (size_t i = 0; i < o->count; i++) {
        const int stage = atomic_load(&o->jobs[i].stage);
        done += stage == GM_JOB_DONE;
        line->done += STEPS * (size_t)stage;
        const uint64_t bytes = atomic_load(&o->jobs[i].reading.all);
        if (stage == GM_JOB_LOADS && bytes > 0)
            line->done += STEPS * atomic_load(&o->jobs[i].reading.done) / bytes;
    }
    const int stage = atomic_load(&job->stage);
    line->all = STEPS * o->count * GM_JOB_DONE;
    if (o->count > 1)
        gm_text_printf(&line->text, "%zu of %zu, ", done, o->count);
    if (stage == GM_JOB_LOADS && gm_bar_add_reading(&line->text, &job->reading))
        gm_text_add(&line->text, ":");
    else
        gm_text_printf(&line->text, "%d s: %s", (int)seconds, verbs[stage]);
    gm_text_printf(&line->text, " %s", gm_file_name(job->path));
}

static void work(void *argument, size_t i)
{
    struct outcome *o = argument;
    gm_job_run(&o->jobs[i], o->context);
    pthread_mutex_lock(&o->lock);
    for (size_t k; (k = atomic_load(&o->told)) < o->count && atomic_load(&o->jobs[k].stage) == GM_JOB_DONE;) {
        gm_bar_hold(&o->bar);
        add(o, &o->jobs[k]);
        atomic_store(&o->told, k + 1);
        gm_bar_release(&o->bar);
    }
    pthread_mutex_unlock(&o->lock);
}

void gm_outcome_run(const struct gm_analyze_context *context, struct gm_job *jobs, size_t count, int threads)
{
    struct outcome o = {.context = context, .jobs = jobs, .count = count};
    struct gm_threads pool;
    pthread_mutex_init(&o.lock, NULL);
    gm_bar_start(&o.bar, context->options.usual.quiet ? NULL : &context->terminal, tell, &o);
    gm_threads_run(&pool, count, (size_t)threads, work, &o);
    gm_bar_stop(&o.bar);
    pthread_mutex_destroy(&o.lock);
    if (o.last != NULL)
        gm_shell_point_latest(context->shell, o.last);
    if (o.json.length > 0 || o.json.failed) { /* else no snapshot succeeded, or none is wanted */
        if (count > 1)
            gm_text_add(&o.json, "\n]\n");
        gm_call_put(&context->shell->said, context->options.usual.json, &o.json);
    }
    gm_formats_put(&context->shell->said, &context->options.usual.formats, &o.notices);
    gm_run_free(o.last);
    gm_text_free(&o.json);
    gm_notices_free(&o.notices);
}

/* Their names and paths; NULL: no memory. */
static struct gm_job *new_jobs(char **paths, size_t count, const char *name, bool are_several)
{
    struct gm_job *jobs = calloc(count, sizeof *jobs);
    char(*names)[GM_NAME_SIZE] = calloc(count, sizeof *names);
    bool ok = jobs != NULL && names != NULL;
    for (size_t i = 0; ok && i < count; i++)
        gm_operands_name(names[i], paths[i], name, are_several);
    ok = ok && gm_operands_number(names, count);
    for (size_t i = 0; ok && i < count; i++) {
        jobs[i].path = paths[i];
        jobs[i].is_one_of_several = are_several;
        memcpy(jobs[i].name, names[i], sizeof jobs[i].name);
    }
    free(names);
    if (!ok)
        free(jobs);
    return ok ? jobs : NULL;
}

enum gm_status gm_outcome_of_paths(struct gm_analyze_context *context, char **paths, size_t count, bool are_several,
                                   struct gm_error *err)
{
    const int threads = context->shell->threads, workers = (size_t)threads < count ? threads : (int)count;
    GM_FREED struct gm_job *jobs = new_jobs(paths, count, context->options.usual.name, are_several);
    if (jobs == NULL)
        return gm_no_memory(err);
    context->draw_threads = threads / workers;
    gm_outcome_run(context, jobs, count, workers);
    return GM_OK;
}
