/* SPDX-License-Identifier: Apache-2.0
 *
 * --limit: the verdict and recommendations. Settings are recommended only if a replay
 * has shown what they give; nothing is replayed while the limit leaves room.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "replay/cli/judged.h"
#include "replay/cli/searched.h"
#include "replay/trials/few.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS (UINT64_C(1) << 26) /* of all devices: longer runs are not replayed again */

enum { BASE, BOUNDED, FIRST_SETTING, TRIALS_MOST = FIRST_SETTING + GM_FEW_MOST };
struct gm_replay_judgement {
    struct gm_trial trials[TRIALS_MOST]; /* BASE: the settings in force; BOUNDED: they, in a memory fraction of the
                                          * limit's size; other settings */
    size_t count;                        /* 0: nothing was replayed */
    size_t order[TRIALS_MOST], ordered;  /* other settings that lower the peak, the lowest first */
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

bool gm_replay_has_failed(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (!run->options->verify && run->devices[i].whatif.has_failed)
            return true;
    return false;
}

bool gm_replay_is_cut_short(const struct gm_replay_run *run)
{
    return gm_replay_has_failed(run) || gm_replay_is_open(run);
}

bool gm_replay_is_tight(uint64_t peak, uint64_t whole)
{
    return peak > whole - whole / 100 * GM_REPLAY_MARGIN;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

/* From an empty allocator, and with the memory that there is, so that all trials compare. */
static enum gm_status replay_all(struct gm_replay_run *run, struct gm_error *err)
{
    struct gm_replay_judgement *j = run->judgement;
    struct gm_conf few[GM_FEW_MOST];
    j->count = FIRST_SETTING + gm_few_settings(few, &run->conf);
    for (size_t t = 0; t < j->count; t++)
        j->trials[t] = (struct gm_trial){.is_baseline = t < FIRST_SETTING,
                                         .conf = t < FIRST_SETTING ? run->conf : few[t - FIRST_SETTING],
                                         .capacity = t == BOUNDED ? run->options->limit : gm_replay_capacity(run),
                                         .is_fraction = t == BOUNDED,
                                         .taken = t == BOUNDED ? 0 : gm_replay_taken(run)};
    return gm_replay_try(run, j->trials, j->count, false, err);
}

/* Other settings with a lower peak than the base and than the run itself. */
static void rank(struct gm_replay_judgement *j, uint64_t peak)
{
    uint64_t base = j->trials[BASE].peak_reserved < peak ? j->trials[BASE].peak_reserved : peak;
    for (size_t t = FIRST_SETTING; t < j->count; t++) {
        if (!j->trials[t].runs || j->trials[t].peak_reserved >= base)
            continue;
        size_t at = j->ordered++;
        for (; at > 0 && j->trials[j->order[at - 1]].peak_reserved > j->trials[t].peak_reserved; at--)
            j->order[at] = j->order[at - 1];
        j->order[at] = t;
    }
}

/* Then no settings that are tried on the others lower the peak. */
static bool is_untraced_highest(const struct gm_replay_run *run)
{
    return run->untraced_count > 0 && gm_replay_most_untraced(run) == gm_replay_peak_reserved(run);
}

enum gm_status gm_replay_judge(struct gm_replay_run *run, struct gm_error *err)
{
    uint64_t limit = run->options->limit, events = 0;
    if (limit == UINT64_MAX || run->options->verify || gm_replay_has_failed(run) || least_need(run) > limit ||
        is_untraced_highest(run) || !gm_replay_is_tight(gm_replay_need(run), limit))
        return GM_OK;
    run->judgement = calloc(1, sizeof *run->judgement);
    if (run->judgement == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < run->device_count; i++)
        events += run->devices[i].whatif.played;
    run->judgement->is_too_long = events > MOST_EVENTS;
    if (run->judgement->is_too_long)
        return GM_OK;
    enum gm_status status = replay_all(run, err);
    if (status == GM_OK)
        rank(run->judgement, gm_replay_peak_reserved(run));
    return status;
}

void gm_replay_free_judgement(struct gm_replay_run *run)
{
    free(run->judgement);
}

/* ---- recommendations --------------------------------------------------------------------------------------------- */

static void add_holders(struct gm_text *out, const struct gm_replay_run *run, int *n)
{
    size_t d = fullest(run);
    char a[GM_NUMBER_TEXT];
    gm_text_printf(out, "  %d. hold less: of the %s requested at once on device %" PRId64 "\n     by role", ++*n,
                   gm_bytes_format(a, gm_replay_peak_requested(run)), run->devices[d].whatif.device);
    gm_replay_holder_words(out, run, d, false, 13);
    gm_text_add(out, "     by category");
    gm_replay_holder_words(out, run, d, true, 17);
    gm_text_add(out, "     (--scale and --drop replay it with less)\n");
}

static void add_settings(struct gm_text *out, const struct gm_replay_run *run, int *n)
{
    const struct gm_replay_judgement *j = run->judgement;
    for (size_t i = 0; i < j->ordered; i++) {
        const struct gm_trial *t = &j->trials[j->order[i]];
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
        gm_text_printf(out, "  %d. " GM_CONF_VARIABLE "=", ++*n);
        gm_conf_text(out, &t->conf);
        gm_text_printf(out, "\n     replayed: peak reserved %s instead of %s, %s\n",
                       gm_bytes_format(a, t->peak_reserved), gm_bytes_format(b, j->trials[BASE].peak_reserved),
                       t->peak_reserved > run->options->limit ? "still over the limit"
                       : gm_replay_is_open(run)               ? "within the limit up to where the recording ended"
                                                              : "within the limit");
    }
    if (j->ordered > 0)
        gm_text_add(out, "     (" GM_CONF_OLD_VARIABLE ")\n");
}

static void add_bounded(struct gm_text *out, const struct gm_replay_run *run, int *n)
{
    const struct gm_trial *t = &run->judgement->trials[BOUNDED];
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (t->is_given_up)
        return;
    if (!t->runs)
        gm_text_printf(out, "     with a memory fraction of %s and these settings it runs out of memory\n",
                       gm_bytes_format(a, run->options->limit));
    else
        gm_text_printf(out,
                       "  %d. torch.cuda.set_per_process_memory_fraction(limit / memory of the device)\n"
                       "     replayed: with a fraction of %s it %s, with %s retr%s that give%s cached memory back\n",
                       ++*n, gm_bytes_format(a, run->options->limit),
                       gm_replay_is_open(run) ? "gets to where the recording ended" : "runs",
                       gm_count_format(b, t->retries), t->retries == 1 ? "y" : "ies", t->retries == 1 ? "s" : "");
}

static void add_recommendations(struct gm_text *out, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run), requested = least_need(run);
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    int n = 0;
    if (!gm_replay_has_failed(run) && !gm_replay_is_tight(peak, limit))
        return;
    gm_text_add(out, "recommendations:\n");
    if (requested > limit) {
        gm_text_printf(out, "  no allocator setting can help: %s are requested at once, %s more than the limit\n",
                       gm_bytes_format(a, requested), gm_bytes_format(b, requested - limit));
    } else if (is_untraced_highest(run)) {
        gm_text_add(out, "  the device with most has no events: what else it could do with is not known\n");
        return;
    } else if (run->judgement == NULL) {
        gm_text_add(out, "  the replay ended out of memory: how much it needs is not known (--fit tells)\n");
    } else if (run->judgement->is_too_long) {
        gm_text_add(out, "  settings were not tried: this run is too long to be replayed several times\n");
    } else {
        add_settings(out, run, &n);
        if (n == 0)
            gm_text_add(out, "  none of the settings that were tried lowers the peak (--sweep tries more)\n");
        if (peak > limit)
            add_bounded(out, run, &n);
    }
    add_holders(out, run, &n);
}

/* ---- words and JSON ---------------------------------------------------------------------------------------------- */

/* The first part of device `index` in which reserved bytes pass the limit, if it is a member's step. */
static bool find_first_over(const struct gm_replay_run *run, size_t index, uint64_t *member, uint64_t *step)
{
    const struct gm_replay_device *device = &run->devices[index];
    size_t i = 0, played = device->whatif.parts_played;
    while (i < played && device->parts[i].peak_reserved <= run->options->limit)
        i++;
    return i < played && gm_replay_member_of(device, i, member, step);
}

void gm_replay_limit_words(struct gm_text *out, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT], d[GM_NUMBER_TEXT];
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    bool passes = verdict == GM_VERDICT_PASS;
    uint64_t margin = peak > limit ? peak - limit : limit - peak;
    gm_text_printf(out, "%s: peak reserved %s%s, limit %s, %s %s (%s %% of the limit)\n",
                   passes                          ? "TEST PASSED"
                   : verdict == GM_VERDICT_UNKNOWN ? "TEST NOT DECIDED"
                                                   : "TEST FAILED",
                   gm_replay_is_cut_short(run) ? "at least " : "", gm_bytes_format(a, peak), gm_bytes_format(b, limit),
                   peak > limit ? "over by" : "safety margin", gm_bytes_format(c, margin),
                   gm_percent_format(d, margin, limit, 1));
    if (passes && gm_replay_is_tight(peak, limit))
        gm_text_printf(out, "less than %d %% of the limit are left: another input may need more\n", GM_REPLAY_MARGIN);
    for (size_t i = 0; i < run->device_count; i++) {
        uint64_t member, step;
        if (find_first_over(run, i, &member, &step))
            gm_text_printf(out, "device %" PRId64 " exceeds the limit first in member %" PRIu64 ", step %" PRIu64 "\n",
                           run->devices[i].whatif.device, member, step);
    }
    if (!run->options->verify)
        add_recommendations(out, run);
}

