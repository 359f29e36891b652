/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: steps, the pattern that they follow, and what survives them.
 */
#include "analyze/base/size.h"
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { EDGE = 10 /* rows shown at either end */, SURVIVORS = 10, LABEL = 18 };

/* Rows that there are, listed or not. */
static size_t total_of(const struct gm_steps *s)
{
    return s->row_total > s->row_count ? s->row_total : s->row_count;
}

static void add_source(struct gm_text *out, const struct gm_steps *s)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    const size_t total = total_of(s);
    if (s->period_events > 0 && s->period_events < 1e15)
        gm_text_paragraph(out, 2, "%s step%s, from %s: a period of about %s events; %d %% of allocations repeat.",
                          gm_count_format(a, total), gm_plural(total), s->source,
                          gm_count_format(b, (uint64_t)(s->period_events + 0.5)), s->certainty);
    else
        gm_text_paragraph(out, 2, "%s step%s, from %s (%d %% sure).", gm_count_format(a, s->row_count),
                          gm_plural(s->row_count), s->source, s->certainty);
}

static void add_pattern(struct gm_text *out, const struct gm_steps *s)
{
    char a[GM_NUMBER_TEXT], b[GM_SIZE_TEXT];
    if (s->pattern == GM_PATTERN_UNKNOWN && s->pattern_detail == NULL)
        gm_text_add(out, "  Pattern: not known: fewer than three whole steps were recorded.\n");
    else
        gm_text_paragraph(out, 2, "Pattern: %s. %s", gm_run_pattern_name(s->pattern),
                          s->pattern_detail != NULL ? s->pattern_detail : "");
    if (s->pattern != GM_PATTERN_WARM_UP && s->warm_up == 1)
        gm_text_add(out, "  The first step differs from those after it.\n");
    else if (s->pattern != GM_PATTERN_WARM_UP && s->warm_up > 1 && s->warm_up < total_of(s))
        gm_text_paragraph(out, 2, "The first %s steps differ from those after them.", gm_count_format(a, s->warm_up));
    if (s->pattern == GM_PATTERN_SPIKE && s->slope > -9e18 && s->slope < 9e18)
        gm_text_paragraph(out, 2, "From step to step the requested bytes at the end change by %s.",
                          gm_size_format_delta(b, (int64_t)s->slope));
    if (s->steps_to_oom != GM_REPORT_NONE && s->steps_to_oom > 0)
        gm_text_paragraph(out, 2, "At that slope memory runs out in about %s step%s%s%s%s.",
                          gm_count_format(a, s->steps_to_oom), gm_plural(s->steps_to_oom),
                          s->capacity != GM_REPORT_NONE ? " (capacity " : "",
                          s->capacity != GM_REPORT_NONE ? gm_bytes_format((char[GM_NUMBER_TEXT]){0}, s->capacity) : "",
                          s->capacity != GM_REPORT_NONE ? ", from an out-of-memory event)" : "");
}

/* Whether row i is shown, and a line of dots where the first is left out. */
static bool is_shown(struct gm_text *out, const struct gm_steps *s, size_t i)
{
    size_t count = s->row_count;
    if (count <= 2 * EDGE + 1 || i < EDGE || i >= count - EDGE)
        return true;
    if (i == EDGE)
        gm_text_printf(out, "  ... %zu more ...\n", total_of(s) - 2 * EDGE);
    return false;
}

static void add_label(struct gm_text *out, const struct gm_step_row *row)
{
    char number[GM_NUMBER_TEXT];
    snprintf(number, sizeof number, "step %" PRIu64, row->number);
    gm_text_add(out, "  ");
    gm_columns_cell(out, row->label != NULL ? row->label : number, LABEL - 1, GM_CELL_LEFT);
    gm_text_add_char(out, row->is_partial ? '*' : ' ');
}

