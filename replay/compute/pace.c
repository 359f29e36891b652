/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded time: the replay never runs ahead of it. Time that goes backwards (a repeated step begins again, or the
 * trace is odd) counts as none.
 */
#include "replay/compute/compute_private.h"

#include <errno.h>
#include <time.h>

#define MOST_US (UINT64_C(1) << 52) /* more than a century */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool gm_running_pace(void *self, uint32_t event)
{
    struct gm_running *r = self;
    uint64_t time = gm_history_time(r->h, event);
    if (time == GM_REPORT_NONE)
        return true;
    if (!r->has_begun)
        r->begun_ns = now_ns();
    else if (time > r->last_us)
        r->due_us += time - r->last_us < MOST_US - r->due_us ? time - r->last_us : MOST_US - r->due_us;
    r->has_begun = true;
    r->last_us = time;
    int64_t begun_us = r->begun_ns / 1000, at_us = begun_us + (int64_t)r->due_us;
    if (now_ns() / 1000 >= at_us)
        return true;
    const struct timespec until = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
    return true;
}
