/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the largest blocks with where they were made, and fragmentation with the blocks that pin it.
 */
#include "analyze/words/columns.h"
#include "analyze/words/frames.h"
#include "analyze/words/numbers.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { FRAMES_SHOWN = 4, PINS_SHOWN = 10, LOOK_BACK = 200 };

/* The first block with the same stack among the LOOK_BACK before `i`, or i. */
static size_t same_stack(const struct gm_report *report, size_t i)
{
    for (size_t j = i > LOOK_BACK ? i - LOOK_BACK : 0; j < i; j++)
        if (gm_frames_equal(&report->top_blocks[j], &report->top_blocks[i]))
            return j;
    return i;
}

static void add_frames(struct gm_text *out, const struct gm_block_row *block)
{
    size_t index[FRAMES_SHOWN];
    size_t n = gm_frames_telling(index, FRAMES_SHOWN, block);
    for (size_t i = 0; i < n; i++) {
        const struct gm_frame_row *frame = &block->frames[index[i]];
        if (gm_frames_is_site(block, frame))
            continue;
        gm_text_repeat(out, ' ', 9);
        gm_frames_add(out, frame, GM_LINE - 9);
        gm_text_add_char(out, '\n');
    }
}

void gm_text_top_blocks(struct gm_text *out, const struct gm_report *report)
{
    char title[64];
    if (report->top_block_count > 0)
        snprintf(title, sizeof title, "TOP %zu ALLOCATIONS", report->top_block_count);
    else
        snprintf(title, sizeof title, "TOP ALLOCATIONS");
    gm_text_section(out, title);
    if (report->top_block_count == 0)
        gm_text_add(out, "  No block is allocated.\n");
    for (size_t i = 0; i < report->top_block_count; i++) {
        const struct gm_block_row *block = &report->top_blocks[i];
        gm_text_printf(out, "%4zu ", i + 1);
        gm_text_size(out, block->bytes, 11);
        gm_text_add(out, "  ");
        gm_columns_cell(out, block->category, 24, GM_CELL_LEFT);
        char place[128];
        snprintf(place, sizeof place, " device %" PRId64 " stream %" PRIu32 " 0x%" PRIx64, block->device,
                 block->stream_number, block->address);
        gm_columns_cut(out, place, GM_LINE - 42, false);
        gm_text_add_char(out, '\n');
        if (block->frame_count == 0) /* the category says so */
            continue;
        gm_text_repeat(out, ' ', 7);
        size_t first = same_stack(report, i);
        char note[40] = "";
        if (first != i)
            snprintf(note, sizeof note, "  (stack of %zu)", first + 1);
        size_t columns = GM_LINE - 7 - gm_columns(note);
        gm_columns_cut(out, block->site, columns, true);
        gm_text_printf(out, "%s\n", note);
        if (first == i)
            add_frames(out, block);
    }
}

static void add_row(struct gm_text *out, const char *name, uint64_t blocks, uint64_t bytes, const char *what)
{
    gm_text_printf(out, "  %-22s", name);
    if (blocks == GM_REPORT_NONE)
        gm_text_repeat(out, ' ', 10);
    else
        gm_text_count(out, blocks, 10);
    gm_text_size(out, bytes, 12);
    gm_text_printf(out, "%s%s\n", what[0] != '\0' ? "  " : "", what);
}

static void add_pins(struct gm_text *out, const struct gm_fragmentation *f)
{
    if (f->pin_count == 0)
        return;
    gm_text_add(out, "\n  Live blocks that keep the most cached memory from being released; `pinned` is\n"
                     "  the share of each in what its segment or page strands:\n");
    gm_text_printf(out, "  %12s%12s%12s%9s  %s\n", "pinned", "block", "segment", "sharers", "made in");
    for (size_t i = 0; i < f->pin_count && i < PINS_SHOWN; i++) {
        const struct gm_pin_row *pin = &f->pins[i];
        gm_text_add(out, "  ");
        gm_text_size(out, pin->pinned_bytes, 12);
        gm_text_size(out, pin->block.bytes, 12);
        gm_text_size(out, pin->segment_bytes, 12);
        gm_text_count(out, pin->sharers, 9);
        gm_text_add(out, "  ");
        gm_columns_cut(out, pin->block.site, GM_LINE - 49, true);
        gm_text_add_char(out, '\n');
    }
    if (f->pin_count > PINS_SHOWN)
        gm_text_printf(out, "  %zu more in analysis.json\n", f->pin_count - PINS_SHOWN);
}

static void add_histogram(struct gm_text *out, const struct gm_report *report)
{
    gm_text_printf(out, "\n  %-24s%12s%12s%12s%12s\n", "Blocks by size", "active", "bytes", "cached", "bytes");
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        const struct gm_histogram_bin *bin = &report->histogram[i];
        if (bin->active.blocks == 0 && bin->cached.blocks == 0)
            continue;
        gm_text_add(out, "  ");
        gm_columns_cell(out, bin->label != NULL ? bin->label : "", 24, GM_CELL_LEFT);
        gm_text_count(out, bin->active.blocks, 12);
        gm_text_size(out, bin->active.bytes, 12);
        gm_text_count(out, bin->cached.blocks, 12);
        gm_text_size(out, bin->cached.bytes, 12);
        gm_text_add_char(out, '\n');
    }
}

void gm_text_fragmentation(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_fragmentation *f = &report->fragmentation;
    gm_text_section(out, "FRAGMENTATION ANALYSIS");
    gm_text_printf(out, "  %-22s%10s%12s\n", "", "blocks", "size");
    add_row(out, "Inactive blocks", f->inactive_blocks, report->totals.inactive, "reserved, in nobody's use");
    add_row(out, "  largest", GM_REPORT_NONE, f->largest_inactive, "the largest hole");
    add_row(out, "  over 100 MiB", f->unused_over_100mib.blocks, f->unused_over_100mib.bytes, "");
    add_row(out, "Releasable", GM_REPORT_NONE, f->releasable, "segments without a live block");
    add_row(out, "Stranded", GM_REPORT_NONE, f->stranded, "beside live blocks");
    add_row(out, "empty_cache() returns", GM_REPORT_NONE, f->empty_cache, "");
    add_pins(out, f);
    if (report->totals.blocks > 0)
        add_histogram(out, report);
}
