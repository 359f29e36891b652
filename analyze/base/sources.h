/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of source files in a folder that the user names, for places that a snapshot names by paths of another machine:
 * the file whose path has the longest end in common. The folder is listed once, without following links; a path of a
 * snapshot is only compared with that list and never opened, so it cannot lead out of it. Only regular files are read,
 * of at most GM_SOURCE_BYTES.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/error.h"

#include <stdint.h>

enum { GM_SOURCE_FILES = 100000, GM_SOURCE_DEPTH = 24, GM_SOURCE_BYTES = 4 << 20, GM_SOURCE_SHOWN = 160 };

struct gm_sources;

/* Lists `folder`: at most GM_SOURCE_FILES files, GM_SOURCE_DEPTH folders deep, hidden ones left out. On failure
 * *sources is NULL. */
enum gm_status gm_sources_open(struct gm_sources **sources, const char *folder, struct gm_error *err);
void gm_sources_free(struct gm_sources *sources);

/* What line `line` (from 1) of the file is, in `arena`: its text from the first character that is no blank, clean and
 * on one line, at most GM_SOURCE_SHOWN bytes; or, in *note, why it is not known although a file fits: several do, or
 * the checkout is another one. Both NULL: no file fits. Of an installed package (site-packages) two parts of the path
 * must fit at least, of other files the name. GM_E_NOMEM is the only error. */
enum gm_status gm_sources_line(struct gm_sources *sources, struct gm_arena *arena, const char *path, uint64_t line,
                               const char **text, const char **note, struct gm_error *err);

/* The file of the folder that fits, its path below the folder; NULL: none, or several. *line becomes 0 if the file does
 * not have so many. GM_E_NOMEM is the only error. */
enum gm_status gm_sources_file(struct gm_sources *sources, const char *path, uint64_t *line, const char **file,
                               struct gm_error *err);
