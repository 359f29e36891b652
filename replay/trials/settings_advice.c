/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/settings_advice.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "analyze/report/numbers.h"
#include "replay/trials/bound.h"
#include "replay/trials/card_plan.h"
#include "replay/trials/remedies.h"
#include "replay/verify/follow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SHARE = 100, LEAST_MIB = 64, LEAST_EXACT = 999 /* of 1,000 */, DEVICES_MOST = 256 };

/* ---- before any replay ------------------------------------------------------------------------------------------- */

struct sums {
    uint64_t events, allocs, recorded;
};

static struct sums sum(const struct gm_report *report)
{
    struct sums sums = {0, 0, 0};
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_trace_counts *trace = &report->devices[i].trace;
        if (trace->events == 0)
            continue;
        sums.events += trace->events;
        sums.allocs += trace->allocs;
        sums.recorded = gm_known_add(sums.recorded, trace->peak_reserved);
    }
    return sums;
}

static uint64_t threshold_of(uint64_t recorded)
{
    uint64_t share = recorded / LEAST_SHARE;
    return share > LEAST_MIB * GM_MIB ? share : LEAST_MIB * GM_MIB;
}

/* What peaks of requested bytes leave for a setting to save. */
static uint64_t room(const struct gm_settings_advice *advice)
{
    uint64_t room = 0;
    for (size_t d = 0; d < advice->device_count; d++) {
        uint64_t here = gm_sat_sub(advice->devices[d].recorded, advice->devices[d].peak_requested);
        room = here > GM_REPORT_NONE - room ? GM_REPORT_NONE : room + here;
    }
    return room;
}

/* A path as a shell takes it. */
static void put_quoted(struct gm_text *out, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,:@%=-";
    if (path[0] != '\0' && path[0] != '-' && path[strspn(path, plain)] == '\0') {
        gm_text_add(out, path);
        return;
    }
    gm_text_add(out, path[0] == '-' ? "-- '" : "'");
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '\'')
            gm_text_add(out, "'\\''");
        else
            gm_text_add_char(out, *c);
    }
    gm_text_add_char(out, '\'');
}

static const char *command(struct gm_report *report)
{
    struct gm_text text = {0};
    gm_text_add(&text, "gmreplay --sweep ");
    if (report->snapshot.path == NULL || strcmp(report->snapshot.path, "-") == 0)
        gm_text_add(&text, "FILE");
    else
        put_quoted(&text, report->snapshot.path);
    return gm_text_take(&text, &report->arena);
}

/* NULL: no memory. */
static const char *too_long(struct gm_report *report, const struct gm_settings_advice *advice)
{
    char most[GM_NUMBER_TEXT];
    return gm_arena_printf(&report->arena, "the trace has more than %s events",
                           gm_count_format(most, advice->most_events));
}

/* The verdicts that need no replay. false: no memory. */
static bool judge_without_replay(struct gm_report *report, struct gm_settings_advice *advice, bool is_partial,
                                 const struct sums *sums, bool *needs_replay)
{
    advice->verdict = GM_ADVICE_NOT_JUDGED;
    if (is_partial) {
        advice->reason = "the report is about a part of the trace";
    } else if (report->snapshot.is_salvaged) {
        advice->reason = "the file is damaged";
    } else if (sums->allocs == 0) {
        advice->reason = "the trace has no allocation";
    } else if (room(advice) < advice->threshold) {
        advice->verdict = GM_ADVICE_NO_ROOM;
    } else if (sums->events > advice->most_events) {
        advice->command = command(report);
        advice->reason = too_long(report, advice);
        return advice->command != NULL && advice->reason != NULL;
    } else {
        *needs_replay = true;
    }
    return true;
}

