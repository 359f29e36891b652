/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice about allocator settings that a replay has proven. The model follows the recorded trace first, to show that it
 * chooses the recorded addresses; then the same requests run again under the recorded settings, the baseline, and under
 * a few others, all from an empty allocator: on a device without limit, and, if the trace shows that the recording ran
 * into a limit, with that one as well. Each is compared with the baseline of the same memory. A setting is advised only
 * if
 *   - the model chose at least 999 of 1,000 recorded addresses, on every device;
 *   - without limit it lowers peak reserved memory by at least 1 % and 64 MiB, all devices together, and raises it on
 *     none;
 *   - it does so wherever the driver puts segments, as far as the model's placements (replay/model/sim.h) show;
 *   - what the device had when it was recorded is enough: with the recorded limit it runs, with no more retries than
 *     the baseline; without one it stays at or below the recorded peak of each device.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/trials/candidates.h"
#include "replay/trials/trial.h"
#include "replay/verify/verify.h"

#include <pthread.h>

/* So many events are played for remedies: they take less time than charts do; or for up to so many remedies, that those
 * have a figure which are told first, as many as this. */
enum { GM_ADVICE_PLAYED = 100000, GM_ADVICE_LEAST = 4, GM_ADVICE_LEAST_PLAYED = 1200000 };
/* Traces with more events, all devices together, are not replayed unless somebody asks for it: it would take longer
 * than the rest of a report. */
enum { GM_ADVICE_EVENTS = 1000000 };

/* After the analysis of the timeline: adds report->advice if any device has events. Traces of more than `most` events
 * are not replayed. Its verdict is final unless *needs_replay says otherwise. GM_E_NOMEM is the only error here and
 * below. */
enum gm_status gm_advice_begin(struct gm_report *report, bool is_partial, uint64_t most, bool *needs_replay,
                               struct gm_error *err);

enum { GM_ADVICE_SETTINGS = 1 + GM_CANDIDATES_FEW }; /* the recorded ones, and those that are tried */

/* What following a history shows, and how other settings come out, found in a thread of its own before there is a
 * report. Zero-initialise. */
struct gm_followed {
    bool is_there; /* it was begun */
    pthread_t thread;
    bool has_thread;
    unsigned threads;          /* for replays */
    struct gm_history history; /* a copy: all that it points to is another's */
    struct gm_conf conf;
    enum gm_status status;
    struct gm_verify_result result;
    /* Replays as gm_advice_replay makes them; none where more is to be known first. */
    struct gm_trial trials[2 * GM_ADVICE_SETTINGS];
    struct gm_trial_device devices[2 * GM_ADVICE_SETTINGS];
    size_t trial_count;
};
/* Begins, in up to `threads` threads, if the history is worth it; of several devices with the first one. It must be
 * reconstructed, and all of it stay as it is, but for its place, until gm_followed_wait, which may be called twice. */
void gm_advice_follow(struct gm_followed *followed, const struct gm_history *history, uint64_t most, unsigned threads);
void gm_followed_wait(struct gm_followed *followed);

/* Replays, in up to `threads` threads (0: 1), which change nothing of it; then the verdict is final. `kept` are the
 * histories of the report's devices. Does not touch what charts are made of. `followed`, which was waited for, may be
 * NULL. */
enum gm_status gm_advice_replay(struct gm_report *report, struct gm_kept *kept, const struct gm_followed *followed,
                                unsigned threads, struct gm_error *err);

/* After gm_advice_begin: replays what the remedies do to the allocations, with those histories; those that cannot be
 * judged, for the reasons for which settings cannot, and those for which there is no time (GM_ADVICE_PLAYED) have no
 * saving. Where settings cannot be because the peak was made of what was cached before, those can that do without what
 * is asked for in the trace. */
struct gm_remedy;
enum gm_status gm_advice_remedies(struct gm_report *report, struct gm_kept *kept, unsigned threads,
                                  struct gm_remedy *const *all, size_t count, struct gm_error *err);

/* Likewise, after the diagnosis: adds report->plan. Nothing of a run that cannot be judged. */
struct gm_gpu;
enum gm_status gm_advice_plan(struct gm_report *report, const struct gm_snapshot *snapshot, struct gm_kept *kept,
                              unsigned threads, const struct gm_gpu *card, struct gm_error *err);
