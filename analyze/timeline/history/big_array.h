/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: memory for a column with an entry per event. In pages of 2 MiB, where the system has
 * them: touching 40 MB for the first time in pages of 4 KiB costs more than any pass over it.
 */
#ifndef GM_TIMELINE_BIG_ARRAY_H
#define GM_TIMELINE_BIG_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Like malloc(count * size), for free(). */
static inline void *gm_big_alloc(size_t count, size_t size)
{
    const size_t page = (size_t)2 << 20;
    if (size != 0 && count > (SIZE_MAX - page) / size)
        return NULL;
    size_t bytes = count * size;
    if (bytes < 2 * page)
        return malloc(bytes == 0 ? 1 : bytes);
    bytes = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, bytes);
#ifdef MADV_HUGEPAGE
    if (memory != NULL)
        (void)madvise(memory, bytes, MADV_HUGEPAGE); /* advice only: without it the same, but slower */
#endif
    return memory;
}

#endif
