/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading: a file in any of the known forms in, a snapshot out. What a file is is decided by its content.
 * Nothing that a file says is executed, no length that it states is trusted, memory stays within a multiple of the
 * bytes of the file.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/formats/source.h"
#include "analyze/snapshot/snapshot.h"

#include <stdbool.h>

/* Memory that a snapshot may need, if nothing else is said: as much whatever its size, and so many times its bytes on
 * disk. Real ones need twice as much as a pickle, and up to 70 MB for each MB of what zstd makes of a long one. */
#define GM_LOAD_FREE (UINT64_C(512) << 20)
#define GM_LOAD_RATIO UINT64_C(100)
/* A snapshot and what is worked out from it, as a multiple of the snapshot alone. */
#define GM_LOAD_SHARE UINT64_C(3)

/* How far the reading of a file is, for another thread that shows it. */
struct gm_load_progress {
    _Atomic uint64_t done, all; /* bytes on disk; all 0: it is not open yet, or a pipe */
    _Atomic uint64_t began_us;  /* of CLOCK_MONOTONIC; 0: it is not open yet */
};

struct gm_load_options {
    bool salvage; /* keep what is complete of a damaged file instead of failing */
    /* Bytes that the snapshot and the work on it may need, estimated while it is read: GM_E_LIMIT beyond. 0: what is
     * said above, but never more than the machine has. A .gmtrace file has limits of its own; of these only the
     * machine's holds for it. */
    uint64_t max_memory;
    struct gm_load_progress *progress; /* may be NULL */
};

/* Loads `path` ("-": standard input) into *snapshot (to be freed by gm_snapshot_free). On failure *snapshot is empty
 * and err says what and where. */
enum gm_status gm_snapshot_load(struct gm_snapshot *snapshot, const char *path, const struct gm_load_options *options,
                                struct gm_error *err);
/* The same from memory, for tests and fuzzing; `name` becomes source.path. */
enum gm_status gm_snapshot_load_bytes(struct gm_snapshot *snapshot, const void *data, size_t length, const char *name,
                                      const struct gm_load_options *options, struct gm_error *err);