static void add_rows(struct gm_text *out, const struct gm_steps *s)
{
    gm_text_printf(out, "\n  %-*s%13s%12s%12s%12s%11s\n", LABEL, "step", "took", "peak", "at its end", "growth",
                   "allocs");
    for (size_t i = 0; i < s->row_count; i++) {
        const struct gm_step_row *row = &s->rows[i];
        char took[GM_NUMBER_TEXT];
        if (!is_shown(out, s, i))
            continue;
        add_label(out, row);
        gm_columns_cell(out, gm_duration_format(took, gm_less(row->to_us, row->from_us)), 13, GM_CELL_RIGHT);
        gm_text_size(out, row->peak.requested, 12);
        gm_text_size(out, row->end.requested, 12);
        if (i == 0) /* nothing to compare it with */
            gm_columns_cell(out, "-", 12, GM_CELL_RIGHT);
        else
            gm_text_delta(out, row->growth, 12);
        gm_text_count(out, row->allocs, 11);
        gm_text_add_char(out, '\n');
    }
    bool has_partial = false;
    for (size_t i = 0; i < s->row_count; i++)
        has_partial = has_partial || s->rows[i].is_partial;
    if (has_partial)
        gm_text_add(out, "  * an end of the trace cuts it off\n");
    const struct gm_step_row *highest = s->rows;
    for (size_t i = 1; i < s->row_count; i++)
        if (s->rows[i].peak.requested > highest->peak.requested)
            highest = &s->rows[i];
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (s->row_count > 1)
        gm_text_paragraph(out, 2, "The highest is %s: %s requested, after event %s.",
                          highest->label != NULL ? highest->label : "one without a name",
                          gm_bytes_format(a, highest->peak.requested), gm_event_format(b, highest->peak_event));
}

/* The peak of each phase, of the phases that occur. */
static void add_phases(struct gm_text *out, const struct gm_steps *s)
{
    bool occurs[GM_PHASE_COUNT] = {false}, any = false;
    for (size_t i = 0; i < s->row_count; i++)
        for (int p = GM_PHASE_OTHER + 1; p < GM_PHASE_COUNT; p++)
            occurs[p] = occurs[p] || s->rows[i].phase_peak[p] != GM_REPORT_NONE;
    for (int p = GM_PHASE_OTHER + 1; p < GM_PHASE_COUNT; p++)
        any = any || occurs[p];
    if (!any)
        return;
    gm_text_printf(out, "\n  %-*s", LABEL, "peak in");
    for (int p = GM_PHASE_OTHER + 1; p < GM_PHASE_COUNT; p++)
        if (occurs[p])
            gm_text_printf(out, "%12s", gm_phase_name((enum gm_phase)p));
    gm_text_add_char(out, '\n');
    for (size_t i = 0; i < s->row_count; i++) {
        if (!is_shown(out, s, i))
            continue;
        add_label(out, &s->rows[i]);
        for (int p = GM_PHASE_OTHER + 1; p < GM_PHASE_COUNT; p++)
            if (occurs[p] && s->rows[i].phase_peak[p] == GM_REPORT_NONE)
                gm_columns_cell(out, "-", 12, GM_CELL_RIGHT);
            else if (occurs[p])
                gm_text_size(out, s->rows[i].phase_peak[p], 12);
        gm_text_add_char(out, '\n');
    }
}

static void add_survivors(struct gm_text *out, const struct gm_steps *s)
{
    size_t n = s->survivor_count < SURVIVORS ? s->survivor_count : SURVIVORS;
    if (n == 0)
        return;
    gm_text_add(out, "\n  Allocated in a step and still live two steps later\n");
    gm_text_printf(out, "  %10s%10s  %s\n", "size", "blocks", "made in");
    for (size_t i = 0; i < n; i++) {
        gm_text_size(out, s->survivors[i].bytes, 12);
        gm_text_count(out, s->survivors[i].blocks, 10);
        gm_text_add(out, "  ");
        gm_site_row(out, s->survivors[i].label, GM_LINE - 24);
        gm_text_add_char(out, '\n');
    }
    if (n < s->survivor_count)
        gm_text_printf(out, "  %zu more in analysis.json\n", s->survivor_count - n);
}

static void add_steps(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_steps *s = &v->timeline->steps;
    if (s->source == NULL || s->row_count == 0) {
        gm_text_paragraph(
            out, 2,
            "No steps were found: the trace has no annotations of steps and no optimizer step, and no loop "
            "in it is surely one over steps, not over layers.");
        return;
    }
    add_source(out, s);
    add_pattern(out, s);
    add_rows(out, s);
    add_phases(out, s);
    add_survivors(out, s);
}

void gm_text_steps(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "STEPS", add_steps);
}
