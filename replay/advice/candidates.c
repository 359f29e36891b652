/* SPDX-License-Identifier: Apache-2.0
 *
 * What is worth trying: the settings that people turn on against fragmentation, where they are off, and each that is on
 * taken back. At least one. They are few because every report pays for them; a sweep (gmreplay) tries more.
 */
#include "analyze/base/size.h"
#include "replay/advice/private.h"
#include "replay/settings/recorded.h"

static void add(struct gm_conf *out, size_t *n, const struct gm_conf *recorded, struct gm_conf conf)
{
    if (*n < GM_CANDIDATES_MOST && !gm_settings_equal(&conf, recorded))
        out[(*n)++] = conf;
}

static bool rounds_up(const struct gm_conf *conf)
{
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        if (conf->rules.roundup[slot] > 1)
            return true;
    return false;
}

static struct gm_conf without_roundup(struct gm_conf conf)
{
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        conf.rules.roundup[slot] = 0;
    return conf;
}

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

size_t gm_advice_candidates(struct gm_conf *out, const struct gm_conf *recorded)
{
    size_t n = 0;
    add(out, &n, recorded, with_expandable(*recorded, !recorded->expandable_segments));
    if (recorded->rules.max_split != UINT64_MAX)
        add(out, &n, recorded, with_split(*recorded, UINT64_MAX));
    else if (!recorded->expandable_segments)
        add(out, &n, recorded, with_split(*recorded, 128 * GM_MIB));
    if (rounds_up(recorded))
        add(out, &n, recorded, without_roundup(*recorded));
    return n;
}
