/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots as they appear in a directory: each is handed out once it is complete, and again if it is replaced. The
 * kernel says when to look (inotify); where it does not, as on a network, the directory is looked at every second.
 */
#pragma once

#include "analyze/fleet/find.h"

struct gm_arrivals;

/* What is in `directory` now is not handed out, unless it is being written; *known: how many files that are. `except`
 * as in gm_find_files. GM_E_READ if it is no directory that can be read; *arrivals is NULL then. */
enum gm_status gm_arrivals_open(struct gm_arrivals **arrivals, const char *directory, const char *except, size_t *known,
                                struct gm_error *err);
void gm_arrivals_free(struct gm_arrivals *arrivals);

/* Waits for a change, a signal or about a second, and adds to `ready` what is complete since then, in the order of the
 * paths; that may be nothing. A file is complete if nobody has it open to write it and it is not empty; if that cannot
 * be asked (the file is another user's, or on a network), once it has not changed for GM_ARRIVAL_QUIET seconds.
 * GM_E_NOMEM. */
enum { GM_ARRIVAL_QUIET = 5 };
enum gm_status gm_arrivals_wait(struct gm_arrivals *arrivals, struct gm_found_files *ready, struct gm_error *err);
