/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning up after killed runs. Results directories are shared between containers and machines, so what is left there
 * is removed only if its writer is surely gone:
 *
 *   - its mark is ours and no process has its id; nobody holds its lock, where there are locks; or
 *   - the file system is a local one, whose locks are seen here; nobody holds its lock, and nothing has happened in it
 *     for a day (longer than any run, and than the instant between making the directory and locking it).
 *
 * Anything else stays.
 */
#include "analyze/run/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

void gm_run_mark(char mark[GM_MARK])
{
    char text[64] = "";
    struct stat space;
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    bool is_known = fd >= 0 && read(fd, text, sizeof text - 1) >= 32 && stat("/proc/self/ns/pid", &space) == 0;
    if (fd >= 0)
        close(fd);
    for (const char *c = text; *c != '\0'; c++)
        sum = (sum ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (int i = 0; is_known && i < 64; i += 8)
        sum = (sum ^ ((uint64_t)space.st_ino >> i & 0xff)) * UINT64_C(0x100000001b3);
    snprintf(mark, GM_MARK, "%016" PRIx64, is_known ? sum : 0);
}

/* Who made a hidden name. */
struct writer {
    bool has_mark; /* older versions had none */
    bool is_here;  /* the mark is ours */
    bool is_dead;  /* if the process id is one of here */
};

/* Whether the name is PREFIX, a mark, '-', a process id, '-' and a number; `mark` is that of this process. */
static bool is_ours(const char *name, const char *prefix, const char mark[GM_MARK], struct writer *writer)
{
    static const char unknown[] = "0000000000000000";
    size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0)
        return false;
    const char *s = name + n;
    *writer = (struct writer){.has_mark = strspn(s, "0123456789abcdef") == GM_MARK - 1 && s[GM_MARK - 1] == '-'};
    if (writer->has_mark) {
        writer->is_here = strncmp(s, mark, GM_MARK - 1) == 0 && strcmp(mark, unknown) != 0;
        s += GM_MARK;
    }
    size_t first = strspn(s, "0123456789");
    size_t second = first > 0 && first < 10 && s[first] == '-' ? strspn(s + first + 1, "0123456789") : 0;
    if (second == 0 || s[first + 1 + second] != '\0')
        return false;
    const pid_t pid = (pid_t)strtol(s, NULL, 10);
    writer->is_dead = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    return pid > 0;
}

static bool is_old(int dir, const char *name)
{
    struct stat st;
    time_t now = time(NULL);
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < now &&
           now - st.st_mtime > GM_STALE_SECONDS;
}

/* Whether locks there are those of this machine. */
static bool is_local(int dir)
{
    static const unsigned long local[] = {0xef53 /* ext4 */,
                                          0x58465342 /* xfs */,
                                          0x9123683e /* btrfs */,
                                          0x01021994 /* tmpfs */,
                                          0x794c7630 /* overlayfs */,
                                          0xf2f52010 /* f2fs */,
                                          0x2fc12fc1 /* zfs */};
    struct statfs fs;
    const bool is_known = fstatfs(dir, &fs) == 0;
    for (size_t i = 0; is_known && i < sizeof local / sizeof *local; i++)
        if ((unsigned long)fs.f_type == local[i])
            return true;
    return false;
}

static void remove_stale_run(int dir, const char *name, const struct writer *writer)
{
    const bool is_gone =
        writer->is_here ? writer->is_dead : (writer->has_mark || writer->is_dead) && is_old(dir, name) && is_local(dir);
    int fd = is_gone ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || (writer->is_here && errno != EWOULDBLOCK))
        gm_remove_run(dir, name);
    close(fd);
}

void gm_remove_stale(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    char mark[GM_MARK];
    if (entries == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    gm_run_mark(mark);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        struct writer writer;
        const char *name = e->d_name;
        if (is_ours(name, GM_RUN_PREFIX, mark, &writer))
            remove_stale_run(dir, name, &writer);
        else if (is_ours(name, GM_LATEST_PREFIX, mark, &writer)
                     ? (writer.is_here && writer.is_dead) || is_old(dir, name)
                     : strncmp(name, GM_NAME_PREFIX, sizeof GM_NAME_PREFIX - 1) == 0 && is_old(dir, name))
            unlinkat(dir, name, 0);
    }
    closedir(entries);
}
