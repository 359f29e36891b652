/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that appear when they are complete: what is there before, after, and after a failure.
 */
#include "analyze/base/new_file.h"

#include "analyze/base/hidden.h"
#include "tests/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int enter_scratch(void **state)
{
    strcpy(folder, "/tmp/gm-new-file-XXXXXX");
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

/* How many entries the folder has; with `remove`, removes them. */
static int entries(bool remove)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            n++;
            if (remove)
                unlinkat(dirfd(dir), e->d_name, 0);
        }
    closedir(dir);
    return n;
}

static int hidden(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += strncmp(e->d_name, ".gm-", 4) == 0;
    closedir(dir);
    return n;
}

static int leave_scratch(void **state)
{
    entries(true);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *name, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

/* Writes "new" and ends with `status`; before that, nothing visible has changed. */
static void write_new(const char *name, enum gm_status status, const char *before)
{
    struct gm_new_file file;
    assert_int_equal(gm_new_file_open(&file, name, NULL), GM_OK);
    assert_int_equal(gm_new_file_write(&file, "new", 3, NULL), GM_OK);
    if (before != NULL)
        assert_file(name, before);
    else
        assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(gm_new_file_close(&file, status, NULL), status);
}

TEST(appears_when_complete)
{
    write_new("a", GM_E_WRITE, NULL);
    assert_int_equal(entries(false), 0);
    write_new("a", GM_OK, NULL);
    assert_file("a", "new");
    put("a", "old");
    assert_int_equal(chmod("a", 0640), 0);
    write_new("a", GM_E_NOMEM, "old");
    assert_file("a", "old");
    write_new("a", GM_OK, "old");
    assert_file("a", "new");
    struct stat st;
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(entries(false), 1);
}

TEST(links)
{
    put("a", "old");
    assert_int_equal(symlink("a", "link"), 0);
    write_new("link", GM_OK, "old");
    assert_file("a", "new");
    assert_int_equal(symlink("nothing", "dangling"), 0);
    struct gm_new_file file;
    assert_int_equal(gm_new_file_open(&file, "dangling", NULL), GM_OK);
    assert_int_equal(gm_new_file_write(&file, "x", 1, NULL), GM_OK);
    assert_int_equal(gm_new_file_close(&file, GM_OK, NULL), GM_OK);
    assert_file("nothing", "x");
    char target[16] = "";
    assert_int_equal(readlink("dangling", target, sizeof target - 1), 7);
    assert_int_equal(entries(false), 4);
}

/* Makes the hidden file of a writer; `days` ago. */
static void put_left(const char *name, double days)
{
    const struct timespec then = {.tv_sec = time(NULL) - (time_t)(days * 86400)};
    put(name, "half");
    assert_int_equal(utimensat(AT_FDCWD, name, (const struct timespec[2]){then, then}, 0), 0);
}

/* What a killed writer left goes with the next file that is written there, and nothing else does. */
TEST(left_by_the_killed)
{
    char ours[GM_MARK], gone[128], alive[128];
    int ready[2];
    gm_hidden_mark(ours);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* is killed in the middle of two files */
        struct gm_new_file one, two;
        if (gm_new_file_open(&one, "a.json", NULL) != GM_OK || gm_new_file_open(&two, "b", NULL) != GM_OK ||
            gm_new_file_write(&one, "ha", 2, NULL) != GM_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        pause();
    }
    char c;
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    assert_int_equal(hidden(), 2);
    write_new("c", GM_OK, NULL); /* it is alive */
    assert_int_equal(hidden(), 2);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    write_new("other", GM_OK, NULL);
    assert_int_equal(hidden(), 0);
    static const char *const kept[] = {".gm-",
                                       ".gm-x",
                                       ".gm-x.1",
                                       ".gm-x.12.",
                                       ".gm-x.1.y",
                                       ".gm.1.2",
                                       "x.1.2",
                                       ".gm-a.0123456789abcdef-1-x",
                                       ".gm-a.0123456789abcde-1-0"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        put_left(kept[i], 9);
    snprintf(gone, sizeof gone, ".gm-a.b.%s-%ld-7", ours, (long)pid);
    snprintf(alive, sizeof alive, ".gm-a.b.%s-%ld-7", ours, (long)getpid());
    put_left(alive, 9);
    put_left(gone, 0);
    put_left(".gm-a.0123456789abcdef-1-0", 0.9); /* of another machine, or container */
    put_left(".gm-a.0123456789abcdef-1-1", 1.1);
    put_left(".gm-a.999999999.0", 0.9); /* of an older version */
    put_left(".gm-a.999999999.1", 1.1);
    assert_int_equal(mkdir(".gm-folder.999999999.1", 0777), 0);
    int held = open(".gm-a.0123456789abcdef-1-1", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    write_new("a", GM_OK, NULL);
    assert_int_equal(access(gone, F_OK), -1);
    assert_int_equal(access(alive, F_OK), 0);
    assert_int_equal(access(".gm-a.0123456789abcdef-1-0", F_OK), 0);
    assert_int_equal(access(".gm-a.0123456789abcdef-1-1", F_OK), 0);
    assert_int_equal(access(".gm-a.999999999.0", F_OK), 0);
    close(held);
    write_new("b", GM_OK, NULL); /* also where file systems have no lock that anybody can see, after a day */
    const bool is_local = access(".gm-a.0123456789abcdef-1-1", F_OK) != 0;
    assert_int_equal(access(".gm-a.999999999.1", F_OK) != 0, is_local);
    assert_int_equal(access(".gm-a.0123456789abcdef-1-0", F_OK), 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_int_equal(access(kept[i], F_OK), 0);
    assert_int_equal(rmdir(".gm-folder.999999999.1"), 0);
}

/* The file may grow to 1000 bytes. */
TEST(full_disk_keeps_what_was_there)
{
    static const char many[2000];
    struct rlimit small = {1000, RLIM_INFINITY}, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    struct gm_new_file file;
    struct gm_error err;
    put("a", "old");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(gm_new_file_open(&file, "a", &err), GM_OK);
    enum gm_status status = gm_new_file_write(&file, many, sizeof many, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    assert_int_equal(status, GM_E_WRITE);
    assert_int_equal(gm_new_file_close(&file, status, &err), GM_E_WRITE);
    assert_string_equal(err.message, "a: cannot write: File too large");
    assert_file("a", "old");
    assert_int_equal(entries(false), 1);
}

TEST(what_cannot_be_opened)
{
    struct gm_new_file file;
    struct gm_error err;
    char path[2000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(gm_new_file_open(&file, "no/such/folder", &err), GM_E_WRITE);
    assert_int_equal(gm_new_file_close(&file, GM_E_WRITE, NULL), GM_E_WRITE);
    assert_string_equal(err.message, "no/such/folder: cannot open for writing: No such file or directory");
    for (size_t i = 100; i < sizeof path - 1; i += 100)
        path[i] = '/';
    assert_int_equal(gm_new_file_open(&file, path, &err), GM_E_WRITE);
    assert_int_equal(gm_new_file_close(&file, GM_E_WRITE, NULL), GM_E_WRITE);
    assert_non_null(strstr(err.message, ": cannot open for writing: No such file or directory"));
    assert_int_equal(gm_new_file_open(&file, folder, &err), GM_E_WRITE);
    assert_int_equal(gm_new_file_close(&file, GM_E_WRITE, NULL), GM_E_WRITE);
    assert_int_equal(entries(false), 0);
}

TEST(devices)
{
    struct gm_new_file file;
    assert_true(gm_new_file_is_direct("/dev/null"));
    assert_false(gm_new_file_is_direct("nothing"));
    put("a", "old");
    assert_false(gm_new_file_is_direct("a"));
    assert_int_equal(gm_new_file_open(&file, "/dev/full", NULL), GM_OK);
    assert_int_equal(gm_new_file_write(&file, "x", 1, NULL), GM_E_WRITE);
    assert_int_equal(gm_new_file_close(&file, GM_E_WRITE, NULL), GM_E_WRITE);
}

/* A file that may be written in a folder that may not. */
TEST(folder_that_takes_no_files)
{
    put("a", "old old old");
    assert_int_equal(chmod("a", 0666), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    bool is_root = geteuid() == 0;
    if (is_root)
        assert_int_equal(seteuid(65534), 0);
    struct gm_new_file file;
    enum gm_status status = gm_new_file_open(&file, "a", NULL);
    GM_THEN(status, gm_new_file_write(&file, "new", 3, NULL));
    status = gm_new_file_close(&file, status, NULL);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(status, GM_OK);
    assert_file("a", "new");
}

/* Whether the other end of a pipe gets all of it although this end does not wait. */
TEST(descriptor_that_does_not_wait)
{
    enum { LENGTH = 1 << 20 };
    static char text[LENGTH];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        size_t got = 0;
        close(ends[1]);
        for (ssize_t n = 1; n > 0; got += n > 0 ? (size_t)n : 0)
            n = read(ends[0], text, sizeof text);
        _exit(got == LENGTH ? 0 : 1);
    }
    close(ends[0]);
    assert_int_equal(gm_write_fully(ends[1], text, sizeof text), 0);
    close(ends[1]);
    int how = 0;
    assert_int_equal(waitpid(reader, &how, 0), reader);
    assert_int_equal(how, 0);
}

AROUND_EACH(enter_scratch, leave_scratch)