enum gm_status gm_advice_begin(struct gm_report *report, bool is_partial, uint64_t most, bool *needs_replay,
                               struct gm_error *err)
{
    struct sums sums = sum(report);
    *needs_replay = false;
    if (sums.events == 0 || report->peaks == NULL)
        return GM_OK;
    struct gm_settings_advice *advice = gm_arena_calloc(&report->arena, 1, sizeof *advice);
    struct gm_advice_device *devices = gm_arena_calloc(&report->arena, report->device_count, sizeof *devices);
    if (advice == NULL || devices == NULL)
        return gm_no_memory(err);
    *advice = (struct gm_settings_advice){.devices = devices, .most_events = most};
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_report *from = &report->devices[i];
        if (from->trace.events > 0)
            devices[advice->device_count++] =
                (struct gm_advice_device){.device = from->device,
                                          .events = from->trace.events,
                                          .allocs = from->trace.allocs,
                                          .exact = GM_REPORT_NONE,
                                          .peak_requested = is_partial ? GM_REPORT_NONE : report->peaks[i].requested,
                                          .recorded = from->trace.peak_reserved,
                                          .start_at_peak = GM_REPORT_NONE,
                                          .limit = GM_REPORT_NONE};
    }
    advice->threshold = threshold_of(sums.recorded);
    if (!judge_without_replay(report, advice, is_partial, &sums, needs_replay))
        return gm_no_memory(err);
    report->advice = advice;
    return GM_OK;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

struct advising {
    struct gm_report *report;
    struct gm_settings_advice *advice;
    struct gm_advice_device *devices;          /* advice->devices */
    struct gm_kept_device *kept[DEVICES_MOST]; /* of each of them */
    struct gm_refused refused[DEVICES_MOST];   /* likewise, if it was */
    struct gm_search_device searched[DEVICES_MOST];
    struct gm_search search;
    const struct gm_followed *followed; /* NULL: nothing was */
    struct gm_conf recorded;
    struct gm_trial trials[2 * GM_ADVICE_SETTINGS]; /* the recorded settings and others, with unlimited memory; again,
                                                     * with the devices' limits */
    size_t settings;                                /* how many of them */
    const char *reason;                             /* why nothing can be judged; NULL: so far it can */
    bool has_no_memory;
    struct gm_error err;
};

static bool goes_on(const struct advising *a)
{
    return a->reason == NULL && !a->has_no_memory;
}

static void *allocate(struct advising *a, size_t count, size_t size)
{
    void *data = gm_arena_calloc(&a->report->arena, count, size);
    a->has_no_memory |= data == NULL;
    return data;
}

/* A copy of what gm_text_* made; frees it. */
static const char *take(struct advising *a, struct gm_text *text)
{
    const char *copy = gm_text_take(text, &a->report->arena);
    a->has_no_memory |= copy == NULL;
    return copy;
}

static const char *settings_text(struct advising *a, const struct gm_conf *conf)
{
    struct gm_text text = {0};
    gm_conf_text(&text, conf);
    return take(a, &text);
}

static bool is_on_with(struct advising *a, enum gm_status status)
{
    if (status == GM_E_NOMEM)
        a->has_no_memory = true;
    else if (status != GM_OK)
        a->reason = "the trace keeps the model busy far beyond its length";
    return status == GM_OK;
}

/* The recorded settings; where the file lists none, what the first growth shows. What of them is not understood, the
 * replay's own check shows. */
static struct gm_conf settings_of(struct gm_history *history)
{
    struct gm_conf conf = gm_settings_recorded(history->snapshot, NULL);
    if (!history->snapshot->has_settings)
        conf.expandable_segments = gm_follow_expandable_at_start(history, false);
    return conf;
}

static void find_settings(struct advising *a)
{
    for (size_t d = 0; d < a->advice->device_count; d++) {
        const struct gm_conf conf = settings_of(&a->kept[d]->history);
        if (d > 0 && conf.expandable_segments != a->recorded.expandable_segments)
            a->reason = "the devices differ in expandable_segments";
        a->recorded = conf;
    }
    if (a->recorded.backend == GM_BACKEND_ASYNC) {
        a->reason = "cudaMallocAsync is CUDA's own allocator";
        return;
    }
    a->advice->recorded = settings_text(a, &a->recorded);
}

