/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading: a file in any of the known forms in, a snapshot out. What a file is is decided by its content.
 * Nothing that a file says is executed, no length that it states is trusted, memory stays within a small multiple of
 * the bytes actually read.
 */
#ifndef GM_LOAD_LOAD_H
#define GM_LOAD_LOAD_H

#include "analyze/base/error.h"
#include "analyze/model/snapshot.h"

#include <stdbool.h>

struct gm_load_options {
    bool salvage; /* keep what is complete of a damaged file instead of failing */
};

/* Loads `path` ("-": standard input) into *snapshot (to be freed by gm_snapshot_free). On failure *snapshot is empty
 * and err says what and where. */
enum gm_status gm_snapshot_load(struct gm_snapshot *snapshot, const char *path, const struct gm_load_options *options,
                                struct gm_error *err);
/* The same from memory, for tests and fuzzing; `name` becomes source.path. */
enum gm_status gm_snapshot_load_bytes(struct gm_snapshot *snapshot, const void *data, size_t length, const char *name,
                                      const struct gm_load_options *options, struct gm_error *err);

#endif
