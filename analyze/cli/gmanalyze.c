/* SPDX-License-Identifier: Apache-2.0
 *
 * gmanalyze: a thin main. Options and operands in; for each snapshot a job (job.c); messages, summaries, JSON and the
 * exit code out.
 */
#include "analyze/cli/gmanalyze.h"

#include "analyze/cli/interrupt.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/options.h"
#include "analyze/cli/outcome.h"
#include "analyze/cli/pool.h"
#include "analyze/cli/rules_file.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACES "as in 12345, event:12345, 3.5s, 120ms, step:12"
#define AT(field) .offset = offsetof(struct gm_analyze_options, field)

static const struct gm_option option_table[] = {
    {'o', "results", "DIR", "where run directories go (default: results)", GM_OPTION_TEXT, AT(results)},
    {'n', "name", "NAME", "name of the run; all operands are snapshots then", GM_OPTION_TEXT, AT(name)},
    {0, "json", "FILE", "write analysis.json there too; - is stdout, instead of the summary", GM_OPTION_TEXT, AT(json)},
    {0, "categories", "FILE", "category rules to use instead of the built-in ones", GM_OPTION_TEXT, AT(categories)},
    {0, "device", "N", "report on this device only", GM_OPTION_INTEGER, AT(device), .min = 0, .max = 65535},
    {0, "top", "N", "how many blocks and call sites to list (default: 50)", GM_OPTION_INTEGER, AT(top), .min = 1,
     .max = 1000000},
    {0, "from", "PLACE",
     "look at the trace from there on: an event's number (12345), a time since its first event (3.5s, "
     "120ms) or a step (step:12)",
     GM_OPTION_PARSED, AT(from), .parse = gm_value_place, .wants = PLACES},
    {0, "to", "PLACE", "... and up to there, included", GM_OPTION_PARSED, AT(to), .parse = gm_value_place,
     .wants = PLACES},
    {0, "stream", "HANDLE", "peaks and curves of this stream's allocations only", GM_OPTION_PARSED, AT(stream),
     .parse = gm_value_stream, .wants = "a number of the file, as in 0 or 94219239492"},
    {0, "min-size", "SIZE", "... of allocations of at least this many bytes only", GM_OPTION_SIZE, AT(min_size)},
    {0, "group", "BY", "one more table of the peak: by stack, function, file, category or role", GM_OPTION_PARSED,
     AT(group), .parse = gm_value_group, .wants = "stack, function, file, category or role"},
    {0, "depth", "N", "frames of a stack that are told apart there and in the flame graph (default: all)",
     GM_OPTION_INTEGER, AT(depth), .min = 1, .max = 1000000},
    {0, "cpp", NULL, "C++ frames below Python's in the flame graph and in exports of it", GM_OPTION_FLAG, AT(cpp)},
    {0, "explain", NULL, "tell why blocks were given their roles, on stdout", GM_OPTION_FLAG, AT(explain)},
    {0, "export", "FORMAT", "the peak for folded, speedscope or pprof, the timeline for perfetto; several with commas",
     GM_OPTION_PARSED, AT(exports), .parse = gm_value_exports, .wants = "folded, speedscope, perfetto, pprof"},
    {0, "csv-full", NULL, "timeline.csv with every event, not only the extremes", GM_OPTION_FLAG, AT(csv_full)},
    {'j', "jobs", "N", "threads to use (default: one for each CPU)", GM_OPTION_INTEGER, AT(threads), .min = 1,
     .max = 256},
    {0, "no-charts", NULL, "no PNG files", GM_OPTION_FLAG, AT(no_charts)},
    {0, "salvage", NULL, "analyse what is complete of a damaged file", GM_OPTION_FLAG, AT(salvage)},
    {0, "fail-above", "SIZE", "exit code 1 if peak reserved is more on any device (without a trace: reserved)",
     GM_OPTION_SIZE, AT(fail_above)},
    {0, "fail-below-efficiency", "PERCENT", "exit code 1 if less of the reserved memory is allocated",
     GM_OPTION_PERCENT, AT(fail_below_efficiency)},
    {'q', "quiet", NULL, "no summary and no warnings, only errors", GM_OPTION_FLAG, AT(quiet)},
    {'v', "verbose", NULL, "tell on stderr how long each phase took", GM_OPTION_FLAG, AT(verbose)},
    {'h', "help", NULL, "print this page", GM_OPTION_HELP, .offset = 0},
    {'V', "version", NULL, "print the version", GM_OPTION_VERSION, .offset = 0},
};

