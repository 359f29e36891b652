/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources and data for the tests of loading.
 */
#pragma once

#include "analyze/formats/source.h"

struct bytes {
    unsigned char *p;
    size_t n;
};

/* Opens data[0..n) as a source with a window of `window` bytes whose reads give `step` bytes at a time, so that every
 * token meets the end of a window somewhere. */
void open_steps(struct gm_source *source, const void *data, size_t n, size_t window, size_t step);

/* n bytes that look random but are the same in every run; free them. */
unsigned char *noise(size_t n, unsigned seed);

struct bytes gzip_bytes(const void *data, size_t n);
struct bytes zstd_bytes(const void *data, size_t n, int window_log);
struct bytes base64_page(const void *data, size_t n);

/* Reads all of *source, `want` bytes at least at a time; returns the status that ended it. */
enum gm_status read_all(struct gm_source *source, size_t want, struct bytes *out, struct gm_error *err);
