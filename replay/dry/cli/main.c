/* SPDX-License-Identifier: Apache-2.0
 *
 * gmdry: a thin main. A command runs with a stand-in for the CUDA libraries; the snapshots that PyTorch recorded become
 * run directories as gmanalyze makes them.
 */
#include "analyze/cli/analyze_options.h"
#include "analyze/cli/job.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"
#include "replay/dry/cli/gmdry.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const gm_dry_data_names[] = {"zeros", "ones", "random", "half", NULL}; /* enum gm_dry_data */
const char *const gm_dry_stack_names[] = {"python", "all", NULL};                  /* enum gm_dry_stacks */

static bool parse_events(const char *text, void *value)
{
    int64_t *events = value;
    char *end = NULL;
    *events = strcmp(text, "sync") == 0 ? GM_DRY_EVENTS_SYNC : 0;
    if (strcmp(text, "sync") == 0 || strcmp(text, "now") == 0)
        return true;
    *events = strtol(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *events <= 1000000000;
}

static void event_words(struct gm_text *out)
{
    gm_text_add(out, "now\nsync\n");
}

#define AT(field) .offset = offsetof(struct gm_dry_options, field)

static const struct gm_option option_table[] = {
    {0, "gpu", "NAME",
     "the card to answer as (default: h100-80); list shows all" GM_MORE
     "Its capability, SMs, L2, memory. Cards that do not run CUDA are refused.",
     GM_OPTION_LISTED, AT(gpu), .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "memory", "SIZE",
     "memory of each device, in place of the card's" GM_MORE "A CUDA context's 512 MiB are taken off either.",
     GM_OPTION_SIZE, AT(memory)},
    {0, "devices", "N", "how many of it there are (default: 1)" GM_MORE "`CUDA_VISIBLE_DEVICES` hides some.",
     GM_OPTION_INTEGER, AT(devices), .min = 1, .max = GM_DRY_DEVICES},
    {0, "steps", "N", "stop after N optimizer steps of a process", GM_OPTION_INTEGER, AT(steps), .min = 1,
     .max = 1000000000},
    {0, "data", "WHAT",
     "what is read back from the device: zeros (default), ones, random, half" GM_MORE
     "What each is: [dry.md](dry.md#values).",
     GM_OPTION_CHOICE, AT(data), .min = GM_DRY_ZEROS, .choices = gm_dry_data_names},
    {0, "events", "WHEN",
     "the device lags: events are complete now (default), at a sync, or after N polls" GM_MORE
     "See [dry.md](dry.md#events).",
     GM_OPTION_PARSED, AT(events), .parse = parse_events, .wants = "now, sync, or a number of polls",
     .words = event_words},
    {0, "stacks", "WHAT", "of each allocation: python (default), or all, with C++" GM_MORE "C++'s are slower.",
     GM_OPTION_CHOICE, AT(stacks), .min = GM_DRY_PYTHON, .choices = gm_dry_stack_names},
    {0, "limit", "SIZE", "exit code 1 if more is reserved on any device" GM_MORE "The verdict is FAIL then.",
     GM_OPTION_SIZE, AT(limit)},
    {0, "world-size", "N",
     "run one rank of a job of N, whose others are not there" GM_MORE "See [dry.md](dry.md#several-ranks).",
     GM_OPTION_INTEGER, AT(world_size), .min = 1, .max = 1000000},
    {0, "rank", "R", "which one (default: 0)", GM_OPTION_INTEGER, AT(rank), .min = 0, .max = 1000000},
    {0, "find", "NAME=RANGE",
     "the largest value of {NAME} in COMMAND that fits: LOW..HIGH, LOW..HIGH:STEP or :x2" GM_MORE
     "See [dry.md](dry.md#the-largest-batch).",
     GM_OPTION_TEXT, AT(find)},
    {0, "sweep", NULL,
     "other allocator settings, replayed: the command runs once" GM_MORE
     "As of `gmreplay --sweep`; of several processes the first's snapshot is replayed.",
     GM_OPTION_FLAG, AT(sweep)},
    {0, "snapshot", "FILE", "keep PyTorch's snapshot there: of the first rank, or of each with {rank} in FILE",
     GM_OPTION_TEXT, AT(snapshot)},
    GM_ROW_RESULTS,
    GM_ROW_NAME("name of the run (default: the script's)"),
    GM_ROW_JSON("what came of it, as JSON; - is stdout, instead of the words" GM_MORE
                "That is `gmdry.run/1`; with `-` what COMMAND prints goes to standard error."),
    GM_ROW_NO_CHARTS("no PNG files"),
    GM_ROWS_PAGE,
    GM_ROWS_IGNORE("findings"),
    GM_ROW_QUIET("the line on top only"),
    GM_ROW_VERBOSE("tell on stderr how long each phase took"),
    GM_ROWS_PAGES,
};

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err);

