/* SPDX-License-Identifier: Apache-2.0
 *
 * gmfleet: a thin main. Options and operands in; files found, records made, the fleet, its run directory, messages and
 * the exit code out.
 */
#include "analyze/cli/gmfleet.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/threads.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/page_runs.h"
#include "analyze/document/documents.h"
#include "analyze/fleet/fleet.h"
#include "analyze/fleet/place.h"
#include "analyze/formats/load.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"
#include "render/render.h"
#include "replay/whatif/gpus.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(field) .offset = offsetof(struct gm_fleet_cli_options, field)

static const struct gm_option option_table[] = {
    GM_ROW_RESULTS,
    GM_ROW_NAME("name of the run (default: that of the operand, or fleet)"),
    {0, "pattern", "PATTERN",
     "how rank and iteration stand in the paths, as in 'job*/it{iteration}/r{rank}.pickle'; it must match the end of "
     "a path from a / on" GM_MORE "What stands for what: [fleet.md](fleet.md#rank-and-iteration).",
     GM_OPTION_TEXT, AT(pattern)},
    {0, "memory", "SIZE", "a device's memory: how many iterations are left until growth fills it", GM_OPTION_SIZE,
     AT(memory)},
    {0, "gpu", "NAME",
     "a device's memory as that of a card, less its CUDA context: h100-80 ...; list shows all" GM_MORE
     "The slope is that of growth from iteration to iteration: [fleet.md](fleet.md#what-is-compared).",
     GM_OPTION_LISTED, AT(gpu), .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "each", NULL,
     "also the run directory that gmanalyze makes, for each snapshot" GM_MORE
     "It reads each file a second time. Equal names get `_2`, `_3` ... in the order of the paths; `latest` points at "
     "the page.",
     GM_OPTION_FLAG, AT(each)},
    {0, "resume", NULL,
     "take what an interrupted run with the same --results had finished" GM_MORE
     "What is kept, and when it is taken: [fleet.md](fleet.md#interruption).",
     GM_OPTION_FLAG, AT(resume)},
    GM_ROW_JSON("write fleet.json there too; - is stdout, instead of the summary"),
    GM_ROW_FORMAT,
    GM_ROW_FORMAT_SOURCE,
    GM_ROW_CATEGORIES("category rules to use instead of the built-in ones"),
    GM_ROW_DEVICE("this device of each snapshot only"),
    GM_ROW_TOP("call sites of each difference in fleet.json (default: 50)"),
    GM_ROW_JOBS("snapshots in memory at the same time (default: one for each CPU)", 256),
    GM_ROW_NO_CHARTS("no pictures"),
    GM_ROWS_PAGE,
    GM_ROW_MAX_MEMORY,
    GM_ROW_SALVAGE("count what is complete of a damaged file"),
    GM_ROW_QUIET("no summary and no warnings, only errors"),
    GM_ROW_VERBOSE("tell on stderr how long each phase took"),
    GM_ROWS_PAGES,
};

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err);

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
    .check = check_options,
};

struct call {
    struct gm_fleet_context context;
    struct gm_fleet_mpi *mpi; /* NULL: one process */
};

/* ---- the command line -------------------------------------------------------------------------------------------- */

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    const struct gm_fleet_cli_options *o = values;
    if (*count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no DIR and no SNAPSHOT given");
    if (o->memory != UINT64_MAX && o->gpu != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--memory and --gpu both say how much memory there is");
    const size_t most = o->each ? 0 : 1; /* --each reads all twice */
    enum gm_status status = gm_paths_check_stdin(operands, (size_t)*count, most, err);
    GM_THEN(status, gm_formats_check(&o->usual, NULL, err));
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
    GM_TRY(gm_gpu_choose(&gpu, note, "--gpu", o->gpu, err));
    options->capacity = gm_gpu_usable(gpu);
    options->capacity_name = gpu->title;
    if (note[0] != '\0' && !call->context.shell.said.is_mute)
        gm_call_note(&call->context.shell.said, note);
    return GM_OK;
}

/* That of the only operand; "fleet" for several, and for one without a name. */
static void name_run(char out[GM_NAME_SIZE], const struct gm_fleet_cli_options *o, char **operands, size_t count)
{
    const char *name = o->usual.name;
    GM_FREED char *copy = NULL;
    struct stat st;
    if (name == NULL && count == 1 && stat(operands[0], &st) == 0 && S_ISDIR(st.st_mode) &&
        (copy = strdup(operands[0])) != NULL) {
        for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
            copy[n - 1] = '\0';
        name = gm_file_name(copy);
    }
    if (name == NULL || name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        name = "fleet";
    gm_name_clean(out, name);
}

/* ---- from files to records --------------------------------------------------------------------------------------- */

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
        gm_call_note(&call->context.shell.said, text);
    }
    return kept;
}

