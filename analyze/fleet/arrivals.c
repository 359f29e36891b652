/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fleet/arrivals.h"

#include "analyze/base/clock.h"
#include "analyze/base/freed.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds between two looks: while a file is on its way, otherwise, and at least if something changes all the
 * time. A look that takes long is made less often. */
enum { LOOK_SOON = 200, LOOK_ELSE = 1000, LOOK_AFTER = 20, LOOK_SHARE = 10 };

struct known {
    struct gm_found_file file;
    double since; /* when it was first seen as it is */
    bool is_told;
};
struct gm_arrivals {
    char *directory;
    const char *except;
    int changes;                     /* inotify; -1: none */
    struct GM_VEC(struct known) now; /* by path */
    bool is_waiting;                 /* a file is on its way */
    double last_look, look_took;     /* seconds */
};

/* ---- is it complete? --------------------------------------------------------------------------------------------- */

/* Whether this machine's kernel knows of all that have files of that system open. */
static bool is_local(int fd)
{
    static const unsigned kinds[] = {
        /* ext4 */ 0xEF53,      /* xfs */ 0x58465342,     /* btrfs */ 0x9123683E,
        /* tmpfs */ 0x01021994, /* overlay */ 0x794C7630, /* zfs */ 0x2FC12FC1,
        /* f2fs */ 0xF2F52010,  /* bcachefs */ 0xCA451A4E};
    struct statfs about;
    bool is_one = false;
    if (fstatfs(fd, &about) == 0)
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            is_one = is_one || (unsigned)about.f_type == kinds[i];
    return is_one;
}

enum answer { NOT_KNOWN, WRITTEN, COMPLETE };

/* A lease to read is refused while anybody has the file open to write it. One that is given goes back at once: a writer
 * that comes in between waits for that. */
