/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, frames and call sites of a snapshot as a report shows them: cleaned once, copied once into the report's
 * arena. For the passes (analyze/state, analyze/timeline).
 */
#pragma once

#include "analyze/report/frame_kind.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/state/categories.h"

#include <stdbool.h>

/* What a string tells as a function's name and as a file's, once it was asked: a stack may name one again and again. */
struct gm_string_kind {
    uint8_t file; /* GM_FILE_IS_..., and those of site_labels.c; 0: not asked */
    uint8_t name; /* likewise */
};

enum { GM_NAME_MOST = 4096 }; /* bytes: of longer strings, both ends are shown */

struct gm_names {
    const struct gm_snapshot *snapshot;
    struct gm_arena *arena;              /* the report's; owns what the functions return */
    const char **clean;                  /* [gm_string_id], made when asked for */
    struct gm_string_kind *kind;         /* [gm_string_id] likewise */
    const struct gm_frame_row **frames;  /* [gm_stack_id] likewise */
    const char **site;                   /* [gm_stack_id] likewise */
    const struct gm_frame_row **telling; /* [gm_stack_id] likewise: the frame that `site` names */
};

bool gm_names_init(struct gm_names *names, const struct gm_snapshot *snapshot, struct gm_arena *arena);
void gm_names_free(struct gm_names *names);

/* Drops those without blocks; most bytes first, ties by name. Returns `slices`, which may be NULL. */
const struct gm_slice *gm_slices_sort(struct gm_slice *slices, size_t n, size_t *count);
/* amounts[gm_category_count(rules)] as such slices, in `arena`. NULL: no memory. */
const struct gm_slice *gm_slices_make(struct gm_arena *arena, const struct gm_category_rules *rules,
                                      const struct gm_amount *amounts, size_t *slice_count);

/* Each returns NULL if there is no memory. */
const char *gm_clean_copy(struct gm_arena *arena, const char *s);
/* Of the segment's pool: "small", "large" or "unknown"; the second tells a private one, too: "private (0,1) small". */
const char *gm_pool_kind(const struct gm_snapshot *s, size_t segment);
const char *gm_pool_name(struct gm_arena *arena, const struct gm_snapshot *s, size_t segment);
const char *gm_names_string(struct gm_names *names, struct gm_string_id id);
/* How much of a name is shown: its first whole characters, 60 bytes at most; and of a path: its last two parts. */
int gm_names_shown(const char *name);
const char *gm_names_path_tail(const char *path);
/* GM_FILE_IS_... of a file's name, and gm_name_is_noise; 0 also if there is no memory. */
unsigned gm_names_file_kind(struct gm_names *names, struct gm_string_id file);
/* Whether it is of the program itself: of Python, and of no library. */
bool gm_names_is_own(struct gm_names *names, struct gm_string_id file);
bool gm_names_is_noise(struct gm_names *names, struct gm_string_id name);
const struct gm_frame_row *gm_names_frames(struct gm_names *names, struct gm_stack_id stack, size_t *count);
/* Whether frame i of such a stack, innermost first, is a line to be named: Python's, and neither PyTorch's own nor what
 * only passes a call on, as decorators do, and what a library puts around a module's forward. */
bool gm_names_is_told(struct gm_names *names, const struct gm_frame_id *ids, size_t count, size_t i);
/* Where a block with this stack was made, short: "forward  model/attention.py:88"; "no stack recorded". Equal labels
 * have equal pointers only for equal stacks. */
const char *gm_names_site(struct gm_names *names, struct gm_stack_id stack);
/* The same of one frame. NULL: no memory. */
const char *gm_names_label(struct gm_arena *arena, const struct gm_frame_row *frame);
/* The frame that gm_names_site names: the user's own innermost one if there is any. NULL also for a stack without
 * frames. */
const struct gm_frame_row *gm_names_telling_frame(struct gm_names *names, struct gm_stack_id stack);
