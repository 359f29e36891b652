/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers, names and sentences that all writers of comparisons use.
 */
#include "analyze/document/diff_sections.h"
#include "analyze/document/documents.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *gm_headline_name(enum gm_headline headline)
{
    static const char *const names[GM_HEAD_COUNT] = {
        "Peak reserved",        "Peak allocated",       "Peak requested",   "Reserved at the end",
        "Allocated at the end", "Requested at the end", "Cached at the end"};
    return names[headline];
}

uint64_t gm_headline_bytes(const struct gm_summary *run, enum gm_headline headline)
{
    const struct gm_totals *t = &run->totals;
    const uint64_t bytes[GM_HEAD_COUNT] = {run->peaks[GM_LEVEL_RESERVED],
                                           run->peaks[GM_LEVEL_ALLOCATED],
                                           run->peaks[GM_LEVEL_REQUESTED],
                                           t->reserved,
                                           t->allocated,
                                           t->requested,
                                           t->inactive};
    return headline >= GM_HEAD_RESERVED && run->lacks_end ? GM_REPORT_NONE : bytes[headline];
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* "+1.20 GiB", "0 B"; "n/a" if either is not known. */
static const char *delta_text(struct gm_doc *d, uint64_t base, uint64_t after)
{
    return base == GM_REPORT_NONE || after == GM_REPORT_NONE ? "n/a"
                                                             : gm_doc_delta_bytes(d, gm_diff_delta(base, after));
}

/* From so many times on a growth is told as a factor; from the second on it began next to nothing, and no more is said.
 */
enum { TIMES = 10, TIMES_MOST = 10000 };

const char *gm_diff_growth_text(struct gm_doc *d, uint64_t base, uint64_t after)
{
    if (base == GM_REPORT_NONE || after == GM_REPORT_NONE)
        return "n/a";
    if (base == 0)
        return after > 0 ? "new" : "0.0 %";
    if (after / base >= TIMES_MOST)
        return gm_doc_printf(d, "> x %s", gm_doc_count(d, TIMES_MOST));
    if (after / base >= TIMES)
        return gm_doc_printf(d, "x %s", gm_doc_count(d, after / base + (after % base >= base - after % base)));
    const char *share = gm_doc_share(d, after > base ? after - base : base - after, base);
    const char *sign = share[0] == '<' || after == base ? "" : after > base ? "+" : "-"; /* -0.04 is "<0.1" */
    return gm_doc_printf(d, "%s%s %%", sign, share);
}

const char *gm_diff_points(struct gm_doc *d, const struct gm_totals *base, const struct gm_totals *after)
{
    const double x = gm_totals_efficiency(base), y = gm_totals_efficiency(after);
    if (x < 0 || y < 0)
        return "n/a";
    const int64_t tenths = (int64_t)(fabs(y - x) * 10 + 0.5);
    return gm_doc_printf(d, "%s%" PRId64 ".%d points",
                         tenths == 0 ? ""
                         : y > x     ? "+"
                                     : "-",
                         tenths / 10, (int)(tenths % 10));
}

const char *gm_diff_place(struct gm_doc *d, const struct gm_summary_device *device)
{
    const struct gm_level_peak *peak = &device->peaks[GM_LEVEL_REQUESTED];
    const bool has_time = peak->time_us != GM_REPORT_NONE && device->first_time_us != GM_REPORT_NONE &&
                          peak->time_us >= device->first_time_us;
    if (peak->event == GM_REPORT_NONE)
        return device->events == 0 ? "no event on this device" : "before the first event of the trace";
    return gm_doc_printf(
        d, "event %s%s%s (%s %% of the trace)%s%s%s%s", gm_doc_count(d, peak->event), has_time ? " at " : "",
        has_time ? gm_doc_duration(d, peak->time_us - device->first_time_us) : "",
        gm_doc_share(d, peak->event + 1, device->events), device->peak_step == GM_REPORT_NONE ? "" : ", step ",
        device->peak_step == GM_REPORT_NONE ? "" : gm_doc_count(d, device->peak_step),
        device->peak_phase == NULL ? "" : ", ", device->peak_phase == NULL ? "" : device->peak_phase);
}

/* "88", "88, 90 ..." */
static void add_lines(struct gm_text *out, const struct gm_summary_site *site)
{
    for (size_t i = 0; i < site->line_count; i++)
        gm_text_printf(out, "%s%" PRIu64, i > 0 ? "," : "", site->lines[i]);
    if (site->has_more_lines)
        gm_text_add(out, "...");
}

static bool same_lines(const struct gm_summary_site *a, const struct gm_summary_site *b)
{
    return a->line_count == b->line_count && a->has_more_lines == b->has_more_lines &&
           memcmp(a->lines, b->lines, a->line_count * sizeof *a->lines) == 0;
}

static void add_site_lines(struct gm_text *out, const struct gm_diff_site *row)
{
    const struct gm_summary_site *b = row->base, *a = row->after;
    const struct gm_summary_site *first = b == NULL ? a : b;
    if (first == NULL || first->line_count == 0)
        return;
    gm_text_add_char(out, ':');
    add_lines(out, first);
    if (a != NULL && b != NULL && a->line_count > 0 && !same_lines(a, b)) {
        gm_text_add(out, "->");
        add_lines(out, a);
    }
}

void gm_diff_site_name(struct gm_text *out, const struct gm_diff_site *row)
{
    gm_text_add(out, row->row.name);
    if (gm_site_has_stack(row->row.name))
        add_site_lines(out, row);
}

/* A coefficient in bytes; less than a KiB with decimals. */
static void add_coefficient(struct gm_text *out, double bytes)
{
    char text[GM_NUMBER_TEXT];
    const double size = fabs(bytes);
    if (size < 1024)
        gm_text_printf(out, "%s B", gm_real_format(text, size));
    else
        gm_text_add(out, gm_bytes_format(text, size < 9e18 ? (uint64_t)(size + 0.5) : UINT64_C(9000000000000000000)));
}

static void add_term(struct gm_text *out, double bytes, const char *key, const char *power, bool is_first)
{
    if (is_first)
        gm_text_add(out, bytes < 0 ? "-" : "");
    else
        gm_text_add(out, bytes < 0 ? " - " : " + ");
    add_coefficient(out, bytes);
    if (power != NULL)
        gm_text_printf(out, " x %s%s", key[0] == '\0' ? "N" : key, power);
}

void gm_fit_formula(struct gm_text *out, const struct gm_series *series, const struct gm_law_fit *fit)
{
    if (fit->law == GM_LAW_NONE)
        return;
    const bool has_constant = fit->law == GM_LAW_CONSTANT || fabs(fit->c0) >= 0.5;
    const bool has_linear = fit->law == GM_LAW_LINEAR || fit->law == GM_LAW_FULL;
    if (has_constant)
        add_term(out, fit->c0, series->key, NULL, true);
    if (has_linear)
        add_term(out, fit->c1, series->key, "", !has_constant);
    if (fit->law == GM_LAW_QUADRATIC || fit->law == GM_LAW_FULL)
        add_term(out, fit->c2, series->key, "^2", !has_constant && !has_linear);
}

const char *gm_diff_run_name(struct gm_doc *d, size_t run)
{
    return run < 2 ? (run == 0 ? "BASE" : "NEW") : gm_doc_printf(d, "RUN %zu", run);
}

const char *gm_diff_verdict(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_summary *base = c->runs[0], *after = c->runs[pair->after];
    const bool has_peaks = base->has_trace && after->has_trace;
    const enum gm_headline heads[3] = {has_peaks ? GM_HEAD_PEAK_RESERVED : GM_HEAD_RESERVED,
                                       has_peaks ? GM_HEAD_PEAK_ALLOCATED : GM_HEAD_ALLOCATED,
                                       has_peaks ? GM_HEAD_PEAK_REQUESTED : GM_HEAD_REQUESTED};
    struct gm_text text = {0};
    for (int i = 0; i < 3 && !pair->is_same && (i < 2 || text.length == 0); i++) { /* a profiler's trace has the last */
        const uint64_t b = gm_headline_bytes(base, heads[i]), a = gm_headline_bytes(after, heads[i]);
        if (a == GM_REPORT_NONE || b == GM_REPORT_NONE)
            continue;
        const char *name = gm_headline_name(heads[i]);
        const bool is_first = text.length == 0;
        gm_text_printf(&text, "%s%c%s %s, ", is_first ? "" : "; ", is_first ? name[0] : name[0] + ('a' - 'A'), name + 1,
                       gm_doc_bytes(d, a));
        if (a == b)
            gm_text_add(&text, "unchanged");
        else
            gm_text_printf(&text, "%s (%s)", delta_text(d, b, a), gm_diff_growth_text(d, b, a));
    }
    if (text.length == 0 && !text.failed)
        return pair->is_same ? "No difference" : "No peak and no total is known of both";
    return gm_doc_take(d, &text);
}

void gm_diff_growth(struct gm_text *out, const struct gm_comparison *c)
{
    struct gm_doc d;
    if (c->growth_count == 0)
        return;
    gm_doc_begin(&d, GM_TXT, out);
    const struct gm_growth *g = &c->growths[0];
    gm_text_printf(out, "%s", g->what);
    if (g->device >= 0)
        gm_text_printf(out, " on device %" PRId64, g->device);
    gm_text_printf(out, " grew by %s (%s), from %s (%" PRIu64 " bytes) to %s (%" PRIu64 " bytes), more than %s allows",
                   delta_text(&d, g->base, g->after) + 1, gm_diff_growth_text(&d, g->base, g->after),
                   gm_doc_bytes(&d, g->base), g->base, gm_doc_bytes(&d, g->after), g->after, c->limit.text);
    if (c->run_count > 2)
        gm_text_printf(out, ", in %s", c->labels[g->run]);
    if (c->growth_count > 1)
        gm_text_printf(out, "; %zu more", c->growth_count - 1);
    gm_doc_end(&d);
}
