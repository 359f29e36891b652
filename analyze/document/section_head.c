/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report begins with: marks, the headline, what was read; the totals at the end; and what to do.
 */
#include "analyze/document/columns.h"
#include "analyze/document/documents.h"
#include "analyze/document/sections.h"
#include "analyze/document/sites.h"

#include <inttypes.h>
#include <string.h>

enum { LABEL = 8, SUMMARY_LINE = 100 /* columns */ };
enum { DOUBTS = 2 /* devices that are read first */, FIXES = 8, DETAIL = 1200, LISTED = 24000 /* bytes */ };
enum { FIRST = 3600 /* bytes of details that are read first */, LINE = 80 };

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/* What the command line left out: the figures below are of the rest. Once if it is the same for all devices. */
static void say_filters(struct gm_doc *d, const struct gm_report *report)
{
    bool any = false, differ = gm_view_filters_differ(report);
    for (size_t i = 0; i < report->device_count && (differ || !any); i++) {
        struct gm_view v;
        if (!gm_view_of(&v, report, i) || v.timeline->filter == NULL)
            continue;
        gm_doc_say(d, GM_SAY_MARK, GM_READ, "FILTERED", "%s%s",
                   differ ? gm_doc_printf(d, "Device %" PRId64 ": ", v.device->device) : "", v.timeline->filter);
        any = true;
    }
}

/* How far the figures can be believed. */
void gm_section_marks(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    const char *why = report->snapshot.salvaged_reason;
    gm_doc_open(d, "reliability", NULL);
    gm_doc_say(d, GM_SAY, GM_JSON, "verdict", "%s", gm_reliability_name(diagnosis->reliability));
    GM_LIST(d, "reasons", GM_TEXT, diagnosis->doubts, diagnosis->doubt_count);
    gm_doc_close(d);
    if (report->snapshot.is_salvaged)
        gm_doc_say(d, GM_SAY_MARK, GM_READ, "SALVAGED",
                   "This file is damaged and was salvaged: only what is complete before byte %" PRIu64
                   " of it was read (%s). Totals below are lower bounds.",
                   report->snapshot.salvaged_offset, why != NULL ? why : "no reason known");
    say_filters(d, report);
    for (size_t i = 0; i < diagnosis->doubt_count && i < DOUBTS; i++)
        gm_doc_say(d, GM_SAY_MARK, GM_READ, "DOUBTFUL", "%s", diagnosis->doubts[i]);
    if (diagnosis->doubt_count <= DOUBTS || gm_doc_is(d, GM_JSON))
        return;
    gm_doc_fold(d, NULL, "More doubts");
    for (size_t i = DOUBTS; i < diagnosis->doubt_count; i++)
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s", diagnosis->doubts[i]);
    gm_doc_close(d);
}

/* ---- the headline ------------------------------------------------------------------------------------------------ */

/* "Parameter 12.69 GiB (24.9 %)" without what stands in parentheses at its end, if it fits then; else nothing, and
 * false. */
static bool add_without_remark(struct gm_text *out, const char *piece, const char *comma, size_t left)
{
    GM_FREED struct gm_text head = {0};
    const size_t n = strlen(piece);
    const char *remark = n > 0 && piece[n - 1] == ')' ? strrchr(piece, '(') : NULL;
    if (remark == NULL || remark - piece < 2)
        return false;
    gm_text_printf(&head, "%s%.*s", comma, (int)(remark - piece - 1), piece);
    const bool fits = !head.failed && gm_columns(head.data) <= left;
    gm_text_add(out, fits ? head.data : "");
    out->failed |= head.failed;
    return fits;
}

/* As many pieces as fit the line. The first is cut if it must be, later ones only if they are sentences, not figures.
 * The site belongs to the last piece: it goes with it, and before its file and line do not fit the piece is cut. */