static void tell_failures(struct call *call, const struct gm_fleet *fleet)
{
    for (size_t i = 0; i < fleet->item_count; i++) {
        const struct gm_fleet_item *item = &fleet->items[i];
        if (item->status != GM_OK) {
            gm_call_fail_with(&call->context.shell.said, item->path, item->status,
                              item->error == NULL ? "" : item->error);
        } else if (item->each_status != GM_OK) {
            gm_call_fail_with(&call->context.shell.said, item->path, item->each_status, item->each_error);
        }
        if (item->is_salvaged)
            gm_call_warn(&call->context.shell.said, item->path, "damaged, only a part of it counts");
    }
    if (fleet->missing_rank_count > 0 && fleet->read_count > 0) {
        char text[128];
        snprintf(text, sizeof text, "no snapshot of %zu rank%s below the largest one: see fleet_report.txt",
                 fleet->missing_rank_count, fleet->missing_rank_count == 1 ? "" : "s");
        gm_call_warn(&call->context.shell.said, NULL, text);
    }
}

static void forget_kept(const struct call *call, const struct gm_fleet_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tasks[i].has_key)
            gm_retained_forget(call->context.options.usual.results, tasks[i].key);
    gm_retained_finish(call->context.options.usual.results);
}

/* ---- from records to the page ------------------------------------------------------------------------------------ */

static enum gm_status make_fleet(struct gm_fleet *fleet, struct call *call, const struct gm_fleet_task *tasks,
                                 size_t count, const struct gm_fleet_options *options, const char *name,
                                 struct gm_error *err)
{
    GM_FREED struct gm_fleet_part *parts = calloc(count + 1, sizeof *parts);
    if (parts == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct gm_fleet_part){tasks[i].file->path, tasks[i].record.data, tasks[i].record.length};
    GM_TRY(gm_fleet_make(fleet, parts, count, options, err));
    return gm_shell_name(&fleet->arena, &fleet->run_name, &fleet->timestamp, name, call->context.shell.when, err);
}

static const char json_name[] = "fleet.json";

/* The texts, while other threads draw. */
static enum gm_status make(struct gm_run_files *files, const struct gm_shell *shell, const struct gm_fleet *fleet,
                           struct gm_error *err)
{
    const struct gm_charted charted = gm_charts_of_fleet(fleet);
    const struct gm_chart_list list = gm_chart_list_of(charted);
    struct gm_charts *charts;
    const enum gm_status status = gm_charts_start(&charts, shell->fonts, charted, shell->threads, err);
    gm_fleet_document(gm_run_files_text(files, json_name), GM_JSON, fleet, NULL);
    gm_fleet_document(gm_run_files_text(files, "fleet_report.txt"), GM_TXT, fleet, NULL);
    gm_fleet_document(gm_run_files_text(files, "README.md"), GM_MD, fleet, shell->fonts != NULL ? list.v : NULL);
    gm_fleet_csv(gm_run_files_text(files, "fleet.csv"), fleet);
    return gm_charts_finish(charts, status, files, err);
}

/* ---- memory.html: the ranks of the iteration that is told, those that reserve most if they are many -------------- */

enum { PAGE_RANKS = 16, PAGE_BYTES = 64 << 20 };

GM_ORDERING_OF_POINTERS(most_reserved, struct gm_fleet_item,
                        GM_BY(GM_ORDER(gm_fleet_reserved(b), gm_fleet_reserved(a))) || GM_BY(GM_ORDER(a, b)));

GM_ORDERING_OF_POINTERS(by_item, struct gm_fleet_item, GM_BY(GM_ORDER(a, b)));

struct page_work {
    const struct gm_usual_options *usual;
    const char *created;
    const struct gm_fleet_item **items; /* those of this turn */
    struct gm_page_trace *traces;       /* theirs */
    bool *are_lost;
};

/* A snapshot is read again, for its record has no trace. */
static void read_trace(void *argument, size_t i)
{
    const struct page_work *work = argument;
    const struct gm_usual_options *usual = work->usual;
    const struct gm_fleet_item *item = work->items[i];
    struct gm_page_trace *trace = &work->traces[i];
    const struct gm_load_options load = {.salvage = usual->salvage, .max_memory = usual->max_memory};
    struct gm_snapshot snapshot = {0};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    enum gm_status status = gm_snapshot_load(&snapshot, item->path, &load, &err);
    GM_THEN(status, gm_page_trace_make(trace, &snapshot, &err));
    gm_snapshot_free(&snapshot);
    work->are_lost[i] = status != GM_OK;
    if (status != GM_OK)
        gm_page_trace_free(trace);
    else
        gm_page_trace_call(trace, item->name, item->path, work->created);
}

