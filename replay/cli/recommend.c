/* SPDX-License-Identifier: Apache-2.0
 *
 * What may help where the limit leaves no room, or where a GPU had no memory: settings that a replay has shown to help,
 * in the memory that there is (for a GPU: was), and who holds most.
 */
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"
#include "replay/trials/candidates.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_EVENTS (UINT64_C(1) << 26) /* of all devices: longer runs are not replayed again */

enum { BASE, TRIALS_MOST = 2 + GM_CANDIDATES_FEW };
struct gm_replay_recommended {
    size_t index;      /* of the device on which the GPU had no memory; SIZE_MAX: --limit asks, of all devices */
    uint64_t capacity; /* that is replayed with */
    struct gm_trial trials[TRIALS_MOST]; /* BASE: the settings in force; with --limit they again, in a memory fraction
                                          * of its size; other settings */
    size_t count, first_setting;         /* 0: nothing was replayed */
    size_t order[TRIALS_MOST], ordered;  /* other settings that help, the lowest peak first */
    bool is_too_long;
};

/* The device on which most is requested at once. */
static size_t fullest(const struct gm_replay_run *run)
{
    size_t best = 0;
    for (size_t i = 1; i < run->device_count; i++)
        if (run->devices[i].whatif.stats.requested_bytes[GM_STAT_ALL].peak >
            run->devices[best].whatif.stats.requested_bytes[GM_STAT_ALL].peak)
            best = i;
    return best;
}

uint64_t gm_replay_peak_requested(const struct gm_replay_run *run)
{
    return (uint64_t)run->devices[fullest(run)].whatif.stats.requested_bytes[GM_STAT_ALL].peak;
}

/* What no setting can do with less than. */
static uint64_t least_need(const struct gm_replay_run *run)
{
    uint64_t requested = gm_replay_peak_requested(run), refused = gm_replay_refused_need(run);
    return requested > refused ? requested : refused;
}