static void add_heading(struct gm_text *out, const struct gm_heading *line, size_t columns)
{
    if (line->count == 0 && line->site == NULL)
        return;
    gm_columns_cell(out, line->label, LABEL, GM_CELL_LEFT);
    size_t left = columns - LABEL, i = 0, site = line->site == NULL ? 0 : gm_site_least(line->site) + 2;
    site = site < left * 3 / 4 ? site : left * 3 / 4;
    bool is_cut = false;
    for (; i < line->count && !is_cut; i++) {
        size_t comma = i > 0 ? 2 : 0, wants = gm_columns(line->pieces[i]) + comma;
        size_t room = i + 1 < line->count ? left : site < left ? left - site : 0;
        is_cut = wants > room;
        if (is_cut && (i > 0 || line->are_sentences) &&
            add_without_remark(out, line->pieces[i], i > 0 ? ", " : "", left))
            break;
        if (i > 0 && is_cut && !(line->are_sentences && room > columns / 4))
            break;
        gm_text_add(out, i > 0 ? ", " : "");
        gm_columns_cut(out, line->pieces[i], room - comma, false);
        left -= wants < room ? wants : room;
    }
    if (line->site != NULL && i == line->count) {
        gm_text_add(out, i > 0 ? ": " : "");
        gm_site_add(out, line->site, i > 0 ? left - 2 : left);
    }
    gm_text_add_char(out, '\n');
}

struct line {
    const char *label, *text;
};

/* Text has lines that fit it, the others whole ones. */
static void say_headline(struct gm_doc *d, const char *key, const struct gm_heading *headline)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "label", struct line, label),
        GM_KEY(GM_TEXT, "text", struct line, text),
    };
    struct line rows[GM_HEADLINES];
    size_t n = 0;
    for (size_t i = 0; i < GM_HEADLINES; i++) {
        const struct gm_heading *h = &headline[i];
        struct gm_text text = {0};
        for (size_t k = 0; k < h->count; k++)
            gm_text_printf(&text, "%s%s", k > 0 ? ", " : "", h->pieces[k]);
        if (h->site != NULL)
            gm_text_printf(&text, "%s" GM_QUOTED, h->count > 0 ? ": " : "", h->site);
        rows[n] = (struct line){h->label, gm_doc_take(d, &text)};
        if (gm_doc_is(d, GM_TXT))
            add_heading(d->out, h, GM_LINE);
        if (h->count > 0 || h->site != NULL)
            gm_doc_say(d, GM_SAY_LABEL, GM_MD, h->label, "%s", rows[n++].text);
    }
    GM_TABLE(d, columns, rows, n, .key = key, .in = GM_JSON);
}

void gm_section_headline(struct gm_doc *d, const struct gm_report *report)
{
    say_headline(d, "headline", report->diagnosis.headline);
}

/* With a trace the state at the end comes after what the trace tells first. */
void gm_section_end(struct gm_doc *d, const struct gm_report *report)
{
    if (gm_view_count(report) == 0 && !gm_doc_is(d, GM_JSON))
        return;
    gm_doc_open(d, NULL, "State at the end");
    say_headline(d, "headline_at_end", report->diagnosis.at_end);
    gm_doc_close(d);
}

static const char *counted(struct gm_doc *d, uint64_t count, const char *what)
{
    return gm_doc_printf(d, "%s %s%s", gm_doc_count(d, count), what, gm_plural(count));
}

