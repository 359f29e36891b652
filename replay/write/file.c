/* SPDX-License-Identifier: Apache-2.0
 *
 * Into a file that appears when it is complete: written under another name in the same folder, then renamed.
 */
#include "replay/write/sink.h"
#include "replay/write/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct target {
    const char *shown; /* the path as it was given */
    char *path;        /* the path to write to, links followed */
    char *temporary;   /* NULL: written directly */
    int fd;
};

static enum gm_status failed(const struct target *t, struct gm_error *err)
{
    return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "%s: %s", t->shown, strerror(errno));
}

static enum gm_status write_all(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    const struct target *t = context;
    const char *p = bytes;
    while (length > 0) {
        ssize_t n = write(t->fd, p, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(t, err);
        p += n;
        length -= (size_t)n;
    }
    return GM_OK;
}

/* A name beside `path` that does not begin like it, so that nobody takes a half-written file for a whole one. */
static char *beside(const char *path, int attempt)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char *text = NULL;
    if (asprintf(&text, "%.*s.gm-%.*s.%ld.%d", (int)(name - path), path, 150, name, (long)getpid(), attempt) < 0)
        return NULL;
    return text;
}

static enum gm_status open_target(struct target *t, struct gm_error *err)
{
    struct stat st;
    bool exists = stat(t->shown, &st) == 0;
    t->path = exists ? realpath(t->shown, NULL) : strdup(t->shown);
    if (t->path == NULL)
        return errno == ENOMEM ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory") : failed(t, err);
    if (exists && !S_ISREG(st.st_mode)) {
        t->fd = open(t->path, O_WRONLY | O_CLOEXEC);
        return t->fd >= 0 ? GM_OK : failed(t, err);
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        free(t->temporary);
        t->temporary = beside(t->path, attempt);
        if (t->temporary == NULL)
            return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
        t->fd = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (t->fd >= 0 || errno != EEXIST)
            break;
    }
    if (t->fd >= 0)
        return GM_OK;
    enum gm_status status = failed(t, err);
    free(t->temporary); /* it is not ours to remove */
    t->temporary = NULL;
    return status;
}

static enum gm_status close_target(struct target *t, enum gm_status status, struct gm_error *err)
{
    if (t->fd >= 0 && close(t->fd) != 0 && status == GM_OK)
        status = failed(t, err);
    if (t->temporary != NULL && status == GM_OK && rename(t->temporary, t->path) != 0)
        status = failed(t, err);
    if (t->temporary != NULL && status != GM_OK)
        unlink(t->temporary);
    free(t->temporary);
    free(t->path);
    return status;
}

static enum gm_compression by_suffix(const char *path)
{
    size_t n = strlen(path);
    if (n >= 4 && strcmp(path + n - 4, ".zst") == 0)
        return GM_COMPRESSION_ZSTD;
    return n >= 3 && strcmp(path + n - 3, ".gz") == 0 ? GM_COMPRESSION_GZIP : GM_COMPRESSION_NONE;
}

static enum gm_status write_compressed(const struct gm_snapshot *snapshot, const struct gm_write_options *options,
                                       enum gm_compression compression, const struct gm_sink *file,
                                       struct gm_error *err)
{
    struct gm_compressor *compressor;
    struct gm_sink sink;
    enum gm_status status = gm_compressor_new(&compressor, compression, file, &sink, err);
    if (status == GM_OK)
        status = gm_write_pickle(snapshot, options, &sink, err);
    if (status == GM_OK)
        status = gm_compressor_finish(compressor, err);
    gm_compressor_free(compressor);
    return status;
}

enum gm_status gm_write_snapshot_file(const struct gm_snapshot *snapshot, const struct gm_write_options *options,
                                      const char *path, struct gm_error *err)
{
    struct target t = {.shown = path, .fd = -1};
    const struct gm_sink file = {.write = write_all, .context = &t};
    enum gm_compression compression = by_suffix(path);
    enum gm_status status = open_target(&t, err);
    if (status == GM_OK)
        status = compression == GM_COMPRESSION_NONE ? gm_write_pickle(snapshot, options, &file, err)
                                                    : write_compressed(snapshot, options, compression, &file, err);
    return close_target(&t, status, err);
}
