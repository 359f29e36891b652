/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded trace followed by the allocator's model: the events say what was asked for and when it was freed, the
 * model chooses where; every choice is compared with what was recorded. After a wrong choice the recorded one is taken,
 * so that each is judged by itself.
 */
#ifndef GM_REPLAY_VERIFY_H
#define GM_REPLAY_VERIFY_H

#include "analyze/base/error.h"
#include "analyze/timeline/history/history.h"
#include "replay/allocator/allocator.h"

enum { GM_MISMATCH_TEXT = 512 };

struct gm_verify_result {
    int64_t device;
    uint64_t events, allocs, exact;
    uint64_t growths, growths_predicted; /* segment_alloc and segment_map events; needed, then, of that size */
    uint64_t end_blocks, end_blocks_same;
    bool has_mismatch;
    uint64_t mismatch_event, recorded, chosen; /* of the first one; chosen: GM_ABSENT if the model found no block */
    char reason[GM_MISMATCH_TEXT];
    struct gm_stats stats;
    double seconds; /* of the model's loop */
};

/* Follows device h->device's events with the settings `conf`. GM_E_NOMEM is the only error. */
enum gm_status gm_verify(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                         struct gm_error *err);

#endif
