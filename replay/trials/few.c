/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/few.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/size.h"

static struct gm_conf with_split(struct gm_conf conf, uint64_t bytes)
{
    conf.rules.max_split = bytes;
    return conf;
}

/* With max_split_size, expandable segments keep large blocks whole for no use: one or the other. */
static struct gm_conf with_expandable(struct gm_conf conf, bool is_on)
{
    conf.expandable_segments = is_on;
    return is_on ? with_split(conf, UINT64_MAX) : conf;
}

static struct gm_conf with_other_roundup(struct gm_conf conf)
{
    bool rounds_up = false;
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        rounds_up |= conf.rules.roundup[slot] > 1;
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        conf.rules.roundup[slot] = rounds_up ? 0 : 8;
    return conf;
}

size_t gm_few_settings(struct gm_conf out[GM_FEW_MOST], const struct gm_conf *conf)
{
    const bool is_split = conf->rules.max_split != UINT64_MAX;
    const uint64_t splits[] = {is_split ? UINT64_MAX : 128 * GM_MIB, 512 * GM_MIB};
    size_t n = 0;
    out[n++] = with_expandable(*conf, !conf->expandable_segments);
    for (size_t i = 0; i < (is_split ? 1 : conf->expandable_segments ? 0 : 2); i++)
        out[n++] = with_split(*conf, splits[i]);
    out[n++] = with_other_roundup(*conf);
    return n;
}
