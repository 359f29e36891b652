/* SPDX-License-Identifier: Apache-2.0
 *
 * gmfleet: a thin main. Options and operands in; files found, records made, the fleet, its run directory, messages and
 * the exit code out.
 */
#include "analyze/cli/gmfleet.h"

#include "analyze/cli/call.h"
#include "analyze/cli/fleet_mpi.h"
#include "analyze/cli/fleet_outputs.h"
#include "analyze/cli/fleet_work.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/paths.h"
#include "analyze/cli/rules_file.h"
#include "analyze/document/documents.h"
#include "analyze/fleet/fleet.h"
#include "analyze/fleet/place.h"
#include "analyze/fleet/record.h"
#include "analyze/run/run_names.h"
#include "replay/whatif/gpus.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(field) .offset = offsetof(struct gm_fleet_cli_options, field)

static const struct gm_option option_table[] = {
    {'o', "results", "DIR", "where run directories go (default: results)", GM_OPTION_TEXT, AT(results)},
    {'n', "name", "NAME", "name of the run (default: that of the operand, or fleet)", GM_OPTION_TEXT, AT(name)},
    {0, "pattern", "PATTERN",
     "how rank and iteration stand in the paths, as in 'job*/it{iteration}/r{rank}.pickle'; it must match the end of "
     "a path from a / on",
     GM_OPTION_TEXT, AT(pattern)},
    {0, "memory", "SIZE", "a device's memory: how many iterations are left until growth fills it", GM_OPTION_SIZE,
     AT(memory)},
    {0, "gpu", "NAME", "... that of a card, less its CUDA context: h100-80 ...; list shows all", GM_OPTION_TEXT,
     AT(gpu)},
    {0, "each", NULL, "also the run directory that gmanalyze makes, for each snapshot", GM_OPTION_FLAG, AT(each)},
    {0, "resume", NULL, "take what an interrupted run with the same --results had finished", GM_OPTION_FLAG,
     AT(resume)},
    {0, "json", "FILE", "write fleet.json there too; - is stdout, instead of the summary", GM_OPTION_TEXT, AT(json)},
    {0, "categories", "FILE", "category rules to use instead of the built-in ones", GM_OPTION_TEXT, AT(categories)},
    {0, "device", "N", "this device of each snapshot only", GM_OPTION_INTEGER, AT(device), .min = 0, .max = 65535},
    {0, "top", "N", "call sites of each difference in fleet.json (default: 50)", GM_OPTION_INTEGER, AT(top), .min = 1,
     .max = 1000000},
    {'j', "jobs", "N", "snapshots in memory at the same time (default: one for each CPU)", GM_OPTION_INTEGER,
     AT(threads), .min = 1, .max = 256},
    {0, "no-charts", NULL, "no pictures", GM_OPTION_FLAG, AT(no_charts)},
    {0, "max-memory", "SIZE", GM_MAX_MEMORY_HELP, GM_OPTION_SIZE, AT(max_memory)},
    {0, "salvage", NULL, "count what is complete of a damaged file", GM_OPTION_FLAG, AT(salvage)},
    {'q', "quiet", NULL, "no summary and no warnings, only errors", GM_OPTION_FLAG, AT(quiet)},
    {'v', "verbose", NULL, "tell on stderr how long each phase took", GM_OPTION_FLAG, AT(verbose)},
    {'h', "help", NULL, "print this page", GM_OPTION_HELP, .offset = 0},
    {'V', "version", NULL, "print the version", GM_OPTION_VERSION, .offset = 0},
};

static const struct gm_program program = {
    .name = "gmfleet",
    .head = "gmfleet: the GPU memory of all ranks and iterations of a PyTorch job on one page\n"
            "\n"
            "Examples:\n"
            "  gmfleet memory_snapshots/               a page in ./results/DATE_TIME_...\n"
            "  gmfleet --gpu h100-80 snapshots/        how many iterations until it is full\n"
            "  gmfleet --pattern 'it{iteration}/r{rank}.pickle' run7/\n"
            "  gmfleet --resume snapshots/             go on after an interruption\n"
            "  mpirun -n 16 gmfleet snapshots/         by several processes, or machines\n"
            "\n"
            "Usage: gmfleet [options] DIR|SNAPSHOT...\n"
            "  DIR       is searched for snapshots, by content and by suffix\n"
            "  SNAPSHOT  a memory snapshot: pickle, JSON, _memory_viz.py HTML or .gmtrace,\n"
            "            also .gz and .zst; - is stdin\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "Sizes are a number and a unit, all binary: 512MiB, 1.5GiB, 70G.\n"
            "Rank and iteration are found in paths like iteration_5/rank3_snapshot.pickle.\n"
            "\n"
            "Exit codes: 0 done; 2 wrong usage; 3 a snapshot is missing or damaged, or there\n"
            "is none (the others are on the page all the same); 5 an output could not be\n"
            "written, or an internal error.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
};

