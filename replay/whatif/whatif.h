/* SPDX-License-Identifier: Apache-2.0
 *
 * What if: the recorded requests, in their order, under other rules on a simulated device. Kept are the streams, the
 * private pools, the places where deferred frees were completed, and the calls of empty_cache() that the trace shows;
 * the allocator itself decides anew what to split, to reserve and to give back. Requests that had failed in the
 * recording are not repeated, but for the one that ended it (options.refused).
 *
 * With the recorded settings, sizes and an unlimited device it starts from the recorded layout, and memory lies where
 * it was recorded as long as the same is asked for before the same request; otherwise it starts from an empty
 * allocator, which is first asked for what was live at the start: per stream (in the order of their handles as unsigned
 * numbers), in ascending order of address.
 *
 * The device can be another one, a real GPU; then, and with hooks, it always starts from an empty allocator. In the end
 * everything is given back to it.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/allocator/stats.h"
#include "analyze/base/error.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/model/device.h"
#include "replay/regenerate/event_recorder.h"

/* A recorded step played again and again: which step that is, and which blocks take the place of which. A turn
 * allocates and frees as the step did. A block that the step freed but had not allocated came from before it; in a
 * turn its place is taken by a block that the turn before (at first: the recorded step) left alive. They
 * correspond if stack, requested bytes, stream and pool are equal; of those left over, if they come from the same
 * place of the program (stack, stream, pool) with other sizes; then, if nobody knows the stack of the freed one,
 * by bytes, stream and pool. Among equals the oldest corresponds to the oldest. A block whose free was requested,
 * but not completed, when the step began or ended corresponds only to such a block. A free without a counterpart
 * is not repeated. What is left alive without a counterpart piles up if the recording shows that it does: the step
 * before left a block that corresponds to it, and that is still there when the step ends. Everything else stays as
 * many bytes: what lasts by its role (parameters, gradients, optimizer state) is made once, a turn does not ask
 * for it again; of the rest each turn asks anew, and then the block of the turn before goes. */

/* At the end of a turn, `from` names a block; in the next turn `to` is that block. Both are allocations. */
struct gm_repeat_carry {
    uint32_t from, to;
};
struct gm_repeat_carries GM_VEC(struct gm_repeat_carry);

/* What becomes of an allocation that the step leaves alive without a counterpart. */
enum gm_repeat_fate { GM_REPEAT_PILES_UP, GM_REPEAT_IS_ONCE, GM_REPEAT_IS_REPLACED, GM_REPEAT_FATES };
struct gm_repeat_left {
    struct GM_VEC(uint32_t) allocations;
    uint64_t bytes; /* requested, per turn; saturated */
};
struct gm_repeat {
    uint32_t first, end;              /* events [first, end) */
    struct gm_repeat_carries carries; /* each `from` and each `to` once */
    struct gm_repeat_left left[GM_REPEAT_FATES];
    uint64_t unmatched, unmatched_bytes; /* frees that are not repeated; saturated */
};

/* What else is known of the recording. */
struct gm_repeat_evidence {
    uint32_t before;     /* the first event of the step before; GM_NEVER: there is none */
    const uint8_t *role; /* [allocation] as in struct gm_kept_device; NULL: not known */
};

/* The step to repeat: the last one that is complete; SIZE_MAX: there is none. */
size_t gm_repeat_step(const struct gm_kept_step *steps, size_t count);

/* false: no memory. gm_repeat_free in any case. */
bool gm_repeat_plan(struct gm_repeat *repeat, const struct gm_history *h, uint32_t first, uint32_t end,
                    const struct gm_repeat_evidence *evidence);
/* Requested bytes of all that the step leaves alive without a counterpart; saturated. */
uint64_t gm_repeat_left_bytes(const struct gm_repeat *repeat);
void gm_repeat_free(struct gm_repeat *repeat);

/* Somebody who does something with the blocks of a what-if while it is played: lets kernels run in them on a GPU,
 * or gets them from another allocator as well. */

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

enum { GM_WHATIF_TEXT = 320 };

/* A part of the trace, events [first, end), and its peaks. */
struct gm_whatif_part {
    uint32_t first, end;
    bool is_again; /* once more: the events of options.repeat, which the part before this one has as well */
    uint64_t peak_allocated, peak_reserved, allocated_at_end; /* filled */
};

/* Live requested bytes by class (role, category): as they are, and as they were at the peak of requested bytes. */
struct gm_whatif_class {
    const uint16_t *of; /* [allocation]: below `count` */
    size_t count;
    uint64_t *now, *at_peak; /* [count], zeroed by the caller */
};

/* The moment right after the request that first took reserved bytes to their peak. */
struct gm_whatif_peak {
    uint64_t reserved, allocated, active, requested;
    uint64_t largest_free; /* of all pools and streams; GM_ABSENT: there are too many to look at */
    uint32_t event;        /* GM_NEVER: before the first one */
    size_t part;           /* that is being played then; SIZE_MAX: none */
};