static const struct gm_program program = {
    .name = "gmanalyze",
    .head = "gmanalyze: where the GPU memory of a PyTorch program is, from a memory snapshot\n"
            "\n"
            "Examples:\n"
            "  gmanalyze snapshot.pickle               a report in ./results/DATE_TIME_...\n"
            "  gmanalyze snapshot.pickle before        the same, called 'before'\n"
            "  gmanalyze iteration_1/*.pickle          one report for each rank\n"
            "  gmanalyze --fail-above 70GiB s.pickle   a budget for CI: exit code 1 if over\n"
            "  gmanalyze --json - s.pickle.gz          analysis.json on stdout\n"
            "  gmanalyze --export speedscope s.pickle  the peak as a flame graph elsewhere\n"
            "\n"
            "Usage: gmanalyze [options] SNAPSHOT... [NAME]\n"
            "  SNAPSHOT  pickle, JSON or _memory_viz.py HTML, also .gz and .zst; - is stdin\n"
            "  NAME      name of the run (default: found in the path, as in iter1_rank0)\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "SIZE is a number and a unit, all binary: 512MiB, 1.5GiB, 70G.\n"
            "With two or more operands the last is NAME if no such file exists and it does\n"
            "not end like a snapshot (.pickle .pkl .snap .json .html .gmtrace, .gz, .zst).\n"
            "\n"
            "Exit codes: 0 done; 1 done, but a check failed; 2 wrong usage; 3 an input is\n"
            "missing, damaged or no snapshot; 4 a capability is missing here; 5 an output\n"
            "could not be written, or an internal error. Of several, the largest.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
};

static int64_t cpu_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : n;
}

/* Gives operands of one name the endings _2, _3 ... in their order, so that which run is whose does not hang on which
 * thread is done first. */
static void number_equal_names(struct gm_job *jobs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t equal = 1;
        for (size_t j = 0; j < i; j++)
            equal += strcmp(jobs[j].detected, jobs[i].detected) == 0;
        for (bool is_taken = equal > 1; is_taken; equal++) {
            snprintf(jobs[i].name, sizeof jobs[i].name, "%.*s_%zu", (int)sizeof jobs[i].name - 24, jobs[i].detected,
                     equal);
            is_taken = false;
            for (size_t j = 0; j < i; j++)
                is_taken = is_taken || strcmp(jobs[j].name, jobs[i].name) == 0;
        }
    }
}

/* What no single option can tell: that two of them disagree, or that the JSON file would be written over a snapshot
 * (someone took --json for a flag). */
