/* SPDX-License-Identifier: Apache-2.0
 *
 * --sweep and --fit in gmreplay: the searches, and what they found, for words and JSON.
 */
#ifndef GM_REPLAY_CLI_SEARCH_H
#define GM_REPLAY_CLI_SEARCH_H

#include "replay/cli/gmreplay.h"
#include "replay/trials/bound.h"
#include "replay/trials/fit.h"
#include "replay/trials/sweep.h"

enum { GM_SEARCHED_FITS = 3 };

enum gm_search_cut { GM_CUT_NOT, GM_CUT_BUDGET, GM_CUT_INTERRUPT };

struct gm_replay_search {
    struct gm_search search;
    struct gm_search_device *devices;
    struct gm_bounds *bounds;             /* of each device */
    struct gm_text baseline_text;         /* the first device's settings */
    struct gm_sweep sweep;                /* with the memory that was given */
    struct gm_sweep roomy;                /* with unlimited memory, if that is another one and --fit asks */
    struct gm_fit fits[GM_SEARCHED_FITS]; /* of the baseline, the winner, and what needs still less memory */
    const struct gm_sweep_row *fitted[GM_SEARCHED_FITS]; /* NULL: there is none */
    double began, budget; /* seconds; a budget of 0: none. A sweep has half of it where --fit asks for the rest */
    bool has_fits, is_fitting;
    _Atomic int cut[2]; /* [is_fitting] enum gm_search_cut: why replays were left out */
};

/* Device `index` for a search, with its repeated steps; and how many threads one has. */
struct gm_search_device gm_replay_search_device(const struct gm_replay_run *run, size_t index);
unsigned gm_replay_threads(const struct gm_replay_run *run);
/* Trials on device `index`, SIZE_MAX: on all; with `spreads` in other places, too. */
enum gm_status gm_replay_try(const struct gm_replay_run *run, size_t index, struct gm_trial *trials, size_t count,
                             bool spreads, struct gm_error *err);
/* The highest recorded peak of reserved bytes of the devices. */
uint64_t gm_searched_peak(const struct gm_replay_search *s);
/* The baseline's text, or the row's. */
const char *gm_searched_text(const struct gm_replay_run *run, const struct gm_sweep_row *row);
/* Whether it runs within --limit, which holds for devices that are not replayed, too. */
enum gm_replay_verdict gm_searched_passes(const struct gm_replay_run *run, const struct gm_trial *t);
const char *gm_searched_site(struct gm_replay_run *run, struct gm_stack_id stack);

/* After the replay, if one of the options was given. Fills run->search; whoever finds it filled ends with
 * gm_interrupt_release. */
enum gm_status gm_replay_search(struct gm_replay_run *run, struct gm_error *err);
/* The smallest memory with the recorded settings alone, within --budget; *fit as of gm_fit_run (is_found false, too, if
 * the recording's own replay does not run). run->search is not touched. */
enum gm_status gm_replay_fit_recorded(struct gm_fit *fit, struct gm_replay_run *run, struct gm_error *err);
void gm_replay_search_free(struct gm_replay_run *run);

/* Nothing if nothing was searched. */
void gm_replay_search_words(struct gm_doc *doc, struct gm_replay_run *run, bool is_long);
void gm_replay_search_json(struct gm_doc *doc, struct gm_replay_run *run);

#endif
