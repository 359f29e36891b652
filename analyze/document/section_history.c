/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragmentation over time: how much was cached and stuck, why the pool grew, what pinned it.
 */
#include "analyze/document/sections.h"

#include <string.h>

enum { SAMPLES = 12, ROWS = 10 };

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const struct gm_column sample_columns[] = {
    GM_FIELD(GM_EVENT, GM_ALL, "event", "After event", struct gm_fragmentation_sample, event),
    GM_FIELD(GM_TIME, GM_ALL, "time_us", "Time", struct gm_fragmentation_sample, time_us),
    GM_FIELD(GM_BYTES, GM_ALL, "cached_bytes", "Cached", struct gm_fragmentation_sample, cached),
    GM_FIELD(GM_BYTES, GM_ALL, "stranded_bytes", "Stranded", struct gm_fragmentation_sample, stranded),
    GM_FIELD(GM_BYTES, GM_ALL, "largest_free_bytes", "Largest free", struct gm_fragmentation_sample, largest_free),
};

static size_t worst_sample(const struct gm_fragmentation_history *h)
{
    size_t worst = 0;
    for (size_t i = 1; i < h->sample_count; i++)
        if (h->samples[i].stranded > h->samples[worst].stranded)
            worst = i;
    return worst;
}

/* People see some, regularly, and the one at which most was stranded. */
static void say_samples(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    struct gm_fragmentation_sample rows[SAMPLES + 1];
    const size_t steps = h->sample_count < SAMPLES ? h->sample_count : SAMPLES, worst = worst_sample(h);
    size_t n = 0, last = SIZE_MAX;
    GM_TABLE(d, sample_columns, h->samples, h->sample_count, .key = "samples", .in = GM_JSON);
    for (size_t k = 0; k < steps; k++) {
        const size_t i = steps == 1 ? 0 : k * (h->sample_count - 1) / (steps - 1);
        if (last != SIZE_MAX && last < worst && worst < i)
            rows[n++] = h->samples[worst];
        rows[n++] = h->samples[i];
        last = i;
    }
    GM_TABLE(d, sample_columns, rows, n, .in = GM_TXT);
}

static void say_worst(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    const struct gm_fragmentation_sample *worst = h->sample_count == 0 ? NULL : &h->samples[worst_sample(h)];
    if (worst != NULL)
        gm_doc_tell(d,
                    "Most was stranded after event %s: %s. Stranded: cached, and could not go back to the driver "
                    "because of a live block beside it.",
                    gm_doc_event(d, worst->event), gm_doc_bytes(d, worst->stranded));
}

/* ---- growths ----------------------------------------------------------------------------------------------------- */

/* "256.0 MiB hole too small, 64.00 MiB wrong stream" */
static void add_useless(struct gm_text *out, struct gm_doc *d, const struct gm_growth_row *g)
{
    bool any = false;
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++) {
        if (g->unusable[i] == 0)
            continue;
        gm_text_printf(out, "%s%s %s", any ? ", " : "cached but useless: ", gm_doc_bytes(d, g->unusable[i]),
                       gm_unusable_name((enum gm_unusable)i));
        any = true;
    }
    if (any)
        gm_text_printf(out, "; largest hole %s", gm_doc_bytes(d, g->largest_hole));
}

/* Why what was cached would not do; NULL: nothing is known. */
static union gm_value growth_why(const struct gm_cell_of *c)
{
    const struct gm_growth_row *g = c->row;
    struct gm_text why = {0};
    if (g->is_first)
        gm_text_printf(&why, "nothing of %s%s was cached on stream %s", g->pool != NULL ? "the pool " : "its pool",
                       g->pool != NULL ? g->pool : "", gm_stream_name(c->doc, c->of, g->stream));
    else
        add_useless(&why, c->doc, g);
    if (g->pending != GM_REPORT_NONE && g->pending > 0)
        gm_text_printf(&why, "%s%s were freed but pending", why.length > 0 ? "; " : "",
                       gm_doc_bytes(c->doc, g->pending));
    if (g->is_retry)
        gm_text_printf(&why, "%safter segments were given back: the driver had refused", why.length > 0 ? "; " : "");
    return (union gm_value){.s = gm_doc_take_any(c->doc, &why)};
}

