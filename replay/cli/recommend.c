/* SPDX-License-Identifier: Apache-2.0
 *
 * What may help where the limit leaves no room, or where a GPU had no memory: settings that a replay has shown to help,
 * in the memory that there is (for a GPU: was), and who holds most.
 */
#include "replay/cli/gmreplay.h"
#include "replay/trials/candidates.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_EVENTS (UINT64_C(1) << 26) /* of all devices: longer runs are not replayed again */

enum { BASE, TRIALS_MOST = 2 + GM_CANDIDATES_FEW };
struct gm_replay_recommended {
    const struct gm_replay_device *device; /* on which the GPU had no memory; NULL: --limit asks, of all devices */
    uint64_t capacity;                     /* that is replayed with */
    struct gm_trial trials[TRIALS_MOST];   /* BASE: the settings in force; with --limit they again, in a memory fraction
                                            * of its size; other settings */
    size_t count, first_setting;           /* 0: nothing was replayed */
    size_t order[TRIALS_MOST], ordered;    /* other settings that help, the lowest peak first */
    bool is_too_long;
};

/* What no setting can do with less than. */
static uint64_t least_need(const struct gm_replay_run *run)
{
    uint64_t requested = gm_replay_requested(gm_replay_fullest(run)), refused = gm_replay_refused_need(run);
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
    const bool is_one = r->device != NULL;
    const uint64_t taken = is_one ? 0 : gm_replay_taken(run);
    GM_FREED struct gm_candidates *list = malloc(sizeof *list);
    if (list == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_candidates_make_few(list, conf, err);
    r->trials[BASE] = (struct gm_trial){.is_baseline = true, .conf = *conf, .capacity = r->capacity, .taken = taken};
    r->first_setting = r->count = is_one ? 1 : 2;
    if (!is_one)
        r->trials[1] =
            (struct gm_trial){.is_baseline = true, .conf = *conf, .capacity = run->options->limit, .is_fraction = true};
    for (size_t i = 0; status == GM_OK && i < list->count; i++)
        r->trials[r->count++] = (struct gm_trial){.conf = list->rows[i].conf, .capacity = r->capacity, .taken = taken};
    return status == GM_OK ? gm_replay_try(run, r->device, r->trials, r->count, false, err) : status;
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
    const struct gm_replay_device *d = gm_replay_on_gpu(run->options) ? gm_replay_first_failed(run) : NULL;
    if (d == NULL && !is_worth_trying(run))
        return GM_OK;
    struct gm_replay_recommended *r = run->recommended = calloc(1, sizeof *r);
    if (r == NULL)
        return gm_no_memory(err);
    r->device = d;
    r->capacity = d != NULL ? d->whatif.failure.device_free + d->whatif.failure.reserved : gm_replay_capacity(run);
    r->is_too_long = (d != NULL ? d->whatif.events : gm_replay_played(run)) > MOST_EVENTS;
    if (!r->is_too_long)
        GM_TRY(replay_all(run, d != NULL ? &d->conf : &run->conf, err));
    rank(r, d != NULL ? UINT64_MAX : gm_replay_peak_reserved(run));
    return GM_OK;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void tell_holders(struct gm_doc *doc, const struct gm_replay_device *d)
{
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL,
               "Hold less on device %" PRId64 " (--scale and --drop replay it with less).", d->kept->history.device);
    if (gm_doc_is(doc, GM_READ)) /* JSON has them with the device */
        gm_replay_say_holders(doc, d, true);
}

static const char *how_it_ends(const struct gm_replay_run *run, const struct gm_trial *t)
{
    return run->options->limit == UINT64_MAX        ? ""
           : t->peak_reserved > run->options->limit ? ", still over the limit"
           : gm_replay_is_open(run)                 ? ", within the limit up to where the recording ended"
                                                    : ", within the limit";
}

static const char *settings_of(struct gm_doc *doc, const struct gm_conf *conf)
{
    struct gm_text text = {0};
    gm_conf_text(&text, conf);
    return gm_doc_take(doc, &text);
}

static void tell_setting(struct gm_doc *doc, const struct gm_replay_run *run, const struct gm_trial *t)
{
    const struct gm_trial *base = &run->recommended->trials[BASE];
    gm_doc_say(doc, GM_SAY_LINE, GM_READ, NULL, GM_CONF_VARIABLE "=%s", settings_of(doc, &t->conf));
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%sreplayed: peak reserved %s%s%s",
               run->options->backend == GM_REPLAY_CUDA_ASYNC ? "the caching allocator, " : "",
               gm_doc_bytes(doc, t->peak_reserved),
               base->runs && t != base ? gm_doc_printf(doc, " instead of %s", gm_doc_bytes(doc, base->peak_reserved))
                                       : "",
               how_it_ends(run, t));
}

