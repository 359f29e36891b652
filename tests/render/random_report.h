/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports at random: sums that do not add up, names that are anything, numbers of any magnitude.
 */
#pragma once

#include "analyze/report/report.h"

/* To be freed by gm_report_free. Fails the test if there is no memory. */
void random_report(struct gm_report *report, uint64_t seed);
