/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: fragmentation over time. How much was cached and stuck, why the pool grew, what pinned it.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/oom.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 12, GROWTHS = 10, PINNERS = 10, STATS = 10 };

static void add_sample(struct gm_text *out, const struct gm_view *v, const struct gm_fragmentation_sample *s)
{
    gm_text_event(out, s->event, 15);
    gm_text_since(out, v, s->time_us, 14);
    gm_text_size(out, s->cached, 14);
    gm_text_size(out, s->stranded, 14);
    gm_text_size(out, s->largest_free, 14);
    gm_text_add_char(out, '\n');
}

/* Regularly, and the one at which most was stranded. */
static void add_samples(struct gm_text *out, const struct gm_view *v, const struct gm_fragmentation_history *h)
{
    size_t n = h->sample_count < SAMPLES ? h->sample_count : SAMPLES, worst = 0, shown = SIZE_MAX;
    if (n == 0)
        return;
    for (size_t i = 1; i < h->sample_count; i++)
        if (h->samples[i].stranded > h->samples[worst].stranded)
            worst = i;
    gm_text_printf(out, "\n  %13s%14s%14s%14s%14s\n", "after event", "time", "cached", "stranded", "largest free");
    for (size_t k = 0; k < n; k++) {
        size_t i = n == 1 ? 0 : k * (h->sample_count - 1) / (n - 1);
        if (shown < worst && worst < i)
            add_sample(out, v, &h->samples[worst]);
        add_sample(out, v, &h->samples[i]);
        shown = i;
    }
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_paragraph(out, 2,
                      "Most was stranded after event %s: %s. Stranded: cached, and could not go back to the "
                      "driver because of a live block beside it.",
                      gm_event_format(a, h->samples[worst].event), gm_bytes_format(b, h->samples[worst].stranded));
}

/* Why what was cached would not do: "256.0 MiB hole too small, 64.00 MiB wrong stream". */
static void make_reasons(struct gm_text *reasons, const struct gm_growth_row *g)
{
    char s[GM_NUMBER_TEXT];
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        if (g->unusable[i] > 0)
            gm_text_printf(reasons, "%s%s %s", reasons->length > 0 ? ", " : "", gm_bytes_format(s, g->unusable[i]),
                           gm_unusable_name((enum gm_unusable)i));
}

static void add_growth(struct gm_text *out, const struct gm_view *v, const struct gm_growth_row *g)
{
    char a[GM_NUMBER_TEXT], stream[GM_STREAM_TEXT];
    gm_text_event(out, g->event, 13);
    gm_text_since(out, v, g->time_us, 12);
    gm_text_size(out, g->bytes, 11);
    gm_text_size(out, g->asked, 11);
    gm_text_size(out, g->cached, 11);
    gm_text_add(out, "  ");
    gm_site_row(out, g->site != NULL ? g->site : "-", GM_LINE - 60);
    gm_text_add_char(out, '\n');
    struct gm_text reasons = {0};
    make_reasons(&reasons, g);
    if (g->is_first)
        gm_text_paragraph(out, 15, "nothing of %s%s was cached on stream %s",
                          g->pool != NULL ? "the pool " : "its pool", g->pool != NULL ? g->pool : "",
                          gm_stream_format(stream, v, g->stream));
    else if (reasons.length > 0)
        gm_text_paragraph(out, 15, "cached but useless: %s; largest hole %s", reasons.data,
                          gm_bytes_format(a, g->largest_hole));
    if (g->pending != GM_REPORT_NONE && g->pending > 0)
        gm_text_paragraph(out, 15, "%s were freed but pending", gm_bytes_format(a, g->pending));
    if (g->is_retry)
        gm_text_paragraph(out, 15, "after segments were given back: the driver had refused");
    out->failed = out->failed || reasons.failed;
    gm_text_free(&reasons);
}

