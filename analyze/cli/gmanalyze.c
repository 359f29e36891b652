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
#include "analyze/cli/paths.h"
#include "analyze/cli/rules_file.h"
#include "analyze/export/export.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLACES "as in 12345, event:12345, 3.5s, 120ms, step:12"
static const char *const groups[] = {"stack", "function", "file", "category", "role", NULL}; /* GM_GROUP_STACK .. */
static const char *const axes[] = {"time", "event", NULL};                                   /* GM_AXIS_TIME .. */
static const char *const layers[] = {"role", "category", NULL};                              /* GM_LAYERS_BY_ROLE .. */

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
    {0, "group", "BY", "one more table of the peak: by stack, function, file, category or role", GM_OPTION_CHOICE,
     AT(group), .min = GM_GROUP_STACK, .choices = groups},
    {0, "depth", "N", "frames of a stack that are told apart there and in the flame graph (default: all)",
     GM_OPTION_INTEGER, AT(depth), .min = 1, .max = 1000000},
    {0, "axis", "AXIS", "of the timeline: time or event (default: event if nearly all events crowd in little time)",
     GM_OPTION_CHOICE, AT(axis), .min = GM_AXIS_TIME, .choices = axes},
    {0, "layers", "BY", "of the timeline: role (what memory is for) or category (what code made it; default: role)",
     GM_OPTION_CHOICE, AT(layers_by), .min = GM_LAYERS_BY_ROLE, .choices = layers},
    {0, "cpp", NULL, "C++ frames below Python's in the flame graph and in exports of it", GM_OPTION_FLAG, AT(cpp)},
    {0, "explain", NULL, "tell why blocks were given their roles, on stdout", GM_OPTION_FLAG, AT(explain)},
    {0, "export", "FORMAT", "the peak for folded, speedscope or pprof, the timeline for perfetto; several with commas",
     GM_OPTION_CHOICES, AT(exports), .choices = gm_export_names},
    {0, "csv-full", NULL, "timeline.csv with every event, not only the extremes", GM_OPTION_FLAG, AT(csv_full)},
    {'j', "jobs", "N", "threads to use (default: one for each CPU)", GM_OPTION_INTEGER, AT(threads), .min = 1,
     .max = 256},
    {0, "no-charts", NULL, "no PNG files", GM_OPTION_FLAG, AT(no_charts)},
    {0, "max-memory", "SIZE", GM_MAX_MEMORY_HELP, GM_OPTION_SIZE, AT(max_memory)},
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
            "Of three or more the last but one is DIR if it is a directory or ends in /.\n"
            "\n"
            "Exit codes: 0 done; 1 done, but a check failed; 2 wrong usage; 3 an input is\n"
            "missing, damaged or no snapshot; 4 a capability is missing here; 5 an output\n"
            "could not be written, or an internal error. Of several, the largest.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
};

/* Their names and paths; NULL: no memory. */
static struct gm_job *new_jobs(char **paths, size_t count, const char *name)
{
    struct gm_job *jobs = calloc(count, sizeof *jobs);
    char(*names)[GM_NAME_SIZE] = calloc(count, sizeof *names);
    bool ok = jobs != NULL && names != NULL;
    for (size_t i = 0; ok && i < count; i++)
        gm_operands_name(names[i], paths[i], name, count > 1);
    ok = ok && gm_operands_number(names, count);
    for (size_t i = 0; ok && i < count; i++) {
        jobs[i].path = paths[i];
        jobs[i].is_one_of_several = count > 1;
        memcpy(jobs[i].name, names[i], sizeof jobs[i].name);
    }
    free(names);
    if (!ok)
        free(jobs);
    return ok ? jobs : NULL;
}

/* What no single option can tell: that two of them disagree, or that the JSON file would be written over a snapshot
 * (someone took --json for a flag). */
static enum gm_status check_options(const struct gm_analyze_options *options, char **paths, size_t count,
                                    struct gm_error *err)
{
    if (options->results[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--results is empty");
    if (options->from.kind == options->to.kind && options->from.value > options->to.value)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--from is after --to");
    if (options->explain && gm_path_is_standard(options->json))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--explain and --json - both want standard output");
    enum gm_status status = GM_OK;
    for (size_t i = 0; status == GM_OK && i < count; i++)
        status = gm_paths_check_json(options->json, paths[i], err);
    return status;
}

static enum gm_status analyse_all(struct gm_outcome *outcome, struct gm_analyze_context *context, char **paths,
                                  size_t count, struct gm_error *err)
{
    const struct gm_analyze_options *options = &context->options;
    int threads = options->threads > 0 ? (int)options->threads : gm_cpu_count();
    int workers = (size_t)threads < count ? threads : (int)count;
    context->draw_threads = threads / workers;
    context->when = time(NULL);
    enum gm_status status = gm_run_check(options->results, err);
    if (status == GM_OK && !options->no_charts && (context->fonts = gm_fonts_start(threads > 1)) == NULL)
        status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    if (status == GM_OK)
        status = gm_rules_load(&context->rules, options->categories, err);
    if (status != GM_OK)
        return status;
    struct gm_job *jobs = new_jobs(paths, count, options->name);
    if (jobs == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    outcome->is_array = count > 1;
    gm_outcome_run(outcome, jobs, count, workers);
    free(jobs);
    return GM_OK;
}

int main(int argc, char **argv)
{
    struct gm_analyze_context context = {
        .options = {.device = -1, .top = 50, .fail_above = UINT64_MAX, .fail_below_efficiency = -1},
        .terminal = gm_terminal_open(program.name),
    };
    struct gm_outcome outcome = {.context = &context, .said = {.terminal = context.terminal}};
    struct gm_error err;
    enum gm_parsed page = GM_PARSED_RUN;
    int operands = 0;
    gm_call_time(&outcome.said, NULL);
    gm_interrupt_install();
    enum gm_status status = gm_options_parse(&program, argc, argv, &context.options, &operands, &page, &err);
    if (status == GM_OK && page == GM_PARSED_RUN)
        status = gm_operands_sort(&context.options.name, &context.options.results, argv, &operands, &err);
    if (context.options.results == NULL)
        context.options.results = "results";
    if (status == GM_OK && page == GM_PARSED_RUN)
        status = check_options(&context.options, argv, (size_t)operands, &err);
    outcome.said.is_quiet = context.options.quiet;
    outcome.said.is_verbose = context.options.verbose;
    if (gm_call_goes_on(&outcome.said, &program, status, page, &err)) {
        if (analyse_all(&outcome, &context, argv, (size_t)operands, &err) != GM_OK)
            gm_call_fail(&outcome.said, NULL, &err);
        gm_call_time(&outcome.said, "total");
    }
    gm_outcome_free(&outcome);
    gm_category_rules_free(context.rules);
    gm_fonts_free(context.fonts);
    return gm_call_end(&outcome.said);
}
