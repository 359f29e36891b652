/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/sources.h"

#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/base/utf8.h"
#include "analyze/base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const char *path; /* below the folder */
    char *data;       /* once read; owned */
    size_t size;
    bool was_read;
};
struct gm_sources {
    int folder;
    struct gm_arena arena;
    struct GM_VEC(struct file) files; /* by name, then path */
    bool failed;                      /* no memory */
};

/* ---- the list --------------------------------------------------------------------------------------------------- */

static void list(struct gm_sources *s, int folder, const char *below, int depth);

static void list_one(struct gm_sources *s, int folder, const char *below, const char *name, int depth)
{
    struct stat about;
    if (name[0] == '.' || fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    const char *path = gm_arena_printf(&s->arena, "%s%s%s", below, below[0] == '\0' ? "" : "/", name);
    const struct file file = {.path = path};
    if (path == NULL)
        s->failed = true;
    else if (S_ISREG(about.st_mode))
        s->failed = !GM_VEC_PUSH(&s->files, file);
    else if (S_ISDIR(about.st_mode) && depth < GM_SOURCE_DEPTH)
        list(s, openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path, depth + 1);
}

/* What cannot be opened is left out: it is not there for the user either. Takes over `folder`. */
static void list(struct gm_sources *s, int folder, const char *below, int depth)
{
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    if (dir == NULL) {
        if (folder >= 0)
            (void)close(folder);
        return;
    }
    const struct dirent *entry;
    while (!s->failed && s->files.n < GM_SOURCE_FILES && (entry = readdir(dir)) != NULL)
        list_one(s, dirfd(dir), below, entry->d_name, depth);
    (void)closedir(dir);
}

GM_ORDERING(by_name, struct file,
            GM_BY(strcmp(gm_file_name(a->path), gm_file_name(b->path))) || GM_BY(strcmp(a->path, b->path)));

enum gm_status gm_sources_open(struct gm_sources **sources, const char *folder, struct gm_error *err)
{
    *sources = NULL;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "%s: cannot open as a folder of sources", folder);
    struct gm_sources *s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)close(fd);
        return gm_no_memory(err);
    }
    s->folder = fd;
    list(s, dup(fd), "", 0);
    if (s->failed) {
        gm_sources_free(s);
        return gm_no_memory(err);
    }
    GM_SORT(s->files.v, s->files.n, by_name);
    *sources = s;
    return GM_OK;
}

void gm_sources_free(struct gm_sources *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->files.n; i++)
        free(s->files.v[i].data);
    free(s->files.v);
    gm_arena_free(&s->arena);
    (void)close(s->folder);
    free(s);
}

/* ---- which file ------------------------------------------------------------------------------------------------- */

static bool is_slash(char c)
{
    return c == '/' || c == '\\'; /* the snapshot may come from Windows */
}

/* How many parts two paths have in common at their ends. */
static size_t common_parts(const char *path, const char *listed)
{
    size_t n = strlen(path), m = strlen(listed), parts = 0;
    while (n > 0 && m > 0 && (path[n - 1] == listed[m - 1] || (is_slash(path[n - 1]) && listed[m - 1] == '/'))) {
        n--;
        m--;
        parts += listed[m] == '/';
    }
    const bool is_end = (n == 0 || is_slash(path[n - 1])) && (m == 0 || listed[m - 1] == '/');
    return parts + is_end;
}

/* The file that fits best; NULL: none. *several: others fit as well. */
static struct file *find(struct gm_sources *s, const char *path, bool *several)
{
    const char *name = path;
    for (const char *c = path; *c != '\0'; c++)
        if (is_slash(*c))
            name = c + 1;
    size_t low = 0, best = strstr(path, "-packages") != NULL ? 1 : 0;
    GM_BISECT(low, s->files.n, i, strcmp(gm_file_name(s->files.v[i].path), name) < 0);
    struct file *found = NULL;
    *several = false;
    for (size_t i = low; i < s->files.n && strcmp(gm_file_name(s->files.v[i].path), name) == 0; i++) {
        const size_t parts = common_parts(path, s->files.v[i].path);
        *several = parts > best ? false : parts == best && found != NULL ? true : *several;
        if (parts > best)
            found = &s->files.v[i];
        best = parts > best ? parts : best;
    }
    return found;
}

