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
#include <string.h>

struct clock {
    uint64_t hand[DRY_COMMUNICATORS];
};

/* Keys are handles; a table with open addressing, whose entries stay. */
struct entry {
    const void *key;
    struct clock *clock;
};

static struct entry *entries;
static size_t entry_count, entry_room;
static struct clock all;
static atomic_bool is_used;

/* Streams 0, 1 and 2 are the default stream. */
static const void *key_of(const void *handle)
{
    static const char standard;
    return (uintptr_t)handle > 2 ? handle : &standard;
}

static struct entry *place_of(struct entry *table, size_t room, const void *key)
{
    size_t i = ((uintptr_t)key >> 4) * UINT64_C(0x9e3779b97f4a7c15) % room;
    while (table[i].key != NULL && table[i].key != key)
        i = (i + 1) % room;
    return &table[i];
}

static bool grow(void)
{
    const size_t room = entry_room == 0 ? 1024 : 2 * entry_room;
    struct entry *table = calloc(room, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < entry_room; i++)
        if (entries[i].key != NULL)
            *place_of(table, room, entries[i].key) = entries[i];
    free(entries);
    entries = table;
    entry_room = room;
    return true;
}

/* NULL: there is none (or no memory for one). */
static struct clock *clock_of(const void *handle, bool is_made)
{
    if (is_made && 2 * entry_count >= entry_room && !grow())
        return NULL;
    if (entry_room == 0)
        return NULL;
    struct entry *entry = place_of(entries, entry_room, key_of(handle));
    if (entry->key == NULL && is_made) {
        entry->clock = calloc(1, sizeof *entry->clock);
        if (entry->clock == NULL)
            return NULL;
        entry->key = key_of(handle);
        entry_count++;
    }
    return entry->clock;
}

static void advance(struct clock *to, const struct clock *from)
{
    for (size_t i = 0; i < DRY_COMMUNICATORS; i++)
        if (from->hand[i] > to->hand[i])
            to->hand[i] = from->hand[i];
}

void dry_order_issue(const void *stream, size_t communicator, uint64_t turn)
{
    if (communicator >= DRY_COMMUNICATORS)
        return;
    dry_lock();
    struct clock *clock = clock_of(stream, true);
    if (clock != NULL)
        clock->hand[communicator] = turn;
    all.hand[communicator] = turn;
    is_used = true;
    dry_unlock();
}

void dry_order_record(const void *event, const void *stream)
{
    if (!is_used)
        return;
    dry_lock();
    const struct clock *from = clock_of(stream, false);
    struct clock *to = clock_of(event, from != NULL);
    from = clock_of(stream, false); /* the table may have grown */
    if (to != NULL && from != NULL)
        *to = *from;
    else if (to != NULL)
        memset(to, 0, sizeof *to);
    dry_unlock();
}

void dry_order_wait(const void *stream, const void *event)
{
    if (!is_used)
        return;
    dry_lock();
    const struct clock *from = clock_of(event, false);
    struct clock *to = clock_of(stream, from != NULL);
    if (to != NULL && from != NULL)
        advance(to, from);
    dry_unlock();
}

static void reach(const struct clock *clock)
{
    for (size_t i = 0; i < DRY_COMMUNICATORS; i++)
        if (clock->hand[i] > 0)
            dry_meet(i, clock->hand[i]);
}

void dry_order_reach(const void *stream_or_event)
{
    struct clock now = {{0}};
    if (!is_used)
        return;
    dry_lock();
    const struct clock *clock = clock_of(stream_or_event, false);
    if (clock != NULL)
        now = *clock;
    dry_unlock();
    reach(&now);
}

void dry_order_reach_all(void)
{
    struct clock now;
    if (!is_used)
        return;
    dry_lock();
    now = all;
    dry_unlock();
    reach(&now);
}
