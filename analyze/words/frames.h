/* SPDX-License-Identifier: Apache-2.0
 *
 * Which frames of a stack tell a person where a block was made.
 */
#ifndef GM_WORDS_FRAMES_H
#define GM_WORDS_FRAMES_H

#include "analyze/document/document.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>

enum { GM_FRAMES_MOST = 10 };

/* The frames of a stack that tell a person most, of at most GM_FRAMES_MOST the first `most`, but for the one that
 * block->site names: lines as sites are, files of installed packages named from the package on, C++ functions without
 * their parameters. NULL: none. */
const char *gm_frames_below(struct gm_doc *doc, const struct gm_block_row *block, size_t most);
/* Whether two blocks were made by the same stack. */
bool gm_frames_equal(const struct gm_block_row *a, const struct gm_block_row *b);

#endif