static const char *unknown_setting(const struct gm_verify_result *result)
{
    for (size_t i = 0; i < result->inferred_count; i++) {
        if (strcmp(result->inferred[i].what, "expandable_segments") == 0)
            return "expandable_segments was changed while it was recorded";
        if (strcmp(result->inferred[i].what, "roundup_power2_divisions") == 0)
            return "roundup_power2_divisions was in force, but is not recorded";
    }
    return NULL;
}

static bool is_exact(const struct gm_verify_result *result)
{
    return !result->has_given_up && (double)result->exact * 1000 >= (double)result->allocs * LEAST_EXACT;
}

/* The recorded settings and the others, with unlimited memory; again, with the device's limit, if it has one. Returns
 * how many settings; 0: no memory. */
static size_t list_trials(struct gm_trial trials[2 * GM_ADVICE_SETTINGS], const struct gm_conf *recorded,
                          bool is_limited)
{
    GM_FREED struct gm_candidates *list = malloc(sizeof *list);
    struct gm_error ignored;
    if (list == NULL || gm_candidates_make_few(list, recorded, &ignored) != GM_OK)
        return 0;
    const size_t count = 1 + list->count;
    for (size_t i = 0; i < (is_limited ? 2 : 1) * count; i++) {
        const size_t setting = i < count ? i : i - count;
        trials[i] = (struct gm_trial){.conf = setting == 0 ? *recorded : list->rows[setting - 1].conf,
                                      .capacity = UINT64_MAX,
                                      .is_of_device = i >= count};
    }
    return count;
}

/* What is replayed of a device of which the limit is known; GM_REPORT_NONE: there is none. */
static struct gm_search_device searched(struct gm_history *history, const struct gm_conf *recorded, uint64_t limit,
                                        struct gm_refused *refused)
{
    const bool was_refused = gm_bound_refused(refused, history, &recorded->rules);
    return (struct gm_search_device){.history = history,
                                     .baseline = *recorded,
                                     .capacity = limit == GM_REPORT_NONE ? UINT64_MAX : limit,
                                     .refused = was_refused ? refused : NULL};
}

/* Where nothing else must be known first: of the only device, and without pools that are settled before. */
static void try_ahead(struct gm_followed *f)
{
    struct gm_history *h = &f->history;
    struct gm_recorded_limit limit;
    struct gm_refused refused;
    struct gm_error ignored;
    bool is_plain =
        h->count == h->snapshot->events.count && is_exact(&f->result) && unknown_setting(&f->result) == NULL;
    for (uint32_t p = 0; p < h->pool_count; p++)
        is_plain = is_plain && !gm_is_private_pool(h, p);
    if (!is_plain || !gm_bound_limit(&limit, h, &f->conf))
        return;
    const bool is_limited = limit.bytes != GM_ABSENT;
    const struct gm_search_device device = searched(h, &f->conf, is_limited ? limit.bytes : GM_REPORT_NONE, &refused);
    const struct gm_search search = {.devices = &device, .device_count = 1, .threads = f->threads};
    const size_t all = (is_limited ? 2 : 1) * list_trials(f->trials, &f->conf, is_limited);
    for (size_t i = 0; i < all; i++)
        f->trials[i].devices = &f->devices[i];
    if (gm_trials_run(&search, f->trials, all, &ignored) == GM_OK)
        f->trial_count = all;
}

static void *follow_ahead(void *followed)
{
    struct gm_followed *f = followed;
    struct gm_error ignored;
    f->status = gm_verify(&f->result, &f->history, &f->conf, &ignored);
    if (f->status == GM_OK)
        try_ahead(f);
    return NULL;
}

void gm_advice_follow(struct gm_followed *f, const struct gm_history *history, uint64_t most, unsigned threads)
{
    const uint64_t recorded = (uint64_t)history->stats.reserved_bytes[GM_STAT_ALL].peak;
    const uint64_t requested = (uint64_t)history->stats.requested_bytes[GM_STAT_ALL].peak;
    if (f->is_there || history->count > most ||
        gm_sat_sub(recorded, requested) < threshold_of(recorded)) /* then nobody will ask */
        return;
    f->history = *history;
    f->conf = settings_of(&f->history);
    f->threads = threads > 0 ? threads : 1;
    f->has_thread = f->conf.backend != GM_BACKEND_ASYNC && pthread_create(&f->thread, NULL, follow_ahead, f) == 0;
    f->is_there = f->has_thread;
}

