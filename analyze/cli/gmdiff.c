/* SPDX-License-Identifier: Apache-2.0
 *
 * gmdiff: a thin main. Options and operands in; summaries, their comparison, the run directory, messages and the exit
 * code out.
 */
#include "analyze/cli/gmdiff.h"

#include "analyze/cli/call.h"
#include "analyze/cli/diff_outputs.h"
#include "analyze/cli/inputs.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/paths.h"
#include "analyze/cli/rules_file.h"
#include "analyze/document/documents.h"
#include "analyze/state/shown_names.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool parse_growth(const char *text, void *value)
{
    return gm_growth_limit_parse(value, text);
}

#define AT(field) .offset = offsetof(struct gm_diff_options, field)

static const struct gm_option option_table[] = {
    {'o', "results", "DIR", "where run directories go (default: results)", GM_OPTION_TEXT, AT(results)},
    {'n', "name", "NAME", "name of the run (default: BASE_vs_NEW)", GM_OPTION_TEXT, AT(name)},
    {0, "fail-growth", "LIMIT",
     "exit code 1 if peak reserved or peak allocated of any device grows over BASE by more than LIMIT, as in 2% or "
     "500MiB (without a trace: the totals)",
     GM_OPTION_PARSED, AT(limit), .parse = parse_growth, .wants = "as in 2%, 0.5%, 500MiB or 0"},
    {0, "json", "FILE", "write diff.json there too; - is stdout, instead of the summary", GM_OPTION_TEXT, AT(json)},
    {0, "categories", "FILE", "category rules to use instead of the built-in ones", GM_OPTION_TEXT, AT(categories)},
    {0, "device", "N", "compare this device only", GM_OPTION_INTEGER, AT(device), .min = 0, .max = 65535},
    {0, "top", "N", "rows of each table in diff_report.txt (default: 50)", GM_OPTION_INTEGER, AT(top), .min = 1,
     .max = 1000000},
    {'j', "jobs", "N", "snapshots to read at the same time (default: one for each CPU)", GM_OPTION_INTEGER, AT(threads),
     .min = 1, .max = 256},
    {0, "no-charts", NULL, "no pictures", GM_OPTION_FLAG, AT(no_charts)},
    {0, "max-memory", "SIZE", GM_MAX_MEMORY_HELP, GM_OPTION_SIZE, AT(max_memory)},
    {0, "salvage", NULL, "compare what is complete of a damaged file", GM_OPTION_FLAG, AT(salvage)},
    {'q', "quiet", NULL, "no summary and no warnings, only errors", GM_OPTION_FLAG, AT(quiet)},
    {'v', "verbose", NULL, "tell on stderr how long each phase took", GM_OPTION_FLAG, AT(verbose)},
    {'h', "help", NULL, "print this page", GM_OPTION_HELP, .offset = 0},
    {'V', "version", NULL, "print the version", GM_OPTION_VERSION, .offset = 0},
};

static const struct gm_program program = {
    .name = "gmdiff",
    .head = "gmdiff: what changed in GPU memory between runs of a PyTorch program, and why\n"
            "\n"
            "Examples:\n"
            "  gmdiff before.pickle after.pickle       a report in ./results/DATE_TIME_...\n"
            "  gmdiff --fail-growth 2% base.gmtrace new.pickle   a gate for CI: exit code 1\n"
            "  gmdiff ctx128.pickle ctx256.pickle ctx512.pickle  a table, and the law of it\n"
            "  gmdiff --json - base.pickle new.pickle  diff.json on stdout\n"
            "\n"
            "Usage: gmdiff [options] BASE NEW [MORE...]\n"
            "  BASE, NEW, MORE  memory snapshots: pickle, JSON, _memory_viz.py HTML or\n"
            "                   .gmtrace, also .gz and .zst; - is stdin\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "Sizes are a number and a unit, all binary: 512MiB, 1.5GiB, 70G.\n"
            "MORE are compared with BASE, each. Call sites are matched by their stacks: by\n"
            "function and file, not by line, folder or address.\n"
            "\n"
            "Exit codes: 0 done; 1 done, but the growth is over the limit; 2 wrong usage;\n"
            "3 an input is missing, damaged or no snapshot (unless it is BASE, the others\n"
            "are compared all the same); 5 an output could not be written, or an internal\n"
            "error.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
};

