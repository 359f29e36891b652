/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host wrote to a device, or had it filled with, as long as it is known to be there still: until the next
 * kernel, which may have changed anything. Of what other ranks send there is a promise, kept when somebody looks at it.
 */
#include "replay/dry/private.h"

#include "analyze/base/freed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, LARGEST = 1 << 20, LARGEST_FILL = 1 << 16 }; /* pieces, bytes of one */

/* Pieces do not overlap. */
struct piece {
    uint64_t begin, bytes;
    char *data; /* NULL: a promise */
    struct dry_promise promise;
    bool is_guess;
};

static struct piece *kept;
static atomic_size_t count;
static _Thread_local int held;

static void drop(size_t i)
{
    free(kept[i].data);
    kept[i] = kept[--count];
}

void dry_forget(void)
{
    if (count == 0 || held > 0)
        return;
    dry_lock();
    while (count > 0)
        drop(count - 1);
    dry_unlock();
}

/* The piece's data become ours. */
static void add(const struct piece *piece)
{
    if (kept == NULL)
        kept = malloc(MOST * sizeof *kept);
    if (kept == NULL || count == MOST)
        free(piece->data);
    else
        kept[count++] = *piece;
}

/* What of a piece lies in a range, as a piece of its own. false: nothing, or no memory. */
static bool cut(struct piece *part, const struct piece *piece, uint64_t begin, uint64_t bytes)
{
    const uint64_t from = piece->begin > begin ? piece->begin : begin;
    const uint64_t end = begin + bytes, own_end = piece->begin + piece->bytes;
    const uint64_t to = own_end < end ? own_end : end;
    if (from >= to)
        return false;
    *part = *piece;
    part->begin = from;
    part->bytes = to - from;
    part->promise.offset += from - piece->begin;
    if (piece->data == NULL)
        return true;
    part->data = malloc(part->bytes);
    if (part->data != NULL)
        memcpy(part->data, piece->data + (from - piece->begin), part->bytes);
    return part->data != NULL;
}

/* What else a piece has stays. */
static void drop_range(uint64_t begin, uint64_t bytes)
{
    for (size_t i = count; i-- > 0;) {
        const struct piece old = kept[i];
        const uint64_t end = begin + bytes, old_end = old.begin + old.bytes;
        struct piece part;
        if (old.begin >= end || begin >= old_end)
            continue;
        kept[i] = kept[--count];
        if (old.begin < begin && cut(&part, &old, old.begin, begin - old.begin))
            add(&part);
        if (end < old_end && cut(&part, &old, end, old_end - end))
            add(&part);
        free(old.data);
    }
}

void dry_keep(void *to, const void *data, uint64_t bytes, bool is_guess)
{
    struct piece piece = {.begin = (uint64_t)(uintptr_t)to, .bytes = bytes, .is_guess = is_guess};
    dry_lock();
    drop_range(piece.begin, bytes);
    piece.data = data != NULL && bytes > 0 && bytes <= LARGEST ? malloc(bytes) : NULL;
    if (piece.data != NULL) {
        memcpy(piece.data, data, bytes);
        add(&piece);
    }
    dry_unlock();
}

void dry_fill(void *to, const void *value, uint64_t size, uint64_t elements)
{
    const uint64_t bytes = size * elements;
    GM_FREED char *data = elements > 0 && elements <= LARGEST_FILL / size ? malloc(bytes) : NULL;
    if (data != NULL)
        memcpy(data, value, size);
    for (uint64_t done = size, more; data != NULL && done < bytes; done += more) { /* twice as much each time */
        more = done < bytes - done ? done : bytes - done;
        memcpy(data + done, data, more);
    }
    dry_keep(to, data, bytes, false);
}

void dry_keep_promise(void *to, uint64_t bytes, const struct dry_promise *promise)
{
    const struct piece piece = {.begin = (uint64_t)(uintptr_t)to, .bytes = bytes, .promise = *promise};
    dry_lock();
    drop_range(piece.begin, bytes);
    if (bytes > 0 && bytes <= LARGEST)
        add(&piece);
    dry_unlock();
}

/* Copies of all that is known of a range, which the caller frees; in no order. */
static struct piece *find(size_t *found, uint64_t begin, uint64_t bytes)
{
    struct piece *parts = NULL;
    *found = 0;
    for (size_t i = 0; i < count; i++) {
        struct piece part;
        if (!cut(&part, &kept[i], begin, bytes))
            continue;
        struct piece *more = realloc(parts, (*found + 1) * sizeof *more);
        if (more == NULL) {
            free(part.data);
            break;
        }
        parts = more;
        parts[(*found)++] = part;
    }
    return parts;
}

void dry_move(void *to, const void *from, uint64_t bytes)
{
    const uint64_t begin = (uint64_t)(uintptr_t)from, target = (uint64_t)(uintptr_t)to;
    size_t found = 0;
    dry_lock();
    GM_FREED struct piece *parts = find(&found, begin, bytes);
    drop_range(target, bytes);
    for (size_t i = 0; i < found; i++) {
        parts[i].begin = target + (parts[i].begin - begin);
        add(&parts[i]);
    }
    dry_unlock();
}

/* Into its place of what is made up; how many bytes it brought. */
static uint64_t settle(char *whole, uint64_t begin, struct piece *part, bool *is_guess)
{
    uint64_t bytes = 0;
    if (part->data == NULL)
        part->data = dry_fulfil(&part->promise, part->bytes);
    if (part->data != NULL) {
        memcpy(whole + (part->begin - begin), part->data, part->bytes);
        *is_guess = *is_guess || part->is_guess;
        bytes = part->bytes;
    }
    free(part->data);
    return bytes;
}

char *dry_kept(const void *from, uint64_t bytes, bool *is_guess)
{
    const uint64_t begin = (uint64_t)(uintptr_t)from;
    size_t found = 0;
    uint64_t known = 0;
    *is_guess = false;
    if (count == 0 || bytes == 0)
        return NULL;
    dry_lock();
    struct piece *parts = find(&found, begin, bytes);
    dry_unlock();
    for (size_t i = 0; i < found; i++)
        known += parts[i].bytes;
    char *whole = known == bytes ? malloc(bytes) : NULL;
    known = 0;
    for (size_t i = 0; i < found; i++)
        if (whole != NULL)
            known += settle(whole, begin, &parts[i], is_guess);
        else
            free(parts[i].data);
    free(parts);
    if (known == bytes)
        return whole;
    free(whole);
    return NULL;
}

/* ---- for the hook, which computes small values where a kernel would ---------------------------------------------- */

/* The hook says itself what this thread's kernels change, between a call with 1 and one with -1. */
API(void, gmdryHold, int by)
{
    held += by;
}

API(int, gmdryKnown, const void *from, uint64_t bytes, void *to)
{
    bool is_guess;
    GM_FREED char *known = bytes <= LARGEST ? dry_kept(from, bytes, &is_guess) : NULL;
    if (known == NULL)
        return 0;
    memcpy(to, known, bytes);
    return is_guess ? 2 : 1;
}

/* `data` NULL: it is no longer known. */
API(void, gmdryTell, void *to, uint64_t bytes, const void *data, int is_guess)
{
    dry_keep(to, data, bytes, is_guess != 0);
}
