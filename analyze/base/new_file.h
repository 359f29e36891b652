/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that appears, or takes the place of another, when it is complete: written under a hidden name in the same
 * folder, then renamed. A failure leaves everything as it was; a kill leaves the hidden file, never half of a visible
 * one, until the next file is written in that folder. What is no regular file (a pipe, a device) is written directly,
 * and so is a file in a folder that takes no new ones.
 */
#pragma once

#include "analyze/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct gm_new_file {
    const char *shown; /* the path as it was given; not owned */
    char *path;        /* where to write, links followed */
    char *temporary;   /* NULL: written directly */
    int fd;
};

/* Whether `path` is written directly, so that nothing can be left behind, but the other end may have to be waited for.
 */
bool gm_new_file_is_direct(const char *path);

/* `path` must live until gm_new_file_close, which has to be called whatever this returns. GM_E_WRITE; of a pipe that
 * nobody reads any more GM_E_PIPE. */
enum gm_status gm_new_file_open(struct gm_new_file *file, const char *path, struct gm_error *err);
/* The same for one of many files in a folder, whose names are not read each time: what was left there stays. */
enum gm_status gm_new_file_open_next(struct gm_new_file *file, const char *path, struct gm_error *err);
enum gm_status gm_new_file_write(struct gm_new_file *file, const void *bytes, size_t length, struct gm_error *err);
/* `status` is how it went until now: only after GM_OK the file gets its name. Returns it, or what went wrong here. */
enum gm_status gm_new_file_close(struct gm_new_file *file, enum gm_status status, struct gm_error *err);

/* Removes what killed programs left of files in that folder, if they are surely gone (hidden.h). Best effort. */
void gm_new_file_clean(const char *directory);

/* write(2) until everything is written, however small the pieces are, and also where the descriptor does not wait by
 * itself. 0, or errno. */
int gm_write_fully(int fd, const void *bytes, size_t length);
