/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/inputs.h"

#include "analyze/base/text.h"
#include "analyze/base/utf8.h"
#include "analyze/load/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, BAR = 20, BAR_LINE = 79 };

struct reading {
    struct gm_input *inputs;
    size_t count;
    const struct gm_inputs_options *options;
    atomic_size_t next, done;
    pthread_mutex_t lock;
    pthread_cond_t progress;
};

static void read_one(struct gm_input *input, const struct gm_inputs_options *options)
{
    const struct gm_load_options load = {.salvage = options->salvage};
    struct gm_snapshot snapshot = {0};
    input->error = (struct gm_error){.offset = GM_NO_OFFSET};
    gm_name_detect(input->name, input->path);
    input->status = gm_snapshot_load(&snapshot, input->path, &load, &input->error);
    if (input->status == GM_OK) {
        input->is_salvaged = snapshot.source.is_salvaged;
        input->salvaged_offset = snapshot.source.salvaged_offset;
        input->status = gm_summary_make(&input->summary, &snapshot, input->name, &options->summary, &input->error);
    }
    gm_snapshot_free(&snapshot);
}

static void *work(void *argument)
{
    struct reading *r = argument;
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->count;) {
        read_one(&r->inputs[i], r->options);
        pthread_mutex_lock(&r->lock);
        atomic_fetch_add(&r->done, 1);
        pthread_cond_signal(&r->progress);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* "[########            ] 3 of 8 read, 12 s" */
static void draw_bar(const struct reading *r, long seconds)
{
    const size_t done = atomic_load(&r->done), filled = BAR * done / r->count;
    char text[BAR_LINE + 1], bar[BAR + 1] = "";
    memset(bar, ' ', BAR);
    memset(bar, '#', filled);
    snprintf(text, sizeof text, "[%s] %zu of %zu read, %ld s", bar, done, r->count, seconds);
    struct gm_text line = {0};
    gm_text_printf(&line, "\r%-*s", BAR_LINE, text);
    gm_message_flush(&line);
}

static void await(struct reading *r)
{
    struct timespec start, until;
    bool has_bar = false;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_mutex_lock(&r->lock);
    while (atomic_load(&r->done) < r->count) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        const long seconds = (long)(until.tv_sec - start.tv_sec) - (until.tv_nsec < start.tv_nsec);
        if (seconds >= 1) {
            draw_bar(r, seconds);
            has_bar = true;
        }
        until.tv_nsec += 200000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&r->progress, &r->lock, &until);
    }
    pthread_mutex_unlock(&r->lock);
    if (has_bar) {
        struct gm_text line = {0};
        gm_text_printf(&line, "\r%*s\r", BAR_LINE, "");
        gm_message_flush(&line);
    }
}

void gm_inputs_read(struct gm_input *inputs, size_t count, const struct gm_inputs_options *options)
{
    struct reading r = {.inputs = inputs, .count = count, .options = options};
    pthread_t threads[MOST_THREADS];
    size_t started = 0;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.progress, &monotonic);
    pthread_condattr_destroy(&monotonic);
    while (started < MOST_THREADS && started < count && started < (size_t)options->threads &&
           pthread_create(&threads[started], NULL, work, &r) == 0)
        started++;
    if (started == 0)
        work(&r);
    else if (options->progress != NULL && options->progress->is_tty)
        await(&r);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&r.progress);
    pthread_mutex_destroy(&r.lock);
}

void gm_inputs_free(struct gm_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gm_summary_free(&inputs[i].summary);
}