void gm_followed_wait(struct gm_followed *f)
{
    if (f->has_thread)
        pthread_join(f->thread, NULL);
    f->has_thread = false;
}

static enum gm_status verify(struct advising *a, size_t d, struct gm_verify_result *result)
{
    if (a->followed == NULL || !a->followed->is_there || a->followed->history.device != a->devices[d].device)
        return gm_verify(result, &a->kept[d]->history, &a->recorded, &a->err);
    *result = a->followed->result;
    return a->followed->status;
}

/* Whether the model chooses as recorded; and what that shows of private pools, which the replays then know. */
static void follow(struct advising *a, size_t d)
{
    struct gm_advice_device *device = &a->devices[d];
    struct gm_verify_result result;
    if (device->exact != GM_REPORT_NONE) /* that was done before */
        return;
    if (!is_on_with(a, verify(a, d, &result)) ||
        !is_on_with(a, gm_verify_settle_pools(&a->kept[d]->history, &a->recorded, &a->err)))
        return;
    device->allocs = result.allocs;
    device->exact = result.exact;
    struct gm_text text = {0};
    if (result.has_given_up) {
        a->reason = "the trace contradicts itself too often to be followed";
    } else if (!is_exact(&result)) {
        gm_text_add(&text, "the model of the allocator chose ");
        gm_text_add_count(&text, result.exact);
        gm_text_add(&text, " of ");
        gm_text_add_count(&text, result.allocs);
        gm_text_printf(&text, " recorded addresses on device %" PRId64, device->device);
        if (result.other_allocator[0] != '\0')
            gm_text_printf(&text, " (%s)", result.other_allocator);
        a->reason = take(a, &text);
    } else {
        a->reason = unknown_setting(&result);
    }
}

static void find_limit(struct advising *a, size_t d)
{
    struct gm_advice_device *device = &a->devices[d];
    struct gm_recorded_limit limit;
    a->has_no_memory |= !gm_bound_limit(&limit, &a->kept[d]->history, &a->recorded);
    if (a->has_no_memory || limit.bytes == GM_ABSENT)
        return;
    device->limit = limit.bytes;
    device->is_limit_exact = limit.is_exact;
    device->limit_event = limit.event;
    device->limit_reserved = limit.reserved;
    device->limit_left = limit.left;
}

/* What the recording shows of a device, unless that is known, and what is replayed of it. */
static void list_device(struct advising *a, size_t d, bool is_known)
{
    struct gm_advice_device *device = &a->devices[d];
    if (!is_known)
        find_limit(a, d);
    a->searched[d] = searched(&a->kept[d]->history, &a->recorded, device->limit, &a->refused[d]);
    a->searched[d].settled = &a->kept[d]->settled;
    device->was_refused = a->searched[d].refused != NULL;
    a->searched[d].recorded = device->was_refused ? UINT64_MAX : device->recorded;
    a->advice->is_limited |= device->limit != GM_REPORT_NONE;
}

/* false: it cannot be judged. */
static bool are_known(struct advising *a, const struct gm_trial *trials, size_t count)
{
    for (size_t i = 0; i < count && a->reason == NULL; i++)
        if (trials[i].is_given_up)
            a->reason = "the trace keeps the model busy far beyond its length";
        else if (!trials[i].is_of_device && !trials[i].runs)
            a->reason = "a replay on a device without limit ran out of memory";
    return goes_on(a);
}

static struct gm_advice_replay replay_of(struct advising *a, const struct gm_trial *trial)
{
    size_t n = a->advice->device_count;
    uint64_t *peaks = allocate(a, n, sizeof *peaks);
    for (size_t d = 0; d < n && peaks != NULL; d++)
        peaks[d] = trial->devices[d].peak_reserved;
    return (struct gm_advice_replay){
        .runs = trial->runs, .peak = trial->sum_reserved, .peaks = peaks, .retries = trial->retries};
}

