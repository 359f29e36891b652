/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/new_file.h"

#include "analyze/base/freed.h"
#include "analyze/base/hidden.h"
#include "analyze/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int gm_write_fully(int fd, const void *bytes, size_t length)
{
    const char *p = bytes;
    while (length > 0) {
        ssize_t n = write(fd, p, length);
        if (n < 0 && errno == EAGAIN) { /* whoever shares the pipe or terminal with us set O_NONBLOCK */
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            if (poll(&wait, 1, -1) < 0 && errno != EINTR)
                return errno;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        p += n;
        length -= (size_t)n;
    }
    return 0;
}

bool gm_new_file_is_direct(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static enum gm_status failed(const struct gm_new_file *file, const char *what, int reason, struct gm_error *err)
{
    if (reason == ENOMEM)
        return gm_no_memory(err);
    const size_t length = strlen(file->shown), most = 300; /* of a long path its end, so that the reason is not cut */
    const char *end = length > most ? file->shown + length - most : file->shown;
    return gm_fail(err, reason == EPIPE ? GM_E_PIPE : GM_E_WRITE, GM_NO_OFFSET, "%s%s: cannot %s: %s",
                   length > most ? "..." : "", end, what, strerror(reason));
}

static const char prefix[] = ".gm-";

/* A name beside `path` that does not begin like it, so that nobody takes a half-written file for a whole one. */
static char *beside(const char *path, unsigned attempt)
{
    const char *name = gm_file_name(path);
    char *text = NULL, tail[GM_HIDDEN_TAIL];
    if (asprintf(&text, "%.*s%s%.*s.%s", (int)(name - path), path, prefix, 150, name, gm_hidden_tail(tail, attempt)) <
        0)
        return NULL;
    return text;
}

/* Whether it is such a name, or one of an older version, ".gm-NAME.PID.N". */
static bool is_ours(const char *name, const char mark[GM_MARK], struct gm_hidden_writer *writer)
{
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *end = strrchr(name, '.'), *before = end;
    while (before > name && *--before != '.')
        ;
    return gm_hidden_read(writer, end + 1, '-', mark) ||
           (before > name && gm_hidden_read(writer, before + 1, '.', mark));
}

static void remove_left(int dir, const char *name, const struct gm_hidden_writer *writer)
{
    struct stat st;
    const int fd = gm_hidden_take(dir, name, writer, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        unlinkat(dir, name, 0);
    close(fd);
}

void gm_new_file_clean(const char *directory)
{
    DIR *entries = opendir(directory);
    char mark[GM_MARK];
    gm_hidden_mark(mark);
    for (const struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        struct gm_hidden_writer writer;
        if (is_ours(e->d_name, mark, &writer))
            remove_left(dirfd(entries), e->d_name, &writer);
    }
    if (entries != NULL)
        closedir(entries);
}

static void clean_beside(const char *path)
{
    const size_t n = (size_t)(gm_file_name(path) - path);
    GM_FREED char *directory = n == 0 ? strdup(".") : strndup(path, n);
    if (directory != NULL)
        gm_new_file_clean(directory);
}

/* Opens the hidden file; 0 or errno. */
static int open_hidden(struct gm_new_file *file)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        free(file->temporary);
        file->temporary = beside(file->path, attempt);
        if (file->temporary == NULL)
            return ENOMEM;
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0) {
            (void)flock(file->fd, LOCK_EX | LOCK_NB); /* no lock on this file system: see hidden.h */
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    int reason = errno;
    free(file->temporary); /* it is not ours to remove */
    file->temporary = NULL;
    return reason;
}

enum gm_status gm_new_file_open_next(struct gm_new_file *file, const char *path, struct gm_error *err)
{
    *file = (struct gm_new_file){.shown = path, .fd = -1};
    struct stat st;
    bool dangles = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    bool exists = stat(path, &st) == 0;
    dangles = dangles && !exists;
    const bool is_regular = exists && S_ISREG(st.st_mode);
    file->path = is_regular ? realpath(path, NULL) : strdup(path); /* /dev/stdout of a pipe resolves to no path */
    if (file->path == NULL)
        return failed(file, "open for writing", errno, err);
    int reason = 0;
    if (exists ? is_regular : !dangles) {
        reason = open_hidden(file);
        if (reason == 0) {
            if (exists)
                (void)fchmod(file->fd, st.st_mode & 0777); /* whoever could read it can, if we may say so */
            return GM_OK;
        }
        if (!exists || (reason != EACCES && reason != EPERM))
            return failed(file, "open for writing", reason, err);
    }
    file->fd = open(file->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | (dangles ? O_CREAT : 0), 0666);
    return file->fd >= 0 ? GM_OK : failed(file, "open for writing", reason != 0 ? reason : errno, err);
}

enum gm_status gm_new_file_open(struct gm_new_file *file, const char *path, struct gm_error *err)
{
    const enum gm_status status = gm_new_file_open_next(file, path, err);
    if (status == GM_OK && file->temporary != NULL)
        clean_beside(file->temporary);
    return status;
}

enum gm_status gm_new_file_write(struct gm_new_file *file, const void *bytes, size_t length, struct gm_error *err)
{
    int reason = gm_write_fully(file->fd, bytes, length);
    return reason == 0 ? GM_OK : failed(file, "write", reason, err);
}

enum gm_status gm_new_file_close(struct gm_new_file *file, enum gm_status status, struct gm_error *err)
{
    if (file->fd >= 0 && close(file->fd) != 0 && status == GM_OK)
        status = failed(file, "write", errno, err);
    if (file->temporary != NULL && status == GM_OK && rename(file->temporary, file->path) != 0)
        status = failed(file, "create", errno, err);
    if (file->temporary != NULL && status != GM_OK)
        unlink(file->temporary);
    GM_FREE_ALL(file->temporary, file->path);
    *file = (struct gm_new_file){.fd = -1};
    return status;
}
