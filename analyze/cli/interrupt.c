/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* A handler can only reach globals. Both sides write their own word before they read the other's, so a signal that
 * comes just as the last writer leaves is seen by one of the two. */
static atomic_int holders;
static atomic_int pending;

static void die_of(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    int earlier = atomic_exchange(&pending, number);
    if (atomic_load(&holders) == 0 || earlier != 0)
        die_of(number);
}

void gm_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        /* What the caller ignores (nohup) stays ignored. */
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void gm_interrupt_hold(void)
{
    atomic_fetch_add(&holders, 1);
}

void gm_interrupt_release(void)
{
    if (atomic_fetch_sub(&holders, 1) == 1) {
        int number = atomic_load(&pending);
        if (number != 0)
            die_of(number);
    }
}

bool gm_interrupt_is_pending(void)
{
    return atomic_load(&pending) != 0;
}
