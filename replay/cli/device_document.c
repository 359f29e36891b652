/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replay came to on one device: whether it chose as recorded, or what it needed; its peaks and who held them;
 * the request that failed.
 */
#include "analyze/document/report_columns.h"
#include "replay/cli/gmreplay.h"

#include <inttypes.h>

/* ---- counters ---------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define PEAK(key, title, type, field) GM_FIELD(GM_BYTES, GM_ALL, key, title, type, stats.field[GM_STAT_ALL].peak)
#define PEAKS(type) \
    PEAK("peak_reserved_bytes", "Peak reserved", type, reserved_bytes), \
    PEAK("peak_active_bytes", "Peak active", type, active_bytes), \
    PEAK("peak_allocated_bytes", "Peak allocated", type, allocated_bytes), \
    PEAK("peak_requested_bytes", "Peak requested", type, requested_bytes)

/* As torch.cuda.memory_stats() names them. */
#define COUNTER(field) GM_KEY(GM_SIGNED, #field, struct gm_stats, field)
#define STAT(name, field) \
    GM_KEY(GM_SIGNED, name ".current", struct gm_stats, field.current), \
    GM_KEY(GM_SIGNED, name ".peak", struct gm_stats, field.peak), \
    GM_KEY(GM_SIGNED, name ".allocated", struct gm_stats, field.allocated), \
    GM_KEY(GM_SIGNED, name ".freed", struct gm_stats, field.freed),
#define X(name) STAT(#name ".all", name[GM_STAT_ALL]) STAT(#name ".small_pool", name[GM_STAT_SMALL_POOL]) \
    STAT(#name ".large_pool", name[GM_STAT_LARGE_POOL])
/* clang-format on */
static const struct gm_column stat_columns[] = {
    GM_STAT_MAP(X) STAT("oversize_allocations", oversize_allocations) STAT("oversize_segments", oversize_segments)
        COUNTER(num_alloc_retries),
    COUNTER(num_ooms),
    COUNTER(max_split_size),
    COUNTER(num_sync_all_streams),
    COUNTER(num_device_alloc),
    COUNTER(num_device_free),
};
#undef X

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static void say_mismatch(struct gm_doc *doc, const struct gm_verify_result *r)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_COUNT, "event", struct gm_verify_result, mismatch_event),
        GM_KEY(GM_COUNT, "recorded", struct gm_verify_result, recorded),
        GM_KEY(GM_COUNT, "chosen", struct gm_verify_result, chosen),
        GM_CHARS(GM_JSON, "reason", NULL, struct gm_verify_result, reason),
    };
    GM_OBJECT(doc, "first_mismatch", columns, r->has_mismatch ? r : NULL, NULL);
    if (!r->has_mismatch || gm_doc_is(doc, GM_JSON))
        return;
    gm_doc_tell(doc, "First mismatch: %s%s%s: %s",
                r->mismatch_event == GM_ABSENT ? "at the end"
                                               : gm_doc_printf(doc, "event %s", gm_doc_count(doc, r->mismatch_event)),
                r->recorded == GM_ABSENT ? "" : gm_doc_printf(doc, ", recorded 0x%" PRIx64, r->recorded),
                r->chosen == GM_ABSENT ? "" : gm_doc_printf(doc, ", chosen 0x%" PRIx64, r->chosen), r->reason);
    if (r->other_allocator[0] == '\0')
        gm_doc_tell(doc, "Reasons can be settings that the file does not tell (--alloc-conf), events that were not "
                         "recorded, or a trace that was edited or put together.");
}

/* How much of what was recorded the model chose, too. */
static void say_agreement(struct gm_doc *doc, const struct gm_verify_result *r)
{
    struct agreement {
        const char *what;
        uint64_t same, all;
    };
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct agreement, what),
        GM_FIELD(GM_COUNT, GM_READ, NULL, "As recorded", struct agreement, same),
        GM_FIELD(GM_COUNT, GM_READ, NULL, "Of", struct agreement, all),
    };
    const struct agreement rows[] = {{"addresses of allocations", r->exact, r->allocs},
                                     {"growths (segment_alloc, segment_map)", r->growths_predicted, r->growths},
                                     {"releases (segment_free, segment_unmap)", r->releases_allowed, r->releases},
                                     {"blocks at the end", r->end_blocks_same, r->end_blocks},
                                     {"addresses if nothing is inferred", r->exact_uninferred, r->allocs}};
    GM_TABLE(doc, columns, rows, 4 + (r->inferred_count > 0), .in = GM_READ);
    for (size_t i = 0; i < r->inferred_count; i++)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "inferred: %s: %s", r->inferred[i].what, r->inferred[i].value);
}

