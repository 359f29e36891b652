/* SPDX-License-Identifier: Apache-2.0
 *
 * README.md: the folded parts.
 */
#include "analyze/document/columns.h"
#include "analyze/document/escape.h"
#include "analyze/document/numbers.h"
#include "analyze/words/frames.h"
#include "analyze/words/markdown_parts.h"

#include <inttypes.h>

enum { STACKS = 5, STACK_FRAMES = 10, TELLING_FRAMES = 100, FRAME_COLUMNS = 140, PINS = 10 };

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
