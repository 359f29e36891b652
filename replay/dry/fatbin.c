/* SPDX-License-Identifier: Apache-2.0
 *
 * The images that a program's kernels come in: of a fat binary the one that the card would run, which says what they
 * need. It is looked for, and unpacked, when a kernel of it is asked for; most never are.
 *
 * A fat binary: the wrapper that is registered points to a head of 16 bytes (magic, version, the head's size, the bytes
 * that follow), and that is followed by entries, each with a head of its own and an image, cubin or PTX, for a
 * capability. Images are plain, or packed as LZ4 does (up to CUDA 12.6 or so) or as zstd does (seen in wheels of
 * PyTorch 2.4 to 2.15; what NVIDIA's tools say of the same files was not at hand).
 */
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t WRAPPER = 0x466243b1, FAT = 0xba55ed50;
enum { PTX = 1, CUBIN = 2 };
enum { ONLY_THIS = 0x100000, FAMILY = 0x200000, PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000 };

struct wrapper {
    uint32_t magic, version;
    const unsigned char *data;
};

struct entry {
    uint16_t kind, version;
    uint32_t head;
    uint64_t bytes; /* of the image, with what it is filled up with */
    uint32_t packed, unknown;
    uint16_t minor, major;
    uint32_t capability; /* 10 * major + minor */
    uint32_t name, name_bytes;
    uint64_t flags, zero, unpacked;
};

/* A registered fat binary. */
struct dry_fatbin {
    const struct wrapper *wrapper;
    const void *cubin; /* NULL: not looked for yet, or the card would run none of its cubins */
    int code, ptx;     /* capabilities: which the image is for, which PTX it was made of */
    bool is_open;
    struct dry_fatbin *next; /* of all that there are; they stay for good, as kernels point to them */
};

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

struct bytes {
    const unsigned char *at, *end;
};

/* A length that began with four bits: 15 is followed by bytes to add, up to one that is not 255. */
static size_t read_length(struct bytes *from, size_t length)
{
    unsigned char more = length == 15 ? 255 : 0;
    while (more == 255 && from->at < from->end) {
        more = *from->at++;
        length += more;
    }
    return length;
}

/* LZ4's block format: literals, then a match in what is already there, again and again. */
static bool unpack_lz4(unsigned char *to, size_t bytes, struct bytes from)
{
    unsigned char *const begin = to, *const end = to + bytes;
    while (from.at < from.end) {
        const unsigned token = *from.at++;
        const size_t literals = read_length(&from, token >> 4);
        if (literals > (size_t)(from.end - from.at) || literals > (size_t)(end - to))
            return false;
        memcpy(to, from.at, literals);
        to += literals;
        from.at += literals;
        if (from.end - from.at < 2)
            break; /* the last literals have no match */
        const size_t distance = (size_t)from.at[0] | (size_t)from.at[1] << 8;
        from.at += 2;
        size_t match = read_length(&from, token & 15) + 4;
        if (distance == 0 || distance > (size_t)(to - begin) || match > (size_t)(end - to))
            return false;
        for (; match > 0; match--, to++) /* it may overlap with itself */
            *to = to[-(ptrdiff_t)distance];
    }
    return to == end;
}

/* By the system's library, which is not a need of every program that the stand-in is loaded into. */
static bool unpack_zstd(unsigned char *to, size_t bytes, struct bytes from)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "ZSTD_decompress");
    if (symbol == NULL) {
        dry_estimated("kernels_need_libzstd");
        return false;
    }
    size_t (*decompress)(void *, size_t, const void *, size_t);
    memcpy(&decompress, &symbol, sizeof decompress);
    return decompress(to, bytes, from.at, (size_t)(from.end - from.at)) == bytes;
}

/* The cubin of an entry; stays for good. NULL: it cannot be unpacked. */
static const void *unpack(const struct entry *entry, const unsigned char *at)
{
    const unsigned char *image = at + entry->head;
    if ((entry->flags & (PACKED_LZ4 | PACKED_ZSTD)) == 0)
        return image;
    const struct bytes from = {image, image + entry->packed};
    unsigned char *to = malloc(entry->unpacked);
    const bool is_good = to != NULL && (entry->flags & PACKED_LZ4 ? unpack_lz4(to, entry->unpacked, from)
                                                                  : unpack_zstd(to, entry->unpacked, from));
    if (!is_good) {
        free(to);
        return NULL;
    }
    return to;
}

/* ---- the image that the card runs -------------------------------------------------------------------------------- */

/* How well the entry suits: the card takes what is best. 0: it does not run it. Cubins run on the same major capability
 * from their minor one on, or only on theirs, or in a family; PTX on all that are newer. */
static int rank_of(const struct entry *entry)
{
    const struct dry_card *card = dry_card();
    const int of_card = 10 * card->major + card->minor, capability = (int)entry->capability;
    const bool is_exact = capability == of_card, is_family = (entry->flags & FAMILY) != 0;
    if (capability > of_card || ((entry->flags & ONLY_THIS) != 0 && !is_exact))
        return 0;
    if (entry->kind == PTX)
        return capability;
    if (entry->kind != CUBIN || capability / 10 != card->major)
        return 0;
    return 10000 + 10 * capability + ((entry->flags & ONLY_THIS) != 0 ? 2 : is_family);
}

static void choose(struct dry_fatbin *fatbin)
{
    struct entry best = {0};
    const unsigned char *best_at = NULL, *at = fatbin->wrapper->data, *end;
    uint32_t magic;
    uint16_t head;
    uint64_t bytes;
    memcpy(&magic, at, sizeof magic);
    memcpy(&head, at + 6, sizeof head);
    memcpy(&bytes, at + 8, sizeof bytes);
    end = at + head + bytes;
    for (at += head; magic == FAT && (size_t)(end - at) >= sizeof(struct entry);) {
        struct entry entry;
        memcpy(&entry, at, sizeof entry);
        if (rank_of(&entry) > rank_of(&best)) {
            best = entry;
            best_at = at;
        }
        if (entry.head < sizeof entry || entry.bytes > (size_t)(end - at)) /* none that is known */
            break;
        at += entry.head + entry.bytes;
    }
    if (best_at == NULL)
        return;
    fatbin->cubin = best.kind == CUBIN ? unpack(&best, best_at) : NULL;
    fatbin->ptx = (int)best.capability;
    fatbin->code = best.kind == CUBIN ? fatbin->ptx : 0;
}

struct dry_fatbin *dry_open_fatbin(const void *wrapper)
{
    static struct dry_fatbin *all;
    struct dry_fatbin *fatbin = calloc(1, sizeof *fatbin);
    if (fatbin == NULL)
        return NULL;
    fatbin->wrapper = wrapper;
    dry_lock();
    fatbin->next = all;
    all = fatbin;
    dry_unlock();
    return fatbin;
}

struct dry_needs dry_fatbin_needs(struct dry_fatbin *fatbin, const char *name)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* not the common one: what is called takes that */
    struct dry_needs needs = dry_usual_needs();
    if (fatbin->wrapper->magic != WRAPPER)
        return needs;
    pthread_mutex_lock(&mutex);
    if (!fatbin->is_open)
        choose(fatbin);
    fatbin->is_open = true;
    pthread_mutex_unlock(&mutex);
    if (fatbin->cubin != NULL)
        needs = dry_cubin_needs(fatbin->cubin, name);
    needs.code = fatbin->code;
    needs.ptx = fatbin->ptx;
    return needs;
}
