/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables by device, pool and stream, the ledger, the allocator's settings, what the trace counts. JSON has most of
 * these facts where the contract wants them: section_programs.c.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

enum { BRIEF = 6, CATEGORIES = 12, WARNINGS = 3 /* rows of what is read first */ };

/* Of the state at the end what is short is read first where there is no trace that tells more. */
static void (*opener(const struct gm_report *report, bool is_short))(struct gm_doc *d, const char *key,
                                                                     const char *title)
{
    return is_short && gm_view_count(report) == 0 ? gm_doc_open : gm_doc_fold;
}

/* ---- what is allocated ------------------------------------------------------------------------------------------- */

static const char *why_none(const struct gm_report *report)
{
    return report->totals.allocated == 0 ? "No block is allocated." : "None is listed.";
}

/* "20 of 57 call sites: 6.20 GiB, 97.7 % of allocated.", for the first n > 0 of report->sites. */
static const char *sum_of(struct gm_doc *d, const struct gm_report *report, size_t n)
{
    uint64_t sum = 0;
    const bool has_stackless = report->snapshot.live_blocks_with_stack < report->totals.allocated_blocks;
    const size_t all = report->site_total - (report->site_total > 0 && has_stackless); /* one row is no site */
    size_t shown = n;
    for (size_t i = 0; i < n; i++) {
        sum = gm_sat_add(sum, report->sites[i].bytes);
        shown -= !gm_site_has_stack(report->sites[i].site);
    }
    const char *what = shown == 0 ? "Blocks without a stack"
                       : shown < all
                           ? gm_doc_printf(d, "%s of %s call sites", gm_doc_count(d, shown), gm_doc_count(d, all))
                       : shown > 1 ? gm_doc_printf(d, "All %s call sites", gm_doc_count(d, shown))
                                   : "The only call site";
    return gm_doc_printf(d, "%s%s: %s, %s %% of allocated.", what,
                         shown > 0 && shown < n ? ", and blocks without a stack" : "", gm_doc_bytes(d, sum),
                         gm_doc_share(d, sum, report->totals.allocated));
}

void gm_section_sites(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_site_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Blocks", struct gm_site_row, blocks),
        GM_PART_OF(GM_ALL, "percent", "Share", struct gm_site_row, bytes),
        GM_FIELD(GM_TEXT, GM_ALL, "category", "Category", struct gm_site_row, category),
        GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_site_row, site),
    };
    const struct gm_table table = {.key = "call_sites",
                                   GM_COLUMNS(columns),
                                   GM_ROWS(report->sites, report->site_count),
                                   .txt_max = 20,
                                   .md_max = 10,
                                   .of = &report->totals.allocated,
                                   .is_silent = true};
    struct gm_table brief = table;
    brief.in = GM_READ;
    brief.txt_max = brief.md_max = BRIEF;
    if (gm_view_count(report) == 0 && report->site_count > BRIEF && !gm_doc_is(d, GM_JSON)) {
        gm_doc_open(d, NULL, "The largest call sites");
        gm_doc_table(d, &brief);
        gm_doc_close(d);
    }
    opener(report, report->site_count <= BRIEF)(d, NULL, "Largest call sites");
    gm_doc_table(d, &table);
    gm_doc_tell(d, "%s", report->site_count == 0 ? why_none(report) : sum_of(d, report, gm_doc_shown(d, &table)));
    gm_doc_close(d);
}

