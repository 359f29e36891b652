/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/handover/cli/gmtrace.h"

#include "analyze/base/closest.h"
#include "analyze/cli/analyze_options.h"
#include "analyze/cli/operands.h"
#include "replay/whatif/gpus.h"

#include <string.h>

const char *const gm_verb_names[] = {"info", "cut", "redact", "shrink", "merge"};

#define AT(field) .offset = offsetof(struct gm_verb_options, field)

static const struct gm_option option_table[] = {
    {'o', "output", "OUT",
     "what cut, redact, shrink and merge write: .gmtrace, or a pickle, which .zst and .gz compress; - is stdout" GM_MORE
     "A pickle opens in PyTorch's own tools, too. The file appears when it is complete.",
     GM_OPTION_TEXT, AT(output)},
    {0, "from", "PLACE",
     "cut: begin with that event: 12345, 3.5s (since the first event), step:12" GM_MORE
     "Steps are those of `gmtrace info`. Without --from all since the beginning of the trace.",
     GM_OPTION_PARSED, AT(from), .parse = gm_value_place, .wants = "a place, as in 12345, 3.5s, step:12",
     .words = gm_place_words},
    {0, "to", "PLACE", "cut: end with that event, of a step with its last", GM_OPTION_PARSED, AT(to),
     .parse = gm_value_place, .wants = "a place, as in 12345, 3.5s, step:12", .words = gm_place_words},
    {0, "to-peak", NULL, "cut: end where most was requested, so that the snapshot shows the peak", GM_OPTION_FLAG,
     AT(to_peak)},
    GM_ROW_DEVICE(
        "cut: whose events and steps --from and --to mean (default: the first that has events); shrink: whose "
        "allocations (default: that which ran out of memory, else that with the highest peak)"),
    {0, "keep", "PACKAGE",
     "redact: leave the frames of that package as they are, as torch's; repeat it for more" GM_MORE
     "From the name of the package on: what stands before `site-packages` in a path is left out.",
     GM_OPTION_TEXTS, AT(packages)},
    {0, "salt", "TEXT",
     "redact: what names are hashed with (default: drawn anew each time)" GM_MORE
     "The same salt gives the same hashes, so that two redacted files can be compared. Who has it can test guesses.",
     GM_OPTION_TEXT, AT(salt)},
    {0, "kept", "FILE",
     "redact: write each text that was left as it is, a line each, to read before the file is given away; - is stdout",
     GM_OPTION_TEXT, AT(kept)},
    {0, "goal", "GOAL",
     "shrink: what stays as it is: oom, reserved (its peak), fragmentation (that, and its unused share) (default: oom "
     "if it runs out of memory, else reserved)",
     GM_OPTION_CHOICE, AT(goal), .min = GM_SHRINK_OOM, .choices = gm_shrink_goals},
    {0, "tolerance", "PERCENT", "shrink: by how much the peak, or the share, may differ then (default: 1)",
     GM_OPTION_PERCENT, AT(tolerance)},
    {0, "memory", "SIZE", "shrink: memory of the device (default: what the recording's end says, else unlimited)",
     GM_OPTION_SIZE, AT(memory)},
    {0, "gpu", "NAME", "shrink: memory of a card, less its CUDA context; list shows all", GM_OPTION_LISTED, AT(gpu),
     .list = gm_gpu_list, .words = gm_gpu_names},
    {0, "join", "WHICH",
     "shrink: allocations that live equally long become one: none, those of one call site, or all (default: "
     "site)" GM_MORE
     "`none`: each is one of the recording's, with its size; of a run that asks for more than there is, that may be "
     "thousands. `all`: the fewest.",
     GM_OPTION_CHOICE, AT(join), .choices = gm_shrink_joins},
    {0, "script", "FILE", "shrink: write the same as a Python program for PyTorch, too; - is stdout", GM_OPTION_TEXT,
     AT(script)},
    {0, "replays", "N", "shrink: try at most so many (default: 200000)", GM_OPTION_INTEGER, AT(replays), .min = 1,
     .max = INT64_C(1) << 40},
    {0, "timeout", "SECONDS",
     "shrink: try no more after that time (default: 120)" GM_MORE
     "What was found by then is written. Without reaching it the same call gives the same file.",
     GM_OPTION_INTEGER, AT(timeout), .min = 1, .max = 1000000},
    {0, "ranks", NULL,
     "merge: the snapshots are of several processes, whose devices become 0, 1 ..." GM_MORE
     "In the order of the ranks that their paths name, else as they are given. Else they are the dumps of one process.",
     GM_OPTION_FLAG, AT(ranks)},
    {0, "after-gap", NULL, "merge: where events between two dumps are missing, keep what is after the last gap",
     GM_OPTION_FLAG, AT(after_gap)},
    GM_ROW_JSON("info, shrink: what it says, for programs; - is stdout, instead of the text"),
    GM_ROW_MAX_MEMORY,
    GM_ROW_SALVAGE("take what is complete of a damaged file"),
    GM_ROW_QUIET("no words and no warnings, only errors"),
    GM_ROW_VERBOSE("tell on stderr how long each phase took"),
    GM_ROWS_PAGES,
};

