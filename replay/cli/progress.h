/* SPDX-License-Identifier: Apache-2.0
 *
 * A progress bar on stderr, for a person at a terminal and only if the work takes longer than a second.
 */
#ifndef GM_REPLAY_CLI_PROGRESS_H
#define GM_REPLAY_CLI_PROGRESS_H

#include "analyze/cli/bar.h"
#include "replay/trials/trial.h"

#include <stdatomic.h>

enum gm_replay_stage {
    GM_REPLAY_READING,
    GM_REPLAY_ANALYSING,
    GM_REPLAY_REPLAYING,
    GM_REPLAY_SWEEPING,
    GM_REPLAY_FITTING
};

/* Zeroed: nothing is shown, and setting a stage does nothing but note it. */
struct gm_replay_progress {
    atomic_int stage;
    struct gm_search_progress searched; /* replays of the searches */
    const char *path;
    struct gm_bar bar;
};

/* Shows nothing if stderr is no terminal or no thread can be made. */
void gm_replay_progress_start(struct gm_replay_progress *progress, const struct gm_terminal *terminal,
                              const char *path);
#endif
