/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/gmreplay.h"

#include <string.h>

/* "[########            ] 33 of 82 replays, 4 s: sweep"; a fit and a plan do not know how many it will be. */
static void tell(struct gm_bar_line *line, const void *argument, double elapsed)
{
    static const char *const verbs[] = {"reading", "analysing", "replaying", "plan", "sweep", "fit"};
    const struct gm_replay_progress *p = argument;
    const int stage = atomic_load(&p->stage), seconds = (int)elapsed;
    const size_t done = atomic_load(&p->searched.done);
    const char *base = strrchr(p->path, '/');
    line->done = stage == GM_REPLAY_READING ? atomic_load(&p->read.done) : done;
    line->all = stage == GM_REPLAY_READING    ? atomic_load(&p->read.all)
                : stage == GM_REPLAY_SWEEPING ? atomic_load(&p->searched.all)
                                              : 0;
    if (stage == GM_REPLAY_SWEEPING)
        gm_text_printf(&line->text, "%zu of %zu replays, ", done, (size_t)line->all);
    else if (stage >= GM_REPLAY_PLANNING)
        gm_text_printf(&line->text, "%zu replays, ", done);
    if (stage == GM_REPLAY_READING && gm_bar_add_reading(&line->text, &p->read))
        gm_text_add(&line->text, ":");
    else
        gm_text_printf(&line->text, "%d s: %s", seconds, verbs[stage]);
    if (stage < GM_REPLAY_PLANNING)
        gm_text_printf(&line->text, " %s", base == NULL ? p->path : base + 1);
}

void gm_replay_progress_start(struct gm_replay_progress *p, const struct gm_terminal *terminal, const char *path)
{
    p->path = path;
    gm_bar_start(&p->bar, terminal, tell, p);
}
