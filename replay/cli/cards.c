/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cards of the table run it: what --gpu would say of each. Short of memory the allocator gives back what it has
 * cached, so a card may run it that has less than the peak; only a replay tells.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "replay/cli/judged.h"
#include "replay/cli/searched.h"

#include <stdlib.h>

#define MOST_EVENTS (UINT64_C(1) << 28) /* of all these replays together */

enum fate { UNTRIED, FAILS, TIGHT, SAFE };
struct gm_replay_cards {
    uint64_t played; /* events */
    uint64_t roomy;  /* the peak, if memory does not matter but to be there; UINT64_MAX: it does, or it is not known */
    unsigned char fate[]; /* [gm_gpu_count()] */
};

static uint64_t events_of(const struct gm_replay_run *run)
{
    uint64_t events = 0;
    for (size_t i = 0; i < run->device_count; i++)
        events += run->devices[i].whatif.played;
    return events;
}

/* How much there is rules what the allocator does even if there is enough: by its limit, when it collects garbage, and
 * the length of reservations. */
static bool minds_memory(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (run->devices[i].conf.memory_fraction < 1 || run->devices[i].conf.expandable_segments)
            return true;
    return false;
}

/* On all devices, wherever segments lie. *peak: the highest. */
static enum gm_status replay(bool *runs, uint64_t *peak, struct gm_replay_run *run, uint64_t capacity, uint64_t taken,
                             struct gm_error *err)
{
    struct gm_trial trial = {.is_baseline = true, .capacity = capacity, .taken = taken};
    const uint64_t untraced = gm_replay_most_untraced(run);
    enum gm_status status = gm_replay_try(run, SIZE_MAX, &trial, 1, true, err);
    run->cards->played += events_of(run) * (1 + trial.range.replays);
    *runs = status == GM_OK && trial.runs && trial.range.runs == trial.range.replays;
    *peak = trial.range.high > untraced ? trial.range.high : untraced;
    return status;
}

static enum gm_status try_card(struct gm_replay_run *run, size_t i, struct gm_error *err)
{
    struct gm_replay_cards *cards = run->cards;
    const uint64_t usable = gm_gpu_usable(gm_gpu_at(i));
    bool runs = cards->roomy <= usable;
    uint64_t peak = cards->roomy;
    enum gm_status status = GM_OK;
    if (usable < gm_replay_most_untraced(run) || usable < gm_replay_peak_requested(run)) {
        cards->fate[i] = FAILS;
        return GM_OK;
    }
    if (!runs) {
        if (events_of(run) + cards->played > MOST_EVENTS)
            return GM_OK;
        status = replay(&runs, &peak, run, usable, GM_GPU_CONTEXT, err);
    }
    cards->fate[i] = !runs ? FAILS : gm_replay_is_tight(peak, usable) ? TIGHT : SAFE;
    return status;
}

enum gm_status gm_replay_find_cards(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    bool runs;
    if (o->verify || (o->limit == UINT64_MAX && o->summary == NULL) || gm_replay_is_cut_short(run))
        return GM_OK; /* the last: what the rest of the run needs is not known */
    run->cards = calloc(1, sizeof *run->cards + gm_gpu_count());
    if (run->cards == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    enum gm_status status = GM_OK;
    run->cards->roomy = UINT64_MAX;
    if (!minds_memory(run) && events_of(run) <= MOST_EVENTS) {
        status = replay(&runs, &run->cards->roomy, run, UINT64_MAX, 0, err);
        run->cards->roomy = runs ? run->cards->roomy : UINT64_MAX;
    }
    for (size_t i = 0; status == GM_OK && i < gm_gpu_count(); i++)
        status = try_card(run, i, err);
    return status;
}

static bool list(struct gm_text *out, const struct gm_replay_run *run, enum fate fate)
{
    const size_t before = out->length;
    for (size_t i = 0; i < gm_gpu_count(); i++)
        if (run->cards->fate[i] == fate)
            gm_text_printf(out, "%s%s", out->length > before ? ", " : "", gm_gpu_at(i)->name);
    return out->length > before;
}

static void add_cards(struct gm_text *out, const struct gm_replay_run *run, const char *label, enum fate fate)
{
    struct gm_text names = {0};
    const bool has_some = list(&names, run, fate);
    if (has_some || fate != UNTRIED) {
        gm_text_printf(out, "  %-8s ", label);
        gm_columns_wrap(out, has_some ? names.data : "none in the table", 11);
    }
    out->failed |= names.failed;
    gm_text_free(&names);
}

void gm_replay_card_words(struct gm_text *out, const struct gm_replay_run *run)
{
    char context[GM_NUMBER_TEXT];
    if (run->cards == NULL)
        return;
    gm_text_printf(out, "cards that run it, each less %s for the CUDA context (safe: %d %% are left at the peak):\n",
                   gm_bytes_format(context, GM_GPU_CONTEXT), GM_REPLAY_MARGIN);
    add_cards(out, run, "safe:", SAFE);
    add_cards(out, run, "tight:", TIGHT);
    add_cards(out, run, "untried:", UNTRIED); /* the run is too long */
}

static void add_json(struct gm_json *json, const struct gm_replay_run *run, const char *key, enum fate fate)
{
    gm_json_open_flat(json, key, '[');
    for (size_t i = 0; run->cards != NULL && i < gm_gpu_count(); i++)
        if (run->cards->fate[i] == fate)
            gm_json_string(json, NULL, gm_gpu_at(i)->name);
    gm_json_close(json, ']');
}

void gm_replay_card_json(struct gm_json *json, const struct gm_replay_run *run)
{
    add_json(json, run, "safe_gpus", SAFE);
    add_json(json, run, "tight_gpus", TIGHT);
    add_json(json, run, "untried_gpus", UNTRIED);
}
