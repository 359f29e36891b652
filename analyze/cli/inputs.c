/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/inputs.h"

#include "analyze/base/text.h"
#include "analyze/cli/bar.h"
#include "analyze/formats/load.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_THREADS = 256 };

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
    const struct gm_load_options load = {.salvage = options->salvage, .max_memory = options->max_memory};
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

static void await(struct reading *r)
{
    struct gm_bar bar;
    gm_bar_start(&bar, r->options->progress);
    pthread_mutex_lock(&r->lock);
    while (atomic_load(&r->done) < r->count) {
        const double seconds = gm_bar_due(&bar);
        if (seconds > 0) {
            struct gm_text text = {0};
            gm_text_printf(&text, "%zu of %zu read, %d s", atomic_load(&r->done), r->count, (int)seconds);
            gm_bar_draw(&bar, atomic_load(&r->done), r->count, &text);
        }
        gm_bar_wait(&r->progress, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    gm_bar_clear(&bar);
}

void gm_inputs_read(struct gm_input *inputs, size_t count, const struct gm_inputs_options *options)
{
    struct reading r = {.inputs = inputs, .count = count, .options = options};
    pthread_t threads[MOST_THREADS];
    size_t started = 0;
    pthread_mutex_init(&r.lock, NULL);
    gm_bar_init_condition(&r.progress);
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
