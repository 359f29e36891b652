/* SPDX-License-Identifier: Apache-2.0
 *
 * A sink that compresses what it takes and hands it to another one.
 */
#ifndef GM_WRITE_SINK_H
#define GM_WRITE_SINK_H

#include "replay/write/write.h"

struct gm_compressor;

/* Puts a compressor in front of `inner`; *sink is what to write to then. `compression` is not NONE. */
enum gm_status gm_compressor_new(struct gm_compressor **compressor, enum gm_compression compression,
                                 const struct gm_sink *inner, struct gm_sink *sink, struct gm_error *err);
/* Writes what is still inside, and the checksum. */
enum gm_status gm_compressor_finish(struct gm_compressor *compressor, struct gm_error *err);
void gm_compressor_free(struct gm_compressor *compressor); /* NULL is fine */

#endif
