/* SPDX-License-Identifier: Apache-2.0
 *
 * The peak of requested bytes: how high and when, what it was made of, what was cached then, the peaks next to it, and
 * what would lower it. The rows of each table of what was live add up to the peak.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

enum { BRIEF = 6 /* rows of what is read first */, DEVICES = 8 };
enum { LIFETIMES = 20, SITES = 20, STACKS = 5, FRAMES = 3 };

/* ---- when -------------------------------------------------------------------------------------------------------- */

#define LEVEL(title, field) GM_FIELD(GM_BYTES, GM_READ, NULL, title, struct peak_row, moment.levels.field)

struct peak_row {
    const char *name;
    int64_t device;
    struct gm_moment moment;
    uint64_t allocated, reserved; /* of devices: the peaks of these */
};

/* Of several devices one table compares all. */
void gm_section_peak_devices(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_SIGNED, GM_READ, NULL, "Device", struct peak_row, device),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Requested", struct peak_row, moment.levels.requested),
        GM_FIELD(GM_EVENT, GM_READ, NULL, "After event", struct peak_row, moment.event),
        GM_FIELD(GM_TIME, GM_MD, NULL, "Time", struct peak_row, moment.time_us),
        GM_FIELD(GM_BYTES, GM_MD, NULL, "Active then", struct peak_row, moment.levels.active),
        LEVEL("Reserved then", reserved),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Allocated", struct peak_row, allocated),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Reserved", struct peak_row, reserved),
    };
    struct peak_row *rows = gm_doc_rows(d, report->device_count, sizeof *rows);
    struct gm_view v;
    size_t n = 0;
    for (size_t i = 0; rows != NULL && i < report->device_count; i++)
        if (gm_view_of(&v, report, i))
            rows[n++] = (struct peak_row){.device = v.device->device,
                                          .moment = gm_view_peak(&v),
                                          .allocated = gm_view_levels(&v, v.timeline->peak_allocated.levels).allocated,
                                          .reserved = gm_view_peak_reserved(&v)};
    if (n < 2)
        return;
    gm_doc_open(d, NULL, "Peaks of the devices");
    GM_TABLE(d, columns, rows, n, .in = GM_READ, .txt_max = DEVICES, .is_silent = true);
    if (gm_view_highest(&v, report))
        gm_doc_tell(d, "What follows is of device %" PRId64 "; the others are in %s.", v.device->device,
                    gm_doc_is(d, GM_MD) ? d->text_name : "the appendix");
    if (gm_doc_is(d, GM_TXT) && n > DEVICES) {
        gm_doc_fold(d, NULL, "Peaks of all devices");
        GM_TABLE(d, columns, rows, n, .in = GM_READ);
        gm_doc_close(d);
    }
    gm_doc_close(d);
}

/* All four kinds of bytes at the peak of each. */
static void say_moments(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Peak of", struct peak_row, name),
        GM_FIELD(GM_EVENT, GM_READ, NULL, "After event", struct peak_row, moment.event),
        GM_FIELD(GM_TIME, GM_READ, NULL, "Time", struct peak_row, moment.time_us),
        LEVEL("Requested", requested),
        LEVEL("Allocated", allocated),
        LEVEL("Active", active),
        LEVEL("Reserved", reserved),
    };
    const struct gm_device_timeline *t = v->timeline;
    struct peak_row rows[] = {{.name = "requested", .moment = gm_view_peak(v)},
                              {.name = "allocated", .moment = t->peak_allocated},
                              {.name = "active", .moment = t->peak_active},
                              {.name = "reserved", .moment = t->peak_reserved}};
    const uint64_t reserved = t->peak_reserved.levels.reserved;
    const bool is_known = v->has_reserved && reserved != GM_REPORT_NONE && reserved > 0;
    if (!v->is_reconstructed) {
        rows[3].moment.levels = gm_view_levels(v, rows[3].moment.levels);
        rows[1] = rows[3];
    }
    GM_TABLE(d, columns, rows, (v->is_reconstructed ? 3u : 1u) + is_known, .in = GM_READ);
    if (!is_known)
        gm_doc_tell(d, "The peak of reserved bytes is not known.");
    if (!v->is_reconstructed)
        gm_doc_tell(d, "Allocated and active bytes are not known (n/a): %s.", gm_view_reason(v));
}