static void tell_settings(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_recommended *r = run->recommended;
    const struct gm_trial *base = &r->trials[BASE];
    const bool is_gpu = r->device != NULL, is_async = run->options->backend == GM_REPLAY_CUDA_ASYNC;
    if (is_gpu && base->runs && is_async)
        tell_setting(doc, run, base);
    else if (is_gpu && base->runs)
        gm_doc_tell(doc, "The same settings run in the model, with peak reserved %s.",
                    gm_doc_bytes(doc, base->peak_reserved));
    for (size_t i = 0; i < r->ordered; i++)
        tell_setting(doc, run, &r->trials[r->order[i]]);
    gm_doc_tell(doc, "%s",
                r->ordered > 0 || (is_gpu && base->runs && is_async) ? "(" GM_CONF_OLD_VARIABLE ")"
                : is_gpu                                             ? "None of the settings that were tried helps."
                         : "None of the settings that were tried lowers the peak (--sweep tries more).");
}

static void tell_bounded(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_trial *t = &run->recommended->trials[1];
    const char *limit = gm_doc_bytes(doc, run->options->limit);
    if (t->is_given_up)
        return;
    if (!t->runs) {
        gm_doc_tell(doc, "With a memory fraction of %s and these settings it runs out of memory.", limit);
        return;
    }
    gm_doc_say(doc, GM_SAY_LINE, GM_READ, NULL,
               "torch.cuda.set_per_process_memory_fraction(limit / memory of the device)");
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL,
               "replayed: with a fraction of %s it %s, with %s give%s cached memory back", limit,
               gm_replay_is_open(run) ? "gets to where the recording ended" : "runs",
               gm_doc_some(doc, t->retries, "retry that", "retries that"), t->retries == 1 ? "s" : "");
}

static void tell_limit_advice(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const uint64_t limit = run->options->limit, peak = gm_replay_need(run), requested = least_need(run);
    const struct gm_replay_recommended *r = run->recommended;
    if (run->options->verify || (!gm_replay_has_failed(run) && !gm_replay_is_tight(peak, limit)))
        return;
    gm_doc_tell(doc, "Recommendations:");
    if (requested > limit) {
        gm_doc_tell(doc, "No allocator setting can help: %s are requested at once, %s more than the limit.",
                    gm_doc_bytes(doc, requested), gm_doc_bytes(doc, requested - limit));
    } else if (is_untraced_highest(run)) {
        gm_doc_tell(doc, "The device with most has no events: what else it could do with is not known.");
        return;
    } else if (r == NULL || r->device != NULL) {
        gm_doc_tell(doc, "The replay ended out of memory: how much it needs is not known (--fit tells).");
    } else if (r->is_too_long) {
        gm_doc_tell(doc, "Settings were not tried: this run is too long to be replayed several times.");
    } else {
        tell_settings(doc, run);
        if (peak > limit)
            tell_bounded(doc, run);
    }
    tell_holders(doc, gm_replay_fullest(run));
}

GM_CELL(s, conf_value, struct gm_trial, row, settings_of(c->doc, &row->conf));

static void put_trial(const struct gm_cell_of *c)
{
    const struct gm_trial *t = c->row;
    struct gm_json *json = &c->doc->json;
    if (t->is_given_up)
        gm_json_null(json, "runs");
    else
        gm_json_bool(json, "runs", t->runs);
    gm_json_number(json, "peak_reserved_bytes", t->runs ? t->peak_reserved : GM_REPORT_NONE);
    gm_json_number(json, "num_alloc_retries", t->is_given_up ? GM_REPORT_NONE : t->retries);
}

static void put_trials(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_TEXT, GM_JSON, "alloc_conf", NULL, conf_value),
        GM_KEY(GM_BOOL, "is_bounded", struct gm_trial, is_fraction),
        GM_NESTED(NULL, put_trial),
    };
    const struct gm_replay_recommended *r = run->recommended;
    GM_TABLE(doc, columns, r == NULL ? NULL : r->trials, r == NULL ? 0 : r->count, .key = "replayed", .in = GM_JSON);
}

void gm_replay_say_limit_advice(struct gm_doc *doc, const struct gm_replay_run *run)
{
    put_trials(doc, run);
    if (gm_doc_is(doc, GM_READ))
        tell_limit_advice(doc, run);
}

void gm_replay_say_oom_advice(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_replay_recommended *r = run->recommended;
    if (r == NULL || r->device == NULL)
        return;
    gm_doc_open(doc, "recommendations",
                gm_doc_printf(doc, "Recommendations (tried in the model, with the %s that the GPU had for this)",
                              gm_doc_bytes(doc, r->capacity)));
    if (gm_doc_is(doc, GM_JSON)) {
        gm_json_signed(&doc->json, "device", r->device->kept->history.device);
        gm_json_number(&doc->json, "memory_bytes", r->capacity);
    } else {
        tell_settings(doc, run);
        tell_holders(doc, r->device);
        gm_doc_tell(doc, "--fit, without --backend, tells how much memory is enough.");
    }
    put_trials(doc, run);
    gm_doc_close(doc);
}
