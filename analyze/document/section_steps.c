/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps, the pattern that they follow, and what survives them.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>

enum { EDGES = 20 /* rows shown of both ends */, SURVIVORS = 10, BANDS = 2000 };

static bool were_found(const struct gm_view *v)
{
    return v->timeline->steps.source != NULL && v->timeline->steps.row_count > 0;
}

/* Rows that there are, listed or not. */
static size_t total_of(const struct gm_steps *s)
{
    return s->row_total > s->row_count ? s->row_total : s->row_count;
}

static bool has_period(const struct gm_steps *s)
{
    return s->period_events > 0 && s->period_events < 1e15;
}

/* Whole bytes per step; GM_SIGNED_NONE for what is no number of them. */
static int64_t slope_of(const struct gm_steps *s)
{
    return s->slope > -9e18 && s->slope < 9e18 ? (int64_t)s->slope : GM_SIGNED_NONE;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static void say_source(struct gm_doc *d, const struct gm_steps *s)
{
    if (has_period(s))
        gm_doc_tell(d, "%s step%s, from %s: a period of about %s events; %d %% of allocations repeat.",
                    gm_doc_count(d, total_of(s)), gm_plural(total_of(s)), s->source,
                    gm_doc_count(d, (uint64_t)(s->period_events + 0.5)), s->certainty);
    else
        gm_doc_tell(d, "%s step%s, from %s (%d %% sure).", gm_doc_count(d, total_of(s)), gm_plural(total_of(s)),
                    s->source, s->certainty);
}

static void say_warm_up(struct gm_doc *d, const struct gm_steps *s)
{
    if (s->pattern == GM_PATTERN_WARM_UP)
        return;
    if (s->warm_up == 1)
        gm_doc_tell(d, "The first step differs from those after it.");
    else if (s->warm_up > 1 && s->warm_up < total_of(s))
        gm_doc_tell(d, "The first %s steps differ from those after them.", gm_doc_count(d, s->warm_up));
}

static void say_pattern(struct gm_doc *d, const struct gm_steps *s)
{
    if (s->pattern == GM_PATTERN_UNKNOWN && s->pattern_detail == NULL)
        gm_doc_tell(d, "Pattern: not known: fewer than three whole steps were recorded.");
    else
        gm_doc_tell(d, "Pattern: %s. %s", gm_run_pattern_name(s->pattern),
                    s->pattern_detail != NULL ? s->pattern_detail : "");
    say_warm_up(d, s);
    if (s->pattern == GM_PATTERN_SPIKE && slope_of(s) != GM_SIGNED_NONE)
        gm_doc_tell(d, "From step to step the requested bytes at the end change by %s.",
                    gm_doc_delta_bytes(d, slope_of(s)));
    if (s->steps_to_oom != GM_REPORT_NONE && s->steps_to_oom > 0)
        gm_doc_tell(d, "At that slope memory runs out in about %s step%s%s%s%s.", gm_doc_count(d, s->steps_to_oom),
                    gm_plural(s->steps_to_oom), s->capacity != GM_REPORT_NONE ? " (capacity " : "",
                    s->capacity != GM_REPORT_NONE ? gm_doc_bytes(d, s->capacity) : "",
                    s->capacity != GM_REPORT_NONE ? ", from an out-of-memory event)" : "");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static union gm_value step_name(const struct gm_cell_of *c)
{
    const struct gm_step_row *row = c->row;
    const char *name = row->label != NULL ? row->label : gm_doc_printf(c->doc, "step %" PRIu64, row->number);
    return (union gm_value){.s = row->is_partial ? gm_doc_printf(c->doc, "%s*", name) : name};
}

GM_CELL(u, step_took, struct gm_step_row, row, gm_less(row->to_us, row->from_us));

/* The first has nothing to compare it with. */
GM_CELL(i, step_growth, struct gm_step_row, row,
        row->first_event == ((const struct gm_steps *)c->of)->rows[0].first_event ? GM_SIGNED_NONE : row->growth);

static void add_phases(const struct gm_cell_of *c)
{
    const struct gm_step_row *row = c->row;
    struct gm_json *json = &c->doc->json;
    gm_json_open_flat(json, "phase_peaks", '{');
    for (int p = 0; p < GM_PHASE_COUNT; p++)
        if (row->phase_peak[p] != GM_REPORT_NONE)
            gm_json_number(json, gm_phase_name((enum gm_phase)p), row->phase_peak[p]);
    gm_json_close(json, '}');
}

static const struct gm_column row_columns[] = {
    GM_GET(GM_TEXT, GM_READ, NULL, "Step", step_name),
    GM_KEY(GM_NAME, "label", struct gm_step_row, label),
    GM_KEY(GM_COUNT, "number", struct gm_step_row, number),
    GM_KEY(GM_COUNT, "first_event", struct gm_step_row, first_event),
    GM_KEY(GM_COUNT, "last_event", struct gm_step_row, last_event),
    GM_KEY(GM_TIME, "from_us", struct gm_step_row, from_us),
    GM_KEY(GM_TIME, "to_us", struct gm_step_row, to_us),
    GM_KEY(GM_COUNT, "peak_event", struct gm_step_row, peak_event),
    GM_GET(GM_DURATION, GM_READ, NULL, "Took", step_took),
    GM_FIELD(GM_BYTES, GM_READ, NULL, "Peak", struct gm_step_row, peak.requested),
    GM_FIELD(GM_BYTES, GM_READ, NULL, "At its end", struct gm_step_row, end.requested),
    GM_GET(GM_DELTA, GM_ALL, "growth_bytes", "Growth", step_growth),
    GM_FIELD(GM_COUNT, GM_ALL, "allocs", "Allocations", struct gm_step_row, allocs),
    GM_KEY(GM_BYTES, "alloc_bytes", struct gm_step_row, alloc_bytes),
    GM_KEY(GM_BOOL, "is_partial", struct gm_step_row, is_partial),
    GM_INSIDE("peak", gm_levels_columns, struct gm_step_row, peak),
    GM_INSIDE("end", gm_levels_columns, struct gm_step_row, end),
    GM_NESTED("phase_peaks", add_phases),
};

static struct gm_table rows_of(const struct gm_steps *s, const struct gm_step_row *rows)
{
    return (struct gm_table){.key = "rows",
                             GM_COLUMNS(row_columns),
                             GM_ROWS(rows, s->row_count),
                             .txt_max = s->row_count > EDGES + 1 ? EDGES : 0,
                             .md_max = s->row_count > EDGES + 1 ? EDGES : 0,
                             .cut = GM_CUT_MIDDLE,
                             .of = s};
}

static void say_rows(struct gm_doc *d, const struct gm_view *v, const struct gm_steps *s)
{
    struct gm_step_row *rows = gm_doc_rows(d, s->row_count, sizeof *rows);
    const struct gm_step_row *highest = s->rows;
    bool has_partial = false;
    for (size_t i = 0; rows != NULL && i < s->row_count; i++) {
        rows[i] = s->rows[i];
        rows[i].peak = gm_view_levels(v, rows[i].peak);
        rows[i].end = gm_view_levels(v, rows[i].end);
        has_partial = has_partial || rows[i].is_partial;
        highest = rows[i].peak.requested > highest->peak.requested ? &s->rows[i] : highest;
    }
    const struct gm_table table = rows_of(s, rows);
    if (rows != NULL)
        gm_doc_table(d, &table);
    if (has_partial)
        gm_doc_tell(d, "* an end of the trace cuts it off");
    if (s->row_count > 1)
        gm_doc_tell(d, "The highest is %s: %s requested, after event %s.",
                    highest->label != NULL ? highest->label : "one without a name",
                    gm_doc_bytes(d, highest->peak.requested), gm_doc_event(d, highest->peak_event));
}

/* The peak of each phase, of the phases that occur; JSON has them in the rows. */
static void say_phases(struct gm_doc *d, const struct gm_steps *s)
{
    struct gm_column columns[1 + GM_PHASE_COUNT] = {GM_GET(GM_TEXT, GM_TXT, NULL, "Peak in", step_name)};
    size_t n = 1;
    for (int p = GM_PHASE_OTHER + 1; p < GM_PHASE_COUNT; p++) {
        bool occurs = false;
        for (size_t i = 0; i < s->row_count; i++)
            occurs = occurs || s->rows[i].phase_peak[p] != GM_REPORT_NONE;
        columns[n] = (struct gm_column)GM_FIELD(GM_BYTES, GM_TXT, NULL, NULL, struct gm_step_row, phase_peak[0]);
        columns[n].title = gm_phase_name((enum gm_phase)p);
        columns[n].size = sizeof(uint64_t);
        columns[n].offset += (size_t)p * sizeof(uint64_t);
        n += occurs;
    }
    struct gm_table table = rows_of(s, s->rows);
    table.in = GM_TXT;
    table.columns = columns;
    table.column_count = n;
    table.title = "Peaks of the phases";
    if (n > 1)
        gm_doc_table(d, &table);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void say_survivors(struct gm_doc *d, const struct gm_steps *s)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_group_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Blocks", struct gm_group_row, blocks),
        GM_KEY(GM_TEXT, "category", struct gm_group_row, category),
        GM_KEY(GM_TEXT, "role", struct gm_group_row, role),
        GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_group_row, label),
    };
    GM_TABLE(d, columns, s->survivors, s->survivor_count, .key = "survivors",
             .title = "Allocated in a step and still live two steps later", .txt_max = SURVIVORS, .md_max = SURVIVORS);
}

