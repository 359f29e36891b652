/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/remedies.h"

#include "analyze/base/arithmetic.h"
#include "replay/whatif/gpus.h"

#include <stdlib.h>
#include <string.h>

/* The remedies while they are replayed; all arrays are [count] or [count * device_count]. */
struct work {
    struct gm_remedy *const *remedies;
    size_t count;
    const struct gm_search *search;
    struct gm_trial *trials;
    struct gm_trial_device *results;
    struct gm_trial_requests *requests;
    size_t *order; /* from the one that stands first; those without a saving are not in it */
    size_t ordered;
    size_t first;                /* the trial of the first of them */
    uint32_t *begin;             /* [device_count] gm_settled */
    bool is_late;                /* one of these is not 0 */
    struct requested *requested; /* [device_count] without any remedy, where it was asked for */
};

static size_t device_of(const struct work *w, const struct gm_remedy *remedy)
{
    size_t d = 0;
    while (d < w->search->device_count && w->search->devices[d].history->device != remedy->device)
        d++;
    return d;
}

/* ---- the requests of a trial ------------------------------------------------------------------------------------- */

enum { DIGIT = 11 /* bits */ };

static size_t digit_of(const struct gm_whatif_move *move, unsigned shift)
{
    return (2 * (uint64_t)move->moment + move->is_back) >> shift & ((1U << DIGIT) - 1);
}

/* By moment; at one moment those that give up first, so that nothing comes back for nothing. Of equal ones as they are.
 * Some findings have a row for every step of every gradient: they are dealt out by digits, not compared. */
static bool sort_moves(struct gm_trial_requests *to, const struct gm_history *h)
{
    GM_FREED struct gm_whatif_move *sorted = malloc((to->move_count + 1) * sizeof *sorted);
    for (unsigned shift = 0; sorted != NULL && (2 * (uint64_t)h->count + 1) >> shift != 0; shift += DIGIT) {
        uint32_t at[(1 << DIGIT) + 1] = {0};
        for (size_t i = 0; i < to->move_count; i++)
            at[digit_of(&to->moves[i], shift) + 1]++;
        for (size_t k = 0; k < 1 << DIGIT; k++)
            at[k + 1] += at[k];
        for (size_t i = 0; i < to->move_count; i++)
            sorted[at[digit_of(&to->moves[i], shift)]++] = to->moves[i];
        struct gm_whatif_move *const before = to->moves;
        to->moves = sorted;
        sorted = before;
    }
    return sorted != NULL;
}

static void change_size(struct gm_trial_requests *to, const struct gm_history *h, const struct gm_remedy_change *c)
{
    uint64_t *now = &to->requested[c->allocation];
    const uint64_t recorded = gm_requested(h, c->allocation);
    if (c->bytes == GM_REMEDY_AS_RECORDED || *now == 0 || recorded == 0)
        return;
    const double left = (double)*now * ((double)c->bytes / (double)recorded);
    *now = *now == recorded || c->bytes == 0 ? c->bytes
           : left < 1                        ? 1
           : left > 0x1p60                   ? UINT64_C(1) << 60
                                             : (uint64_t)left;
}

/* Before its request, where it is gone as soon as it is there. */
static uint32_t moment_of(const struct gm_history *h, const struct gm_remedy_change *c)
{
    return c->gone == h->born[c->allocation] && c->gone > 0 ? c->gone - 1 : c->gone;
}

/* The moment after which it is not in use. */
static uint32_t end_of(const struct gm_history *h, uint32_t a)
{
    const uint32_t end = gm_let_go(h, a) < h->freed[a] ? gm_let_go(h, a) : h->freed[a];
    return end <= h->count ? end : (uint32_t)h->count;
}

static bool make_room(const struct work *w, struct gm_trial_requests *to, size_t d, size_t changes)
{
    const struct gm_search_device *device = &w->search->devices[d];
    const struct gm_history *h = device->history;
    const size_t all = h->allocation_count;
    if (to->requested == NULL) {
        to->requested = malloc((all + 1) * sizeof *to->requested);
        for (size_t a = 0; to->requested != NULL && a < all; a++) /* what was gone before it began is left out */
            to->requested[a] = h->freed[a] <= w->begin[d] ? 0 : gm_whatif_request(device->requested, h, a);
    }
    struct gm_whatif_move *moves = realloc(to->moves, (to->move_count + 2 * changes + 1) * sizeof *moves);
    to->moves = moves != NULL ? moves : to->moves;
    return to->requested != NULL && moves != NULL;
}

