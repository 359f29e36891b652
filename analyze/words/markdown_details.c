/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: the folded parts.
 */
#include "analyze/document/columns.h"
#include "analyze/document/escape.h"
#include "analyze/document/numbers.h"
#include "analyze/words/block_runs.h"
#include "analyze/words/frames.h"
#include "analyze/words/markdown_parts.h"
#include "analyze/words/settings.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    STACKS = 5,
    STACK_FRAMES = 10,
    TELLING_FRAMES = 100,
    FRAME_COLUMNS = 140,
    PINS = 10,
    SETTING_COLUMNS = 200,
    WARNING_COLUMNS = 400
};

/* The telling frames inside a fence, with their numbers in the stack: no line can be the fence's end. */
static void add_stack(struct gm_text *out, const struct gm_block_row *block)
{
    size_t index[TELLING_FRAMES];
    size_t telling = gm_frames_telling(index, TELLING_FRAMES, block);
    size_t n = telling < STACK_FRAMES ? telling : STACK_FRAMES, left_out = block->frame_count - telling;
    gm_text_add(out, "\n```text\n");
    for (size_t i = 0; i < n; i++) {
        gm_text_printf(out, "%3zu  ", index[i]);
        gm_frames_add(out, &block->frames[index[i]], FRAME_COLUMNS);
        gm_text_add_char(out, '\n');
    }
    if (telling == TELLING_FRAMES) /* the rest may be of any kind */
        gm_text_printf(out, "     %zu more frames\n", block->frame_count - n);
    else if (telling > n)
        gm_text_printf(out, "     %zu more, and %zu frame%s of PyTorch and C++ left out\n", telling - n, left_out,
                       gm_plural(left_out));
    else if (left_out > 0)
        gm_text_printf(out, "     %zu frame%s of PyTorch and C++ left out\n", left_out, gm_plural(left_out));
    gm_text_add(out, "```\n");
}

void gm_md_stacks(struct gm_text *out, const struct gm_report *report)
{
    size_t shown = 0;
    for (size_t i = 0; i < report->top_block_count && shown < STACKS; i++) {
        const struct gm_block_row *block = &report->top_blocks[i];
        bool is_known = block->frame_count == 0;
        for (size_t j = 0; j < i && !is_known; j++)
            is_known = gm_frames_equal(block, &report->top_blocks[j]);
        if (is_known)
            continue;
        if (shown++ == 0)
            gm_md_fold(out, "Stacks of the largest blocks");
        char s[GM_NUMBER_TEXT];
        gm_text_printf(out, "%s**%zu.** %s, ", shown > 1 ? "\n" : "", i + 1, gm_bytes_format(s, block->bytes));
        gm_md_prose(out, block->category, GM_MD_NAME);
        gm_text_add_char(out, '\n');
        add_stack(out, block);
        if (!gm_md_room(out, report->top_block_count - i))
            break;
    }
    if (shown > 0)
        gm_md_unfold(out);
}

void gm_md_pins(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_fragmentation *f = &report->fragmentation;
    if (f->pin_count == 0)
        return;
    gm_md_fold(out, "Blocks that keep the most cached memory from being released");
    gm_text_add(out, "A range is a segment, or whole pages of an expandable one. Rows are in the order of the share of "
                     "one block.\n\n"
                     "| Pinned | Blocks | Range | Sharers | Category | Made in |\n|--:|--:|--:|--:|:--|:--|\n");
    size_t i = 0;
    for (size_t shown = 0; i < f->pin_count && shown < PINS && gm_md_room(out, f->pin_count - i); shown++) {
        const struct gm_pin_row *pin = &f->pins[i];
        const struct gm_pin_run run = gm_pin_run(f, i);
        gm_text_add_char(out, '|');
        gm_md_size_cell(out, run.pinned);
        if (run.count > 1)
            gm_text_printf(out, " %zu x", run.count);
        gm_md_size_cell(out, pin->block.bytes);
        gm_md_size_cell(out, pin->segment_bytes);
        gm_md_count_cell(out, pin->sharers);
        gm_text_add_char(out, ' ');
        gm_md_prose(out, pin->block.category, GM_MD_NAME);
        gm_text_add(out, " | ");
        gm_md_site(out, pin->block.site);
        gm_text_add(out, " |\n");
        i += run.count;
    }
    gm_md_unfold(out);
}

static void add_totals(struct gm_text *out, const struct gm_totals *t)
{
    gm_md_size_cell(out, t->reserved);
    gm_md_size_cell(out, t->allocated);
    gm_md_size_cell(out, t->inactive);
    gm_md_percent_cell(out, t->allocated, t->reserved);
    gm_text_add_char(out, '\n');
}

static void add_pool_rows(struct gm_text *out, const struct gm_device_report *d)
{
    for (size_t k = 0; k < d->pool_count && gm_md_room(out, d->pool_count - k); k++) {
        gm_text_printf(out, "| %" PRId64 " | ", d->device);
        gm_md_prose(out, d->pools[k].name, GM_MD_NAME);
        gm_text_printf(out, "%s |", d->pools[k].has_expandable ? ", expandable" : "");
        add_totals(out, &d->pools[k].totals);
    }
}

