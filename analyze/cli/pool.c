/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/pool.h"

#include "analyze/base/utf8.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GM_POOL_THREADS = 256 };

struct pool {
    struct gm_job *jobs;
    size_t count, next; /* next: the job that nobody has taken yet; under lock */
    const struct gm_analyze_context *context;
    pthread_mutex_t lock;
    pthread_cond_t finished; /* a job is done */
    struct timespec start;
    bool has_bar; /* a progress bar stands on the terminal */
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

/* ---- progress ---------------------------------------------------------------------------------------------------- */

enum { GM_BAR = 20, GM_BAR_LINE = 79 };

static void clear_bar(struct pool *pool)
{
    if (pool->has_bar) {
        struct gm_text line = {0};
        gm_text_printf(&line, "\r%*s\r", GM_BAR_LINE, "");
        gm_message_flush(&line);
    }
    pool->has_bar = false;
}

/* "[########            ] 3 of 8, 12 s: drawing rank3_memory_snapshot.pickle" */
static void draw_bar(struct pool *pool, const struct gm_job *job, long seconds)
{
    static const char *const verbs[] = {"waiting for", "reading", "analysing", "drawing", "writing", "done with"};
    size_t done = 0, steps = 0, all_steps = 0;
    for (size_t i = 0; i < pool->count; i++) {
        int stage = atomic_load(&pool->jobs[i].stage);
        done += stage == GM_JOB_DONE;
        steps += (size_t)stage;
        all_steps += GM_JOB_DONE;
    }
    size_t filled = all_steps == 0 ? 0 : GM_BAR * steps / all_steps;
    char bar[GM_BAR + 1] = "";
    memset(bar, ' ', GM_BAR);
    memset(bar, '#', filled);
    char text[GM_BAR_LINE + 1], clean[3 * sizeof text];
    const char *base = strrchr(job->path, '/');
    snprintf(text, sizeof text, "[%s] %zu of %zu, %ld s: %s %s", bar, done, pool->count, seconds,
             verbs[atomic_load(&job->stage)], base == NULL ? job->path : base + 1);
    gm_utf8_clean_line(clean, sizeof clean, text, strlen(text));
    struct gm_text line = {0};
    gm_text_printf(&line, "\r%-*s", GM_BAR_LINE, clean);
    gm_message_flush(&line);
    pool->has_bar = true;
}

/* Waits for `job`; wakes up now and then to show progress. */
static void await(struct pool *pool, struct gm_job *job)
{
    bool shows = pool->context->terminal.is_tty && !pool->context->options.quiet;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&job->stage) != GM_JOB_DONE) {
        if (!shows) {
            pthread_cond_wait(&pool->finished, &pool->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        long seconds = (long)(until.tv_sec - pool->start.tv_sec) - (until.tv_nsec < pool->start.tv_nsec);
        if (seconds >= 1)
            draw_bar(pool, job, seconds);
        until.tv_nsec += 200000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&pool->finished, &pool->lock, &until);
    }
    pthread_mutex_unlock(&pool->lock);
    clear_bar(pool);
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

void gm_pool_run(struct gm_job *jobs, size_t count, const struct gm_analyze_context *context, int threads,
                 gm_pool_done *done, void *argument)
{
    struct pool pool = {.jobs = jobs, .count = count, .context = context};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    clock_gettime(CLOCK_MONOTONIC, &pool.start);

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
