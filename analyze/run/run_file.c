/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a run. A file counts as unfinished from the moment it is opened until it is closed without an error, so that
 * a run with half a file can never be committed.
 */
#include "analyze/run/hidden_names.h"
#include "analyze/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOVE_AT_ONCE = 1 << 20 };

struct gm_run_file {
    struct gm_run *run;
    int fd;
    int reason; /* errno of the first failure; 0: none */
    uint64_t length;
    char name[GM_FINAL_NAME];
};

enum gm_status gm_run_file_open(struct gm_run_file **out, struct gm_run *run, const char *file_name,
                                struct gm_error *err)
{
    *out = NULL;
    size_t n = strlen(file_name);
    if (run->is_committed || n == 0 || n >= GM_FINAL_NAME || file_name[0] == '.' || strchr(file_name, '/') != NULL)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "not a file of a run: \"%s\"", file_name);
    struct gm_run_file *file = malloc(sizeof *file);
    if (file == NULL)
        return gm_no_memory(err);
    *file = (struct gm_run_file){.run = run};
    memcpy(file->name, file_name, n + 1);
    file->fd = openat(run->hidden_fd, file_name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        int reason = errno;
        free(file);
        return gm_run_fail(err, "create", run->results, file_name, reason);
    }
    run->unfinished_files++;
    *out = file;
    return GM_OK;
}

static enum gm_status fail(struct gm_run_file *file, int reason, struct gm_error *err)
{
    if (file->reason == 0)
        file->reason = reason;
    return gm_run_fail(err, "write", file->run->results, file->name, file->reason);
}

/* Writes at `offset`; 0 or errno. */
static int write_at(int fd, const unsigned char *data, size_t length, uint64_t offset)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, data, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return 0;
}

static int read_at(int fd, unsigned char *data, size_t length, uint64_t offset)
{
    while (length > 0) {
        ssize_t n = pread(fd, data, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO; /* somebody has cut the file */
        data += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return 0;
}

enum gm_status gm_run_file_write(struct gm_run_file *file, const void *data, size_t length, struct gm_error *err)
{
    int reason = file->reason != 0 ? file->reason : write_at(file->fd, data, length, file->length);
    if (reason != 0)
        return fail(file, reason, err);
    file->length += length;
    return GM_OK;
}

/* From the end, so that nothing is written over before it was read. */
static int move_tail(const struct gm_run_file *file, uint64_t offset, size_t by, unsigned char *buffer)
{
    for (uint64_t end = file->length; end > offset;) {
        size_t n = end - offset < MOVE_AT_ONCE ? (size_t)(end - offset) : MOVE_AT_ONCE;
        end -= n;
        int reason = read_at(file->fd, buffer, n, end);
        if (reason == 0)
            reason = write_at(file->fd, buffer, n, end + by);
        if (reason != 0)
            return reason;
    }
    return 0;
}

enum gm_status gm_run_file_insert(struct gm_run_file *file, uint64_t offset, const void *data, size_t length,
                                  struct gm_error *err)
{
    if (offset > file->length)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "no such place in %s", file->name);
    GM_FREED unsigned char *buffer = malloc(MOVE_AT_ONCE);
    if (buffer == NULL)
        return gm_no_memory(err);
    int reason = file->reason;
    if (reason == 0)
        reason = move_tail(file, offset, length, buffer);
    if (reason == 0)
        reason = write_at(file->fd, data, length, offset);
    if (reason != 0)
        return fail(file, reason, err);
    file->length += length;
    return GM_OK;
}

bool gm_run_file_path(const struct gm_run_file *file, struct gm_text *out)
{
    gm_text_printf(out, "%s/%s/%s", file->run->results, file->run->hidden, file->name);
    return !out->failed;
}

uint64_t gm_run_file_length(const struct gm_run_file *file)
{
    return file->length;
}

enum gm_status gm_run_file_close(struct gm_run_file *file, struct gm_error *err)
{
    if (file == NULL)
        return GM_OK;
    enum gm_status status = GM_OK;
    if (close(file->fd) != 0 && file->reason == 0)
        file->reason = errno;
    if (file->reason != 0)
        status = fail(file, file->reason, err);
    else
        file->run->unfinished_files--;
    free(file);
    return status;
}

enum gm_status gm_run_add(struct gm_run *run, const char *file_name, const void *data, size_t length,
                          struct gm_error *err)
{
    struct gm_run_file *file;
    enum gm_status status = gm_run_file_open(&file, run, file_name, err);
    if (file == NULL) /* if and only if it failed */
        return status;
    status = gm_run_file_write(file, data, length, err);
    if (status != GM_OK) {
        (void)gm_run_file_close(file, NULL); /* the first error is the one to tell */
        return status;
    }
    return gm_run_file_close(file, err);
}
