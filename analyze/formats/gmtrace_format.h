/* SPDX-License-Identifier: Apache-2.0
 *
 * What a .gmtrace file is made of, for its reader (gmtrace*.c) and its writer (gmtrace_write*.c). docs/gmtrace.md is
 * the specification; a change of anything here is a new version of the format.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A file: magic, version (4 bytes), CRC-32 of these twelve; then sections; the last one is END. A section: tag (4),
 * length of its payload (4), CRC-32 of tag, length and payload (4), payload. All numbers are little-endian. */
#define GM_GMTRACE_MAGIC "\x89GMT\r\n\x1a\n"
enum {
    GM_GMTRACE_MAGIC_SIZE = 8,
    GM_GMTRACE_VERSION = 1,
    GM_GMTRACE_HEADER = 16,
    GM_GMTRACE_SECTION = 12,
    GM_GMTRACE_MAX_PAYLOAD = 256 << 20,
    GM_GMTRACE_CHUNK_ROWS = 1 << 20 /* events in a section, at most */
};
#define GM_GMTRACE_PAD "pad " /* a tag that begins with a small letter may be skipped */

/* A payload is a row of streams: method (1 byte), bytes when decoded (varint), bytes stored (varint, left out if raw),
 * the bytes. */
enum {
    GM_GMTRACE_RAW,
    GM_GMTRACE_ZSTD,
    GM_GMTRACE_ZSTD_WORDS, /* with gm_gmtrace_words as prefix */
    GM_GMTRACE_METHODS,
    GM_GMTRACE_PLANES = 16 /* added: varints, all their first bytes, then all second ones ... */
};
enum { GM_GMTRACE_VARINT = 10 }; /* bytes of the longest varint */

/* What a reader may be made to spend: COST_BYTE for each decoded byte of a stream, COST_FRAME for each frame of each
 * stack, COST_EVENT for each event, no more than FREE + READ_RATIO times the bytes of the file up to there. Writers
 * stay below FREE + WRITE_RATIO and pad if they must. */
#define GM_GMTRACE_COST_BYTE UINT64_C(12)
#define GM_GMTRACE_COST_FRAME UINT64_C(4)
#define GM_GMTRACE_COST_EVENT UINT64_C(56)
#define GM_GMTRACE_FREE (UINT64_C(256) << 20)
#define GM_GMTRACE_READ_RATIO UINT64_C(2500)
#define GM_GMTRACE_WRITE_RATIO UINT64_C(2000)

/* ---- streams of each section, in this order --------------------------------------------------------------------- */

enum { GM_STRS_COUNT, GM_STRS_TEXT, GM_STRS_JOINS, GM_STRS_STREAMS };
enum { GM_FRAM_COUNT, GM_FRAM_NAME, GM_FRAM_FILE, GM_FRAM_LINE, GM_FRAM_STREAMS };
enum { GM_STAK_COUNT, GM_STAK_POPS, GM_STAK_PUSHES, GM_STAK_FRAMES, GM_STAK_STREAMS };
enum { GM_META_NUMBERS, GM_META_TEXTS, GM_META_STREAMS };
enum { GM_FLAG_TIME, GM_FLAG_SETTINGS, GM_FLAG_ANNOTATIONS, GM_FLAG_BARE, GM_FLAG_SALVAGED, GM_FLAG_COUNT }; /* bits */
enum {
    GM_SEGS_COUNT,
    GM_SEGS_DEVICE,
    GM_SEGS_ADDRESS,
    GM_SEGS_SIZES,
    GM_SEGS_KEYS,
    GM_SEGS_STACK,
    GM_SEGS_KIND,
    GM_SEGS_BLOCKS,
    GM_BLOCK_ADDRESS,
    GM_BLOCK_SIZE,
    GM_BLOCK_REQUESTED,
    GM_BLOCK_STATE,
    GM_BLOCK_STACK,
    GM_SEGS_ODD,
    GM_SEGS_STREAMS
};
enum { GM_ANNO_COUNT, GM_ANNO_NAME, GM_ANNO_STAGE, GM_ANNO_DEVICE, GM_ANNO_TIME, GM_ANNO_STREAMS };
enum { GM_XTRA_COUNT, GM_XTRA_ROW, GM_XTRA_KEY, GM_XTRA_TYPE, GM_XTRA_LENGTH, GM_XTRA_BITS, GM_XTRA_STREAMS };
enum {
    GM_EVNT_COUNT,
    GM_EVNT_OP,
    GM_EVNT_SHAPE,
    GM_EVNT_CONTEXT,
    GM_EVNT_RANK,
    GM_EVNT_LIST,
    GM_EVNT_FAR,
    GM_EVNT_RAW,
    GM_EVNT_ODD,
    GM_EVNT_TIME_ALLOC,
    GM_EVNT_TIME_REQUESTED,
    GM_EVNT_TIME_COMPLETED,
    GM_EVNT_TIME_RAW,
    GM_EVNT_NEW_ACTION,
    GM_EVNT_NEW_SIZE,
    GM_EVNT_NEW_CONTEXT,
    GM_EVNT_FIELDS, /* of new contexts, one stream for each of GM_FIELD_COUNT */
    GM_EVNT_STREAMS = GM_EVNT_FIELDS + 7
};

/* What one step of a trace does: one event, or the two of a free at once. */
enum {
    GM_STEP_FREE,        /* free_requested and free_completed of a live allocation */
    GM_STEP_FREE_X,      /* the same, context given */
    GM_STEP_REQUESTED,   /* free_requested only */
    GM_STEP_REQUESTED_X, /* the same, context given */
    GM_STEP_COMPLETED,   /* free_completed only */
    GM_STEP_COMPLETED_X, /* the same, context given */
    GM_STEP_TOP,         /* alloc where the latest free of this size was */
    GM_STEP_LIST,        /* ... where an earlier free of this size was */
    GM_STEP_NEXT,        /* ... where the previous allocation ends */
    GM_STEP_SEGMENT,     /* ... at the address of the latest other event */
    GM_STEP_FAR,         /* ... anywhere */
    GM_STEP_OTHER,       /* any event, address given */
    GM_STEP_COUNT
};
enum { GM_RANK_LIMIT = 64, GM_LIST_LIMIT = 16 };

/* Codes 0 and 1 of GM_STAK_FRAMES: as the two frames, or the one frame, before were followed last time. */
enum { GM_FRAME_AS_PAIR, GM_FRAME_AS_ONE, GM_FRAME_CODES };
enum { GM_PAIR_SLOTS = 1 << 14 };
static inline uint32_t gm_gmtrace_pair_slot(uint32_t before, uint32_t last)
{
    return (before * UINT32_C(0x9e3779b1) ^ last * UINT32_C(0x85ebca6b)) >> 18;
}

/* Text that traces are likely to hold: what the compressor knows beforehand. */
extern const char *const gm_gmtrace_words;
extern const size_t gm_gmtrace_words_size;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static inline uint64_t gm_zigzag(uint64_t delta)
{
    return delta << 1 ^ (UINT64_C(0) - (delta >> 63));
}
static inline uint64_t gm_unzigzag(uint64_t v)
{
    return v >> 1 ^ (UINT64_C(0) - (v & 1));
}
