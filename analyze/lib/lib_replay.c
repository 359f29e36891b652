/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmreplay concludes of a snapshot. Its texts are made at once: a run is large, and a snapshot has several.
 */
#include "analyze/cli/interrupt.h"
#include "analyze/cli/rules_file.h"
#include "analyze/lib/libgm.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>
#include <string.h>

struct replayed {
    uint64_t peak_reserved, peak_requested;
};

static struct gm_text_names texts(const struct gm_result *result)
{
    struct gm_text_names names = {.n = 0};
    for (; names.n < result->files.count; names.n++)
        names.v[names.n] = result->files.v[names.n].name;
    return names;
}

static uint64_t number(const struct gm_result *result, const char *name, int64_t device)
{
    const struct replayed *r = result->found;
    if (device >= 0)
        return GM_UNKNOWN;
    return strcmp(name, "peak_reserved") == 0    ? r->peak_reserved
           : strcmp(name, "peak_requested") == 0 ? r->peak_requested
                                                 : GM_UNKNOWN;
}

static const struct gm_result_kind kind = {.json = "replay.json", .texts = texts, .number = number, .free = free};

static enum gm_status keep(struct gm_result *result, struct gm_replay_run *run, struct gm_error *err)
{
    struct replayed *r = result->found;
    struct gm_text *json = gm_run_files_text(&result->files, kind.json);
    struct gm_text *words = gm_run_files_text(&result->files, "replay.txt");
    gm_replay_document(json, GM_JSON, run, true);
    gm_replay_document(words, GM_TXT, run, false);
    bool has_failed = json->failed || words->failed || run->messages.failed;
    if (run->messages.length > 0) {
        struct gm_text *messages = gm_run_files_text(&result->files, "messages.txt");
        gm_text_add_bytes(messages, run->messages.data, run->messages.length);
        has_failed |= messages->failed;
    }
    r->peak_reserved = gm_replay_peak_reserved(run);
    r->peak_requested = run->device_count == 0 ? GM_UNKNOWN : gm_replay_requested(gm_replay_fullest(run));
    result->verdict = gm_status_exit_code(gm_replay_status(run));
    return has_failed ? gm_no_memory(err) : GM_OK;
}

static enum gm_status replay(struct gm_result *result, const char *const *given, struct gm_error *err)
{
    const struct gm_terminal terminal = {.program = "gmreplay"};
    struct gm_replay_options options = GM_REPLAY_DEFAULTS;
    if ((result->found = calloc(1, sizeof(struct replayed))) == NULL)
        return gm_no_memory(err);
    GM_TRY(gm_result_options(result, &gm_replay_program, given, &options, err));
    struct gm_replay_run run = {
        .options = &options, .terminal = &terminal, .given = &result->loaded[0]->snapshot, .capacity = UINT64_MAX};
    GM_FREED struct gm_text rules = {0};
    enum gm_status status = gm_rules_load(&run.rules, options.usual.categories, &rules, err);
    GM_THEN(status, gm_ignore_load(&run.ignore, &options.usual, err));
    GM_THEN(status, gm_replay_run(&run, NULL, err));
    GM_THEN(status, keep(result, &run, err));
    if (run.search != NULL)
        gm_interrupt_release(); /* no signals are handled here: it only counts */
    gm_ignore_free(&run.ignore);
    gm_replay_free(&run);
    return status;
}

GM_API struct gm_result *gm_replay(struct gm_loaded *loaded, const char *const *options, struct gm_problem *problem)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    struct gm_result *result = gm_result_new(&kind, &loaded, 1);
    const struct gm_entered entered = gm_enter();
    const enum gm_status status = result == NULL ? gm_no_memory(&err) : replay(result, options, &err);
    gm_leave(&entered);
    return gm_result_end(result, status, &err, problem);
}
