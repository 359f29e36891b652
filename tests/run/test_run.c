/* SPDX-License-Identifier: Apache-2.0
 *
 * Run directories: what they look like when all is well, when many run at once, and when things go wrong.
 */
#include "analyze/base/hidden.h"
#include "analyze/run/hidden_names.h"
#include "analyze/run/run.h"
#include "tests/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH = 600 };

static char root[] = "/tmp/gm_test_run_XXXXXX";
static const time_t when = 1763130625; /* 2025-11-14 14:30:25 UTC */

static const char *at(const char *name)
{
    static char paths[8][PATH];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH, "%s/%s", root, name);
    return path;
}

/* Removes a tree; only below root. */
static void remove_tree(const char *path)
{
    assert_memory_equal(path, root, strlen(root));
    char command[PATH + 32];
    snprintf(command, sizeof command, "rm -rf -- '%s'", path);
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    setenv("TZ", "UTC", 1);
    tzset();
    strcpy(root + sizeof root - 7, "XXXXXX");
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
    umount2(at("r"), MNT_DETACH); /* if a test failed in between */
    umount2(at("full"), MNT_DETACH);
    remove_tree(root);
    return 0;
}

/* Entries of a directory: those whose names begin with `prefix`, or all visible ones for "". */
static unsigned count_entries(const char *directory, const char *prefix)
{
    DIR *entries = opendir(directory);
    if (entries == NULL)
        return 0;
    unsigned count = 0;
    for (const struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
        if (prefix[0] == '\0' ? e->d_name[0] != '.' : strncmp(e->d_name, prefix, strlen(prefix)) == 0)
            count++;
    closedir(entries);
    return count;
}

static void assert_content(const char *path, const char *expected)
{
    char data[256] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail_msg("%s is not there", path);
    size_t n = fread(data, 1, sizeof data - 1, f);
    fclose(f);
    data[n] = '\0';
    assert_string_equal(data, expected);
}

static void write_file(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The target of a symlink, in a static buffer. */
static const char *target_of(const char *link)
{
    static char target[PATH];
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0)
        return "(no link)";
    target[n] = '\0';
    return target;
}

/* A whole run of one file; returns its path in a static buffer, or NULL. */
static const char *one_run(const char *results, const char *name, const char *content, struct gm_error *err)
{
    static char path[PATH];
    struct gm_run *run = NULL;
    bool was_left_alone = false;
    bool ok = gm_run_begin(&run, results, name, when, err) == GM_OK &&
              gm_run_add(run, "a.txt", content, strlen(content), err) == GM_OK && gm_run_commit(run, err) == GM_OK;
    if (ok)
        snprintf(path, sizeof path, "%s", gm_run_path(run));
    ok = ok && gm_run_point_latest(run, &was_left_alone, err) == GM_OK;
    gm_run_free(run);
    return ok ? path : NULL;
}

TEST(one_run)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    const char *results = at("deep/er/results");
    assert_int_equal(gm_run_begin(&run, results, "iter1_rank0", when, &err), GM_OK);
    assert_int_equal(count_entries(results, ""), 0); /* nothing to be seen yet */
    assert_int_equal(gm_run_add(run, "a.txt", "hello", 5, &err), GM_OK);
    assert_int_equal(gm_run_add(run, "empty", "", 0, &err), GM_OK);
    assert_int_equal(count_entries(results, ""), 0);
    assert_int_equal(gm_run_commit(run, &err), GM_OK);
    assert_string_equal(gm_run_path(run), at("deep/er/results/20251114_143025_iter1_rank0"));
    assert_content(at("deep/er/results/20251114_143025_iter1_rank0/a.txt"), "hello");
    assert_content(at("deep/er/results/20251114_143025_iter1_rank0/empty"), "");
    assert_int_equal(count_entries(results, ".gm-"), 0);
    bool was_left_alone = true;
    assert_int_equal(gm_run_point_latest(run, &was_left_alone, &err), GM_OK);
    assert_false(was_left_alone);
    assert_string_equal(target_of(at("deep/er/results/latest")), "20251114_143025_iter1_rank0");
    assert_content(at("deep/er/results/latest/a.txt"), "hello");
    assert_int_equal(count_entries(results, ""), 2);
    assert_int_equal(count_entries(results, ".gm-"), 0);
    gm_run_free(run);
    assert_content(at("deep/er/results/latest/a.txt"), "hello");
}