struct call {
    struct gm_diff_context context;
    struct gm_call said;
};

/* ---- the operands -------------------------------------------------------------------------------------------------
 */

static enum gm_status check_operands(const struct gm_diff_options *options, char **paths, size_t count,
                                     struct gm_error *err)
{
    if (count < 2)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, count == 0 ? "no BASE and no NEW given" : "no NEW given");
    if (options->results[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--results is empty");
    enum gm_status status = gm_paths_check_stdin(paths, count, 1, err);
    for (size_t i = 0; status == GM_OK && i < count; i++)
        status = gm_paths_check_json(options->json, paths[i], err);
    return status;
}

static void tell_inputs(struct call *call, const struct gm_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gm_input *input = &inputs[i];
        if (input->status != GM_OK) {
            gm_call_fail(&call->said, input->path, &input->error);
            continue;
        }
        for (size_t w = 0; w < input->summary.warning_count; w++)
            gm_call_warn(&call->said, input->path, input->summary.warnings[w]);
        if (input->is_salvaged)
            gm_call_warn(&call->said, input->path, "damaged, only a part of it is compared");
    }
}

/* "BASE_vs_NEW", "BASE_vs_NEW_and_2_more". */
static void name_run(char out[GM_NAME_SIZE], const struct gm_diff_options *options, const struct gm_comparison *c)
{
    struct gm_text text = {0};
    if (options->name != NULL)
        gm_text_add(&text, options->name);
    else if (c->labels != NULL)
        gm_text_printf(&text, "%.60s_vs_%.60s", c->labels[0], c->labels[1]);
    if (options->name == NULL && c->run_count > 2)
        gm_text_printf(&text, "_and_%zu_more", c->run_count - 2);
    gm_name_clean(out, text.failed ? "diff" : text.data);
    gm_text_free(&text);
}

/* ---- from summaries to files ---------------------------------------------------------------------------------------
 */

static enum gm_status name_comparison(struct gm_comparison *c, const char *name, time_t when, struct gm_error *err)
{
    char stamp[GM_RUN_DATE];
    gm_run_date(stamp, when);
    c->run_name = gm_arena_copy(&c->arena, name, strlen(name));
    c->timestamp = gm_arena_copy(&c->arena, stamp, strlen(stamp));
    return c->run_name != NULL && c->timestamp != NULL ? GM_OK
                                                       : gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
}

