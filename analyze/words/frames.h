/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames of a stack tell a person where a block was made.
 */
#ifndef GM_WORDS_FRAMES_H
#define GM_WORDS_FRAMES_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>

/* Stores the indices of at most `max` frames, innermost first, and returns their number: the library function that was
 * called last, then the frames of the user's own code; if there are none, library frames; else native ones. Frames of
 * the interpreter, the dispatcher, the allocator and of stack capture are never taken. */
size_t gm_frames_telling(size_t *index, size_t max, const struct gm_block_row *block);
/* Whether block->site already names that frame. */
bool gm_frames_is_site(const struct gm_block_row *block, const struct gm_frame_row *frame);
/* Whether two blocks were made by the same stack. */
bool gm_frames_equal(const struct gm_block_row *a, const struct gm_block_row *b);
/* "name  file:line" in at most `columns`: the end of a long path and the beginning of a long name are kept; files of
 * installed packages are named from the package on, C++ functions without their parameters. */
void gm_frames_add(struct gm_text *out, const struct gm_frame_row *frame, size_t columns);
/* The same at the end of a line of GM_LINE, as gm_site_row: a file and line that do not fit go on the next one. */
void gm_frames_row(struct gm_text *out, const struct gm_frame_row *frame, size_t columns);

#endif
