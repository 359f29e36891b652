/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to kineto.c: what tokens told once of bytes that stand in a trace again and again, so that the same bytes at
 * the same place are compared instead of read. Nothing hangs on it but time: what is not known is read by tokens.
 *
 * A way is what lies between two values that differ from event to event, `, "pid": 7, "tid": 7, "ts": `, with what it
 * says. Ways begin where others end, as a tree does: the root is the end of an event, and so are the leaves.
 *
 *     root ──> `, {"cat": "cpu_op", "name": ` ──> `, "pid": 7, "tid": 7, "ts": ` ──> `, "dur": ` ──> ...
 *          └─> `, {"cat": "kernel", "name": ` ──> ...
 *
 * Tokens that begin in the same state and have the same bytes are the same tokens, so it does not matter what a way is.
 */
#pragma once

#include "analyze/formats/source.h"

enum { GM_WAYS = 1024, GM_WAY_LENGTH = 256, GM_WAY_ROOT = 0, GM_WAY_NONE = GM_WAYS };

struct gm_way {
    uint16_t first, next; /* of those that begin where it ends; the next that begins where it begins; 0: none */
    uint16_t length;
    int16_t slot;      /* the value behind it, as kineto.c numbers them */
    uint8_t level;     /* how deep in the event that is; 0: the event is complete */
    uint8_t says;      /* bits: which of these it says */
    uint8_t phase;     /* "ph" */
    int16_t span;      /* "cat" */
    uint32_t place[2]; /* "pid", "tid" */
    unsigned char bytes[GM_WAY_LENGTH];
};

struct gm_known_list {
    uint16_t length; /* 0: none */
    uint32_t string;
    unsigned char bytes[GM_WAY_LENGTH - 8];
};

struct gm_ways {
    size_t count; /* the root is one */
    struct gm_way ways[GM_WAYS];
    struct gm_known_list lists[1 << 12];
};

/* NULL: no memory. Freed with free(). */
struct gm_ways *gm_ways_new(void);
/* The known way from `from` whose bytes come next; GM_WAY_NONE: none. */
unsigned gm_ways_find(struct gm_ways *ways, unsigned from, const struct gm_source *source);
/* A new way from `from`, to be filled in by the caller. NULL: it is too long, or there is no more room; then all are
 * forgotten. */
struct gm_way *gm_ways_add(struct gm_ways *ways, unsigned from, const unsigned char *bytes, size_t length);
/* The list that begins at p, with its length, if it is a known one; NULL: not. *place is where it would be kept. */
const struct gm_known_list *gm_ways_list(struct gm_ways *ways, const unsigned char *p, const unsigned char *end,
                                         struct gm_known_list **place);
