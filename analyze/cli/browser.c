/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/browser.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* $1 is the file. */
static const char script[] = "set -f; IFS=:\n"
                             "for one in ${BROWSER:-xdg-open}; do\n"
                             "    case $one in\n"
                             "    *%s*) one=${one%%%s*}'\"$1\"'${one#*%s} ;;\n"
                             "    *) one=$one' \"$1\"' ;;\n"
                             "    esac\n"
                             "    unset IFS\n"
                             "    eval \"$one\" >&2 && exit\n"
                             "done\n"
                             "exit 1\n";

/* Whether a child goes on for two seconds, or has ended well by then. */
static bool has_begun(pid_t child)
{
    enum { LOOKS = 100 };
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    int status = 0;
    for (int i = 0; i < LOOKS; i++) {
        if (waitpid(child, &status, WNOHANG) != 0)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&pause, NULL);
    }
    return true;
}

enum gm_status gm_browser_open(const char *path, struct gm_error *err)
{
    char *whole = realpath(path, NULL);
    const char *const argv[] = {"sh", "-c", script, "sh", whole != NULL ? whole : path, NULL};
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t child = 0;
    bool is_open = false;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE); /* which we ignore */
    if (posix_spawnattr_init(&attributes) == 0) {
        is_open = posix_spawnattr_setsigdefault(&attributes, &signals) == 0 &&
                  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF) == 0 &&
                  posix_spawn(&child, "/bin/sh", NULL, &attributes, (char *const *)(uintptr_t)argv, environ) == 0 &&
                  has_begun(child);
        posix_spawnattr_destroy(&attributes);
    }
    free(whole);
    return is_open ? GM_OK
                   : gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                             "--open: no browser shows %s: neither $BROWSER, if it is set, nor else xdg-open", path);
}
