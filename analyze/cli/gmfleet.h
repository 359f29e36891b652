/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmfleet share.
 */
#ifndef GM_CLI_GMFLEET_H
#define GM_CLI_GMFLEET_H

#include "analyze/cli/shell.h"
#include "analyze/fleet/kept.h"

#include <stdbool.h>
#include <stdint.h>

struct gm_fleet_cli_options {
    struct gm_usual_options usual;
    const char *pattern, *gpu; /* NULL if not given */
    uint64_t memory;           /* UINT64_MAX: not given */
    bool each, resume;
};

struct gm_fleet_context {
    struct gm_fleet_cli_options options;
    struct gm_shell shell;
    uint64_t salt;            /* of the options that change a record */
    struct gm_kept_keys kept; /* with --resume: what was finished before */
};

#endif
