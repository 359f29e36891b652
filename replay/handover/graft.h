/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of several snapshots put into one: what they intern gets one number, and everything that refers to it follows.
 * Rows are added in their final order. What merge.c is made of.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/builder.h"

/* A snapshot of which rows are taken: its numbers as those of the one that is made. */
struct gm_graft_part {
    const struct gm_snapshot *s;
    uint32_t *string, *frame, *stack, *stream, *pool;
    size_t loose_from; /* where its loose values are */
};

struct gm_graft { /* zero-initialise */
    struct gm_snapshot_memory *m;
    struct gm_graft_part *parts;
    size_t count;
    struct gm_arena arena; /* of what is needed only meanwhile */
};

/* Takes over the interned tables and loose values of all parts. On failure gm_graft_free. */
enum gm_status gm_graft_begin(struct gm_graft *g, const struct gm_snapshot *const *parts, size_t count,
                              struct gm_error *err);
void gm_graft_free(struct gm_graft *g);

/* An event of a part as the one that is made would have it. */
struct gm_event_row gm_graft_event(const struct gm_graft_part *part, size_t row);

/* Each appends rows; false: no memory, or no room (gm_builder_failure of g->m). */
bool gm_graft_add_events(struct gm_graft *g, const struct gm_graft_part *part, size_t first, size_t count);
bool gm_graft_add_annotation(struct gm_graft *g, const struct gm_graft_part *part, size_t row, int64_t device);

/* The number that a device of a part gets; NULL: its own. */
typedef int64_t gm_graft_device(const void *context, size_t part, int64_t own);

/* Everything that is no event and no annotation: the segments and blocks of the parts [first, last], and what the last
 * says of settings and beside the tables; `out` owns all of it then. Its traces are the caller's to fill, from the
 * arena of g->m. */
bool gm_graft_end(struct gm_graft *g, struct gm_snapshot *out, size_t first, size_t last, gm_graft_device *device,
                  const void *context);
