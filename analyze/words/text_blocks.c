/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the largest blocks with where they were made.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/document/sites.h"
#include "analyze/words/block_runs.h"
#include "analyze/words/frames.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { FRAMES_SHOWN = 4, LOOK_BACK = 200 };

/* The entries of the list so far, by their first block; the last LOOK_BACK of them. */
struct entries {
    size_t first[LOOK_BACK];
    size_t count;
};

/* The first block of the entry that shows the stack of block `i`, or i. */
static size_t same_stack(const struct gm_report *report, const struct entries *entries, size_t i)
{
    for (size_t k = entries->count > LOOK_BACK ? entries->count - LOOK_BACK : 0; k < entries->count; k++) {
        size_t shown = entries->first[k % LOOK_BACK];
        if (gm_frames_equal(&report->top_blocks[shown], &report->top_blocks[i]))
            return shown;
    }
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
        gm_text_repeat(out, ' ', 10);
        gm_frames_row(out, frame, GM_LINE - 10);
        gm_text_add_char(out, '\n');
    }
}

/* "  15-50  16.00 MiB x 36  Optimizer step  device 0 stream 0 0x713e00000" */
static void add_entry(struct gm_text *out, const struct gm_block_row *block, size_t first,
                      const struct gm_block_run *run)
{
    struct gm_text line = {0};
    char text[128], kind[GM_BLOCK_KIND];
    const size_t count = run->count;
    if (count > 1)
        snprintf(text, sizeof text, "%zu-%zu", first + 1, first + count);
    else
        snprintf(text, sizeof text, "%zu", first + 1);
    gm_text_printf(&line, "%6s", text);
    gm_text_size(&line, block->bytes, 11);
    if (count > 1)
        snprintf(text, sizeof text, " x %zu", count);
    gm_text_printf(&line, "%-6s ", count > 1 ? text : "");
    gm_columns_cell(&line, gm_block_kind(kind, block, run), 23, GM_CELL_LEFT);
    gm_text_printf(&line, " device %" PRId64 " stream %" PRIu32 " 0x%" PRIx64, block->device, block->stream_number,
                   block->address);
    out->failed = out->failed || line.failed;
    gm_columns_cut(out, line.data != NULL ? line.data : "", GM_LINE, false);
    gm_text_add_char(out, '\n');
    gm_text_free(&line);
}

/* What the line with the site says behind it: "  (576.0 MiB in all; stack of 5)". */
static void make_note(struct gm_text *note, const struct gm_block_run *run, size_t i, size_t stack)
{
    char s[GM_NUMBER_TEXT];
    if (run->count > 1)
        gm_text_printf(note, "%s in all", gm_bytes_format(s, run->bytes));
    if (stack != i)
        gm_text_printf(note, "%sstack of %zu%s", run->count > 1 ? "; " : "", stack + 1,
                       run->has_other_stacks ? " and others" : "");
    else if (run->has_other_stacks)
        gm_text_add(note, "; stacks differ");
}

static void add_made(struct gm_text *out, const struct gm_report *report, const struct gm_block_run *run, size_t i,
                     const struct entries *entries)
{
    const struct gm_block_row *block = &report->top_blocks[i];
    size_t stack = block->frame_count > 0 ? same_stack(report, entries, i) : i;
    struct gm_text note = {0};
    make_note(&note, run, i, stack);
    bool has_note = note.length > 0;
    out->failed = out->failed || note.failed;
    if (block->frame_count > 0) {
        gm_text_repeat(out, ' ', 8);
        gm_site_row(out, block->site, GM_LINE - 8);
        bool has_room = gm_columns(block->site) + 8 + note.length + 4 <= GM_LINE;
        if (has_note)
            gm_text_printf(out, has_room ? "  (%s)" : "\n          (%s)", note.data);
        gm_text_add_char(out, '\n');
    } else if (has_note) { /* the category says that there is no stack */
        gm_text_printf(out, "        (%s; the address is that of the first)\n", note.data);
    }
    if (stack == i)
        add_frames(out, block);
    gm_text_free(&note);
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
        gm_text_add(out, report->totals.allocated == 0 ? "  No block is allocated.\n" : "  None is listed.\n");
    struct entries entries = {.count = 0};
    for (size_t i = 0; i < report->top_block_count;) {
        struct gm_block_run run = gm_block_run(report, i, report->top_block_count);
        add_entry(out, &report->top_blocks[i], i, &run);
        add_made(out, report, &run, i, &entries);
        entries.first[entries.count++ % LOOK_BACK] = i;
        i += run.count;
    }
}
