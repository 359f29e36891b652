/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "replay/verify/verify_private.h"

static bool is_next(const struct gm_verifying *v, enum gm_action action)
{
    return v->growth < v->growth_end && gm_action_at(v, v->growth) == action;
}

/* FAILED and not FULL: the model shall not try its other resorts, which would give back what the trace still has. */
static enum gm_device_status refuse(struct gm_verifying *v, uint64_t address, uint64_t size, bool is_map)
{
    if (!v->is_growth_wrong) {
        v->wanted.address = address;
        v->wanted.size = size;
        v->wanted.is_map = is_map;
    }
    v->is_growth_wrong = true;
    return GM_DEVICE_FAILED;
}

static enum gm_device_status allocate(void *self, uint64_t size, uint64_t *address)
{
    struct gm_verifying *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_ALLOC) || gm_size_at(v, v->growth) != size)
        return refuse(v, GM_ABSENT, size, false);
    v->model.origin = v->growth;
    *address = gm_addr_at(v, v->growth++);
    v->result->growths_predicted++;
    return GM_DEVICE_OK;
}

static enum gm_device_status take_back(void *self, uint64_t address, uint64_t size)
{
    (void)self;
    (void)address;
    (void)size;
    return GM_DEVICE_OK;
}

/* A reservation whose length nobody recorded: up to the next one, or very long. */
static enum gm_device_status reserve(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size)
{
    struct gm_verifying *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_MAP))
        return refuse(v, GM_ABSENT, page, true);
    *address = gm_addr_at(v, v->growth);
    if (*address == 0 || gm_allocator_next_reservation(&v->model, *address - 1) == *address)
        return refuse(v, GM_ABSENT, page, true); /* there is one already */
    uint64_t end = *address > UINT64_MAX - 16 * GM_TIB ? UINT64_MAX : *address + 16 * GM_TIB;
    uint64_t next = gm_allocator_next_reservation(&v->model, *address);
    *size = ((next < end ? next : end) - *address) / page * page;
    if (*size > most)
        *size = gm_round_up(most, page);
    return *size > 0 ? GM_DEVICE_OK : refuse(v, GM_ABSENT, page, true);
}

static enum gm_device_status map(void *self, uint64_t address, uint64_t size)
{
    struct gm_verifying *v = self;
    if (!is_next(v, GM_ACTION_SEGMENT_MAP) || gm_addr_at(v, v->growth) != address || gm_size_at(v, v->growth) != size)
        return refuse(v, address, size, true);
    v->model.origin = v->growth++;
    v->result->growths_predicted++;
    return GM_DEVICE_OK;
}

static uint64_t free_bytes(void *self)
{
    (void)self;
    return 0;
}

struct gm_device gm_recorded_device(struct gm_verifying *v)
{
    return (struct gm_device){v, allocate, take_back, reserve, map, take_back, take_back, free_bytes, UINT64_MAX};
}
