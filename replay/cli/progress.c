/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/progress.h"

#include "analyze/base/utf8.h"

#include <string.h>

enum { BAR = 20, LINE = 79, EVERY_MS = 200 };

static void clear(void)
{
    struct gm_text line = {0};
    gm_text_printf(&line, "\r%*s\r", LINE, "");
    gm_message_flush(&line);
}

/* "[########            ] 33 of 82 replays, 4 s: sweep"; a fit does not know how many it will be. */
static void draw(struct gm_replay_progress *p, long seconds)
{
    static const char *const verbs[] = {"reading", "analysing", "replaying", "sweep", "fit"};
    int stage = atomic_load(&p->stage);
    size_t done = atomic_load(&p->searched.done), all = atomic_load(&p->searched.all);
    const char *base = strrchr(p->path, '/');
    char clean[3 * LINE + 1], bar[BAR + 1];
    struct gm_text text = {0}, line = {0};
    size_t filled = all == 0 ? 0 : BAR * done / all;
    memset(bar, ' ', BAR);
    memset(bar, '#', filled < BAR ? filled : BAR);
    bar[BAR] = '\0';
    if (stage == GM_REPLAY_SWEEPING && all > 0)
        gm_text_printf(&text, "[%s] %zu of %zu replays, %ld s: %s", bar, done, all, seconds, verbs[stage]);
    else if (stage == GM_REPLAY_FITTING)
        gm_text_printf(&text, "%zu replays, %ld s: %s", done, seconds, verbs[stage]);
    else
        gm_text_printf(&text, "%ld s: %s %s", seconds, verbs[stage], base == NULL ? p->path : base + 1);
    if (!text.failed) {
        gm_utf8_clean_line(clean, LINE + 1, text.data, text.length);
        gm_text_printf(&line, "\r%-*s", LINE, clean);
        gm_message_flush(&line);
    }
    gm_text_free(&text);
}

static void *watch(void *argument)
{
    struct gm_replay_progress *p = argument;
    bool has_bar = false;
    pthread_mutex_lock(&p->lock);
    while (!p->is_ended) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        long seconds = (long)(until.tv_sec - p->start.tv_sec) - (until.tv_nsec < p->start.tv_nsec);
        if (seconds >= 1) {
            draw(p, seconds);
            has_bar = true;
        }
        until.tv_nsec += EVERY_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->ended, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    if (has_bar)
        clear();
    return NULL;
}

void gm_replay_progress_start(struct gm_replay_progress *p, const struct gm_terminal *terminal, const char *path)
{
    pthread_condattr_t clock;
    p->path = path;
    if (!terminal->is_tty || clock_gettime(CLOCK_MONOTONIC, &p->start) != 0 || pthread_condattr_init(&clock) != 0)
        return;
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, &clock);
    pthread_condattr_destroy(&clock);
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