/* As the thread beside the passes has done it, if it has. */
static enum gm_status run_trials(struct advising *a, size_t all)
{
    const struct gm_followed *f = a->followed;
    if (f == NULL || f->trial_count != all)
        return gm_trials_run(&a->search, a->trials, all, &a->err);
    for (size_t i = 0; i < all; i++) {
        struct gm_trial_device *device = a->trials[i].devices;
        *device = f->devices[i];
        a->trials[i] = f->trials[i];
        a->trials[i].devices = device;
    }
    return GM_OK;
}

static struct gm_advice_trial *replay_all(struct advising *a)
{
    const size_t n = a->advice->device_count;
    const size_t count = a->settings = list_trials(a->trials, &a->recorded, a->advice->is_limited);
    const size_t all = a->advice->is_limited ? 2 * count : count;
    struct gm_trial_device *results = allocate(a, all * n + 1, sizeof *results);
    struct gm_advice_trial *trials = allocate(a, count + 1, sizeof *trials);
    a->has_no_memory |= count == 0;
    for (size_t i = 0; i < all && !a->has_no_memory; i++)
        a->trials[i].devices = results + i * n;
    if (!goes_on(a) || !is_on_with(a, run_trials(a, all)) || !are_known(a, a->trials, all))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        trials[i].settings = settings_text(a, &a->trials[i].conf);
        trials[i].roomy = replay_of(a, &a->trials[i]);
        if (all > count)
            trials[i].limited = replay_of(a, &a->trials[count + i]);
    }
    for (size_t d = 0; d < n; d++)
        a->devices[d].start_at_peak = results[d].start_at_peak;
    return goes_on(a) ? trials : NULL;
}

/* By where the driver puts segments: the p-th other place. */
static uint64_t elsewhere(const struct gm_trial *trial, unsigned p)
{
    return p < trial->range.replays ? trial->range.sums[p] : trial->sum_reserved;
}

/* The baseline and the best, with segments in other places. Whether it saves as much there, too. */
static bool saves_everywhere(struct advising *a, struct gm_advice_trial *trials, size_t best)
{
    struct gm_trial run[] = {a->trials[0], a->trials[best]};
    struct gm_advice_replay *roomy[] = {&trials[0].roomy, &trials[best].roomy};
    bool saves = true;
    if (!is_on_with(a, gm_trials_spread(&a->search, run, 2, &a->err)))
        return false;
    for (size_t i = 0; i < 2; i++) {
        roomy[i]->low = roomy[i]->high = roomy[i]->peak;
        for (unsigned p = 0; p < run[i].range.replays; p++) {
            const uint64_t peak = elsewhere(&run[i], p);
            if (peak == UINT64_MAX)
                a->reason = "a replay on a device without limit ran out of memory";
            roomy[i]->low = peak < roomy[i]->low ? peak : roomy[i]->low;
            roomy[i]->high = peak > roomy[i]->high ? peak : roomy[i]->high;
        }
    }
    for (unsigned p = 0; p < GM_OTHER_PLACEMENTS; p++)
        saves = saves && gm_sat_sub(elsewhere(&run[0], p), elsewhere(&run[1], p)) >= a->advice->threshold;
    return saves;
}

/* Whether what was there was enough, as far as that is known: where the recording ran into its limit, it must not be
 * worse there than the baseline; elsewhere it needs no more than was reserved. */
static bool has_room(const struct gm_settings_advice *advice, const struct gm_advice_trial *trial)
{
    const struct gm_advice_replay *now = &trial->limited, *base = &advice->baseline->limited;
    for (size_t d = 0; d < advice->device_count; d++)
        if (advice->devices[d].limit == GM_REPORT_NONE && trial->roomy.peaks[d] > advice->devices[d].recorded)
            return false;
    return !advice->is_limited || (now->runs && (!base->runs || now->retries <= base->retries));
}

