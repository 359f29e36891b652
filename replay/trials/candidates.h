/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of settings that are tried, by every program. docs/search.md has the reasons.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/base/error.h"

enum { GM_CANDIDATE_TEXT = 320, GM_CANDIDATES_MOST = 128, GM_CANDIDATES_FEW = 4 };

struct gm_candidate {
    char text[GM_CANDIDATE_TEXT]; /* the value of PYTORCH_ALLOC_CONF; "": PyTorch's defaults */
    const char *since;   /* the PyTorch version that it needs, NULL: any with these options in their usual form */
    struct gm_conf conf; /* what `text` says */
};
struct gm_candidates {
    struct gm_candidate rows[GM_CANDIDATES_MOST];
    size_t count;
};

/* The rows for a baseline, in a fixed order; what places blocks as it does is left out, and no two place alike. A
 * memory fraction of the baseline is kept in every row: it says what there is, not how to use it. `is_bounded`: memory
 * is limited, so that garbage collection can matter. GM_E_NOMEM. */
enum gm_status gm_candidates_make(struct gm_candidates *list, const struct gm_conf *baseline, bool is_bounded,
                                  struct gm_error *err);
/* The first of them, GM_CANDIDATES_FEW at most: what is tried where there is no time for all. What people turn on
 * against fragmentation, where it is off, and each that is on taken back; else as the baseline. */
enum gm_status gm_candidates_make_few(struct gm_candidates *list, const struct gm_conf *baseline, struct gm_error *err);
