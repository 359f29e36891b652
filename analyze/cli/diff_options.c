/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/diff_options.h"

#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"

#include <stddef.h>

static bool parse_growth(const char *text, void *value)
{
    return gm_growth_limit_parse(value, text);
}

#define AT(field) .offset = offsetof(struct gm_diff_options, field)

static const struct gm_option option_table[] = {
    GM_ROW_RESULTS,
    GM_ROW_NAME("name of the run (default: BASE_vs_NEW)"),
    {0, "fail-growth", "LIMIT",
     "exit code 1 if peak reserved or peak allocated of any device grows over BASE by more than LIMIT, as in 2% or "
     "500MiB (without a trace: the totals)" GM_MORE "What it compares: [diff.md](diff.md#a-gate).",
     GM_OPTION_PARSED, AT(limit), .parse = parse_growth, .wants = "as in 2%, 0.5%, 500MiB or 0"},
    GM_ROW_JSON("write diff.json there too; - is stdout, instead of the summary"),
    GM_ROW_FORMAT,
    GM_ROW_FORMAT_SOURCE,
    GM_ROW_CATEGORIES("category rules to use instead of the built-in ones"),
    GM_ROW_DEVICE("compare this device only" GM_MORE "Totals are its totals then."),
    GM_ROW_TOP("rows of each table in diff_report.txt (default: 50)"),
    GM_ROW_JOBS("snapshots to read at the same time (default: one for each CPU)", 256),
    GM_ROW_NO_CHARTS("no pictures"),
    GM_ROWS_PAGE,
    GM_ROW_MAX_MEMORY,
    GM_ROW_SALVAGE("compare what is complete of a damaged file"),
    GM_ROW_QUIET("no summary and no warnings, only errors"),
    GM_ROW_VERBOSE("tell on stderr how long each phase took"),
    GM_ROWS_PAGES,
};

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    const struct gm_usual_options *options = values;
    if (*count < 2)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, *count == 0 ? "no BASE and no NEW given" : "no NEW given");
    enum gm_status status = gm_paths_check_stdin(operands, (size_t)*count, 1, err);
    GM_THEN(status, gm_formats_check(options, NULL, err));
    for (int i = 0; status == GM_OK && i < *count; i++)
        status = gm_paths_check_json(options->json, operands[i], err);
    return status;
}

const struct gm_program gm_diff_program = {
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
    .check = check_options,
};