static const struct gm_program program = {
    .name = "gmdry",
    .head = "gmdry: runs a PyTorch program without a GPU, and says what memory it would need\n"
            "\n"
            "Examples:\n"
            "  gmdry -- python train.py --batch 8           on an H100, a report in ./results\n"
            "  gmdry --gpu rtx-4090 --steps 3 -- python train.py\n"
            "  gmdry --find batch=1..512 --steps 2 -- python train.py --batch {batch}\n"
            "  gmdry --devices 2 -- torchrun --nproc-per-node 2 train.py\n"
            "  gmdry --world-size 1024 --rank 512 -- python train.py\n"
            "  gmdry --limit 20GiB --json - -- python train.py     for CI\n"
            "\n"
            "Usage: gmdry [options] -- COMMAND...\n"
            "  COMMAND  is run as it is, with a CUDA build of PyTorch; what it would read\n"
            "           from the device is zeros\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "Exit codes: 0 done; 1 out of memory, or over --limit; 2 wrong usage; 3 COMMAND\n"
            "failed; 4 a capability is missing here; 5 an output could not be written, or an\n"
            "internal error.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
    .check = check_options,
    .operands = GM_OPERANDS_COMMAND,
};

static enum gm_status check_find(const struct gm_dry_options *o, char *const *command, struct gm_error *err)
{
    struct gm_dry_range range;
    enum gm_status status = o->find == NULL ? GM_OK : gm_dry_range_read(&range, o->find, err);
    if (o->find != NULL && status == GM_OK && !gm_dry_command_has(command, &range))
        status = gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--find: {%s} is nowhere in the command", range.name);
    return status;
}

/* The options, and the card that --gpu names, which is looked up when they are checked. */
struct checked {
    struct gm_dry_options options;
    const struct gm_gpu *gpu;
    char note[GM_GPU_NOTE];
};

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    struct checked *checked = values;
    const struct gm_dry_options *o = &checked->options;
    enum gm_status status = gm_gpu_choose(&checked->gpu, checked->note, "--gpu", o->gpu, err);
    if (status != GM_OK)
        return status;
    operands[*count] = NULL; /* they are moved to the front */
    if (*count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no command: gmdry [options] -- COMMAND...");
    if (checked->gpu->chip.major == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--gpu: %s does not run CUDA", checked->gpu->name);
    if (o->rank >= 0 && o->world_size == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--rank is one of --world-size, which is not given");
    if (o->rank >= 0 && o->rank >= o->world_size)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--rank: ranks are 0 to %lld", (long long)o->world_size - 1);
    GM_FREED_BY(gm_ignore_free)
    struct gm_ignore ignore = {.reports = 0}; /* wrong rules are told before the command runs */
    status = gm_ignore_load(&ignore, &o->usual, err);
    return status == GM_OK ? check_find(o, operands, err) : status;
}

/* ---- what came of it --------------------------------------------------------------------------------------------- */

/* Why nothing could be recorded, whatever the command did. NULL: it could. A command that a signal has ended may have
 * been about to load PyTorch. */
static const char *missing_here(const struct gm_dry_result *result)
{
    if (result->told->torch == GM_DRY_TORCH_WANTED && result->exit_code < 128)
        return "the command's Python has no PyTorch, or cannot load it (pip install torch)";
    if (result->told->torch == GM_DRY_TORCH_CPU)
        return "the command's PyTorch is one without CUDA: gmdry needs a CUDA build of it, as PyPI has for Linux";
    return NULL;
}

static void tell_doubts(struct gm_call *call, const struct gm_dry_result *result)
{
    const struct gm_dry_told *told = result->told;
    if (told->unknown.n > 0)
        gm_call_warn(call, NULL, "functions were called that the stand-in does not know (named above, and in --json)");
    if (told->estimated.n > 0)
        gm_call_warn(call, NULL, "some sizes are estimates (--json names them)");
    if (told->silent_count > 0)
        gm_call_warn(call, NULL, "a process that used a device was ended before it told what it needs, as by a signal");
    if (told->traced_count == 0 && told->processes.n > 0 &&
        (result->options->snapshot != NULL || result->options->sweep))
        gm_call_warn(call, NULL, "the allocator keeps no trace: there is nothing for --snapshot and --sweep");
    for (size_t i = 0; i < told->device_count; i++)
        if (told->devices[i].processes > 1) {
            gm_call_warn(call, NULL,
                         "several processes used one device: what is needed is told of the one that needs "
                         "most, what is left of all");
            break;
        }
    for (size_t i = 0; i < told->processes.n; i++)
        if (told->processes.v[i].is_late || told->processes.v[i].is_short) {
            gm_call_note(call, told->processes.v[i].is_short
                                   ? "the command ended the recording of its memory: the trace has nothing of what it "
                                     "allocated later, the peaks have"
                                   : "the command records its memory itself: the trace begins where it began to");
            break;
        }
}

static enum gm_status keep_snapshot(const char *to, const char *from, struct gm_error *err)
{
    struct gm_text bytes = {0};
    char part[1 << 16];
    FILE *file = fopen(from, "re");
    if (file == NULL)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "%.200s cannot be opened", from);
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        gm_text_add_bytes(&bytes, part, n);
    const bool is_read = !ferror(file);
    fclose(file);
    enum gm_status status = GM_OK;
    if (!is_read || bytes.failed)
        status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "%.200s cannot be read", from);
    else
        status = gm_write_file(to, bytes.data, bytes.length, err);
    gm_text_free(&bytes);
    return status;
}

