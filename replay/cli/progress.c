/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/gmreplay.h"

#include <string.h>

/* "[########            ] 33 of 82 replays, 4 s: sweep"; a fit does not know how many it will be. */
static void tell(struct gm_bar_line *line, const void *argument, double elapsed)
{
    static const char *const verbs[] = {"reading", "analysing", "replaying", "sweep", "fit"};
    const struct gm_replay_progress *p = argument;
    const int stage = atomic_load(&p->stage), seconds = (int)elapsed;
    const size_t done = atomic_load(&p->searched.done);
    const char *base = strrchr(p->path, '/');
    line->done = done;
    line->all = stage == GM_REPLAY_SWEEPING ? atomic_load(&p->searched.all) : 0;
    if (line->all > 0)
        gm_text_printf(&line->text, "%zu of %zu replays, %d s: %s", done, (size_t)line->all, seconds, verbs[stage]);
    else if (stage == GM_REPLAY_FITTING)
        gm_text_printf(&line->text, "%zu replays, %d s: %s", done, seconds, verbs[stage]);
    else
        gm_text_printf(&line->text, "%d s: %s %s", seconds, verbs[stage], base == NULL ? p->path : base + 1);
}

void gm_replay_progress_start(struct gm_replay_progress *p, const struct gm_terminal *terminal, const char *path)
{
    p->path = path;
    gm_bar_start(&p->bar, terminal, tell, p);
}
