/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host wrote to a device, as long as it is known to be there still: until the next kernel, which may have
 * changed anything.
 */
#include "replay/dry/private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, LARGEST = 1 << 20 }; /* pieces, bytes of one */

static struct {
    uint64_t begin, bytes;
    char *data;
    bool is_guess;
} kept[MOST];
static atomic_size_t count;

static void drop(size_t i)
{
    free(kept[i].data);
    kept[i] = kept[--count];
}

void dry_forget(void)
{
    if (count == 0)
        return;
    dry_lock();
    while (count > 0)
        drop(count - 1);
    dry_unlock();
}

void dry_keep(void *to, const void *data, uint64_t bytes, bool is_guess)
{
    const uint64_t begin = (uint64_t)(uintptr_t)to;
    dry_lock();
    for (size_t i = count; i-- > 0;)
        if (kept[i].begin < begin + bytes && begin < kept[i].begin + kept[i].bytes)
            drop(i);
    char *copy = data != NULL && bytes <= LARGEST && count < MOST ? malloc(bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, data, bytes);
        kept[count].begin = begin;
        kept[count].bytes = bytes;
        kept[count].data = copy;
        kept[count++].is_guess = is_guess;
    }
    dry_unlock();
}

char *dry_kept(const void *from, uint64_t bytes, bool *is_guess)
{
    const uint64_t begin = (uint64_t)(uintptr_t)from;
    char *copy = NULL;
    dry_lock();
    for (size_t i = 0; copy == NULL && i < count; i++)
        if (kept[i].begin <= begin && begin + bytes <= kept[i].begin + kept[i].bytes &&
            (copy = malloc(bytes)) != NULL) {
            memcpy(copy, kept[i].data + (begin - kept[i].begin), bytes);
            *is_guess = kept[i].is_guess;
        }
    dry_unlock();
    return copy;
}