/* A file that is written in parts, and what is inserted in the middle of it later, with more behind it than fits into
 * one move. */
TEST(streamed_file)
{
    enum { LINES = 300000 };
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    struct gm_run_file *file = NULL;
    assert_int_equal(gm_run_begin(&run, at("r"), "n", when, &err), GM_OK);
    assert_int_equal(gm_run_file_open(&file, run, "big.txt", &err), GM_OK);
    for (int i = 0; i < LINES; i++) {
        char line[16];
        snprintf(line, sizeof line, "%07d\n", i);
        assert_int_equal(gm_run_file_write(file, line, 8, &err), GM_OK);
    }
    assert_int_equal(gm_run_file_length(file), 8 * LINES);
    assert_int_equal(gm_run_file_insert(file, 8 * LINES, "end\n", 4, &err), GM_OK);
    assert_int_equal(gm_run_file_insert(file, 80, "between\n", 8, &err), GM_OK);
    assert_int_equal(gm_run_file_insert(file, 0, "first\n", 6, &err), GM_OK);
    assert_int_equal(gm_run_file_length(file), 8 * LINES + 4 + 8 + 6);
    assert_int_equal(gm_run_file_insert(file, 8 * LINES + 19, "x", 1, &err), GM_E_INTERNAL);
    assert_int_equal(gm_run_commit(run, &err), GM_E_INTERNAL); /* it is still open */
    assert_int_equal(gm_run_file_close(file, &err), GM_OK);
    assert_int_equal(gm_run_commit(run, &err), GM_OK);
    FILE *f = fopen(at("r/20251114_143025_n/big.txt"), "r");
    assert_non_null(f);
    char line[32], expected[32];
    for (int i = -1; i <= LINES; i++) {
        if (i == 10) {
            assert_non_null(fgets(line, sizeof line, f));
            assert_string_equal(line, "between\n");
        }
        snprintf(expected, sizeof expected, i < 0 ? "first\n" : i == LINES ? "end\n" : "%07d\n", i);
        assert_non_null(fgets(line, sizeof line, f));
        assert_string_equal(line, expected);
    }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    gm_run_free(run);
}

/* Half a file never becomes part of a run, also if the caller does not look. */
TEST(streamed_file_that_fails)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    struct gm_run_file *file = NULL, *again = NULL;
    assert_int_equal(gm_run_begin(&run, at("r"), "n", when, &err), GM_OK);
    assert_int_equal(gm_run_file_open(&file, run, ".hidden", &err), GM_E_INTERNAL);
    assert_int_equal(gm_run_file_open(&file, run, "a/b", &err), GM_E_INTERNAL);
    assert_int_equal(gm_run_file_open(&file, run, "", &err), GM_E_INTERNAL);
    assert_int_equal(gm_run_file_open(&file, run, "a.txt", &err), GM_OK);
    assert_int_equal(gm_run_file_open(&again, run, "a.txt", &err), GM_E_WRITE);
    assert_null(again);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    char text[600] = "";
    assert_int_equal(gm_run_file_write(file, text, sizeof text, &err), GM_OK);
    assert_int_equal(gm_run_file_write(file, text, sizeof text, &err), GM_E_WRITE);
    assert_non_null(strstr(err.message, "a.txt: File too large"));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(gm_run_file_write(file, "x", 1, &err), GM_E_WRITE); /* the first failure stays */
    assert_int_equal(gm_run_file_insert(file, 0, "x", 1, &err), GM_E_WRITE);
    assert_int_equal(gm_run_file_close(file, &err), GM_E_WRITE);
    assert_int_equal(gm_run_commit(run, &err), GM_E_INTERNAL);
    gm_run_free(run);
    assert_int_equal(count_entries(at("r"), ""), 0);
    assert_int_equal(count_entries(at("r"), ".gm-"), 0);
}

