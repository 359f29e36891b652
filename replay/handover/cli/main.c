/* SPDX-License-Identifier: Apache-2.0
 *
 * gmtrace: a thin main. Options in; load, cut, redact, shrink or merge; a snapshot and a few words out.
 */
#include "replay/handover/cli/gmtrace.h"

#include "analyze/base/ascii.h"
#include "analyze/base/size.h"
#include "analyze/cli/call.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/rules_file.h"
#include "analyze/cli/snapshot_file.h"
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "replay/handover/cut.h"
#include "replay/handover/redact.h"
#include "replay/write/write.h"

#include <stdlib.h>
#include <string.h>

/* ---- in --------------------------------------------------------------------------------------------------------- */

enum gm_status gm_trace_load(struct gm_snapshot *out, const struct gm_verb_options *o, struct gm_call *call,
                             const char *path, struct gm_error *err)
{
    const struct gm_load_options options = {.salvage = o->usual.salvage, .max_memory = o->usual.max_memory};
    GM_TRY(gm_snapshot_load(out, path, &options, err));
    if (out->profile != NULL)
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "a trace of torch.profiler; gmtrace takes memory snapshots");
    for (size_t i = 0; i < out->warning_count; i++)
        gm_call_warn(call, path, out->warnings[i]);
    return GM_OK;
}

static enum gm_status analyse(struct gm_recording *r, const struct gm_verb_options *o, struct gm_error *err)
{
    struct gm_category_rules *rules = NULL;
    GM_FREED struct gm_text text = {0};
    enum gm_status status = gm_rules_load(&rules, NULL, &text, err);
    const struct gm_timeline_options timeline = {.rules = rules, .from = o->from, .to = o->to, .is_brief = true};
    GM_THEN(status, gm_timeline_keep(&r->report, &r->kept, &r->snapshot, &timeline, err));
    gm_category_rules_free(rules);
    return status;
}

/* ---- out -------------------------------------------------------------------------------------------------------- */

static enum gm_status put_bytes(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    struct gm_text *text = context;
    gm_text_add_bytes(text, bytes, length);
    return text->failed ? gm_no_memory(err) : GM_OK;
}

enum gm_status gm_trace_settle(struct gm_snapshot *out, const struct gm_snapshot *made, struct gm_error *err)
{
    GM_FREED struct gm_text pickle = {0};
    const struct gm_sink sink = {.write = put_bytes, .context = &pickle};
    const struct gm_load_options options = {.max_memory = UINT64_MAX};
    enum gm_status status = gm_write_pickle(made, &sink, err);
    GM_THEN(status, gm_snapshot_load_bytes(out, pickle.data, pickle.length, "-", &options, err));
    return status;
}

void gm_trace_write(struct gm_call *call, const struct gm_snapshot *snapshot, const char *path)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    GM_FREED struct gm_text text = {0};
    if (!gm_ends_with(path, strlen(path), ".gmtrace")) {
        if (gm_put_snapshot(snapshot, path, &err) != GM_OK)
            gm_call_fail(call, NULL, &err);
    } else if (gm_write_gmtrace(snapshot, &text, &err) == GM_OK) {
        gm_call_put(call, path, &text);
    } else {
        gm_call_fail(call, NULL, &err);
    }
}

void gm_trace_tell(struct gm_call *call, const struct gm_verb_options *o, struct gm_text *text)
{
    if (!o->usual.quiet && !gm_path_is_standard(o->output) && !gm_path_is_standard(o->kept) &&
        !gm_path_is_standard(o->script) && !gm_path_is_standard(o->usual.json))
        gm_call_print(call, text);
    gm_text_free(text);
}

/* ---- cut -------------------------------------------------------------------------------------------------------- */

/* The device whose places are meant: an index in kept->v. */
static enum gm_status choose_device(size_t *chosen, const struct gm_recording *r, const struct gm_verb_options *o,
                                    struct gm_error *err)
{
    for (size_t d = 0; d < r->kept.count; d++) {
        const struct gm_history *h = &r->kept.v[d].history;
        *chosen = d;
        if (h->count > 0 && (o->usual.device < 0 || o->usual.device == h->device))
            return GM_OK;
    }
    if (o->usual.device >= 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--device: device %lld has no events",
                       (long long)o->usual.device);
    return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "it has no events, so there is nothing to cut");
}

