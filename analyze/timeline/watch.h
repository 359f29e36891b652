/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: what the address space looked like when it grew, when memory ran out, and regularly in
 * between. It is noted while the history is built (watch.c) and told in words by ooms.c and growth.c.
 */
#ifndef GM_TIMELINE_WATCH_H
#define GM_TIMELINE_WATCH_H

#include "analyze/timeline/history.h"

struct gm_watch;

/* Fills *watcher for gm_history_build. NULL: no memory. */
struct gm_watch *gm_watch_new(struct gm_watcher *watcher);
void gm_watch_free(struct gm_watch *watch);

#endif
