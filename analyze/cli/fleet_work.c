/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/fleet_work.h"

#include "analyze/cli/job.h"
#include "analyze/fleet/record.h"
#include "analyze/fleet/record_parts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_THREADS = 256 };

/* ---- one file ------------------------------------------------------------------------------------------------------
 */

static const struct gm_terminal plain = {.program = "--each"};

/* The first line of what a job said on `plain`, without what every line begins with. */
static void fail_each(struct gm_error *err, const struct gm_job *job)
{
    struct gm_text head = {0};
    const char *said = job->messages.data == NULL ? gm_status_text(job->status) : job->messages.data;
    gm_message_add(&head, &plain, GM_MESSAGE_ERROR, job->path, "%s", "");
    const size_t n = head.data == NULL || head.length == 0 ? 0 : head.length - 1; /* without its line feed */
    if (n > 0 && strncmp(said, head.data, n) == 0)
        said += n;
    gm_fail(err, job->status == GM_OK ? GM_E_INTERNAL : job->status, GM_NO_OFFSET, "--each: %.*s",
            (int)strcspn(said, "\n"), said);
    gm_text_free(&head);
}

/* The run directory that gmanalyze would make; false if it could not be made. */
static bool run_each(struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const struct gm_fleet_cli_options *o = &context->options;
    const struct gm_analyze_context each = {.options = {.results = o->results,
                                                        .name = o->name,
                                                        .categories = o->categories,
                                                        .device = o->device,
                                                        .top = 50,
                                                        .no_charts = o->no_charts,
                                                        .salvage = o->salvage,
                                                        .max_memory = o->max_memory,
                                                        .quiet = true,
                                                        .fail_above = UINT64_MAX,
                                                        .fail_below_efficiency = -1},
                                            .terminal = plain,
                                            .rules = context->rules,
                                            .fonts = context->fonts,
                                            .when = context->when,
                                            .draw_threads = 1};
    struct gm_job job = {.path = task->file->path, .is_one_of_several = true};
    memcpy(job.name, task->name, sizeof job.name);
    gm_job_run(&job, &each);
    const bool ok = job.status == GM_OK && job.run != NULL;
    if (ok) {
        gm_record_add_each(&task->record, gm_run_path(job.run), NULL);
    } else {
        struct gm_error err;
        fail_each(&err, &job);
        gm_record_add_each(&task->record, NULL, &err);
    }
    gm_job_free(&job);
    return ok;
}

/* A run directory belongs to a path: with --each files of the same content are not the same. */
static uint64_t salt_of(const struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const char *path = task->file->path;
    return context->options.each ? gm_record_sum(path, strlen(path), context->salt) : context->salt;
}

static void read_task(struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const struct gm_record_options options = {.rules = context->rules,
                                              .device = context->options.device,
                                              .salvage = context->options.salvage,
                                              .max_memory = context->options.max_memory};
    struct gm_error err = task->file->error;
    task->status = task->file->status;
    if (task->status != GM_OK) {
        gm_record_fail(&task->record, &err);
        return;
    }
    task->has_key = gm_kept_key(task->key, task->file, salt_of(task, context));
    if (task->has_key && gm_kept_has(&context->kept, task->key) &&
        gm_kept_load(&task->record, context->options.results, task->key)) {
        task->was_kept = true;
        return;
    }
    task->status = gm_record_make(&task->record, task->file->path, &options, &err);
    bool is_whole = task->status == GM_OK;
    if (is_whole && context->options.each)
        is_whole = run_each(task, context);
    if (is_whole && task->has_key)
        gm_kept_save(context->options.results, task->key, &task->record);
}

void gm_fleet_task_run(struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    read_task(task, context);
    if (task->record.failed) {
        const struct gm_error err = {.status = GM_E_NOMEM, .offset = GM_NO_OFFSET, .message = "out of memory"};
        gm_text_free(&task->record);
        task->record = (struct gm_text){0};
        gm_record_fail(&task->record, &err);
        task->status = GM_E_NOMEM;
    }
    task->is_done = true;
}

static uint64_t add_file(uint64_t sum, const char *path)
{
    enum { RULES_MOST = 1 << 20 };
    struct stat st;
    unsigned char *bytes = malloc(RULES_MOST);
    FILE *file = bytes != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
    if (file == NULL) { /* cannot be told again: then nothing of this run is found again */
        const time_t now[2] = {time(NULL), getpid()};
        free(bytes);
        return gm_record_sum(now, sizeof now, sum);
    }
    const size_t n = fread(bytes, 1, RULES_MOST, file);
    fclose(file);
    sum = gm_record_sum(bytes, n, sum);
    free(bytes);
    return sum;
}

