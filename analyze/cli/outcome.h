/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the jobs of one call: messages and summaries in the order of the operands, the collected JSON,
 * `latest`, and the exit code, which is the largest of all.
 */
#ifndef GM_CLI_OUTCOME_H
#define GM_CLI_OUTCOME_H

#include "analyze/cli/job.h"

struct gm_outcome {
    const struct gm_analyze_context *context;
    int exit_code;
    struct gm_text json; /* so far */
    bool is_array;       /* the JSON of several snapshots */
    bool is_stdout_broken;
    struct gm_run *last; /* of the last operand that succeeded */
};

/* Raises the exit code to that of `status`. */
void gm_outcome_raise(struct gm_outcome *outcome, enum gm_status status);
/* Tells an error that belongs to no snapshot, and raises the exit code. */
void gm_outcome_fail(struct gm_outcome *outcome, const struct gm_error *err);
/* Writes to stdout; a failure is told once. */
void gm_outcome_print(struct gm_outcome *outcome, const struct gm_text *text);
/* Takes in a job that is done, and frees it: a gm_pool_done whose argument is the gm_outcome. */
void gm_outcome_add(void *argument, struct gm_job *job);
/* After the last job: `latest` and --json. */
void gm_outcome_finish(struct gm_outcome *outcome);
void gm_outcome_free(struct gm_outcome *outcome);

#endif