void gm_section_source(struct gm_doc *d, const struct gm_report *report)
{
    const char *compression = report->snapshot.compression;
    const bool is_plain = strcmp(compression, "none") == 0;
    gm_doc_say(d, GM_SAY_LABEL, GM_TXT, "Run", GM_QUOTED, report->run_name);
    gm_doc_say(d, GM_SAY_LABEL, GM_READ, "Snapshot", GM_QUOTED, report->snapshot.path);
    gm_doc_say(d, GM_SAY_LABEL, GM_READ, "File", "%s%s%s, %s on disk; %s%s%s", report->snapshot.format,
               is_plain ? "" : " in ", is_plain ? "" : compression, gm_doc_bytes(d, report->snapshot.disk_bytes),
               report->lacks_end ? ""
                                 : gm_doc_printf(d, "%s, %s, ", counted(d, report->snapshot.segments, "segment"),
                                                 counted(d, report->snapshot.blocks, "block")),
               counted(d, report->snapshot.events, "event"),
               report->is_of_one_device && report->device_count == 1
                   ? gm_doc_printf(d, "; this report is of device %" PRId64 " only", report->devices[0].device)
                   : "");
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

struct total {
    const char *name;
    int64_t bytes;
    uint64_t blocks, part; /* GM_REPORT_NONE: not told */
};

GM_CELL(s, total_size, struct total, row, gm_doc_signed_bytes(c->doc, row->bytes));

static struct total total_of(const char *name, uint64_t bytes, uint64_t blocks)
{
    return (struct total){name, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, blocks, bytes};
}

static size_t add_host(struct total *rows, const char *name, uint64_t bytes)
{
    rows[0] = total_of(name, bytes, GM_REPORT_NONE);
    rows[0].part = GM_REPORT_NONE;
    return bytes != GM_REPORT_NONE;
}

void gm_section_summary(struct gm_doc *d, const struct gm_report *report)
{
    enum { NONE = -1 };
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct total, name),
        GM_GET(GM_FIGURE, GM_READ, NULL, "Size", total_size),
        GM_FIELD(GM_SIGNED, GM_READ, NULL, "Bytes", struct total, bytes),
        GM_PART_OF(GM_READ | GM_BLANK, NULL, "Share", struct total, part),
        GM_FIELD(GM_COUNT, GM_READ | GM_BLANK, NULL, "Blocks", struct total, blocks),
    };
    const struct gm_totals *t = &report->totals;
    const struct gm_fragmentation *f = &report->fragmentation;
    const char *why = gm_report_empty_cache_differs(report);
    const uint64_t none = GM_REPORT_NONE;
    struct total rows[16] = {
        total_of("Reserved from the driver", t->reserved, none),
        total_of("Allocated (handed out, not freed)", t->allocated, t->allocated_blocks),
        total_of("Pending (freed, a stream uses it)", t->pending, none),
        total_of("Active (allocated + pending)", t->active, t->active_blocks),
        total_of("Requested by the program", t->requested, none),
        total_of("Rounding (active - requested)", t->rounding, none),
        total_of("Inactive (cached, unused)", t->inactive, f->inactive_blocks),
        total_of("- the largest hole", f->largest_inactive, none),
        total_of("- in holes over 100 MiB", f->unused_over_100mib.bytes, f->unused_over_100mib.blocks),
        total_of("- releasable, nothing live beside", f->releasable, none),
        total_of("- stranded beside live blocks", f->stranded, none),
        total_of("empty_cache() returns", f->empty_cache, none),
    };
    size_t n = 12;
    if (report->ledger.residual != 0) {
        rows[n] = (struct total){"Unexplained (it does not add up)", report->ledger.residual, none, none};
        n++;
    }
    n += add_host(rows + n, "Pinned host memory, reserved", report->host_reserved);
    n += add_host(rows + n, "Pinned host memory, active", report->host_active);
    (gm_view_count(report) > 0 ? gm_doc_fold : gm_doc_open)(d, NULL, "Summary");
    GM_TABLE(d, columns, rows, n, .in = GM_READ, .of = &t->reserved);
    if (t->reserved > 0)
        gm_doc_tell(
            d, "Efficiency (allocated / reserved): %s %% (%s). Over 98 %% is excellent, 95 to 98 %% good, below poor.",
            gm_doc_share(d, t->allocated, t->reserved), gm_grade_name(gm_grade_of(gm_totals_efficiency(t))));
    if (why != NULL)
        gm_doc_tell(d, "%s", why);
    gm_doc_close(d);
}

/* ---- what to do -------------------------------------------------------------------------------------------------- */

GM_CELL(s, severity_of, struct gm_to_do, row, gm_severity_name(row->severity));

static bool is_to_do(const struct gm_diagnosis *diagnosis, const char *finding)
{
    for (size_t i = 0; i < diagnosis->to_do_count; i++)
        if (diagnosis->to_do[i].finding != NULL && strcmp(diagnosis->to_do[i].finding, finding) == 0)
            return true;
    return false;
}

/* What the peak would be without one call site stands in the table of them, what failed in a section of its own. */
static bool has_section(const struct gm_report *report, const struct gm_finding *f)
{
    bool has_oom = false;
    for (size_t i = 0; report->timelines != NULL && i < report->device_count; i++)
        has_oom |= report->timelines[i].oom_count > 0;
    return (strcmp(f->id, "peak-by-one-site") == 0 && f->unit != NULL) ||
           (strcmp(f->id, "out-of-memory") == 0 && has_oom);
}

/* What was found and asks for nothing, or for less than what is to do. */
static void say_facts(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    bool is_open = false;
    for (size_t i = 0; i < diagnosis->finding_count && !gm_doc_is(d, GM_JSON); i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (is_to_do(diagnosis, f->id) || has_section(report, f))
            continue;
        if (!is_open)
            gm_doc_fold(d, NULL, "Also found");
        is_open = true;
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s. %s", f->title, f->detail);
    }
    if (is_open)
        gm_doc_close(d);
}

/* What is to do and was replayed, in a list. */
struct fix {
    size_t number;
    const char *brief, *beside, *cost;
    struct gm_remedy_saving saving;
};

