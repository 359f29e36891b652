/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the jobs of one call: messages and summaries in the order of the operands, the collected JSON and
 * `latest`.
 */
#ifndef GM_CLI_OUTCOME_H
#define GM_CLI_OUTCOME_H

#include "analyze/cli/job.h"

/* Runs the jobs in `threads` threads. Each is told and freed when it and those before it are done; at last `latest` and
 * --json. Meanwhile a person who watches sees how far it is. */
void gm_outcome_run(const struct gm_analyze_context *context, struct gm_job *jobs, size_t count, int threads);

#endif
