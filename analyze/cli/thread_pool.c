/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/pool.h"

#include "analyze/cli/bar.h"

#include <pthread.h>
#include <string.h>

enum { GM_POOL_THREADS = 256 };

struct pool {
    struct gm_job *jobs;
    size_t count, next; /* next: the job that nobody has taken yet; under lock */
    const struct gm_analyze_context *context;
    pthread_mutex_t lock;
    pthread_cond_t finished; /* a job is done */
    struct gm_bar bar;
};

static void *work(void *argument)
{
    struct pool *pool = argument;
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        size_t i = pool->next < pool->count ? pool->next++ : pool->count;
        pthread_mutex_unlock(&pool->lock);
        if (i == pool->count)
            return NULL;
        gm_job_run(&pool->jobs[i], pool->context);
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->finished);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* "[########            ] 3 of 8, 12 s: drawing rank3_memory_snapshot.pickle" */
static void draw(struct pool *pool, const struct gm_job *job, double seconds)
{
    static const char *const verbs[] = {"waiting for", "reading", "analysing", "drawing", "writing", "done with"};
    size_t done = 0, steps = 0;
    for (size_t i = 0; i < pool->count; i++) {
        int stage = atomic_load(&pool->jobs[i].stage);
        done += stage == GM_JOB_DONE;
        steps += (size_t)stage;
    }
    struct gm_text text = {0};
    const char *base = strrchr(job->path, '/');
    gm_text_printf(&text, "%zu of %zu, %d s: %s %s", done, pool->count, (int)seconds, verbs[atomic_load(&job->stage)],
                   base == NULL ? job->path : base + 1);
    gm_bar_draw(&pool->bar, steps, pool->count * GM_JOB_DONE, &text);
}

/* Waits for `job`; wakes up now and then to show progress. */
static void await(struct pool *pool, struct gm_job *job)
{
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&job->stage) != GM_JOB_DONE) {
        const double seconds = gm_bar_due(&pool->bar);
        if (seconds > 0)
            draw(pool, job, seconds);
        gm_bar_wait(&pool->finished, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    gm_bar_clear(&pool->bar);
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

void gm_pool_run(struct gm_job *jobs, size_t count, const struct gm_analyze_context *context, int threads,
                 gm_pool_done *done, void *argument)
{
    struct pool pool = {.jobs = jobs, .count = count, .context = context};
    pthread_mutex_init(&pool.lock, NULL);
    gm_bar_init_condition(&pool.finished);
    gm_bar_start(&pool.bar, context->options.quiet ? NULL : &context->terminal);

    pthread_t worker[GM_POOL_THREADS];
    int workers = 0;
    while (workers < GM_POOL_THREADS && workers < threads && (size_t)workers < count &&
           pthread_create(&worker[workers], NULL, work, &pool) == 0)
        workers++;
    if (workers == 0)
        work(&pool);
    for (size_t i = 0; i < count; i++) {
        await(&pool, &jobs[i]);
        done(argument, &jobs[i]);
    }
    for (int i = 0; i < workers; i++)
        pthread_join(worker[i], NULL);
    pthread_cond_destroy(&pool.finished);
    pthread_mutex_destroy(&pool.lock);
}