static union gm_value fix_note(const struct gm_cell_of *c)
{
    const struct fix *fix = c->row;
    struct gm_text note = {0};
    if (fix->beside != NULL && fix->saving.on_top == 0)
        gm_text_printf(&note, "no use beside %s", fix->beside);
    if (fix->cost != NULL)
        gm_text_printf(&note, "%s%s%s", note.length > 0 ? "; " : "", gm_doc_is(c->doc, GM_TXT) ? "price: " : "",
                       fix->cost);
    /* It does not with what is above it. */
    if (fix->saving.card != NULL && gm_plus(fix->saving.peak, fix->saving.on_top) > fix->saving.card_usable)
        gm_text_printf(&note, "%sthen it fits on %s (%s usable)", note.length > 0 ? "; " : "", fix->saving.card,
                       gm_doc_bytes(c->doc, fix->saving.card_usable));
    return (union gm_value){.s = gm_doc_take_any(c->doc, &note)};
}

/* The numbers of what was replayed with it, of either table: "1-3, 5"; "unlisted": what is too little for a row. NULL:
 * nothing was. */
static const char *beside_of(struct gm_doc *d, const struct gm_diagnosis *diagnosis, size_t rank)
{
    struct gm_text numbers = {0};
    size_t listed = 0;
    for (size_t i = 0, from = 0; i < diagnosis->to_do_count; i++) {
        const bool is_last = i + 1 == diagnosis->to_do_count || diagnosis->to_do[i + 1].saving.rank >= rank;
        from = i > 0 && diagnosis->to_do[i - 1].saving.rank < rank ? from : i;
        if (diagnosis->to_do[i].saving.rank >= rank)
            continue;
        listed++;
        if (is_last && from < i)
            gm_text_printf(&numbers, "%s%zu-%zu", numbers.length > 0 ? ", " : "", from + 1, i + 1);
        else if (is_last)
            gm_text_printf(&numbers, "%s%zu", numbers.length > 0 ? ", " : "", i + 1);
    }
    if (listed < rank)
        gm_text_printf(&numbers, "%sunlisted", numbers.length > 0 ? ", " : "");
    return rank == 0 ? NULL : gm_doc_take_any(d, &numbers);
}

/* What the savings are of: a recording may have done with less than its replay, on a full device or with what was
 * cached before it. */
static const char *as_it_is(struct gm_doc *d, const struct fix *rows, size_t n)
{
    const uint64_t recorded = rows[0].saving.recorded;
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = rows[i].saving.before > most ? rows[i].saving.before : most;
    if (recorded == UINT64_MAX)
        return gm_doc_printf(d, ", replayed from empty: %s as it is", gm_doc_bytes(d, most));
    if (recorded == most)
        return gm_doc_printf(d, ": %s as recorded; with each fix as replayed from empty", gm_doc_bytes(d, most));
    return gm_doc_printf(d, ", replayed from empty with unlimited memory: %s as it is; the recording did with %s",
                         gm_doc_bytes(d, most), gm_doc_bytes(d, recorded));
}

/* What is wrong, or what is a choice: the two are never one table. */
static void say_fixes(struct gm_doc *d, const struct gm_diagnosis *diagnosis, bool are_choices)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_COUNT, GM_READ, NULL, "#", struct fix, number),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Fix", struct fix, brief),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Saves", struct fix, saving.alone),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Beside", struct fix, beside),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Saves then", struct fix, saving.on_top),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Reserved then", struct fix, saving.peak),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Price", fix_note),
    };
    struct fix *rows = gm_doc_rows(d, diagnosis->to_do_count, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; rows != NULL && i < diagnosis->to_do_count; i++) {
        const struct gm_to_do *item = &diagnosis->to_do[i];
        if (item->saving.on_top != GM_REPORT_NONE && item->is_choice == are_choices)
            rows[n++] =
                (struct fix){i + 1, item->brief, beside_of(d, diagnosis, item->saving.rank), item->cost, item->saving};
    }
    GM_TABLE(d, columns, rows, n, .in = GM_READ, .txt_max = FIXES, .md_max = FIXES,
             .title = gm_doc_printf(d, "%s. Peak of reserved bytes%s",
                                    are_choices ? "By choice, at a price" : "What it saves",
                                    n == 0 ? "" : as_it_is(d, rows, n)));
}

