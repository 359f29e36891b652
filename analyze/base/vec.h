/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing arrays. `struct gm_vec_x GM_VEC(type)`: v[0..n), owned by whoever owns the struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_VEC(type)                                                                                                   \
    {                                                                                                                  \
        type *v;                                                                                                       \
        size_t n, capacity;                                                                                            \
    }

/* Makes room for `need` elements of `size` bytes in the array whose pointer lies at `where`, growing by half so that
 * memory stays near what is used; false and unchanged if there is no memory. */
bool gm_grow(void *where, size_t *capacity, size_t need, size_t size);

/* Gives back the room behind the first `count` elements of it. */
void gm_trim(void *where, size_t count, size_t size);

/* Room for `extra` more elements; evaluates to false if there is no memory. */
#define GM_VEC_ROOM(vec, extra)                                                                                        \
    ((vec)->capacity - (vec)->n >= (size_t)(extra) ||                                                                  \
     gm_grow(&(vec)->v, &(vec)->capacity, (vec)->n + (size_t)(extra), sizeof *(vec)->v))
/* Appends one element; evaluates to false if there is no memory. */
#define GM_VEC_PUSH(vec, value) (GM_VEC_ROOM(vec, 1) ? ((vec)->v[(vec)->n++] = (value), true) : false)
/* Bytes that it holds. */
#define GM_VEC_BYTES(vec) ((vec)->capacity * (uint64_t)sizeof *(vec)->v)
