/* SPDX-License-Identifier: Apache-2.0
 *
 * From records to the fleet: pure computation, the same records and paths give the same fleet.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/report/fleet_model.h"

struct gm_fleet_part { /* one snapshot */
    const char *path;
    const char *record;
    size_t record_length;
};

struct gm_fleet_options {
    const char *pattern; /* gm_place_match; NULL: gm_place_detect */
    size_t top;          /* rows of a difference by call sites */
    uint64_t capacity;   /* of a device; GM_REPORT_NONE */
    const char *capacity_name;
};

enum gm_status gm_fleet_make(struct gm_fleet *fleet, const struct gm_fleet_part *parts, size_t count,
                             const struct gm_fleet_options *options, struct gm_error *err);