/* What belongs to another verb, and what the verb needs. */
static enum gm_status check_verb(const struct gm_verb_options *o, struct gm_error *err)
{
    enum {
        INFO = 1 << GM_VERB_INFO,
        CUT = 1 << GM_VERB_CUT,
        REDACT = 1 << GM_VERB_REDACT,
        SHRINK = 1 << GM_VERB_SHRINK,
        MERGE = 1 << GM_VERB_MERGE
    };
    static const struct gm_verb_options usual = GM_VERB_DEFAULTS;
    const bool cuts = o->from.kind != GM_PLACE_NONE || o->to.kind != GM_PLACE_NONE || o->to_peak;
    const struct {
        bool is_given;
        int takers;
        const char *options;
    } own[] = {
        {o->output != NULL, CUT | REDACT | SHRINK | MERGE, "-o"},
        {o->usual.json != NULL, INFO | SHRINK, "--json"},
        {o->usual.device >= 0, CUT | SHRINK, "--device"},
        {cuts, CUT, "--from, --to and --to-peak"},
        {o->packages.n > 0 || o->salt != NULL || o->kept != NULL, REDACT, "--keep, --salt and --kept"},
        {o->goal != usual.goal || o->tolerance != usual.tolerance || o->memory != usual.memory || o->gpu != NULL ||
             o->join != usual.join || o->script != NULL || o->replays != usual.replays || o->timeout != usual.timeout,
         SHRINK, "--goal, --tolerance, --memory, --gpu, --join, --script, --replays and --timeout"},
        {o->ranks || o->after_gap, MERGE, "--ranks and --after-gap"},
    };
    const char *verb = gm_verb_names[o->verb];
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].is_given && (own[i].takers >> o->verb & 1) == 0)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: not for %s", own[i].options, verb);
    if (o->verb != GM_VERB_INFO && o->output == NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: -o OUT says what is written", verb);
    if (o->verb == GM_VERB_CUT && !cuts)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "cut: --from, --to or --to-peak says where");
    if (o->to_peak && o->to.kind != GM_PLACE_NONE)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--to and --to-peak are two ends");
    if (o->memory != usual.memory && o->gpu != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--memory and --gpu both say how much memory there is");
    if (o->ranks && o->after_gap)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--ranks and --after-gap: the traces of ranks have no gaps between");
    return GM_OK;
}