static const struct gm_column growth_columns[] = {
    GM_FIELD(GM_EVENT, GM_ALL, "event", "At event", struct gm_growth_row, event),
    GM_FIELD(GM_TIME, GM_ALL, "time_us", "Time", struct gm_growth_row, time_us),
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Added", struct gm_growth_row, bytes),
    GM_FIELD(GM_BYTES, GM_ALL, "asked_bytes", "Asked", struct gm_growth_row, asked),
    GM_FIELD(GM_BYTES, GM_ALL, "cached_bytes", "Cached", struct gm_growth_row, cached),
    GM_KEY(GM_TEXT, "pool", struct gm_growth_row, pool),
    GM_KEY(GM_HANDLE, "stream", struct gm_growth_row, stream),
    GM_KEY(GM_BYTES, "largest_hole_bytes", struct gm_growth_row, largest_hole),
    GM_KEY(GM_BYTES, "pending_bytes", struct gm_growth_row, pending),
    GM_KEY(GM_BOOL, "is_first", struct gm_growth_row, is_first),
    GM_KEY(GM_BOOL, "is_retry", struct gm_growth_row, is_retry),
    GM_INSIDE("unusable_bytes", gm_unusable_columns, struct gm_growth_row, unusable),
    GM_FIELD(GM_SITE, GM_ALL, "site", "Asked in", struct gm_growth_row, site),
    GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Why", growth_why),
};

static void say_growth(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    if (h->growth_total == 0)
        gm_doc_tell(d, "The reserved memory did not grow in the trace.");
    else
        gm_doc_tell(d,
                    "Reserved memory grew %s time%s, by %s. %s came although as many bytes as were asked for were "
                    "cached in the right pool and stream.",
                    gm_doc_count(d, h->growth_total), gm_plural(h->growth_total), gm_doc_bytes(d, h->growth_bytes),
                    h->growth_avoidable_bytes == 0
                        ? "None of it"
                        : gm_doc_printf(d, "%s of it (%s %%)", gm_doc_bytes(d, h->growth_avoidable_bytes),
                                        gm_doc_share(d, h->growth_avoidable_bytes, h->growth_bytes)));
    if (h->growths_examined < h->growth_total)
        gm_doc_tell(d, "%s of them could be looked at; so it is at least that.", gm_doc_count(d, h->growths_examined));
}

static void say_growths(struct gm_doc *d, const struct gm_view *v, const struct gm_fragmentation_history *h)
{
    GM_TABLE(d, growth_columns, h->growths, h->growth_count, .key = "largest_growths",
             .title = "The largest growths of reserved memory", .txt_max = ROWS, .md_max = ROWS, .of = v);
}

/* ---- pinners ----------------------------------------------------------------------------------------------------- */

struct pinner {
    struct gm_pinner_row row;
    size_t count; /* blocks that are told as one row */
};

/* How many pinners from `first` on pinned as much at the same moment, have one size and one site. */
static size_t pinner_run(const struct gm_fragmentation_history *h, size_t first)
{
    const struct gm_pinner_row *a = &h->pinners[first];
    size_t n = 1;
    for (; first + n < h->pinner_count; n++) {
        const struct gm_pinner_row *b = &h->pinners[first + n];
        if (a->pinned_bytes != b->pinned_bytes || a->bytes != b->bytes || a->event != b->event || a->site == NULL ||
            b->site == NULL || strcmp(a->site, b->site) != 0)
            break;
    }
    return n;
}

GM_CELL(s, pinner_blocks, struct pinner, p, gm_doc_each(c->doc, p->count, p->row.bytes));

GM_CELL(s, pinner_age, struct gm_pinner_row, p,
        p->age_events == GM_REPORT_NONE ? "before it all"
        : p->age_us == GM_REPORT_NONE   ? gm_doc_printf(c->doc, "%s events", gm_doc_count(c->doc, p->age_events))
                                        : gm_doc_duration(c->doc, p->age_us));

