/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the live set at the peak of requested bytes in full, the peaks next to it, and what would lower
 * it. The rows of each table add up to the peak.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/frames.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 20, STACKS = 5, FRAMES = 3, BEFORE_LABEL = 42 };

static void add_stack(struct gm_text *out, const struct gm_group_row *row)
{
    size_t index[FRAMES];
    const struct gm_block_row block = {.site = row->label, .frames = row->frames, .frame_count = row->frame_count};
    size_t n = row->frames == NULL ? 0 : gm_frames_telling(index, FRAMES, &block);
    for (size_t i = 0; i < n; i++) {
        const struct gm_frame_row *frame = &row->frames[index[i]];
        if (gm_frames_is_site(&block, frame))
            continue;
        gm_text_repeat(out, ' ', BEFORE_LABEL + 2);
        gm_frames_row(out, frame, GM_LINE - BEFORE_LABEL - 2);
        gm_text_add_char(out, '\n');
    }
}

static void add_row(struct gm_text *out, const struct gm_group_row *row, uint64_t whole)
{
    gm_text_size(out, row->bytes, 12);
    gm_text_count(out, row->blocks, 9);
    gm_text_percent(out, row->bytes, whole);
    if (row->peak_without == GM_REPORT_NONE)
        gm_text_repeat(out, ' ', 11);
    else
        gm_text_size(out, row->peak_without, 11);
    gm_text_add(out, "  ");
    gm_site_row(out, row->label, GM_LINE - BEFORE_LABEL);
    gm_text_add_char(out, '\n');
}

/* `total` rows exist, `rest` are the bytes of those that are not among `count`. */
struct table {
    const struct gm_group_row *rows;
    size_t count, total;
    uint64_t rest_bytes, rest_blocks, whole;
    bool has_stacks;
};

static void add_table(struct gm_text *out, const char *name, const struct table *t)
{
    size_t shown = t->count <= SHOWN + 1 ? t->count : SHOWN;
    struct gm_group_row rest = {.bytes = t->rest_bytes, .blocks = t->rest_blocks, .peak_without = GM_REPORT_NONE};
    uint64_t sum = t->rest_bytes;
    gm_text_printf(out, "  %10s%9s%8s%11s  ", "size", "blocks", "share", "without");
    gm_columns_cut(out, name, GM_LINE - BEFORE_LABEL, false);
    gm_text_add_char(out, '\n');
    for (size_t i = 0; i < t->count; i++) {
        sum = gm_plus(sum, t->rows[i].bytes);
        if (i >= shown) {
            rest.bytes = gm_plus(rest.bytes, t->rows[i].bytes);
            rest.blocks = gm_plus(rest.blocks, t->rows[i].blocks);
            continue;
        }
        add_row(out, &t->rows[i], t->whole);
        if (t->has_stacks && i < STACKS)
            add_stack(out, &t->rows[i]);
    }
    char label[64];
    rest.label = label;
    if (t->total > shown || rest.bytes > 0) {
        snprintf(label, sizeof label, "(%zu more)", t->total > shown ? t->total - shown : 0);
        add_row(out, &rest, t->whole);
    }
    uint64_t lacking = gm_less(t->whole, sum);
    if (lacking != GM_REPORT_NONE && lacking > 0) {
        gm_text_size(out, lacking, 12);
        gm_text_repeat(out, ' ', 9);
        gm_text_percent(out, lacking, t->whole);
        gm_text_add(out, "             (not attributed)\n");
    }
}

