/* SPDX-License-Identifier: Apache-2.0
 *
 * NFS and some FUSE file systems do not know RENAME_NOREPLACE. There, a file created with O_EXCL serves as the right to
 * give a name: it is atomic everywhere, and what a kill leaves behind is hidden and only makes the next run take _2.
 */
#include "analyze/run/hidden_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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