/* What each of the settings saves, and which of them most. */
static void compare(struct gm_settings_advice *advice, struct gm_advice_trial *tried, size_t n)
{
    const uint64_t *base = advice->baseline->roomy.peaks;
    for (size_t d = 0; d < advice->device_count; d++) {
        struct gm_advice_device *device = &advice->devices[d];
        device->before = device->was_refused ? base[d] : gm_min(base[d], device->recorded);
        advice->before += device->before;
    }
    advice->best = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t saved = 0;
        bool is_worse = !has_room(advice, &tried[i]);
        for (size_t d = 0; d < advice->device_count; d++) {
            is_worse |= tried[i].roomy.peaks[d] > base[d];
            saved += gm_sat_sub(advice->devices[d].before, tried[i].roomy.peaks[d]);
        }
        tried[i].saved = is_worse ? 0 : saved;
        advice->best = tried[i].saved > tried[advice->best].saved ? i : advice->best;
    }
}

/* What was cached when the trace began is not replayed. If the peak was made of that, the trace does not tell what
 * another setting would have kept. */
static const char *not_from_the_trace(struct advising *a, uint64_t replayed)
{
    uint64_t recorded = sum(a->report).recorded;
    char now[GM_SIZE_TEXT], then[GM_SIZE_TEXT];
    struct gm_text text = {0};
    if (recorded <= replayed || recorded - replayed <= a->advice->threshold)
        return NULL;
    gm_text_printf(&text,
                   "replayed with the recorded settings from an empty allocator, it reserves %s, not %s as recorded: "
                   "the rest was cached before the trace began",
                   gm_size_format(now, replayed), gm_size_format(then, recorded));
    return take(a, &text);
}

/* What is replayed: the recorded settings, and the devices with what is known of them. */
static void prepare(struct advising *a, struct gm_kept *kept, unsigned threads)
{
    size_t n = 0;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->v[i].history.count > 0 && n < DEVICES_MOST)
            a->kept[n++] = &kept->v[i];
    a->search = (struct gm_search){.devices = a->searched, .device_count = n, .threads = threads > 0 ? threads : 1};
    if (n != a->advice->device_count)
        a->reason = "it has too many devices";
    else
        find_settings(a);
    const bool is_known = n > 0 && a->devices[0].exact != GM_REPORT_NONE; /* all was done before */
    for (size_t d = 0; d < n && goes_on(a); d++)
        follow(a, d);
    for (size_t d = 0; d < n && goes_on(a); d++)
        list_device(a, d, is_known);
}

static void advise(struct advising *a)
{
    struct gm_settings_advice *advice = a->advice;
    struct gm_advice_trial *trials = replay_all(a);
    if (trials == NULL)
        return;
    advice->baseline = trials;
    a->reason = not_from_the_trace(a, trials->roomy.peak);
    if (!goes_on(a))
        return;
    advice->tried = trials + 1;
    advice->tried_count = a->settings - 1;
    compare(advice, trials + 1, advice->tried_count);
    const size_t best = 1 + advice->best;
    bool is_enough = trials[best].saved >= advice->threshold;
    if (is_enough && (a->trials[0].hangs_on_placement || a->trials[best].hangs_on_placement))
        advice->is_by_chance = !saves_everywhere(a, trials, best);
    if (goes_on(a))
        advice->verdict = is_enough && !advice->is_by_chance ? GM_ADVICE_GIVEN : GM_ADVICE_NO_GAIN;
}

static enum gm_status end(const struct advising *a, struct gm_error *err)
{
    return a->has_no_memory ? gm_no_memory(err) : GM_OK;
}

enum gm_status gm_advice_replay(struct gm_report *report, struct gm_kept *kept, const struct gm_followed *followed,
                                unsigned threads, struct gm_error *err)
{
    struct advising a = {
        .report = report, .advice = report->advice, .devices = report->advice->devices, .followed = followed};
    prepare(&a, kept, threads);
    if (goes_on(&a))
        advise(&a);
    a.advice->reason = a.reason;
    return end(&a, err);
}

