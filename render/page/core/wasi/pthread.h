/* SPDX-License-Identifier: Apache-2.0
 *
 * POSIX threads where there are none: WebAssembly in a page. Nothing can be started, so whoever asks works alone, and
 * locks have nobody to keep out. Found only by what is compiled for it.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#define PTHREAD_ONCE_INIT 0

static inline int pthread_create(pthread_t *thread, const void *how, void *(*run)(void *), void *argument)
{
    (void)thread, (void)how, (void)run, (void)argument;
    return EAGAIN;
}

static inline int pthread_join(pthread_t thread, void **result)
{
    (void)thread, (void)result;
    return EINVAL;
}

static inline int pthread_once(pthread_once_t *once, void (*run)(void))
{
    if (*once == PTHREAD_ONCE_INIT) {
        *once = 1;
        run();
    }
    return 0;
}

#define GM_PTHREAD_NOTHING(name, type)                                                                                 \
    static inline int name(type *object)                                                                               \
    {                                                                                                                  \
        (void)object;                                                                                                  \
        return 0;                                                                                                      \
    }
GM_PTHREAD_NOTHING(pthread_mutex_destroy, pthread_mutex_t)
GM_PTHREAD_NOTHING(pthread_mutex_lock, pthread_mutex_t)
GM_PTHREAD_NOTHING(pthread_mutex_unlock, pthread_mutex_t)
GM_PTHREAD_NOTHING(pthread_cond_destroy, pthread_cond_t)
GM_PTHREAD_NOTHING(pthread_cond_signal, pthread_cond_t)
GM_PTHREAD_NOTHING(pthread_cond_broadcast, pthread_cond_t)

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *how)
{
    (void)mutex, (void)how;
    return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condition, const void *how)
{
    (void)condition, (void)how;
    return 0;
}

static inline int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    (void)condition, (void)mutex;
    return 0;
}