TEST(results_path_forms)
{
    struct gm_error err = {0};
    char slashes[PATH];
    snprintf(slashes, sizeof slashes, "%s//", at("r"));
    assert_string_equal(one_run(slashes, "n", "x", &err), at("r/20251114_143025_n"));
    char here[PATH];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(root), 0);
    const char *path = one_run("results", "n", "x", &err);
    assert_non_null(path);
    assert_string_equal(path, "results/20251114_143025_n");
    assert_content("results/latest/a.txt", "x");
    assert_string_equal(one_run("", "n", "x", &err), "./20251114_143025_n");
    assert_int_equal(chdir(here), 0);
}

TEST(taken_names)
{
    struct gm_error err = {0};
    assert_int_equal(mkdir(at("r"), 0777), 0);
    assert_int_equal(mkdir(at("r/20251114_143025_n"), 0777), 0); /* empty: a plain rename would replace it */
    assert_string_equal(one_run(at("r"), "n", "first", &err), at("r/20251114_143025_n_2"));
    write_file(at("r/20251114_143025_n_3"), "a file");
    assert_int_equal(symlink("nowhere", at("r/20251114_143025_n_4")), 0);
    assert_string_equal(one_run(at("r"), "n", "second", &err), at("r/20251114_143025_n_5"));
    assert_content(at("r/20251114_143025_n_3"), "a file");
    assert_int_equal(count_entries(at("r/20251114_143025_n"), ""), 0);
    assert_content(at("r/20251114_143025_n_2/a.txt"), "first");
    assert_content(at("r/latest/a.txt"), "second");
}

TEST(latest_left_alone)
{
    struct gm_error err = {0};
    for (int is_directory = 0; is_directory < 2; is_directory++) {
        const char *latest = at("r/latest");
        mkdir(at("r"), 0777);
        if (is_directory)
            assert_int_equal(mkdir(latest, 0777), 0);
        else
            write_file(latest, "mine");
        struct gm_run *run = NULL;
        bool was_left_alone = false;
        assert_int_equal(gm_run_begin(&run, at("r"), "n", when, &err), GM_OK);
        assert_int_equal(gm_run_commit(run, &err), GM_OK);
        assert_int_equal(gm_run_point_latest(run, &was_left_alone, &err), GM_OK);
        assert_true(was_left_alone);
        gm_run_free(run);
        if (is_directory)
            assert_int_equal(count_entries(latest, ""), 0);
        else
            assert_content(latest, "mine");
        assert_int_equal(count_entries(at("r"), ".gm-"), 0);
        assert_int_equal(remove(latest), 0);
    }
}

TEST(latest_dangling)
{
    struct gm_error err = {0};
    assert_int_equal(mkdir(at("r"), 0777), 0);
    assert_int_equal(symlink("gone", at("r/latest")), 0);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    assert_content(at("r/latest/a.txt"), "x");
    assert_int_equal(mkdir(at("elsewhere"), 0777), 0); /* a link to a directory is a link */
    assert_int_equal(unlink(at("r/latest")), 0);
    assert_int_equal(symlink("../elsewhere", at("r/latest")), 0);
    assert_non_null(one_run(at("r"), "m", "y", &err));
    assert_content(at("r/latest/a.txt"), "y");
    assert_int_equal(count_entries(at("elsewhere"), ""), 0);
}

