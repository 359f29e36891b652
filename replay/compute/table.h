/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kernel stands for what a program did with a block: by role where that decides, else by category, else by role
 * again; docs/compute.md has the table.
 */
#ifndef GM_REPLAY_COMPUTE_TABLE_H
#define GM_REPLAY_COMPUTE_TABLE_H

#include "kernels/kernels.h"

/* Names as reports show them; any case. Those that are not in the table (rules of a user's own): elementwise. */
enum gm_kernel_id gm_compute_kernel(const char *category, const char *role);

#endif
