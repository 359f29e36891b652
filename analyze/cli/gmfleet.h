/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmfleet share.
 */
#ifndef GM_CLI_GMFLEET_H
#define GM_CLI_GMFLEET_H

#include "analyze/cli/font_thread.h"
#include "analyze/cli/terminal.h"
#include "analyze/fleet/kept.h"
#include "analyze/state/categories.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct gm_fleet_cli_options {
    const char *results, *name, *json, *categories, *pattern, *gpu; /* all but results: NULL if not given */
    int64_t device;                                                 /* -1: all */
    int64_t top, threads;
    uint64_t memory;     /* UINT64_MAX: not given */
    uint64_t max_memory; /* 0: not given */
    bool no_charts, salvage, each, resume, quiet, verbose;
};

struct gm_fleet_context {
    struct gm_fleet_cli_options options;
    struct gm_terminal terminal;
    struct gm_category_rules *rules;
    struct gm_fonts *fonts;   /* NULL: no charts */
    time_t when;              /* the one time of this call */
    uint64_t salt;            /* of the options that change a record */
    struct gm_kept_keys kept; /* with --resume: what was finished before */
    int threads;
};

#endif
