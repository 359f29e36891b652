/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C library asks of an operating system, for WebAssembly in a page: there is none, and the module imports
 * nothing. No files, no clock; random numbers are those that the page gave. And sorting: the C library's is slow, has
 * no qsort_r, and orders equals otherwise than the programs' does.
 */
#include "analyze/base/filling.h"
#include "analyze/base/machine.h"
#include "analyze/base/sources.h"
#include "render/page/core/seed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <wasi/api.h>

static uint8_t given[16];

void gm_seed_set(const uint8_t *seed)
{
    memcpy(given, seed, sizeof given);
}

ssize_t getrandom(void *out, size_t size, unsigned flags)
{
    (void)flags;
    if (size > sizeof given)
        return -1;
    memcpy(out, given, size);
    return (ssize_t)size;
}

uint64_t gm_machine_memory(void)
{
    return UINT64_C(4) << 30;
}

void gm_pages_ask(char *v, size_t from, size_t to)
{
    (void)v, (void)from, (void)to;
}

void gm_filling_ask(struct gm_filling *f)
{
    (void)f;
}

enum gm_status gm_sources_line(struct gm_sources *sources, struct gm_arena *arena, const char *path, uint64_t line,
                               const char **text, const char **note, struct gm_error *err)
{
    (void)sources, (void)arena, (void)path, (void)line, (void)err;
    *text = *note = NULL;
    return GM_OK;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){0};
    return 0;
}

/* ---- what would be imports: no environment, no open files ---------------------------------------------------------
 *
 * All that some wasi-libc asks for: of one that is missing here it takes its own file, which has all of them again. */

__wasi_errno_t __wasi_environ_sizes_get(__wasi_size_t *count, __wasi_size_t *bytes)
{
    *count = *bytes = 0;
    return 0;
}

__wasi_errno_t __wasi_environ_get(uint8_t **environment, uint8_t *bytes)
{
    (void)environment, (void)bytes;
    return 0;
}

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd)
{
    (void)fd;
    return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence, __wasi_filesize_t *out)
{
    (void)fd, (void)offset, (void)whence, (void)out;
    return __WASI_ERRNO_BADF;
}

/* What newer ones close a file with. */
__wasi_errno_t __wasi_fd_renumber(__wasi_fd_t fd, __wasi_fd_t to)
{
    (void)fd, (void)to;
    return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *bytes, size_t count, __wasi_size_t *written)
{
    (void)fd, (void)bytes, (void)count, (void)written;
    return __WASI_ERRNO_BADF;
}

void __wasi_proc_exit(__wasi_exitcode_t code)
{
    (void)code;
    __builtin_trap();
}

/* ---- sorting: by merging, so that equals keep their order -------------------------------------------------------- */

typedef int compare_function(const void *left, const void *right, void *argument);

/* Sorts v[0..n) of `size` bytes each; `spare` has room for half of them. */
static void merge_sort(unsigned char *v, size_t n, size_t size, compare_function *compare, void *argument,
                       unsigned char *spare)
{
    const size_t half = n / 2;
    if (n < 2)
        return;
    merge_sort(v, half, size, compare, argument, spare);
    merge_sort(v + half * size, n - half, size, compare, argument, spare);
    unsigned char *left = spare, *right = v + half * size, *out = v;
    const unsigned char *left_end = spare + half * size, *right_end = v + n * size;
    if (compare(right - size, right, argument) <= 0)
        return;
    memcpy(spare, v, half * size);
    while (left < left_end && right < right_end) {
        unsigned char **from = compare(left, right, argument) <= 0 ? &left : &right;
        memcpy(out, *from, size);
        *from += size;
        out += size;
    }
    memcpy(out, left, (size_t)(left_end - left)); /* what is left of the right half is where it belongs */
}

void qsort_r(void *v, size_t n, size_t size, compare_function *compare, void *argument)
{
    unsigned char *spare = n < 2 ? NULL : calloc(n / 2, size);
    if (n >= 2 && spare == NULL)
        abort(); /* it cannot be told: the page says that it was too much */
    if (n >= 2)
        merge_sort(v, n, size, compare, argument, spare);
    free(spare);
}

struct plain {
    int (*compare)(const void *left, const void *right);
};

static int compare_plain(const void *left, const void *right, void *plain)
{
    return ((const struct plain *)plain)->compare(left, right);
}

void qsort(void *v, size_t n, size_t size, int (*compare)(const void *left, const void *right))
{
    qsort_r(v, n, size, compare_plain, &(struct plain){compare});
}