static void add_growths(struct gm_text *out, const struct gm_view *v, const struct gm_fragmentation_history *h)
{
    size_t n = h->growth_count < GROWTHS ? h->growth_count : GROWTHS;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT], d[GM_NUMBER_TEXT];
    gm_text_add_char(out, '\n');
    if (h->growth_total == 0) {
        gm_text_paragraph(out, 2, "The reserved memory did not grow in the trace.");
        return;
    }
    gm_text_paragraph(
        out, 2,
        "Reserved memory grew %s time%s, by %s. %s of it (%s %%) came although as many bytes as were asked "
        "for were cached in the right pool and stream.",
        gm_count_format(a, h->growth_total), gm_plural(h->growth_total), gm_bytes_format(b, h->growth_bytes),
        gm_bytes_format(c, h->growth_avoidable_bytes), gm_share_format(d, h->growth_avoidable_bytes, h->growth_bytes));
    if (h->growths_examined < h->growth_total)
        gm_text_paragraph(out, 2, "%s of them could be looked at; so it is at least that.",
                          gm_count_format(a, h->growths_examined));
    if (n == 0)
        return;
    gm_text_printf(out, "  %11s%12s%11s%11s%11s  %s\n", "at event", "time", "added", "asked", "cached", "asked in");
    for (size_t i = 0; i < n; i++)
        add_growth(out, v, &h->growths[i]);
    if (n < h->growth_total)
        gm_text_printf(out, "  %s smaller ones%s\n", gm_count_format(a, h->growth_total - n),
                       n < h->growth_count ? ": see analysis.json" : "");
}

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

static void add_pinner(struct gm_text *out, const struct gm_pinner_row *p, size_t count)
{
    char s[GM_NUMBER_TEXT], blocks[2 * GM_NUMBER_TEXT], age[2 * GM_NUMBER_TEXT];
    snprintf(blocks, sizeof blocks, "%s", gm_bytes_format(s, p->bytes));
    if (count > 1)
        snprintf(blocks, sizeof blocks, "%zu x %s", count, gm_bytes_format(s, p->bytes));
    if (p->age_events == GM_REPORT_NONE)
        snprintf(age, sizeof age, "before it all");
    else if (p->age_us != GM_REPORT_NONE)
        snprintf(age, sizeof age, "%s", gm_duration_format(s, p->age_us));
    else
        snprintf(age, sizeof age, "%s events", gm_count_format(s, p->age_events));
    gm_text_size(out, p->pinned_bytes, 12);
    gm_columns_cell(out, blocks, 15, GM_CELL_RIGHT);
    gm_text_event(out, p->event, 13);
    gm_columns_cell(out, age, 14, GM_CELL_RIGHT);
    gm_text_add(out, "  ");
    gm_site_row(out, p->site != NULL ? p->site : "-", GM_LINE - 56);
    gm_text_add_char(out, '\n');
}

static void add_pinners(struct gm_text *out, const struct gm_fragmentation_history *h)
{
    if (h->pinner_count == 0)
        return;
    gm_text_add(out, "\n  Live blocks that kept the most cached memory from going back, when it was most\n");
    gm_text_printf(out, "  %10s%15s%13s%14s  %s\n", "pinned", "block", "after event", "age", "made in");
    size_t i = 0;
    for (size_t shown = 0; i < h->pinner_count && shown < PINNERS; shown++) {
        size_t n = pinner_run(h, i);
        add_pinner(out, &h->pinners[i], n);
        i += n;
    }
    if (i < h->pinner_count)
        gm_text_printf(out, "  %zu more in analysis.json\n", h->pinner_count - i);
}

