/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/hidden.h"

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

void gm_hidden_mark(char mark[GM_MARK])
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

char *gm_hidden_tail(char out[GM_HIDDEN_TAIL], unsigned n)
{
    char mark[GM_MARK];
    gm_hidden_mark(mark);
    snprintf(out, GM_HIDDEN_TAIL, "%s-%ld-%u", mark, (long)getpid(), n);
    return out;
}

bool gm_hidden_read(struct gm_hidden_writer *writer, const char *tail, char separator, const char mark[GM_MARK])
{
    static const char unknown[] = "0000000000000000";
    const char *s = tail;
    *writer =
        (struct gm_hidden_writer){.has_mark = strspn(s, "0123456789abcdef") == GM_MARK - 1 && s[GM_MARK - 1] == '-'};
    if (writer->has_mark) {
        writer->is_here = strncmp(s, mark, GM_MARK - 1) == 0 && strcmp(mark, unknown) != 0;
        s += GM_MARK;
        separator = '-';
    }
    size_t first = strspn(s, "0123456789");
    size_t second = first > 0 && first < 10 && s[first] == separator ? strspn(s + first + 1, "0123456789") : 0;
    if (second == 0 || s[first + 1 + second] != '\0')
        return false;
    const pid_t pid = (pid_t)strtol(s, NULL, 10);
    writer->is_dead = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    return pid > 0;
}

bool gm_hidden_is_old(int dir, const char *name)
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

int gm_hidden_take(int dir, const char *name, const struct gm_hidden_writer *writer, int flags)
{
    const bool is_gone = writer->is_here
                             ? writer->is_dead
                             : (writer->has_mark || writer->is_dead) && gm_hidden_is_old(dir, name) && is_local(dir);
    int fd = is_gone ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags) : -1;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || (writer->is_here && errno != EWOULDBLOCK))
        return fd;
    close(fd);
    return -1;
}