TEST(uncommitted_leaves_nothing)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    bool was_left_alone = false;
    assert_int_equal(gm_run_begin(&run, at("r"), "n", when, &err), GM_OK);
    assert_int_equal(gm_run_add(run, "a.txt", "x", 1, &err), GM_OK);
    assert_int_equal(gm_run_point_latest(run, &was_left_alone, &err), GM_E_INTERNAL);
    gm_run_free(run);
    assert_int_equal(count_entries(at("r"), ""), 0);
    assert_int_equal(count_entries(at("r"), ".gm-"), 0);
    gm_run_free(NULL);
}

TEST(wrong_file_names)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    assert_int_equal(gm_run_begin(&run, at("r"), "n", when, &err), GM_OK);
    static const char *const wrong[] = {"", ".", "..", "a/b", "/etc/x", ".hidden", NULL};
    for (size_t i = 0; wrong[i] != NULL; i++)
        assert_int_equal(gm_run_add(run, wrong[i], "x", 1, &err), GM_E_INTERNAL);
    assert_int_equal(gm_run_add(run, "twice", "x", 1, &err), GM_OK);
    assert_int_equal(gm_run_add(run, "twice", "x", 1, &err), GM_E_WRITE);
    gm_run_free(run);
    assert_int_equal(gm_run_begin(&run, at("r"), "a/b", when, &err), GM_E_INTERNAL);
    assert_null(run);
}

/* Starts `count` children that run body(i) at the same time; returns how many exit with 0. */
static int in_parallel(int count, int (*body)(int))
{
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            char c;
            close(gate[1]);
            (void)!read(gate[0], &c, 1); /* until all are there */
            _exit(body(i));
        }
    }
    close(gate[0]);
    close(gate[1]);
    int good = 0;
    for (int i = 0; i < count; i++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good;
}

static int race_once(int i)
{
    char content[16];
    snprintf(content, sizeof content, "run %d", i);
    struct gm_error err = {0};
    for (int k = 0; k < 5; k++) {
        if (one_run(at("r"), "n", content, &err) == NULL)
            return 1;
        struct stat st;
        if (stat(at("r/latest/a.txt"), &st) != 0) /* never dangling, never half-made */
            return 2;
    }
    return 0;
}

/* Ten processes, five runs each, all in the same second: fifty directories, each whole. */
TEST(races)
{
    assert_int_equal(in_parallel(10, race_once), 10);
    assert_int_equal(count_entries(at("r"), "20251114_143025_n"), 50);
    assert_int_equal(count_entries(at("r"), ""), 51);
    assert_int_equal(count_entries(at("r"), ".gm-"), 0);
    unsigned per_child[10] = {0};
    for (int k = 1; k <= 50; k++) {
        char name[64], data[16] = "";
        snprintf(name, sizeof name, k == 1 ? "r/20251114_143025_n/a.txt" : "r/20251114_143025_n_%d/a.txt", k);
        FILE *f = fopen(at(name), "r");
        if (f == NULL)
            fail_msg("%s is missing: a number was skipped", name);
        assert_true(fread(data, 1, sizeof data - 1, f) == 5);
        fclose(f);
        per_child[data[4] - '0']++;
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(per_child[i], 5);
}

static int open_root(void)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY);
    assert_true(dir >= 0);
    return dir;
}

static int race_portable(int i)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY);
    char from[32], to[64];
    snprintf(from, sizeof from, "from%d", i);
    int status = mkdirat(dir, from, 0777);
    snprintf(to, sizeof to, "%s/mark%d", from, i);
    status |= mkdirat(dir, to, 0777);
    for (int k = 0; status == 0 && k < 1000; k++) {
        snprintf(to, sizeof to, "to%d", k);
        int reason = gm_rename_new_portable(dir, from, to);
        if (reason == 0)
            return 0;
        if (reason != EEXIST)
            return 1;
    }
    return 2;
}