/* The request that a recording ended with, for it was refused. */
struct gm_whatif_refused {
    uint32_t event; /* oom */
    uint64_t size;  /* bytes that it asked for, at least */
};

/* Other lifetimes: at a moment (gm_history) before its recorded end the allocation is given up, or asked for again. One
 * that was given up several times comes back when it was asked for as often. Without an allocation: empty_cache(); that
 * is the last one if it is `is_back`, of the run that is over. */
struct gm_whatif_move {
    uint32_t moment, allocation; /* GM_NEVER: none */
    bool is_back;
};

struct gm_whatif_options {
    struct gm_conf conf;
    uint64_t capacity;                  /* bytes of the device; UINT64_MAX: unlimited */
    uint64_t taken;                     /* bytes of it beyond those, of which others have all: a CUDA context */
    bool from_layout;                   /* start from the recorded layout */
    uint32_t placement;                 /* of the simulated device: sim.h */
    const uint64_t *requested;          /* [allocation]: bytes, 0: left out; NULL: as recorded */
    const struct gm_whatif_move *moves; /* [move_count], by moment; not with from_layout, device, hooks, repeat */
    size_t move_count;
    bool on_one_stream;           /* all is asked for on the stream of the first allocation; not with from_layout */
    struct gm_whatif_part *parts; /* ascending, not overlapping but for those that are played again; may be NULL */
    size_t part_count;
    const struct gm_repeat *repeat; /* of the parts that are played again; NULL: there are none */
    const bool *renewed;            /* [allocation]: of what the step makes once what is freed where a turn begins, and
                                     * asked for again: gradients, if zero_grad() frees them; may be NULL */
    bool stops_after_parts;         /* what comes after the last part is not played */
    /* Asked for if memory is limited: a device that has no room for it, either, has failed. One that has is played as
     * if it was never asked for: nobody knows what would have come next. May be NULL. Not with device, hooks, repeat.
     */
    const struct gm_whatif_refused *refused;
    const struct gm_whatif_class *classes; /* [class_count], may be NULL */
    size_t class_count;
    bool counts_reserved_only;          /* nobody asks for other peaks, or for what was there at one; without classes */
    struct gm_event_recorder *recorder; /* hears what the model does; may be NULL */
    const struct gm_device *device;     /* instead of the simulated one; `capacity` means nothing then. May be NULL */
    const struct gm_whatif_hooks *hooks; /* may be NULL */
};
/* What allocation `a` asks for, with such options. */
static inline uint64_t gm_whatif_request(const uint64_t *requested, const struct gm_history *h, size_t a)
{
    return requested != NULL ? requested[a] : gm_requested(h, a);
}

struct gm_whatif_failure {
    bool is_at_start; /* a block that was live before the trace; `event` means nothing */
    bool is_refused;  /* options.refused */
    uint32_t event;   /* of the device */
    struct gm_stack_id stack;
    uint64_t requested, rounded;
    uint64_t device_free, reserved, active; /* bytes, then */
    uint64_t largest_free;                  /* of the free blocks of its pool and stream */
    char why[GM_WHATIF_TEXT];
};

struct gm_whatif_result {
    int64_t device;
    uint64_t events, allocs;      /* of the trace; requests that were made */
    uint64_t left_out;            /* allocations that were dropped */
    bool from_layout;             /* as it was done: a trace without a sound layout starts empty */
    uint64_t start_blocks;        /* live at the start ... */
    uint64_t start_bytes;         /* ... their block bytes ... */
    uint64_t start_bytes_at_peak; /* ... and what of them is there at the peak of active bytes */
    uint64_t start_reserved;      /* what is reserved when the trace begins */
    uint64_t left_reserved; /* after the last event, but for what options->moves give back then, or as the last one */
    uint64_t empty_caches;
    uint64_t recorded_ooms;
    uint64_t recorded_releases; /* how often memory went back in the recording because of a request */
    bool hangs_on_placement;    /* with another one it may come out otherwise; else it cannot */
    bool has_failed;
    struct gm_whatif_failure failure; /* the first request that fails: the replay ends there */
    uint32_t stopped_at;              /* with GM_E_INTERNAL: the event; GM_NEVER: none of them */
    struct gm_whatif_peak peak;
    uint64_t played;     /* events; those that are played again count each time */
    size_t parts_played; /* that were begun */
    struct gm_stats stats;
    double seconds; /* of the model's loop */
};

/* GM_E_NOMEM; GM_E_LIMIT if the trace keeps the model busy far beyond its length; GM_E_INTERNAL if the device, or a
 * hook, failed. */
enum gm_status gm_whatif(struct gm_whatif_result *result, struct gm_history *h, const struct gm_whatif_options *options,
                         struct gm_error *err);
