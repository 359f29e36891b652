/* SPDX-License-Identifier: Apache-2.0
 *
 * Many what-if replays of the same trace, in several threads. Each one starts from an empty allocator, whatever its
 * settings are (but with from_layout), so that their results can be compared; and nothing depends on the number of
 * threads.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/base/error.h"
#include "analyze/timeline/history/history.h"
#include "replay/whatif/whatif.h"

#include <stdatomic.h>

struct gm_refused;

struct gm_search_device {
    struct gm_history *history;
    const struct gm_settled *settled; /* gm_history_settled; NULL: it is asked for where it is needed */
    const uint64_t *requested;        /* [allocation], as in gm_whatif_options */
    struct gm_conf baseline;          /* the settings to compare with */
    uint64_t capacity;                /* bytes, of gm_trial.is_of_device */
    uint64_t recorded; /* the peak of reserved bytes that the recording did with; UINT64_MAX, 0: not known */
    /* The steps that are repeated, as in gm_whatif_options; `parts` are copied. May be NULL, 0, false. */
    const struct gm_whatif_part *parts;
    size_t part_count;
    const struct gm_repeat *repeat;
    bool stops_after_parts;
    const struct gm_refused *refused; /* the end of its recording is asked for, too; may be NULL */
};
/* For whoever watches from another thread: replays that ended, and that were asked for so far. */
struct gm_search_progress {
    atomic_size_t done, all;
};
struct gm_search {
    const struct gm_search_device *devices;
    size_t device_count;
    uint64_t floor;   /* bytes that a device has reserved that is not replayed: as much is needed */
    bool is_open;     /* a recording ended out of memory: what runs gets there; what the rest needs is not known */
    unsigned threads; /* at least 1 */
    struct gm_search_progress *progress; /* counted up; may be NULL */
    bool (*is_over)(void *asked);        /* no more replays are begun once it says so, in any thread; may be NULL */
    void *asked;
};

/* The same under other placements than the lowest one (replay/model/sim.h): where a driver puts segments is not
 * known, and equal free blocks are taken by their addresses. */
enum { GM_OTHER_PLACEMENTS = 4 }; /* the highest, three random ones */
struct gm_trial_range {
    unsigned replays;   /* GM_OTHER_PLACEMENTS; 0: it cannot come out otherwise, or nobody tried */
    bool is_left_out;   /* the search was over before all were replayed: nothing of the rest is known */
    unsigned runs;      /* of them */
    uint64_t low, high; /* peak reserved, of those and the trial itself, if they run; else of the trial */
    uint64_t peaks[GM_OTHER_PLACEMENTS]; /* UINT64_MAX: it does not run */
    uint64_t sums[GM_OTHER_PLACEMENTS];  /* over the devices, likewise */
};
struct gm_trial_device {
    uint64_t peak_reserved, start_at_peak, end_reserved;
    uint64_t left_reserved;  /* gm_whatif_result */
    uint64_t peak_allocated; /* if the trial counts it; else 0 */
};
/* Other requests than a device's. */
struct gm_trial_requests {
    uint64_t *requested; /* [allocation]; NULL: the device's */
    struct gm_whatif_move *moves;
    size_t move_count;
    bool on_one_stream; /* gm_whatif_options */
};
/* One choice of settings and memory, replayed on every device. */
struct gm_trial {
    bool is_baseline; /* the devices' baseline settings instead of `conf` */
    struct gm_conf conf;
    uint64_t capacity; /* of each device; UINT64_MAX: unlimited */
    bool is_of_device; /* gm_search_device.capacity instead */
    bool is_fraction;  /* that is a memory fraction, of a device with twice as much */
    uint64_t taken;    /* this one and the next two as in gm_whatif_options */
    bool from_layout;
    uint32_t placement;
    const struct gm_trial_requests *requests; /* [device_count]; NULL: the devices' */
    struct gm_trial_device *devices;          /* [device_count], filled; may be NULL */
    bool counts_allocated;                    /* takes longer */
    bool is_needed;                           /* replayed even if the search is over */

    /* filled */
    bool is_left_out;     /* the search was over before it could be replayed: nothing of the rest is known */
    bool runs;            /* no request failed, and there is as much as the search's floor */
    bool is_given_up;     /* not known: it kept the model busy far beyond the trace's length */
    size_t failed_device; /* index in gm_search.devices, of the first one that fails; device_count: none */
    struct gm_whatif_failure failure; /* there, if it was not given up */
    uint64_t peak_reserved;           /* of the device with the highest */
    uint64_t sum_reserved;            /* of the devices' peaks */
    uint64_t device_allocs, retries;  /* sums over the devices: num_device_alloc, num_alloc_retries */
    bool hangs_on_placement;
    struct gm_trial_range range; /* gm_trials_spread */
};

/* GM_E_NOMEM, or an internal error. */
enum gm_status gm_trials_run(const struct gm_search *search, struct gm_trial *trials, size_t count,
                             struct gm_error *err);
/* Of trials that were run: fills `range`, with further replays of those that hang on the placement. */
enum gm_status gm_trials_spread(const struct gm_search *search, struct gm_trial *trials, size_t count,
                                struct gm_error *err);
