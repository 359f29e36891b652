/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks that a user may ask for on the command line; a failed one is exit code 1, and everything is still written.
 */
#ifndef GM_CLI_CHECKS_H
#define GM_CLI_CHECKS_H

#include "analyze/base/text.h"
#include "analyze/cli/gmanalyze.h"
#include "analyze/report/report.h"

/* GM_OK or GM_E_CHECK; each failed check adds a line about `path` to `messages`. */
enum gm_status gm_checks_run(const struct gm_analyze_context *context, const struct gm_report *report, const char *path,
                             struct gm_text *messages);

#endif
