/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs jobs in threads and hands them back in the order of the operands, each as soon as it and those before it are
 * done. Meanwhile the calling thread shows progress, if a person is watching and it takes longer than a second.
 */
#ifndef GM_CLI_POOL_H
#define GM_CLI_POOL_H

#include "analyze/cli/job.h"

#include <stdbool.h>
#include <stddef.h>

/* Called in the calling thread, in order, once for each job; it may free the job. */
typedef void gm_pool_done(void *argument, struct gm_job *job);

void gm_pool_run(struct gm_job *jobs, size_t count, const struct gm_analyze_context *context, int threads,
                 gm_pool_done *done, void *argument);

#endif
