/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether two snapshots say the same, id by id and bit by bit. Only where they came from may differ.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"

/* NULL if they do, else what differs (a constant string). */
const char *gm_snapshot_difference(const struct gm_snapshot *a, const struct gm_snapshot *b);
