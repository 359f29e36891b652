/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports with timelines made by hand, for the exports. test_formats.py says what must come out.
 */
#pragma once

#include "analyze/report/report.h"

enum sample { SAMPLE_ONE, SAMPLE_TWO, SAMPLE_HOSTILE, SAMPLE_NO_TRACE, SAMPLE_DEEP, SAMPLE_COUNT };
const char *sample_name(enum sample sample);
/* To be freed with gm_report_free. */
void sample_fill(struct gm_report *report, enum sample sample);
