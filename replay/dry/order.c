/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host waits for when it waits for a stream: collectives of its own and those that it has waited for by
 * events. Of each communicator the last one is enough, as they come in order: a clock of as many hands as there are
 * communicators, for each stream and each event that has seen any. Only waiting asks the other ranks; an event that is
 * queried is complete, so that what the allocator does does not depend on how fast the others are.
 */
#include "replay/dry/private.h"

#include <stdatomic.h>
#include <stdlib.h>

struct dry_clock {
    uint64_t hand[DRY_COMMUNICATORS];
};

static struct dry_clock all;
static atomic_bool is_used;

/* Made when it is first wanted; NULL: no memory. */
static struct dry_clock *clock_at(struct dry_clock **place)
{
    if (*place == NULL)
        *place = calloc(1, sizeof **place);
    return *place;
}

static void advance(struct dry_clock *to, const struct dry_clock *from)
{
    for (size_t i = 0; i < DRY_COMMUNICATORS; i++)
        if (from->hand[i] > to->hand[i])
            to->hand[i] = from->hand[i];
}

void dry_order_issue(struct dry_clock **stream, size_t communicator, uint64_t turn)
{
    if (communicator >= DRY_COMMUNICATORS)
        return;
    dry_lock();
    struct dry_clock *clock = clock_at(stream);
    if (clock != NULL)
        clock->hand[communicator] = turn;
    all.hand[communicator] = turn;
    is_used = true;
    dry_unlock();
}

void dry_order_record(struct dry_clock **event, struct dry_clock *const *stream)
{
    if (!is_used)
        return;
    dry_lock();
    if (*stream != NULL && clock_at(event) != NULL)
        **event = **stream;
    else if (*event != NULL)
        **event = (struct dry_clock){{0}};
    dry_unlock();
}

void dry_order_wait(struct dry_clock **stream, struct dry_clock *const *event)
{
    if (!is_used)
        return;
    dry_lock();
    if (*event != NULL && clock_at(stream) != NULL)
        advance(*stream, *event);
    dry_unlock();
}

static void reach(const struct dry_clock *clock)
{
    for (size_t i = 0; i < DRY_COMMUNICATORS; i++)
        if (clock->hand[i] > 0)
            dry_meet(i, clock->hand[i]);
}

void dry_order_reach(struct dry_clock *const *stream_or_event)
{
    struct dry_clock now = {{0}};
    if (!is_used)
        return;
    dry_lock();
    if (*stream_or_event != NULL)
        now = **stream_or_event;
    dry_unlock();
    reach(&now);
}

void dry_order_reach_all(void)
{
    struct dry_clock now;
    if (!is_used)
        return;
    dry_lock();
    now = all;
    dry_unlock();
    reach(&now);
}
