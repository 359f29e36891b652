/* SPDX-License-Identifier: Apache-2.0
 *
 * A run is written into a hidden directory and becomes visible by one rename that never replaces anything; `latest` is
 * a symlink that another rename replaces. So a reader sees all of a run or nothing, whenever the writer dies.
 */
#include "analyze/run/run.h"

#include "analyze/base/hidden.h"
#include "analyze/run/hidden_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100000 };

enum gm_status gm_run_fail(struct gm_error *err, const char *what, const char *directory, const char *name, int reason)
{
    char text[128];
    const char *why = strerror_r(reason, text, sizeof text);
    size_t n = strlen(directory);
    const char *from = n > 200 ? directory + n - 200 : directory;
    return gm_fail(err, reason == ENOMEM ? GM_E_NOMEM : GM_E_WRITE, GM_NO_OFFSET, "cannot %s %s%s%s%.180s: %s", what,
                   n > 200 ? "..." : "", from, name[0] != '\0' ? "/" : "", name, why);
}

/* mkdir -p. Returns why the last part could not be made, EEXIST included, or, if another part is missing, why that one
 * could not; whether it matters shows when the directory is opened. */
static int make_directories(char *path)
{
    int status = 0, first = 0;
    for (char *s = path + 1;; s++) {
        if (*s != '/' && *s != '\0')
            continue;
        char kept = *s;
        *s = '\0';
        status = mkdir(path, 0777) != 0 ? errno : 0;
        *s = kept;
        if (kept == '\0')
            return status == ENOENT && first != 0 ? first : status;
        first = first == 0 && status != EEXIST ? status : first;
    }
}

void gm_run_date(char out[GM_RUN_DATE], time_t when)
{
    struct tm local;
    if (localtime_r(&when, &local) == NULL || strftime(out, GM_RUN_DATE, "%Y-%m-%d %H:%M:%S", &local) == 0)
        out[0] = '\0';
}

static enum gm_status open_results(struct gm_run *run, struct gm_error *err)
{
    int status = make_directories(run->results);
    run->results_fd = open(run->results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->results_fd >= 0)
        return GM_OK;
    int reason = errno;
    if (reason == ENOENT && status != 0)
        return gm_run_fail(err, "create", run->results, "", status);
    return gm_run_fail(err, "open", run->results, "", reason);
}

static enum gm_status make_hidden(struct gm_run *run, struct gm_error *err)
{
    char tail[GM_HIDDEN_TAIL];
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(run->hidden, sizeof run->hidden, GM_RUN_PREFIX "%s", gm_hidden_tail(tail, i));
        if (mkdirat(run->results_fd, run->hidden, 0777) != 0) {
            if (errno == EEXIST)
                continue;
            int reason = errno;
            run->hidden[0] = '\0';
            return gm_run_fail(err, "write to", run->results, "", reason);
        }
        run->hidden_fd = openat(run->results_fd, run->hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (run->hidden_fd < 0)
            return gm_run_fail(err, "open", run->results, run->hidden, errno);
        (void)flock(run->hidden_fd, LOCK_EX | LOCK_NB); /* no lock on this file system: see below */
        return GM_OK;
    }
    run->hidden[0] = '\0';
    return gm_run_fail(err, "write to", run->results, "", EEXIST);
}

static enum gm_status set_up(struct gm_run *run, const char *results, const char *name, time_t when,
                             struct gm_error *err)
{
    struct tm tm;
    char stamp[32];
    if (localtime_r(&when, &tm) == NULL || strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &tm) == 0)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "the time cannot be expressed as a date");
    if (name[0] == '\0' || strchr(name, '/') != NULL)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "no name for a run: \"%s\"", name);
    int n = snprintf(run->final, sizeof run->final - 8, "%s_%s", stamp, name); /* room for _N */
    if (n < 0 || (size_t)n >= sizeof run->final - 8)
        return gm_run_fail(err, "write to", results, name, ENAMETOOLONG);
    size_t length = strlen(results);
    while (length > 1 && results[length - 1] == '/')
        length--;
    run->results = length > 0 ? strndup(results, length) : strdup(".");
    run->path = malloc(length + GM_FINAL_NAME + 2);
    if (run->results == NULL || run->path == NULL)
        return gm_no_memory(err);
    GM_TRY(open_results(run, err));
    gm_remove_stale(run->results_fd);
    return make_hidden(run, err);
}

enum gm_status gm_run_begin(struct gm_run **out, const char *results, const char *name, time_t when,
                            struct gm_error *err)
{
    *out = NULL;
    struct gm_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return gm_no_memory(err);
    run->results_fd = run->hidden_fd = -1;
    enum gm_status status = set_up(run, results, name, when, err);
    if (status != GM_OK) {
        gm_run_free(run);
        return status;
    }
    *out = run;
    return GM_OK;
}

