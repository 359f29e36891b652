/* SPDX-License-Identifier: Apache-2.0
 *
 * Writers of fleets: each is a pure function, the same fleet gives the same bytes.
 */
#ifndef GM_WORDS_FLEET_H
#define GM_WORDS_FLEET_H

#include "analyze/base/text.h"
#include "analyze/report/fleet_model.h"

/* fleet_report.txt: 80 columns. */
void gm_words_fleet_text(struct gm_text *out, const struct gm_fleet *fleet);
/* fleet.json: schema gmfleet.fleet/1, one object, with a final newline. */
void gm_words_fleet_json(struct gm_text *out, const struct gm_fleet *fleet);
/* README.md of the run directory. charts: NULL-terminated pairs file name, caption; NULL for none. */
void gm_words_fleet_markdown(struct gm_text *out, const struct gm_fleet *fleet, const char *const *charts);
/* fleet.csv: a row for each snapshot. */
void gm_words_fleet_csv(struct gm_text *out, const struct gm_fleet *fleet);
/* A few lines for a terminal; the last names `directory`. */
void gm_words_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory);

#endif