void gm_section_contents(struct gm_doc *d, const struct gm_report *report)
{
    opener(report, report->category_count <= CATEGORIES)(d, NULL, "Memory by category");
    gm_section_slices(d, NULL, report->categories, report->category_count, 0, report->totals.allocated);
    if (report->category_count == 0)
        gm_doc_tell(d, "No block is allocated.");
    else
        gm_doc_tell(d, "Of allocated bytes, %s %% have a recorded stack.",
                    gm_doc_share(d, report->snapshot.live_bytes_with_stack, report->totals.allocated));
    gm_doc_close(d);
    if (report->roles == NULL) /* they are inferred from the trace, too: without one there are none */
        return;
    opener(report, true)(d, NULL, "Memory by role");
    gm_section_slices(d, NULL, report->roles, report->role_count, 0, report->totals.allocated);
    if (report->role_count == 0)
        gm_doc_tell(d, "No block is allocated.");
    gm_doc_close(d);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* "Attention 2.00 GiB, MLP 1.00 GiB, Loss 4 B" */
static union gm_value largest_of(const struct gm_cell_of *c)
{
    const struct gm_device_report *d = c->row;
    struct gm_text text = {0};
    for (size_t i = 0; i < d->category_count && i < 3 && d->categories[i].bytes > 0; i++)
        gm_text_printf(&text, "%s%s %s", i > 0 ? ", " : "", d->categories[i].name,
                       gm_doc_bytes(c->doc, d->categories[i].bytes));
    return (union gm_value){.s = gm_doc_take_any(c->doc, &text)};
}

void gm_section_devices(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_SIGNED, GM_READ, NULL, "Device", struct gm_device_report, device),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Reserved", struct gm_device_report, totals.reserved),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Allocated", struct gm_device_report, totals.allocated),
        GM_PART(GM_READ, NULL, "Eff.", struct gm_device_report, totals.allocated, totals.reserved),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Pending", struct gm_device_report, totals.pending),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Releasable", struct gm_device_report, fragmentation.releasable),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Stranded", struct gm_device_report, fragmentation.stranded),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Largest categories", largest_of),
    };
    if (gm_doc_is(d, GM_MD) && report->device_count < 2)
        return;
    opener(report, report->device_count <= BRIEF)(d, NULL, "Per device");
    if (report->device_count == 0)
        gm_doc_tell(d, "No device holds a segment or an event.");
    GM_TABLE(d, columns, report->devices, report->device_count, .in = 0);
    gm_doc_close(d);
}

/* ---- pools and streams ------------------------------------------------------------------------------------------- */

struct part {
    int64_t device;
    const char *name;
    struct gm_totals totals;
};

static struct part pool_part(struct gm_doc *d, const struct gm_device_report *device, size_t i)
{
    const struct gm_pool_row *pool = &device->pools[i];
    return (struct part){
        device->device, gm_doc_printf(d, "%s%s", pool->name, pool->has_expandable ? ", expandable" : ""), pool->totals};
}

static struct part stream_part(struct gm_doc *d, const struct gm_device_report *device, size_t i)
{
    const struct gm_stream_row *s = &device->streams[i];
    const char *name = s->stream == 0 ? "stream 0 (default)"
                                      : gm_doc_printf(d, "stream %" PRIu32 " (" GM_QUOTED ")", s->number,
                                                      gm_doc_printf(d, "0x%" PRIx64, (uint64_t)s->stream));
    return (struct part){device->device, name, s->totals};
}

/* Of all devices: the pools, or the streams. */
static void say_parts(struct gm_doc *d, const struct gm_report *report, bool are_pools)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_SIGNED, GM_READ, NULL, "Device", struct part, device),
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct part, name),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Reserved", struct part, totals.reserved),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Allocated", struct part, totals.allocated),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Cached", struct part, totals.inactive),
        GM_PART(GM_READ, NULL, "Eff.", struct part, totals.allocated, totals.reserved),
    };
    size_t most = 0, n = 0;
    for (size_t i = 0; i < report->device_count; i++)
        most += are_pools ? report->devices[i].pool_count : report->devices[i].stream_count;
    struct part *rows = gm_doc_rows(d, most, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < report->device_count; i++) {
        const struct gm_device_report *device = &report->devices[i];
        for (size_t k = 0; k < (are_pools ? device->pool_count : device->stream_count); k++)
            rows[n++] = are_pools ? pool_part(d, device, k) : stream_part(d, device, k);
    }
    gm_doc_fold(d, NULL, are_pools ? "Per pool" : "Per stream");
    if (n == 0)
        gm_doc_tell(d, "None.");
    GM_TABLE(d, columns, rows, n, .in = 0);
    gm_doc_close(d);
}

void gm_section_parts(struct gm_doc *d, const struct gm_report *report)
{
    say_parts(d, report, true);
    say_parts(d, report, false);
}

/* ---- ledger ------------------------------------------------------------------------------------------------------ */

/* One row for each device; the same from left to right. */
static void say_ledgers(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_SIGNED, GM_READ, NULL, "Device", struct gm_device_report, device),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Requested", struct gm_device_report, ledger.allocated_requested),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Rounding", struct gm_device_report, ledger.allocated_rounding),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Pending", struct gm_device_report, ledger.pending),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Releasable", struct gm_device_report, ledger.releasable),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Stranded", struct gm_device_report, ledger.stranded),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Reserved", struct gm_device_report, ledger.reserved),
    };
    char residual[GM_NUMBER_TEXT];
    if (report->device_count < 2)
        return;
    GM_TABLE(d, columns, report->devices, report->device_count, .title = "The same of each device");
    for (size_t i = 0; i < report->device_count; i++)
        if (report->devices[i].ledger.residual != 0)
            gm_doc_tell(d, "Residual of device %" PRId64 ": %s bytes.", report->devices[i].device,
                        gm_signed_count_format(residual, report->devices[i].ledger.residual));
}