/* As many at a time as there are threads, until they are enough. Returns how many are for the page. One that can no
 * longer be read is told, and has no trace. */
static size_t read_traces(struct call *call, struct gm_page_trace *traces, const struct gm_fleet_item **items, size_t n,
                          const char *created)
{
    const size_t width = (size_t)call->context.shell.threads;
    bool are_lost[PAGE_RANKS] = {false};
    size_t count = 0, bytes = 0;
    for (size_t first = 0; first < n && bytes < PAGE_BYTES; first += width) {
        struct page_work work = {&call->context.options.usual, created, items + first, traces + first,
                                 are_lost + first};
        struct gm_threads threads;
        gm_threads_run(&threads, gm_min(width, n - first), width, read_trace, &work);
        for (; count < n && count < first + width && bytes < PAGE_BYTES; count++) {
            bytes += traces[count].trace.length;
            if (are_lost[count])
                gm_call_warn(&call->context.shell.said, items[count]->path,
                             "it could not be read again, so memory.html lacks it");
        }
    }
    return count;
}

static enum gm_status add_page(struct call *call, struct gm_run_files *files, const struct gm_fleet *fleet,
                               struct gm_error *err)
{
    GM_FREED const struct gm_fleet_item **items = calloc(fleet->row_count + 1, sizeof *items);
    struct gm_page_trace traces[PAGE_RANKS] = {0};
    const struct gm_page_trace *list[PAGE_RANKS];
    size_t n = 0;
    if (items == NULL)
        return gm_no_memory(err);
    for (size_t row = 0; row < fleet->row_count; row++) {
        const size_t item = gm_fleet_find(fleet, row, fleet->reference);
        if (item != SIZE_MAX && fleet->items[item].status == GM_OK && fleet->items[item].events > 0)
            items[n++] = &fleet->items[item];
    }
    if (n > PAGE_RANKS) {
        qsort(items, n, sizeof *items, most_reserved);
        n = PAGE_RANKS;
        qsort(items, n, sizeof *items, by_item);
    }
    const size_t count = read_traces(call, traces, items, n, fleet->timestamp);
    for (size_t i = 0; i < count; i++)
        list[i] = &traces[i];
    gm_page_add(files, list, count, &call->context.shell.rules_text);
    for (size_t i = 0; i < n; i++)
        gm_page_trace_free(&traces[i]);
    return GM_OK;
}

/* For --format. */
static enum gm_status put_notices(struct call *call, const struct gm_fleet *fleet, struct gm_error *err)
{
    const struct gm_usual_options *usual = &call->context.options.usual;
    GM_FREED_BY(gm_notices_free) struct gm_notices notices = {.failed = false};
    struct gm_notice_places places;
    const enum gm_status status = gm_formats_open_places(&places, usual, err);
    if (status == GM_OK && usual->formats.n > 0) {
        gm_notices_of_fleet(&notices, fleet, &places);
        gm_formats_put(&call->context.shell.said, &usual->formats, &notices);
    }
    gm_formats_close_places(&places);
    return status;
}

