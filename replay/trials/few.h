/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings that are worth trying where there is no time for a sweep: those that people turn on against
 * fragmentation, where they are off, and each that is on taken back. At least one.
 */
#ifndef GM_REPLAY_FEW_H
#define GM_REPLAY_FEW_H

#include "analyze/allocator/conf.h"

enum { GM_FEW_MOST = 4 };

/* Instead of `conf`; none of them places blocks as it does. Returns how many. */
size_t gm_few_settings(struct gm_conf out[GM_FEW_MOST], const struct gm_conf *conf);

#endif
