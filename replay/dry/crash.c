/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that crashes may have been given something wrong by a function here: the last one that its thread called
 * is told. The files of this library are compiled so that each function announces itself when it is entered
 * (-finstrument-functions), but for this file; those that programs call lie together in a section of their own.
 */
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>

/* Names that compilers and linkers give. */
extern const char __start_dry_api[], __stop_dry_api[];     // NOLINT(bugprone-reserved-identifier)
void __cyg_profile_func_enter(void *function, void *site); // NOLINT(bugprone-reserved-identifier)
void __cyg_profile_func_exit(void *function, void *site);  // NOLINT(bugprone-reserved-identifier)

static _Thread_local void *last;
static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];
static atomic_bool is_watching; /* from the first call on */

/* What was there before has its turn after us: the signal comes again. */
static void on_crash(int number, siginfo_t *info, void *context)
{
    Dl_info function = {.dli_sname = NULL};
    const bool has_address = info->si_code > 0 && (number == SIGSEGV || number == SIGBUS);
    if (last != NULL)
        dladdr(last, &function);
    dry_tell_crash(number, function.dli_sname, has_address && dry_is_device(info->si_addr));
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
}

static void watch(void)
{
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
}

void __cyg_profile_func_enter(void *function, void *site) // NOLINT(bugprone-reserved-identifier)
{
    const char *at = function;
    if (at < __start_dry_api || at >= __stop_dry_api)
        return;
    last = function;
    if (!is_watching && !atomic_exchange(&is_watching, true))
        watch();
}

void __cyg_profile_func_exit(void *function, void *site) // NOLINT(bugprone-reserved-identifier)
{
}
