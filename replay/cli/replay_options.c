/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/gmreplay.h"

#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* "2.10", "2.12.1": a major and a minor number, and what may come behind. */
static bool parse_torch(const char *text, void *value)
{
    unsigned major, minor;
    int length = 0;
    if (sscanf(text, "%4u.%4u%n", &major, &minor, &length) < 2 || *text < '0' || *text > '9' ||
        (text[length] != '\0' && text[length] != '.' && text[length] != '+'))
        return false;
    const unsigned version = 10000 * major + minor;
    *(struct gm_torch *)value = (struct gm_torch){.is_given = true,
                                                  .ties = version < 20012    ? GM_TIES_LOWEST
                                                          : version == 20012 ? GM_TIES_OLDEST_BLOCK
                                                                             : GM_TIES_OLDEST_SEGMENT};
    return true;
}

#define AT(field) .offset = offsetof(struct gm_replay_options, field)

static const struct gm_option option_table[] = {
    {0, "verify", NULL, "follow the recording and let the model choose every address; exit code 1 if one differs",
     GM_OPTION_FLAG, AT(verify)},
    {0, "alloc-conf", "STRING",
     "allocator settings, as in PYTORCH_ALLOC_CONF (default: the recorded ones)" GM_MORE
     "They are checked as PyTorch checks them; those not named have PyTorch's defaults, not the recorded values.",
     GM_OPTION_TEXT, AT(alloc_conf), .words = gm_conf_words, .is_list = true},
    {0, "torch", "VERSION",
     "rules of that PyTorch: 2.10, 2.15 (default: those that the recording shows)" GM_MORE
     "That is: which of equal free blocks is taken. Up to 2.11 the lowest, 2.12 the block that was made first, from "
     "2.13 on that of the oldest segment.",
     GM_OPTION_PARSED, AT(torch), .parse = parse_torch, .wants = "a version of PyTorch, as in 2.10"},
    {0, "memory", "SIZE",
     "memory of the device (default: unlimited)" GM_MORE
     "Without it, or a card, `per_process_memory_fraction` limits nothing.",
     GM_OPTION_SIZE, AT(memory)},
    {0, "gpu", "NAME",
     "memory of a card, less its CUDA context: h100-80, rtx-4090 ...; list shows all" GM_MORE
     "A memory fraction is one of the whole card, as in PyTorch, with what the CUDA context has. Which cards: "
     "[replay.md](replay.md#cards).",
     GM_OPTION_LISTED, AT(gpu), .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "scale", "CLASS=FACTOR",
     "sizes of a role or category: Activation=0.5" GM_MORE
     "Of its requested bytes. May be repeated. CLASS is as in `--drop`.",
     GM_OPTION_PARSED, AT(changes), .parse = gm_value_scale, .wants = "as in Activation=0.5 or category:Attention=2",
     .words = gm_scale_words},
    {0, "drop", "CLASS",
     "leave a role or category out, as if it were offloaded" GM_MORE
     "None of its requests are made. May be repeated. CLASS is `role:NAME` or `category:NAME`; a bare name is a role "
     "first, then a category; any case: [roles.md](roles.md), [categories.md](categories.md).",
     GM_OPTION_PARSED, AT(changes), .parse = gm_value_drop, .wants = "a role or a category", .words = gm_drop_words},
    {0, "sweep", NULL,
     "try some 90 allocator settings and name the best" GM_MORE
     "Which, and the JSON keys: [search.md](search.md#--sweep).",
     GM_OPTION_FLAG, AT(sweep)},
    {0, "fit", NULL, "find the smallest memory, and card, that runs it" GM_MORE "See [search.md](search.md#--fit).",
     GM_OPTION_FLAG, AT(fit)},
    {0, "plan", "CARD",
     "the cheapest fixes with which it runs there, with 5 % to spare; exit code 1: none" GM_MORE
     "See [search.md](search.md#--plan).",
     GM_OPTION_LISTED, AT(plan), .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "chart", "FILE", "--plan as a picture (PNG): how the peak goes down, fix after fix, to what the card has",
     GM_OPTION_TEXT, AT(chart)},
    {0, "budget", "SECONDS",
     "time for --sweep, --fit and --plan, then what was found (default: 60, and 60 for each million events; 0: "
     "any)" GM_MORE "See [search.md](search.md).",
     GM_OPTION_INTEGER, AT(budget), .min = 0, .max = 1000000000},
    GM_ROW_JOBS("threads for --sweep and --fit (default: one for each CPU)", 1024),
    {0, "limit", "SIZE",
     "exit code 1 if peak reserved is more on any device; else PASS, with cards and recommendations" GM_MORE
     "PASS is at most SIZE, on every device: [replay.md](replay.md#--limit).",
     GM_OPTION_SIZE, AT(limit)},
    {'o', "output", "OUT",
     "write the snapshot that the replay would have left, as a pickle; .zst and .gz compress it" GM_MORE
     "What is in it: [replay.md](replay.md#regenerated-snapshots).",
     GM_OPTION_TEXT, AT(output)},
    {0, "csv", "FILE",
     "a row for each step: peaks of allocated and reserved memory" GM_MORE
     "Columns: `timestamp,member,step,allocated_GB,reserved_GB,current_GB`; a row for what is before the first step "
     "(`init`), each step, and what comes after the last (`final`): [replay.md](replay.md#--csv).",
     GM_OPTION_TEXT, AT(csv)},
    {0, "members", "N",
     "forecast: repeat the last complete step, so that there are N members" GM_MORE
     "See [replay.md](replay.md#--members-and---steps).",
     GM_OPTION_INTEGER, AT(members), .min = 1, .max = 1 << 20},
    {0, "steps", "M", "steps that a member has (default: as many as were recorded)", GM_OPTION_INTEGER, AT(steps),
     .min = 1, .max = 1 << 20},
    {0, "summary", "FILE",
     "the text with more: utilisation, fragmentation, members, cards that run it" GM_MORE
     "See [replay.md](replay.md#--summary).",
     GM_OPTION_TEXT, AT(summary)},
    {0, "trace-out", "FILE",
     "write the recorded trace as a compact .gmtrace, to archive it" GM_MORE
     "Whole; gmanalyze and gmreplay read it like the snapshot it was made of: [gmtrace.md](gmtrace.md).",
     GM_OPTION_TEXT, AT(trace_out)},
    GM_ROW_JSON("all numbers; - is stdout, instead of the summary"),
    GM_ROW_FORMAT,
    GM_ROW_FORMAT_SOURCE,
    {0, "backend", "NAME",
     "what is behind the allocator: sim (default), null (never full), cuda, cuda-async" GM_MORE
     "`cuda` and `cuda-async`: exit code 4 where gmreplay was built without CUDA ([compute.md](compute.md)).",
     GM_OPTION_CHOICE, AT(backend), .choices = gm_replay_backend_names},
    {0, "compute", "WHAT", "on a GPU: none (default); touch: fill and verify each block; full: kernels too",
     GM_OPTION_CHOICE, AT(compute), .choices = gm_replay_compute_names},
    {0, "pace", NULL, "on a GPU: not faster than it was recorded", GM_OPTION_FLAG, AT(pace)},
    GM_ROW_CATEGORIES("category rules for --scale, --drop, --summary and --limit"),
    GM_ROW_MAX_MEMORY,
    GM_ROW_SALVAGE("replay what is complete of a damaged file"),
    GM_ROWS_IGNORE("fixes of --plan for findings"),
    GM_ROW_QUIET("no summary and no warnings, only errors"),
    GM_ROW_VERBOSE("tell the model's speed on stderr"),
    GM_ROWS_PAGES,
};