static void say_place(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_step_row *step = gm_view_step(v, v->peak->event);
    const enum gm_phase phase = gm_view_phase(v, v->peak->event);
    const char *name = step == NULL ? "" : step->label != NULL ? step->label : "a step";
    if (step != NULL || phase != GM_PHASE_OTHER)
        gm_doc_tell(d, "The peak of requested bytes lies in %s%s%s.", name,
                    step != NULL && phase != GM_PHASE_OTHER ? ", " : "",
                    phase != GM_PHASE_OTHER ? gm_phase_name(phase) : "");
    if (v->timeline->peak.times > 1)
        gm_doc_tell(d, "%s distinct peaks are as high; this is the first of them.",
                    gm_doc_count(d, v->timeline->peak.times));
    if (v->peak->event == GM_REPORT_NONE)
        gm_doc_tell(d, "Start: before event 0. What was live before the trace began was never exceeded in it; an "
                       "earlier peak is not recorded.");
}

/* ---- from requested to reserved ---------------------------------------------------------------------------------- */

struct part {
    const char *name;
    int64_t then, most; /* bytes; GM_SIGNED_NONE: not known */
    uint64_t whole_then, whole_most;
};

/* a - b where both are known; less than nothing if blocks lie outside all segments. */
static int64_t difference(uint64_t a, uint64_t b)
{
    return a == GM_REPORT_NONE || b == GM_REPORT_NONE ? GM_SIGNED_NONE : gm_signed_gap(a, b);
}

static const char *part_text(struct gm_doc *d, int64_t bytes, uint64_t reserved)
{
    const char *size = bytes == GM_SIGNED_NONE ? NULL : gm_doc_signed_bytes(d, bytes);
    return reserved == 0 || reserved == GM_REPORT_NONE || bytes < 0
               ? size
               : gm_doc_printf(d, "%s (%s %%)", size, gm_doc_share(d, (uint64_t)bytes, reserved));
}

GM_CELL(s, part_then, struct part, part, part_text(c->doc, part->then, part->whole_then));
GM_CELL(s, part_most, struct part, part, part_text(c->doc, part->most, part->whole_most));

/* Where every reserved byte was, at two moments. */
static void say_unused(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_levels a = gm_view_peak(v).levels;
    const struct gm_levels b = gm_view_levels(v, v->timeline->peak_reserved.levels);
    if (!v->is_reconstructed) {
        gm_doc_tell(d, "How much of it was fragmentation is not known: %s.", gm_view_reason(v));
        return;
    }
    const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "From requested to reserved", struct part, name),
        GM_GET(GM_FIGURE, GM_READ, NULL, "At this peak", part_then),
        GM_GET(GM_FIGURE, GM_READ, NULL, a.reserved == b.reserved ? "When first reserved" : "At peak reserved",
               part_most),
    };
    /* A filter may leave allocations out, which then look like cached bytes. */
    const char *cached =
        v->timeline->filter == NULL ? "+ cached, in nobody's use" : "+ cached, or left out by the filter";
    const struct part rows[] = {
        {"requested by the program", difference(a.requested, 0), difference(b.requested, 0), 0, 0},
        {"+ rounding (active - requested)", difference(a.active, a.requested), difference(b.active, b.requested), 0, 0},
        {cached, difference(a.reserved, a.active), difference(b.reserved, b.active), a.reserved, b.reserved},
        {"= reserved from the driver", difference(a.reserved, 0), difference(b.reserved, 0), 0, 0},
        {"active but freed (pending a stream)", difference(a.active, a.allocated), difference(b.active, b.allocated), 0,
         0},
    };
    GM_TABLE(d, columns, rows, sizeof rows / sizeof *rows, .in = GM_READ);
    if (difference(a.reserved, a.active) < 0 && a.active != GM_REPORT_NONE)
        gm_doc_tell(d, "More is active than reserved: blocks lie outside all segments.");
}