/* Each output is a file of its own. */
static enum gm_status check_outputs(const struct gm_verb_options *o, const char *trace, struct gm_error *err)
{
    const char *const outputs[][2] = {
        {"-o", o->output}, {"--kept", o->kept}, {"--script", o->script}, {"--json", o->usual.json}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const char *const option = outputs[i][0], *const path = outputs[i][1];
        if (path != NULL && !gm_path_is_standard(path) && gm_path_is_same(path, trace))
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s would overwrite the trace %s", option, trace);
        for (size_t k = 0; path != NULL && k < i; k++)
            if (outputs[k][1] != NULL && gm_path_is_same(outputs[k][1], path))
                return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s and %s both name %s", outputs[k][0], option, path);
    }
    return gm_paths_check_json(o->usual.json, trace, err);
}

static enum gm_status find_verb(enum gm_verb *verb, const char *word, struct gm_error *err)
{
    struct gm_closest closest = gm_closest_to(word, strlen(word));
    for (*verb = 0; *verb < GM_VERB_COUNT; ++*verb) {
        if (strcmp(word, gm_verb_names[*verb]) == 0)
            return GM_OK;
        gm_closest_offer(&closest, gm_verb_names[*verb]);
    }
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no such verb: '%s'%s", word, gm_closest_hint(&closest, "").text);
}

static enum gm_status check_options(void *values, char **operands, int *count, struct gm_error *err)
{
    struct gm_verb_options *o = values;
    if (*count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no verb given: info, cut, redact, shrink or merge");
    GM_TRY(find_verb(&o->verb, operands[0], err));
    if (o->verb == GM_VERB_MERGE ? *count < 3 : *count != 2)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       *count < 2                 ? "no TRACE given"
                       : o->verb == GM_VERB_MERGE ? "merge makes one of several: one TRACE given"
                                                  : "one TRACE at a time");
    *count -= 1;
    memmove(operands, operands + 1, (size_t)*count * sizeof *operands);
    enum gm_status status = check_verb(o, err);
    for (int i = 0; i < *count; i++)
        GM_THEN(status, check_outputs(o, operands[i], err));
    return status;
}

const struct gm_program gm_trace_program = {
    .name = "gmtrace",
    .head = "gmtrace: a memory snapshot of PyTorch, made fit to be handed over\n"
            "\n"
            "Examples:\n"
            "  gmtrace info run.pickle                what is in it: devices, steps, times\n"
            "  gmtrace cut --from step:3 --to step:4 -o two_steps.pickle run.pickle\n"
            "  gmtrace cut --to-peak -o peak.pickle run.pickle    it ends at the peak\n"
            "  gmtrace redact -o public.pickle run.pickle         for a bug report\n"
            "  gmtrace shrink -o small.pickle --script small.py run.pickle   what it takes to\n"
            "                                         run out of memory, or to reach the peak\n"
            "  gmtrace merge -o run.pickle dump*.pickle           one trace of many dumps\n"
            "  gmtrace merge --ranks -o job.pickle rank*.pickle   one snapshot of many ranks\n"
            "\n"
            "Usage: gmtrace [options] VERB TRACE...\n"
            "  VERB   info, cut, redact, shrink or merge\n"
            "  TRACE  a memory snapshot: pickle, JSON, _memory_viz.py HTML or .gmtrace,\n"
            "         also .gz and .zst; - is stdin\n"
            "\n"
            "Options:\n",
    .tail = "      --                  end of options\n"
            "\n"
            "What cut writes is a snapshot of its own: its segments and blocks are those\n"
            "after its last event, so every tool computes the same from it as from the\n"
            "whole. What redact writes has sizes, addresses, times, line numbers and\n"
            "PyTorch's own frames, and hashes for all other names, paths and texts. What\n"
            "shrink writes has as few allocations as keep its goal in the model of PyTorch's\n"
            "allocator; they begin with an empty one, and lie where the model puts them.\n"
            "What merge writes has each event once; it says so where some are missing.\n"
            "\n"
            "Exit codes: 0 done; 2 wrong usage; 3 the trace is missing, damaged or no\n"
            "snapshot, contradicts itself where it is to be cut, does not run out of memory\n"
            "in the model, or does not go on where the one before ends; 4 there is no model\n"
            "of its allocator; 5 the output could not be written, or an internal error.\n",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
    .check = check_options,
};