static void say_verified(struct gm_doc *doc, const struct gm_verify_result *r)
{
#define FIELD(in, key, title, field) GM_FIELD(GM_COUNT, in, key, title, struct gm_verify_result, field)
    static const struct gm_column columns[] = {
        GM_KEY(GM_HANDLE, "device", struct gm_verify_result, device),
        FIELD(GM_ALL, "events", "Events", events),
        FIELD(GM_JSON, "allocs", NULL, allocs),
        FIELD(GM_JSON, "exact_addresses", NULL, exact),
        FIELD(GM_JSON, "exact_addresses_uninferred", NULL, exact_uninferred),
        FIELD(GM_JSON, "growths", NULL, growths),
        FIELD(GM_JSON, "growths_predicted", NULL, growths_predicted),
        FIELD(GM_JSON, "releases", NULL, releases),
        FIELD(GM_JSON, "releases_allowed", NULL, releases_allowed),
        FIELD(GM_JSON, "end_blocks", NULL, end_blocks),
        FIELD(GM_JSON, "end_blocks_same", NULL, end_blocks_same),
        PEAKS(struct gm_verify_result),
        FIELD(GM_ALL, "num_alloc_retries", "Retries", retries),
        FIELD(GM_ALL, "num_ooms", "Out of memory", ooms),
        GM_CHARS(GM_ALL | GM_BLANK, "other_allocator", "Other allocator", struct gm_verify_result, other_allocator),
    };
#undef FIELD
    GM_FIELDS(doc, columns, r, NULL);
    say_agreement(doc, r);
    say_mismatch(doc, r);
}

/* ---- out of memory ----------------------------------------------------------------------------------------------- */

const char *gm_replay_site(struct gm_replay_run *run, struct gm_stack_id stack)
{
    const char *site = gm_names_site(&run->names, stack);
    return site == NULL ? "?" : site;
}

static union gm_value device_value(const struct gm_cell_of *c)
{
    return (union gm_value){.i = ((const struct gm_replay_device *)c->of)->kept->history.device};
}

GM_CELL(u, event_value, struct gm_whatif_failure, f, f->is_at_start ? GM_REPORT_NONE : f->event);

GM_CELL(s, site_value, struct gm_whatif_failure, f,
        gm_replay_site(((const struct gm_replay_device *)c->of)->run, f->stack));

#define FIELD(key, field) GM_KEY(GM_BYTES, key, struct gm_whatif_failure, field)
const struct gm_column gm_replay_failure_columns[10] = {
    GM_GET(GM_HANDLE, GM_JSON, "device", NULL, device_value),
    GM_GET(GM_COUNT, GM_JSON, "event", NULL, event_value),
    GM_GET(GM_SITE, GM_JSON, "site", NULL, site_value),
    FIELD("requested_bytes", requested),
    FIELD("rounded_bytes", rounded),
    FIELD("device_free_bytes", device_free),
    FIELD("reserved_bytes", reserved),
    FIELD("active_bytes", active),
    FIELD("largest_free_bytes", largest_free),
    GM_CHARS(GM_JSON, "why", NULL, struct gm_whatif_failure, why),
};
#undef FIELD

/* Where in the run it came; nothing is known of what was live before the trace. */
struct place {
    uint64_t time, since, member, step;
};

static struct place place_of(const struct gm_replay_device *d)
{
    const struct gm_whatif_failure *f = &d->whatif.failure;
    const struct gm_history *h = &d->kept->history;
    struct place at = {GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE};
    if (f->is_at_start)
        return at;
    const size_t part = d->whatif.parts_played - 1;
    const uint64_t time = gm_history_time(h, f->event), first = gm_history_time(h, 0);
    if (time != GM_REPORT_NONE)
        at.time = gm_plus(time, gm_replay_forecast_us(d, part));
    if (time != GM_REPORT_NONE && first != GM_REPORT_NONE && time >= first)
        at.since = at.time - first;
    if (!gm_replay_member_of(d, part, &at.member, &at.step))
        at.member = at.step = GM_REPORT_NONE;
    return at;
}