static void add_tables(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_peak_detail *d = &v->timeline->peak;
    const struct table sites = {.rows = d->sites,
                                .count = d->site_count,
                                .total = d->site_total,
                                .rest_bytes = d->site_rest_bytes,
                                .rest_blocks = d->site_rest_blocks,
                                .whole = v->peak->requested,
                                .has_stacks = true};
    const struct table groups = {.rows = d->groups,
                                 .count = d->group_count,
                                 .total = d->group_total,
                                 .rest_bytes = d->group_rest_bytes,
                                 .rest_blocks = d->group_rest_blocks,
                                 .whole = v->peak->requested};
    gm_text_paragraph(
        out, 2,
        "Requested bytes live at the peak of %s bytes. `without`: how high the peak would be, wherever it "
        "would be then, if nothing of that row were ever allocated.",
        gm_count_format((char[GM_NUMBER_TEXT]){0}, v->peak->requested));
    gm_text_add_char(out, '\n');
    if (d->site_count == 0)
        gm_text_add(out, v->peak->requested == 0 ? "  Nothing was live.\n" : "  Call sites are not known.\n");
    else
        add_table(out, "call site", &sites);
    if (d->groups != NULL) {
        gm_text_add_char(out, '\n');
        add_table(out, d->group_by != NULL ? d->group_by : "group", &groups);
    }
    gm_text_add_char(out, '\n');
    gm_text_slices(out, "by lifetime", d->lifetimes, d->lifetime_count, SHOWN, v->peak->requested);
}

static void add_next(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_peak_detail *d = &v->timeline->peak;
    if (d->next_count == 0 && d->times == 0 && d->site_count == 0) {
        gm_text_add(out, "  Not known.\n");
        return;
    }
    if (d->next_count == 0) {
        gm_text_add(out, d->times > 1 ? "  No lower peak: the others are as high as the first.\n"
                                      : "  No other peak: the curve does not fall clearly and rise again.\n");
        return;
    }
    gm_text_printf(out, "  %11s%13s%12s  %10s  %s\n", "requested", "after event", "time", "most of it", "made in");
    for (size_t i = 0; i < d->next_count; i++) {
        const struct gm_next_peak *next = &d->next[i];
        const struct gm_steps *steps = &v->timeline->steps;
        const char *step = next->step < steps->row_count ? steps->rows[next->step].label : NULL;
        gm_text_size(out, next->moment.levels.requested, 13);
        gm_text_event(out, next->moment.event, 13);
        gm_text_since(out, v, next->moment.time_us, 12);
        gm_text_size(out, next->top_label != NULL ? next->top_bytes : GM_REPORT_NONE, 12);
        gm_text_add(out, "  ");
        gm_site_row(out, next->top_label != NULL ? next->top_label : "-", GM_LINE - 52);
        gm_text_add_char(out, '\n');
        if (next->times > 1)
            gm_text_paragraph(out, 17, "%s%s%sthe first of %s that are as high", step != NULL ? "in " : "",
                              step != NULL ? step : "", step != NULL ? ", " : "",
                              gm_count_format((char[GM_NUMBER_TEXT]){0}, next->times));
        else if (step != NULL)
            gm_text_paragraph(out, 17, "in %s", step);
    }
}

static void add_savings(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    const struct gm_peak_detail *d = &v->timeline->peak;
    if (d->saving_count == 0) {
        gm_text_add(out,
                    d->site_count == 0 ? "  Not known.\n" : "  None: no call site's absence would lower the peak.\n");
        return;
    }
    gm_text_paragraph(out, 2,
                      "The call sites to look at first: each is removed in addition to those above it, and the peak is "
                      "looked for anew, because it moves.");
    gm_text_printf(out, "  %3s%12s%11s%8s%13s  %s\n", "", "peak after", "saved", "share", "at the peak", "made in");
    for (size_t i = 0; i < d->saving_count; i++) {
        const struct gm_saving *s = &d->savings[i];
        gm_text_printf(out, "  %2zu.", i + 1);
        gm_text_size(out, s->peak_after, 12);
        gm_text_size(out, s->saved, 11);
        gm_text_percent(out, s->saved, v->peak->requested);
        gm_text_size(out, s->bytes_at_peak, 13);
        gm_text_add(out, "  ");
        gm_site_row(out, s->label, GM_LINE - 51);
        gm_text_add_char(out, '\n');
    }
}

void gm_text_peak_tables(struct gm_text *out, const struct gm_report *report)
{
    gm_text_views(out, report, "PEAK TABLES", add_tables);
    gm_text_views(out, report, "NEXT PEAKS", add_next);
    gm_text_views(out, report, "SAVINGS", add_savings);
}
