/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/threads.h"

#include "analyze/base/arithmetic.h"

#include <stdlib.h>

static void *work(void *argument)
{
    struct gm_threads *t = argument;
    for (size_t i; (i = atomic_fetch_add(&t->next, 1)) < t->count;)
        t->task(t->argument, i);
    return NULL;
}

void gm_threads_start(struct gm_threads *threads, size_t count, size_t helpers, void (*task)(void *argument, size_t i),
                      void *argument)
{
    struct gm_threads *t = threads;
    const size_t wanted = gm_min(helpers, count);
    *t = (struct gm_threads){.task = task, .argument = argument, .count = count};
    t->helpers = malloc((wanted + 1) * sizeof *t->helpers);
    while (t->helpers != NULL && t->helper_count < wanted &&
           pthread_create(&t->helpers[t->helper_count], NULL, work, t) == 0)
        t->helper_count++;
}

void gm_threads_finish(struct gm_threads *threads)
{
    work(threads);
    for (size_t i = 0; i < threads->helper_count; i++)
        pthread_join(threads->helpers[i], NULL);
    free(threads->helpers);
    threads->helpers = NULL;
}

void gm_threads_run(struct gm_threads *threads, size_t count, size_t width, void (*task)(void *argument, size_t i),
                    void *argument)
{
    gm_threads_start(threads, count, gm_min(width, count) - (width > 0 && count > 0), task, argument);
    gm_threads_finish(threads);
}