static void tell_failure(struct gm_doc *doc, const struct gm_replay_device *d, const struct place *at)
{
    const struct gm_whatif_failure *f = &d->whatif.failure;
    gm_doc_tell(doc, "OUT OF MEMORY: tried to allocate %s%s (free on the device: %s, reserved: %s)",
                gm_doc_bytes(doc, f->requested),
                f->is_at_start  ? ", live since before the trace"
                : f->is_refused ? ", where the recording ended out of memory, too"
                                : "",
                gm_doc_bytes(doc, f->device_free), gm_doc_bytes(doc, f->reserved));
    if (!f->is_at_start)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "event %s%s%s", gm_doc_count(doc, f->event),
                   at->since == GM_REPORT_NONE
                       ? ""
                       : gm_doc_printf(doc, ", %s after the first", gm_doc_duration(doc, at->since)),
                   at->member == GM_REPORT_NONE
                       ? ""
                       : gm_doc_printf(doc, ", member %" PRIu64 ", step %" PRIu64, at->member, at->step));
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "site: %s", gm_replay_site(d->run, f->stack));
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "why: %s", f->why);
}

static void say_failure(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_COUNT, "time_us", struct place, time),
        GM_KEY(GM_COUNT, "member", struct place, member),
        GM_KEY(GM_COUNT, "step", struct place, step),
    };
    size_t depth = 0;
    if (!d->whatif.has_failed) {
        GM_OBJECT(doc, "oom", columns, NULL, NULL);
        return;
    }
    const struct place at = place_of(d);
    gm_doc_open(doc, "oom", NULL);
    if (gm_doc_is(doc, GM_JSON)) {
        GM_FIELDS(doc, gm_replay_failure_columns, &d->whatif.failure, d);
        GM_FIELDS(doc, columns, &at, NULL);
        const struct gm_frame_row *frames = gm_names_frames(&d->run->names, d->whatif.failure.stack, &depth);
        gm_json_frames(doc, frames, frames == NULL ? 0 : depth);
    } else {
        tell_failure(doc, d, &at);
    }
    gm_doc_close(doc);
}

/* ---- the peaks --------------------------------------------------------------------------------------------------- */

/* "event 12, member 1, step 3" */
static const char *moment_of(struct gm_doc *doc, const struct gm_replay_device *d)
{
    const struct gm_whatif_peak *peak = &d->whatif.peak;
    uint64_t member, step;
    const char *event = peak->event == GM_NEVER ? "before the first event"
                                                : gm_doc_printf(doc, "event %s", gm_doc_count(doc, peak->event));
    if (gm_replay_member_of(d, peak->part, &member, &step))
        return gm_doc_printf(doc, "%s, member %" PRIu64 ", step %" PRIu64, event, member, step);
    if (peak->part != SIZE_MAX && peak->part > 0 && peak->part + 1 < d->part_count)
        return gm_doc_printf(doc, "%s, step %" PRIu64, event, d->part_number[peak->part]);
    return event;
}

GM_CELL(u, peak_event, struct gm_whatif_peak, peak, peak->event == GM_NEVER ? GM_REPORT_NONE : peak->event);

static union gm_value peak_of_memory(const struct gm_cell_of *c)
{
    const uint64_t capacity = gm_replay_capacity(((const struct gm_replay_device *)c->of)->run);
    return (union gm_value){.share = {((const struct gm_whatif_peak *)c->row)->reserved, capacity}};
}

static const char *unused_words(struct gm_doc *doc, uint64_t unused, uint64_t reserved)
{
    return unused == GM_REPORT_NONE ? NULL
                                    : gm_doc_printf(doc, "%s %%, %s reserved and not allocated",
                                                    gm_doc_share(doc, unused, reserved), gm_doc_bytes(doc, unused));
}

GM_CELL(s, peak_unused, struct gm_whatif_peak, peak,
        unused_words(c->doc, gm_less(peak->reserved, peak->allocated), peak->reserved));

