/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections of a .gmtrace file as they are written: streams are filled from the snapshot, then compressed and appended
 * as one section. Private to the writer.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/formats/gmtrace_format.h"
#include "analyze/snapshot/snapshot.h"

#include <zstd.h>

struct gm_gmtrace_writer {
    const struct gm_snapshot *s;
    struct gm_text *out;
    size_t begin; /* where in *out the file begins */
    struct gm_error *err;
    ZSTD_CCtx *zstd;
    size_t rows;    /* events in a section, at most */
    uint64_t spent; /* what a reader has to spend so far, see GM_GMTRACE_FREE */
    uint32_t crc;   /* of the file so far */
    struct gm_text stream[GM_EVNT_STREAMS];
    struct gm_text payload, packed, planes;
};

/* Writes the header; the writer is to be closed in any case. `level`: zstd's. `rows`: up to GM_GMTRACE_CHUNK_ROWS. */
enum gm_status gm_gmtrace_writer_open(struct gm_gmtrace_writer *w, const struct gm_snapshot *snapshot, int level,
                                      size_t rows, struct gm_text *out, struct gm_error *err);
void gm_gmtrace_writer_close(struct gm_gmtrace_writer *w);

/* Writes the first `streams` streams as a section and empties them. Bit i of `bytes` says that stream i is no row of
 * varints; bit i of `words` that it is text. `cost` is what the reader spends besides the bytes of the streams. */
enum gm_status gm_gmtrace_section(struct gm_gmtrace_writer *w, const char *tag, size_t streams, uint32_t bytes,
                                  uint32_t words, uint64_t cost);
/* Writes the last section. */
enum gm_status gm_gmtrace_writer_end(struct gm_gmtrace_writer *w);

void gm_put_varint_long(struct gm_text *t, uint64_t v);
void gm_put_u64(struct gm_text *t, uint64_t v);
/* An id, close to the highest one so far: what gm_gmtrace_id reads; `first` is the code that stands for its code 0. */
void gm_put_id(struct gm_text *t, uint32_t id, uint32_t *newest, uint64_t first);

static inline void gm_put_varint(struct gm_text *t, uint64_t v)
{
    if (v < 128 && t->length + 1 < t->capacity)
        t->data[t->length++] = (char)v;
    else
        gm_put_varint_long(t, v);
}

enum gm_status gm_gmtrace_put_events(struct gm_gmtrace_writer *w);
