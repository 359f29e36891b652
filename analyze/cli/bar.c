/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/bar.h"

#include "analyze/base/clock.h"
#include "analyze/base/size.h"
#include "analyze/base/utf8.h"

#include <stdatomic.h>
#include <string.h>

enum { MARKS = 20, LINE = 79, EVERY_MS = 200 };

static void draw(struct gm_bar *bar, double seconds)
{
    struct gm_bar_line now = {.all = 0};
    struct gm_text line = {0};
    char clean[LINE + 1];
    bar->tell(&now, bar->argument, seconds);
    if (now.all > 0) {
        const double share = (double)now.done / (double)now.all;
        const size_t marks = share < 1 ? (size_t)(MARKS * share) : MARKS;
        gm_text_add_char(&line, '[');
        gm_text_repeat(&line, '#', marks);
        gm_text_repeat(&line, ' ', MARKS - marks);
        gm_text_add(&line, "] ");
    }
    if (!now.text.failed)
        gm_text_add_bytes(&line, now.text.data, now.text.length);
    gm_text_free(&now.text);
    size_t columns = 0, bytes = line.failed ? 0 : gm_utf8_clean_line(clean, sizeof clean, line.data, line.length);
    gm_text_free(&line);
    for (size_t i = 0; i < bytes; i++)
        columns += (clean[i] & 0xc0) != 0x80;
    gm_text_add_char(&line, '\r');
    gm_text_add_bytes(&line, clean, bytes);
    gm_text_repeat(&line, ' ', LINE - columns); /* over what stood there */
    gm_message_flush(&line);
    bar->is_there = true;
}

static void clear(struct gm_bar *bar)
{
    struct gm_text line = {0};
    if (!bar->is_there)
        return;
    gm_text_add_char(&line, '\r');
    gm_text_repeat(&line, ' ', LINE);
    gm_text_add_char(&line, '\r');
    gm_message_flush(&line);
    bar->is_there = false;
}

static void *watch(void *argument)
{
    struct gm_bar *bar = argument;
    pthread_mutex_lock(&bar->lock);
    while (!bar->is_ended) {
        const double seconds = gm_seconds() - bar->start;
        struct timespec until;
        if (seconds >= 1)
            draw(bar, seconds);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += EVERY_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&bar->ended, &bar->lock, &until);
    }
    clear(bar);
    pthread_mutex_unlock(&bar->lock);
    return NULL;
}

static void drop_lock(struct gm_bar *bar)
{
    pthread_cond_destroy(&bar->ended);
    pthread_mutex_destroy(&bar->lock);
    bar->is_watched = false;
}

void gm_bar_add_left(struct gm_text *text, double seconds)
{
    const bool is_short = seconds < 100;
    gm_text_printf(text, ", %.0f %s left", is_short ? seconds : seconds / 60, is_short ? "s" : "min");
}

bool gm_bar_add_reading(struct gm_text *text, const struct gm_load_progress *progress)
{
    const uint64_t done = atomic_load(&progress->done), all = atomic_load(&progress->all);
    const uint64_t began = atomic_load(&progress->began_us);
    const double seconds = began == 0 ? 0 : gm_seconds() - 1e-6 * (double)began;
    const double rate = seconds > 0 ? (double)done / seconds : 0;
    char read[GM_SIZE_TEXT], whole[GM_SIZE_TEXT], each[GM_SIZE_TEXT];
    if (rate <= 0)
        return false;
    gm_size_format(read, done);
    gm_size_format(whole, all);
    const bool is_one_unit = all > 0 && strcmp(strchr(read, ' '), strchr(whole, ' ')) == 0;
    gm_text_printf(text, "%.*s", is_one_unit ? (int)strcspn(read, " ") : GM_SIZE_TEXT, read);
    gm_text_printf(text, "%s%s, %s/s", all > 0 ? " of " : "", all > 0 ? whole : "",
                   gm_size_format(each, (uint64_t)rate));
    if (all > done)
        gm_bar_add_left(text, (double)(all - done) / rate);
    return true;
}

void gm_bar_start(struct gm_bar *bar, const struct gm_terminal *terminal, gm_bar_tell *tell, const void *argument)
{
    pthread_condattr_t monotonic;
    *bar = (struct gm_bar){.terminal = terminal, .tell = tell, .argument = argument, .start = gm_seconds()};
    if (terminal == NULL || !terminal->is_tty)
        return;
    pthread_mutex_init(&bar->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&bar->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    bar->is_watched = pthread_create(&bar->watcher, NULL, watch, bar) == 0;
    if (!bar->is_watched)
        drop_lock(bar);
}

void gm_bar_stop(struct gm_bar *bar)
{
    if (!bar->is_watched)
        return;
    pthread_mutex_lock(&bar->lock);
    bar->is_ended = true;
    pthread_cond_signal(&bar->ended);
    pthread_mutex_unlock(&bar->lock);
    pthread_join(bar->watcher, NULL);
    drop_lock(bar);
}

void gm_bar_hold(struct gm_bar *bar)
{
    if (!bar->is_watched)
        return;
    pthread_mutex_lock(&bar->lock);
    clear(bar);
}

void gm_bar_release(struct gm_bar *bar)
{
    if (bar->is_watched)
        pthread_mutex_unlock(&bar->lock);
}