static enum gm_status check_options(const struct gm_analyze_options *options, char **paths, size_t count,
                                    struct gm_error *err)
{
    struct stat json, input;
    if (options->results[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--results is empty");
    if (options->from.kind == options->to.kind && options->from.value > options->to.value)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--from is after --to");
    if (options->explain && options->json != NULL && strcmp(options->json, "-") == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--explain and --json - both want standard output");
    if (options->json == NULL || strcmp(options->json, "-") == 0 || stat(options->json, &json) != 0)
        return GM_OK;
    for (size_t i = 0; i < count; i++)
        if (stat(paths[i], &input) == 0 && input.st_dev == json.st_dev && input.st_ino == json.st_ino)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--json would overwrite the snapshot %s", paths[i]);
    return GM_OK;
}

static enum gm_status analyse_all(struct gm_outcome *outcome, struct gm_analyze_context *context, char **paths,
                                  size_t count, struct gm_error *err)
{
    const struct gm_analyze_options *options = &context->options;
    int threads = (int)(options->threads > 0 ? options->threads : cpu_count());
    int workers = (size_t)threads < count ? threads : (int)count;
    context->draw_threads = threads / workers;
    context->when = time(NULL);
    if (!options->no_charts) {
        context->fonts = gm_fonts_start(threads > 1);
        if (context->fonts == NULL)
            return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    }
    enum gm_status status = gm_rules_load(&context->rules, options->categories, err);
    if (status != GM_OK)
        return status;
    struct gm_job *jobs = calloc(count, sizeof *jobs);
    if (jobs == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < count; i++) {
        jobs[i].path = paths[i];
        gm_operands_name(jobs[i].detected, paths[i], options->name, count > 1);
        memcpy(jobs[i].name, jobs[i].detected, sizeof jobs[i].name);
        jobs[i].is_one_of_several = count > 1;
    }
    number_equal_names(jobs, count);
    outcome->is_array = count > 1;
    gm_pool_run(jobs, count, context, workers, gm_outcome_add, outcome);
    free(jobs);
    gm_outcome_finish(outcome);
    return GM_OK;
}

static void tell_total(const struct gm_outcome *outcome, const struct timespec *start)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms = 1e3 * (double)(end.tv_sec - start->tv_sec) + 1e-6 * (double)(end.tv_nsec - start->tv_nsec);
    struct gm_text message = {0};
    gm_message_add(&message, &outcome->context->terminal, GM_MESSAGE_NOTE, NULL, "total %.3f ms", ms);
    gm_message_flush(&message);
}

static void print_page(struct gm_outcome *outcome, enum gm_parsed page)
{
    struct gm_text text = {0};
    if (page == GM_PARSED_HELP)
        gm_options_help(&program, &text);
    else
        gm_text_printf(&text, "%s %s\n", program.name, GM_VERSION);
    gm_outcome_print(outcome, &text);
    if (text.failed)
        gm_outcome_raise(outcome, GM_E_NOMEM);
    gm_text_free(&text);
}

int main(int argc, char **argv)
{
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct gm_analyze_context context = {
        .options =
            {.results = "results", .device = -1, .top = 50, .fail_above = UINT64_MAX, .fail_below_efficiency = -1},
        .terminal = gm_terminal_open(program.name),
    };
    struct gm_outcome outcome = {.context = &context};
    struct gm_error err;
    enum gm_parsed page = GM_PARSED_RUN;
    int operands = 0;
    gm_interrupt_install();
    enum gm_status status = gm_options_parse(&program, argc, argv, &context.options, &operands, &page, &err);
    if (status == GM_OK && page == GM_PARSED_RUN)
        status = gm_operands_sort(&context.options.name, argv, &operands, &err);
    if (status != GM_OK) {
        gm_fail(&err, status, GM_NO_OFFSET, "%s (see %s --help)", err.message, program.name);
        gm_outcome_fail(&outcome, &err);
    } else if (page != GM_PARSED_RUN) {
        print_page(&outcome, page);
    } else {
        if (check_options(&context.options, argv, (size_t)operands, &err) != GM_OK ||
            analyse_all(&outcome, &context, argv, (size_t)operands, &err) != GM_OK)
            gm_outcome_fail(&outcome, &err);
        if (context.options.verbose)
            tell_total(&outcome, &start);
    }
    gm_outcome_free(&outcome);
    gm_category_rules_free(context.rules);
    gm_fonts_free(context.fonts);
    if (close(STDOUT_FILENO) != 0 && outcome.exit_code == 0)
        return gm_status_exit_code(GM_E_WRITE); /* a network file system tells only now */
    return outcome.exit_code;
}
