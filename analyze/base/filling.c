/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/filling.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before that nothing is given */
#endif

enum { AHEAD = 256 << 10 };

void gm_pages_ask(char *v, size_t from, size_t to)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *begin = v + from - ((uintptr_t)v + from) % page, *end = v + to - ((uintptr_t)v + to) % page;
    if (v != NULL && begin < end)
        (void)madvise(begin, (size_t)(end - begin), MADV_POPULATE_WRITE); /* else they come as they are touched */
}

void gm_filling_ask(struct gm_filling *f)
{
    const size_t filled = atomic_load_explicit(&f->filled, memory_order_relaxed);
    const size_t room = atomic_load_explicit(&f->room, memory_order_relaxed);
    const size_t from = f->asked > filled ? f->asked : filled, to = filled + AHEAD < room ? filled + AHEAD : room;
    if (to < from + AHEAD / 4)
        return;
    gm_pages_ask(atomic_load_explicit(&f->v, memory_order_relaxed), from, to);
    f->asked = to;
}