/* The way of file systems without RENAME_NOREPLACE keeps the same promises. */
TEST(portable_rename)
{
    int dir = open_root();
    assert_int_equal(mkdirat(dir, "empty", 0777), 0);
    assert_int_equal(mkdirat(dir, "source", 0777), 0);
    assert_int_equal(gm_rename_new_portable(dir, "source", "empty"), EEXIST);
    assert_int_equal(gm_rename_new(dir, "source", "empty"), EEXIST);
    assert_int_equal(gm_rename_new_portable(dir, "source", "new"), 0);
    assert_int_equal(gm_rename_new_portable(dir, "source", "newer"), ENOENT);
    close(dir);
    assert_int_equal(count_entries(root, ".gm-"), 0);
    assert_int_equal(in_parallel(10, race_portable), 10);
    assert_int_equal(count_entries(root, "from"), 0);
    assert_int_equal(count_entries(root, "to"), 10);
    assert_int_equal(count_entries(root, ".gm-"), 0);
}

TEST(results_is_a_file)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    write_file(at("file"), "mine");
    assert_int_equal(gm_run_begin(&run, at("file"), "n", when, &err), GM_E_WRITE);
    assert_null(run);
    assert_non_null(strstr(err.message, at("file")));
    assert_non_null(strstr(err.message, strerror(ENOTDIR)));
    assert_int_equal(gm_run_begin(&run, at("file/deeper"), "n", when, &err), GM_E_WRITE);
    assert_content(at("file"), "mine");
}

TEST(read_only)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    assert_int_equal(mkdir(at("r"), 0777), 0);
    if (geteuid() == 0) { /* nothing is read-only for root but a file system */
        if (mount("none", at("r"), "tmpfs", MS_RDONLY, "size=64k") != 0)
            skip();
    } else {
        assert_int_equal(chmod(at("r"), 0555), 0);
    }
    enum gm_status there = gm_run_begin(&run, at("r"), "n", when, &err);
    assert_null(run);
    struct gm_error below = {0};
    enum gm_status not_there = gm_run_begin(&run, at("r/a/b"), "n", when, &below);
    struct gm_error checked = {0}, checked_below = {0};
    assert_int_equal(gm_run_check(at("r"), &checked), GM_E_WRITE);
    assert_int_equal(gm_run_check(at("r/a/b"), &checked_below), GM_E_WRITE);
    assert_string_equal(checked.message, err.message);
    assert_string_equal(checked_below.message, below.message);
    if (geteuid() == 0)
        assert_int_equal(umount(at("r")), 0);
    assert_int_equal(there, GM_E_WRITE);
    assert_int_equal(not_there, GM_E_WRITE);
    const char *reason = strerror(geteuid() == 0 ? EROFS : EACCES);
    assert_non_null(strstr(err.message, reason));
    assert_non_null(strstr(err.message, at("r")));
}

/* Writes until there is no room; the run fails, says why, and leaves nothing. */
static void assert_full_fails(const char *results, int reason)
{
    struct gm_error err = {0};
    struct gm_run *run = NULL;
    size_t length = 1 << 20;
    GM_FREED char *data = calloc(1, length);
    assert_non_null(data);
    assert_int_equal(gm_run_begin(&run, results, "n", when, &err), GM_OK);
    assert_int_equal(gm_run_add(run, "a.txt", "x", 1, &err), GM_OK);
    assert_int_equal(gm_run_add(run, "big.txt", data, length, &err), GM_E_WRITE);
    assert_non_null(strstr(err.message, "big.txt"));
    assert_non_null(strstr(err.message, strerror(reason)));
    gm_run_free(run);
    assert_int_equal(count_entries(results, ""), 0);
    assert_int_equal(count_entries(results, ".gm-"), 0);
}

TEST(full_disk)
{
    assert_int_equal(mkdir(at("full"), 0777), 0);
    if (mount("none", at("full"), "tmpfs", 0, "size=128k") != 0)
        skip();
    assert_full_fails(at("full"), ENOSPC);
    assert_int_equal(umount(at("full")), 0);
}