uint64_t gm_fleet_salt(const struct gm_fleet_cli_options *o)
{
    static const char version[] = GM_RECORD_MAGIC " " GM_VERSION;
    const int64_t numbers[] = {
        o->device, o->salvage, (int64_t)o->max_memory, o->each, o->each && o->no_charts, o->categories != NULL};
    uint64_t sum = gm_record_sum(version, sizeof version, GM_RECORD_SUM_START);
    sum = gm_record_sum(numbers, sizeof numbers, sum);
    if (o->each && o->name != NULL)
        sum = gm_record_sum(o->name, strlen(o->name), sum);
    return o->categories != NULL ? add_file(sum, o->categories) : sum;
}

/* ---- their order ---------------------------------------------------------------------------------------------------
 */

struct sized {
    uint64_t bytes;
    size_t task;
};

static int compare_sizes(const void *left, const void *right)
{
    const struct sized *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

size_t *gm_fleet_order(const struct gm_fleet_task *tasks, size_t count)
{
    size_t *order = calloc(count + 1, sizeof *order);
    struct sized *sized = calloc(count + 1, sizeof *sized);
    if (order == NULL || sized == NULL) {
        free(order);
        free(sized);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sized[i] = (struct sized){tasks[i].file->bytes, i};
    qsort(sized, count, sizeof *sized, compare_sizes);
    for (size_t i = 0; i < count; i++)
        order[i] = sized[i].task;
    free(sized);
    return order;
}

/* ---- progress ------------------------------------------------------------------------------------------------------
 */

void gm_fleet_progress_start(struct gm_fleet_progress *p, const struct gm_fleet_context *context,
                             const struct gm_fleet_task *tasks, size_t count)
{
    *p = (struct gm_fleet_progress){.total = count};
    for (size_t i = 0; i < count; i++)
        p->bytes += tasks[i].file->bytes;
    gm_bar_start(&p->bar, context->options.quiet ? NULL : &context->terminal);
}

/* "[########            ] 31 of 640 read, 12.3 files/s, 2 min left" */
void gm_fleet_progress_show(struct gm_fleet_progress *p)
{
    const double seconds = gm_bar_due(&p->bar);
    if (seconds <= 0)
        return;
    const uint64_t done = p->bytes > 0 ? p->bytes_done : p->done, all = p->bytes > 0 ? p->bytes : p->total;
    struct gm_text text = {0};
    gm_text_printf(&text, "%zu of %zu read, %.1f files/s", p->done, p->total, (double)p->done / seconds);
    if (done > 0) {
        const double rest = seconds * ((double)all / (double)done - 1);
        if (rest < 100)
            gm_text_printf(&text, ", %.0f s left", rest);
        else
            gm_text_printf(&text, ", %.0f min left", rest / 60);
    }
    gm_bar_draw(&p->bar, done, all, &text);
}

/* ---- all files -----------------------------------------------------------------------------------------------------
 */

struct work {
    struct gm_fleet_task *tasks;
    const size_t *order;
    size_t count;
    const struct gm_fleet_context *context;
    atomic_size_t next;
    struct gm_fleet_progress progress; /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void *work(void *argument)
{
    struct work *w = argument;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) {
        struct gm_fleet_task *task = &w->tasks[w->order == NULL ? i : w->order[i]];
        gm_fleet_task_run(task, w->context);
        pthread_mutex_lock(&w->lock);
        w->progress.done++;
        w->progress.bytes_done += task->file->bytes;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

static void watch(struct work *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->progress.done < w->count) {
        gm_fleet_progress_show(&w->progress);
        gm_bar_wait(&w->changed, &w->lock);
    }
    gm_bar_clear(&w->progress.bar);
    pthread_mutex_unlock(&w->lock);
}

void gm_fleet_tasks_run(struct gm_fleet_task *tasks, size_t count, const struct gm_fleet_context *context)
{
    size_t *order = gm_fleet_order(tasks, count); /* without memory for it: as they are */
    struct work w = {.tasks = tasks, .order = order, .count = count, .context = context};
    pthread_t threads[MOST_THREADS];
    size_t started = 0;
    pthread_mutex_init(&w.lock, NULL);
    gm_bar_init_condition(&w.changed);
    gm_fleet_progress_start(&w.progress, context, tasks, count);
    while (started < MOST_THREADS && started < count && started < (size_t)context->threads &&
           pthread_create(&threads[started], NULL, work, &w) == 0)
        started++;
    if (started == 0)
        work(&w);
    else
        watch(&w);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(order);
}