/* false: no memory. */
static bool add_changes(const struct work *w, struct gm_trial_requests *to, size_t d, const struct gm_remedy *remedy)
{
    const struct gm_history *h = w->search->devices[d].history;
    if (!make_room(w, to, d, remedy->count))
        return false;
    to->on_one_stream |= remedy->on_one_stream;
    for (size_t i = 0; i < remedy->count; i++) {
        const struct gm_remedy_change *c = &remedy->changes[i];
        if (c->allocation == GM_REMEDY_NEVER && c->gone <= h->count)
            to->moves[to->move_count++] = (struct gm_whatif_move){c->gone, GM_NEVER, false};
        if (c->allocation >= h->allocation_count)
            continue;
        change_size(to, h, c);
        const uint32_t born = h->born[c->allocation], end = end_of(h, c->allocation);
        if (c->gone == GM_REMEDY_NEVER && c->again < born)
            to->moves[to->move_count++] = (struct gm_whatif_move){c->again, c->allocation, true};
        if (c->gone == c->again && born > 0 && c->gone < born - 1) { /* given up before it is asked for, it stays */
            to->moves[to->move_count++] = (struct gm_whatif_move){c->again, c->allocation, true};
            to->moves[to->move_count++] = (struct gm_whatif_move){born - 1, c->allocation, false};
        }
        if (c->gone >= end || c->again <= c->gone || c->again <= born)
            continue; /* it is not there then anyway */
        to->moves[to->move_count++] = (struct gm_whatif_move){moment_of(h, c), c->allocation, false};
        if (c->again < end)
            to->moves[to->move_count++] = (struct gm_whatif_move){c->again, c->allocation, true};
    }
    return sort_moves(to, h);
}

enum { LEFT_OVER = 10 /* parts of what is there when the program begins to end */ };

/* The moment at which the run is over: where nothing is made any more, and next to nothing is left in the end, before
 * the first free of what was there when the driver was asked last. */
static uint32_t end_of_run(const struct gm_history *h)
{
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    uint32_t asked = 0, end = (uint32_t)h->count;
    uint64_t live = 0, then = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        live += h->born[a] == 0 ? gm_block_bytes(h, a) : 0;
    while (gm_walk_next(&walk, &change)) {
        asked = change.reserved != 0 ? change.event : asked;
        if (change.kind == GM_CHANGE_ALLOC) {
            live += gm_block_bytes(h, change.allocation);
            end = (uint32_t)h->count;
        }
        if (change.kind != GM_CHANGE_FREE && change.kind != GM_CHANGE_LET_GO)
            continue;
        if (end == h->count && h->born[change.allocation] <= asked) {
            end = change.event;
            then = live;
        }
        live -= change.kind == GM_CHANGE_FREE ? gm_min(live, gm_block_bytes(h, change.allocation)) : 0;
    }
    return live <= then / LEFT_OVER ? end : (uint32_t)h->count;
}

/* What is cached in the end goes back: what is left is what cannot. false: no memory. */
static bool empty_at_end(const struct work *w, struct gm_trial_requests *to, size_t d)
{
    const struct gm_history *h = w->search->devices[d].history;
    if (!make_room(w, to, d, 1))
        return false;
    to->moves[to->move_count++] = (struct gm_whatif_move){end_of_run(h), GM_NEVER, true};
    return sort_moves(to, h);
}

