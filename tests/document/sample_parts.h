/* SPDX-License-Identifier: Apache-2.0
 *
 * What the samples without a trace and those with one share.
 */
#pragma once

#include "sample.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { HOSTILE = 47 };
extern const char *const hostile_texts[HOSTILE];

/* The report's only device again, with `n` copies that may be changed; NULL: no memory. */
struct gm_device_report *sample_own_devices(struct gm_report *r, size_t n);
/* Counts of a trace of 5400 events. */
void sample_set_trace(struct gm_device_report *device);

bool sample_small(struct gm_report *r);
bool sample_hostile(struct gm_report *r);

bool sample_train(struct gm_report *r);
bool sample_oom(struct gm_report *r);
bool sample_evil(struct gm_report *r);
bool sample_opaque(struct gm_report *r);
bool sample_still(struct gm_report *r);
