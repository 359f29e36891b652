/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports made by hand, for the tests of the charts, their gallery and their bench.
 */
#pragma once

#include "analyze/report/report.h"

enum sample {
    SAMPLE_TYPICAL,      /* one device, 12 categories, 50 blocks with long paths; a trace of six steps */
    SAMPLE_EIGHT,        /* eight devices, uneven */
    SAMPLE_TWENTY,       /* twenty devices, one of them empty: four are folded */
    SAMPLE_MANY_SMALL,   /* thirty categories, most of them tiny, the real Other among them */
    SAMPLE_ONE_CATEGORY, /* one block, one category, everything allocated */
    SAMPLE_EMPTY,        /* a snapshot without a segment */
    SAMPLE_ALL_CACHED,   /* reserved, but nothing allocated */
    SAMPLE_ABSURD,       /* numbers up to 2^62 and books that do not balance */
    SAMPLE_HOSTILE,      /* names: UTF-8, very long, markup, empty; a salvaged file */
    SAMPLE_BARE,         /* a short trace without times, steps, roles, and not reconstructed */
    SAMPLE_MANY_STEPS,   /* a trace of thousands of steps, out of memory five times, more segments than rows */
    SAMPLE_FLAT,         /* a trace in which nothing changes */
    SAMPLE_SPIKE,        /* a peak in one of 4000 columns */
    SAMPLE_NOTHING,      /* a trace in which nothing is ever live or reserved */
    SAMPLE_RAGGED,       /* three devices, fewer columns than pixels, hostile names of frames and steps */
    SAMPLE_COUNT
};
const char *sample_name(enum sample sample);
/* To be freed by gm_report_free. Aborts if there is no memory. */
void sample_make(struct gm_report *report, enum sample sample);