static enum gm_status publish(struct call *call, const struct gm_fleet_task *tasks, size_t count,
                              const struct gm_fleet_options *options, const char *name, struct gm_error *err)
{
    GM_FREED_BY(gm_fleet_free) struct gm_fleet fleet = {0};
    struct gm_run *run = NULL;
    GM_FREED_BY(gm_run_files_free) struct gm_run_files files = {.count = 0};
    struct gm_shell *shell = &call->context.shell;
    enum gm_status status = make_fleet(&fleet, call, tasks, count, options, name, err);
    gm_call_time(&call->context.shell.said, "compare");
    if (status == GM_OK)
        tell_failures(call, &fleet);
    GM_THEN(status, put_notices(call, &fleet, err));
    if (status == GM_OK && fleet.read_count == 0)
        status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "no snapshot could be read: no page was made");
    GM_THEN(status, make(&files, shell, &fleet, err));
    if (status == GM_OK && !shell->options->no_page && gm_page_is_there())
        status = add_page(call, &files, &fleet, err);
    GM_THEN(status, gm_shell_publish(&run, shell, &files, name, json_name, err));
    if (status == GM_OK) {
        struct gm_text summary = {0};
        gm_fleet_summary(&summary, &fleet, gm_run_path(run));
        gm_shell_print(shell, &summary);
    }
    gm_run_free(run);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

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
    GM_FREED struct gm_fleet_task *tasks = calloc(files->n + 1, sizeof *tasks);
    char(*names)[GM_NAME_SIZE] = NULL; /* of the runs of --each */
    enum gm_status status = GM_OK;
    if (tasks == NULL ||
        (call->context.options.each && (names = name_each(files, call->context.options.usual.name)) == NULL))
        return gm_no_memory(err);
    for (size_t i = 0; i < files->n; i++)
        tasks[i] = (struct gm_fleet_task){.file = &files->v[i], .name = names == NULL ? NULL : names[i]};
    if (call->mpi != NULL)
        status = gm_fleet_mpi_run(call->mpi, tasks, files->n, &call->context, err);
    else
        gm_fleet_tasks_run(tasks, files->n, &call->context);
    gm_call_time(&call->context.shell.said, "read+analyse");
    const size_t count = status == GM_OK ? keep_tasks(call, tasks, files->n) : 0;
    if (status == GM_OK && count == 0)
        status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "no snapshot found");
    else if (status == GM_OK)
        status = publish(call, tasks, count, options, name, err);
    if (status == GM_OK)
        forget_kept(call, tasks, count);
    for (size_t i = 0; i < count; i++)
        gm_text_free(&tasks[i].record);
    free(names);
    return status;
}

/* What every process needs, once MPI runs. */
static enum gm_status prepare(struct call *call, struct gm_error *err)
{
    struct gm_fleet_context *context = &call->context;
    const struct gm_fleet_cli_options *o = &context->options;
    if (call->mpi != NULL)
        context->shell.threads = 1;
    enum gm_status status = gm_shell_begin(&context->shell, &o->usual, !context->shell.said.is_mute || o->each, err);
    if (status == GM_OK && o->resume)
        status = gm_retained_list(&context->kept, o->usual.results, err);
    context->salt = gm_fleet_salt(o);
    return status;
}

/* --json must not overwrite what is read. */
static enum gm_status check_json(const struct gm_fleet_cli_options *o, const struct gm_found_files *files,
                                 struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (size_t i = 0; status == GM_OK && i < files->n; i++)
        status = gm_paths_check_json(o->usual.json, files->v[i].path, err);
    return status;
}

static enum gm_status run(struct call *call, char **operands, size_t count, struct gm_error *err)
{
    struct gm_fleet_context *context = &call->context;
    const struct gm_fleet_cli_options *o = &context->options;
    struct gm_fleet_options options = {.pattern = o->pattern, .top = (size_t)o->usual.top};
    GM_FREED_BY(gm_found_files_free) struct gm_found_files files = {0};
    char name[GM_NAME_SIZE];
    enum gm_status status = find_capacity(call, &options, err);
    GM_THEN(status, gm_fleet_mpi_start(&call->mpi, err));
    if (status != GM_OK)
        return status;
    status = prepare(call, err); /* may fail on one machine only: process 0 must hear of it */
    if (gm_fleet_mpi_rank(call->mpi) > 0)
        return gm_fleet_mpi_help(call->mpi, context, status, err);
    if (status != GM_OK)
        return status;
    name_run(name, o, operands, count);
    status = gm_find_files(&files, operands, count, o->usual.results, err);
    GM_THEN(status, check_json(o, &files, err));
    gm_call_time(&call->context.shell.said, "find");
    GM_THEN(status, do_all(call, &files, &options, name, err));
    return status;
}

int main(int argc, char **argv)
{
    struct call call = {.context = {.options = {.usual = GM_USUAL_DEFAULTS, .memory = UINT64_MAX},
                                    .shell.said.is_mute = gm_fleet_mpi_is_helper()}};
    struct gm_call *said = &call.context.shell.said;
    struct gm_error err;
    if (gm_call_begin(said, &program, &argc, argv, &call.context.options) &&
        run(&call, argv, (size_t)argc, &err) != GM_OK) {
        gm_call_fail(said, NULL, &err);
        if (said->is_mute || err.status == GM_E_NOMEM || err.status == GM_E_INTERNAL)
            gm_fleet_mpi_give_up(call.mpi, said->exit_code);
    }
    gm_fleet_mpi_stop(call.mpi);
    gm_retained_keys_free(&call.context.kept);
    const bool follows = said->is_mute && call.mpi == NULL; /* process 0 fails alike, and its exit code counts */
    const int exit_code = gm_shell_end(&call.context.shell);
    return follows ? 0 : exit_code;
}
