/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/gmfleet.h"

#include "analyze/base/clock.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/base/threads.h"
#include "analyze/cli/job.h"
#include "analyze/fleet/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static const struct gm_terminal plain = {.program = "--each"};

/* The first line of what a job said on `plain`, without what every line begins with. */
static void fail_each(struct gm_error *err, const struct gm_job *job)
{
    GM_FREED struct gm_text head = {0};
    const char *said = job->messages.data == NULL ? gm_status_text(job->status) : job->messages.data;
    gm_message_add(&head, &plain, GM_MESSAGE_ERROR, job->path, "%s", "");
    const size_t n = head.data == NULL || head.length == 0 ? 0 : head.length - 1; /* without its line feed */
    if (n > 0 && strncmp(said, head.data, n) == 0)
        said += n;
    gm_fail(err, job->status == GM_OK ? GM_E_INTERNAL : job->status, GM_NO_OFFSET, "--each: %.*s",
            (int)strcspn(said, "\n"), said);
}

/* The run directory that gmanalyze would make; false if it could not be made. */
static bool run_each(struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const struct gm_fleet_cli_options *o = &context->options;
    struct gm_shell shell = context->shell;
    struct gm_analyze_context each = {
        .options = GM_ANALYZE_DEFAULTS, .shell = &shell, .terminal = plain, .draw_threads = 1};
    each.options.usual = o->usual;
    each.options.usual.top = 50;
    each.options.usual.quiet = true;
    each.options.usual.verbose = false;
    GM_FREED_BY(gm_job_free) struct gm_job job = {.path = task->file->path, .is_one_of_several = true};
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
    return ok;
}

/* A run directory belongs to a path: with --each files of the same content are not the same. */
static uint64_t salt_of(const struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const char *path = task->file->path;
    return context->options.each ? gm_record_sum(path, strlen(path), context->salt) : context->salt;
}

/* Whether the run has taken long enough for its records to be kept: of the beginning, what was read is read again as
 * soon. */
static bool is_long(const struct gm_fleet_context *context)
{
    static const double enough = 0.25; /* seconds since the files were found */
    return context->options.each || gm_seconds() - context->shell.said.clock > enough;
}

static void read_task(struct gm_fleet_task *task, const struct gm_fleet_context *context)
{
    const struct gm_record_options options = {.rules = context->shell.rules,
                                              .device = context->options.usual.device,
                                              .salvage = context->options.usual.salvage,
                                              .max_memory = context->options.usual.max_memory,
                                              .progress = &task->reading};
    struct gm_error err = task->file->error;
    task->status = task->file->status;
    if (task->status != GM_OK) {
        gm_record_fail(&task->record, &err);
        return;
    }
    task->has_key = gm_retained_key(task->key, task->file, salt_of(task, context));
    if (task->has_key && gm_retained_has(&context->kept, task->key) &&
        gm_retained_load(&task->record, context->options.usual.results, task->key)) {
        task->was_kept = true;
        return;
    }
    task->status = gm_record_make(&task->record, task->file->path, &options, &err);
    bool is_whole = task->status == GM_OK;
    if (is_whole && context->options.each)
        is_whole = run_each(task, context);
    if (is_whole && task->has_key && is_long(context))
        gm_retained_save(context->options.usual.results, task->key, &task->record);
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
    GM_FREED unsigned char *bytes = malloc(RULES_MOST);
    FILE *file = bytes != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
    if (file == NULL) { /* cannot be told again: then nothing of this run is found again */
        const time_t now[2] = {time(NULL), getpid()};
        return gm_record_sum(now, sizeof now, sum);
    }
    const size_t n = fread(bytes, 1, RULES_MOST, file);
    fclose(file);
    return gm_record_sum(bytes, n, sum);
}

