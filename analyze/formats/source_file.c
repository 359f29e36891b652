/* SPDX-License-Identifier: Apache-2.0
 *
 * A file, or standard input, read in order by read(2). Nothing is mapped: mapped pages would count as our memory.
 */
#include "analyze/formats/source_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    int fd;
    bool is_stdin;
    uint64_t offset;
    uint64_t *counted;      /* where the bytes of a pipe are counted, NULL if the size was known before */
    _Atomic uint64_t *done; /* likewise those of any file, for others; may be NULL */
};

static enum gm_status file_read(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    struct file *file = state;
    ssize_t n;
    while ((n = read(file->fd, out, size)) < 0) {
        struct pollfd wait = {.fd = file->fd, .events = POLLIN};
        if (errno == EAGAIN) /* whoever shares standard input with us set O_NONBLOCK */
            (void)poll(&wait, 1, -1);
        else if (errno != EINTR)
            break;
    }
    if (n < 0)
        return gm_fail(err, GM_E_READ, file->offset, "cannot read: %s", strerror(errno));
    *got = (size_t)n;
    file->offset += (uint64_t)n;
    if (file->counted != NULL)
        *file->counted = file->offset;
    if (file->done != NULL)
        atomic_store(file->done, file->offset);
    return GM_OK;
}

static void file_close(void *state)
{
    struct file *file = state;
    if (file->fd >= 0 && !file->is_stdin)
        close(file->fd);
    free(file);
}

/* Refuses what is no stream of bytes with an end. */
static enum gm_status check_kind(const struct file *file, const struct stat *st, struct gm_error *err)
{
    if (S_ISDIR(st->st_mode))
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "it is a directory; gmfleet DIR reads all snapshots in one");
    if (file->is_stdin && isatty(file->fd))
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "standard input is a terminal: pipe a snapshot into it");
    if (!file->is_stdin && (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)))
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "it is a device, not a snapshot file");
    return GM_OK;
}

static enum gm_status file_open(struct file *file, const char *path, uint64_t *disk_bytes, struct gm_error *err)
{
    file->is_stdin = strcmp(path, "-") == 0;
    file->fd = file->is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "cannot open: %s", strerror(errno));
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "cannot open: %s", strerror(errno));
    GM_TRY(check_kind(file, &st, err));
    *disk_bytes = 0;
    if (S_ISREG(st.st_mode)) {
        *disk_bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* a hint: failure costs nothing */
    } else {
        file->counted = disk_bytes;
    }
    return GM_OK;
}

enum gm_status gm_source_open_file(struct gm_source *source, const char *path, uint64_t *disk_bytes,
                                   _Atomic uint64_t *done, struct gm_error *err)
{
    *source = (struct gm_source){0};
    struct file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return gm_no_memory(err);
    file->done = done;
    enum gm_status status = file_open(file, path, disk_bytes, err);
    if (status != GM_OK) {
        file_close(file);
        return status;
    }
    return gm_source_begin(source, file_read, file_close, file, err);
}