void gm_replay_json_conf(struct gm_json *json, const char *key, const struct gm_conf *conf)
{
    struct gm_text text = {0};
    gm_conf_text(&text, conf);
    gm_json_string(json, key, text.length == 0 ? "" : text.data);
    json->out->failed |= text.failed;
    gm_text_free(&text);
}

static void add_trials(struct gm_json *json, const struct gm_replay_judgement *j)
{
    gm_json_open(json, "replayed", '[');
    for (size_t t = 0; j != NULL && t < j->count; t++) {
        const struct gm_trial *trial = &j->trials[t];
        gm_json_open_flat(json, NULL, '{');
        gm_replay_json_conf(json, "alloc_conf", &trial->conf);
        gm_json_bool(json, "is_bounded", t == BOUNDED);
        if (trial->is_given_up)
            gm_json_null(json, "runs");
        else
            gm_json_bool(json, "runs", trial->runs);
        gm_json_number(json, "peak_reserved_bytes", trial->runs ? trial->peak_reserved : GM_REPORT_NONE);
        gm_json_number(json, "num_alloc_retries", trial->is_given_up ? GM_REPORT_NONE : trial->retries);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_replay_limit_json(struct gm_json *json, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    if (limit == UINT64_MAX) {
        gm_json_null(json, "limit");
        return;
    }
    gm_json_open(json, "limit", '{');
    gm_json_number(json, "bytes", limit);
    gm_json_number(json, "peak_reserved_bytes", peak);
    gm_json_signed(json, "margin_bytes", (int64_t)(limit - peak));
    gm_json_percent(json, peak > limit ? "over_percent" : "margin_percent", peak > limit ? peak - limit : limit - peak,
                    limit);
    gm_replay_card_json(json, run);
    gm_json_open(json, "exceeded_in", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        uint64_t member, step;
        if (!find_first_over(run, i, &member, &step))
            continue;
        gm_json_open_flat(json, NULL, '{');
        gm_json_signed(json, "device", run->devices[i].whatif.device);
        gm_json_number(json, "member", member);
        gm_json_number(json, "step", step);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    add_trials(json, run->judgement);
    gm_json_close(json, '}');
}