void gm_ledger_tell(struct gm_doc *d, const struct gm_ledger *ledger)
{
#define FIELD(unit, key, title, field) GM_FIELD(unit, GM_ALL, key, title, struct gm_ledger, field)
    static const struct gm_column columns[] = {
        FIELD(GM_EXACT, "allocated_requested_bytes", "allocated blocks, requested", allocated_requested),
        FIELD(GM_EXACT, "allocated_rounding_bytes", "allocated blocks, rounding", allocated_rounding),
        FIELD(GM_EXACT, "pending_bytes", "blocks pending free", pending),
        FIELD(GM_EXACT, "releasable_bytes", "cached, releasable", releasable),
        FIELD(GM_EXACT, "stranded_bytes", "cached, stranded", stranded),
        FIELD(GM_EXACT, "sum_bytes", "sum of these", sum),
        FIELD(GM_EXACT, "reserved_bytes", "reserved (sum of the segments)", reserved),
        FIELD(GM_SIGNED, "residual_bytes", "residual (reserved - sum)", residual),
        FIELD(GM_EXACT, "stated_allocated_bytes", "stated by the file: allocated", stated_allocated),
        FIELD(GM_EXACT, "stated_active_bytes", "stated by the file: active", stated_active),
        FIELD(GM_EXACT, "stated_requested_bytes", "stated by the file: requested", stated_requested),
        FIELD(GM_COUNT, "segments_disagreeing", "segments unlike their blocks", segments_disagreeing),
        GM_KEY(GM_TEXT, "explanation", struct gm_ledger, explanation),
    };
#undef FIELD
    gm_doc_open(d, "ledger", NULL);
    GM_FIELDS(d, columns, ledger, NULL);
    gm_doc_close(d);
}

static bool differs(uint64_t stated, uint64_t counted)
{
    return stated != GM_REPORT_NONE && stated != counted;
}

void gm_section_ledger(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_ledger *l = &report->ledger;
    const struct gm_totals *t = &report->totals;
    gm_doc_fold(d, NULL, "Ledger: where every reserved byte is");
    gm_ledger_tell(d, l);
    if (differs(l->stated_allocated, t->allocated) || differs(l->stated_active, t->active) ||
        differs(l->stated_requested, t->requested))
        gm_doc_tell(d, "What the file states DIFFERS from what its blocks add up to.");
    if (l->explanation != NULL)
        gm_doc_tell(d, "%s", l->explanation);
    say_ledgers(d, report);
    gm_doc_close(d);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Length of "name." in "name.part"; 0 without a '.'. */
static size_t prefix_length(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot != NULL ? (size_t)(dot - key) + 1 : 0;
}

/* How many settings from `first` on are parts of one name ("roundup_power2_divisions.4") and have the same value. */
static size_t settings_run(const struct gm_report *report, size_t first)
{
    const struct gm_setting_row *row = &report->settings[first];
    size_t prefix = prefix_length(row->key), n = 1;
    while (prefix > 0 && first + n < report->setting_count && strncmp(row[n].key, row->key, prefix) == 0 &&
           strcmp(row[n].value, row->value) == 0 && row[n].is_default == row->is_default)
        n++;
    return n;
}

/* The settings that are at their defaults, or those that are not, as "key = value"; a paragraph or items. */
static void say_settings(struct gm_doc *d, const struct gm_report *report, bool are_default)
{
    struct gm_text defaults = {0};
    for (size_t i = 0, run = 0; i < report->setting_count; i += run) {
        const struct gm_setting_row *row = &report->settings[i];
        run = settings_run(report, i);
        const char *key = run == 1 ? row->key : gm_doc_printf(d, "%.*s*", (int)prefix_length(row->key), row->key);
        const char *line =
            gm_doc_printf(d, GM_QUOTED " = " GM_QUOTED, key, row->value[0] != '\0' ? row->value : "(empty)");
        if (row->is_default && are_default)
            gm_text_printf(&defaults, "%s%s", defaults.length > 0 ? ", " : "", line);
        else if (row->is_default == are_default)
            gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s", line);
    }
    const bool any = defaults.length > 0;
    const char *text = gm_doc_take(d, &defaults);
    if (any)
        gm_doc_tell(d, "At their defaults: %s", text);
}

void gm_section_settings(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "key", struct gm_setting_row, key),
        GM_KEY(GM_TEXT, "value", struct gm_setting_row, value),
        GM_KEY(GM_BOOL, "default", struct gm_setting_row, is_default),
    };
    const struct gm_table all = {
        .key = "settings", .in = GM_JSON, GM_COLUMNS(columns), GM_ROWS(report->settings, report->setting_count)};
    if (report->settings == NULL && gm_doc_is(d, GM_JSON))
        gm_json_null(&d->json, "settings");
    else
        gm_doc_table(d, &all);
    if (gm_doc_is(d, GM_JSON) || (report->settings == NULL && gm_doc_is(d, GM_MD)))
        return;
    gm_doc_fold(d, NULL, "Allocator settings");
    if (report->settings == NULL)
        gm_doc_tell(d, "The file records none.");
    else if (report->setting_count == 0)
        gm_doc_tell(d, "Recorded, but empty.");
    for (int are_default = 0; report->settings != NULL && are_default < 2; are_default++)
        say_settings(d, report, are_default == 1);
    gm_doc_close(d);
}

