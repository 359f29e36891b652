/* SPDX-License-Identifier: Apache-2.0
 *
 * A line on stderr that says how far the work is: for a person at a terminal, and only once it takes longer than a
 * second.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/cli/terminal.h"
#include "analyze/formats/load.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gm_bar_line {
    struct gm_text text;
    uint64_t done, all; /* all is 0: nobody knows how much it will be */
};
/* Says how far the work is, `seconds` after its start. Called from the bar's own thread. */
typedef void gm_bar_tell(struct gm_bar_line *line, const void *argument, double seconds);

struct gm_bar { /* zero-initialise: then all below do nothing */
    const struct gm_terminal *terminal;
    gm_bar_tell *tell;
    const void *argument;
    double start; /* gm_seconds */
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_watched, is_ended, is_there;
};

/* "12.00 of 512.0 MiB, 60.10 MiB/s, 8 s left", as far as it is known; false: nothing is known, and nothing added.
 * Several files are as one: their sums, and the earliest beginning. */
bool gm_bar_add_reading(struct gm_text *text, const struct gm_load_progress *progress);
void gm_bar_add_left(struct gm_text *text, double seconds); /* ", 8 s left", ", 3 min left" */

/* Draws five times a second, in a thread of its own, until gm_bar_stop: "[########            ] TEXT", or the text
 * alone; cleaned, cut to one line. Nothing is drawn if `terminal` is NULL or none, or no thread can be made. */
void gm_bar_start(struct gm_bar *bar, const struct gm_terminal *terminal, gm_bar_tell *tell, const void *argument);
/* Takes the line away. To be called before anything else is written: for good, or around what is written. */
void gm_bar_stop(struct gm_bar *bar);
void gm_bar_hold(struct gm_bar *bar);
void gm_bar_release(struct gm_bar *bar);