static const char *const output_names[GM_REPLAY_OUTPUTS] = {"--json",  "--csv",       "--summary",
                                                            "--chart", "--trace-out", "-o"};

const char *gm_replay_output_path(const struct gm_replay_options *o, int output)
{
    const char *const paths[GM_REPLAY_OUTPUTS] = {o->usual.json, o->csv, o->summary, o->chart, o->trace_out, o->output};
    return paths[output];
}

static bool is_file(const char *path)
{
    return path != NULL && !gm_path_is_standard(path);
}

/* No output may overwrite the trace or another one. */
static enum gm_status check_outputs(const struct gm_replay_options *o, const char *trace, struct gm_error *err)
{
    int to_stdout = 0;
    for (int i = 0; i < GM_REPLAY_OUTPUTS; i++) {
        const char *path = gm_replay_output_path(o, i);
        to_stdout += path != NULL && !is_file(path);
        if (is_file(path) && gm_path_is_same(path, trace))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s would overwrite the trace %s", output_names[i], trace);
        for (int k = 0; is_file(path) && k < i; k++)
            if (is_file(gm_replay_output_path(o, k)) && gm_path_is_same(path, gm_replay_output_path(o, k)))
                return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s and %s both name %s", output_names[k],
                               output_names[i], path);
    }
    for (size_t i = 0; i < o->usual.formats.n; i++) {
        const char *path = o->usual.formats.v[i].file;
        to_stdout += !is_file(path);
        if (is_file(path) && gm_path_is_same(path, trace))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--format would overwrite the trace %s", trace);
    }
    return to_stdout <= 1 ? GM_OK : gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "only one output can go to standard output");
}

