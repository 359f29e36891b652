/* SPDX-License-Identifier: Apache-2.0
 *
 * Two or more summaries in, one comparison out. Pure computation.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/comparison.h"

struct gm_compare_options {
    struct gm_growth_limit limit;
    size_t top;
};

/* runs[0] is BASE; there are at least two, and they must outlive the comparison. run_name, timestamp and failures are
 * the caller's to set. GM_E_NOMEM is the only error. */
enum gm_status gm_compare(struct gm_comparison *comparison, const struct gm_summary *const *runs, size_t count,
                          const struct gm_compare_options *options, struct gm_error *err);

/* "2%", "0.5 %", "500MiB", "0": as --fail-growth has it. `text` is kept. */
bool gm_growth_limit_parse(struct gm_growth_limit *limit, const char *text);
