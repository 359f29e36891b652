/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks that a user may ask for on the command line; a failed one is exit code 1, and everything is still
 * written.
 */
#pragma once

#include "analyze/cli/analyze_options.h"
#include "analyze/export/notices.h"
#include "analyze/report/report.h"

/* Who is told; any may be NULL, and nobody is. Each failed check adds a line about `path` to `messages`, and each that
 * was asked for to `notices`. */
struct gm_checks_told {
    const char *path;
    const struct gm_terminal *terminal; /* of messages */
    struct gm_text *messages;
    struct gm_notices *notices;
};
/* GM_OK or GM_E_CHECK. */
enum gm_status gm_checks_run(const struct gm_analyze_options *options, const struct gm_report *report,
                             const struct gm_checks_told *told);
