/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/analyze_options.h"

#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/export/export.h"
#include "analyze/sqlite/sqlite.h"
#include "replay/whatif/gpus.h"

#include <stddef.h>

#define PLACES "as in 12345, event:12345, 3.5s, 120ms, step:12"
static const char *const groups[] = {"stack", "function", "file", "category", "role", NULL}; /* GM_GROUP_STACK .. */
static const char *const axes[] = {"time", "event", NULL};                                   /* GM_AXIS_TIME .. */
static const char *const layers[] = {"role", "category", NULL};                              /* GM_LAYERS_BY_ROLE .. */

static const char *const severities[] = {"info", "warning", "critical", NULL}; /* GM_INFO .. */

#define AT(field) .offset = offsetof(struct gm_analyze_options, field)

static const struct gm_option option_table[] = {
    GM_ROW_RESULTS,
    GM_ROW_NAME("name of the run; all operands are snapshots then"),
    GM_ROW_JSON("write analysis.json there too; - is stdout, instead of the summary" GM_MORE
                "Of several snapshots an array, in the order of the operands."),
    GM_ROW_FORMAT,
    GM_ROW_CATEGORIES("category rules to use instead of the built-in ones"),
    GM_ROW_DEVICE("report on this device only" GM_MORE "Totals are its totals then."),
    GM_ROW_TOP("how many blocks and call sites to list (default: 50)"),
    {0, "from", "PLACE",
     "look at the trace from there on: an event's number (12345), a time since its first event (3.5s, "
     "120ms) or a step (step:12)" GM_MORE
     "What is looked for there are peaks; the books are always those of the whole trace. A step begins with its first "
     "event. If no device has that place, that is wrong usage; a device that lacks it is reported on in full.",
     GM_OPTION_PARSED, AT(timeline.from), .parse = gm_value_place, .wants = PLACES, .words = gm_place_words},
    {0, "to", "PLACE", "look at the trace up to there, included" GM_MORE "Of a step: up to its last event.",
     GM_OPTION_PARSED, AT(timeline.to), .parse = gm_value_place, .wants = PLACES, .words = gm_place_words},
    {0, "stream", "HANDLE",
     "peaks and curves of this stream's allocations only" GM_MORE
     "HANDLE is the number that the file gives it, decimal or as `0x...`.",
     GM_OPTION_PARSED, AT(stream), .parse = gm_value_stream, .wants = "a number of the file, as in 0 or 94219239492"},
    {0, "min-size", "SIZE", "peaks and curves of allocations of at least this many requested bytes only",
     GM_OPTION_SIZE, AT(timeline.min_size)},
    {0, "group", "BY", "one more table of the peak: by stack, function, file, category or role", GM_OPTION_CHOICE,
     AT(timeline.group), .min = GM_GROUP_STACK, .choices = groups},
    {0, "depth", "N",
     "frames of a stack that are told apart there and in the flame graph (default: all)" GM_MORE
     "From the outermost by the flame graph and the exports, from the innermost by `--group stack`.",
     GM_OPTION_INTEGER, AT(timeline.depth), .min = 1, .max = 1000000},
    {0, "axis", "AXIS",
     "of the timeline: time or event (default: event if nearly all events crowd in little time)" GM_MORE
     "That is: where nine of ten events (100 or more) are in less than 10 % of the time, as bursts beside idle time "
     "cannot be read on an axis of time; the picture says so.",
     GM_OPTION_CHOICE, AT(timeline.axis), .min = GM_AXIS_TIME, .choices = axes},
    {0, "layers", "BY", "of the timeline: role (what memory is for) or category (what code made it; default: role)",
     GM_OPTION_CHOICE, AT(timeline.layers_by), .min = GM_LAYERS_BY_ROLE, .choices = layers},
    {0, "cpp", NULL,
     "C++ frames below Python's in the flame graph and in exports of it" GM_MORE
     "These are `folded`, `speedscope` and `pprof`. Without it C++ frames stand only where a stack has no Python "
     "frame.",
     GM_OPTION_FLAG, AT(timeline.has_native)},
    {0, "source", "DIR",
     "the lines of DIR's files beside call sites and modules" GM_MORE
     "DIR is a checkout of the program. A file is the one whose path has the longest end in common with the recorded "
     "path; if several fit as well, or the line is beyond its end, that is said. Recorded paths are only compared with "
     "a list of DIR's regular files (no links, nothing hidden, 100,000 at most), so nothing outside of DIR is read.",
     GM_OPTION_TEXT, GM_USUAL(source)},
    {0, "tree", NULL,
     "draw what lives at the peak as a tree of call stacks, on stdout" GM_MORE
     "After the summary, of each device, outermost frames first, at most `--top` lines, as wide as the terminal; in "
     "characters also where `--chart` draws a picture: [reading.md](reading.md#in-the-terminal).",
     GM_OPTION_FLAG, AT(tree)},
    {0, "chart", NULL,
     "draw allocated and reserved memory over time, on stdout" GM_MORE
     "After the summary, of each device; with `--gpu` a line where that card ends. The picture itself where the "
     "terminal draws pictures.",
     GM_OPTION_FLAG, AT(chart)},
    {0, "explain", NULL,
     "tell why blocks were given their roles, on stdout" GM_MORE
     "After the summary, for each role: how sure that is, and how many blocks and bytes it decided at the peak and at "
     "the end.",
     GM_OPTION_FLAG, AT(explain)},
    {0, "memory-summary", NULL,
     "torch.cuda.memory_summary() at the peak and at the end, on stdout" GM_MORE
     "After the summary, of each device, counted from the first event of the trace: "
     "[reading.md](reading.md#the-table-of-torchcudamemory_summary).",
     GM_OPTION_FLAG, AT(memory_summary)},
    {0, "gpu", "NAME",
     "the card on which it is to run: the fixes with which it does, what a server has room for; list shows all" GM_MORE
     "The plan: the cheapest fixes after which the run fits with 5 % to spare, or by how much all of "
     "them are not enough; as a line of the summary, a section, `plan` in JSON and `plan.png` "
     "([search.md](search.md#--plan)). All less the CUDA context. No plan is made without a trace, of a part of one, "
     "or of more than 100,000 events (`gmreplay --plan` takes a million). What is told of a server: "
     "[reading.md](reading.md#serving).",
     GM_OPTION_LISTED, AT(gpu), .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "tokens", "N", "tokens that its KV cache has room for, of all sequences" GM_MORE "No snapshot says that.",
     GM_OPTION_INTEGER, AT(timeline.serving.tokens), .min = 1, .max = INT64_C(1) << 50},
    {0, "sequences", "N", "sequences that are served at once" GM_MORE "No snapshot says that, either.",
     GM_OPTION_INTEGER, AT(timeline.serving.sequences), .min = 1, .max = INT64_C(1) << 50},
    {0, "replay-events", "N",
     "replay traces of up to so many events (default: 1000000; 0: any)" GM_MORE
     "A replay tells what a fix or a setting saves. A million events take a tenth of a second each time.",
     GM_OPTION_INTEGER, AT(replay_events), .max = INT64_C(1) << 50},
    {0, "kineto", "FILE",
     "a trace of torch.profiler of the same run: operators, shapes, modules, kernels" GM_MORE
     "Of several snapshots, repeat it for each: whose it is, is told by ranks. FILE that is no trace is exit code 3: "
     "[kineto.md](kineto.md#beside-a-snapshot).",
     GM_OPTION_TEXTS, AT(kineto)},
    {0, "dims", "LIST",
     "explain sizes by a transformer's dimensions, and tell what it should need: batch=4, seq=512, hidden=2560, "
     "heads=32, "
     "layers=32, vocab=10000, ffn=10240 without the blanks, a part of these, or infer" GM_MORE
     "Also `tokens`, `kv_heads`, `head` (or `head_dim`), `experts` and `topk` (of a mixture of experts of `ffn`). What "
     "is left out is inferred; `infer` infers all: "
     "[reading.md](reading.md#dimensions).",
     GM_OPTION_PARSED, AT(timeline.dims), .parse = gm_dims_parse,
     .wants = "infer, or as in batch=4,seq=512,hidden=768,heads=12,layers=12,vocab=50257,ffn=3072",
     .words = gm_dims_words, .is_list = true},
    {0, "export", "FORMAT",
     "the peak for folded, speedscope, pprof, modules; the timeline for perfetto; all of it for sqlite; each "
     "allocation with its operator for joined; several with "
     "commas" GM_MORE "Or repeat the option: [exports.md](exports.md). `joined` is of `--kineto`. Exit code 4 for "
     "`sqlite` if the program was built without it.",
     GM_OPTION_CHOICES, AT(exports), .choices = gm_export_names},
    {0, "csv-full", NULL,
     "timeline.csv with every event, not only the extremes" GM_MORE "Its columns: [exports.md](exports.md).",
     GM_OPTION_FLAG, AT(csv_full)},
    GM_ROW_JOBS("threads to use (default: one for each CPU)" GM_MORE
                "Several snapshots are analysed at once; what is left over draws.",
                256),
    GM_ROW_NO_CHARTS("no PNG files" GM_MORE "And no SVG files. Half of the time of a small snapshot is drawing."),
    GM_ROWS_PAGE,
    {0, "viewer", "FILE",
     "write the page without a trace to FILE: drop any snapshot on it" GM_MORE
     "Needs no SNAPSHOT. Exit code 4 if the program was built without it.",
     GM_OPTION_TEXT, AT(viewer)},
    {0, "watch", "DIR",
     "report on each snapshot as it appears in DIR, until Ctrl-C" GM_MORE
     "Or below it. What is there already is left out, and no file is read while it is written: [below](#watching).",
     GM_OPTION_TEXT, AT(watch)},
    GM_ROW_MAX_MEMORY,
    GM_ROW_SALVAGE("analyse what is complete of a damaged file"),
    {0, "fail-above", "SIZE",
     "exit code 1 if peak reserved is more on any device (without a trace: reserved)" GM_MORE
     "At any moment of the whole trace.",
     GM_OPTION_SIZE, AT(fail_above)},
    {0, "fail-below-efficiency", "PERCENT", "exit code 1 if less of the reserved memory is allocated",
     GM_OPTION_PERCENT, AT(fail_below_efficiency)},
    {0, "fail-on", "SEVERITY",
     "exit code 1 if there is a finding as severe: info, warning or critical" GM_MORE "Or of a higher severity.",
     GM_OPTION_CHOICE, AT(fail_on), .min = GM_INFO, .choices = severities},
    GM_ROWS_IGNORE("findings"),
    GM_ROW_QUIET("no summary and no warnings, only errors"),
    GM_ROW_VERBOSE("tell on stderr how long each phase took"),
    GM_ROWS_PAGES,
};