TEST(file_size_limit)
{
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){65536, old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_full_fails(at("limited"), EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
}

/* Kills a child after it has written a file but not committed; returns its process id. */
static pid_t killed_run(const char *results)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct gm_error err;
        struct gm_run *run = NULL;
        if (gm_run_begin(&run, results, "n", when, &err) != GM_OK || gm_run_add(run, "a.txt", "half", 4, &err) != GM_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    char c;
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void make_old(const char *path)
{
    const struct timespec old[2] = {{.tv_sec = time(NULL) - GM_STALE_SECONDS - 60},
                                    {.tv_sec = time(NULL) - GM_STALE_SECONDS - 60}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW), 0);
}

/* "r/.gm-run-MARK-PID-N"; `mark` is NULL for ours. */
static const char *hidden(const char *prefix, const char *mark, pid_t pid, int number)
{
    char ours[GM_MARK], name[GM_HIDDEN_NAME + 2];
    gm_hidden_mark(ours);
    snprintf(name, sizeof name, "r/%s%s-%ld-%d", prefix, mark != NULL ? mark : ours, (long)pid, number);
    return at(name);
}

TEST(kill)
{
    struct gm_error err = {0};
    struct stat st;
    assert_non_null(one_run(at("r"), "whole", "whole", &err));
    pid_t pid = killed_run(at("r"));
    assert_int_equal(count_entries(at("r"), ""), 2); /* the run before and latest */
    assert_int_equal(count_entries(at("r"), GM_RUN_PREFIX), 1);
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, NULL, pid, 0), &st), 0);
    assert_content(at("r/latest/a.txt"), "whole");
    assert_non_null(one_run(at("r"), "next", "next", &err));
    assert_int_equal(count_entries(at("r"), ".gm-"), 0);
    assert_int_equal(count_entries(at("r"), ""), 3);
}

TEST(mark)
{
    char mark[GM_MARK], again[GM_MARK];
    gm_hidden_mark(mark);
    gm_hidden_mark(again);
    assert_int_equal(strspn(mark, "0123456789abcdef"), GM_MARK - 1);
    assert_string_equal(mark, again);
    if (access("/proc/sys/kernel/random/boot_id", R_OK) == 0)
        assert_string_not_equal(mark, "0000000000000000");
}

/* A process id that is certainly nobody's. */
static pid_t dead_pid(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

TEST(stale_is_only_ours)
{
    struct gm_error err = {0};
    struct stat st;
    static const char *const kept[] = {
        "r/archived", "r/.gm-run-", "r/.gm-run-x-1", "r/.gm-run-12", "r/.git", "r/20200101_000000_old", NULL};
    assert_int_equal(mkdir(at("r"), 0777), 0);
    for (size_t i = 0; kept[i] != NULL; i++) {
        assert_int_equal(mkdir(at(kept[i]), 0777), 0);
        make_old(at(kept[i]));
    }
    const pid_t dead = dead_pid();
    char inner[PATH + 16];
    snprintf(inner, sizeof inner, "%s/directory", hidden(GM_RUN_PREFIX, NULL, dead, 8));
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, NULL, getpid(), 7), 0777), 0);
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, NULL, dead, 7), 0777), 0);
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, NULL, dead, 8), 0777), 0);
    assert_int_equal(mkdir(inner, 0777), 0);
    assert_int_equal(symlink("x", hidden(GM_LATEST_PREFIX, NULL, getpid(), 0)), 0);
    assert_int_equal(symlink("x", hidden(GM_LATEST_PREFIX, NULL, dead, 0)), 0);
    int lock = open(hidden(GM_RUN_PREFIX, NULL, dead, 7), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    for (size_t i = 0; kept[i] != NULL; i++)
        assert_int_equal(stat(at(kept[i]), &st), 0);
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, NULL, getpid(), 7), &st), 0);
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, NULL, dead, 7), &st), 0); /* locked */
    assert_int_equal(stat(inner, &st), 0);
    assert_int_equal(lstat(hidden(GM_LATEST_PREFIX, NULL, getpid(), 0), &st), 0);
    assert_int_equal(lstat(hidden(GM_LATEST_PREFIX, NULL, dead, 0), &st), -1);
    close(lock);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, NULL, dead, 7), &st), -1);
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, NULL, getpid(), 7), &st), 0);
}