/* From items[from] on, as many as fit `room`. Returns where it stopped. */
static size_t say_details(struct gm_doc *d, const struct gm_to_do *items, size_t from, size_t n, size_t room)
{
    for (d->steps = from; from < n; from++) {
        const size_t lines = items[from].snippet == NULL ? 2 : 6;
        const size_t takes = lines * LINE + strlen(items[from].title) + strlen(items[from].detail);
        struct gm_text cut = {0};
        if (takes > room)
            break;
        room -= takes;
        gm_columns_cut(&cut, items[from].detail, gm_doc_is(d, GM_MD) ? DETAIL : SIZE_MAX, false);
        gm_doc_say(d, GM_SAY_STEP, GM_READ, items[from].is_choice ? "choice" : gm_severity_name(items[from].severity),
                   "%s\n%s", items[from].title, gm_doc_take(d, &cut));
        if (items[from].snippet != NULL)
            gm_doc_say(d, GM_SAY_DIFF, GM_READ, NULL, "%s", items[from].snippet);
    }
    return from;
}

void gm_section_to_do(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_TEXT, GM_JSON, "severity", NULL, severity_of),
        GM_KEY(GM_TEXT, "title", struct gm_to_do, title),
        GM_KEY(GM_TEXT, "detail", struct gm_to_do, detail),
        GM_KEY(GM_TEXT, "finding", struct gm_to_do, finding),
        GM_KEY(GM_TEXT, "id", struct gm_to_do, finding),
        GM_KEY(GM_TEXT, "site", struct gm_to_do, site),
        GM_KEY(GM_TEXT, "fix", struct gm_to_do, fix),
        GM_KEY(GM_TEXT, "cost", struct gm_to_do, cost),
        GM_KEY(GM_TEXT, "snippet", struct gm_to_do, snippet),
        GM_KEY(GM_BOOL, "is_choice", struct gm_to_do, is_choice),
        GM_KEY(GM_BYTES, "saves_bytes", struct gm_to_do, saving.alone),
        GM_KEY(GM_BYTES, "saves_after_those_above", struct gm_to_do, saving.on_top),
        GM_KEY(GM_BYTES, "peak_reserved_then_bytes", struct gm_to_do, saving.peak),
        GM_KEY(GM_BYTES, "saves_at_end_bytes", struct gm_to_do, saving.at_end),
        GM_KEY(GM_TEXT, "fits_gpu", struct gm_to_do, saving.card),
    };
    const struct gm_to_do *items = report->diagnosis.to_do;
    const size_t n = report->diagnosis.to_do_count;
    GM_TABLE(d, columns, items, n, .key = "to_do", .in = GM_JSON);
    if (!gm_doc_is(d, GM_JSON)) {
        gm_doc_open(d, NULL, "To do");
        if (n == 0)
            gm_doc_tell(d, "Nothing stands out.");
        if (report->diagnosis.is_healthy && n > 0 && items[n - 1].is_choice)
            gm_doc_tell(d, "No known mistake was found. What would need less memory has a price.");
        const struct gm_settings_advice *advice = report->advice;
        const char *reason = advice == NULL ? NULL : advice->reason != NULL ? advice->reason : advice->reason_of_fixes;
        if (n > 0 && items[0].fix != NULL && items[0].saving.alone == GM_REPORT_NONE && reason != NULL)
            gm_doc_tell(d, "What would be saved is not known: %s.", reason);
        say_fixes(d, &report->diagnosis, false);
        say_fixes(d, &report->diagnosis, true);
        const size_t told = say_details(d, items, 0, n, FIRST);
        if (told < n) {
            gm_doc_fold(d, NULL, "To do, continued");
            say_details(d, items, told, n, gm_doc_is(d, GM_MD) ? LISTED : SIZE_MAX);
            gm_doc_close(d);
        }
        gm_doc_close(d);
    }
    say_facts(d, report);
}

void gm_analysis_summary(struct gm_text *out, const struct gm_report *report, const char *directory)
{
    for (size_t i = 0; i < GM_HEADLINES; i++)
        add_heading(out, &report->diagnosis.summary[i], SUMMARY_LINE);
    if (report->plan != NULL)
        add_heading(out, &(struct gm_heading){.label = "Plan", .pieces = {report->plan->brief}, .count = 1},
                    SUMMARY_LINE);
    gm_text_add(out, "Report  ");
    for (; *directory != '\0'; directory++) /* bytes as they are: a path must stay usable; but only one line */
        gm_text_add_char(out, (unsigned char)*directory < 0x20 || *directory == 0x7f ? '?' : *directory);
    gm_text_add_char(out, '\n');
}
