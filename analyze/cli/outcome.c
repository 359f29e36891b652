/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/outcome.h"

#include "analyze/cli/interrupt.h"

#include <string.h>
#include <unistd.h>

void gm_outcome_raise(struct gm_outcome *outcome, enum gm_status status)
{
    int code = gm_status_exit_code(status);
    if (code > outcome->exit_code)
        outcome->exit_code = code;
}

void gm_outcome_fail(struct gm_outcome *outcome, const struct gm_error *err)
{
    struct gm_text message = {0};
    gm_message_add_error(&message, &outcome->context->terminal, NULL, err);
    gm_message_flush(&message);
    gm_outcome_raise(outcome, err->status);
}

void gm_outcome_print(struct gm_outcome *outcome, const struct gm_text *text)
{
    struct gm_error err;
    if (outcome->is_stdout_broken || text->length == 0)
        return;
    if (gm_write_all(STDOUT_FILENO, text->data, text->length, "standard output", &err) != GM_OK) {
        outcome->is_stdout_broken = true; /* say it once */
        gm_outcome_fail(outcome, &err);
    }
}

static bool json_goes_to_stdout(const struct gm_outcome *outcome)
{
    const char *json = outcome->context->options.json;
    return json != NULL && strcmp(json, "-") == 0;
}

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
    gm_outcome_raise(outcome, job->status);
    gm_message_flush(&job->messages);
    if (job->run != NULL) {
        collect_json(outcome, job);
        if (!outcome->context->options.quiet && !json_goes_to_stdout(outcome))
            gm_outcome_print(outcome, &job->summary);
        gm_outcome_print(outcome, &job->explained);
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
        gm_outcome_fail(outcome, &err);
    if (was_left_alone && !outcome->context->options.quiet) {
        struct gm_text message = {0};
        gm_message_add(&message, &outcome->context->terminal, GM_MESSAGE_WARNING, outcome->context->options.results,
                       "warning: 'latest' there is no symbolic link; left as it is");
        gm_message_flush(&message);
    }
}

static void write_json(struct gm_outcome *outcome)
{
    struct gm_error err;
    enum gm_status status = GM_OK;
    if (outcome->json.length == 0)
        return;
    if (outcome->is_array)
        gm_text_add(&outcome->json, "\n]\n");
    if (outcome->json.failed)
        status = gm_fail(&err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    else if (json_goes_to_stdout(outcome))
        gm_outcome_print(outcome, &outcome->json);
    else
        status = gm_write_file(outcome->context->options.json, outcome->json.data, outcome->json.length, &err);
    if (status != GM_OK)
        gm_outcome_fail(outcome, &err);
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
