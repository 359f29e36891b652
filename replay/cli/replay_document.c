/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmreplay tells of a run: on standard output and in --summary for people, in --json (gmreplay.replay/1) for
 * programs.
 */
#include "analyze/document/documents.h"
#include "replay/cli/gmreplay.h"

#include <inttypes.h>
#include <stdlib.h>

enum { UNTRACED_SHOWN = 8 };

/* ---- what is replayed, and under what ---------------------------------------------------------------------------- */

static const char *device_of(struct gm_doc *doc, const struct gm_replay_run *run)
{
    if (run->options->verify || (run->gpu == NULL && gm_replay_on_gpu(run->options) && !gm_replay_is_bounded(run)))
        return NULL;
    if (run->gpu != NULL)
        return gm_doc_printf(doc, "%s, %s in all, %s usable", run->gpu->title, gm_doc_bytes(doc, run->gpu->total),
                             gm_doc_bytes(doc, run->capacity));
    return gm_replay_is_bounded(run) ? gm_doc_bytes(doc, run->capacity) : "unlimited memory";
}

static const char *real_gpu_of(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_compute_result *g = run->device_count > 0 ? run->devices[0].gpu : NULL;
    return g == NULL ? NULL
                     : gm_doc_printf(doc, "%s, %s, compute capability %d.%d, CUDA %d.%d, driver for %d.%d",
                                     g->info.name, gm_doc_bytes(doc, g->info.total_bytes), g->info.compute_major,
                                     g->info.compute_minor, g->info.runtime / 1000, g->info.runtime % 1000 / 10,
                                     g->info.driver / 1000, g->info.driver % 1000 / 10);
}

static void say_head(struct gm_doc *doc, const struct gm_replay_run *run)
{
    struct head {
        const char *schema, *mode, *trace, *backend, *conf, *shown_conf, *device, *real, *allocator, *gpu;
        uint64_t memory, total;
    };
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "schema", struct head, schema),
        GM_KEY(GM_TEXT, "mode", struct head, mode),
        GM_KEY(GM_TEXT, "backend", struct head, backend),
        GM_KEY(GM_TEXT, "alloc_conf", struct head, conf),
        GM_KEY(GM_BYTES, "memory_bytes", struct head, memory),
        GM_KEY(GM_TEXT, "gpu", struct head, gpu),
        GM_KEY(GM_BYTES, "gpu_total_bytes", struct head, total),
        GM_FIELD(GM_PATH, GM_READ, NULL, "Trace", struct head, trace),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Settings", struct head, shown_conf),
        GM_FIELD(GM_TEXT, GM_READ | GM_BLANK, NULL, "Device", struct head, device),
        GM_FIELD(GM_TEXT, GM_READ | GM_BLANK, NULL, "GPU", struct head, real),
        GM_FIELD(GM_TEXT, GM_READ | GM_BLANK, NULL, "Allocator", struct head, allocator),
    };
    const struct gm_replay_options *o = run->options;
    const bool is_default = run->conf_text.length == 0;
    const struct head head = {
        .schema = "gmreplay.replay/1",
        .mode = o->verify ? "verify" : "what-if",
        .trace = run->snapshot.source.path,
        .backend = gm_replay_backend_names[o->backend],
        .conf = is_default ? "" : run->conf_text.data,
        .shown_conf = is_default ? "PyTorch's defaults" : run->conf_text.data,
        .device = device_of(doc, run),
        .real = real_gpu_of(doc, run),
        .allocator =
            o->backend == GM_REPLAY_CUDA_ASYNC ? "backend:cudaMallocAsync, a memory pool of the driver's" : NULL,
        .gpu = run->gpu == NULL ? NULL : run->gpu->name,
        .memory = run->capacity, /* UINT64_MAX is GM_REPORT_NONE */
        .total = run->gpu == NULL ? GM_REPORT_NONE : run->gpu->total,
    };
    gm_doc_title(doc, o->verify ? "Verification" : "What-if replay", head.trace);
    GM_FIELDS(doc, columns, &head, NULL);
}

GM_CELL(s, class_of, struct gm_changed_class, changed, gm_doc_printf(c->doc, "%s:%s", changed->kind, changed->name));

GM_CELL(b, is_dropped, struct gm_changed_class, row, row->factor == 0);

