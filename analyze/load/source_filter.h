/* SPDX-License-Identifier: Apache-2.0
 *
 * What the decompressing sources share: the source that they read from, the limit that stops expansion bombs, and the
 * error that waits until the bytes before it have been read.
 */
#ifndef GM_LOAD_SOURCE_FILTER_H
#define GM_LOAD_SOURCE_FILTER_H

#include "analyze/load/source_base.h"

/* Decompressed data may be GM_EXPANSION_FREE bytes plus GM_EXPANSION_RATIO times the compressed bytes read so far,
 * counted over all layers of compression together. Deflate cannot exceed 1032; repetitive real snapshots reach about
 * 20 (gzip) and, with zstd's long windows, 200. */
#define GM_EXPANSION_FREE (UINT64_C(64) << 20)
#define GM_EXPANSION_RATIO UINT64_C(500)

struct gm_filter {
    struct gm_source inner;
    uint64_t produced;     /* decompressed bytes so far */
    struct gm_error error; /* status != GM_OK: what the next read reports */
};

gm_source_read gm_source_gzip_read, gm_source_zstd_read; /* both have a struct gm_filter at the start of their state */

/* Compressed bytes read so far of the outermost layer, as they are on disk. */
uint64_t gm_filter_disk_bytes(const struct gm_filter *filter);

/* The end of a read that produced *got bytes with `status` (and err filled if it is not GM_OK): counts them, checks the
 * limit, and keeps an error for all later reads; it is reported at once only if there are no bytes to deliver first. */
enum gm_status gm_filter_deliver(struct gm_filter *filter, size_t got, enum gm_status status, struct gm_error *err);

/* The start of a read: reports the error that was kept. */
enum gm_status gm_filter_pending(const struct gm_filter *filter, struct gm_error *err);

#endif
