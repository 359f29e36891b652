/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages: a helper says READY, UNABLE with the reason, or RESULT with what it did; process 0 answers with a TASK or,
 * when there is none left, with STOP. Process 0 reads snapshots, too, in threads of its own, and only its main thread
 * talks.
 */
#include "analyze/cli/gmfleet.h"

#include "analyze/base/beside.h"
#include "analyze/base/threads.h"
#include "analyze/cli/mpi_module.h"
#include "analyze/cli/operands.h"
#include "analyze/run/run_names.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_READY = 1, TAG_UNABLE, TAG_RESULT, TAG_TASK, TAG_STOP };
enum { PAUSE_NS = 500000 };

struct gm_fleet_mpi {
    const struct gm_mpi_module *module;
    void *library;
    int rank, size;
    bool *is_home; /* [size] was sent STOP */
};

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? -1 : strtol(text, NULL, 10);
}

/* How launchers tell a process how many there are and which one it is. */
static const struct {
    const char *size, *rank;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                 {"PMI_SIZE", "PMI_RANK"},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static bool is_launched(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (number_of(launchers[i].size) > 1)
            return true;
    return false;
}

bool gm_fleet_mpi_is_helper(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (number_of(launchers[i].size) > 1 && number_of(launchers[i].rank) > 0)
            return true;
    return false;
}

static void *open_library(void)
{
    char path[PATH_MAX];
    if (!gm_find_beside(path, GM_PRIVATE_PARTS GM_MPI_FILE))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* global: MPI's own plug-ins want its symbols */
}

enum gm_status gm_fleet_mpi_start(struct gm_fleet_mpi **mpi, struct gm_error *err)
{
    *mpi = NULL;
    if (!is_launched())
        return GM_OK;
    struct gm_fleet_mpi *m = calloc(1, sizeof *m);
    if (m == NULL)
        return gm_no_memory(err);
    m->library = open_library();
    m->module = m->library == NULL ? NULL : dlsym(m->library, GM_MPI_SYMBOL);
    if (m->module == NULL) {
        free(m);
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "started as one of several processes, but there is no usable MPI in this build");
    }
    if (!m->module->start(&m->rank, &m->size)) {
        free(m);
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "MPI does not start");
    }
    m->is_home = calloc((size_t)m->size, sizeof *m->is_home);
    if (m->is_home == NULL)
        return gm_no_memory(err);
    *mpi = m;
    return GM_OK;
}

int gm_fleet_mpi_rank(const struct gm_fleet_mpi *mpi)
{
    return mpi == NULL ? 0 : mpi->rank;
}

void gm_fleet_mpi_stop(struct gm_fleet_mpi *mpi)
{
    if (mpi == NULL)
        return;
    for (int p = 1; mpi->rank == 0 && p < mpi->size; p++)
        if (!mpi->is_home[p])
            mpi->module->send(p, TAG_STOP, NULL, 0);
    mpi->module->stop();
    free(mpi->is_home);
    free(mpi); /* the library stays: MPI may have threads */
}

void gm_fleet_mpi_give_up(struct gm_fleet_mpi *mpi, int exit_code)
{
    if (mpi != NULL)
        mpi->module->give_up(exit_code);
}

/* ---- what a result consists of ----------------------------------------------------------------------------------- */

struct result { /* the same program on all machines: as it lies in memory */
    uint64_t task, status;
    bool has_key, was_kept;
    char key[GM_RETAINED_KEY];
};

static enum gm_status broken(struct gm_error *err)
{
    return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "MPI: a message could not be sent or received");
}

/* ---- the helpers ------------------------------------------------------------------------------------------------- */

static bool do_task(struct gm_fleet_mpi *mpi, const struct gm_fleet_context *context, char *message, size_t length)
{
    struct gm_found_file file = {.path = message + sizeof(uint64_t), .is_said = true};
    char name[GM_NAME_SIZE] = "";
    struct gm_fleet_task task = {.file = &file, .name = name};
    GM_FREED struct gm_text out = {0};
    struct result result = {.task = 0};
    if (length < sizeof result.task + 2) /* the path and the name end in a 0: see send_task */
        return false;
    memcpy(&result.task, message, sizeof result.task);
    const char *sent = file.path + strlen(file.path) + 1;
    memcpy(name, sent, strnlen(sent, sizeof name - 1));
    gm_fleet_task_run(&task, context);
    result.status = (uint64_t)task.status;
    result.has_key = task.has_key;
    result.was_kept = task.was_kept;
    memcpy(result.key, task.key, sizeof result.key);
    gm_text_add_bytes(&out, &result, sizeof result);
    gm_text_add_bytes(&out, task.record.data, task.record.length);
    const bool ok = !out.failed && mpi->module->send(0, TAG_RESULT, out.data, out.length);
    gm_text_free(&task.record);
    return ok;
}

enum gm_status gm_fleet_mpi_help(struct gm_fleet_mpi *mpi, const struct gm_fleet_context *context,
                                 enum gm_status status, struct gm_error *err)
{
    int from, tag = TAG_READY;
    size_t length;
    void *message;
    bool ok = status == GM_OK ? mpi->module->send(0, TAG_READY, NULL, 0)
                              : mpi->module->send(0, TAG_UNABLE, err->message, strlen(err->message));
    while (ok && tag != TAG_STOP) {
        ok = mpi->module->receive(true, &from, &tag, &message, &length);
        if (ok && tag == TAG_TASK)
            ok = do_task(mpi, context, message, length);
        if (ok || message != NULL)
            free(message);
    }
    return ok ? GM_OK : broken(err);
}

