/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator settings of the recorded run: the settings text, then the single settings that the file lists, which
 * say what was in force.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/snapshot/snapshot.h"

/* *odd (which may be NULL) is told what of the text is not understood, as by gm_conf_read. */
struct gm_conf gm_settings_recorded(const struct gm_snapshot *snapshot, struct gm_text *odd);
/* Whether private pools may have expandable segments, which those of PyTorch up to 2.4 never have: its files list
 * settings, but no external annotations. */
bool gm_settings_expand_private(const struct gm_snapshot *snapshot);
/* Whether two settings place blocks alike. */
bool gm_settings_equal(const struct gm_conf *a, const struct gm_conf *b);