static enum gm_status find_ranges(struct gm_cut_range *ranges, size_t *chosen, const struct gm_recording *r,
                                  const struct gm_verb_options *o, struct gm_error *err)
{
    GM_TRY(choose_device(chosen, r, o, err));
    const struct gm_kept_device *kept = &r->kept.v[*chosen];
    ranges[*chosen] = (struct gm_cut_range){o->from.kind == GM_PLACE_NONE ? 0 : kept->from - 1, kept->to};
    if (o->to_peak) {
        const uint64_t event = r->report.peaks[*chosen].event;
        if (event == GM_REPORT_NONE || event < ranges[*chosen].from)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                           "--to-peak: the peak of device %lld is what was there before %s",
                           (long long)kept->history.device, event == GM_REPORT_NONE ? "the first event" : "--from");
        ranges[*chosen].to = (uint32_t)event + 1;
    }
    return gm_cut_by_time(ranges, &r->kept, *chosen, err);
}

static void tell_cut(struct gm_call *call, const struct gm_verb_options *o, const struct gm_recording *r,
                     const struct gm_cut_range *ranges, const struct gm_snapshot *made)
{
    struct gm_text text = {0};
    char size[GM_SIZE_TEXT];
    for (size_t d = 0; d < r->kept.count; d++) {
        const struct gm_history *h = &r->kept.v[d].history;
        uint64_t reserved = 0;
        for (size_t i = 0; i < made->segments.count; i++)
            reserved += made->segments.device[i] == h->device ? made->segments.total_size[i] : 0;
        if (h->count == 0)
            continue;
        gm_text_printf(&text, "device %lld: ", (long long)h->device);
        gm_text_add_count(&text, ranges[d].to - ranges[d].from);
        gm_text_add(&text, " of ");
        gm_text_add_count(&text, h->count);
        gm_text_printf(&text, " events (%u to %u); then %s reserved\n", ranges[d].from,
                       ranges[d].to > ranges[d].from ? ranges[d].to - 1 : ranges[d].from,
                       gm_size_format(size, reserved));
    }
    gm_trace_tell(call, o, &text);
}

static enum gm_status cut(struct gm_recording *r, const struct gm_verb_options *o, struct gm_call *call,
                          struct gm_error *err)
{
    struct gm_regenerated made = {.array_count = 0};
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot clean = {.trace_count = 0};
    size_t chosen;
    GM_FREED struct gm_cut_range *ranges = calloc(r->kept.count + 1, sizeof *ranges);
    enum gm_status status = ranges == NULL ? gm_no_memory(err) : find_ranges(ranges, &chosen, r, o, err);
    GM_THEN(status, gm_cut(&made, &r->snapshot, &r->kept, ranges, err));
    if (status == GM_OK) {
        status = gm_trace_settle(&clean, &made.snapshot, err);
        gm_regenerated_free(&made);
    }
    gm_call_time(call, "cut");
    if (status == GM_OK) {
        gm_trace_write(call, &clean, o->output);
        tell_cut(call, o, r, ranges, &clean);
    }
    return status;
}

/* ---- redact ----------------------------------------------------------------------------------------------------- */

static void put_kept(struct gm_text *out, const struct gm_redacted *redacted)
{
    for (size_t i = 0; i < redacted->kept_count; i++) {
        const size_t id = redacted->kept[i];
        const char *text = redacted->bytes + redacted->start[id];
        for (size_t n = redacted->start[id + 1] - redacted->start[id]; n > 0; n--, text++)
            gm_text_add_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
        gm_text_add_char(out, '\n');
    }
}

