/* SPDX-License-Identifier: Apache-2.0
 *
 * The temporary folder of one run:
 *     lib/        the libraries' names, links to libgmdry.so
 *     hook.py     what the stand-in runs in Python, and ranks.py, its part for several ranks
 *     processes/  what the hook tells, a folder for each process
 *     log         what the stand-in tells
 */
#include "analyze/base/beside.h"
#include "analyze/cli/terminal.h"
#include "replay/dry/cli/gmdry.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of CUDA 12 and 13; without a version, as programs load them that call the driver or the runtime through ctypes. */
static const char *const names[] = {
    "libcuda.so.1",       "libnvidia-ml.so.1", "libcudart.so.12",   "libcudart.so.13",   "libcublas.so.12",
    "libcublas.so.13",    "libcublasLt.so.12", "libcublasLt.so.13", "libcudnn.so.8",     "libcudnn.so.9",
    "libcufft.so.11",     "libcufft.so.12",    "libcurand.so.10",   "libcupti.so.12",    "libcupti.so.13",
    "libcusolver.so.11",  "libcusolver.so.12", "libcusparse.so.12", "libcusparse.so.13", "libcusparseLt.so.0",
    "libnvrtc.so.12",     "libnvrtc.so.13",    "libnccl.so.2",      "libcufile.so.0",    "libnvshmem_host.so.3",
    "libnvToolsExt.so.1", "libcuda.so",        "libcudart.so",      "libnvidia-ml.so",
};

static const char hook[] = {
#include "replay/dry/cli/hook.inc"
};
static const char ranks[] = {
#include "replay/dry/cli/ranks.inc"
};
static const struct {
    const char *name, *text;
    size_t bytes;
} scripts[] = {{"hook", hook, sizeof hook}, {"ranks", ranks, sizeof ranks}};

static enum gm_status cannot(const char *path, struct gm_error *err)
{
    return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "%.200s: %s", path, strerror(errno));
}

static enum gm_status make_links(const struct gm_dry_folder *folder, struct gm_error *err)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/lib/%s", folder->path, names[i]);
        if (symlink(folder->library, path) != 0)
            return cannot(path, err);
    }
    return GM_OK;
}

static enum gm_status fill(const struct gm_dry_folder *folder, struct gm_error *err)
{
    static const char *const folders[] = {"lib", "processes"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folder->path, folders[i]);
        if (mkdir(path, 0700) != 0)
            return cannot(path, err);
    }
    enum gm_status status = make_links(folder, err);
    for (size_t i = 0; status == GM_OK && i < sizeof scripts / sizeof *scripts; i++) {
        snprintf(path, sizeof path, "%s/%s.py", folder->path, scripts[i].name);
        status = gm_write_file(path, scripts[i].text, scripts[i].bytes, err);
    }
    snprintf(path, sizeof path, "%s/log", folder->path);
    GM_THEN(status, gm_write_file(path, "", 0, err));
    return status;
}

/* ---- its end: a process waits for ours to end in whatever way, and removes the folder ---------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

/* Gone at once for processes that the command has left behind; they may be writing still. */
static void remove_folder(const char *path)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    char gone[PATH_MAX / 2 + 8];
    snprintf(gone, sizeof gone, "%s.gone", path);
    for (int tries = 20; tries > 0; tries--) {
        (void)rename(path, gone); /* fails if it is gone already, or was, and is back */
        nftw(gone, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        if (access(gone, F_OK) != 0 && access(path, F_OK) != 0)
            return;
        nanosleep(&pause, NULL);
    }
}

/* The pipe's other end is open as long as we are: nobody writes. Signals are blocked: keys are not for it. It holds
 * nothing else open, as other folders' pipes. */
static void keep(const char *path, int pipe)
{
    char byte;
    dup2(pipe, STDIN_FILENO);
    close_range(STDIN_FILENO + 1, UINT_MAX, 0);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
    remove_folder(path);
    _exit(0);
}

void gm_dry_folder_remove(struct gm_dry_folder *folder)
{
    if (folder->path[0] == '\0')
        return;
    close(folder->pipe);
    if (folder->keeper > 0)
        while (waitpid(folder->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    else
        remove_folder(folder->path);
    folder->path[0] = '\0';
}

static enum gm_status start_keeper(struct gm_dry_folder *folder, struct gm_error *err)
{
    int ends[2] = {-1, -1};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    folder->keeper = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (folder->keeper == 0)
        keep(folder->path, ends[0]);
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    folder->pipe = ends[1];
    if (folder->keeper > 0)
        return GM_OK;
    gm_dry_folder_remove(folder);
    return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "no process can be made: %s", strerror(error));
}

enum gm_status gm_dry_folder_make(struct gm_dry_folder *folder, struct gm_error *err)
{
    const char *where = getenv("TMPDIR");
    folder->path[0] = '\0';
    if (!gm_find_beside(folder->library, GM_PRIVATE_PARTS "libgmdry.so"))
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "libgmdry.so is not in " GM_PRIVATE_PARTS " beside gmdry");
    const int n = snprintf(folder->path, sizeof folder->path, "%s/gmdry.XXXXXX",
                           where != NULL && where[0] == '/' ? where : "/tmp");
    if (n >= (int)sizeof folder->path || mkdtemp(folder->path) == NULL) {
        const enum gm_status status = cannot(folder->path, err);
        folder->path[0] = '\0';
        return status;
    }
    GM_TRY(start_keeper(folder, err));
    const enum gm_status status = fill(folder, err);
    if (status != GM_OK)
        gm_dry_folder_remove(folder);
    return status;
}
