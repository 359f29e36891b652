/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writers of fleets share. Private to analyze/words.
 */
#ifndef GM_WORDS_FLEET_PARTS_H
#define GM_WORDS_FLEET_PARTS_H

#include "analyze/words/columns.h"
#include "analyze/words/fleet.h"
#include "analyze/words/numbers.h"

/* "iteration 5"; "no iteration". */
void gm_fleet_add_column(struct gm_text *out, const struct gm_fleet_column *column);
/* "rank 3, iteration 5"; the snapshot's name where no rank was found. */
void gm_fleet_add_item(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_item *item);
/* "0-7, 12, 16-23" of ascending numbers; after `most` ranges "and N more". */
void gm_fleet_add_numbers(struct gm_text *out, const int64_t *numbers, size_t count, size_t most);
/* The rows of a group: "ranks 0-7, 12". */
void gm_fleet_add_members(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_group *group,
                          size_t most);
/* "forward  model.py (softmax)" */
void gm_fleet_add_site(struct gm_text *out, const struct gm_fleet_site *site);
/* "1.034", by integers. Returns out. */
char *gm_fleet_ratio(char out[GM_NUMBER_TEXT], double value);
/* "+1.50 MiB", "n/a" for what is not finite. Returns out. */
char *gm_fleet_slope(char out[GM_NUMBER_TEXT], double bytes);
/* "+1.50 MiB +- 0.02 MiB" per iteration. */
void gm_fleet_add_line(struct gm_text *out, const struct gm_fleet_line *line);
/* Iterations that are left: one decimal below a hundred, else rounded down. Returns out. */
char *gm_fleet_iterations(char out[GM_NUMBER_TEXT], double value);
/* Signed sizes. Returns out. */
char *gm_fleet_delta_text(char out[GM_NUMBER_TEXT], int64_t delta);
/* What is most worth saying: sentences. */
void gm_fleet_add_verdict(struct gm_text *out, const struct gm_fleet *fleet);
/* "rank 3 ran out of memory first ..." */
void gm_fleet_add_oom(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_item *item);
/* Whether there is a rank or an iteration anywhere. */
bool gm_fleet_has_iterations(const struct gm_fleet *fleet);
size_t gm_fleet_growing(const struct gm_fleet *fleet);

#endif
