/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses without pages: one range of the process's address space that nobody can read or write, and in it sorted
 * lists of what is taken. A segment lies at the lowest place that has room, at multiples of 2 MiB, as drivers do.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "replay/dry/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRAIN (UINT64_C(2) << 20)
#define SPAN (UINT64_C(8) << 40) /* for each of the two lists; both lie below where programs are loaded */
#define WISH UINT64_C(0x400000000000)

struct list {
    uint64_t low;
    struct dry_range *v;
    size_t n, room;
};

static uint64_t base;
static struct list lists[2]; /* allocations, reservations */

/* 0 if the process may not have so much address space. */
static uint64_t find_base(void)
{
    if (base != 0)
        return base;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *wish = NULL;
    const uint64_t address = WISH;
    memcpy(&wish, &address, sizeof wish);
    void *got = mmap(wish, 2 * SPAN, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED)
        got = mmap(NULL, 2 * SPAN + GRAIN, PROT_NONE, flags, -1, 0);
    if (got == MAP_FAILED) {
        fprintf(stderr, "gmdry: no address space for the device's memory (is it limited, as by ulimit -v?)\n");
        return 0;
    }
    base = gm_round_up((uint64_t)(uintptr_t)got, GRAIN);
    lists[0].low = base + GRAIN; /* symbols lie before */
    lists[1].low = base + SPAN;
    return base;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* The first range that begins after the address. */
static size_t after(const struct list *list, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, list->n, i, list->v[i].begin <= address);
    return low;
}

uint64_t dry_take(uint64_t bytes, int device, bool is_reservation, struct dry_pool *pool)
{
    struct list *list = &lists[is_reservation];
    if (bytes == 0 || bytes > SPAN || find_base() == 0 ||
        !dry_make_room(&list->v, list->n, &list->room, sizeof *list->v))
        return 0;
    uint64_t at = list->low;
    size_t i = 0;
    for (; i < list->n && list->v[i].begin - at < gm_round_up(bytes, GRAIN); i++)
        at = list->v[i].begin + gm_round_up(list->v[i].bytes, GRAIN);
    if (at + gm_round_up(bytes, GRAIN) > base + (is_reservation ? 2 : 1) * SPAN)
        return 0;
    memmove(list->v + i + 1, list->v + i, (list->n - i) * sizeof *list->v);
    list->v[i] = (struct dry_range){at, bytes, device, pool};
    list->n++;
    return at;
}

bool dry_give(uint64_t begin, bool is_reservation, struct dry_range *range)
{
    struct list *list = &lists[is_reservation];
    const size_t i = after(list, begin);
    if (i == 0 || list->v[i - 1].begin != begin)
        return false;
    *range = list->v[i - 1];
    memmove(list->v + i - 1, list->v + i, (list->n - i) * sizeof *list->v);
    list->n--;
    return true;
}

bool dry_find(uint64_t address, struct dry_range *range)
{
    for (size_t k = 0; k < 2; k++) {
        const size_t i = after(&lists[k], address);
        if (i > 0 && address - lists[k].v[i - 1].begin < lists[k].v[i - 1].bytes) {
            *range = lists[k].v[i - 1];
            return true;
        }
    }
    return false;
}

bool dry_is_device(const void *pointer)
{
    return base != 0 && (uint64_t)(uintptr_t)pointer - base < 2 * SPAN;
}

void *dry_symbol(void)
{
    dry_lock();
    const uint64_t address = find_base();
    dry_unlock();
    return (void *)(uintptr_t)address;
}
