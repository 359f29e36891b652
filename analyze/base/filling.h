/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that one thread fills from its beginning on, and of which another asks the system for the next pages: to touch
 * a page first takes 2 microseconds, which whoever fills it then need not wait for.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

/* Zero-initialise. What was told may be out of date: where memory was moved from, the system has no page to give. */
struct gm_filling {
    _Atomic(char *) v;
    _Atomic size_t filled, room; /* bytes */
    size_t asked;                /* bytes; the other thread's own */
};

/* How far it is, by whoever fills it, from time to time. */
static inline void gm_filling_tell(struct gm_filling *f, void *v, size_t filled, size_t room)
{
    atomic_store_explicit(&f->v, v, memory_order_relaxed);
    atomic_store_explicit(&f->filled, filled, memory_order_relaxed);
    atomic_store_explicit(&f->room, room, memory_order_relaxed);
}

/* Asks for the pages of the next quarter of a megabyte, by the other thread. */
void gm_filling_ask(struct gm_filling *f);

/* Asks for those of bytes [from, to) of the memory at `v`. */
void gm_pages_ask(char *v, size_t from, size_t to);