static enum gm_status check_sqlite(const struct gm_timeline_options *t, bool is_of_stream, struct gm_error *err)
{
    if (t->from.kind != GM_PLACE_NONE || t->to.kind != GM_PLACE_NONE || is_of_stream || t->min_size > 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--export sqlite has the whole trace, not what --from, --to, --stream and --min-size leave");
    return gm_sqlite_check(err);
}

/* What no single option can tell: that two of them disagree, or that the JSON file would be written over a snapshot
 * (someone took --json for a flag). */
static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    struct gm_analyze_options *options = values;
    struct gm_usual_options *usual = &options->usual;
    if (options->viewer != NULL && *count == 0)
        return GM_OK;
    const struct gm_gpu *gpu;
    char note[GM_GPU_NOTE];
    enum gm_status status = options->gpu == NULL ? GM_OK : gm_gpu_choose(&gpu, note, "--gpu", options->gpu, err);
    if (status != GM_OK)
        return status;
    if (options->watch == NULL)
        status = gm_operands_sort(&usual->name, &usual->results, operands, count, err);
    else if (*count > 0 || usual->json != NULL || usual->formats.n > 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--watch takes no %s",
                       *count > 0 ? "SNAPSHOT (its names begin with -n NAME)"
                                  : "--json: each run has its analysis.json");
    if (usual->results == NULL)
        usual->results = "results";
    if (status == GM_OK && options->timeline.from.kind == options->timeline.to.kind &&
        options->timeline.from.value > options->timeline.to.value)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--from is after --to");
    const char *also = options->tree             ? "--tree"
                       : options->chart          ? "--chart"
                       : options->explain        ? "--explain"
                       : options->memory_summary ? "--memory-summary"
                                                 : NULL;
    if (status == GM_OK && gm_exports_have(options->exports, GM_EXPORT_SQLITE))
        status = check_sqlite(&options->timeline, options->stream.is_given, err);
    GM_THEN(status, gm_formats_check(usual, also, err));
    for (int i = 0; status == GM_OK && i < *count; i++)
        status = gm_paths_check_json(usual->json, operands[i], err);
    if (status == GM_OK && options->kineto.n == 0 && gm_exports_have(options->exports, GM_EXPORT_JOINED))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--export joined tells what --kineto FILE joins");
    if (status == GM_OK && options->kineto.n > 0 && options->kineto.n != (size_t)*count)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--kineto adds a trace to the snapshot of the same process: one for each snapshot");
    for (size_t i = 0; status == GM_OK && i < options->kineto.n; i++)
        status = gm_paths_check_json(usual->json, options->kineto.v[i], err);
    return status;
}

const struct gm_program gm_analyze_program = {
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
            "  SNAPSHOT  pickle, JSON or _memory_viz.py HTML, or a trace of torch.profiler;\n"
            "            also .gz and .zst; - is stdin\n"
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
    .check = check_options,
};