enum gm_status gm_run_commit(struct gm_run *run, struct gm_error *err)
{
    if (run->is_committed)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a run was committed twice");
    if (run->unfinished_files > 0)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a run was committed without all of its files");
    size_t base = strlen(run->final);
    for (unsigned i = 1; i < TRIES; i++) {
        if (i > 1)
            snprintf(run->final + base, sizeof run->final - base, "_%u", i);
        int reason = gm_rename_new(run->results_fd, run->hidden, run->final);
        if (reason == EEXIST)
            continue;
        if (reason != 0) {
            gm_run_fail(err, "create", run->results, run->final, reason);
            run->final[base] = '\0';
            return reason == ENOMEM ? GM_E_NOMEM : GM_E_WRITE;
        }
        bool is_root = strcmp(run->results, "/") == 0;
        snprintf(run->path, strlen(run->results) + GM_FINAL_NAME + 2, "%s/%s", is_root ? "" : run->results, run->final);
        run->is_committed = true;
        close(run->hidden_fd); /* a directory: nothing is lost here; its lock goes */
        run->hidden_fd = -1;
        return GM_OK;
    }
    run->final[base] = '\0';
    return gm_run_fail(err, "create", run->results, run->final, EEXIST);
}

const char *gm_run_path(const struct gm_run *run)
{
    return run->path;
}

/* Puts a symlink to the run under a hidden name; 0 or errno. */
static int make_link(const struct gm_run *run, char link[GM_HIDDEN_NAME])
{
    char tail[GM_HIDDEN_TAIL];
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(link, GM_HIDDEN_NAME, GM_LATEST_PREFIX "%s", gm_hidden_tail(tail, i));
        if (symlinkat(run->final, run->results_fd, link) == 0)
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

enum gm_status gm_run_point_latest(const struct gm_run *run, bool *was_left_alone, struct gm_error *err)
{
    *was_left_alone = false;
    if (!run->is_committed)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "latest cannot point at an unfinished run");
    struct stat st;
    bool exists = fstatat(run->results_fd, "latest", &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT)
        return gm_run_fail(err, "read", run->results, "latest", errno);
    if (exists && !S_ISLNK(st.st_mode)) {
        *was_left_alone = true;
        return GM_OK;
    }
    char link[GM_HIDDEN_NAME];
    int reason = make_link(run, link);
    if (reason != 0)
        return gm_run_fail(err, "create", run->results, "latest", reason);
    if (renameat(run->results_fd, link, run->results_fd, "latest") == 0)
        return GM_OK;
    reason = errno;
    unlinkat(run->results_fd, link, 0);
    if (reason == EISDIR || reason == EEXIST || reason == ENOTEMPTY) { /* somebody has just made that directory */
        *was_left_alone = true;
        return GM_OK;
    }
    return gm_run_fail(err, "replace", run->results, "latest", reason);
}

void gm_run_free(struct gm_run *run)
{
    if (run == NULL)
        return;
    if (!run->is_committed && run->hidden[0] != '\0')
        gm_remove_run(run->results_fd, run->hidden);
    if (run->hidden_fd >= 0)
        close(run->hidden_fd);
    if (run->results_fd >= 0)
        close(run->results_fd);
    GM_FREE_ALL(run->results, run->path, run);
}

/* ---- what would keep a run from being begun, in the words of gm_run_begin ---------------------------------------- */

/* Why that directory cannot be used so (`mode`: R_OK, W_OK, X_OK); 0: it can. */
static int obstacle(const char *directory, int mode)
{
    struct stat st;
    if (stat(directory, &st) != 0)
        return errno;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return faccessat(AT_FDCWD, directory, mode, AT_EACCESS) == 0 ? 0 : errno;
}

/* Cuts the last part off, "a/b" to "a", "a" to ".", "/a" to "/"; false if there is none. */
static bool cut_last(char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0 && strcmp(path, ".") == 0)
        return false;
    if (n == 0)
        path[n++] = '.';
    path[n] = '\0';
    return true;
}

enum gm_status gm_run_check(const char *results, struct gm_error *err)
{
    GM_FREED char *path = results[0] == '\0' ? strdup(".") : strdup(results);
    if (path == NULL)
        return gm_no_memory(err);
    int reason = obstacle(path, R_OK);
    const char *what = reason != 0 ? "open" : "write to";
    struct stat st;
    if (reason == 0)
        reason = obstacle(path, W_OK | X_OK);
    while (reason == ENOENT && lstat(path, &st) != 0 && cut_last(path)) {
        what = "create";
        reason = obstacle(path, W_OK | X_OK);
    }
    if (reason == 0 || reason == ENOENT) /* a link that leads nowhere: to be told when the run is begun */
        return GM_OK;
    return gm_run_fail(err, what, results, "", reason);
}

/* ---- names that replace none ------------------------------------------------------------------------------------- */

/* NFS and some FUSE file systems do not know RENAME_NOREPLACE. There, a file created with O_EXCL serves as the right
 * to give a name: it is atomic everywhere, and what a kill leaves behind is hidden and only makes the next run take _2.
 */

int gm_rename_new_portable(int dir, const char *from, const char *to)
{
    char right[512];
    int n = snprintf(right, sizeof right, GM_NAME_PREFIX "%s", to);
    if (n < 0 || (size_t)n >= sizeof right)
        return ENAMETOOLONG;
    int fd = openat(dir, right, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    close(fd); /* nothing was written to it */
    struct stat st;
    int status = 0;
    if (fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
        status = EEXIST;
    else if (errno != ENOENT || renameat(dir, from, dir, to) != 0)
        status = errno;
    unlinkat(dir, right, 0); /* if it stays, it is removed as stale later */
    return status;
}

int gm_rename_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return gm_rename_new_portable(dir, from, to);
    return errno;
}

/* ---- cleaning up after killed runs, by the rules of analyze/base/hidden.h ---------------------------------------- */

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