/* Another machine's, or one from before a restart: its process id says nothing here. */
TEST(stale_of_others)
{
    static const char other[] = "0123456789abcdef", unknown[] = "0000000000000000";
    struct gm_error err = {0};
    struct stat st;
    const pid_t dead = dead_pid();
    assert_int_equal(mkdir(at("r"), 0777), 0);
    const bool is_tmpfs = mount("none", at("r"), "tmpfs", 0, "size=1m") == 0; /* else what /tmp lies on */
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, other, dead, 0), 0777), 0);
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, unknown, dead, 0), 0777), 0);
    assert_int_equal(mkdir(hidden(GM_RUN_PREFIX, other, getpid(), 0), 0777), 0);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    assert_int_equal(count_entries(at("r"), GM_RUN_PREFIX), 3); /* none is old */
    make_old(hidden(GM_RUN_PREFIX, other, dead, 0));
    make_old(hidden(GM_RUN_PREFIX, unknown, dead, 0));
    make_old(hidden(GM_RUN_PREFIX, other, getpid(), 0));
    int lock = open(hidden(GM_RUN_PREFIX, other, dead, 0), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    assert_int_equal(stat(hidden(GM_RUN_PREFIX, other, dead, 0), &st), 0); /* locked */
    if (is_tmpfs)
        assert_int_equal(count_entries(at("r"), GM_RUN_PREFIX), 1);
    close(lock);
    if (is_tmpfs)
        assert_int_equal(umount(at("r")), 0);
}

/* A symlink that is called like one of ours is not followed. */
TEST(stale_link_is_not_followed)
{
    struct gm_error err = {0};
    assert_int_equal(mkdir(at("r"), 0777), 0);
    assert_int_equal(mkdir(at("precious"), 0777), 0);
    write_file(at("precious/a"), "precious");
    assert_int_equal(symlink("../precious", hidden(GM_RUN_PREFIX, NULL, dead_pid(), 0)), 0);
    assert_non_null(one_run(at("r"), "n", "x", &err));
    assert_content(at("precious/a"), "precious");
}

/* What gm_run_begin would say, said before, with nothing made. */
TEST(check)
{
    struct gm_error begun = {0}, checked = {0};
    struct gm_run *run = NULL;
    static const char *const good[] = {"r", "r/", "r/new/deep/er", "r/new//x/", "r/new/../other"};
    static const char *const wrong[] = {"file", "file/", "file/deeper/still", "loop", "loop/x"};
    assert_int_equal(mkdir(at("r"), 0777), 0);
    write_file(at("file"), "mine");
    assert_int_equal(symlink("loop", at("loop")), 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(gm_run_check(at(good[i]), &checked), GM_OK);
    assert_int_equal(count_entries(at("r"), ""), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(gm_run_check(at(wrong[i]), &checked), GM_E_WRITE);
        assert_int_equal(gm_run_begin(&run, at(wrong[i]), "n", when, &begun), GM_E_WRITE);
        assert_null(run);
        assert_string_equal(strrchr(checked.message, ':'), strrchr(begun.message, ':'));
    }
    char here[PATH];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(gm_run_check("", &checked), GM_OK);
    assert_int_equal(gm_run_check("new/a/b", &checked), GM_OK);
    assert_int_equal(gm_run_check("new", &checked), GM_OK);
    assert_int_equal(gm_run_check("file/new", &checked), GM_E_WRITE);
    assert_int_equal(chdir(here), 0);
}

AROUND_EACH(set_up, tear_down)