static void tell_redacted(struct gm_call *call, const struct gm_verb_options *o, const struct gm_redacted *redacted)
{
    struct gm_text text = {0};
    gm_text_printf(
        &text,
        "hashed: %zu paths, %zu names of functions, %zu other texts\n"
        "left as they are: %zu files and %zu names of PyTorch%s, %zu texts of its settings, %zu words of the "
        "format\n"
        "no other text is in %s, which was read again\n",
        redacted->files, redacted->names, redacted->others, redacted->public_files, redacted->public_names,
        o->packages.n > 0 ? " and of --keep" : "", redacted->settings, redacted->words, o->output);
    gm_trace_tell(call, o, &text);
}

static struct gm_hash_key salt_of(const char *text)
{
    static const struct gm_hash_key first = {UINT64_C(0x676d74726163652f), UINT64_C(0x7265646163742f31)},
                                    second = {UINT64_C(0x7265646163742f32), UINT64_C(0x676d74726163652f)};
    if (text == NULL)
        return gm_hash_key();
    return (struct gm_hash_key){gm_siphash_2_4(first, text, strlen(text)), gm_siphash_2_4(second, text, strlen(text))};
}

static enum gm_status redact(struct gm_recording *r, const struct gm_verb_options *o, struct gm_call *call,
                             struct gm_error *err)
{
    const struct gm_redact_options options = {
        .salt = salt_of(o->salt), .packages = o->packages.v, .package_count = o->packages.n};
    GM_FREED_BY(gm_redacted_free) struct gm_redacted redacted = {.words = 0};
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot clean = {.trace_count = 0};
    enum gm_status status = gm_redact(&redacted, &r->snapshot, &options, err);
    GM_THEN(status, gm_trace_settle(&clean, &redacted.snapshot, err));
    GM_THEN(status, gm_redact_check(&redacted, &clean, err));
    gm_call_time(call, "redact");
    if (status == GM_OK) {
        struct gm_text kept = {0};
        put_kept(&kept, &redacted);
        gm_trace_write(call, &clean, o->output);
        gm_call_put(call, o->kept, &kept);
        gm_text_free(&kept);
        tell_redacted(call, o, &redacted);
    }
    return status;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static void info(const struct gm_recording *r, const struct gm_verb_options *o, struct gm_call *call)
{
    struct gm_text text = {0};
    if (o->usual.json != NULL) {
        gm_info_document(&text, GM_JSON, r);
        gm_call_put(call, o->usual.json, &text);
        gm_text_free(&text);
    }
    if (!o->usual.quiet && !gm_path_is_standard(o->usual.json)) {
        gm_info_document(&text, GM_TXT, r);
        gm_call_print(call, &text);
    }
    gm_text_free(&text);
}

static void run(const struct gm_verb_options *o, struct gm_call *call, const char *path)
{
    struct gm_recording r = {.kept = {.count = 0}};
    struct gm_error err = {.offset = GM_NO_OFFSET};
    enum gm_status status = gm_trace_load(&r.snapshot, o, call, path, &err);
    gm_call_time(call, "load");
    if (status == GM_OK && o->verb != GM_VERB_REDACT)
        status = analyse(&r, o, &err);
    if (status == GM_OK && o->verb == GM_VERB_INFO)
        info(&r, o, call);
    if (status == GM_OK && o->verb == GM_VERB_CUT)
        status = cut(&r, o, call, &err);
    if (status == GM_OK && o->verb == GM_VERB_REDACT)
        status = redact(&r, o, call, &err);
    if (status == GM_OK && o->verb == GM_VERB_SHRINK)
        status = gm_trace_shrink(&r, o, call, &err);
    if (status != GM_OK)
        gm_call_fail(call, status == GM_E_USAGE ? NULL : path, &err);
    gm_kept_free(&r.kept);
    gm_report_free(&r.report);
    gm_snapshot_free(&r.snapshot);
}

int main(int argc, char **argv)
{
    struct gm_verb_options options = GM_VERB_DEFAULTS;
    struct gm_call call = {.exit_code = 0};
    if (gm_call_begin(&call, &gm_trace_program, &argc, argv, &options)) {
        gm_call_time(&call, NULL);
        if (options.verb == GM_VERB_MERGE)
            gm_trace_merge(&options, &call, argv);
        else
            run(&options, &call, argv[0]);
    }
    return gm_call_end(&call);
}
