/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

/* Seconds of a clock that nobody sets, since some moment: for how long something took. */
static inline double gm_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