/* false: PyTorch would not take the settings. */
static bool add_settings(struct gm_trial *trial, const struct gm_search_device *device, const struct gm_remedy *remedy)
{
    if (remedy->settings == NULL)
        return true;
    struct gm_error ignored;
    trial->is_baseline = false;
    trial->conf = gm_conf_default();
    trial->conf.ties = device->baseline.ties;
    return gm_conf_parse(&trial->conf, remedy->settings, strlen(remedy->settings), NULL, &ignored) == GM_OK;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

static bool add(struct work *w, size_t trial, const struct gm_remedy *remedy)
{
    const size_t d = device_of(w, remedy);
    const struct gm_search_device *device = &w->search->devices[d];
    struct gm_trial_requests *to = &w->requests[trial * w->search->device_count + d];
    return add_settings(&w->trials[trial], device, remedy) && add_changes(w, to, d, remedy) &&
           (!remedy->is_of_end || gm_remedy_is_of_cache(remedy) || empty_at_end(w, to, d));
}

/* false: no memory. */
static bool find_begins(struct work *w)
{
    w->begin = calloc(w->search->device_count + 1, sizeof *w->begin);
    for (size_t d = 0; w->begin != NULL && d < w->search->device_count; d++) {
        const struct gm_search_device *device = &w->search->devices[d];
        w->begin[d] = device->settled != NULL ? device->settled->begin : gm_history_settled(device->history).begin;
        w->is_late |= w->begin[d] > 0;
    }
    return w->begin != NULL;
}

static void forget_requests(struct work *w)
{
    for (size_t i = 0; i < (w->count + 1) * w->search->device_count; i++) {
        GM_FREE_ALL(w->requests[i].requested, w->requests[i].moves);
        w->requests[i] = (struct gm_trial_requests){0};
    }
}

static void begin(struct work *w, size_t trial)
{
    const size_t n = w->search->device_count;
    w->trials[trial] = (struct gm_trial){.is_baseline = true,
                                         .capacity = UINT64_MAX,
                                         .counts_allocated = w->is_late,
                                         .devices = &w->results[trial * n],
                                         .requests = &w->requests[trial * n]};
}

/* Bytes reserved at the peak on the remedy's device. */
static uint64_t peak(const struct work *w, const struct gm_trial *trial, const struct gm_remedy *remedy)
{
    return trial->devices[device_of(w, remedy)].peak_reserved;
}

/* Of a cache that goes back earlier, what is reserved without another empty_cache(). */
static uint64_t at_end(const struct work *w, const struct gm_trial *trial, const struct gm_remedy *remedy)
{
    const struct gm_trial_device *device = &trial->devices[device_of(w, remedy)];
    return gm_remedy_is_of_cache(remedy) ? device->left_reserved : device->end_reserved;
}

static bool is_above(const struct gm_remedy *r, const struct gm_remedy *other)
{
    const enum gm_remedy_place place = gm_remedy_place(r), others = gm_remedy_place(other);
    return place != others ? place < others : gm_remedy_weight(r) > gm_remedy_weight(other);
}

static void put_in_order(struct work *w, size_t r)
{
    size_t at = w->ordered++;
    for (; at > 0 && is_above(w->remedies[r], w->remedies[w->order[at - 1]]); at--)
        w->order[at] = w->order[at - 1];
    w->order[at] = r;
}

/* What that remedy must stay below, if others need so much. Where the recording did with less than its replay, what the
 * allocator itself may do better is counted from there: a full device makes it give back its cache. */
static uint64_t before_of(const struct gm_remedy *remedy, uint64_t peak)
{
    return remedy->settings != NULL || gm_remedy_is_of_cache(remedy) ? gm_min(peak, remedy->saving.recorded) : peak;
}

/* By how much it lowers the peak. A replay that begins in the midst of a run, in an empty allocator, leaves other holes
 * than the run did: then allocated bytes tell, but for what is mostly holes. */
static uint64_t spared(const struct work *w, const struct gm_remedy *remedy, const struct gm_trial *before,
                       const struct gm_trial *now)
{
    const size_t d = device_of(w, remedy);
    const uint64_t most = before_of(remedy, before->devices[d].peak_reserved);
    const uint64_t reserved = gm_sat_sub(most, now->devices[d].peak_reserved);
    const uint64_t allocated = gm_sat_sub(before->devices[d].peak_allocated, now->devices[d].peak_allocated);
    const bool is_of_holes = remedy->settings != NULL || gm_remedy_is_of_cache(remedy) || allocated < reserved / 2;
    return w->begin[d] == 0 || is_of_holes ? reserved : gm_min(allocated, most);
}

/* What is reserved with the first k + 1 of the order. */
static uint64_t peak_with(const struct work *w, size_t k)
{
    const struct gm_remedy *remedy = w->remedies[w->order[k]];
    uint64_t left = peak(w, &w->trials[0], remedy);
    for (size_t i = 0; i <= k; i++)
        left = gm_sat_sub(
            left, w->remedies[w->order[i]]->device == remedy->device ? w->remedies[w->order[i]]->saving.on_top : 0);
    return w->begin[device_of(w, remedy)] > 0 ? left : peak(w, &w->trials[1 + k], remedy);
}

static void set_saving(const struct work *w, struct gm_remedy *remedy, const struct gm_trial *trial)
{
    const uint64_t baseline = peak(w, &w->trials[0], remedy);
    const uint64_t recorded = w->search->devices[device_of(w, remedy)].recorded;
    remedy->saving.recorded = recorded > 0 && recorded < baseline ? recorded : UINT64_MAX;
    remedy->saving.before = before_of(remedy, baseline);
    remedy->saving.alone = spared(w, remedy, &w->trials[0], trial);
}

/* The event after which most is reserved, for the first time. */
static uint32_t most_reserved(const struct gm_history *h)
{
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    int64_t now = 0, most = 0;
    uint32_t at = 0;
    while (gm_walk_next(&walk, &change)) {
        now += change.kind == GM_CHANGE_SEGMENT ? change.reserved : 0;
        at = now > most ? change.event : at;
        most = now > most ? now : most;
    }
    return at;
}

/* What is requested on a device: at most, and when most was reserved. */
struct requested {
    uint64_t most, then;
    uint32_t at; /* then: an event */
};

/* With such requests; found->at is known. false: no memory. */
static bool look_at_requested(struct requested *found, const struct gm_history *h, const struct gm_trial_requests *to)
{
    GM_FREED int *times = calloc(h->allocation_count + 1, sizeof *times); /* it is asked for, less given up */
    uint64_t now = 0;
    size_t moved = 0;
    if (times == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        now += h->born[a] == 0 && ++times[a] == 1 ? gm_whatif_request(to->requested, h, a) : 0;
    for (uint32_t e = 0; e < h->count; e++) {
        for (; moved < to->move_count && to->moves[moved].moment <= e; moved++) {
            const uint32_t a = to->moves[moved].allocation;
            const uint64_t bytes = a == GM_NEVER ? 0 : gm_whatif_request(to->requested, h, a);
            if (a != GM_NEVER && to->moves[moved].is_back)
                now += times[a]++ == 0 ? bytes : 0;
            else if (a != GM_NEVER)
                now -= --times[a] == 0 ? bytes : 0;
        }
        found->most = gm_max(found->most, now);
        const uint32_t a = h->of_event[e];
        const bool is_made = a != GM_NEVER && h->born[a] == e + 1;
        if (is_made && times[a] <= 0) /* else it takes the place of its own, of before */
            now += times[a]++ == 0 ? gm_whatif_request(to->requested, h, a) : 0;
        else if (a != GM_NEVER && h->freed[a] == e + 1)
            now -= --times[a] == 0 ? gm_whatif_request(to->requested, h, a) : 0;
        found->most = gm_max(found->most, now);
        found->then = is_made && e >= found->at && found->then == 0 ? now : found->then;
    }
    return true;
}

/* Where a replay lowers next to nothing of what is reserved, it may lower what is requested, also when most is
 * reserved: what is left does not fit together as well. false: no memory. */
static bool note_requested(const struct work *w, struct gm_remedy *remedy, size_t trial)
{
    const size_t d = device_of(w, remedy);
    const struct gm_history *h = w->search->devices[d].history;
    struct requested *before = &w->requested[d];
    if (remedy->has_price || remedy->is_guess || remedy->is_of_end || remedy->is_of_holes || remedy->is_usual ||
        remedy->settings != NULL || remedy->changes == NULL || gm_remedy_is_of_cache(remedy) ||
        !gm_remedy_is_in_vain(remedy))
        return true;
    if (before->most == 0) {
        before->at = most_reserved(h);
        if (!look_at_requested(before, h, &w->requests[d]))
            return false;
    }
    struct requested now = {.at = before->at};
    if (!look_at_requested(&now, h, &w->requests[trial * w->search->device_count + d]))
        return false;
    const uint64_t saves = gm_min(gm_sat_sub(before->most, now.most), gm_sat_sub(before->then, now.then));
    if (gm_remedy_is_little(saves, before->most, GM_LEAST_OF_REMEDY))
        return true;
    remedy->saving = GM_REMEDY_NOT_REPLAYED;
    remedy->saving.requested = before->most - now.most;
    remedy->saving.before = before->most;
    return true;
}

/* trials[0] is the baseline, trials[1 + i] the i-th of those that can be replayed. */
static enum gm_status replay_alone(struct work *w, const uint64_t *baseline, struct gm_error *err)
{
    size_t n = 1;
    for (size_t d = 0; d < w->search->device_count; d++)
        baseline = w->begin[d] > 0 ? NULL : baseline;
    for (size_t r = 0; r < w->count; r++)
        baseline = w->remedies[r]->is_of_end ? NULL : baseline; /* it has peaks only */
    const size_t known = baseline != NULL;
    begin(w, 0);
    w->trials[0].runs = baseline != NULL;
    for (size_t d = 0; baseline == NULL && d < w->search->device_count; d++)
        if (!empty_at_end(w, &w->requests[d], d))
            return gm_no_memory(err);
    for (size_t d = 0; baseline != NULL && d < w->search->device_count; d++)
        w->results[d].peak_reserved = baseline[d];
    for (size_t r = 0; r < w->count; r++) {
        struct gm_remedy *remedy = w->remedies[r];
        remedy->saving = GM_REMEDY_NOT_REPLAYED;
        begin(w, n);
        if (device_of(w, remedy) == w->search->device_count || !add_settings(&w->trials[n], w->search->devices, remedy))
            continue;
        if (!add(w, n, remedy))
            return gm_no_memory(err);
        w->order[n++ - 1] = r;
    }
    enum gm_status status = gm_trials_run(w->search, w->trials + known, n - known, err);
    if (status != GM_OK || !w->trials[0].runs)
        return status;
    for (size_t i = 1; i < n; i++) {
        const size_t r = w->order[i - 1];
        if (!w->trials[i].runs)
            continue;
        set_saving(w, w->remedies[r], &w->trials[i]);
        if (w->remedies[r]->is_of_end) {
            struct gm_remedy_saving *saving = &w->remedies[r]->saving;
            saving->end_before = before_of(w->remedies[r], at_end(w, &w->trials[0], w->remedies[r]));
            saving->at_end = gm_sat_sub(saving->end_before, at_end(w, &w->trials[i], w->remedies[r]));
        }
        if (!note_requested(w, w->remedies[r], i))
            return gm_no_memory(err);
        if (w->remedies[r]->saving.requested > 0)
            continue;
        put_in_order(w, r); /* writes only where what was there has been read */
        w->first = w->order[0] == r ? i : w->first;
    }
    return GM_OK;
}

static void find_card(struct gm_remedy_saving *saving, const struct work *w, const struct gm_trial *trial)
{
    for (size_t i = 0; i < gm_gpu_count() && !w->search->is_open && saving->card == NULL; i++) {
        const uint64_t usable = gm_gpu_usable(gm_gpu_at(i));
        if (!gm_gpu_is_of_cuda(gm_gpu_at(i)) || usable < gm_max(trial->peak_reserved, saving->peak) ||
            usable < w->search->floor)
            continue;
        saving->card = gm_gpu_at(i)->name;
        saving->card_usable = usable;
    }
}

/* trials[1 + k]: the first 1 + k of the order. The first of them has been replayed. */
static enum gm_status replay_on_top(struct work *w, struct gm_error *err)
{
    const size_t n = w->search->device_count;
    memmove(w->results + n, w->results + w->first * n, n * sizeof *w->results);
    w->trials[1] = w->trials[w->first];
    w->trials[1].devices = w->results + n;
    for (size_t k = 1; k < w->ordered; k++) {
        begin(w, 1 + k);
        for (size_t i = 0; i <= k; i++)
            if (!add(w, 1 + k, w->remedies[w->order[i]]))
                return gm_no_memory(err);
    }
    enum gm_status status = gm_trials_run(w->search, w->trials + 2, w->ordered - 1, err);
    for (size_t k = 0; status == GM_OK && k < w->ordered && w->trials[1 + k].runs && w->trials[k].runs; k++) {
        const struct gm_remedy *remedy = w->remedies[w->order[k]];
        struct gm_remedy_saving *saving = &w->remedies[w->order[k]]->saving;
        saving->rank = k;
        saving->on_top = spared(w, remedy, &w->trials[k], &w->trials[1 + k]);
        saving->peak = peak_with(w, k);
        find_card(saving, w, &w->trials[1 + k]);
    }
    return status;
}

/* Changes or settings, where either would do: settings cost nothing, so where both save as much, or changes less than
 * half. */
static enum gm_status choose(struct gm_remedy *remedy, const struct gm_search *search, const uint64_t *baseline,
                             struct gm_error *err)
{
    enum { ALIKE = 8 /* to a part of that */ };
    const uint64_t settings = remedy->settings_save, apart = settings / ALIKE;
    struct gm_remedy changes = *remedy, *const one = &changes;
    changes.settings = NULL;
    changes.settings_save = 0;
    const enum gm_status status = gm_remedies_replay(&one, 1, search, baseline, err);
    const uint64_t saves = changes.saving.alone;
    if (saves == UINT64_MAX || saves < settings / 2 || (saves >= settings - apart && saves <= settings + apart))
        remedy->count = 0;
    else
        remedy->settings = NULL;
    return status;
}

static bool is_to_choose(const struct gm_remedy *remedy)
{
    return remedy->settings_save != 0 && remedy->settings != NULL && remedy->count > 0;
}

enum gm_status gm_remedies_replay(struct gm_remedy *const *remedies, size_t count, const struct gm_search *search,
                                  const uint64_t *baseline, struct gm_error *err)
{
    for (size_t r = 0; r < count; r++) {
        const enum gm_status status = is_to_choose(remedies[r]) ? choose(remedies[r], search, baseline, err) : GM_OK;
        if (status != GM_OK)
            return status;
    }
    struct work w = {.remedies = remedies, .count = count, .search = search};
    const size_t all = (count + 1) * search->device_count + 1;
    w.trials = calloc(count + 2, sizeof *w.trials);
    w.order = calloc(count + 1, sizeof *w.order);
    w.results = calloc(all, sizeof *w.results);
    w.requests = calloc(all, sizeof *w.requests);
    w.requested = calloc(search->device_count + 1, sizeof *w.requested);
    enum gm_status status = GM_OK;
    if (w.trials == NULL || w.order == NULL || w.results == NULL || w.requests == NULL || w.requested == NULL ||
        !find_begins(&w))
        status = gm_no_memory(err);
    else if (count > 0 && search->device_count > 0)
        status = replay_alone(&w, baseline, err);
    if (w.requests != NULL)
        forget_requests(&w);
    if (status == GM_OK && w.ordered > 0)
        status = replay_on_top(&w, err);
    if (w.requests != NULL)
        forget_requests(&w);
    GM_FREE_ALL(w.trials, w.order, w.results, w.requests, w.requested, w.begin);
    return status;
}

enum gm_status gm_fixes_try(struct gm_trial *trials, const uint32_t *sets, size_t set_count, const struct gm_fix *fixes,
                            size_t fix_count, const struct gm_search *search, struct gm_error *err)
{
    const size_t n = search->device_count;
    struct work w = {.count = set_count, .search = search, .trials = trials};
    w.requests = calloc((set_count + 1) * n + 1, sizeof *w.requests);
    bool ok = w.requests != NULL && find_begins(&w);
    for (size_t i = 0; i < set_count && ok; i++) {
        trials[i].is_baseline = true;
        trials[i].requests = &w.requests[i * n];
        for (size_t f = 0; f < fix_count; f++)
            for (size_t r = 0; r < fixes[f].count && ok && (sets[i] >> f & 1) != 0; r++)
                ok = add(&w, i, &fixes[f].remedies[r]);
    }
    enum gm_status status = ok ? gm_trials_run(search, trials, set_count, err) : gm_no_memory(err);
    for (size_t i = 0; i < set_count; i++)
        trials[i].requests = NULL;
    if (w.requests != NULL)
        forget_requests(&w);
    GM_FREE_ALL(w.requests, w.begin);
    return status;
}