static void say_peak(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_COUNT, GM_JSON, "event", NULL, peak_event),
        GM_KEY(GM_BYTES, "reserved_bytes", struct gm_whatif_peak, reserved),
        GM_KEY(GM_BYTES, "active_bytes", struct gm_whatif_peak, active),
        GM_KEY(GM_BYTES, "requested_bytes", struct gm_whatif_peak, requested),
        GM_GET(GM_SHARE, GM_ALL | GM_BLANK, "of_memory_percent", "Of the device's memory", peak_of_memory),
        GM_FIELD(GM_BYTES, GM_ALL, "allocated_bytes", "Allocated", struct gm_whatif_peak, allocated),
        GM_PART(GM_ALL, "utilisation_percent", "Utilisation", struct gm_whatif_peak, allocated, reserved),
        GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Fragmentation", peak_unused),
        GM_FIELD(GM_BYTES, GM_ALL | GM_BLANK, "largest_free_bytes", "Largest free block", struct gm_whatif_peak,
                 largest_free),
    };
    const struct gm_whatif_peak *peak = &d->whatif.peak;
    gm_doc_open(doc, "at_peak_reserved",
                gm_doc_printf(doc, "At the peak of reserved memory, %s (%s)", gm_doc_bytes(doc, peak->reserved),
                              moment_of(doc, d)));
    GM_FIELDS(doc, columns, peak, d);
    gm_doc_close(doc);
}

/* ---- what-if ----------------------------------------------------------------------------------------------------- */

static union gm_value live_at_start(const struct gm_cell_of *c)
{
    const struct gm_whatif_result *r = c->row;
    const uint64_t peak = (uint64_t)r->stats.active_bytes[GM_STAT_ALL].peak;
    if (r->start_blocks == 0)
        return (union gm_value){.s = "nothing was live before the trace"};
    return (union gm_value){
        .s = gm_doc_printf(
            c->doc, "%s, %s, live before the trace, %s; %s of the active peak (%s %%) are theirs",
            gm_doc_some(c->doc, r->start_blocks, "block", "blocks"), gm_doc_bytes(c->doc, r->start_bytes),
            r->from_layout ? "at the recorded addresses" : "requested again from an empty allocator",
            gm_doc_bytes(c->doc, r->start_bytes_at_peak), gm_doc_share(c->doc, r->start_bytes_at_peak, peak))};
}

static union gm_value device_calls(const struct gm_cell_of *c)
{
    const struct gm_whatif_result *r = c->row;
    const struct gm_replay_device *d = c->of;
    if (d->run->options->backend == GM_REPLAY_CUDA_ASYNC) /* those would be the model's */
        return (union gm_value){.s = NULL};
    return (union gm_value){
        .s = gm_doc_printf(c->doc, "%s, %s, %s, %s empty_cache()",
                           gm_doc_some(c->doc, (uint64_t)r->stats.num_device_alloc, "allocation", "allocations"),
                           gm_doc_some(c->doc, (uint64_t)r->stats.num_device_free, "release", "releases"),
                           gm_doc_some(c->doc, (uint64_t)r->stats.num_alloc_retries, "retry", "retries"),
                           gm_doc_count(c->doc, r->empty_caches))};
}

static union gm_value range_value(const struct gm_cell_of *c)
{
    return (union gm_value){.s = gm_replay_range_words(c->doc, &((const struct gm_replay_device *)c->of)->range)};
}

/* The answer to --memory and --gpu. */
static union gm_value room_left(const struct gm_cell_of *c)
{
    const struct gm_replay_device *d = c->of;
    const struct gm_replay_run *run = d->run;
    const uint64_t peak = gm_replay_reserved(d);
    if (d->whatif.has_failed || !gm_replay_is_bounded(run) || peak > run->capacity ||
        gm_replay_most_untraced(run) > run->capacity)
        return (union gm_value){.s = NULL};
    return (union gm_value){.s = gm_doc_printf(c->doc, "%sin %s: %s (%s %%) are left at the peak",
                                               d->was_refused ? "so far, " : "", gm_doc_bytes(c->doc, run->capacity),
                                               gm_doc_bytes(c->doc, run->capacity - peak),
                                               gm_doc_share(c->doc, run->capacity - peak, run->capacity))};
}

GM_CELL(s, not_repeated, struct gm_whatif_result, r,
        r->recorded_ooms <= r->failure.is_refused
            ? NULL
            : gm_doc_printf(c->doc, "%s out of memory",
                            gm_doc_some(c->doc, r->recorded_ooms - r->failure.is_refused, "request", "requests")));

