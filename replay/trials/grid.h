/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings that --sweep tries. docs/search.md has the reasons.
 */
#ifndef GM_REPLAY_GRID_H
#define GM_REPLAY_GRID_H

#include "analyze/allocator/conf.h"
#include "analyze/base/error.h"

enum { GM_GRID_TEXT = 320, GM_GRID_MOST = 128 };

struct gm_grid_row {
    char text[GM_GRID_TEXT]; /* the value of PYTORCH_ALLOC_CONF; "": PyTorch's defaults */
    const char *since;       /* the PyTorch version that it needs, NULL: any with these options in their usual form */
    struct gm_conf conf;     /* what `text` says */
};
struct gm_grid {
    struct gm_grid_row rows[GM_GRID_MOST];
    size_t count;
};

/* The rows for a baseline, in a fixed order; what places blocks as it does is left out, and no two place alike. A
 * memory fraction of the baseline is kept in every row: it says what there is, not how to use it. `is_bounded`: memory
 * is limited, so that garbage collection can matter. GM_E_NOMEM. */
enum gm_status gm_grid_make(struct gm_grid *grid, const struct gm_conf *baseline, bool is_bounded,
                            struct gm_error *err);

#endif
