/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports made by hand, for the tests of the writers.
 *   small     one device, three live blocks, a trace; every figure can be checked in one's head
 *   empty     nothing at all: no device, no block, no setting
 *   eight     eight devices, private pools, several streams, an inconsistent file, salvaged; runs of equal blocks, and
 *             more call sites than are listed
 *   hostile   one device; every name in it means harm
 *   flood     more rows of everything than anyone can read, with long names
 * and with an analysed trace:
 *   train     the state of `small`, a trace of 30 steps; every list adds up
 *   oom       two devices; one ran out of memory
 *   evil      the state of `hostile`, and every name and number of the trace means harm
 *   opaque    a trace that could not be reconstructed: block bytes are not known
 *   still     analysed, but no device has an event
 */
#pragma once

#include "analyze/report/report.h"

#include <stdbool.h>

/* Fills *report; gm_report_free. false if there is no such sample (or no memory). */
bool sample_report(struct gm_report *report, const char *name);

/* NULL-terminated. */
extern const char *const sample_names[];
extern const char *const sample_charts[]; /* as gm_analysis_document takes them */
extern const char *const hostile_charts[];