GM_CELL(s, band_phase, struct gm_band, b, b->phase == GM_PHASE_OTHER ? NULL : gm_phase_name(b->phase));

static void add_bands(struct gm_doc *d, const struct gm_steps *s)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_NAME, "name", struct gm_band, name),
        GM_GET(GM_TEXT, GM_JSON, "phase", NULL, band_phase),
        GM_KEY(GM_COUNT, "depth", struct gm_band, depth),
        GM_KEY(GM_BOOL, "is_step", struct gm_band, is_step),
        GM_KEY(GM_COUNT, "first_event", struct gm_band, first_event),
        GM_KEY(GM_COUNT, "last_event", struct gm_band, last_event),
        GM_KEY(GM_TIME, "from_us", struct gm_band, from_us),
        GM_KEY(GM_TIME, "to_us", struct gm_band, to_us),
    };
    GM_TABLE(d, columns, s->bands, s->band_count < BANDS ? s->band_count : BANDS, .key = "ranges", .in = GM_JSON);
}

static void add_facts(struct gm_json *json, const struct gm_steps *s)
{
    const bool has_source = s->source != NULL;
    const int64_t slope = slope_of(s);
    gm_json_string(json, "source", s->source);
    gm_json_number(json, "period_events", has_period(s) ? (uint64_t)(s->period_events + 0.5) : GM_REPORT_NONE);
    gm_json_id(json, "certainty_percent", has_source ? s->certainty : -1);
    gm_json_string(json, "pattern", gm_run_pattern_name(s->pattern));
    gm_json_string(json, "pattern_detail", s->pattern_detail);
    if (s->pattern != GM_PATTERN_UNKNOWN && slope != GM_SIGNED_NONE)
        gm_json_signed(json, "slope_bytes_per_step", slope);
    else
        gm_json_null(json, "slope_bytes_per_step");
    gm_json_number(json, "steps_to_oom", has_source ? s->steps_to_oom : GM_REPORT_NONE);
    gm_json_number(json, "capacity_bytes", has_source ? s->capacity : GM_REPORT_NONE);
    gm_json_number(json, "rows_total", total_of(s));
    gm_json_number(json, "warm_up_steps", has_source ? s->warm_up : GM_REPORT_NONE);
    gm_json_number(json, "ranges_total", s->band_count);
}

void gm_section_steps(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_steps *s = &v->timeline->steps;
    if (gm_doc_is(d, GM_JSON) && s->source == NULL && s->band_count == 0) {
        gm_json_null(&d->json, "steps");
        return;
    }
    if (!gm_doc_is(d, GM_JSON) && !were_found(v)) {
        gm_doc_say(
            d, GM_SAY, GM_READ, NULL,
            "No steps were found: the trace has no annotations of steps and no optimizer step, and no loop in it "
            "is surely one over steps, not over layers.");
        return;
    }
    gm_doc_open(d, "steps", NULL);
    if (gm_doc_is(d, GM_JSON)) {
        add_facts(&d->json, s);
    } else {
        say_source(d, s);
        say_pattern(d, s);
    }
    gm_doc_fold(d, NULL, "Step by step");
    say_rows(d, v, s);
    say_phases(d, s);
    say_survivors(d, s);
    add_bands(d, s);
    gm_doc_close(d);
    gm_doc_close(d);
}
