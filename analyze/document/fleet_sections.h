/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of a fleet's document, and the words that they share. Private to analyze/document.
 */
#pragma once

#include "analyze/document/document.h"
#include "analyze/document/documents.h"
#include "analyze/document/report_columns.h"
#include "analyze/report/numbers.h"

/* The largest call sites of one snapshot. */
void gm_fleet_uses(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item);
void gm_fleet_odds(struct gm_doc *d, const struct gm_fleet *f);
void gm_fleet_groups(struct gm_doc *d, const struct gm_fleet *f);
void gm_fleet_growth(struct gm_doc *d, const struct gm_fleet *f);

/* ---- words; strings live as long as the document ----------------------------------------------------------------- */

/* "5"; "no iteration". */
const char *gm_fleet_iteration(struct gm_doc *d, int64_t iteration);
/* "iteration 5"; "no iteration". */
const char *gm_fleet_column_name(struct gm_doc *d, const struct gm_fleet_column *column);
/* "rank 3, iteration 5"; the snapshot's name where no rank was found. */
const char *gm_fleet_item_name(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item);
/* "0-7, 12, 16-23" of ascending numbers; after some ranges "and N more". */
const char *gm_fleet_numbers(struct gm_doc *d, const int64_t *numbers, size_t count);
/* The ranks of a group: "ranks 0-7, 12". */
const char *gm_fleet_members(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_group *group,
                             size_t most);
/* "+1.50 MiB +- 0.02 MiB (growing)" per iteration. */
const char *gm_fleet_line_text(struct gm_doc *d, const struct gm_fleet_line *line);
/* Iterations that are left: one decimal below a hundred, else rounded down. */
const char *gm_fleet_iterations(struct gm_doc *d, double value);
/* In whole bytes. */
uint64_t gm_fleet_mean(const struct gm_fleet_spread *spread);
/* "rank 3 ran out of memory at ..." */
const char *gm_fleet_oom_text(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item);
/* "7 of 8 snapshots read, 4 ranks, 2 iterations" */
const char *gm_fleet_read_text(struct gm_doc *d, const struct gm_fleet *f);
/* What is most worth saying: sentences. */
const char *gm_fleet_verdict(struct gm_doc *d, const struct gm_fleet *f);
/* Whether there is a rank or an iteration anywhere. */
bool gm_fleet_has_iterations(const struct gm_fleet *fleet);
