/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to hold of any snapshot that loading returned, however hostile the file was.
 */
#ifndef GM_TESTS_LOAD_MODEL_CHECK_H
#define GM_TESTS_LOAD_MODEL_CHECK_H

#include "analyze/snapshot/snapshot.h"

/* NULL if all ids and ranges of the snapshot are in bounds, else what is not (a constant string). */
const char *gm_model_check(const struct gm_snapshot *snapshot);

#endif
