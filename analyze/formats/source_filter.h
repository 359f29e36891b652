/* SPDX-License-Identifier: Apache-2.0
 *
 * What the decompressing sources share: the source that they read from, the limit that stops expansion bombs, and the
 * error that waits until the bytes before it have been read.
 */
#pragma once

#include "analyze/formats/source.h"

/* What the kinds of sources share; private to source*.c and load.c. */

enum { GM_SOURCE_WINDOW = 1 << 18 };

/* Makes *source of its three parts, with an empty window of GM_SOURCE_WINDOW bytes. If there is no memory the state is
 * closed. */
enum gm_status gm_source_begin(struct gm_source *source, gm_source_read *read, gm_source_close *close, void *state,
                               struct gm_error *err);

/* Moves `inner` into a thread of its own that reads ahead, so that reading and decompressing overlap decoding. If there
 * is no thread to be had *source is `inner` itself: it works the same, only slower. Only for inputs that cannot block
 * for ever (not for pipes), because freeing waits for the thread. */
void gm_source_open_thread(struct gm_source *source, struct gm_source *inner);
/* What that thread does meanwhile, each time when it is far enough ahead; it may be told once reading goes on. */
void gm_source_thread_meanwhile(struct gm_source *source, void (*meanwhile)(void *), void *asked);

/* Decompressed data may be GM_EXPANSION_FREE bytes plus a multiple of the compressed bytes read so far, counted over
 * all layers of compression together. Large repetitive snapshots were measured at 9 (gzip -9) to 32 times (zstd -19
 * --long) as pickles, and at 50 to 430 times as JSON, which spells every stack out again. */
#define GM_EXPANSION_FREE (UINT64_C(64) << 20)
#define GM_EXPANSION_PICKLE UINT64_C(250)
#define GM_EXPANSION_OTHER UINT64_C(1000)

/* A source that decompresses another one; the state of gzip's and zstd's begins with it. */
struct gm_filter {
    struct gm_source inner;
    gm_source_read *some;  /* with the state; what it reports counts once the bytes that it gave were read */
    uint64_t produced;     /* decompressed bytes of earlier reads */
    uint64_t ratio;        /* GM_EXPANSION_... */
    struct gm_error error; /* status != GM_OK: what the next read reports */
};

/* Makes *source of `filter`, NULL if there is no memory for it, which takes over `inner`. */
enum gm_status gm_filter_open(struct gm_source *source, struct gm_source *inner, struct gm_filter *filter,
                              gm_source_read *some, gm_source_close *close, struct gm_error *err);

/* If *source decompresses: what comes out is known to be a pickle, so the stricter limit holds. */
void gm_filter_expect_pickle(struct gm_source *source);

/* Compressed bytes read so far of the outermost layer, as they are on disk; if the source does not decompress, the
 * bytes consumed. */
uint64_t gm_filter_source_disk_bytes(const struct gm_source *source);
