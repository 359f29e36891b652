/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT, SIGTERM and SIGHUP end the program at once, except while a run directory or an output file is being written
 * (milliseconds): then it is finished or given up first, so that nothing half-made stays behind. A second
 * signal does not wait.
 */
#pragma once

#include <stdbool.h>

void gm_interrupt_install(void);
/* Around each stretch of writing; may nest and run in several threads. */
void gm_interrupt_hold(void);
void gm_interrupt_release(void);
/* Whether a signal waits for that: who writes for long should give up. */
bool gm_interrupt_is_pending(void);