static void say_changes(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_TEXT, GM_ALL, "class", "Changed", class_of),
        GM_GET(GM_BOOL, GM_ALL, "is_dropped", "Dropped", is_dropped),
        GM_FIELD(GM_COUNT, GM_ALL, "allocations", "Allocations", struct gm_changed_class, allocations),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_before", "Requested in all", struct gm_changed_class, bytes_before),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_after", "Now", struct gm_changed_class, bytes_after),
    };
    GM_TABLE(doc, columns, run->changed, run->options->changes.n, .key = "changes");
}

static void say_inferred(struct gm_doc *doc, const struct gm_replay_run *run)
{
    struct inferred {
        int64_t device;
        const char *what, *value;
    };
    static const struct gm_column columns[] = {
        GM_KEY(GM_HANDLE, "device", struct inferred, device),
        GM_KEY(GM_TEXT, "what", struct inferred, what),
        GM_KEY(GM_TEXT, "value", struct inferred, value),
    };
    struct inferred *rows = gm_doc_rows(doc, run->device_count * GM_INFERRED_MOST, sizeof *rows);
    size_t n = 0;
    for (size_t d = 0; run->options->verify && rows != NULL && d < run->device_count; d++) {
        const struct gm_verify_result *r = &run->devices[d].verify;
        for (size_t i = 0; i < r->inferred_count; i++)
            rows[n++] = (struct inferred){r->device, r->inferred[i].what, r->inferred[i].value};
    }
    GM_TABLE(doc, columns, rows, n, .key = "inferred", .in = GM_JSON);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static void put_device(const struct gm_cell_of *c)
{
    gm_replay_say_device(c->doc, c->row, true);
}

static void say_devices(struct gm_doc *doc, const struct gm_replay_run *run, bool is_long)
{
    gm_doc_nested(doc, "devices", put_device, GM_NESTED_ROWS(run->devices, run->device_count), NULL);
    for (size_t i = 0; gm_doc_is(doc, GM_READ) && i < run->device_count; i++)
        gm_replay_say_device(doc, &run->devices[i], is_long);
}

/* Devices that have segments and no events. */
static void say_untraced(struct gm_doc *doc, const struct gm_replay_run *run)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_HANDLE, GM_ALL, "device", "Device without events", struct gm_untraced_device, device),
        GM_FIELD(GM_BYTES, GM_ALL, "reserved_bytes", "Reserved, and stays so", struct gm_untraced_device, reserved),
    };
    GM_TABLE(doc, columns, run->untraced, run->untraced_count, .key = "untraced_devices", .txt_max = UNTRACED_SHOWN);
    if (gm_replay_most_untraced(run) > gm_replay_capacity(run))
        gm_doc_tell(doc, "That is more than there is.");
}

/* Over all devices. */
static void tell_sums(struct gm_doc *doc, const struct gm_replay_run *run)
{
    uint64_t reserved = 0, allocated = 0, most_allocated = 0, capacity = gm_replay_capacity(run);
    for (size_t i = 0; i < run->device_count; i++) {
        const uint64_t peak = (uint64_t)gm_replay_stats(&run->devices[i])->allocated_bytes[GM_STAT_ALL].peak;
        reserved += gm_replay_reserved(&run->devices[i]);
        allocated += peak;
        most_allocated = peak > most_allocated ? peak : most_allocated;
    }
    gm_doc_tell(doc, "All devices (%zu): peaks add up to %s reserved, %s allocated; the highest of one: %s and %s%s.",
                run->device_count, gm_doc_bytes(doc, reserved), gm_doc_bytes(doc, allocated),
                gm_doc_bytes(doc, gm_replay_peak_reserved(run)), gm_doc_bytes(doc, most_allocated),
                capacity == UINT64_MAX ? ""
                                       : gm_doc_printf(doc, ", %s %% of the device's memory",
                                                       gm_doc_share(doc, gm_replay_peak_reserved(run), capacity)));
}

/* ---- notes: what a reader of a what-if might take for granted, and is not so ------------------------------------- */

struct notes {
    struct gm_doc *doc;
    struct GM_VEC(const char *) all;
};

static void note(struct notes *notes, const char *text)
{
    notes->doc->out->failed |= !GM_VEC_PUSH(&notes->all, text);
}

