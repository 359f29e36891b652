/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks as lines of a program: those that differ in frames of C++ only are one, whatever operators the line calls.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"

/* [gm_stack_id] the first stack with the same lines in the same order. `is_line`: [gm_frame_id]. What has none is
 * GM_STACK_EMPTY, as of autograd's threads, unless no stack has one: then all stay apart. The caller frees it; NULL: no
 * memory. */
uint32_t *gm_stack_lines(const struct gm_snapshot *snapshot, const bool *is_line);
