/* SPDX-License-Identifier: Apache-2.0
 *
 * cuFile: files are read and written by way of the host, piece by piece, as copies are.
 */
#include "replay/dry/private.h"

#include "analyze/base/freed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 1 << 20, INVALID = 5003, NO_MEMORY = 5030 };

struct file_error {
    int error, of_driver; /* 0: none */
};

/* Only files of numbers, not handles of Windows'. */
struct file_description {
    int type;
    union {
        int number; /* file descriptor */
        void *handle;
    } is;
    const void *functions;
};

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);

/* The same file opened once more, as the program's may be for whole sectors only (O_DIRECT); -1: errno says why. */
static int open_again(int number)
{
    char path[48];
    const int flags = fcntl(number, F_GETFL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    return flags < 0 ? -1 : open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

API(struct file_error, cuFileHandleRegister, void **handle, const struct file_description *description)
{
    enum { NUMBER = 1 };
    int *number = malloc(sizeof *number);
    if (number == NULL)
        return (struct file_error){.error = NO_MEMORY};
    *number = description->type == NUMBER ? open_again(description->is.number) : -1;
    if (*number < 0) {
        free(number);
        return (struct file_error){.error = INVALID};
    }
    *handle = number;
    return (struct file_error){.error = 0};
}

API(void, cuFileHandleDeregister, int *handle)
{
    close(*handle);
    free(handle);
}

API_IS(struct file_error, cuFileBufRegister, (struct file_error){.error = 0}, const void *buffer, size_t bytes,
       int flags)
API_IS(struct file_error, cuFileBufDeregister, (struct file_error){.error = 0}, const void *buffer)

API(ssize_t, cuFileRead, const int *handle, void *buffer, size_t bytes, off_t at, off_t buffer_at)
{
    char *piece = malloc(PIECE), *to = (char *)buffer + buffer_at;
    size_t done = 0;
    ssize_t n = piece == NULL ? -1 : 1;
    while (n > 0 && done < bytes) {
        n = pread(*handle, piece, bytes - done < PIECE ? bytes - done : PIECE, at + (off_t)done);
        if (n > 0)
            cudaMemcpy(to + done, piece, (size_t)n, 0);
        done += n > 0 ? (size_t)n : 0;
    }
    free(piece);
    return n < 0 ? -1 : (ssize_t)done;
}

API(ssize_t, cuFileWrite, const int *handle, const void *buffer, size_t bytes, off_t at, off_t buffer_at)
{
    GM_FREED char *piece = malloc(PIECE);
    const char *from = (const char *)buffer + buffer_at;
    size_t done = 0;
    ssize_t n = piece == NULL ? -1 : 1;
    while (n > 0 && done < bytes) {
        const size_t part = bytes - done < PIECE ? bytes - done : PIECE;
        cudaMemcpy(piece, from + done, part, 0);
        n = pwrite(*handle, piece, part, at + (off_t)done);
        done += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : (ssize_t)done;
}