enum { SHOWN = PATH_MAX };

/* Where the snapshot of a process is kept, or, if it is not, what its report calls it. false: it is not. With {rank} in
 * --snapshot there is one for each rank, else the first process's is kept. */
static bool place_snapshot(char shown[SHOWN], const struct gm_dry_result *result, size_t index)
{
    const struct gm_dry_told *told = result->told;
    const struct gm_dry_process *p = &told->processes.v[index];
    const char *to = result->options->snapshot, *mark = to == NULL ? NULL : strstr(to, "{rank}");
    const bool is_same = index > 0 && told->processes.v[index - 1].rank == p->rank;
    const char *slash = strrchr(p->snapshot, '/');
    int n = 0;
    if (mark != NULL && p->rank >= 0 && !is_same)
        n = snprintf(shown, SHOWN, "%.*s%d%s", (int)(mark - to), to, p->rank, mark + strlen("{rank}"));
    else if (mark == NULL && to != NULL && index == 0)
        n = snprintf(shown, SHOWN, "%s", to);
    if (n > 0 && n < SHOWN)
        return true;
    n = snprintf(shown, SHOWN, "%s", slash == NULL ? p->snapshot : slash + 1);
    if (p->rank >= 0 && n < SHOWN)
        snprintf(shown + n, (size_t)(SHOWN - n), " of rank %d", p->rank);
    n = (int)strlen(shown);
    snprintf(shown + n, (size_t)(SHOWN - n), " (not kept: --snapshot)");
    return false;
}

static void keep_snapshots(struct gm_call *call, const struct gm_dry_result *result)
{
    char to[SHOWN];
    struct gm_error err;
    bool is_left = false;
    for (size_t i = 0; i < result->told->traced_count; i++)
        if (!place_snapshot(to, result, i))
            is_left = true;
        else if (keep_snapshot(to, result->told->processes.v[i].snapshot, &err) != GM_OK)
            gm_call_fail(call, to, &err);
    const char *asked = result->options->snapshot;
    if (is_left && asked != NULL && strstr(asked, "{rank}") != NULL)
        gm_call_warn(call, asked, "of several processes of one rank the first's is kept, of one without a rank none");
}

/* Run directories, one for each process, as gmanalyze makes them. */
static enum gm_status analyse(struct gm_analyze_context *context, const struct gm_dry_result *result,
                              struct gm_error *err)
{
    const struct gm_dry_told *told = result->told;
    const size_t count = told->traced_count;
    char(*shown)[SHOWN] = calloc(count, sizeof *shown);
    GM_FREED struct gm_job *jobs = calloc(count, sizeof *jobs);
    char(*names)[GM_NAME_SIZE] = calloc(count, sizeof *names);
    enum gm_status status = gm_shell_begin(context->shell, &context->options.usual, true, err);
    for (size_t i = 0; status == GM_OK && names != NULL && i < count; i++)
        gm_operands_name(names[i], told->processes.v[i].snapshot, context->options.usual.name, count > 1);
    if (status == GM_OK && (jobs == NULL || names == NULL || shown == NULL || !gm_operands_number(names, count)))
        status = gm_no_memory(err);
    if (status == GM_OK) {
        for (size_t i = 0; i < count; i++) {
            place_snapshot(shown[i], result, i);
            jobs[i].path = told->processes.v[i].snapshot;
            jobs[i].shown = shown[i];
            jobs[i].is_one_of_several = count > 1;
            memcpy(jobs[i].name, names[i], sizeof jobs[i].name);
        }
        gm_outcome_run(context, jobs, count, context->shell->threads);
    }
    GM_FREE_ALL(shown, names);
    return status;
}

