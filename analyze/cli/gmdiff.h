/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmdiff share.
 */
#ifndef GM_CLI_GMDIFF_H
#define GM_CLI_GMDIFF_H

#include "analyze/cli/font_thread.h"
#include "analyze/compare/compare.h"
#include "analyze/state/categories.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct gm_diff_options {
    const char *results, *name, *json, *categories; /* name, json, categories: NULL if not given */
    int64_t device;                                 /* -1: all */
    int64_t top, threads;
    bool no_charts, salvage, quiet, verbose;
    uint64_t max_memory; /* 0: not given */
    struct gm_growth_limit limit;
};

struct gm_diff_context {
    struct gm_diff_options options;
    struct gm_category_rules *rules;
    struct gm_fonts *fonts; /* NULL: no charts */
    time_t when;            /* the one time of this call */
};

#endif