uint64_t gm_fleet_salt(const struct gm_fleet_cli_options *o)
{
    static const char version[] = GM_RECORD_MAGIC " " GM_VERSION;
    const int64_t numbers[] = {o->usual.device,
                               o->usual.salvage,
                               (int64_t)o->usual.max_memory,
                               o->each,
                               o->each && o->usual.no_charts,
                               o->usual.categories != NULL};
    uint64_t sum = gm_record_sum(version, sizeof version, GM_RECORD_SUM_START);
    sum = gm_record_sum(numbers, sizeof numbers, sum);
    if (o->each && o->usual.name != NULL)
        sum = gm_record_sum(o->usual.name, strlen(o->usual.name), sum);
    return o->usual.categories != NULL ? add_file(sum, o->usual.categories) : sum;
}

/* ---- their order ------------------------------------------------------------------------------------------------- */

struct sized {
    uint64_t bytes;
    size_t task;
};

GM_ORDERING(compare_sizes, struct sized, GM_DOWN(bytes) || GM_UP(task));

size_t *gm_fleet_order(const struct gm_fleet_task *tasks, size_t count)
{
    size_t *order = calloc(count + 1, sizeof *order);
    GM_FREED struct sized *sized = calloc(count + 1, sizeof *sized);
    if (order == NULL || sized == NULL) {
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sized[i] = (struct sized){tasks[i].file->bytes, i};
    qsort(sized, count, sizeof *sized, compare_sizes);
    for (size_t i = 0; i < count; i++)
        order[i] = sized[i].task;
    return order;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* "[########            ] 31 of 640 read, 12.3 files/s, 60.12 MiB/s, 2 min left" */
static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    const struct gm_fleet_progress *p = argument;
    const size_t files = atomic_load(&p->done);
    uint64_t bytes = 0;
    char size[GM_SIZE_TEXT];
    for (size_t i = 0; i < p->total; i++)
        bytes += atomic_load(&p->tasks[i].reading.done);
    line->done = p->bytes > 0 ? (bytes + atomic_load(&p->bytes_done)) / 2 : files; /* reading is half of it */
    line->all = p->bytes > 0 ? p->bytes : p->total;
    gm_text_printf(&line->text, "%zu of %zu read, %.1f files/s", files, p->total, (double)files / seconds);
    gm_text_printf(&line->text, ", %s/s", gm_size_format(size, (uint64_t)((double)bytes / seconds)));
    if (line->done > 0)
        gm_bar_add_left(&line->text, seconds * ((double)line->all / (double)line->done - 1));
}

void gm_fleet_progress_start(struct gm_fleet_progress *p, const struct gm_fleet_context *context,
                             const struct gm_fleet_task *tasks, size_t count)
{
    *p = (struct gm_fleet_progress){.tasks = tasks, .total = count};
    for (size_t i = 0; i < count; i++)
        p->bytes += tasks[i].file->bytes;
    gm_bar_start(&p->bar, context->options.usual.quiet ? NULL : &context->shell.said.terminal, tell, p);
}

void gm_fleet_progress_count(struct gm_fleet_progress *p, struct gm_fleet_task *task)
{
    atomic_store(&task->reading.done, task->file->bytes);
    atomic_fetch_add(&p->bytes_done, task->file->bytes);
    atomic_fetch_add(&p->done, 1);
}

/* ---- all files --------------------------------------------------------------------------------------------------- */

struct work {
    struct gm_fleet_task *tasks;
    const size_t *order;
    const struct gm_fleet_context *context;
    struct gm_fleet_progress progress;
};

static void work(void *argument, size_t i)
{
    struct work *w = argument;
    struct gm_fleet_task *task = &w->tasks[w->order == NULL ? i : w->order[i]];
    gm_fleet_task_run(task, w->context);
    gm_fleet_progress_count(&w->progress, task);
}

void gm_fleet_tasks_run(struct gm_fleet_task *tasks, size_t count, const struct gm_fleet_context *context)
{
    GM_FREED size_t *order = gm_fleet_order(tasks, count); /* without memory for it: as they are */
    struct work w = {.tasks = tasks, .order = order, .context = context};
    struct gm_threads threads;
    gm_fleet_progress_start(&w.progress, context, tasks, count);
    gm_threads_run(&threads, count, (size_t)context->shell.threads, work, &w);
    gm_bar_stop(&w.progress.bar);
}
