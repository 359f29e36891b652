/* SPDX-License-Identifier: Apache-2.0
 *
 * The main function of the tools that dump histories.
 */
#ifndef GM_TESTS_TIMELINE_EACH_HISTORY_H
#define GM_TESTS_TIMELINE_EACH_HISTORY_H

#include "analyze/formats/load.h"
#include "analyze/timeline/history/history.h"

#include <stdio.h>

/* Loads argv[1] and visits the history of every device with a trace. Returns the exit code. */
static inline int gm_each_history(int argc, char **argv, void (*visit)(const struct gm_history *h))
{
    struct gm_snapshot snapshot;
    struct gm_error err = {0};
    if (argc != 2 || gm_snapshot_load(&snapshot, argv[1], NULL, &err) != GM_OK) {
        fprintf(stderr, "%s\n", argc != 2 ? "usage: PROGRAM FILE" : err.message);
        return 2;
    }
    for (size_t d = 0; d < snapshot.trace_count; d++) {
        struct gm_history history;
        if (snapshot.traces[d].count == 0)
            continue;
        if (gm_history_build(&history, &snapshot, d, NULL, &err) != GM_OK)
            return 1;
        visit(&history);
        gm_history_free(&history);
    }
    gm_snapshot_free(&snapshot);
    return 0;
}

#endif
