/* SPDX-License-Identifier: Apache-2.0
 *
 * A source is a stream of bytes seen through a moving window: [p, end) are the next bytes, and gm_source_more slides
 * the window on. Sources stack: file or memory, then gzip or zstd, then base64 out of HTML. No source ever holds more
 * than its window, so reading costs no memory that grows with the file, and file pages are never mapped.
 *
 * Hot readers work on p and end directly and keep them in registers; gm_source_more is called once per window.
 */
#pragma once

#include "analyze/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_source;
/* Fills out[0..size) with the next bytes; *got may be smaller, and is 0 only at the end. */
typedef enum gm_status gm_source_read(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err);
typedef void gm_source_close(void *state);

struct gm_source {
    const unsigned char *p, *end; /* the bytes in the window that are not yet consumed */
    uint64_t end_offset;          /* offset in the decoded stream of `end`; offset of p = end_offset - (end - p) */
    bool at_end;                  /* there is nothing after `end` */
    /* Asked by gm_source_more before it reads on; NULL: nobody. */
    enum gm_status (*may_go_on)(void *asked, struct gm_error *err);
    void *asked;
    unsigned char *window; /* owned */
    size_t window_size;
    gm_source_read *read;
    enum gm_status (*more)(struct gm_source *source, size_t want, struct gm_error *err); /* if not by reading; NULL */
    gm_source_close *close;
    void *state; /* owned by the source through close */
};

/* Opens: a file ("-": standard input; *done, which may be NULL, is how many of its bytes were read), memory (borrowed),
 * or a filter that takes over `inner` (also on failure). */
enum gm_status gm_source_open_file(struct gm_source *source, const char *path, uint64_t *disk_bytes,
                                   _Atomic uint64_t *done, struct gm_error *err);
enum gm_status gm_source_open_memory(struct gm_source *source, const void *data, size_t length, struct gm_error *err);
enum gm_status gm_source_open_gzip(struct gm_source *source, struct gm_source *inner, struct gm_error *err);
enum gm_status gm_source_open_zstd(struct gm_source *source, struct gm_source *inner, struct gm_error *err);
enum gm_status gm_source_open_html(struct gm_source *source, struct gm_source *inner, struct gm_error *err);
void gm_source_free(struct gm_source *source);

/* Keeps the unconsumed bytes [p, end), moves them to the front of the window and reads on until at least `want` bytes
 * (want <= window_size / 2) are there or the stream ends (then at_end is set and fewer may be there: not an error). */
enum gm_status gm_source_more(struct gm_source *source, size_t want, struct gm_error *err);

static inline uint64_t gm_source_offset(const struct gm_source *source)
{
    return source->end_offset - (uint64_t)(source->end - source->p);
}
