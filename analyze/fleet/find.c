/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories are walked in the order of their names, first those that are directories themselves, then, round by
 * round, those that symbolic links lead to. Each is entered once, by device and inode, so that loops end and the same
 * files are found in whatever order the operands stand.
 */
#include "analyze/fleet/find.h"

#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/formats/decoders.h"
#include "analyze/run/run_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct id {
    dev_t device;
    ino_t inode;
};
struct paths GM_VEC(char *);

struct walk {
    struct gm_found_files *files;
    struct GM_VEC(struct id) entered; /* sorted */
    struct paths todo;                /* directories, the next one last */
    struct paths links;               /* directories that links lead to */
    struct id except;
    bool has_except, failed;
};

static char *join(const char *directory, const char *name)
{
    const size_t n = strlen(directory);
    char *path;
    if (asprintf(&path, "%s%s%s", directory, n > 0 && directory[n - 1] == '/' ? "" : "/", name) < 0)
        return NULL;
    return path;
}

GM_ORDERING(compare_ids, struct id, GM_UP(device) || GM_UP(inode));

/* false: it was entered before, or there is no memory (then failed is set). */
static bool enter(struct walk *w, struct id id)
{
    size_t low = 0;
    GM_BISECT(low, w->entered.n, i, compare_ids(&w->entered.v[i], &id) < 0);
    if (low < w->entered.n && compare_ids(&w->entered.v[low], &id) == 0)
        return false;
    if (!GM_VEC_ROOM(&w->entered, 1)) {
        w->failed = true;
        return false;
    }
    memmove(&w->entered.v[low + 1], &w->entered.v[low], (w->entered.n - low) * sizeof *w->entered.v);
    w->entered.v[low] = id;
    w->entered.n++;
    return true;
}