/* Opens it part by part, so that no folder on the way is a link, whatever has changed since it was listed. */
static int open_listed(const struct gm_sources *s, const char *path)
{
    char part[256];
    int at = dup(s->folder);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        const size_t n = (size_t)(slash - path);
        int next = -1;
        if (n < sizeof part) {
            memcpy(part, path, n);
            part[n] = '\0';
            next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        (void)close(at);
        at = next;
    }
    if (at < 0)
        return -1;
    const int file = openat(at, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    (void)close(at);
    return file;
}

/* What cannot be read, or is too large, is as if it were empty. false: no memory. */
static bool read_file(const struct gm_sources *s, struct file *file)
{
    struct stat about;
    const int fd = open_listed(s, file->path);
    bool ok = true;
    file->was_read = true;
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
        about.st_size <= GM_SOURCE_BYTES) {
        file->data = calloc((size_t)about.st_size, 1);
        ok = file->data != NULL;
        for (ssize_t n = 1; ok && n > 0 && file->size < (size_t)about.st_size; file->size += (size_t)(n > 0 ? n : 0))
            n = read(fd, file->data + file->size, (size_t)about.st_size - file->size);
    }
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* Line `line` of it, without the blanks before it; NULL: it has none. *lines: how many it has, if that is less. */
static const char *line_of(const struct file *file, uint64_t line, size_t *length, uint64_t *lines)
{
    const char *at = file->data, *end = file->data == NULL ? NULL : file->data + file->size;
    for (*lines = 0; at < end; (*lines)++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        if (*lines + 1 == line) {
            while (at < stop && (*at == ' ' || *at == '\t'))
                at++;
            *length = (size_t)(stop - at) - (stop > at && stop[-1] == '\r');
            return at;
        }
        at = stop < end ? stop + 1 : end;
    }
    return NULL;
}

enum gm_status gm_sources_line(struct gm_sources *s, struct gm_arena *arena, const char *path, uint64_t line,
                               const char **text, const char **note, struct gm_error *err)
{
    bool several;
    struct file *file = find(s, path, &several);
    uint64_t lines;
    size_t length;
    *text = *note = NULL;
    if (file == NULL)
        return GM_OK;
    bool ok = several || file->was_read || read_file(s, file);
    const char *found = several || !ok ? NULL : line_of(file, line, &length, &lines);
    if (several)
        *note = "several files of the checkout fit";
    else if (ok && file->data == NULL)
        *note = "the checkout's file is empty, too large or cannot be read";
    else if (ok && found == NULL)
        *note = gm_arena_printf(arena, "the checkout's file has %llu lines: it is another version",
                                (unsigned long long)lines);
    else if (ok) {
        char clean[GM_SOURCE_SHOWN + 1];
        gm_utf8_clean_line(clean, sizeof clean, found, length);
        *text = gm_arena_copy(arena, clean, strlen(clean));
    }
    ok = ok && (*text != NULL || *note != NULL);
    return ok ? GM_OK : gm_no_memory(err);
}

enum gm_status gm_sources_file(struct gm_sources *s, const char *path, uint64_t *line, const char **file,
                               struct gm_error *err)
{
    bool several;
    uint64_t lines;
    size_t length;
    struct file *found = find(s, path, &several);
    *file = found == NULL || several ? NULL : found->path;
    if (*file != NULL && !found->was_read && !read_file(s, found))
        return gm_no_memory(err);
    if (*file != NULL && line_of(found, *line, &length, &lines) == NULL)
        *line = 0;
    return GM_OK;
}
