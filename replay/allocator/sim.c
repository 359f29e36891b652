/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/allocator/sim.h"

#include "analyze/base/size.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (UINT64_C(0x7f) << 40) /* like the addresses of real traces */
#define SPAN (UINT64_C(1) << 50)     /* of the addresses for segments */
#define LAST (UINT64_C(1) << 63)
#define UNLIMITED_RESERVE (UINT64_C(1) << 40)
#define PAGE (2 * GM_MIB)

static uint64_t rounded(uint64_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

struct gm_sim gm_sim_init(uint64_t capacity)
{
    return (struct gm_sim){.capacity = capacity,
                           .first = FIRST,
                           .next = FIRST,
                           .first_reserve = FIRST + SPAN,
                           .next_reserve = FIRST + SPAN};
}

void gm_sim_begin_above(struct gm_sim *sim, uint64_t address, uint64_t used)
{
    uint64_t first = rounded(address);
    sim->used = used;
    sim->first = sim->next = first > FIRST ? first : FIRST;
    sim->first_reserve = sim->next_reserve = sim->first + SPAN;
}

static enum gm_device_status take(struct gm_sim *sim, uint64_t size)
{
    if (size > sim->capacity || sim->used > sim->capacity - size)
        return GM_DEVICE_FULL;
    sim->used += size;
    return GM_DEVICE_OK;
}

static bool take_hole(struct gm_sim *sim, uint64_t length, uint64_t *address)
{
    size_t i = 0;
    while (i < sim->holes.n && sim->holes.v[i].size < length)
        i++;
    sim->work += i;
    if (i == sim->holes.n)
        return false;
    struct gm_sim_hole *hole = &sim->holes.v[i];
    *address = hole->address;
    hole->address += length;
    hole->size -= length;
    if (hole->size == 0) {
        sim->holes.n--;
        sim->work += (sim->holes.n - i) / 16;
        memmove(hole, hole + 1, (sim->holes.n - i) * sizeof *hole);
    }
    return true;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_sim *sim = self;
    uint64_t length = rounded(size);
    if (length > SPAN)
        return GM_DEVICE_FULL;
    enum gm_device_status status = take(sim, size);
    if (status != GM_DEVICE_OK || take_hole(sim, length, address))
        return status;
    if (length > sim->first_reserve - sim->next) { /* no addresses left: only where memory is unlimited */
        sim->used -= size;
        return GM_DEVICE_FULL;
    }
    *address = sim->next;
    sim->next += length;
    return GM_DEVICE_OK;
}

/* The first hole above `address`. */
static size_t hole_above(const struct gm_sim *sim, uint64_t address)
{
    size_t low = 0, high = sim->holes.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sim->holes.v[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    struct gm_sim *sim = self;
    uint64_t length = rounded(size);
    sim->used -= size;
    if (address < sim->first)
        return GM_DEVICE_OK;
    size_t at = hole_above(sim, address);
    sim->work += (sim->holes.n - at) / 16;
    if (at > 0 && sim->holes.v[at - 1].address + sim->holes.v[at - 1].size == address) {
        sim->holes.v[--at].size += length;
    } else {
        if (!GM_VEC_ROOM(&sim->holes, 1))
            return GM_DEVICE_FAILED;
        memmove(&sim->holes.v[at + 1], &sim->holes.v[at], (sim->holes.n - at) * sizeof *sim->holes.v);
        sim->holes.v[at] = (struct gm_sim_hole){address, length};
        sim->holes.n++;
    }
    struct gm_sim_hole *hole = &sim->holes.v[at];
    if (at + 1 < sim->holes.n && hole->address + hole->size == hole[1].address) {
        hole->size += hole[1].size;
        sim->holes.n--;
        memmove(hole + 1, hole + 2, (sim->holes.n - at - 1) * sizeof *hole);
    }
    if (hole->address + hole->size == sim->next) { /* nothing is above it any more */
        sim->next = hole->address;
        sim->holes.n--;
    }
    return GM_DEVICE_OK;
}

static uint64_t total_of(const struct gm_sim *sim)
{
    return gm_sat_add(sim->capacity, sim->taken);
}

static enum gm_device_status reserve(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size)
{
    struct gm_sim *sim = self;
    uint64_t memory = total_of(sim) > UNLIMITED_RESERVE ? UNLIMITED_RESERVE : total_of(sim);
    memory = most < memory + memory / 8 ? most : memory + memory / 8;
    *size = (memory + page - 1) / page * page;
    if (*size + 2 * PAGE > LAST - sim->next_reserve)
        return GM_DEVICE_FULL;
    *address = sim->next_reserve;
    sim->next_reserve += rounded(*size) + PAGE;
    return GM_DEVICE_OK;
}

static enum gm_device_status map(void *self, uint64_t address, uint64_t size)
{
    (void)address;
    return take(self, size);
}

static enum gm_device_status unmap(void *self, uint64_t address, uint64_t size)
{
    (void)address;
    ((struct gm_sim *)self)->used -= size;
    return GM_DEVICE_OK;
}

static enum gm_device_status unreserve(void *self, uint64_t address, uint64_t size)
{
    (void)self;
    (void)address;
    (void)size;
    return GM_DEVICE_OK;
}

static uint64_t free_bytes(void *self)
{
    struct gm_sim *sim = self;
    return sim->capacity - sim->used;
}

struct gm_device gm_sim_device(struct gm_sim *sim)
{
    return (struct gm_device){sim, allocate, release, reserve, map, unmap, unreserve, free_bytes, total_of(sim)};
}

void gm_sim_free(struct gm_sim *sim)
{
    free(sim->holes.v);
    sim->holes.v = NULL;
    sim->holes.n = sim->holes.capacity = 0;
}