/* Takes `path` over. */
static void push(struct walk *w, struct paths *to, char *path)
{
    if (path == NULL || !GM_VEC_PUSH(to, path)) {
        free(path);
        w->failed = true;
    }
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_strings_down(const void *a, const void *b)
{
    return -compare_strings(a, b);
}

static bool begins_like_snapshot(const char *path)
{
    GM_FREED_BY(gm_source_free) struct gm_source source = {0};
    enum gm_content content;
    uint64_t bytes;
    return gm_source_open_file(&source, path, &bytes, NULL, NULL) == GM_OK &&
           gm_sniff(&source, &content, NULL) == GM_OK;
}

/* Takes `path` over. `st` is NULL if the file cannot be looked at, for `reason`. */
static void add_file(struct walk *w, char *path, bool is_said, const struct stat *st, int reason)
{
    struct gm_found_file file = {.path = path, .is_said = is_said};
    if (st == NULL) {
        file.status = gm_fail(&file.error, GM_E_READ, GM_NO_OFFSET, "cannot open: %s", strerror(reason));
    } else if (!S_ISREG(st->st_mode) && strcmp(path, "-") != 0 && !S_ISFIFO(st->st_mode) && !S_ISCHR(st->st_mode)) {
        file.status = gm_fail(&file.error, GM_E_READ, GM_NO_OFFSET, "is no file");
    } else {
        file.bytes = st->st_size < 0 ? 0 : (uint64_t)st->st_size;
        file.mtime[0] = (int64_t)st->st_mtim.tv_sec;
        file.mtime[1] = (int64_t)st->st_mtim.tv_nsec;
    }
    if (w->files->n == w->files->capacity &&
        !gm_grow(&w->files->v, &w->files->capacity, w->files->n + 1, sizeof *w->files->v)) {
        free(path);
        w->failed = true;
        return;
    }
    w->files->v[w->files->n++] = file;
}

/* Takes `path` over. */
static void look_at(struct walk *w, char *path)
{
    struct stat st, link;
    const bool has_suffix = gm_name_has_snapshot_suffix(path);
    if (strcmp(gm_file_name(path), GM_RUN_PAGE) == 0) {
        free(path);
    } else if (lstat(path, &link) != 0 || stat(path, &st) != 0) {
        const int reason = errno;
        if (has_suffix)
            add_file(w, path, true, NULL, reason);
        else
            free(path);
    } else if (S_ISDIR(st.st_mode)) {
        push(w, S_ISLNK(link.st_mode) ? &w->links : &w->todo, path);
    } else if (S_ISREG(st.st_mode) && (has_suffix || (st.st_size > 0 && begins_like_snapshot(path)))) {
        add_file(w, path, has_suffix, &st, 0);
    } else {
        free(path);
    }
}

static void list_directory(struct walk *w, const char *path)
{
    struct paths names = {0};
    DIR *directory = opendir(path);
    if (directory == NULL) {
        char *copy = strdup(path);
        const int reason = errno;
        if (copy == NULL)
            w->failed = true;
        else
            add_file(w, copy, true, NULL, reason); /* what lies there is missing: say so */
        return;
    }
    for (struct dirent *entry; !w->failed && (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            push(w, &names, join(path, entry->d_name));
    closedir(directory);
    GM_SORT(names.v, names.n, compare_strings);
    for (size_t i = 0; i < names.n; i++) {
        if (w->failed)
            free(names.v[i]);
        else
            look_at(w, names.v[i]);
    }
    free(names.v);
}

/* All directories in `todo`, and what is in them. */
static void walk_all(struct walk *w, bool is_operand)
{
    GM_SORT(w->todo.v, w->todo.n, compare_strings_down);
    size_t operands = is_operand ? w->todo.n : 0;
    while (w->todo.n > 0 && !w->failed) {
        struct stat st;
        const bool is_own = w->todo.n <= operands;
        GM_FREED char *path = w->todo.v[--w->todo.n];
        operands = is_own ? w->todo.n : operands;
        if (stat(path, &st) == 0) {
            const struct id id = {st.st_dev, st.st_ino};
            if ((is_own || !w->has_except || compare_ids(&id, &w->except) != 0) && enter(w, id))
                list_directory(w, path);
        }
    }
}

static void take_operand(struct walk *w, const char *operand)
{
    struct stat st;
    char *path = strdup(operand);
    for (size_t n = path == NULL ? 0 : strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0'; /* "job/" and "job" find the same paths */
    if (path == NULL) {
        w->failed = true;
    } else if (strcmp(path, "-") == 0) {
        st = (struct stat){.st_mode = S_IFIFO};
        add_file(w, path, true, &st, 0);
    } else if (stat(path, &st) != 0) {
        add_file(w, path, true, NULL, errno);
    } else if (S_ISDIR(st.st_mode)) {
        push(w, &w->todo, path);
    } else {
        add_file(w, path, true, &st, 0);
    }
}

GM_ORDERING(compare_files, struct gm_found_file, GM_BY(strcmp(a->path, b->path)) || GM_DOWN(is_said));

/* The path with its directory resolved: two that are equal are one file under one name. */
static char *resolve(const char *path)
{
    const char *slash = strrchr(path, '/');
    GM_FREED char *directory = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    GM_FREED char *real = directory == NULL ? NULL : realpath(directory, NULL);
    return real == NULL ? strdup(path) : join(real, slash == NULL ? path : slash + 1);
}

struct resolved {
    char *whole;
    size_t file;
};

GM_ORDERING(compare_resolved, struct resolved, GM_BY(strcmp(a->whole, b->whole)) || GM_UP(file));

/* Of files that were found twice the one whose path sorts first stays. */
static void drop_doubles(struct walk *w)
{
    struct gm_found_files *files = w->files;
    GM_FREED struct resolved *all = calloc(files->n + 1, sizeof *all);
    size_t kept = 0;
    w->failed = w->failed || all == NULL;
    for (size_t i = 0; !w->failed && i < files->n; i++) {
        all[i] = (struct resolved){resolve(files->v[i].path), i};
        w->failed = all[i].whole == NULL;
    }
    if (!w->failed && files->n > 1)
        qsort(all, files->n, sizeof *all, compare_resolved);
    for (size_t i = 1; !w->failed && i < files->n; i++) {
        struct gm_found_file *file = &files->v[all[i].file];
        if (strcmp(all[i].whole, all[i - 1].whole) == 0 && strcmp(file->path, "-") != 0) {
            free(file->path);
            file->path = NULL;
        }
    }
    for (size_t i = 0; all != NULL && i < files->n; i++)
        free(all[i].whole);
    for (size_t i = 0; !w->failed && i < files->n; i++)
        if (files->v[i].path != NULL)
            files->v[kept++] = files->v[i];
    if (!w->failed)
        files->n = kept;
}

enum gm_status gm_find_files(struct gm_found_files *files, char *const *operands, size_t count, const char *except,
                             struct gm_error *err)
{
    struct walk w = {.files = files};
    struct stat st;
    if (except != NULL && stat(except, &st) == 0) {
        w.except = (struct id){st.st_dev, st.st_ino};
        w.has_except = true;
    }
    for (size_t i = 0; i < count && !w.failed; i++)
        take_operand(&w, operands[i]);
    walk_all(&w, true);
    while (w.links.n > 0 && !w.failed) {
        const struct paths links = w.links;
        w.links = w.todo; /* empty; its room is used again */
        w.todo = links;
        walk_all(&w, false);
    }
    if (!w.failed && files->n > 1)
        qsort(files->v, files->n, sizeof *files->v, compare_files);
    if (!w.failed)
        drop_doubles(&w);
    for (size_t i = 0; i < w.todo.n; i++)
        free(w.todo.v[i]);
    for (size_t i = 0; i < w.links.n; i++)
        free(w.links.v[i]);
    GM_FREE_ALL(w.todo.v, w.links.v, w.entered.v);
    return w.failed ? gm_no_memory(err) : GM_OK;
}

void gm_found_files_free(struct gm_found_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->v[i].path);
    free(files->v);
    *files = (struct gm_found_files){0};
}
