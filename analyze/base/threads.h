/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of several threads that take numbered tasks, each the next one that nobody has begun.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct gm_threads {
    void (*task)(void *argument, size_t i);
    void *argument;
    size_t count, helper_count;
    atomic_size_t next; /* task that nobody has taken */
    pthread_t *helpers;
};

/* Lets up to `helpers` threads do task(argument, i) for each i below `count`, while the caller does something else. A
 * thread that cannot be made only makes it slower. `threads` must stay where it is until gm_threads_finish. */
void gm_threads_start(struct gm_threads *threads, size_t count, size_t helpers, void (*task)(void *argument, size_t i),
                      void *argument);
/* Does what nobody has begun yet, and waits for the rest. To be called once. */
void gm_threads_finish(struct gm_threads *threads);
/* Both, in `width` threads with the caller's. */
void gm_threads_run(struct gm_threads *threads, size_t count, size_t width, void (*task)(void *argument, size_t i),
                    void *argument);