/* ---- process 0 --------------------------------------------------------------------------------------------------- */

struct hall {
    struct gm_fleet_mpi *mpi;
    struct gm_fleet_task *tasks;
    const size_t *order;
    size_t count;
    const struct gm_fleet_context *context;
    atomic_size_t next;
    struct gm_fleet_progress progress;
};

/* The next task; SIZE_MAX: none is left. */
static size_t next_task(struct hall *hall)
{
    const size_t i = atomic_fetch_add(&hall->next, 1);
    return i < hall->count ? hall->order[i] : SIZE_MAX;
}

static void do_here(struct hall *hall, size_t i)
{
    gm_fleet_task_run(&hall->tasks[i], hall->context);
    gm_fleet_progress_count(&hall->progress, &hall->tasks[i]);
}

static void work_here(void *argument, size_t thread)
{
    (void)thread;
    for (size_t i; (i = next_task(argument)) != SIZE_MAX;)
        do_here(argument, i);
}

/* Tasks that only process 0 can do, or need not be done, are done here. */
static bool is_local(const struct gm_fleet_task *task)
{
    return task->file->status != GM_OK || gm_path_is_standard(task->file->path);
}

static bool send_task(struct hall *hall, int to)
{
    size_t i;
    while ((i = next_task(hall)) != SIZE_MAX && is_local(&hall->tasks[i]))
        do_here(hall, i);
    if (i == SIZE_MAX) {
        hall->mpi->is_home[to] = true;
        return hall->mpi->module->send(to, TAG_STOP, NULL, 0);
    }
    GM_FREED struct gm_text out = {0};
    const uint64_t number = i;
    const char *path = hall->tasks[i].file->path, *name = hall->tasks[i].name;
    gm_text_add_bytes(&out, &number, sizeof number);
    gm_text_add_bytes(&out, path, strlen(path) + 1);
    gm_text_add(&out, name == NULL ? "" : name);
    gm_text_add_char(&out, '\0');
    return !out.failed && hall->mpi->module->send(to, TAG_TASK, out.data, out.length);
}

static bool take_result(struct hall *hall, const char *message, size_t length)
{
    struct result result;
    if (length < sizeof result)
        return false;
    memcpy(&result, message, sizeof result);
    if (result.task >= hall->count || hall->tasks[result.task].is_done || result.status > GM_E_INTERNAL)
        return false;
    struct gm_fleet_task *task = &hall->tasks[result.task];
    task->status = (enum gm_status)result.status;
    task->has_key = result.has_key;
    task->was_kept = result.was_kept;
    memcpy(task->key, result.key, sizeof task->key);
    gm_text_add_bytes(&task->record, message + sizeof result, length - sizeof result);
    task->is_done = true;
    gm_fleet_progress_count(&hall->progress, task);
    return !task->record.failed;
}

static bool send_home(struct hall *hall, int who, const char *why, size_t length)
{
    struct gm_text message = {0};
    gm_message_add(&message, &hall->context->shell.said.terminal, GM_MESSAGE_WARNING, NULL,
                   "warning: process %d does not take part: %.*s", who, (int)(length < 1000 ? length : 1000), why);
    gm_bar_hold(&hall->progress.bar);
    if (hall->context->options.usual.quiet)
        gm_text_free(&message);
    else
        gm_message_flush(&message);
    gm_bar_release(&hall->progress.bar);
    hall->mpi->is_home[who] = true;
    return hall->mpi->module->send(who, TAG_STOP, NULL, 0);
}

/* Until every helper was sent home. */
static bool serve(struct hall *hall)
{
    int at_work = hall->mpi->size - 1;
    while (at_work > 0) {
        int from, tag;
        void *message;
        size_t length;
        if (!hall->mpi->module->receive(false, &from, &tag, &message, &length))
            return false;
        if (from < 0) { /* not to take a processor from those who read */
            const struct timespec pause = {0, PAUSE_NS};
            nanosleep(&pause, NULL);
            continue;
        }
        const bool ok = tag == TAG_UNABLE
                            ? send_home(hall, from, message, length)
                            : (tag != TAG_RESULT || take_result(hall, message, length)) && send_task(hall, from);
        free(message);
        if (!ok)
            return false;
        at_work -= hall->mpi->is_home[from];
    }
    return true;
}

enum gm_status gm_fleet_mpi_run(struct gm_fleet_mpi *mpi, struct gm_fleet_task *tasks, size_t count,
                                const struct gm_fleet_context *context, struct gm_error *err)
{
    GM_FREED size_t *order = gm_fleet_order(tasks, count);
    struct hall hall = {.mpi = mpi, .tasks = tasks, .order = order, .count = count, .context = context};
    struct gm_threads threads;
    if (order == NULL)
        return gm_no_memory(err);
    gm_fleet_progress_start(&hall.progress, context, tasks, count);
    gm_threads_start(&threads, (size_t)context->shell.threads, (size_t)context->shell.threads, work_here, &hall);
    const bool ok = serve(&hall);
    gm_threads_finish(&threads);
    gm_bar_stop(&hall.progress.bar);
    return ok ? GM_OK : broken(err);
}