static enum gm_status check_verify(const struct gm_replay_options *o, struct gm_error *err)
{
    const char *wrong = o->memory != UINT64_MAX       ? "--memory"
                        : o->gpu != NULL              ? "--gpu"
                        : o->changes.n > 0            ? "--scale and --drop"
                        : o->csv != NULL              ? "--csv"
                        : o->sweep                    ? "--sweep"
                        : o->fit                      ? "--fit"
                        : o->plan != NULL             ? "--plan"
                        : o->members > 0              ? "--members"
                        : o->steps > 0                ? "--steps"
                        : o->backend != GM_REPLAY_SIM ? "--backend"
                                                      : NULL;
    if (!o->verify || wrong == NULL)
        return GM_OK;
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--verify follows the recording as it is: not with %s", wrong);
}

static enum gm_status check_repetition(const struct gm_replay_options *o, struct gm_error *err)
{
    const char *wrong = o->output != NULL ? "-o" : o->sweep ? "--sweep" : o->fit ? "--fit" : o->plan ? "--plan" : NULL;
    if (wrong == NULL || (o->members == 0 && o->steps == 0))
        return GM_OK;
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s takes the recording as it is: not with --members and --steps",
                   wrong);
}

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    const struct gm_replay_options *o = values;
    const struct gm_gpu *card;
    char note[GM_GPU_NOTE];
    if (o->plan != NULL)
        GM_TRY(gm_gpu_choose(&card, note, "--plan", o->plan, err));
    if (*count != 1)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, *count == 0 ? "no trace given" : "more than one trace given");
    if (o->memory != UINT64_MAX && o->gpu != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--memory and --gpu both say how much memory there is");
    if (o->backend == GM_REPLAY_NULL && (o->memory != UINT64_MAX || o->gpu != NULL))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--backend null is never full: it takes no --memory and no --gpu");
    if (o->plan == NULL && o->chart != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--chart is the picture of --plan, which was not asked for");
    if (o->plan == NULL && o->usual.ignore.n + o->usual.ignore_files.n > 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--ignore leaves out fixes of --plan, which was not asked for");
    GM_TRY(check_verify(o, err));
    GM_TRY(check_repetition(o, err));
    GM_TRY(check_outputs(o, operands[0], err));
    return gm_replay_check_gpu(o, err);
}

const struct gm_program gm_replay_program = {
    .name = "gmreplay",
    .head = "gmreplay: replays a memory snapshot's trace in a model of PyTorch's allocator\n"
            "\n"
            "Examples:\n"
            "  gmreplay --verify s.pickle              does the model choose as recorded?\n"
            "  gmreplay --alloc-conf expandable_segments:True s.pickle\n"
            "  gmreplay --gpu rtx-4090 s.pickle        would it run there? else exit code 1\n"
            "  gmreplay --memory 40GiB --scale Activation=0.5 s.pickle\n"
            "  gmreplay --sweep --fit s.pickle         better settings, and the smallest card\n"
            "  gmreplay --limit 23GB s.pickle          a gate for CI: exit code 1 above that\n"
            "\n"
            "Usage: gmreplay [options] TRACE\n"
            "  TRACE  a snapshot with a trace: pickle, JSON, _memory_viz.py HTML, .gmtrace;\n"
            "         also .gz and .zst\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "SIZE is a number and a unit, all binary: 512MiB, 1.5GiB, 70G.\n"
            "CLASS is role:NAME or category:NAME; a bare name is a role first. Any case.\n"
            "\n"
            "Exit codes: 0 done; 1 done, but the verification, the limit or the memory\n"
            "failed; 2 wrong usage; 3 the input is missing, damaged or has no trace;\n"
            "4 a capability is missing here; 5 an output could not be written, or an\n"
            "internal error.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
    .check = check_options,
};
