/* SPDX-License-Identifier: Apache-2.0
 *
 * timeline.csv: one row for each sample of each device. A cell is empty where the report has GM_REPORT_NONE. The row of
 * the state before event 0, which has neither event nor time, stands there only if one of the peaks is that state.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/report/report.h"

enum { GM_CSV_ROW = 7 * 21 }; /* bytes of the longest row */

const char *gm_csv_header(void); /* with its newline */

/* Writes a row with its newline, without a NUL. Returns its end. */
char *gm_csv_row(char out[GM_CSV_ROW], int64_t device, const struct gm_sample *sample);

/* The row of the state before event 0 of device number `d`; returns `out` if none of its peaks is there. */
char *gm_csv_row_before(char out[GM_CSV_ROW], const struct gm_report *report, size_t d);

/* The whole file from the report's samples, and its peaks of all four kinds where the samples lack them. */
void gm_csv_write(struct gm_text *out, const struct gm_report *report);

/* operators.csv, of a trace of torch.profiler: one row for each operator and shapes of its inputs, or each operator if
 * no shapes were recorded. */
void gm_operators_csv_write(struct gm_text *out, const struct gm_profile_report *profile);