/* Settings that do nothing here. */
static void note_settings(struct notes *notes, const struct gm_replay_run *run)
{
    const bool is_bounded = gm_replay_is_bounded(run) || gm_replay_on_gpu(run->options);
    const bool has_fraction = run->conf.memory_fraction<1, has_gc = run->conf.gc_threshold> 0;
    if (has_fraction && !is_bounded)
        note(notes, gm_doc_printf(notes->doc,
                                  "per_process_memory_fraction limits nothing here%s: memory is unlimited (--memory "
                                  "and --gpu say how much there is)",
                                  has_gc ? ", and garbage_collection_threshold does nothing" : ""));
    else if (has_gc && !has_fraction)
        note(notes, "garbage_collection_threshold does nothing here: it takes a memory fraction "
                    "(per_process_memory_fraction)");
    if (run->conf.reserve_fraction > 0 && run->conf.expandable_segments && !is_bounded)
        note(notes, "expandable_segments_reserve is a part of the device's memory, which is unlimited here "
                    "(--memory and --gpu say how much there is): reservations are, too");
}

/* The option is replayed with one value; growths show whether it was recorded with another one, too. */
static bool is_switched(const struct gm_history *h, bool is_on)
{
    for (size_t i = 0; i < h->segment_count; i++) {
        const struct gm_history_pool *p = &h->pools[h->segments[i].pool];
        uint8_t action = h->snapshot->events.action[h->first + h->segments[i].event];
        if (is_on ? action == GM_ACTION_SEGMENT_ALLOC && gm_history_pool_is_said_default(p)
                  : action == GM_ACTION_SEGMENT_MAP)
            return true;
    }
    return false;
}

/* What of the recording is decided anew. */
static void note_device(struct notes *notes, const struct gm_replay_device *d)
{
    struct gm_doc *doc = notes->doc;
    const struct gm_replay_run *run = d->run;
    const struct gm_history *h = &d->kept->history;
    const struct gm_refused *r = &d->refused;
    if (run->options->alloc_conf == NULL && is_switched(h, d->conf.expandable_segments))
        note(notes, gm_doc_printf(doc,
                                  "on device %" PRId64
                                  " expandable_segments was not always %s in the recording, as it is here",
                                  h->device, d->conf.expandable_segments ? "on" : "off"));
    if (d->was_refused)
        note(notes, gm_doc_printf(doc,
                                  "on device %" PRId64
                                  " the recording ended out of memory (event %s): %s were refused with %s in use. "
                                  "What would have come after it is not known: the program needs at least %s",
                                  h->device, gm_doc_count(doc, r->request.event), gm_doc_bytes(doc, r->size),
                                  gm_doc_bytes(doc, r->in_use), gm_doc_bytes(doc, r->needs)));
    if (d->whatif.recorded_releases > 0 && !gm_replay_is_bounded(run) && !gm_replay_on_gpu(run->options))
        note(notes, gm_doc_printf(doc,
                                  "on device %" PRId64
                                  " recorded requests made the allocator give memory back, %s; with unlimited memory "
                                  "none does. Recorded peak: %s reserved",
                                  h->device, gm_doc_some(doc, d->whatif.recorded_releases, "time", "times"),
                                  gm_doc_bytes(doc, gm_bound_recorded(h))));
}

static void say_notes(struct gm_doc *doc, const struct gm_replay_run *run)
{
    struct notes notes = {.doc = doc};
    if (!run->options->verify && run->options->backend != GM_REPLAY_CUDA_ASYNC) /* that has no settings */
        note_settings(&notes, run);
    for (size_t i = 0; !run->options->verify && i < run->device_count; i++)
        note_device(&notes, &run->devices[i]);
    GM_LIST(doc, "notes", GM_TEXT, notes.all.v, notes.all.n);
    for (size_t i = 0; i < notes.all.n; i++)
        gm_doc_tell(doc, "note: %s", notes.all.v[i]);
    free(notes.all.v);
}

/* ---- the limit --------------------------------------------------------------------------------------------------- */

/* The first part of a device in which reserved bytes pass the limit, if it is a member's step. */
struct over {
    int64_t device;
    uint64_t member, step;
};

static bool find_over(const struct gm_replay_device *d, struct over *over)
{
    size_t i = 0, played = d->whatif.parts_played;
    while (i < played && d->parts[i].peak_reserved <= d->run->options->limit)
        i++;
    over->device = d->kept->history.device;
    return i < played && gm_replay_member_of(d, i, &over->member, &over->step);
}

