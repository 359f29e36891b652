/* SPDX-License-Identifier: Apache-2.0
 *
 * --sweep and --fit in gmreplay.
 */
#ifndef GM_REPLAY_CLI_SEARCH_H
#define GM_REPLAY_CLI_SEARCH_H

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/document/document.h"

#include <stdbool.h>

struct gm_replay_run;

/* After the replay, if one of the options was given. Fills run->search; whoever finds it filled ends with
 * gm_interrupt_release. */
enum gm_status gm_replay_search(struct gm_replay_run *run, struct gm_error *err);
struct gm_fit;
/* The smallest memory with the recorded settings alone, within --budget; *fit as of gm_fit_run (is_found false, too, if
 * the recording's own replay does not run). run->search is not touched. */
enum gm_status gm_replay_fit_recorded(struct gm_fit *fit, struct gm_replay_run *run, struct gm_error *err);
void gm_replay_search_free(struct gm_replay_run *run);

/* Nothing if nothing was searched. */
void gm_replay_search_words(struct gm_doc *doc, struct gm_replay_run *run, bool is_long);
void gm_replay_search_json(struct gm_doc *doc, struct gm_replay_run *run);

#endif