static void report(struct gm_analyze_context *context, struct gm_dry_result *result)
{
    const struct gm_dry_options *o = result->options;
    const struct gm_dry_told *told = result->told;
    struct gm_call *call = &context->shell->said;
    struct gm_text line = {0}, preface = {0}, json = {0};
    struct gm_error err;
    const char *missing = missing_here(result);
    if (missing != NULL)
        gm_call_fail_with(call, NULL, GM_E_MISSING, missing);
    else if (result->exit_code != 0 && result->verdict != GM_DRY_OOM) {
        char text[256];
        const char *script = strrchr(result->command[0], '.');
        const char *why = told->crash[0] != '\0'     ? told->crash
                          : result->exit_code != 127 ? NULL
                          : script != NULL && strcmp(script, ".py") == 0
                              ? "not found; did you mean: python, and then the script?"
                              : "not found";
        snprintf(text, sizeof text, "the command failed with exit code %d%s%s%s", result->exit_code,
                 why == NULL ? "" : " (", why == NULL ? "" : why, why == NULL ? "" : ")");
        gm_call_fail_with(call, NULL, GM_E_READ, text);
    }
    if (result->verdict == GM_DRY_OOM || result->verdict == GM_DRY_FAIL)
        gm_call_raise(call, GM_E_CHECK);
    if (gm_dry_replay(&result->replayed, result, &call->terminal, &err) != GM_OK)
        gm_call_fail(call, NULL, &err);
    gm_call_time(call, "replays");
    gm_dry_line(&preface, result);
    gm_dry_sites(&preface, result);
    context->options.preface = preface.failed ? NULL : preface.data;
    const bool is_told = told->processes.n > 0 || result->exit_code == 0; /* else the message above says all */
    if (!gm_path_is_standard(o->usual.json) && missing == NULL && is_told) {
        if (result->find != NULL)
            gm_dry_found(&line, result);
        gm_dry_line(&line, result);
        if (!o->usual.quiet)
            gm_dry_sites(&line, result);
        gm_dry_sweep_words(&line, result);
        gm_call_print(call, &line);
    }
    tell_doubts(call, result);
    keep_snapshots(call, result);
    if (told->traced_count > 0 && analyse(context, result, &err) != GM_OK)
        gm_call_fail(call, NULL, &err);
    if (o->usual.json != NULL) {
        gm_dry_json(&json, result);
        gm_call_put(call, o->usual.json, &json);
    }
    context->options.preface = NULL;
    gm_text_free(&preface);
    gm_dry_replayed_free(&result->replayed);
    gm_call_time(call, "report");
}

static enum gm_status run(struct gm_analyze_context *context, const struct gm_dry_options *options,
                          const struct gm_gpu *gpu, char **command, struct gm_error *err)
{
    GM_FREED_BY(gm_dry_attempt_free) struct gm_dry_attempt attempt = {0};
    struct gm_dry_range range;
    struct gm_dry_find find = {.range = &range};
    enum gm_status status = GM_OK;
    if (options->find == NULL) {
        status = gm_dry_attempt(&attempt, options, gpu, command, err);
    } else {
        status = gm_dry_range_read(&range, options->find, err);
        GM_THEN(status, gm_dry_seek(&find, &attempt, options, gpu, command, err));
    }
    gm_call_time(&context->shell->said, "the command");
    if (status == GM_OK)
        report(context, &attempt.result);
    free(find.tries.v);
    return status;
}

int main(int argc, char **argv)
{
    struct checked checked = {.options = {.usual = GM_USUAL_DEFAULTS, .gpu = "h100-80", .devices = 1, .rank = -1}};
    struct gm_shell shell = {.threads = 0};
    struct gm_analyze_context context = {.options = GM_ANALYZE_DEFAULTS, .shell = &shell, .draw_threads = 1};
    struct gm_usual_options *usual = &context.options.usual;
    struct gm_error err;
    if (gm_call_begin(&shell.said, &program, &argc, argv, &checked)) {
        *usual = checked.options.usual;
        usual->json = NULL; /* it is not analysis.json that is wanted there */
        usual->quiet = usual->quiet || gm_path_is_standard(checked.options.usual.json);
        context.terminal = shell.said.terminal;
        if (checked.note[0] != '\0')
            gm_call_note(&shell.said, checked.note);
        if (run(&context, &checked.options, checked.gpu, argv, &err) != GM_OK)
            gm_call_fail(&shell.said, NULL, &err);
    }
    return gm_shell_end(&shell);
}