/* Then no settings that are tried on the others lower the peak. */
static bool is_untraced_highest(const struct gm_replay_run *run)
{
    return run->untraced_count > 0 && gm_replay_most_untraced(run) == gm_replay_peak_reserved(run);
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

/* From an empty allocator, and with the same memory, so that all trials compare. */
static enum gm_status replay_all(struct gm_replay_run *run, const struct gm_conf *conf, struct gm_error *err)
{
    struct gm_replay_recommended *r = run->recommended;
    const bool is_one = r->index != SIZE_MAX;
    const uint64_t taken = is_one ? 0 : gm_replay_taken(run);
    struct gm_candidates *list = malloc(sizeof *list);
    if (list == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_candidates_make(list, conf, false, err);
    r->trials[BASE] = (struct gm_trial){.is_baseline = true, .conf = *conf, .capacity = r->capacity, .taken = taken};
    r->first_setting = r->count = is_one ? 1 : 2;
    if (!is_one)
        r->trials[1] =
            (struct gm_trial){.is_baseline = true, .conf = *conf, .capacity = run->options->limit, .is_fraction = true};
    for (size_t i = 0; status == GM_OK && i < list->few; i++)
        r->trials[r->count++] = (struct gm_trial){.conf = list->rows[i].conf, .capacity = r->capacity, .taken = taken};
    free(list);
    return status == GM_OK ? gm_replay_try(run, r->index, r->trials, r->count, false, err) : status;
}

/* Other settings with a lower peak than the base and than the run itself; or that run where the base does not. */
static void rank(struct gm_replay_recommended *r, uint64_t peak)
{
    const struct gm_trial *base = &r->trials[BASE];
    uint64_t below = base->runs && base->peak_reserved < peak ? base->peak_reserved : peak;
    for (size_t t = r->first_setting; t < r->count; t++) {
        if (!r->trials[t].runs || r->trials[t].peak_reserved >= below)
            continue;
        size_t at = r->ordered++;
        for (; at > 0 && r->trials[r->order[at - 1]].peak_reserved > r->trials[t].peak_reserved; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = t;
    }
}

/* Whether settings may help a limit. */
static bool is_worth_trying(const struct gm_replay_run *run)
{
    const uint64_t limit = run->options->limit;
    return limit != UINT64_MAX && !run->options->verify && !gm_replay_has_failed(run) && least_need(run) <= limit &&
           !is_untraced_highest(run) && gm_replay_is_tight(gm_replay_need(run), limit);
}

enum gm_status gm_replay_recommend(struct gm_replay_run *run, struct gm_error *err)
{
    size_t index = 0;
    uint64_t events = 0;
    while (index < run->device_count && !run->devices[index].whatif.has_failed)
        index++;
    const bool is_on_gpu = gm_replay_on_gpu(run->options) && index < run->device_count;
    if (!is_on_gpu && !is_worth_trying(run))
        return GM_OK;
    struct gm_replay_recommended *r = run->recommended = calloc(1, sizeof *r);
    if (r == NULL)
        return gm_no_memory(err);
    const struct gm_whatif_failure *f = &run->devices[is_on_gpu ? index : 0].whatif.failure;
    r->index = is_on_gpu ? index : SIZE_MAX;
    r->capacity = is_on_gpu ? f->device_free + f->reserved : gm_replay_capacity(run);
    for (size_t i = 0; i < run->device_count; i++)
        events += is_on_gpu ? (i == index) * run->devices[i].whatif.events : run->devices[i].whatif.played;
    r->is_too_long = events > MOST_EVENTS;
    enum gm_status status =
        r->is_too_long ? GM_OK : replay_all(run, is_on_gpu ? &run->devices[index].conf : &run->conf, err);
    if (status == GM_OK)
        rank(r, is_on_gpu ? UINT64_MAX : gm_replay_peak_reserved(run));
    return status;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void add_holders(struct gm_doc *doc, const struct gm_replay_run *run, size_t index, int *n)
{
    gm_text_printf(doc->out, "  %d. hold less: of the %s requested at once on device %" PRId64 "\n     by role", ++*n,
                   gm_doc_bytes(doc, (uint64_t)run->devices[index].whatif.stats.requested_bytes[GM_STAT_ALL].peak),
                   run->devices[index].whatif.device);
    gm_replay_holder_words(doc, run, index, false, 13);
    gm_text_add(doc->out, "     by category");
    gm_replay_holder_words(doc, run, index, true, 17);
    gm_text_add(doc->out, "     (--scale and --drop replay it with less)\n");
}

static const char *how_it_ends(const struct gm_replay_run *run, const struct gm_trial *t)
{
    return run->options->limit == UINT64_MAX        ? ""
           : t->peak_reserved > run->options->limit ? ", still over the limit"
           : gm_replay_is_open(run)                 ? ", within the limit up to where the recording ended"
                                                    : ", within the limit";
}

static void add_setting(struct gm_doc *doc, const struct gm_replay_run *run, const struct gm_trial *t, int *n)
{
    const struct gm_trial *base = &run->recommended->trials[BASE];
    const bool is_async = run->options->backend == GM_REPLAY_CUDA_ASYNC;
    gm_text_printf(doc->out, "  %d. %s" GM_CONF_VARIABLE "=", ++*n, is_async ? "the caching allocator: " : "");
    gm_conf_text(doc->out, &t->conf);
    gm_text_printf(doc->out, "\n     replayed: peak reserved %s", gm_doc_bytes(doc, t->peak_reserved));
    if (base->runs && t != base)
        gm_text_printf(doc->out, " instead of %s", gm_doc_bytes(doc, base->peak_reserved));
    gm_text_printf(doc->out, "%s\n", how_it_ends(run, t));
}

static void add_settings(struct gm_doc *doc, const struct gm_replay_run *run, int *n)
{
    const struct gm_replay_recommended *r = run->recommended;
    if (r->index != SIZE_MAX && r->trials[BASE].runs && run->options->backend == GM_REPLAY_CUDA_ASYNC)
        add_setting(doc, run, &r->trials[BASE], n);
    else if (r->index != SIZE_MAX && r->trials[BASE].runs)
        gm_text_printf(doc->out, "  the same settings run in the model, with peak reserved %s\n",
                       gm_doc_bytes(doc, r->trials[BASE].peak_reserved));
    for (size_t i = 0; i < r->ordered; i++)
        add_setting(doc, run, &r->trials[r->order[i]], n);
    gm_text_add(doc->out, *n > 0 ? "     (" GM_CONF_OLD_VARIABLE ")\n"
                          : r->index != SIZE_MAX
                              ? "  none of the settings that were tried helps\n"
                              : "  none of the settings that were tried lowers the peak (--sweep tries "
                                "more)\n");
}

static void add_bounded(struct gm_doc *doc, const struct gm_replay_run *run, int *n)
{
    const struct gm_trial *t = &run->recommended->trials[1];
    if (t->is_given_up)
        return;
    if (!t->runs)
        gm_text_printf(doc->out, "     with a memory fraction of %s and these settings it runs out of memory\n",
                       gm_doc_bytes(doc, run->options->limit));
    else
        gm_text_printf(doc->out,
                       "  %d. torch.cuda.set_per_process_memory_fraction(limit / memory of the device)\n"
                       "     replayed: with a fraction of %s it %s, with %s retr%s that give%s cached memory back\n",
                       ++*n, gm_doc_bytes(doc, run->options->limit),
                       gm_replay_is_open(run) ? "gets to where the recording ended" : "runs",
                       gm_doc_count(doc, t->retries), t->retries == 1 ? "y" : "ies", t->retries == 1 ? "s" : "");
}

void gm_replay_limit_advice_words(struct gm_doc *doc, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run), requested = least_need(run);
    int n = 0;
    if (!gm_replay_has_failed(run) && !gm_replay_is_tight(peak, limit))
        return;
    gm_text_add(doc->out, "recommendations:\n");
    if (requested > limit) {
        gm_text_printf(doc->out, "  no allocator setting can help: %s are requested at once, %s more than the limit\n",
                       gm_doc_bytes(doc, requested), gm_doc_bytes(doc, requested - limit));
    } else if (is_untraced_highest(run)) {
        gm_text_add(doc->out, "  the device with most has no events: what else it could do with is not known\n");
        return;
    } else if (run->recommended == NULL || run->recommended->index != SIZE_MAX) {
        gm_text_add(doc->out, "  the replay ended out of memory: how much it needs is not known (--fit tells)\n");
    } else if (run->recommended->is_too_long) {
        gm_text_add(doc->out, "  settings were not tried: this run is too long to be replayed several times\n");
    } else {
        add_settings(doc, run, &n);
        if (peak > limit)
            add_bounded(doc, run, &n);
    }
    add_holders(doc, run, fullest(run), &n);
}

void gm_replay_oom_advice_words(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_recommended *r = run->recommended;
    int n = 0;
    if (r == NULL || r->index == SIZE_MAX)
        return;
    gm_text_printf(doc->out, "recommendations (tried in the model, with the %s that the GPU had for this):\n",
                   gm_doc_bytes(doc, r->capacity));
    add_settings(doc, run, &n);
    add_holders(doc, run, r->index, &n);
    gm_text_add(doc->out, "  --fit, without --backend, tells how much memory is enough\n");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_conf(struct gm_doc *doc, const char *key, const struct gm_conf *conf)
{
    struct gm_text text = {0};
    gm_conf_text(&text, conf);
    gm_json_string(&doc->json, key, text.length == 0 ? "" : text.data);
    doc->out->failed |= text.failed;
    gm_text_free(&text);
}

void gm_replay_recommended_json(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_recommended *r = run->recommended;
    gm_json_open(&doc->json, "replayed", '[');
    for (size_t t = 0; r != NULL && t < r->count; t++) {
        const struct gm_trial *trial = &r->trials[t];
        gm_json_open_flat(&doc->json, NULL, '{');
        add_conf(doc, "alloc_conf", &trial->conf);
        gm_json_bool(&doc->json, "is_bounded", trial->is_fraction);
        if (trial->is_given_up)
            gm_json_null(&doc->json, "runs");
        else
            gm_json_bool(&doc->json, "runs", trial->runs);
        gm_json_number(&doc->json, "peak_reserved_bytes", trial->runs ? trial->peak_reserved : GM_REPORT_NONE);
        gm_json_number(&doc->json, "num_alloc_retries", trial->is_given_up ? GM_REPORT_NONE : trial->retries);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
}

void gm_replay_oom_advice_json(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_recommended *r = run->recommended;
    if (r == NULL || r->index == SIZE_MAX)
        return;
    gm_json_open(&doc->json, "recommendations", '{');
    gm_json_signed(&doc->json, "device", run->devices[r->index].whatif.device);
    gm_json_number(&doc->json, "memory_bytes", r->capacity);
    gm_replay_recommended_json(doc, run);
    gm_json_close(&doc->json, '}');
}