void gm_section_peak(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_peak_detail *detail = &v->timeline->peak;
    const uint64_t whole = v->peak->requested;
    const bool has_roles = detail->role_count > 0;
    say_place(d, v);
    if (v->peak->category_count == 0)
        gm_doc_tell(d, whole == 0 ? "Nothing was live then." : "What was live then is not known.");
    if (has_roles)
        gm_section_slices(d, "Live then, by role", detail->roles, detail->role_count, BRIEF, whole);
    else
        gm_section_slices(d, "Live then, by category", v->peak->categories, v->peak->category_count, BRIEF, whole);
    say_unused(d, v);
    gm_doc_fold(d, NULL, "The peak in full");
    say_moments(d, v);
    if (has_roles || v->peak->category_count > BRIEF + 1)
        gm_section_slices(d, "Live then, by category", v->peak->categories, v->peak->category_count, 0, whole);
    if (detail->role_count > BRIEF + 1)
        gm_section_slices(d, "By role", detail->roles, detail->role_count, 0, whole);
    gm_section_slices(d, "By lifetime", detail->lifetimes, detail->lifetime_count, LIFETIMES, whole);
    gm_doc_close(d);
}

/* ---- what was live ----------------------------------------------------------------------------------------------- */

static void add_frames(const struct gm_cell_of *c)
{
    const struct gm_group_row *row = c->row;
    gm_json_frames(c->doc, row->frames, row->frames == NULL ? 0 : row->frame_count);
}

/* Rows, and what those that are not listed hold. `total` exist. */
struct groups {
    uint64_t whole; /* GM_PART_OF */
    const struct gm_group_row *rows;
    size_t count, total;
    uint64_t rest_bytes, rest_blocks;
    const char *by;                /* --group; NULL: call sites */
    size_t most;                   /* rows that people are shown */
    bool is_brief;                 /* without what led to the sites */
    const char *const *operations; /* [count] of a trace of torch.profiler; NULL: there is none */
};

/* What led to the first sites, below them. */
static union gm_value stack_of(const struct gm_cell_of *c)
{
    const struct groups *g = c->of;
    const struct gm_group_row *row = c->row;
    const struct gm_block_row block = {.site = row->label, .frames = row->frames, .frame_count = row->frame_count};
    const bool has_stack = g->by == NULL && !g->is_brief && row->frames != NULL && row - g->rows < STACKS;
    return (union gm_value){.s = has_stack ? gm_frames_below(c->doc, &block, FRAMES) : NULL};
}

GM_CELL(s, source_of, struct gm_group_row, row, gm_source_words(c->doc, row->source, row->source_note));
GM_CELL(s, operation_of, struct gm_group_row, row,
        ((const struct groups *)c->of)->operations[row - ((const struct groups *)c->of)->rows]);

static const struct gm_column group_columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_group_row, bytes),
    GM_FIELD(GM_COUNT, GM_ALL | GM_BLANK, "blocks", "Blocks", struct gm_group_row, blocks),
    GM_PART_OF(GM_ALL, "percent", "Share", struct gm_group_row, bytes),
    GM_FIELD(GM_BYTES, GM_ALL | GM_BLANK, "peak_without_bytes", "Without", struct gm_group_row, peak_without),
    GM_FIELD(GM_TEXT, GM_MD | GM_JSON, "category", "Category of most", struct gm_group_row, category),
    GM_FIELD(GM_TEXT, GM_MD | GM_JSON, "role", "Role of most", struct gm_group_row, role),
    GM_FIELD(GM_TEXT, GM_TXT, NULL, "Mostly", struct gm_group_row, role),
    GM_FIELD(GM_SITE, GM_ALL, "label", "Made in", struct gm_group_row, label),
    GM_GET(GM_NAME, GM_READ | GM_UNDER, NULL, "Line", source_of),
    GM_GET(GM_SITE, GM_TXT | GM_UNDER, NULL, NULL, stack_of),
    GM_KEY(GM_TEXT, "source", struct gm_group_row, source),
    GM_KEY(GM_TEXT, "source_note", struct gm_group_row, source_note),
    GM_NESTED("frames", add_frames),
    GM_GET(GM_NAME, GM_JSON, "operator", NULL, operation_of), /* the last: only where g->operations are */
};

