/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader and the writer of a .gmtrace's events both know after the same number of steps, so that the file says
 * only what it cannot be guessed from. An allocation is a slot; live slots form a list, newest first; the slots of
 * freed allocations form a stack for each size, because the allocator likes to give out again what came back last.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/base/vec.h"
#include "analyze/formats/gmtrace_format.h"

/* What many events have in common: ids of the snapshot's tables. */
enum {
    GM_FIELD_STACK,
    GM_FIELD_STREAM,
    GM_FIELD_POOL,
    GM_FIELD_COMPILE_CONTEXT,
    GM_FIELD_USER_METADATA,
    GM_FIELD_ACTION_NAME,
    GM_FIELD_CATEGORY,
    GM_FIELD_COUNT
};
struct gm_gmtrace_context {
    uint32_t field[GM_FIELD_COUNT];
};

/* A kind of event; events of one shape differ in address and time only. */
struct gm_gmtrace_shape {
    uint64_t size;
    uint32_t context;
    uint32_t size_class;   /* of allocations that can take each other's place */
    uint32_t free_context; /* with which one of this shape was freed last; 0: none yet */
    uint8_t action;
};

#define GM_SLOT_FREE UINT32_MAX
struct gm_gmtrace_slot {
    uint64_t addr;
    uint32_t shape;
    uint32_t older; /* in the list of live ones, or of free ones */
    uint32_t newer; /* likewise; GM_SLOT_FREE if it is not live */
};

struct gm_gmtrace_state {
    struct GM_VEC(struct gm_gmtrace_context) contexts; /* row 0 is unused, as in the two below */
    struct GM_VEC(struct gm_gmtrace_shape) shapes;
    struct GM_VEC(struct gm_gmtrace_slot) slots; /* 0 is the list of live ones: older = newest of all */
    struct GM_VEC(uint32_t) free_top;            /* by size class: the latest freed slot, 0 if none */
    struct gm_address_map classes;
    uint64_t time;
    uint64_t next;         /* where the latest allocation ends */
    uint64_t other;        /* address of the latest event that is no allocation and no free */
    uint64_t other_end;    /* and where it ends */
    uint32_t newest_stack; /* the highest stack id that a context named */
};

bool gm_gmtrace_state_begin(struct gm_gmtrace_state *s);
void gm_gmtrace_state_free(struct gm_gmtrace_state *s);
/* Append a row; false if there is no memory. */
bool gm_gmtrace_add_context(struct gm_gmtrace_state *s, const struct gm_gmtrace_context *context);
bool gm_gmtrace_add_shape(struct gm_gmtrace_state *s, uint8_t action, uint64_t size, uint32_t context);

static inline uint64_t gm_gmtrace_rounded(uint64_t size) /* as the allocator rounds, in 512 bytes */
{
    return (size >> 9) + ((size & 511) != 0);
}

/* A live allocation, as the newest one. */
static inline void gm_gmtrace_put_live(struct gm_gmtrace_state *s, uint32_t slot, uint32_t shape)
{
    struct gm_gmtrace_slot *v = s->slots.v;
    v[slot].shape = shape;
    v[slot].newer = 0;
    v[slot].older = v[0].older;
    v[v[0].older].newer = slot;
    v[0].older = slot;
    s->next = v[slot].addr + (gm_gmtrace_rounded(s->shapes.v[shape].size) << 9);
}

static inline void gm_gmtrace_put_free(struct gm_gmtrace_state *s, uint32_t slot)
{
    struct gm_gmtrace_slot *v = s->slots.v;
    v[v[slot].newer].older = v[slot].older;
    v[v[slot].older].newer = v[slot].newer;
    uint32_t *top = &s->free_top.v[s->shapes.v[v[slot].shape].size_class];
    v[slot].newer = GM_SLOT_FREE;
    v[slot].older = *top;
    *top = slot;
}

/* Takes the slot that `above` steps lie on top of out of its stack of free ones; 0 if there is none. */
static inline uint32_t gm_gmtrace_take_free(struct gm_gmtrace_state *s, uint32_t size_class, uint64_t above)
{
    uint32_t *link = &s->free_top.v[size_class];
    for (; above > 0 && *link != 0; above--)
        link = &s->slots.v[*link].older;
    uint32_t slot = *link;
    if (slot != 0)
        *link = s->slots.v[slot].older;
    return slot;
}

/* A new slot at `addr`, in no list; 0 if there is no memory. */
static inline uint32_t gm_gmtrace_new_slot(struct gm_gmtrace_state *s, uint64_t addr)
{
    if (!GM_VEC_ROOM(&s->slots, 1))
        return 0;
    s->slots.v[s->slots.n] = (struct gm_gmtrace_slot){.addr = addr, .newer = GM_SLOT_FREE};
    return (uint32_t)s->slots.n++;
}
