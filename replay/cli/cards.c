/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cards of the table run it: what --gpu would say of each. Short of memory the allocator gives back what it has
 * cached, so a card may run it that has less than the peak; only a replay tells.
 */
#include "replay/cli/gmreplay.h"

#include <stdlib.h>

#define MOST_EVENTS (UINT64_C(1) << 28) /* of all these replays together */

enum fate { UNTRIED, FAILS, TIGHT, SAFE };
struct gm_replay_cards {
    uint64_t played; /* events */
    uint64_t roomy;  /* the peak, if memory does not matter but to be there; UINT64_MAX: it does, or it is not known */
    unsigned char fate[]; /* [gm_gpu_count()] */
};

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
    enum gm_status status = gm_replay_try(run, NULL, &trial, 1, true, err);
    run->cards->played += gm_replay_played(run) * (1 + trial.range.replays);
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
    if (usable < gm_replay_most_untraced(run) || usable < gm_replay_requested(gm_replay_fullest(run))) {
        cards->fate[i] = FAILS;
        return GM_OK;
    }
    if (!runs) {
        if (gm_replay_played(run) + cards->played > MOST_EVENTS)
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
        return gm_no_memory(err);
    enum gm_status status = GM_OK;
    run->cards->roomy = UINT64_MAX;
    if (!minds_memory(run) && gm_replay_played(run) <= MOST_EVENTS) {
        status = replay(&runs, &run->cards->roomy, run, UINT64_MAX, 0, err);
        run->cards->roomy = runs ? run->cards->roomy : UINT64_MAX;
    }
    for (size_t i = 0; status == GM_OK && i < gm_gpu_count(); i++)
        status = try_card(run, i, err);
    return status;
}

/* The names of those that fare so: `label` for people, `key` in JSON, an empty array if it is not known. */
static void say_cards(struct gm_doc *doc, const struct gm_replay_run *run, const char *label, const char *key,
                      enum fate fate)
{
    const char **names = gm_doc_rows(doc, gm_gpu_count(), sizeof *names);
    struct gm_text text = {0};
    size_t n = 0;
    for (size_t i = 0; run->cards != NULL && names != NULL && i < gm_gpu_count(); i++)
        if (run->cards->fate[i] == fate)
            names[n++] = gm_gpu_at(i)->name;
    GM_LIST(doc, key, GM_FIGURE, names, n);
    for (size_t i = 0; i < n; i++)
        gm_text_printf(&text, "%s%s", i > 0 ? ", " : "", names[i]);
    const char *all = gm_doc_take(doc, &text);
    if (n > 0 || fate != UNTRIED)
        gm_doc_say(doc, GM_SAY_LABEL, GM_READ, label, "%s", n > 0 ? all : "none in the table");
}

void gm_replay_say_cards(struct gm_doc *doc, const struct gm_replay_run *run)
{
    if (run->cards == NULL && !gm_doc_is(doc, GM_JSON))
        return;
    gm_doc_open(doc, NULL, "Cards that run it");
    gm_doc_tell(doc, "Each less %s for the CUDA context; safe: %d %% are left at the peak.",
                gm_doc_bytes(doc, GM_GPU_CONTEXT), GM_REPLAY_MARGIN);
    say_cards(doc, run, "  safe", "safe_gpus", SAFE);
    say_cards(doc, run, "  tight", "tight_gpus", TIGHT);
    say_cards(doc, run, "  untried", "untried_gpus", UNTRIED); /* the run is too long */
    gm_doc_close(doc);
}
