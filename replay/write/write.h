/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a snapshot back as a pickle that PyTorch's own tools open: protocol 4, framed, nothing in it but lists,
 * dictionaries, pairs, strings and numbers. What the file was read from says, the written one says again: all tables,
 * and what analyze/snapshot/snapshot.h keeps beside them, each row's keys in the order that the file had them. A
 * snapshot that was not read from a file gets PyTorch's order. docs/writing.md says what can differ.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>

/* Where bytes go. `write` takes all `length` of them, or fails with err filled. */
struct gm_sink {
    enum gm_status (*write)(void *context, const void *bytes, size_t length, struct gm_error *err);
    void *context;
};

/* Writes the snapshot as a pickle. On failure the sink has got a part of it. */
enum gm_status gm_write_pickle(const struct gm_snapshot *snapshot, const struct gm_sink *sink, struct gm_error *err);

/* The same into a file, compressed if its name ends in .zst or .gz. The file appears, or is replaced, when it is
 * complete (analyze/base/new_file.h). `gives_up` is asked meanwhile, NULL: never; true: fail, and leave nothing. */
enum gm_status gm_write_snapshot_file(const struct gm_snapshot *snapshot, bool (*gives_up)(void), const char *path,
                                      struct gm_error *err);
