/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning up after killed runs. A process id alone is no proof of death: results directories are shared between
 * containers and machines. So age and the lock, which the kernel drops with its holder, must agree.
 */
#include "analyze/run/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void gm_remove_run(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        if (fd >= 0)
            close(fd);
    } else {
        for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
            if (!is_dot(e->d_name))
                unlinkat(fd, e->d_name, 0);
        closedir(entries);
    }
    unlinkat(dir, name, AT_REMOVEDIR);
}

/* Whether name is PREFIX, a process id, '-' and a number; stores the id. */
static bool is_ours(const char *name, const char *prefix, pid_t *pid)
{
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0)
        return false;
    const char *s = name + n;
    size_t first = strspn(s, "0123456789");
    size_t second = first > 0 && first < 10 && s[first] == '-' ? strspn(s + first + 1, "0123456789") : 0;
    if (second == 0 || s[first + 1 + second] != '\0')
        return false;
    *pid = (pid_t)strtol(s, NULL, 10);
    return *pid > 0;
}

static bool is_old(int dir, const char *name)
{
    struct stat st;
    time_t now = time(NULL);
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < now &&
           now - st.st_mtime > GM_STALE_SECONDS;
}

static bool is_dead(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static void remove_stale_run(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        gm_remove_run(dir, name);
    close(fd);
}

void gm_remove_stale(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        pid_t pid = 0;
        const char *name = e->d_name;
        if (strncmp(name, ".gm-", 4) != 0 || !is_old(dir, name))
            continue;
        if (is_ours(name, GM_RUN_PREFIX, &pid) && is_dead(pid))
            remove_stale_run(dir, name);
        else if ((is_ours(name, GM_LATEST_PREFIX, &pid) && is_dead(pid)) ||
                 strncmp(name, GM_NAME_PREFIX, sizeof GM_NAME_PREFIX - 1) == 0)
            unlinkat(dir, name, 0);
    }
    closedir(entries);
}