static void say_groups(struct gm_doc *d, const struct groups *g)
{
    const size_t shown = g->count <= g->most + 1 ? g->count : g->most;
    struct gm_group_row feet[2] = {{.bytes = g->rest_bytes, .blocks = g->rest_blocks, .peak_without = GM_REPORT_NONE},
                                   {.blocks = GM_REPORT_NONE, .peak_without = GM_REPORT_NONE}};
    uint64_t sum = g->rest_bytes;
    for (size_t i = 0; i < g->count; i++) {
        sum = gm_plus(sum, g->rows[i].bytes);
        feet[0].bytes = i < shown ? feet[0].bytes : gm_plus(feet[0].bytes, g->rows[i].bytes);
        feet[0].blocks = i < shown ? feet[0].blocks : gm_plus(feet[0].blocks, g->rows[i].blocks);
    }
    feet[0].label = gm_doc_printf(d, "(%zu more)", g->total > shown ? g->total - shown : 0);
    feet[1].label = "(not attributed)";
    feet[1].bytes = gm_less(g->whole, sum);
    const bool has_rest = g->count > 0 && (g->total > shown || feet[0].bytes > 0);
    const bool is_lacking = g->count > 0 && feet[1].bytes != GM_REPORT_NONE && feet[1].bytes != 0;
    enum { COLUMNS = sizeof group_columns / sizeof *group_columns };
    struct gm_column columns[COLUMNS];
    memcpy(columns, group_columns, sizeof columns);
    for (size_t i = 0; g->by != NULL && strcmp(g->by, "file") == 0 && i < COLUMNS; i++)
        columns[i].unit = columns[i].unit == GM_SITE ? GM_PATH : columns[i].unit; /* its end says most */
    GM_TABLE(d, columns, g->rows, shown, .title = g->by == NULL ? NULL : gm_doc_printf(d, "By %s", g->by),
             .in = GM_READ, GM_FEET_OF(feet, has_rest, is_lacking), .of = g);
}

static void add_groups(struct gm_doc *d, const char *key, const struct groups *g)
{
    if (g->rows == NULL) {
        gm_json_null(&d->json, key);
        return;
    }
    gm_doc_open(d, key, NULL);
    if (g->by != NULL)
        gm_json_string(&d->json, "by", g->by);
    const size_t columns = sizeof group_columns / sizeof *group_columns;
    GM_TABLE_OF(d, group_columns, g->operations == NULL ? columns - 1 : columns, g->rows, g->count, .key = "rows",
                .in = GM_JSON, .of = g);
    gm_json_number(&d->json, "total", g->total);
    gm_json_number(&d->json, "rest_bytes", g->rest_bytes);
    gm_json_number(&d->json, "rest_blocks", g->rest_blocks);
    gm_doc_close(d);
}

