/* SPDX-License-Identifier: Apache-2.0
 *
 * --fit: the smallest memory that runs the trace.
 *
 * A trace that runs with some memory need not run with a little more: retries and garbage collection come elsewhere
 * then. So the search says what it has seen, not more: the capacity it found runs, the one a granule below it does not,
 * nor do those a few granules farther below; and nothing below the lower bound can. It is the one of the lowest
 * placement of segments (replay/model/sim.h); `everywhere` is one that was seen to run with others, too.
 */
#pragma once

#include "replay/trials/sweep.h"
#include "replay/whatif/gpus.h"

#define GM_FIT_GRANULE (UINT64_C(2) << 20) /* all capacities tried are multiples of it */
enum { GM_FIT_BELOW = 8 };                 /* granules below the found one that are tried too */

struct gm_fit {
    bool is_found;                    /* false: it does not run with any memory that was tried */
    uint64_t lower_bound;             /* bytes, without running anything: gm_bound_live, the floor, what a recording's
                                       * end needs; 0: not known */
    uint64_t capacity;                /* the smallest one that runs, as far as was searched, */
    uint64_t retries;                 /* with so many retries on all devices */
    uint64_t everywhere;              /* that, or more: enough wherever the driver puts segments, as far as was
                                       * tried; UINT64_MAX: none was found, 0: not looked for (is_open) */
    uint64_t failing;                 /* capacity - GM_FIT_GRANULE; nothing if `capacity` is 0 */
    bool is_given_up;                 /* `failing` kept the model busy far beyond the trace's length */
    size_t failed_device;             /* else: index in gm_search.devices (device_count: it is less than the floor), */
    struct gm_whatif_failure failure; /* and the first request that fails there with `failing` bytes */
    unsigned replays;
    bool is_cut; /* the search was over: `capacity` is the smallest that was seen to run so far; `failing` and the card
                  * are known only if they are not 0 and NULL */
    const struct gm_gpu *gpu; /* the smallest card of the table with `capacity` bytes that runs it; NULL: none, or not
                               * looked for (gm_search.is_open) */
    uint64_t gpu_retries;     /* on it */
};

/* With the settings of *trial (is_baseline, conf) on every device; `peak_reserved` is the peak of an unlimited replay
 * with them. */
enum gm_status gm_fit_run(struct gm_fit *fit, const struct gm_search *search, const struct gm_trial *trial,
                          uint64_t peak_reserved, struct gm_error *err);

/* Which settings of a sweep run with the least memory. That need not be those with the lowest peak: an allocator that
 * is short of memory gives back what it has cached, and some settings leave it more to give back.
 *
 * Looks for a row that runs with less than `below` bytes, a multiple of GM_FIT_GRANULE: all are replayed with one
 * granule less, the best of those that run is fitted, those that ran are replayed with less than that, and so on,
 * GM_LEAST_ROUNDS times at most; or until the search is over (*is_cut). *row is GM_SWEEP_NONE if there is none; *fit is
 * the row's otherwise. */
enum gm_status gm_least(struct gm_fit *fit, size_t *row, const struct gm_search *search, const struct gm_sweep *sweep,
                        uint64_t below, bool *is_cut, struct gm_error *err);
enum { GM_LEAST_ROUNDS = 8 };
