/* SPDX-License-Identifier: Apache-2.0
 *
 * What --members, --summary and --limit tell beyond the plain replay.
 */
#ifndef GM_REPLAY_CLI_JUDGED_H
#define GM_REPLAY_CLI_JUDGED_H

#include "analyze/document/document.h"
#include "replay/cli/gmreplay.h"

/* holders.c: live requested bytes by role and by category, for --summary and --limit. Before a replay of device
 * `index`: has them counted. false: no memory. */
bool gm_replay_count_holders(struct gm_replay_run *run, size_t index, struct gm_whatif_options *options);
void gm_replay_free_holders(struct gm_replay_device *device);
/* " Activation 1.2 GiB (60.0 %), ..." at the peak of requested bytes, the largest three; further lines are indented. */
void gm_replay_holder_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index, bool is_category,
                            size_t indent);
void gm_replay_holder_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index);

/* repetition.c */
void gm_replay_repetition_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index);
void gm_replay_member_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index); /* a table */
void gm_replay_repetition_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index);
/* Which member and which of its steps a part is; false: none. */
bool gm_replay_member_of(const struct gm_replay_device *device, size_t part, uint64_t *member, uint64_t *step);
/* How much later than recorded the events of a part come, because a step was repeated before them; microseconds. */
uint64_t gm_replay_forecast_us(const struct gm_replay_device *device, size_t part);

/* replay_summary.c: what --summary has on top of the short text. */
void gm_replay_peak_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index);
void gm_replay_peak_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index);
void gm_replay_aggregate_words(struct gm_doc *doc, const struct gm_replay_run *run);

/* placements.c: the what-if of each device once more, with segments in other places, where that can matter. */
enum gm_status gm_replay_spread(struct gm_replay_run *run, struct gm_error *err);
/* How device `index` comes out in the limit and the memory that were given, and whether otherwise in another place. */
enum gm_replay_verdict gm_replay_placed(const struct gm_replay_run *run, size_t index);
/* A line that begins with `before`, or nothing. */
void gm_replay_range_words(struct gm_doc *doc, const char *before, const struct gm_trial_range *range);
void gm_replay_range_json(struct gm_doc *doc, const struct gm_trial_range *range);

/* recommend.c: after the replay itself, tries what may help, with --limit or on a GPU that had no memory; then tells
 * it. run->recommended: free. */
enum gm_status gm_replay_recommend(struct gm_replay_run *run, struct gm_error *err);
void gm_replay_limit_advice_words(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_oom_advice_words(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_recommended_json(struct gm_doc *doc, const struct gm_replay_run *run); /* "replayed" */
void gm_replay_oom_advice_json(struct gm_doc *doc, const struct gm_replay_run *run);

/* limit.c: the verdict. */
void gm_replay_limit_words(struct gm_doc *doc, const struct gm_replay_run *run);
void gm_replay_limit_json(struct gm_doc *doc, const struct gm_replay_run *run);
bool gm_replay_has_failed(const struct gm_replay_run *run);         /* ended out of memory */
bool gm_replay_is_cut_short(const struct gm_replay_run *run);       /* so, or the recording did */
uint64_t gm_replay_peak_requested(const struct gm_replay_run *run); /* bytes, of the device with most */
enum { GM_REPLAY_MARGIN = 10 };                                     /* percent of memory that a safe peak leaves */
bool gm_replay_is_tight(uint64_t peak, uint64_t whole);             /* not as much is left */

/* search.c: with --plan, after the replay itself; run->report.plan. */
enum gm_status gm_replay_make_plan(struct gm_replay_run *run, struct gm_error *err);

/* cards.c: which cards would run it, with --limit or --summary; after the replay itself. run->cards: free. */
enum gm_status gm_replay_find_cards(struct gm_replay_run *run, struct gm_error *err);
void gm_replay_say_cards(struct gm_doc *doc, const struct gm_replay_run *run); /* empty arrays if not known */

/* whatif_notes.c */
void gm_replay_notes(struct gm_doc *doc, const struct gm_replay_run *run);

#endif
