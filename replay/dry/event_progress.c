/* SPDX-License-Identifier: Apache-2.0
 *
 * How far the device is (--events). Work takes no time here; on a card it does, and memory that a stream still uses is
 * given back only when an event tells that it is over. So an event counts as complete at once, or after the host has
 * waited for it, or after it was asked for so many times.
 *
 * Each stream has a line of marks: one for an event that is recorded, one for an event that it waits for. Whoever waits
 * for a mark has waited for those before it, and for what they waited for.
 */
#include "replay/dry/private.h"

#include <stdlib.h>

/* A device gets there at last, also if nobody waits but one who asks again and again. */
enum { POLLS_MOST = 1000000 };

static struct {
    uint64_t marks, done;
} lines[DRY_STREAMS];

/* Mark `at` of stream `waiter` is reached when the other stream is at `mark`. */
static struct dependence {
    uint64_t at, mark;
    size_t waiter, other;
} * dependences;
static size_t dependence_count, dependence_room;

/* Under the lock. Depth is bounded by the streams: each call moves one of them on. */
static void reach(size_t stream, uint64_t mark)
{
    if (mark <= lines[stream].done)
        return;
    lines[stream].done = mark;
    for (size_t i = dependence_count; i-- > 0;) {
        if (i >= dependence_count || dependences[i].waiter != stream || dependences[i].at > mark)
            continue;
        const struct dependence d = dependences[i];
        dependences[i] = dependences[--dependence_count];
        reach(d.other, d.mark);
    }
}

uint64_t dry_mark(size_t stream)
{
    dry_lock();
    const uint64_t mark = ++lines[stream].marks;
    if (dry_polls() == DRY_EVENTS_NOW)
        lines[stream].done = mark;
    dry_unlock();
    return mark;
}

uint64_t dry_last_mark(size_t stream)
{
    dry_lock();
    const uint64_t mark = lines[stream].marks;
    dry_unlock();
    return mark;
}

void dry_depend(size_t waiter, size_t other, uint64_t mark)
{
    if (dry_polls() == DRY_EVENTS_NOW)
        return;
    dry_lock();
    if (lines[other].done < mark && waiter != other &&
        dry_make_room(&dependences, dependence_count, &dependence_room, sizeof *dependences))
        dependences[dependence_count++] = (struct dependence){++lines[waiter].marks, mark, waiter, other};
    dry_unlock();
}

bool dry_is_reached(size_t stream, uint64_t mark, unsigned *polls)
{
    const int64_t wanted = dry_polls();
    dry_lock();
    if (lines[stream].done < mark && ++*polls > (wanted < 0 ? POLLS_MOST : wanted))
        reach(stream, mark);
    const bool is_reached = lines[stream].done >= mark;
    dry_unlock();
    return is_reached;
}

void dry_wait(size_t stream, uint64_t mark)
{
    dry_lock();
    reach(stream, mark < lines[stream].marks ? mark : lines[stream].marks);
    dry_unlock();
}

void dry_wait_all(void)
{
    dry_lock();
    for (size_t i = 0; i < DRY_STREAMS; i++)
        lines[i].done = lines[i].marks;
    dependence_count = 0;
    dry_unlock();
}