/* ---- trace and warnings ------------------------------------------------------------------------------------------ */

void gm_trace_counts_tell(struct gm_doc *d, const struct gm_trace_counts *counts)
{
#define FIELD(key, title, field) GM_FIELD(GM_COUNT, GM_ALL, key, title, struct gm_trace_counts, field)
    static const struct gm_column columns[] = {
        FIELD("events", "events", events),
        FIELD("allocs", "allocations", allocs),
        FIELD("frees", "frees completed", frees),
        FIELD("ooms", "out of memory", ooms),
        FIELD("segment_allocs", "segments from cudaMalloc", segment_allocs),
        FIELD("segment_frees", "segments freed", segment_frees),
        FIELD("segment_maps", "segment ranges mapped", segment_maps),
        FIELD("segment_unmaps", "segment ranges unmapped", segment_unmaps),
    };
#undef FIELD
    GM_FIELDS(d, columns, counts, NULL);
}

static void say_trace(struct gm_doc *d, const struct gm_report *report, size_t i)
{
    const struct gm_trace_counts *t = &report->devices[i].trace;
    const bool is_full = t->overflowed > 0;
    gm_doc_tell(d, "Device %" PRId64 ": %s events in %s, peak requested %s, peak reserved %s",
                report->devices[i].device, gm_doc_count(d, t->events),
                t->span_us == GM_REPORT_NONE ? "unknown time" : gm_doc_duration(d, t->span_us),
                gm_doc_bytes(d, report->peaks == NULL ? GM_REPORT_NONE : report->peaks[i].requested),
                gm_doc_bytes(d, t->peak_reserved));
    gm_trace_counts_tell(d, t);
    gm_doc_tell(d, "Other events: %s.%s", gm_doc_count(d, t->others),
                t->max_entries == GM_REPORT_NONE
                    ? ""
                    : gm_doc_printf(d, " The recorder has room for %s%s", gm_doc_count(d, t->max_entries),
                                    is_full ? " and was full: events before the first one here are lost." : "."));
}

void gm_section_trace(struct gm_doc *d, const struct gm_report *report)
{
    size_t traced = 0;
    for (size_t i = 0; i < report->device_count; i++)
        traced += report->devices[i].trace.events > 0;
    if (traced == 0 && gm_doc_is(d, GM_MD))
        return;
    gm_doc_fold(d, NULL, "Trace");
    for (size_t i = 0; i < report->device_count; i++)
        if (report->devices[i].trace.events > 0)
            say_trace(d, report, i);
    if (traced == 0)
        gm_doc_tell(d, "No event recorded: the snapshot shows one moment only.");
    gm_doc_close(d);
}

void gm_section_warnings(struct gm_doc *d, const struct gm_report *report)
{
    GM_LIST(d, "warnings", GM_TEXT, report->warnings, report->warning_count);
    if (gm_doc_is(d, GM_JSON) || (report->warning_count == 0 && gm_doc_is(d, GM_MD)))
        return;
    (report->warning_count == 0 ? gm_doc_fold : gm_doc_open)(d, NULL, "Warnings");
    if (report->warning_count == 0)
        gm_doc_tell(d, "None.");
    for (size_t i = 0; i < report->warning_count; i++) {
        if (i == WARNINGS)
            gm_doc_fold(d, NULL, "More warnings");
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s", report->warnings[i]);
    }
    if (report->warning_count > WARNINGS)
        gm_doc_close(d);
    gm_doc_close(d);
}
