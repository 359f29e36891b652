/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/font_thread.h"

#include <pthread.h>
#include <stdlib.h>

struct gm_fonts {
    pthread_t thread;
    bool is_running; /* thread is to be joined */
    bool is_done;
    pthread_mutex_t lock; /* over the two above, and over the results until is_done */
    struct gm_painter *painter;
    enum gm_status status;
    struct gm_error error;
};

static void *look_up(void *argument)
{
    struct gm_fonts *fonts = argument;
    fonts->status = gm_painter_new(&fonts->painter, &fonts->error);
    return NULL;
}

struct gm_fonts *gm_fonts_start(bool in_background)
{
    struct gm_fonts *fonts = calloc(1, sizeof *fonts);
    if (fonts == NULL)
        return NULL;
    pthread_mutex_init(&fonts->lock, NULL);
    fonts->is_running = in_background && pthread_create(&fonts->thread, NULL, look_up, fonts) == 0;
    return fonts;
}

enum gm_status gm_fonts_wait(struct gm_fonts *fonts, struct gm_painter **painter, struct gm_error *err)
{
    pthread_mutex_lock(&fonts->lock);
    if (fonts->is_running)
        pthread_join(fonts->thread, NULL);
    else if (!fonts->is_done)
        look_up(fonts);
    fonts->is_running = false;
    fonts->is_done = true;
    pthread_mutex_unlock(&fonts->lock);
    *painter = fonts->painter;
    if (fonts->status != GM_OK && err != NULL)
        *err = fonts->error;
    return fonts->status;
}

void gm_fonts_free(struct gm_fonts *fonts)
{
    if (fonts == NULL)
        return;
    if (fonts->is_running)
        pthread_join(fonts->thread, NULL);
    gm_painter_free(fonts->painter);
    pthread_mutex_destroy(&fonts->lock);
    free(fonts);
}
