/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning up after killed runs, by the rules of analyze/base/hidden.h.
 */
#include "analyze/run/hidden_names.h"

#include "analyze/base/hidden.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
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

static void remove_stale_run(int dir, const char *name, const struct gm_hidden_writer *writer)
{
    int fd = gm_hidden_take(dir, name, writer, O_DIRECTORY);
    if (fd < 0)
        return;
    gm_remove_run(dir, name);
    close(fd);
}

/* Whether the name is `prefix` and who writes it. */
static bool is_ours(const char *name, const char *prefix, const char mark[GM_MARK], struct gm_hidden_writer *writer)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 && gm_hidden_read(writer, name + n, '-', mark);
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
    gm_hidden_mark(mark);
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        struct gm_hidden_writer writer;
        const char *name = e->d_name;
        if (is_ours(name, GM_RUN_PREFIX, mark, &writer))
            remove_stale_run(dir, name, &writer);
        else if (is_ours(name, GM_LATEST_PREFIX, mark, &writer)
                     ? (writer.is_here && writer.is_dead) || gm_hidden_is_old(dir, name)
                     : strncmp(name, GM_NAME_PREFIX, sizeof GM_NAME_PREFIX - 1) == 0 && gm_hidden_is_old(dir, name))
            unlinkat(dir, name, 0);
    }
    closedir(entries);
}
