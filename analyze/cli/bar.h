/* SPDX-License-Identifier: Apache-2.0
 *
 * A line on stderr that says how far the work is: for a person at a terminal, and only once it takes longer than a
 * second. One thread at a time.
 */
#ifndef GM_CLI_BAR_H
#define GM_CLI_BAR_H

#include "analyze/base/text.h"
#include "analyze/cli/terminal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct gm_bar {
    const struct gm_terminal *terminal; /* NULL: nothing is ever drawn */
    struct timespec start;
    double drawn; /* seconds after the start, the last time */
    bool is_there;
};

void gm_bar_start(struct gm_bar *bar, const struct gm_terminal *terminal);
/* Seconds since the start if it is time to draw, that is not more than five times a second; else 0. */
double gm_bar_due(struct gm_bar *bar);
/* "[########            ] TEXT", or the text alone if `all` is 0; cleaned, cut to one line. Frees the text. */
void gm_bar_draw(struct gm_bar *bar, uint64_t done, uint64_t all, struct gm_text *text);
/* Takes the line away. To be called before anything else is written. */
void gm_bar_clear(struct gm_bar *bar);

/* For whoever waits for the work: a condition, and waiting for it until it is time to draw again at the most. */
void gm_bar_init_condition(pthread_cond_t *condition);
void gm_bar_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
