/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the jobs of one call: messages and summaries in the order of the operands, the collected JSON and
 * `latest`.
 */
#ifndef GM_CLI_OUTCOME_H
#define GM_CLI_OUTCOME_H

#include "analyze/cli/call.h"
#include "analyze/cli/job.h"

struct gm_outcome {
    const struct gm_analyze_context *context;
    struct gm_call said;
    struct gm_text json; /* so far */
    bool is_array;       /* the JSON of several snapshots */
    struct gm_run *last; /* of the last operand that succeeded */
};

/* Takes in a job that is done, and frees it: a gm_pool_done whose argument is the gm_outcome. */
void gm_outcome_add(void *argument, struct gm_job *job);
/* After the last job: `latest` and --json. */
void gm_outcome_finish(struct gm_outcome *outcome);
void gm_outcome_free(struct gm_outcome *outcome);

#endif