static void add_rounding(struct gm_text *out, const struct gm_fragmentation_history *h)
{
    size_t n = h->rounding_count < STATS ? h->rounding_count : STATS;
    uint64_t listed = 0;
    if (n == 0)
        return;
    gm_text_add(out, "\n  Rounding: what blocks are larger than requested, at the peak of active bytes\n");
    gm_text_printf(out, "  %10s%12s%10s%8s  %s\n", "waste", "blocks", "count", "share", "made in");
    for (size_t i = 0; i < n; i++) {
        const struct gm_site_stat *s = &h->rounding[i];
        gm_text_size(out, s->waste, 12);
        gm_text_size(out, s->bytes, 12);
        gm_text_count(out, s->allocs, 10);
        gm_text_percent(out, s->waste, s->bytes);
        gm_text_add(out, "  ");
        gm_site_row(out, s->site != NULL ? s->site : "-", GM_LINE - 44);
        gm_text_add_char(out, '\n');
        listed = gm_plus(listed, s->waste);
    }
    uint64_t rest = gm_less(h->rounding_bytes, listed);
    if (rest != GM_REPORT_NONE && rest > 0) {
        gm_text_size(out, rest, 12);
        gm_text_repeat(out, ' ', 30);
        gm_text_add(out, "  (all others)\n");
    }
    gm_text_size(out, h->rounding_bytes, 12);
    gm_text_repeat(out, ' ', 30);
    gm_text_add(out, "  in all\n");
}

static void add_churn(struct gm_text *out, const struct gm_fragmentation_history *h)
{
    size_t n = h->churn_count < STATS ? h->churn_count : STATS;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_add_char(out, '\n');
    gm_text_paragraph(out, 2, "%s allocation%s (%s) %s freed before any other was made.",
                      gm_count_format(a, h->temporary_allocs), gm_plural(h->temporary_allocs),
                      gm_bytes_format(b, h->temporary_bytes), h->temporary_allocs == 1 ? "was" : "were");
    if (n == 0)
        return;
    gm_text_add(out, "\n  All that was made and freed in the trace, the most allocations first\n");
    gm_text_printf(out, "  %10s%12s%14s  %s\n", "allocs", "bytes", "median life", "made in");
    for (size_t i = 0; i < n; i++) {
        const struct gm_site_stat *s = &h->churn[i];
        char life[GM_NUMBER_TEXT];
        gm_text_count(out, s->allocs, 12);
        gm_text_size(out, s->bytes, 12);
        gm_columns_cell(out, gm_duration_format(life, s->median_life_us), 14, GM_CELL_RIGHT);
        gm_text_add(out, "  ");
        gm_site_row(out, s->site != NULL ? s->site : "-", GM_LINE - 40);
        gm_text_add_char(out, '\n');
    }
    if (n < h->churn_count)
        gm_text_printf(out, "  %zu more in analysis.json\n", h->churn_count - n);
}

/* The trace counts the calls even where nothing else is known. */
static void add_driver(struct gm_text *out, const struct gm_view *v)
{
    const struct gm_trace_counts *t = &v->device->trace;
    uint64_t taken = gm_plus(t->segment_allocs, t->segment_maps), given = gm_plus(t->segment_frees, t->segment_unmaps);
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    uint64_t retries = v->timeline->fragmentation.retries, cycles = v->timeline->fragmentation.driver_cycles;
    gm_text_paragraph(out, 2, "The driver was asked for memory %s time%s and given some back %s time%s.",
                      gm_count_format(a, taken), gm_plural(taken), gm_count_format(b, given), gm_plural(given));
    if (cycles > 0)
        gm_text_paragraph(out, 2, "%s time%s reserved memory grew again after some had gone back, which costs time.",
                          gm_count_format(c, cycles), gm_plural(cycles));
    if (retries > 0)
        gm_text_paragraph(out, 2,
                          "%s growth%s came right after segments were given back: the driver had refused, and the "
                          "allocator emptied its cache to try again, which stalls the device.",
                          gm_count_format(c, retries), gm_plural(retries));
}

static void add_history(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_fragmentation_history *h = &v->timeline->fragmentation;
    add_driver(out, v);
    if (!v->is_reconstructed) {
        gm_text_paragraph(out, 2, "Why memory grew and what was cached is not known: %s.", gm_text_reason(v));
        return;
    }
    add_samples(out, v, h);
    add_growths(out, v, h);
    add_pinners(out, h);
    add_rounding(out, h);
    add_churn(out, h);
}

void gm_text_history(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "FRAGMENTATION OVER TIME", add_history);
}
