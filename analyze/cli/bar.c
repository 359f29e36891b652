/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/bar.h"

#include "analyze/base/utf8.h"

#include <string.h>

enum { MARKS = 20, LINE = 79, EVERY_MS = 200 };

void gm_bar_start(struct gm_bar *bar, const struct gm_terminal *terminal)
{
    *bar = (struct gm_bar){.terminal = terminal != NULL && terminal->is_tty ? terminal : NULL};
    clock_gettime(CLOCK_MONOTONIC, &bar->start);
}

double gm_bar_due(struct gm_bar *bar)
{
    struct timespec now;
    if (bar->terminal == NULL)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - bar->start.tv_sec) + 1e-9 * (double)(now.tv_nsec - bar->start.tv_nsec);
    if (seconds < 1 || seconds < bar->drawn + 1e-3 * EVERY_MS)
        return 0;
    bar->drawn = seconds;
    return seconds;
}

void gm_bar_draw(struct gm_bar *bar, uint64_t done, uint64_t all, struct gm_text *text)
{
    struct gm_text line = {0};
    char clean[LINE + 1];
    if (all > 0) {
        const double share = (double)done / (double)all;
        const size_t marks = share < 1 ? (size_t)(MARKS * share) : MARKS;
        gm_text_add_char(&line, '[');
        gm_text_repeat(&line, '#', marks);
        gm_text_repeat(&line, ' ', MARKS - marks);
        gm_text_add(&line, "] ");
    }
    if (!text->failed)
        gm_text_add_bytes(&line, text->data, text->length);
    gm_text_free(text);
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

void gm_bar_clear(struct gm_bar *bar)
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

void gm_bar_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void gm_bar_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += EVERY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(condition, lock, &until);
}
