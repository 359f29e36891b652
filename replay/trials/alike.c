/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/alike.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/hash.h"
#include "replay/trials/bound.h"
#include "replay/trials/trial.h"

#include <string.h>

enum { SLOTS = 2 * GM_ASKED_MOST };

/* Whether it is a new one; then there is a slot for it. */
static bool is_new(uint64_t slots[SLOTS], uint64_t size)
{
    size_t i = gm_hash_number(gm_hash_key(), size) % SLOTS;
    while (slots[i] != 0 && slots[i] != size)
        i = (i + 1) % SLOTS;
    const bool is_new = slots[i] == 0;
    slots[i] = size;
    return is_new;
}

static void add(struct gm_asked *asked, uint64_t slots[SLOTS], uint64_t size)
{
    asked->largest = gm_max(asked->largest, size);
    if (size == 0 || asked->has_more || !is_new(slots, size))
        return;
    if (asked->count < GM_ASKED_MOST)
        asked->sizes[asked->count++] = size;
    else
        asked->has_more = true;
}

void gm_asked_find(struct gm_asked *asked, const struct gm_search_device *device)
{
    const struct gm_history *h = device->history;
    uint64_t slots[SLOTS] = {0};
    asked->count = 0;
    asked->has_more = false;
    asked->largest = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        add(asked, slots, gm_whatif_request(device->requested, h, a));
    if (device->refused != NULL)
        add(asked, slots, device->refused->request.size);
}

struct gm_conf gm_conf_reduced(const struct gm_conf *conf, const struct gm_asked *asked)
{
    struct gm_conf reduced = *conf;
    /* Segments are no larger than for the largest request, or than the least size for one; blocks lie in them. */
    const uint64_t largest = gm_max(gm_rules_segment(&conf->rules, gm_rules_round(&conf->rules, asked->largest)),
                                    gm_max(conf->rules.large_segment, GM_SMALL_SEGMENT));
    if (!conf->expandable_segments && conf->rules.max_split > largest) {
        reduced.rules.max_split = UINT64_MAX;
        reduced.max_non_split_rounding = gm_conf_default().max_non_split_rounding; /* of requests beyond max_split */
    }
    return reduced;
}

bool gm_confs_are_alike(const struct gm_conf *a, const struct gm_conf *b, const struct gm_asked *asked)
{
    struct gm_conf same = *a;
    memcpy(same.rules.roundup, b->rules.roundup, sizeof same.rules.roundup);
    same.rules.roundup_bypass = b->rules.roundup_bypass;
    if (gm_settings_equal(a, b) || asked->has_more || !gm_settings_equal(&same, b))
        return gm_settings_equal(a, b);
    for (size_t i = 0; i < asked->count; i++)
        if (gm_rules_round(&a->rules, asked->sizes[i]) != gm_rules_round(&b->rules, asked->sizes[i]))
            return false;
    return true;
}
