/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocations of a device in the order of the program's loop: which is the same one in another round. It is the one
 * of the same stack with as many of that stack before it in its round.
 */
#ifndef GM_DIAGNOSE_ROSTER_H
#define GM_DIAGNOSE_ROSTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_lives;

struct gm_roster_row {
    uint32_t round, place, allocation;
};
/* By stack, round and place; without those from before the trace. */
struct gm_roster {
    struct gm_roster_row *v;
    size_t n;
    uint32_t *first;      /* [gm_stack_id], and one more: the first row of the stack */
    pthread_mutex_t lock; /* of who makes it */
};

/* false: no memory. Free also then. */
bool gm_roster_make(struct gm_roster *roster, const struct gm_lives *l);
void gm_roster_free(struct gm_roster *roster);
/* The row of that stack, round and place; NULL: there is none. */
const struct gm_roster_row *gm_roster_find(const struct gm_roster *roster, uint32_t stack, uint32_t round,
                                           uint32_t place);

#endif
