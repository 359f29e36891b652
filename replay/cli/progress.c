/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/progress.h"

#include <string.h>

/* "[########            ] 33 of 82 replays, 4 s: sweep"; a fit does not know how many it will be. */
static void draw(struct gm_replay_progress *p, int seconds)
{
    static const char *const verbs[] = {"reading", "analysing", "replaying", "sweep", "fit"};
    int stage = atomic_load(&p->stage);
    size_t done = atomic_load(&p->searched.done), all = 0;
    const char *base = strrchr(p->path, '/');
    struct gm_text text = {0};
    if (stage == GM_REPLAY_SWEEPING)
        all = atomic_load(&p->searched.all);
    if (all > 0)
        gm_text_printf(&text, "%zu of %zu replays, %d s: %s", done, all, seconds, verbs[stage]);
    else if (stage == GM_REPLAY_FITTING)
        gm_text_printf(&text, "%zu replays, %d s: %s", done, seconds, verbs[stage]);
    else
        gm_text_printf(&text, "%d s: %s %s", seconds, verbs[stage], base == NULL ? p->path : base + 1);
    gm_bar_draw(&p->bar, done, all, &text);
}

static void *watch(void *argument)
{
    struct gm_replay_progress *p = argument;
    pthread_mutex_lock(&p->lock);
    while (!p->is_ended) {
        const double seconds = gm_bar_due(&p->bar);
        if (seconds > 0)
            draw(p, (int)seconds);
        gm_bar_wait(&p->ended, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    gm_bar_clear(&p->bar);
    return NULL;
}

void gm_replay_progress_start(struct gm_replay_progress *p, const struct gm_terminal *terminal, const char *path)
{
    p->path = path;
    if (!terminal->is_tty)
        return;
    gm_bar_start(&p->bar, terminal);
    pthread_mutex_init(&p->lock, NULL);
    gm_bar_init_condition(&p->ended);
    p->is_watched = pthread_create(&p->watcher, NULL, watch, p) == 0;
    if (!p->is_watched) {
        pthread_cond_destroy(&p->ended);
        pthread_mutex_destroy(&p->lock);
    }
}

void gm_replay_progress_stop(struct gm_replay_progress *p)
{
    if (!p->is_watched)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_ended = true;
    pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->watcher, NULL);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    p->is_watched = false;
}
