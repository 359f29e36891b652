/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to hold of any snapshot that loading returned, however hostile the file was.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"

/* NULL if all ids and ranges of the snapshot are in bounds, else what is not (a constant string). */
const char *gm_model_check(const struct gm_snapshot *snapshot);
