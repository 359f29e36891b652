/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/nomem/nomem.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_posix_memalign(void **p, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_posix_memalign(void **p, size_t alignment, size_t size);

static atomic_size_t made, failing; /* allocations so far; the number of the one that fails, 0: none does */
static atomic_bool fails_for_good, has_failed;

void nomem_begin(size_t n, bool for_good)
{
    atomic_store(&made, 0);
    atomic_store(&has_failed, false);
    atomic_store(&fails_for_good, for_good);
    atomic_store(&failing, n);
}

bool nomem_end(void)
{
    atomic_store(&failing, 0);
    return atomic_load(&has_failed);
}

static bool fails_now(void)
{
    const size_t which = atomic_load(&failing);
    if (which == 0)
        return false;
    const size_t number = atomic_fetch_add(&made, 1) + 1;
    if (number != which && !(number > which && atomic_load(&fails_for_good)))
        return false;
    atomic_store(&has_failed, true);
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    const bool shrinks = p != NULL && size <= malloc_usable_size(p); /* never for want of memory */
    return !shrinks && fails_now() ? NULL : __real_realloc(p, size);
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t size)
{
    return fails_now() ? ENOMEM : __real_posix_memalign(p, alignment, size);
}
