/* SPDX-License-Identifier: Apache-2.0
 *
 * What would keep a run from being begun, in the words of gm_run_begin, which makes what is missing.
 */
#include "analyze/run/hidden_names.h"
#include "analyze/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char *path = results[0] == '\0' ? strdup(".") : strdup(results);
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
    free(path);
    if (reason == 0 || reason == ENOENT) /* a link that leads nowhere: to be told when the run is begun */
        return GM_OK;
    return gm_run_fail(err, what, results, "", reason);
}
