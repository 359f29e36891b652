/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings that are not the same, but come to the same for what a device is asked for: the allocator sees a request
 * only by the size that it rounds it to, and a largest size to be split only if blocks get as large.
 */
#pragma once

#include "analyze/allocator/conf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_search_device;

enum { GM_ASKED_MOST = 4096 };

/* What a device is asked for, in replays that start from an empty allocator. */
struct gm_asked {
    uint64_t sizes[GM_ASKED_MOST]; /* different ones */
    size_t count;
    bool has_more; /* than those: then nothing is said of how they are rounded */
    uint64_t largest;
};
void gm_asked_find(struct gm_asked *asked, const struct gm_search_device *device);

/* The settings without what cannot matter for these sizes. */
struct gm_conf gm_conf_reduced(const struct gm_conf *conf, const struct gm_asked *asked);
/* Whether two that were reduced let the allocator do the same. false also if that is not known. */
bool gm_confs_are_alike(const struct gm_conf *a, const struct gm_conf *b, const struct gm_asked *asked);