static enum answer ask_kernel(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    enum answer answer = NOT_KNOWN;
    if (fd < 0)
        return NOT_KNOWN;
    if (is_local(fd)) {
        const bool is_given = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
        answer = is_given ? COMPLETE : errno == EAGAIN ? WRITTEN : NOT_KNOWN;
        if (is_given)
            (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    }
    (void)close(fd);
    return answer;
}

static bool is_complete(const struct known *one, double now)
{
    const enum answer answer = ask_kernel(one->file.path);
    const bool is_quiet = now - one->since >= GM_ARRIVAL_QUIET;
    return answer == COMPLETE ? one->file.bytes > 0 || is_quiet : answer == NOT_KNOWN && is_quiet;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* What is hidden is somebody's file on its way, and what cannot be looked at has gone again. */
static bool is_taken(const struct gm_found_file *file)
{
    return file->status == GM_OK && gm_file_name(file->path)[0] != '.';
}

static bool is_same(const struct gm_found_file *a, const struct gm_found_file *b)
{
    return a->bytes == b->bytes && a->mtime[0] == b->mtime[0] && a->mtime[1] == b->mtime[1];
}

/* Has changes in the folder of a new file told; what cannot be watched is found when its turn comes. */
static void follow(const struct gm_arrivals *a, const char *path, size_t length)
{
    GM_FREED char *folder = a->changes < 0 ? NULL : strndup(path, length);
    if (folder != NULL)
        (void)inotify_add_watch(a->changes, folder, IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
}

static void free_known(struct known *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i].file.path);
    free(v);
}

/* What is there now takes the place of what was there; of the files that are the same what is known stays. */
static enum gm_status look(struct gm_arrivals *a, struct gm_error *err)
{
    GM_FREED_BY(gm_found_files_free) struct gm_found_files found = {0};
    const double now = gm_seconds();
    enum gm_status status = gm_find_files(&found, &a->directory, 1, a->except, err);
    struct known *all = status == GM_OK ? calloc(found.n + 1, sizeof *all) : NULL;
    if (status == GM_OK && all == NULL)
        status = gm_no_memory(err);
    size_t n = 0, old = 0;
    for (size_t i = 0; all != NULL && i < found.n; i++) {
        if (!is_taken(&found.v[i]))
            continue;
        int order = -1;
        while (old < a->now.n && (order = strcmp(a->now.v[old].file.path, found.v[i].path)) < 0)
            old++;
        const struct known *before = old < a->now.n && order == 0 ? &a->now.v[old] : NULL;
        all[n] = (struct known){.file = found.v[i], .since = now};
        found.v[i].path = NULL;
        if (before == NULL)
            follow(a, all[n].file.path, (size_t)(gm_file_name(all[n].file.path) - all[n].file.path));
        else if (is_same(&before->file, &all[n].file))
            all[n].since = before->since, all[n].is_told = before->is_told;
        n++;
    }
    if (status == GM_OK) {
        free_known(a->now.v, a->now.n);
        a->now.v = all;
        a->now.n = a->now.capacity = n;
    }
    a->last_look = gm_seconds();
    a->look_took = a->last_look - now;
    return status;
}

enum gm_status gm_arrivals_open(struct gm_arrivals **arrivals, const char *directory, const char *except, size_t *known,
                                struct gm_error *err)
{
    *arrivals = NULL;
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "cannot watch: %s", strerror(errno));
    (void)close(fd);
    struct gm_arrivals *a = calloc(1, sizeof *a);
    char *copy = strdup(directory);
    if (a == NULL || copy == NULL) {
        GM_FREE_ALL(a, copy);
        return gm_no_memory(err);
    }
    /* Who wants to write while a lease is given has the kernel tell its holder; that would end us. */
    signal(SIGIO, SIG_IGN);
    *a = (struct gm_arrivals){.directory = copy, .except = except, .changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
    follow(a, copy, strlen(copy));
    const enum gm_status status = look(a, err);
    *known = 0;
    for (size_t i = 0; i < a->now.n; i++) {
        const struct gm_found_file *file = &a->now.v[i].file;
        const enum answer answer = ask_kernel(file->path);
        const bool is_quiet = time(NULL) - (time_t)file->mtime[0] >= GM_ARRIVAL_QUIET;
        a->now.v[i].is_told = answer == COMPLETE || (answer == NOT_KNOWN && is_quiet);
        a->is_waiting = a->is_waiting || !a->now.v[i].is_told;
        *known += a->now.v[i].is_told;
    }
    if (status == GM_OK)
        *arrivals = a;
    else
        gm_arrivals_free(a);
    return status;
}

void gm_arrivals_free(struct gm_arrivals *a)
{
    if (a == NULL)
        return;
    if (a->changes >= 0)
        (void)close(a->changes);
    free_known(a->now.v, a->now.n);
    GM_FREE_ALL(a->directory, a);
}

/* Until something changes, but no sooner after the last look than the cost of looks allows. */
static void wait_for_change(const struct gm_arrivals *a)
{
    char told[4096];
    struct pollfd changes = {.fd = a->changes, .events = POLLIN};
    const double cost = 1e3 * LOOK_SHARE * a->look_took, next = a->is_waiting ? LOOK_SOON : LOOK_ELSE;
    const int most = (int)(cost > next ? cost : next), least = (int)(cost > LOOK_AFTER ? cost : LOOK_AFTER);
    (void)poll(&changes, 1, most); /* a descriptor of -1 is not looked at */
    const int early = least - (int)(1e3 * (gm_seconds() - a->last_look));
    if (early > 0)
        (void)poll(NULL, 0, early);
    while (a->changes >= 0 && read(a->changes, told, sizeof told) > 0)
        continue; /* what it was is seen by looking */
}

enum gm_status gm_arrivals_wait(struct gm_arrivals *a, struct gm_found_files *ready, struct gm_error *err)
{
    wait_for_change(a);
    GM_TRY(look(a, err));
    a->is_waiting = false;
    for (size_t i = 0; i < a->now.n; i++) {
        struct known *one = &a->now.v[i];
        if (!one->is_told && is_complete(one, a->last_look)) {
            struct gm_found_file file = one->file;
            file.path = strdup(file.path);
            if (file.path == NULL || !GM_VEC_PUSH(ready, file)) {
                free(file.path);
                return gm_no_memory(err);
            }
            one->is_told = true;
        }
        a->is_waiting = a->is_waiting || !one->is_told;
    }
    return GM_OK;
}