static union gm_value other_allocator(const struct gm_cell_of *c)
{
    const char *words = ((const struct gm_replay_device *)c->of)->verify.other_allocator;
    return (union gm_value){.s = words[0] == '\0' ? NULL : words};
}

GM_CELL(s, start_of, struct gm_whatif_result, row, row->from_layout ? "recorded layout" : "requests");

/* The recording ended out of memory. */
static void say_refused(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_COUNT, "event", struct gm_refused, request.event),
        GM_KEY(GM_BYTES, "refused_bytes", struct gm_refused, size),
        GM_KEY(GM_BYTES, "in_use_bytes", struct gm_refused, in_use),
        GM_KEY(GM_BYTES, "needed_bytes", struct gm_refused, needs),
    };
    GM_OBJECT(doc, "recorded_end", columns, d->was_refused ? &d->refused : NULL, NULL);
}

#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_whatif_result, field)
static const struct gm_column start_columns[] = {
    GM_GET(GM_TEXT, GM_JSON, "from", NULL, start_of),
    KEY(GM_COUNT, "blocks", start_blocks),
    KEY(GM_BYTES, "bytes", start_bytes),
    KEY(GM_BYTES, "reserved_bytes", start_reserved),
    KEY(GM_BYTES, "bytes_at_peak", start_bytes_at_peak),
};

static const struct gm_column whatif_columns[] = {
    KEY(GM_HANDLE, "device", device),
    GM_FIELD(GM_COUNT, GM_ALL, "events", "Events", struct gm_whatif_result, events),
    GM_FIELD(GM_COUNT, GM_ALL, "allocs", "Requests", struct gm_whatif_result, allocs),
    GM_GET(GM_TEXT, GM_READ, NULL, "Start", live_at_start),
    PEAKS(struct gm_whatif_result),
    GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Other places", range_value),
    GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Device calls", device_calls),
    GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Not repeated", not_repeated),
    GM_GET(GM_TEXT, GM_READ | GM_BLANK, NULL, "Fits", room_left),
    GM_GET(GM_TEXT, GM_ALL | GM_BLANK, "other_allocator", "Other allocator", other_allocator),
    GM_NESTED("exact_addresses", gm_cell_null), /* only --verify knows these */
    GM_NESTED("exact_addresses_uninferred", gm_cell_null),
    GM_NESTED("growths", gm_cell_null),
    GM_NESTED("growths_predicted", gm_cell_null),
    GM_NESTED("end_blocks", gm_cell_null),
    GM_NESTED("end_blocks_same", gm_cell_null),
    GM_NESTED("first_mismatch", gm_cell_null),
    KEY(GM_COUNT, "num_alloc_retries", stats.num_alloc_retries),
    KEY(GM_COUNT, "num_ooms", stats.num_ooms),
    KEY(GM_COUNT, "dropped", left_out),
    KEY(GM_COUNT, "empty_cache_calls", empty_caches),
    KEY(GM_COUNT, "recorded_ooms", recorded_ooms),
    KEY(GM_COUNT, "recorded_releases_for_requests", recorded_releases),
};
#undef KEY

static void say_replayed(struct gm_doc *doc, const struct gm_replay_device *d, bool is_long)
{
    const struct gm_whatif_result *r = &d->whatif;
    GM_FIELDS(doc, whatif_columns, r, d);
    GM_FIELDS(doc, gm_replay_range_columns, &d->range, NULL);
    GM_OBJECT(doc, "start", start_columns, r, NULL);
    say_refused(doc, d);
    gm_replay_say_gpu(doc, d);
    gm_replay_say_repetition(doc, d, is_long);
    say_failure(doc, d);
    if (is_long)
        say_peak(doc, d);
    gm_replay_say_holders(doc, d, is_long);
    /* On cudaMallocAsync they are the caching allocator's. */
    GM_OBJECT(doc, "memory_stats", stat_columns, d->run->options->backend == GM_REPLAY_CUDA_ASYNC ? NULL : &r->stats,
              NULL);
}

void gm_replay_say_device(struct gm_doc *doc, const struct gm_replay_device *d, bool is_long)
{
    gm_doc_open(doc, NULL, gm_doc_printf(doc, "Device %" PRId64, d->kept->history.device));
    if (d->run->options->verify)
        say_verified(doc, &d->verify);
    else
        say_replayed(doc, d, is_long);
    gm_doc_close(doc);
}
