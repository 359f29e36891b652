/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/outcome.h"

#include "analyze/cli/interrupt.h"
#include "analyze/cli/paths.h"

static void collect_json(struct gm_outcome *outcome, const struct gm_job *job)
{
    if (outcome->context->options.json == NULL)
        return;
    if (outcome->is_array)
        gm_text_add(&outcome->json, outcome->json.length == 0 ? "[\n" : ",\n");
    size_t length = job->json.length;
    if (outcome->is_array && length > 0 && job->json.data[length - 1] == '\n')
        length--;
    gm_text_add_bytes(&outcome->json, job->json.data, length);
}

void gm_outcome_add(void *argument, struct gm_job *job)
{
    struct gm_outcome *outcome = argument;
    gm_call_raise(&outcome->said, job->status);
    gm_message_flush(&job->messages);
    if (job->run != NULL) {
        collect_json(outcome, job);
        if (!outcome->context->options.quiet && !gm_path_is_standard(outcome->context->options.json))
            gm_call_print(&outcome->said, &job->summary);
        gm_call_print(&outcome->said, &job->explained);
        gm_run_free(outcome->last);
        outcome->last = job->run;
        job->run = NULL;
    }
    gm_job_free(job);
}

static void point_latest(struct gm_outcome *outcome)
{
    struct gm_error err;
    bool was_left_alone = false;
    if (outcome->last == NULL)
        return;
    gm_interrupt_hold();
    enum gm_status status = gm_run_point_latest(outcome->last, &was_left_alone, &err);
    gm_interrupt_release();
    if (status != GM_OK)
        gm_call_fail(&outcome->said, NULL, &err);
    if (was_left_alone)
        gm_call_warn(&outcome->said, outcome->context->options.results,
                     "'latest' there is no symbolic link; left as it is");
}

static void write_json(struct gm_outcome *outcome)
{
    if (outcome->json.length == 0 && !outcome->json.failed)
        return; /* no snapshot succeeded, or none is wanted */
    if (outcome->is_array)
        gm_text_add(&outcome->json, "\n]\n");
    gm_call_put(&outcome->said, outcome->context->options.json, &outcome->json);
}

void gm_outcome_finish(struct gm_outcome *outcome)
{
    point_latest(outcome);
    write_json(outcome);
}

void gm_outcome_free(struct gm_outcome *outcome)
{
    gm_run_free(outcome->last);
    gm_text_free(&outcome->json);
}
