/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmreplay finds in the snapshots: the smallest memory that runs them, with retries, and --sweep. The command has
 * run once and does not run again.
 */
#include "replay/dry/cli/gmdry.h"

#include "analyze/cli/interrupt.h"
#include "analyze/cli/rules_file.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>

/* Beyond that the reserved peak has to do. */
enum { SECONDS = 5, PROCESSES = 16 };

static struct gm_replay_options usual(const struct gm_dry_result *result)
{
    return (struct gm_replay_options){
        .usual.quiet = true, .budget = -1, .limit = UINT64_MAX, .memory = gm_dry_usable(result->options, result->gpu)};
}

/* Of one process: how much memory it needs, on which card. */
static enum gm_status fit_one(struct gm_dry_replayed *replayed, const struct gm_dry_result *result, const char *path,
                              const struct gm_terminal *terminal, struct gm_error *err)
{
    struct gm_replay_options options = usual(result);
    options.memory = UINT64_MAX;
    options.budget = SECONDS;
    GM_FREED_BY(gm_replay_free)
    struct gm_replay_run run = {.options = &options, .terminal = terminal, .capacity = UINT64_MAX};
    struct gm_fit fit = {0};
    enum gm_status status = gm_rules_load(&run.rules, NULL, NULL, err);
    GM_THEN(status, gm_replay_run(&run, path, err));
    GM_THEN(status, gm_replay_fit_recorded(&fit, &run, err));
    replayed->is_known = status == GM_OK && fit.is_found && !fit.is_cut && fit.everywhere != UINT64_MAX;
    if (replayed->is_known && fit.everywhere >= replayed->memory) {
        replayed->memory = fit.everywhere;
        replayed->card = fit.gpu == NULL || fit.gpu->chip.major > 0 ? fit.gpu : gm_dry_card_with(fit.everywhere);
        replayed->retries = replayed->card == fit.gpu ? fit.gpu_retries : 0; /* else that one has more than it needs */
    }
    return status;
}

/* What is needed until the words and the JSON are written. */
struct gm_dry_swept {
    struct gm_replay_options options;
    struct gm_replay_run run;
};

static enum gm_status sweep(struct gm_dry_replayed *replayed, const struct gm_dry_result *result, const char *path,
                            const struct gm_terminal *terminal, struct gm_error *err)
{
    struct gm_dry_swept *swept = replayed->swept = calloc(1, sizeof *swept);
    if (swept == NULL)
        return gm_no_memory(err);
    swept->options = usual(result);
    swept->options.sweep = true;
    swept->run = (struct gm_replay_run){.options = &swept->options, .terminal = terminal, .capacity = UINT64_MAX};
    enum gm_status status = gm_rules_load(&swept->run.rules, NULL, NULL, err);
    return status == GM_OK ? gm_replay_run(&swept->run, path, err) : status;
}

void gm_dry_sweep_words(struct gm_text *out, const struct gm_dry_result *result)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    if (result->replayed.swept != NULL)
        gm_replay_say_search(&doc, &result->replayed.swept->run, false);
    gm_doc_end(&doc);
}

void gm_dry_sweep_json(struct gm_doc *doc, const struct gm_dry_result *result)
{
    if (result->replayed.swept != NULL)
        gm_replay_say_search(doc, &result->replayed.swept->run, true);
}

void gm_dry_replayed_free(struct gm_dry_replayed *replayed)
{
    if (replayed->swept == NULL)
        return;
    const bool has_searched = replayed->swept->run.search != NULL;
    gm_replay_free(&replayed->swept->run);
    free(replayed->swept);
    replayed->swept = NULL;
    if (has_searched)
        gm_interrupt_release();
}

enum gm_status gm_dry_replay(struct gm_dry_replayed *replayed, const struct gm_dry_result *result,
                             const struct gm_terminal *terminal, struct gm_error *err)
{
    const struct gm_dry_told *told = result->told;
    enum gm_status status = GM_OK;
    const bool is_whole = result->verdict == GM_DRY_FITS || result->verdict == GM_DRY_FAIL;
    bool is_known = is_whole && told->processes.n <= PROCESSES && told->traced_count == told->processes.n;
    for (size_t i = 0; is_known && status == GM_OK && i < told->processes.n; i++) {
        if (told->processes.v[i].is_late || told->processes.v[i].is_short)
            is_known = false;
        else
            status = fit_one(replayed, result, told->processes.v[i].snapshot, terminal, err);
        is_known = is_known && replayed->is_known;
    }
    replayed->is_known = is_known && status == GM_OK;
    if (status == GM_OK && result->options->sweep && told->traced_count > 0)
        status = sweep(replayed, result, told->processes.v[0].snapshot, terminal, err);
    if (status != GM_OK)
        gm_dry_replayed_free(replayed);
    return status;
}
