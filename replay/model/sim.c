/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/model/sim.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/size.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (UINT64_C(0x7f) << 40) /* like the addresses of real traces */
#define SPAN (UINT64_C(1) << 50)     /* of the addresses for segments */
#define LAST (UINT64_C(1) << 63)
#define UNLIMITED_RESERVE (UINT64_C(1) << 40)
#define PAGE (2 * GM_MIB)
#define LEAST_BELOW (UINT64_C(1) << 40) /* of addresses below those of others, to be used */

struct gm_sim gm_sim_init(uint64_t capacity, uint32_t placement)
{
    return (struct gm_sim){.capacity = capacity,
                           .placement = placement,
                           .random = placement,
                           .others = FIRST,
                           .others_end = FIRST,
                           .reserve = FIRST + SPAN,
                           .reserve_end = LAST};
}

void gm_sim_begin_around(struct gm_sim *sim, uint64_t from, uint64_t to, uint64_t used)
{
    uint64_t end = gm_round_up(to, PAGE);
    sim->used = used;
    sim->others_end = end > FIRST ? end : FIRST;
    sim->others = from < sim->others_end ? from / PAGE * PAGE : sim->others_end;
    sim->reserve = sim->others_end + SPAN;
}

/* Which of the two sides of the others' addresses it begins with. */
static bool begin(struct gm_sim *sim)
{
    const struct gm_sim_hole above = {sim->others_end, SPAN};
    const struct gm_sim_hole below = {PAGE, sim->others > PAGE ? sim->others - PAGE : 0};
    const bool has_room = sim->others < sim->others_end && below.size >= LEAST_BELOW;
    if (sim->placement != GM_PLACE_LOW && has_room && !GM_VEC_PUSH(&sim->holes, below))
        return false;
    return (sim->placement == GM_PLACE_HIGH && has_room) || GM_VEC_PUSH(&sim->holes, above);
}

/* splitmix64 */
static uint64_t draw(struct gm_sim *sim)
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static enum gm_device_status take(struct gm_sim *sim, uint64_t size)
{
    if (size > sim->capacity || sim->used > sim->capacity - size)
        return GM_DEVICE_FULL;
    sim->used += size;
    return GM_DEVICE_OK;
}

/* The hole for `length` bytes, and the offset there. */
static bool find_hole(struct gm_sim *sim, uint64_t length, size_t *hole, uint64_t *offset)
{
    const struct gm_sim_hole *v = sim->holes.v;
    size_t n = sim->holes.n, i = sim->placement == GM_PLACE_LOW ? 0 : n;
    *offset = 0;
    if (sim->placement >= GM_PLACE_RANDOM)
        for (int tries = 0; tries < 8 && n > 0; tries++) {
            i = draw(sim) % n;
            if (v[i].size < length)
                continue;
            *hole = i;
            *offset = draw(sim) % ((v[i].size - length) / PAGE + 1) * PAGE;
            return true;
        }
    if (sim->placement == GM_PLACE_LOW) {
        while (i < n && v[i].size < length)
            i++;
        sim->work += i;
        *hole = i;
        return i < n;
    }
    for (i = n; i > 0 && v[i - 1].size < length; i--)
        sim->work++;
    if (i == 0)
        return false;
    *hole = i - 1;
    *offset = v[i - 1].size - length;
    return true;
}

static enum gm_device_status take_hole(struct gm_sim *sim, uint64_t length, uint64_t *address)
{
    size_t i;
    uint64_t offset;
    if ((!sim->has_begun && !begin(sim)) || !GM_VEC_ROOM(&sim->holes, 1))
        return GM_DEVICE_FAILED;
    sim->has_begun = true;
    if (!find_hole(sim, length, &i, &offset))
        return GM_DEVICE_FULL; /* no addresses left: only where memory is unlimited */
    struct gm_sim_hole *hole = &sim->holes.v[i];
    const struct gm_sim_hole rest = {hole->address + offset + length, hole->size - offset - length};
    *address = hole->address + offset;
    hole->size = offset;
    size_t from = i + 1, to = i + (hole->size > 0) + (rest.size > 0); /* where what follows moves */
    if (from != to) {
        sim->work += (sim->holes.n - from) / 16;
        memmove(sim->holes.v + to, sim->holes.v + from, (sim->holes.n - from) * sizeof *hole);
    }
    sim->holes.n += to - from;
    if (rest.size > 0)
        sim->holes.v[to - 1] = rest;
    sim->given++;
    return GM_DEVICE_OK;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_sim *sim = self;
    uint64_t length = gm_round_up(size, PAGE);
    if (length > SPAN)
        return GM_DEVICE_FULL;
    enum gm_device_status status = take(sim, size);
    if (status != GM_DEVICE_OK)
        return status;
    status = take_hole(sim, length, address);
    if (status != GM_DEVICE_OK)
        sim->used -= size;
    return status;
}

/* The first hole above `address`. */
static size_t hole_above(const struct gm_sim *sim, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, sim->holes.n, i, sim->holes.v[i].address < address);
    return low;
}

static enum gm_device_status release(void *self, uint64_t address, uint64_t size)
{
    struct gm_sim *sim = self;
    uint64_t length = gm_round_up(size, PAGE);
    sim->used -= size;
    if (address >= sim->others && address < sim->others_end)
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
    *size = gm_round_up(memory, page);
    const uint64_t length = gm_round_up(*size, PAGE) + PAGE;
    if (length > sim->reserve_end - sim->reserve)
        return GM_DEVICE_FULL;
    sim->given++;
    if (sim->placement == GM_PLACE_HIGH || (sim->placement >= GM_PLACE_RANDOM && draw(sim) % 2 > 0)) {
        sim->reserve_end -= length;
        *address = sim->reserve_end;
    } else {
        *address = sim->reserve;
        sim->reserve += length;
    }
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
