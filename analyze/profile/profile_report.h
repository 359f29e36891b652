/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes over a profile: what each operator used, as torch.profiler's key_averages() counts it, and what the trace
 * states of devices.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/profile.h"

/* Makes report->profile of a finished profile. `card_bytes`: what each device is held against; 0: what the trace says
 * that it has. */
enum gm_status gm_profile_analyze(struct gm_report *report, const struct gm_profile *profile, uint64_t card_bytes,
                                  struct gm_error *err);