static const struct gm_column pinner_columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "pinned_bytes", "Pinned", struct gm_pinner_row, pinned_bytes),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Block", pinner_blocks),
    GM_KEY(GM_BYTES, "bytes", struct gm_pinner_row, bytes),
    GM_KEY(GM_BYTES, "requested_bytes", struct gm_pinner_row, requested),
    GM_KEY(GM_COUNT, "address", struct gm_pinner_row, address),
    GM_FIELD(GM_EVENT, GM_ALL, "event", "After event", struct gm_pinner_row, event),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Age", pinner_age),
    GM_KEY(GM_COUNT, "age_events", struct gm_pinner_row, age_events),
    GM_KEY(GM_DURATION, "age_us", struct gm_pinner_row, age_us),
    GM_FIELD(GM_TEXT, GM_MD | GM_JSON, "category", "Category", struct gm_pinner_row, category),
    GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_pinner_row, site),
};

static void say_pinners(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    struct pinner *rows = gm_doc_rows(d, h->pinner_count, sizeof *rows);
    size_t n = 0;
    GM_TABLE(d, pinner_columns, h->pinners, h->pinner_count, .key = "pinners", .in = GM_JSON);
    for (size_t i = 0; rows != NULL && i < h->pinner_count; i += rows[n++].count)
        rows[n] = (struct pinner){h->pinners[i], pinner_run(h, i)};
    GM_TABLE(d, pinner_columns, rows, n,
             .title = "Live blocks that kept the most cached memory from going back, when it was most", .in = GM_READ,
             .txt_max = ROWS, .md_max = ROWS);
}

/* ---- rounding and churn ------------------------------------------------------------------------------------------ */

static const struct gm_column rounding_columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "waste_bytes", "Waste", struct gm_site_stat, waste),
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Blocks", struct gm_site_stat, bytes),
    GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Count", struct gm_site_stat, allocs),
    GM_PART(GM_READ, NULL, "Share", struct gm_site_stat, waste, bytes),
    GM_KEY(GM_TEXT, "category", struct gm_site_stat, category),
    GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_site_stat, site),
};

static void say_rounding(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    const struct gm_site_stat none = {.allocs = GM_REPORT_NONE, .bytes = GM_REPORT_NONE, .waste = h->rounding_bytes};
    struct gm_site_stat feet[2] = {none, none};
    const size_t shown = h->rounding_count < ROWS ? h->rounding_count : ROWS;
    for (size_t i = 0; i < shown; i++)
        feet[0].waste = gm_less(feet[0].waste, h->rounding[i].waste);
    feet[0].site = "(all others)";
    feet[1].site = "in all";
    const bool has_rest = feet[0].waste != GM_REPORT_NONE && feet[0].waste != 0;
    GM_TABLE(d, rounding_columns, h->rounding, h->rounding_count, .key = "rounding", .in = GM_TXT | GM_JSON,
             .title = "Rounding: what blocks are larger than requested, at the peak of active bytes",
             GM_FEET_OF(feet, has_rest, has_rest || h->rounding_count > 0), .txt_max = ROWS);
}

static const struct gm_column churn_columns[] = {
    GM_FIELD(GM_COUNT, GM_ALL, "allocs", "Allocs", struct gm_site_stat, allocs),
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Bytes", struct gm_site_stat, bytes),
    GM_KEY(GM_COUNT, "temporary_allocs", struct gm_site_stat, temporary_allocs),
    GM_FIELD(GM_DURATION, GM_ALL, "median_life_us", "Median life", struct gm_site_stat, median_life_us),
    GM_KEY(GM_TEXT, "category", struct gm_site_stat, category),
    GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_site_stat, site),
};

