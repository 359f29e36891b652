/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings, frames and call sites of a snapshot as a report shows them: cleaned once, copied once into the report's
 * arena. For the passes (analyze/state, analyze/timeline).
 */
#ifndef GM_STATE_NAMES_H
#define GM_STATE_NAMES_H

#include "analyze/model/snapshot.h"
#include "analyze/report/report.h"

#include <stdbool.h>

struct gm_names {
    const struct gm_snapshot *snapshot;
    struct gm_arena *arena;              /* the report's; owns what the functions return */
    const char **clean;                  /* [gm_string_id], made when asked for */
    const struct gm_frame_row **frames;  /* [gm_stack_id] likewise */
    const char **site;                   /* [gm_stack_id] likewise */
    const struct gm_frame_row **telling; /* [gm_stack_id] likewise: the frame that `site` names */
};

bool gm_names_init(struct gm_names *names, const struct gm_snapshot *snapshot, struct gm_arena *arena);
void gm_names_free(struct gm_names *names);

/* Each returns NULL if there is no memory. */
const char *gm_clean_copy(struct gm_arena *arena, const char *s);
const char *gm_names_string(struct gm_names *names, struct gm_string_id id);
const struct gm_frame_row *gm_names_frames(struct gm_names *names, struct gm_stack_id stack, size_t *count);
/* Where a block with this stack was made, short: "forward  model/attention.py:88"; "no stack recorded". Equal labels
 * have equal pointers only for equal stacks. */
const char *gm_names_site(struct gm_names *names, struct gm_stack_id stack);
/* The frame that gm_names_site names: the user's own innermost one if there is any. NULL also for a stack without
 * frames. */
const struct gm_frame_row *gm_names_telling_frame(struct gm_names *names, struct gm_stack_id stack);

#endif