void gm_section_peak_sites(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_peak_detail *p = &v->timeline->peak;
    const uint64_t whole = v->peak->requested;
    struct groups sites = {.whole = whole,
                           .rows = p->sites,
                           .count = p->site_count,
                           .total = p->site_total,
                           .rest_bytes = p->site_rest_bytes,
                           .rest_blocks = p->site_rest_blocks,
                           .most = BRIEF,
                           .is_brief = true,
                           .operations = v->timeline->join == NULL ? NULL : v->timeline->join->sites};
    struct groups groups = {.whole = whole,
                            .rows = p->groups,
                            .count = p->group_count,
                            .total = p->group_total,
                            .rest_bytes = p->group_rest_bytes,
                            .rest_blocks = p->group_rest_blocks,
                            .by = p->group_by == NULL ? "group" : p->group_by,
                            .most = BRIEF,
                            .is_brief = true};
    if (gm_doc_is(d, GM_JSON)) {
        add_groups(d, "call_sites_at_peak", &sites);
        gm_json_inferred(d, "lifetimes_at_peak", p->lifetimes, p->lifetime_count, whole);
        add_groups(d, "groups_at_peak", &groups);
        return;
    }
    gm_doc_tell(d, "Without: how high the peak would be, wherever it would be then, if nothing of that row were ever "
                   "allocated.");
    const bool is_folded = gm_doc_is_folded(d); /* the brief ones would stand right above these */
    if (!is_folded) {
        say_groups(d, &sites);
        if (p->groups != NULL)
            say_groups(d, &groups);
        gm_doc_fold(d, NULL, "Call sites at the peak, with stacks");
    }
    gm_doc_tell(d, "Requested bytes live at the peak of %s bytes.", gm_doc_count(d, whole));
    sites.most = groups.most = SITES;
    sites.is_brief = groups.is_brief = false;
    say_groups(d, &sites);
    if (p->group_count > (is_folded ? 0 : BRIEF + 1))
        say_groups(d, &groups);
    if (!is_folded)
        gm_doc_close(d);
}

/* ---- other peaks, and what would lower this one ------------------------------------------------------------------ */

static void add_moment(const struct gm_cell_of *c)
{
    gm_json_moment(c->doc, c->of, &((const struct gm_next_peak *)c->row)->moment);
}

static union gm_value next_step(const struct gm_cell_of *c)
{
    const struct gm_steps *steps = &((const struct gm_view *)c->of)->timeline->steps;
    const uint64_t step = ((const struct gm_next_peak *)c->row)->step;
    return (union gm_value){.s = step < steps->row_count ? steps->rows[step].label : NULL};
}

GM_CELL(u, next_times, struct gm_next_peak, next, next->times > 0 ? next->times : 1);
GM_CELL(u, next_bytes, struct gm_next_peak, next, next->top_label == NULL ? GM_REPORT_NONE : next->top_bytes);

/* "in step 14, the first of 3 that are as high" */
static union gm_value next_note(const struct gm_cell_of *c)
{
    const struct gm_next_peak *next = c->row;
    const char *step = next_step(c).s, *in = step == NULL ? NULL : gm_doc_printf(c->doc, "in %s", step);
    if (next->times <= 1)
        return (union gm_value){.s = in};
    return (union gm_value){.s = gm_doc_printf(c->doc, "%s%sthe first of %s that are as high", in == NULL ? "" : in,
                                               in == NULL ? "" : ", ", gm_doc_count(c->doc, next->times))};
}

void gm_section_next_peaks(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Requested", struct gm_next_peak, moment.levels.requested),
        GM_FIELD(GM_EVENT, GM_READ, NULL, "After event", struct gm_next_peak, moment.event),
        GM_FIELD(GM_TIME, GM_READ, NULL, "Time", struct gm_next_peak, moment.time_us),
        GM_NESTED(NULL, add_moment),
        GM_GET(GM_TEXT, GM_JSON, "step", NULL, next_step),
        GM_GET(GM_COUNT, GM_JSON, "times", NULL, next_times),
        GM_GET(GM_BYTES, GM_ALL, "top_bytes", "Most of it", next_bytes),
        GM_FIELD(GM_SITE, GM_ALL, "top_site", "Made in", struct gm_next_peak, top_label),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Where", next_note),
    };
    const struct gm_peak_detail *p = &v->timeline->peak;
    GM_TABLE(d, columns, p->next, p->next_count, .key = "next_peaks", .of = v);
    if (p->next_count == 0)
        gm_doc_tell(d, p->times == 0 && p->site_count == 0 ? "Not known."
                       : p->times > 1                      ? "No lower peak: the others are as high as the first."
                                      : "No other peak: the curve does not fall clearly and rise again.");
}