static void add_stream_rows(struct gm_text *out, const struct gm_device_report *d)
{
    for (size_t k = 0; k < d->stream_count && gm_md_room(out, d->stream_count - k); k++) {
        const struct gm_stream_row *stream = &d->streams[k];
        gm_text_printf(out, "| %" PRId64 " | stream %" PRIu32, d->device, stream->number);
        if (stream->stream != 0)
            gm_text_printf(out, ", `0x%" PRIx64 "`", (uint64_t)stream->stream);
        gm_text_add(out, " |");
        add_totals(out, &stream->totals);
    }
}

void gm_md_pools(struct gm_text *out, const struct gm_report *report)
{
    if (report->device_count == 0)
        return;
    gm_md_fold(out, "Pools and streams");
    gm_text_add(out, "| Device | Pool or stream | Reserved | Allocated | Cached | Efficiency "
                     "|\n|--:|:--|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < report->device_count && gm_md_room(out, report->device_count - i); i++) {
        add_pool_rows(out, &report->devices[i]);
        add_stream_rows(out, &report->devices[i]);
    }
    gm_md_unfold(out);
}

static void add_ledger_row(struct gm_text *out, const char *name, uint64_t bytes)
{
    gm_text_printf(out, "| %s |", name);
    gm_md_count_cell(out, bytes);
    gm_md_size_cell(out, bytes);
    gm_text_add_char(out, '\n');
}

void gm_md_ledger(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_ledger *l = &report->ledger;
    gm_md_fold(out, "Ledger: where every reserved byte is");
    gm_text_add(out, "| | Bytes | Size |\n|:--|--:|--:|\n");
    add_ledger_row(out, "Allocated blocks: requested", l->allocated_requested);
    add_ledger_row(out, "+ allocated blocks: rounding", l->allocated_rounding);
    add_ledger_row(out, "+ blocks pending free", l->pending);
    add_ledger_row(out, "+ cached, releasable", l->releasable);
    add_ledger_row(out, "+ cached, stranded", l->stranded);
    add_ledger_row(out, "**= sum**", l->sum);
    add_ledger_row(out, "Reserved (sum of the segments)", l->reserved);
    char s[GM_NUMBER_TEXT];
    gm_text_printf(out, "| Residual (reserved - sum) | %s | |\n", gm_signed_count_format(s, l->residual));
    if (l->segments_disagreeing > 0)
        gm_text_printf(out, "\nSegments whose stated totals disagree with their blocks: %s.\n",
                       gm_count_format(s, l->segments_disagreeing));
    if (l->explanation != NULL) {
        gm_text_add_char(out, '\n');
        gm_md_prose(out, l->explanation, WARNING_COLUMNS);
        gm_text_add_char(out, '\n');
    }
    gm_md_unfold(out);
}

void gm_md_settings(struct gm_text *out, const struct gm_report *report)
{
    if (report->settings == NULL)
        return;
    gm_md_fold(out, "Allocator settings");
    gm_text_add(out, "| Setting | Value | Default |\n|:--|:--|:--|\n");
    for (size_t i = 0, run = 0; i < report->setting_count && gm_md_room(out, report->setting_count - i); i += run) {
        const struct gm_setting_row *row = &report->settings[i];
        struct gm_text key = {0};
        run = gm_settings_run(report, i);
        gm_settings_key(&key, report, i, run);
        out->failed = out->failed || key.failed;
        gm_text_add(out, "| ");
        gm_md_name(out, key.data != NULL ? key.data : "", GM_MD_NAME, false);
        gm_text_add(out, " | ");
        gm_md_name(out, row->value, SETTING_COLUMNS, false);
        gm_text_printf(out, " | %s |\n", row->is_default ? "yes" : "**no**");
        gm_text_free(&key);
    }
    gm_md_unfold(out);
}

void gm_md_trace(struct gm_text *out, const struct gm_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++)
        any = any || report->devices[i].trace.events > 0;
    if (!any)
        return;
    gm_md_fold(out, "Trace");
    gm_text_add(out,
                "| Device | Events | Time | Allocations | Frees | Out of memory | Segments + | Segments - | Mapped | "
                "Unmapped | Peak requested | Peak reserved |\n"
                "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < report->device_count && gm_md_room(out, report->device_count - i); i++) {
        const struct gm_trace_counts *t = &report->devices[i].trace;
        if (t->events == 0)
            continue;
        char s[GM_NUMBER_TEXT];
        gm_text_printf(out, "| %" PRId64 " |", report->devices[i].device);
        gm_md_count_cell(out, t->events);
        gm_text_printf(out, " %s |", gm_duration_format(s, t->span_us));
        const uint64_t counts[] = {t->allocs,        t->frees,        t->ooms,          t->segment_allocs,
                                   t->segment_frees, t->segment_maps, t->segment_unmaps};
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            gm_md_count_cell(out, counts[k]);
        gm_md_size_cell(out, report->peaks == NULL ? GM_REPORT_NONE : report->peaks[i].requested);
        gm_md_size_cell(out, t->peak_reserved);
        gm_text_add_char(out, '\n');
    }
    gm_md_unfold(out);
}

void gm_md_warnings(struct gm_text *out, const struct gm_report *report)
{
    if (report->warning_count == 0)
        return;
    gm_md_fold(out, "Warnings");
    for (size_t i = 0; i < report->warning_count && gm_md_room(out, report->warning_count - i); i++) {
        gm_text_add(out, "- ");
        gm_md_prose(out, report->warnings[i], WARNING_COLUMNS);
        gm_text_add_char(out, '\n');
    }
    gm_md_unfold(out);
}
