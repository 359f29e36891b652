/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are snapshots: those named on the command line, and under a directory those that have a snapshot suffix
 * or begin like one. The only part that looks at the user's directories; it writes nothing there.
 */
#pragma once

#include "analyze/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gm_found_file {
    char *path;            /* owned */
    bool is_said;          /* named, or with a suffix: if it cannot be read that is reported. Else it is skipped */
    uint64_t bytes;        /* on disk */
    int64_t mtime[2];      /* seconds, nanoseconds */
    enum gm_status status; /* not GM_OK: `error` says why it cannot even be looked at */
    struct gm_error error;
};
struct gm_found_files {
    struct gm_found_file *v;
    size_t n, capacity;
};

/* Adds what the operands name. `except`: a directory that is not entered unless it is an operand (where our own runs
 * go), or NULL. Symbolic links are followed, each directory is entered once. The result is sorted by path and does not
 * depend on the order of the operands. Fails for want of memory only; an operand that is not there is a file that
 * cannot be read. */
enum gm_status gm_find_files(struct gm_found_files *files, char *const *operands, size_t count, const char *except,
                             struct gm_error *err);
void gm_found_files_free(struct gm_found_files *files);