enum gm_status gm_advice_plan(struct gm_report *report, const struct gm_snapshot *snapshot, struct gm_kept *kept,
                              unsigned threads, const struct gm_gpu *card, struct gm_error *err)
{
    struct advising a = {.report = report, .advice = report->advice};
    const uint8_t *roles[DEVICES_MOST];
    size_t n = 0;
    if (a.advice == NULL || a.advice->reason != NULL)
        return GM_OK;
    a.devices = a.advice->devices;
    prepare(&a, kept, threads);
    for (size_t i = 0; i < kept->count && goes_on(&a); i++)
        if (kept->v[i].history.count > 0)
            roles[n++] = kept->v[i].role;
    for (size_t d = 0; d < a.search.device_count && goes_on(&a); d++)
        a.search.is_open |= a.devices[d].was_refused;
    const struct gm_plan_task task = {.report = report,
                                      .snapshot = snapshot,
                                      .conf = &a.recorded,
                                      .card = card,
                                      .search = &a.search,
                                      .roles = roles,
                                      .most_events = GM_ADVICE_PLAYED};
    return goes_on(&a) ? gm_card_plan_make(&task, err) : end(&a, err);
}

/* Where the peak was made of what was cached before, a replay tells only of what is asked for in the trace. */
static bool is_told(const struct gm_settings_advice *advice, const struct gm_remedy *remedy)
{
    return advice->reason == NULL ||
           (remedy->settings == NULL && !remedy->is_of_holes && !remedy->is_of_end && !gm_remedy_is_of_cache(remedy));
}

enum gm_status gm_advice_remedies(struct gm_report *report, struct gm_kept *kept, unsigned threads,
                                  struct gm_remedy *const *all, size_t count, struct gm_error *err)
{
    struct advising a = {.report = report, .advice = report->advice};
    const uint64_t events = sum(report).events;
    const bool is_judged = a.advice != NULL && (a.advice->reason == NULL || a.advice->baseline != NULL);
    GM_FREED struct gm_remedy **remedies = calloc(count + 1, sizeof(struct gm_remedy *));
    if (remedies == NULL)
        return gm_no_memory(err);
    const size_t given = is_judged ? count : 0;
    count = 0;
    for (size_t i = 0; i < given; i++)
        if (is_told(a.advice, all[i]))
            remedies[count++] = all[i];
    if (count == 0)
        return GM_OK;
    if (events > a.advice->most_events) {
        a.advice->reason_of_fixes = too_long(report, a.advice);
        return a.advice->reason_of_fixes == NULL ? gm_no_memory(err) : GM_OK;
    }
    a.devices = a.advice->devices;
    prepare(&a, kept, threads);
    a.search.is_open = a.advice->reason != NULL; /* what was before may have needed a larger card */
    for (size_t d = 0; d < a.search.device_count && goes_on(&a); d++)
        a.search.is_open |= a.devices[d].was_refused;
    const size_t most = events == 0 ? count : GM_ADVICE_PLAYED / (2 * events);
    const uint64_t *peaks = a.advice->baseline != NULL ? a.advice->baseline->roomy.peaks : NULL;
    const size_t least = gm_min(GM_ADVICE_LEAST, gm_max(1, GM_ADVICE_LEAST_PLAYED / gm_max(events, 1)));
    const size_t n = gm_min(count, gm_max(most, least));
    bool is_in_vain = true; /* where there is time for one only, the first that saves something is that one */
    for (size_t i = 0; i < (n == 1 ? gm_min(count, (size_t)GM_ADVICE_LEAST) : 1) && is_in_vain && goes_on(&a); i++) {
        a.has_no_memory |= gm_remedies_replay(remedies + i, n, &a.search, peaks, err) == GM_E_NOMEM;
        is_in_vain = remedies[i]->saving.alone == UINT64_MAX || gm_remedy_is_in_vain(remedies[i]);
    }
    a.advice->reason_of_fixes = a.reason;
    return end(&a, err);
}