void gm_section_savings(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "peak_after_bytes", "Peak after", struct gm_saving, peak_after),
        GM_FIELD(GM_BYTES, GM_ALL, "saved_bytes", "Saved", struct gm_saving, saved),
        GM_PART_OF(GM_READ, NULL, "Share", struct gm_saving, saved),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_at_peak", "At the peak", struct gm_saving, bytes_at_peak),
        GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_saving, label),
    };
    const struct gm_peak_detail *p = &v->timeline->peak;
    if (p->saving_count == 0)
        gm_doc_tell(d, p->site_count == 0 ? "Not known." : "None: no call site's absence would lower the peak.");
    else
        gm_doc_tell(d,
                    "The call sites to look at first: each is removed in addition to those above it, and the peak is "
                    "looked for anew, because it moves.");
    GM_TABLE(d, columns, p->savings, p->saving_count, .key = "savings", .of = &v->peak->requested);
}

/* ---- roles ------------------------------------------------------------------------------------------------------- */

GM_CELL(s, certainty_of, struct gm_role_reason, reason,
        reason->certainty > 0 ? gm_doc_printf(c->doc, "%d %%", reason->certainty) : NULL);

GM_CELL(i, certainty_percent, struct gm_role_reason, row, row->certainty);

static void say_check(struct gm_doc *d, const char *what, uint64_t sum, uint64_t whole)
{
    gm_doc_tell(d, "%s: %s bytes; the sum %s.", what, gm_doc_count(d, whole), sum == whole ? "is the same" : "DIFFERS");
}

/* Which evidence gave which role to how many blocks. JSON: "role_reasons"; for people it is --explain. */
void gm_section_roles(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_ALL, "role", "Role", struct gm_role_reason, role),
        GM_GET(GM_FIGURE, GM_READ | GM_BLANK, NULL, "Sure", certainty_of),
        GM_GET(GM_SIGNED, GM_JSON, "certainty_percent", NULL, certainty_percent),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks_at_peak", "At the peak", struct gm_role_reason, blocks_at_peak),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_at_peak", "Requested", struct gm_role_reason, bytes_at_peak),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks_at_end", "At the end", struct gm_role_reason, blocks_at_end),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_at_end", "Allocated", struct gm_role_reason, bytes_at_end),
        GM_FIELD(GM_TEXT, GM_ALL | GM_UNDER, "reason", "Because", struct gm_role_reason, reason),
    };
    const struct gm_device_timeline *t = v->timeline;
    struct gm_role_reason sum = {.role = "sum"};
    for (size_t i = 0; i < t->reason_count; i++) {
        sum.blocks_at_peak = gm_plus(sum.blocks_at_peak, t->reasons[i].blocks_at_peak);
        sum.bytes_at_peak = gm_plus(sum.bytes_at_peak, t->reasons[i].bytes_at_peak);
        sum.blocks_at_end = gm_plus(sum.blocks_at_end, t->reasons[i].blocks_at_end);
        sum.bytes_at_end = gm_plus(sum.bytes_at_end, t->reasons[i].bytes_at_end);
    }
    GM_TABLE(d, columns, t->reasons, t->reason_count, .key = "role_reasons", GM_FEET(&sum, t->reason_count > 0));
    if (t->reason_count == 0) {
        gm_doc_tell(d, "Roles were not inferred.");
        return;
    }
    say_check(d, "The peak of requested bytes", sum.bytes_at_peak, v->peak->requested);
    say_check(d, "Allocated at the end", sum.bytes_at_end, v->device->totals.allocated);
}
