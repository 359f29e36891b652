/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/allocator/sim.h"

#include "analyze/base/size.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (UINT64_C(0x7f) << 40)       /* of cudaMalloc, like the addresses of real traces */
#define FIRST_RESERVED (UINT64_C(1) << 50) /* of reservations */
#define UNLIMITED_RESERVE (UINT64_C(1) << 40)

static enum gm_device_status take(struct gm_sim *sim, uint64_t size)
{
    if (size > sim->capacity || sim->used > sim->capacity - size)
        return GM_DEVICE_FULL;
    sim->used += size;
    return GM_DEVICE_OK;
}

static uint64_t rounded(uint64_t size)
{
    return (size + 2 * GM_MIB - 1) / (2 * GM_MIB) * (2 * GM_MIB);
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_sim *sim = self;
    uint64_t length = rounded(size);
    enum gm_device_status status = take(sim, size);
    if (status != GM_DEVICE_OK)
        return status;
    for (size_t i = 0; i < sim->holes.n; i++) {
        struct gm_sim_hole *hole = &sim->holes.v[i];
        if (hole->size < length)
            continue;
        *address = hole->address;
        hole->address += length;
        hole->size -= length;
        if (hole->size == 0) {
            sim->holes.n--;
            memmove(hole, hole + 1, (sim->holes.n - i) * sizeof *hole);
        }
        return GM_DEVICE_OK;
    }
    if (sim->next == 0)
        sim->next = FIRST;
    *address = sim->next;
    sim->next += length;
    return GM_DEVICE_OK;
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    struct gm_sim *sim = self;
    uint64_t length = rounded(size);
    size_t at = 0;
    sim->used -= size;
    while (at < sim->holes.n && sim->holes.v[at].address < address)
        at++;
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
    return GM_DEVICE_OK;
}

static enum gm_device_status reserve(void *self, uint64_t page, uint64_t *address, uint64_t *size)
{
    struct gm_sim *sim = self;
    uint64_t memory = sim->capacity == UINT64_MAX ? UNLIMITED_RESERVE : sim->capacity;
    *size = (memory + memory / 8 + page - 1) / page * page;
    if (sim->next_reserve == 0)
        sim->next_reserve = FIRST_RESERVED;
    *address = sim->next_reserve;
    sim->next_reserve += rounded(*size) + 2 * GM_MIB;
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
    return (struct gm_device){sim, allocate, release, reserve, map, unmap, unreserve, free_bytes, sim->capacity};
}

void gm_sim_free(struct gm_sim *sim)
{
    free(sim->holes.v);
    sim->holes.v = NULL;
    sim->holes.n = sim->holes.capacity = 0;
}
