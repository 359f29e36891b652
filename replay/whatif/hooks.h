/* SPDX-License-Identifier: Apache-2.0
 *
 * Somebody who does something with the blocks of a what-if while it is played: lets kernels run in them on a GPU, or
 * gets them from another allocator as well.
 */
#ifndef GM_REPLAY_WHATIF_HOOKS_H
#define GM_REPLAY_WHATIF_HOOKS_H

#include "replay/model/device.h"

struct gm_whatif_block {
    uint32_t allocation;
    uint64_t address, size; /* of the whole block */
    uint64_t requested;
    int64_t stream; /* the recorded handle */
};

/* Functions may be NULL. After one that fails the replay stops (GM_E_INTERNAL); whoever failed keeps the reason.
 * `event` is GM_NEVER while what was live before the trace is asked for. Blocks are told apart by their addresses: a
 * repeated step has several blocks of one allocation. */
struct gm_whatif_hooks {
    void *self;
    bool (*before)(void *self, uint32_t event);
    /* GM_DEVICE_FULL: this request fails, and the replay ends. */
    enum gm_device_status (*allocated)(void *self, uint32_t event, const struct gm_whatif_block *block);
    /* Nobody but other streams uses the block any more; those do if it is pending: it is freed later, not at once. Not
     * told for blocks that are freed without it. */
    bool (*let_go)(void *self, uint32_t event, uint64_t address, bool is_pending);
    bool (*freed)(void *self, uint32_t event, uint64_t address); /* before its memory is used again */
    bool (*emptied)(void *self, uint32_t event);                 /* empty_cache() */
    /* Instead of the model's: bytes as they are. */
    void (*levels)(void *self, uint64_t *reserved, uint64_t *allocated);
    bool (*rose)(void *self);               /* reserved bytes were never that many */
    bool (*ended)(void *self, size_t part); /* of options.parts */
    bool (*finished)(void *self);           /* all is played, or a request failed; what lives is still there */
    /* Of a request that it refused: what the device has left, and one line about it. */
    uint64_t (*refused)(void *self, char *why, size_t size);
};

#endif