static void say_churn(struct gm_doc *d, const struct gm_fragmentation_history *h)
{
    gm_doc_tell(d, "%s allocation%s (%s) %s freed before any other was made. Rounding at the peak of active bytes: %s.",
                gm_doc_count(d, h->temporary_allocs), gm_plural(h->temporary_allocs),
                gm_doc_bytes(d, h->temporary_bytes), h->temporary_allocs == 1 ? "was" : "were",
                gm_doc_bytes(d, h->rounding_bytes));
    GM_TABLE(d, churn_columns, h->churn, h->churn_count, .key = "churn",
             .title = "All that was made and freed in the trace, the most allocations first", .in = GM_TXT | GM_JSON,
             .txt_max = ROWS);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The trace counts the calls even where nothing else is known. */
static void say_driver(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_trace_counts *t = &v->device->trace;
    const uint64_t taken = gm_plus(t->segment_allocs, t->segment_maps);
    const uint64_t given = gm_plus(t->segment_frees, t->segment_unmaps);
    const uint64_t retries = v->timeline->fragmentation.retries, cycles = v->timeline->fragmentation.driver_cycles;
    if (taken > 0 || given > 0)
        gm_doc_tell(d, "The driver was asked for memory %s time%s and given %s.", gm_doc_count(d, taken),
                    gm_plural(taken),
                    given == 0 ? "none back"
                               : gm_doc_printf(d, "some back %s time%s", gm_doc_count(d, given), gm_plural(given)));
    if (cycles > 0)
        gm_doc_tell(d, "%s time%s reserved memory grew again after some had gone back, which costs time.",
                    gm_doc_count(d, cycles), gm_plural(cycles));
    if (retries > 0)
        gm_doc_tell(d,
                    "%s growth%s came right after segments were given back: the driver had refused, and the allocator "
                    "emptied its cache to try again, which stalls the device.",
                    gm_doc_count(d, retries), gm_plural(retries));
}

static const struct gm_column counts[] = {
    GM_KEY(GM_COUNT, "driver_allocs", struct gm_fragmentation_history, driver_allocs),
    GM_KEY(GM_COUNT, "driver_frees", struct gm_fragmentation_history, driver_frees),
    GM_KEY(GM_COUNT, "driver_cycles", struct gm_fragmentation_history, driver_cycles),
    GM_KEY(GM_COUNT, "retries", struct gm_fragmentation_history, retries),
    GM_KEY(GM_COUNT, "growths", struct gm_fragmentation_history, growth_total),
    GM_KEY(GM_BYTES, "growth_bytes", struct gm_fragmentation_history, growth_bytes),
    GM_KEY(GM_BYTES, "growth_avoidable_bytes", struct gm_fragmentation_history, growth_avoidable_bytes),
    GM_KEY(GM_COUNT, "growths_avoidable", struct gm_fragmentation_history, growths_avoidable),
    GM_KEY(GM_COUNT, "growths_examined", struct gm_fragmentation_history, growths_examined),
    GM_KEY(GM_BYTES, "rounding_bytes", struct gm_fragmentation_history, rounding_bytes),
    GM_KEY(GM_COUNT, "temporary_allocs", struct gm_fragmentation_history, temporary_allocs),
    GM_KEY(GM_BYTES, "temporary_bytes", struct gm_fragmentation_history, temporary_bytes),
};

void gm_section_history(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_fragmentation_history *h = &v->timeline->fragmentation;
    if (!v->is_reconstructed && gm_doc_is(d, GM_JSON)) {
        gm_json_null(&d->json, "fragmentation_history");
        return;
    }
    gm_doc_open(d, "fragmentation_history", NULL);
    GM_FIELDS(d, counts, h, NULL);
    say_driver(d, v);
    if (v->is_reconstructed) {
        say_growth(d, h);
        say_worst(d, h);
        gm_doc_fold(d, NULL, "Fragmentation over time");
        say_samples(d, h);
        say_growths(d, v, h);
        say_pinners(d, h);
        say_rounding(d, h);
        say_churn(d, h);
        gm_doc_close(d);
    } else {
        gm_doc_tell(d, "Why memory grew and what was cached is not known: %s.", gm_view_reason(v));
    }
    gm_doc_close(d);
}
