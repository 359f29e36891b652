/* SPDX-License-Identifier: Apache-2.0
 *
 * A recording as a file, whole or not at all.
 */
#include "replay/recorder/output.h"

#include "analyze/formats/gmtrace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0' && strspn(value, "0123456789") == strlen(value))
            return value;
    }
    return "0";
}

void gm_record_path(struct gm_text *out, const char *pattern)
{
    for (const char *p = pattern; *p != '\0'; p++) {
        char kind = *p == '%' ? p[1] : '\0';
        if (kind == 'p')
            gm_text_printf(out, "%ld", (long)getpid());
        else if (kind == 'r')
            gm_text_add(out, rank());
        else
            gm_text_add_char(out, *p);
        p += kind == 'p' || kind == 'r' || kind == '%';
    }
}

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, data, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        length -= (size_t)n;
    }
    return true;
}

static enum gm_status store(const struct gm_text *data, const char *part, const char *path, struct gm_error *err)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "%s: %s", path, strerror(errno));
    bool ok = write_all(fd, data->data, data->length);
    int reason = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && rename(part, path) != 0) {
        ok = false;
        reason = errno;
    }
    if (ok)
        return GM_OK;
    unlink(part);
    return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "%s: %s", path, strerror(reason));
}

enum gm_status gm_record_write(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err)
{
    struct gm_text data = {0}, part = {0};
    enum gm_status status = gm_write_gmtrace(snapshot, &data, err);
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    gm_text_printf(&part, "%.*s.%s.part%ld", (int)folder, path, path + folder, (long)getpid());
    if (status == GM_OK && (part.failed || data.failed))
        status = gm_no_memory(err);
    if (status == GM_OK)
        status = store(&data, part.data, path, err);
    gm_text_free(&data);
    gm_text_free(&part);
    return status;
}
