/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of gmdiff.
 */
#pragma once

#include "analyze/cli/options.h"
#include "analyze/compare/compare.h"

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