static void tell_limit(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    const uint64_t margin = peak > limit ? peak - limit : limit - peak;
    gm_doc_tell(doc, "%s: peak reserved %s%s, limit %s, %s %s (%s %% of the limit)",
                verdict == GM_VERDICT_PASS      ? "TEST PASSED"
                : verdict == GM_VERDICT_UNKNOWN ? "TEST NOT DECIDED"
                                                : "TEST FAILED",
                gm_replay_is_cut_short(run) ? "at least " : "", gm_doc_bytes(doc, peak), gm_doc_bytes(doc, limit),
                peak > limit ? "over by" : "safety margin", gm_doc_bytes(doc, margin),
                gm_doc_share(doc, margin, limit));
    if (verdict == GM_VERDICT_PASS && gm_replay_is_tight(peak, limit))
        gm_doc_tell(doc, "less than %d %% of the limit are left: another input may need more", GM_REPLAY_MARGIN);
}

static void say_limit(struct gm_doc *doc, const struct gm_replay_run *run)
{
    struct limit {
        uint64_t bytes, peak, left;
        int64_t margin;
    };
    static const struct gm_column columns[] = {
        GM_KEY(GM_BYTES, "bytes", struct limit, bytes),
        GM_KEY(GM_BYTES, "peak_reserved_bytes", struct limit, peak),
        GM_KEY(GM_SIGNED, "margin_bytes", struct limit, margin),
    };
    static const struct gm_column share[] = {GM_PART(GM_JSON, "margin_percent", NULL, struct limit, left, bytes)},
                                  over_share[] = {GM_PART(GM_JSON, "over_percent", NULL, struct limit, left, bytes)};
    static const struct gm_column over_columns[] = {
        GM_FIELD(GM_HANDLE, GM_ALL, "device", "Exceeds the limit: device", struct over, device),
        GM_FIELD(GM_COUNT, GM_ALL, "member", "Member", struct over, member),
        GM_FIELD(GM_COUNT, GM_ALL, "step", "Step", struct over, step),
    };
    const uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    const struct limit told = {limit, peak, peak > limit ? peak - limit : limit - peak, (int64_t)(limit - peak)};
    struct over *over = gm_doc_rows(doc, run->device_count, sizeof *over);
    size_t n = 0;
    if (limit == UINT64_MAX || over == NULL) {
        GM_OBJECT(doc, "limit", columns, NULL, NULL);
        return;
    }
    gm_doc_open(doc, "limit", "Limit");
    tell_limit(doc, run);
    GM_FIELDS(doc, columns, &told, NULL);
    gm_doc_fields(doc, peak > limit ? over_share : share, 1, &told, NULL);
    for (size_t i = 0; i < run->device_count; i++)
        n += find_over(&run->devices[i], &over[n]);
    GM_TABLE(doc, over_columns, over, n, .key = "exceeded_in");
    gm_replay_say_limit_advice(doc, run);
    if (gm_doc_is(doc, GM_JSON))
        gm_replay_say_cards(doc, run);
    gm_doc_close(doc);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void say_verdict(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    const struct gm_replay_options *o = run->options;
    if (gm_doc_is(doc, GM_JSON)) {
        gm_json_number(&doc->json, "events_per_second", (uint64_t)gm_replay_speed(run));
        gm_json_string(&doc->json, "verdict", gm_replay_verdict(run));
        return;
    }
    if (verdict == GM_VERDICT_OOM && run->search == NULL && run->recommended == NULL && o->members == 0 &&
        o->steps == 0)
        gm_doc_tell(doc, "--fit tells how much memory is enough, --sweep which allocator settings need least");
    if (verdict == GM_VERDICT_UNKNOWN)
        gm_doc_say(doc, GM_SAY_STRONG, GM_READ, NULL, "verdict: not known, %s", gm_replay_unknown_words(run));
    else if (verdict != GM_VERDICT_NONE)
        gm_doc_say(doc, GM_SAY_STRONG, GM_READ, NULL, "verdict: %s", gm_replay_verdict(run));
}

void gm_replay_document(struct gm_text *out, enum gm_form form, struct gm_replay_run *run, bool is_long)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, form, out);
    say_head(&doc, run);
    say_inferred(&doc, run);
    say_changes(&doc, run);
    say_devices(&doc, run, is_long);
    say_untraced(&doc, run);
    say_notes(&doc, run);
    if (is_long && form != GM_JSON)
        tell_sums(&doc, run);
    say_limit(&doc, run);
    if (form != GM_JSON && (is_long || run->options->limit != UINT64_MAX))
        gm_replay_say_cards(&doc, run);
    gm_replay_say_search(&doc, run, is_long);
    gm_section_plan(&doc, run->report.plan);
    gm_replay_say_oom_advice(&doc, run);
    say_verdict(&doc, run);
    gm_doc_end(&doc);
}
