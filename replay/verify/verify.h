/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded trace followed by the allocator's model: the events say what was asked for and when it was freed, the
 * model chooses where; every choice is compared with what was recorded. After a wrong choice the recorded one is taken,
 * so that each is judged by itself.
 *
 * What a trace leaves open is inferred, one value each, and stated:
 *   - roundup_power2_divisions, if the file lists no settings: the one number of divisions that no block contradicts;
 *   - expandable_segments: its value before the first growth that shows another one than was recorded at the end;
 *   - pools of an allocator of their own: private pools that grow by segments while expandable_segments is on;
 *   - the length of reservations for expandable segments (9/8 of the device's memory, which is not recorded): one
 *     ends before pages that the rules would have mapped there, where the trace maps them elsewhere;
 *   - pools of segments that are gone in the end, up to PyTorch 2.11;
 *   - private pools that never split;
 *   - which of the objects from before the trace is older, from PyTorch 2.12 on (conf.h, enum gm_ties);
 *   - block sizes: the slack of a block that was live at the start, from what was allocated beside it later.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/allocator/stats.h"
#include "analyze/base/error.h"
#include "analyze/timeline/history/history.h"
#include "replay/regenerate/event_recorder.h"

enum { GM_MISMATCH_TEXT = 1024, GM_INFERRED_TEXT = 160, GM_INFERRED_MOST = 8 };

struct gm_inference {
    const char *what; /* "expandable_segments", ... */
    char value[GM_INFERRED_TEXT];
};

struct gm_verify_result {
    int64_t device;
    uint64_t events, allocs, exact, exact_uninferred;
    uint64_t growths, growths_predicted; /* segment_alloc and segment_map events; needed, then, of that size */
    uint64_t releases, releases_allowed; /* segment_free and segment_unmap events; of free and whole memory */
    uint64_t end_blocks, end_blocks_same;
    uint64_t retries, ooms; /* as far as the trace shows them */
    struct gm_inference inferred[GM_INFERRED_MOST];
    size_t inferred_count;
    bool has_mismatch;
    bool has_given_up;         /* it contradicts itself so often that following it would take for ever */
    uint64_t mismatch_event;   /* of the first one; GM_ABSENT: at the end, in the snapshot's blocks */
    uint64_t recorded, chosen; /* addresses; chosen: GM_ABSENT if the model found no block */
    char reason[GM_MISMATCH_TEXT];
    char other_allocator[GM_INFERRED_TEXT]; /* evidence that another allocator made the trace; "" without */
    struct gm_stats stats;
    double seconds; /* of the model's loop */
};

/* Follows device h->device's events with the settings `conf`. GM_E_NOMEM is the only error. */
enum gm_status gm_verify(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                         struct gm_error *err);
/* The same; what the model did, and what it was made to do, goes to `recorder` too, which may be NULL. */
enum gm_status gm_verify_recorded(struct gm_verify_result *result, struct gm_history *h, const struct gm_conf *conf,
                                  struct gm_event_recorder *recorder, struct gm_error *err);
/* What following the trace shows of the ages of what was there before it, for gm_allocator_renumber after
 * gm_follow_adopt; the caller frees it. NULL: nothing but the order of addresses, or no memory (GM_E_NOMEM). */
enum gm_status gm_verify_ages(struct gm_history *h, const struct gm_conf *conf, uint32_t **ages, uint32_t *count,
                              struct gm_error *err);
/* Writes into the history what following the trace with its own settings `conf` shows of private pools: which of them
 * requests and segments were of, where the events do not say it, and which never split; nothing, unless the file lists
 * its settings and everything agrees then. A trace of default pools alone is not followed. A pool that is gone in the
 * end gets an id that no file has. GM_E_NOMEM is the only error. */
enum gm_status gm_verify_settle_pools(struct gm_history *h, const struct gm_conf *conf, struct gm_error *err);
/* Evidence in stacks and addresses that another allocator made the trace, into `text`; false, and "": none. */
bool gm_verify_other_allocator(char text[GM_INFERRED_TEXT], const struct gm_history *h);
/* Whether everything agrees. */
bool gm_verify_passed(const struct gm_verify_result *result);
