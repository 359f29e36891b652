/* SPDX-License-Identifier: Apache-2.0
 *
 * gmanalyze --watch: each snapshot that appears in a directory is reported as if it had been named.
 */
#ifndef GM_CLI_WATCH_FOLDER_H
#define GM_CLI_WATCH_FOLDER_H

#include "analyze/cli/analyze_options.h"

/* Until a signal comes (a second one ends the program at once), or nobody reads standard output any more. */
enum gm_status gm_watch_run(struct gm_analyze_context *context, struct gm_error *err);

#endif