/* The runs that could be read, and why the others could not. */
static enum gm_status compare(struct gm_comparison *c, struct call *call, const struct gm_input *inputs, size_t count,
                              struct gm_error *err)
{
    const struct gm_diff_options *options = &call->context.options;
    const struct gm_compare_options compare_options = {.limit = options->limit, .top = (size_t)options->top};
    const struct gm_summary **runs = calloc(count, sizeof *runs);
    size_t n = 0;
    if (runs == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (inputs[i].status == GM_OK)
            runs[n++] = &inputs[i].summary;
    enum gm_status status = gm_compare(c, runs, n, &compare_options, err);
    free(runs);
    struct gm_diff_failure *failures = status == GM_OK ? gm_arena_calloc(&c->arena, count - n, sizeof *failures) : NULL;
    for (size_t i = 0; failures != NULL && i < count; i++)
        if (inputs[i].status != GM_OK) {
            struct gm_diff_failure *failure = &failures[c->failure_count++];
            *failure = (struct gm_diff_failure){gm_clean_copy(&c->arena, inputs[i].path),
                                                gm_clean_copy(&c->arena, inputs[i].error.message)};
            if (failure->path == NULL || failure->why == NULL)
                status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
        }
    c->failures = failures;
    return status == GM_OK && failures == NULL ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory") : status;
}

static void check_growth(struct call *call, const struct gm_comparison *c)
{
    struct gm_text text = {0}, why = {0};
    gm_diff_growth(&why, c);
    if (why.length > 0)
        gm_text_printf(&text, "check failed: %s", why.data);
    if (why.failed || text.failed)
        gm_call_raise(&call->said, GM_E_NOMEM);
    else if (text.length > 0)
        gm_call_fail_with(&call->said, NULL, GM_E_CHECK, text.data);
    gm_text_free(&text);
    gm_text_free(&why);
}

static void tell(struct call *call, const struct gm_comparison *c, struct gm_run *run, struct gm_text *json)
{
    const struct gm_diff_options *options = &call->context.options;
    gm_call_put(&call->said, options->json, json);
    if (!gm_path_is_standard(options->json) && !options->quiet) {
        struct gm_text summary = {0};
        gm_diff_summary(&summary, c, gm_run_path(run));
        gm_call_print(&call->said, &summary);
    }
    check_growth(call, c);
}

static enum gm_status publish(struct call *call, const struct gm_input *inputs, size_t count, struct gm_error *err)
{
    struct gm_comparison c = {0};
    struct gm_run *run = NULL;
    struct gm_text json = {0};
    char name[GM_NAME_SIZE] = "diff";
    bool was_left_alone = false;
    enum gm_status status = compare(&c, call, inputs, count, err);
    if (status == GM_OK)
        name_run(name, &call->context.options, &c);
    if (status == GM_OK)
        status = name_comparison(&c, name, call->context.when, err);
    gm_call_time(&call->said, "compare");
    if (status == GM_OK)
        status = gm_diff_outputs_write(&run, &json, &was_left_alone, &call->context, &c, name, err);
    gm_call_time(&call->said, "draw+write");
    if (status == GM_OK && was_left_alone)
        gm_call_warn(&call->said, call->context.options.results, "'latest' there is no symbolic link; left as it is");
    if (status == GM_OK)
        tell(call, &c, run, &json);
    gm_text_free(&json);
    gm_run_free(run);
    gm_comparison_free(&c);
    return status;
}

/* BASE and at least one other: what cannot be read does not stop the rest. */
static bool can_compare(const struct gm_input *inputs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (inputs[0].status == GM_OK && inputs[i].status == GM_OK)
            return true;
    return false;
}

static enum gm_status run(struct call *call, char **paths, size_t count, struct gm_error *err)
{
    const struct gm_diff_options *options = &call->context.options;
    enum { POINTS = 2000 };
    const int threads = options->threads > 0 ? (int)options->threads : gm_cpu_count();
    call->context.when = time(NULL);
    call->said.is_quiet = options->quiet;
    call->said.is_verbose = options->verbose;
    gm_call_time(&call->said, NULL);
    enum gm_status status = gm_run_check(options->results, err);
    if (status == GM_OK)
        status = gm_rules_load(&call->context.rules, options->categories, err);
    if (status != GM_OK)
        return status;
    if (!options->no_charts && (call->context.fonts = gm_fonts_start(threads > 1)) == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    struct gm_input *inputs = calloc(count, sizeof *inputs);
    if (inputs == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < count; i++)
        inputs[i].path = paths[i];
    const struct gm_inputs_options reading = {
        .summary = {.rules = call->context.rules, .device = options->device, .points = POINTS},
        .salvage = options->salvage,
        .max_memory = options->max_memory,
        .threads = threads,
        .progress = options->quiet ? NULL : &call->said.terminal};
    gm_inputs_read(inputs, count, &reading);
    gm_call_time(&call->said, "read+analyse");
    tell_inputs(call, inputs, count);
    if (can_compare(inputs, count))
        status = publish(call, inputs, count, err);
    gm_inputs_free(inputs, count);
    free(inputs);
    return status;
}

int main(int argc, char **argv)
{
    struct call call = {.context = {.options = {.results = "results", .device = -1, .top = 50}},
                        .said = {.terminal = gm_terminal_open(program.name)}};
    struct gm_error err;
    enum gm_parsed page = GM_PARSED_RUN;
    int operands = 0;
    gm_interrupt_install();
    enum gm_status status = gm_options_parse(&program, argc, argv, &call.context.options, &operands, &page, &err);
    if (status == GM_OK && page == GM_PARSED_RUN)
        status = check_operands(&call.context.options, argv, (size_t)operands, &err);
    if (gm_call_goes_on(&call.said, &program, status, page, &err) && run(&call, argv, (size_t)operands, &err) != GM_OK)
        gm_call_fail(&call.said, NULL, &err);
    gm_category_rules_free(call.context.rules);
    gm_fonts_free(call.context.fonts);
    return gm_call_end(&call.said);
}
