/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmdiff share.
 */
#ifndef GM_CLI_GMDIFF_H
#define GM_CLI_GMDIFF_H

#include "analyze/cli/shell.h"
#include "analyze/compare/compare.h"
#include "analyze/compare/summary_make.h"
#include "analyze/run/run_names.h"

struct gm_diff_options {
    struct gm_usual_options usual;
    struct gm_growth_limit limit;
};
#define GM_DIFF_DEFAULTS                                                                                               \
    {                                                                                                                  \
        .usual = GM_USUAL_DEFAULTS                                                                                     \
    }

/* Its command line: of a struct gm_diff_options. */
extern const struct gm_program gm_diff_program;

/* diffed.c: from options and summaries to what is told of them, as gmdiff and libgm do it. How snapshots are read: */
struct gm_summary_options gm_diff_reading(const struct gm_diff_options *options, const struct gm_category_rules *rules);
/* gm_compare, and the run is named; `name` is as its directory has it. */
enum gm_status gm_diff_compare(struct gm_comparison *c, char name[GM_NAME_SIZE], const struct gm_summary *const *runs,
                               size_t count, const struct gm_diff_options *options, time_t when, struct gm_error *err);
/* The files of the comparison that are texts, in their order; is_drawn: the pictures lie beside them. */
#define GM_DIFF_JSON "diff.json"
struct gm_text_names gm_diff_texts(bool is_drawn);
/* One of them, by its name. */
enum gm_status gm_diff_make(struct gm_text *out, const char *name, const struct gm_comparison *c, bool is_drawn,
                            struct gm_error *err);

#endif
