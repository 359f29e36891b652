/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/outcome.h"

#include "analyze/base/threads.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/paths.h"

#include <string.h>

static void collect_json(struct gm_outcome *outcome, const struct gm_job *job)
{
    if (outcome->context->options.json == NULL)
        return;
    if (outcome->is_array)
        gm_text_add(&outcome->json, outcome->json.length == 0 ? "[\n" : ",\n");
    size_t length = job->json.length;
    if (outcome->is_array && length > 0 && job->json.data[length - 1] == '\n')
        length--;
    gm_text_add_bytes(&outcome->json, job->json.data, length);
}

/* Tells a job that is done, and frees it. */
static void add(struct gm_outcome *outcome, struct gm_job *job)
{
    gm_call_raise(&outcome->said, job->status);
    gm_message_flush(&job->messages);
    if (job->run != NULL) {
        collect_json(outcome, job);
        if (!outcome->context->options.quiet && !gm_path_is_standard(outcome->context->options.json))
            gm_call_print(&outcome->said, &job->summary);
        gm_call_print(&outcome->said, &job->explained);
        gm_run_free(outcome->last);
        outcome->last = job->run;
        job->run = NULL;
    }
    gm_job_free(job);
}

static void point_latest(struct gm_outcome *outcome)
{
    struct gm_error err;
    bool was_left_alone = false;
    if (outcome->last == NULL)
        return;
    gm_interrupt_hold();
    enum gm_status status = gm_run_point_latest(outcome->last, &was_left_alone, &err);
    gm_interrupt_release();
    if (status != GM_OK)
        gm_call_fail(&outcome->said, NULL, &err);
    if (was_left_alone)
        gm_call_warn(&outcome->said, outcome->context->options.results,
                     "'latest' there is no symbolic link; left as it is");
}

static void write_json(struct gm_outcome *outcome)
{
    if (outcome->json.length == 0 && !outcome->json.failed)
        return; /* no snapshot succeeded, or none is wanted */
    if (outcome->is_array)
        gm_text_add(&outcome->json, "\n]\n");
    gm_call_put(&outcome->said, outcome->context->options.json, &outcome->json);
}

/* ---- the jobs ---------------------------------------------------------------------------------------------------- */

struct jobs {
    struct gm_outcome *outcome;
    struct gm_job *v;
    size_t count;
    atomic_size_t told;   /* jobs, from the first one on */
    pthread_mutex_t lock; /* of those who tell */
    struct gm_bar bar;
};

/* "[########            ] 3 of 8, 12 s: drawing rank3_memory_snapshot.pickle" */
static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    static const char *const verbs[] = {"waiting for", "reading", "analysing", "drawing", "writing", "done with"};
    const struct jobs *jobs = argument;
    const size_t told = atomic_load(&jobs->told);
    const struct gm_job *job = &jobs->v[told < jobs->count ? told : jobs->count - 1];
    const char *base = strrchr(job->path, '/');
    size_t done = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        const int stage = atomic_load(&jobs->v[i].stage);
        done += stage == GM_JOB_DONE;
        line->done += (size_t)stage;
    }
    line->all = jobs->count * GM_JOB_DONE;
    gm_text_printf(&line->text, "%zu of %zu, %d s: %s %s", done, jobs->count, (int)seconds,
                   verbs[atomic_load(&job->stage)], base == NULL ? job->path : base + 1);
}

static void work(void *argument, size_t i)
{
    struct jobs *jobs = argument;
    gm_job_run(&jobs->v[i], jobs->outcome->context);
    pthread_mutex_lock(&jobs->lock);
    for (size_t k; (k = atomic_load(&jobs->told)) < jobs->count && atomic_load(&jobs->v[k].stage) == GM_JOB_DONE;) {
        gm_bar_hold(&jobs->bar);
        add(jobs->outcome, &jobs->v[k]);
        atomic_store(&jobs->told, k + 1);
        gm_bar_release(&jobs->bar);
    }
    pthread_mutex_unlock(&jobs->lock);
}

void gm_outcome_run(struct gm_outcome *outcome, struct gm_job *jobs, size_t count, int threads)
{
    const struct gm_analyze_context *context = outcome->context;
    struct jobs all = {.outcome = outcome, .v = jobs, .count = count};
    struct gm_threads pool;
    pthread_mutex_init(&all.lock, NULL);
    gm_bar_start(&all.bar, context->options.quiet ? NULL : &context->terminal, tell, &all);
    gm_threads_run(&pool, count, (size_t)threads, work, &all);
    gm_bar_stop(&all.bar);
    pthread_mutex_destroy(&all.lock);
    point_latest(outcome);
    write_json(outcome);
}

void gm_outcome_free(struct gm_outcome *outcome)
{
    gm_run_free(outcome->last);
    gm_text_free(&outcome->json);
}
