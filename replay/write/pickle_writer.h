/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing opcodes of pickle protocol 4. Bytes collect in a buffer that leaves as one frame when it has grown to 64 KiB
 * and an item is complete. Nothing here fails visibly: after an error all that follows is ignored, `status` says so.
 *
 * The memo. An object that may come again is memoised when it is written, by the opcode that takes the next free slot.
 * Fetching a slot costs two bytes below 256 and five above, and the keys of events would come too late for the low
 * ones. So slots of words that are not needed any more are given back as `spare` and taken again by an opcode that
 * names the slot.
 */
#pragma once

#include "replay/write/write.h"

#include <string.h>

enum gm_pickle_op {
    GM_PUT_MARK = '(',
    GM_PUT_EMPTY_DICT = '}',
    GM_PUT_EMPTY_LIST = ']',
    GM_PUT_SETITEMS = 'u',
    GM_PUT_APPENDS = 'e',
    GM_PUT_APPEND = 'a',
    GM_PUT_NONE = 'N',
    GM_PUT_TRUE = 0x88,
    GM_PUT_FALSE = 0x89,
    GM_PUT_TUPLE2 = 0x86,
};

enum { GM_LIST_BATCH = 1000, GM_LOW_SLOTS = 256 };

struct gm_pickle {
    const struct gm_sink *sink;
    unsigned char *buffer; /* begins with room for the frame's header */
    size_t n;              /* bytes in it, header included */
    uint32_t slots;        /* memo slots taken so far */
    unsigned spare_count;
    unsigned char spare[GM_LOW_SLOTS];
    enum gm_status status;
    struct gm_error *err;
};

enum { GM_FRAME_HEADER = 9, GM_FRAME_TARGET = 64 << 10, GM_PICKLE_BUFFER = GM_FRAME_HEADER + 2 * GM_FRAME_TARGET + 64 };

bool gm_pickle_begin(struct gm_pickle *p, const struct gm_sink *sink, struct gm_error *err);
void gm_pickle_end(struct gm_pickle *p); /* STOP, and the last frame */
void gm_pickle_free(struct gm_pickle *p);

void gm_pickle_flush(struct gm_pickle *p);                                    /* what is in the buffer, as one frame */
void gm_pickle_string(struct gm_pickle *p, const char *bytes, size_t length); /* without memoising it */
void gm_pickle_real(struct gm_pickle *p, uint64_t bits);                      /* the bits of a double */
void gm_pickle_fail(struct gm_pickle *p, enum gm_status status, const char *message); /* message is a constant */

/* Room for n <= 64 bytes; the caller adds to p->n what it used. */
static inline unsigned char *gm_pickle_room(struct gm_pickle *p, size_t n)
{
    if (p->n > GM_PICKLE_BUFFER - n)
        gm_pickle_flush(p);
    return p->buffer + p->n;
}

/* Between items: frames end here. */
static inline void gm_pickle_boundary(struct gm_pickle *p)
{
    if (p->n >= GM_FRAME_HEADER + GM_FRAME_TARGET)
        gm_pickle_flush(p);
}

static inline void gm_pickle_op(struct gm_pickle *p, enum gm_pickle_op op)
{
    *gm_pickle_room(p, 1) = (unsigned char)op;
    p->n++;
}

/* Both little-endian, as every machine that CUDA runs on. */
static inline void gm_pickle_argument(struct gm_pickle *p, unsigned char op, uint64_t bits, size_t width)
{
    unsigned char *to = gm_pickle_room(p, 16);
    to[0] = op;
    memcpy(to + 1, &bits, 8);
    p->n += 1 + width;
}

static inline void gm_pickle_uint(struct gm_pickle *p, uint64_t v)
{
    if (v <= 0xff)
        gm_pickle_argument(p, 'K', v, 1);
    else if (v <= 0xffff)
        gm_pickle_argument(p, 'M', v, 2);
    else if (v <= INT32_MAX)
        gm_pickle_argument(p, 'J', v, 4);
    else {
        size_t width = (size_t)(64 - __builtin_clzll(v)) / 8 + 1; /* with room for a sign bit of 0 */
        unsigned char *to = gm_pickle_room(p, 16);
        to[0] = 0x8a;
        to[1] = (unsigned char)width;
        memcpy(to + 2, &v, 8);
        to[10] = 0;
        p->n += 2 + width;
    }
}

void gm_pickle_negative(struct gm_pickle *p, int64_t v);

static inline void gm_pickle_int(struct gm_pickle *p, int64_t v)
{
    if (v >= 0)
        gm_pickle_uint(p, (uint64_t)v);
    else
        gm_pickle_negative(p, v);
}

/* The memo; slots are kept plus one, so that 0 is "not memoised". */
static inline void gm_pickle_get(struct gm_pickle *p, uint32_t slot_plus_1)
{
    uint32_t slot = slot_plus_1 - 1;
    if (slot < GM_LOW_SLOTS)
        gm_pickle_argument(p, 'h', slot, 1);
    else
        gm_pickle_argument(p, 'j', slot, 4);
}

uint32_t gm_pickle_memoize(struct gm_pickle *p);     /* the object just written; its slot plus 1 */
uint32_t gm_pickle_memoize_low(struct gm_pickle *p); /* the same, in a spare low slot if there is one */
void gm_pickle_give_back(struct gm_pickle *p, uint32_t *slot_plus_1);