struct call {
    struct gm_fleet_context context;
    struct gm_fleet_mpi *mpi; /* NULL: one process */
    struct gm_call said;      /* mute if this is not the process that talks */
};

/* ---- the command line ----------------------------------------------------------------------------------------------
 */

static enum gm_status check_options(const struct gm_fleet_cli_options *o, char **operands, size_t count,
                                    struct gm_error *err)
{
    if (count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no DIR and no SNAPSHOT given");
    if (o->results[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--results is empty");
    if (o->memory != UINT64_MAX && o->gpu != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--memory and --gpu both say how much memory there is");
    enum gm_status status = gm_paths_check_stdin(operands, count, o->each ? 0 : 1, err); /* --each reads all twice */
    if (status == GM_OK && o->pattern != NULL)
        status = gm_place_check_pattern(o->pattern, err);
    return status;
}

static enum gm_status find_capacity(struct call *call, struct gm_fleet_options *options, struct gm_error *err)
{
    const struct gm_fleet_cli_options *o = &call->context.options;
    options->capacity = o->memory == UINT64_MAX ? GM_REPORT_NONE : o->memory;
    if (o->gpu == NULL)
        return GM_OK;
    const struct gm_gpu *gpu;
    char note[GM_GPU_NOTE];
    enum gm_status status = gm_gpu_choose(&gpu, note, o->gpu, err);
    if (status != GM_OK)
        return status;
    options->capacity = gm_gpu_usable(gpu);
    options->capacity_name = gpu->title;
    if (note[0] != '\0' && !call->said.is_mute)
        gm_call_note(&call->said, note);
    return GM_OK;
}

/* That of the only operand; "fleet" for several, and for one without a name. */
static void name_run(char out[GM_NAME_SIZE], const struct gm_fleet_cli_options *o, char **operands, size_t count)
{
    const char *name = o->name;
    char *copy = NULL;
    struct stat st;
    if (name == NULL && count == 1 && stat(operands[0], &st) == 0 && S_ISDIR(st.st_mode) &&
        (copy = strdup(operands[0])) != NULL) {
        for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
            copy[n - 1] = '\0';
        const char *slash = strrchr(copy, '/');
        name = slash == NULL ? copy : slash + 1;
    }
    if (name == NULL || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        name = "fleet";
    gm_name_clean(out, name);
    free(copy);
}

/* ---- from files to records -----------------------------------------------------------------------------------------
 */

/* Files without a suffix that only looked like snapshots are forgotten; the others that failed are told. */
static size_t keep_tasks(struct call *call, struct gm_fleet_task *tasks, size_t count)
{
    size_t kept = 0, resumed = 0;
    for (size_t i = 0; i < count; i++) {
        struct gm_fleet_task *task = &tasks[i];
        if (task->status != GM_OK && !task->file->is_said) {
            gm_text_free(&task->record);
            continue;
        }
        resumed += task->was_kept;
        tasks[kept++] = *task;
    }
    if (resumed > 0) {
        char text[96];
        snprintf(text, sizeof text, "%zu of %zu snapshots were finished before", resumed, kept);
        gm_call_note(&call->said, text);
    }
    return kept;
}

static void tell_failures(struct call *call, const struct gm_fleet *fleet)
{
    for (size_t i = 0; i < fleet->item_count; i++) {
        const struct gm_fleet_item *item = &fleet->items[i];
        if (item->status != GM_OK) {
            gm_call_fail_with(&call->said, item->path, item->status, item->error == NULL ? "" : item->error);
        } else if (item->each_status != GM_OK) {
            gm_call_fail_with(&call->said, item->path, item->each_status, item->each_error);
        }
        if (item->is_salvaged)
            gm_call_warn(&call->said, item->path, "damaged, only a part of it counts");
    }
    if (fleet->missing_rank_count > 0 && fleet->read_count > 0) {
        char text[128];
        snprintf(text, sizeof text, "no snapshot of %zu rank%s below the largest one: see fleet_report.txt",
                 fleet->missing_rank_count, fleet->missing_rank_count == 1 ? "" : "s");
        gm_call_warn(&call->said, NULL, text);
    }
}

static void forget_kept(const struct call *call, const struct gm_fleet_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tasks[i].has_key)
            gm_kept_forget(call->context.options.results, tasks[i].key);
    gm_kept_finish(call->context.options.results);
}

/* ---- from records to the page --------------------------------------------------------------------------------------
 */

static enum gm_status make_fleet(struct gm_fleet *fleet, struct call *call, const struct gm_fleet_task *tasks,
                                 size_t count, const struct gm_fleet_options *options, const char *name,
                                 struct gm_error *err)
{
    struct gm_fleet_part *parts = calloc(count + 1, sizeof *parts);
    char stamp[GM_RUN_DATE];
    if (parts == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct gm_fleet_part){tasks[i].file->path, tasks[i].record.data, tasks[i].record.length};
    enum gm_status status = gm_fleet_make(fleet, parts, count, options, err);
    free(parts);
    if (status != GM_OK)
        return status;
    gm_run_date(stamp, call->context.when);
    fleet->run_name = gm_arena_copy(&fleet->arena, name, strlen(name));
    fleet->timestamp = gm_arena_copy(&fleet->arena, stamp, strlen(stamp));
    return fleet->run_name != NULL && fleet->timestamp != NULL
               ? GM_OK
               : gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
}

static void say(struct call *call, const struct gm_fleet *fleet, const struct gm_run *run, struct gm_text *json)
{
    const struct gm_fleet_cli_options *o = &call->context.options;
    gm_call_put(&call->said, o->json, json);
    if (!gm_path_is_standard(o->json) && !o->quiet) {
        struct gm_text summary = {0};
        gm_fleet_summary(&summary, fleet, gm_run_path(run));
        gm_call_print(&call->said, &summary);
    }
}

static enum gm_status publish(struct call *call, const struct gm_fleet_task *tasks, size_t count,
                              const struct gm_fleet_options *options, const char *name, struct gm_error *err)
{
    struct gm_fleet fleet = {0};
    struct gm_run *run = NULL;
    struct gm_text json = {0};
    bool was_left_alone = false;
    enum gm_status status = make_fleet(&fleet, call, tasks, count, options, name, err);
    gm_call_time(&call->said, "compare");
    if (status == GM_OK)
        tell_failures(call, &fleet);
    if (status == GM_OK && fleet.read_count == 0)
        status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "no snapshot could be read: no page was made");
    if (status == GM_OK)
        status = gm_fleet_outputs_write(&run, &json, &was_left_alone, &call->context, &fleet, name, err);
    gm_call_time(&call->said, "draw+write");
    if (status == GM_OK && was_left_alone)
        gm_call_warn(&call->said, call->context.options.results, "'latest' there is no symbolic link; left as it is");
    if (status == GM_OK)
        say(call, &fleet, run, &json);
    gm_text_free(&json);
    gm_run_free(run);
    gm_fleet_free(&fleet);
    return status;
}

/* ---- the whole -----------------------------------------------------------------------------------------------------
 */

/* NULL: no memory. */
static char (*name_each(const struct gm_found_files *files, const char *name))[GM_NAME_SIZE]
{
    char(*names)[GM_NAME_SIZE] = calloc(files->n + 1, sizeof *names);
    if (names == NULL)
        return NULL;
    for (size_t i = 0; i < files->n; i++)
        gm_operands_name(names[i], files->v[i].path, name, true);
    if (gm_operands_number(names, files->n))
        return names;
    free(names);
    return NULL;
}

static enum gm_status do_all(struct call *call, const struct gm_found_files *files,
                             const struct gm_fleet_options *options, const char *name, struct gm_error *err)
{
    struct gm_fleet_task *tasks = calloc(files->n + 1, sizeof *tasks);
    char(*names)[GM_NAME_SIZE] = NULL; /* of the runs of --each */
    enum gm_status status = GM_OK;
    if (tasks == NULL ||
        (call->context.options.each && (names = name_each(files, call->context.options.name)) == NULL)) {
        free(tasks);
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    }
    for (size_t i = 0; i < files->n; i++)
        tasks[i] = (struct gm_fleet_task){.file = &files->v[i], .name = names == NULL ? NULL : names[i]};
    if (call->mpi != NULL)
        status = gm_fleet_mpi_run(call->mpi, tasks, files->n, &call->context, err);
    else
        gm_fleet_tasks_run(tasks, files->n, &call->context);
    gm_call_time(&call->said, "read+analyse");
    const size_t count = status == GM_OK ? keep_tasks(call, tasks, files->n) : 0;
    if (status == GM_OK && count == 0)
        status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "no snapshot found");
    else if (status == GM_OK)
        status = publish(call, tasks, count, options, name, err);
    if (status == GM_OK)
        forget_kept(call, tasks, count);
    for (size_t i = 0; i < count; i++)
        gm_text_free(&tasks[i].record);
    free(tasks);
    free(names);
    return status;
}

/* What every process needs, once MPI runs. */
static enum gm_status prepare(struct call *call, struct gm_error *err)
{
    struct gm_fleet_context *context = &call->context;
    const struct gm_fleet_cli_options *o = &context->options;
    enum gm_status status = GM_OK;
    if (!call->said.is_mute || o->each)
        status = gm_run_check(o->results, err);
    if (status == GM_OK)
        status = gm_rules_load(&context->rules, o->categories, err);
    if (status == GM_OK && o->resume)
        status = gm_kept_list(&context->kept, o->results, err);
    if (status != GM_OK)
        return status;
    context->threads = o->threads > 0 ? (int)o->threads : call->mpi != NULL ? 1 : gm_cpu_count();
    context->salt = gm_fleet_salt(o);
    if (!o->no_charts && (!call->said.is_mute || o->each) &&
        (context->fonts = gm_fonts_start(context->threads > 1)) == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    return GM_OK;
}

/* --json must not overwrite what is read. */
static enum gm_status check_json(const struct gm_fleet_cli_options *o, const struct gm_found_files *files,
                                 struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (size_t i = 0; status == GM_OK && i < files->n; i++)
        status = gm_paths_check_json(o->json, files->v[i].path, err);
    return status;
}

static enum gm_status run(struct call *call, char **operands, size_t count, struct gm_error *err)
{
    struct gm_fleet_context *context = &call->context;
    const struct gm_fleet_cli_options *o = &context->options;
    struct gm_fleet_options options = {.pattern = o->pattern, .top = (size_t)o->top};
    struct gm_found_files files = {0};
    char name[GM_NAME_SIZE];
    context->when = time(NULL);
    call->said.is_quiet = o->quiet;
    call->said.is_verbose = o->verbose;
    gm_call_time(&call->said, NULL);
    enum gm_status status = find_capacity(call, &options, err);
    if (status == GM_OK)
        status = gm_fleet_mpi_start(&call->mpi, err);
    if (status != GM_OK)
        return status;
    status = prepare(call, err); /* may fail on one machine only: process 0 must hear of it */
    if (gm_fleet_mpi_rank(call->mpi) > 0)
        return gm_fleet_mpi_help(call->mpi, context, status, err);
    if (status != GM_OK)
        return status;
    name_run(name, o, operands, count);
    status = gm_find_files(&files, operands, count, o->results, err);
    if (status == GM_OK)
        status = check_json(o, &files, err);
    gm_call_time(&call->said, "find");
    if (status == GM_OK)
        status = do_all(call, &files, &options, name, err);
    gm_found_files_free(&files);
    return status;
}

int main(int argc, char **argv)
{
    struct call call = {.context = {.options = {.results = "results", .device = -1, .top = 50, .memory = UINT64_MAX},
                                    .terminal = gm_terminal_open(program.name)}};
    struct gm_error err;
    enum gm_parsed page = GM_PARSED_RUN;
    int operands = 0;
    call.said = (struct gm_call){.terminal = call.context.terminal, .is_mute = gm_fleet_mpi_is_helper()};
    gm_interrupt_install();
    enum gm_status status = gm_options_parse(&program, argc, argv, &call.context.options, &operands, &page, &err);
    const bool is_list = !call.said.is_mute && gm_gpu_is_list(call.context.options.gpu);
    if (status == GM_OK && page == GM_PARSED_RUN && !is_list)
        status = check_options(&call.context.options, argv, (size_t)operands, &err);
    const bool goes_on = gm_call_goes_on(&call.said, &program, status, page, &err);
    if (goes_on && is_list) {
        struct gm_text cards = {0};
        gm_gpu_list(&cards);
        gm_call_print(&call.said, &cards);
    } else if (goes_on && run(&call, argv, (size_t)operands, &err) != GM_OK) {
        gm_call_fail(&call.said, NULL, &err);
        if (call.said.is_mute || err.status == GM_E_NOMEM || err.status == GM_E_INTERNAL)
            gm_fleet_mpi_give_up(call.mpi, call.said.exit_code);
    }
    gm_fleet_mpi_stop(call.mpi);
    gm_category_rules_free(call.context.rules);
    gm_kept_keys_free(&call.context.kept);
    gm_fonts_free(call.context.fonts);
    if (call.said.is_mute && call.mpi == NULL)
        return 0; /* process 0 fails alike, and its exit code counts */
    return gm_call_end(&call.said);
}
