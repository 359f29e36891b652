/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/allocator/rounding.h"

#include "analyze/base/arithmetic.h"

#include <string.h>

struct gm_rules gm_rules_default(void)
{
    return (struct gm_rules){.roundup_bypass = UINT64_MAX, .max_split = UINT64_MAX, .large_segment = 20 << 20};
}

int gm_rules_roundup_slot(const char *key)
{
    static const char prefix[] = "roundup_power2_divisions.";
    if (strncmp(key, prefix, sizeof prefix - 1) != 0)
        return -1;
    unsigned mib = 0;
    const char *digit = key + sizeof prefix - 1;
    for (; *digit >= '0' && *digit <= '9' && mib < 1U << GM_ROUNDUP_SLOTS; digit++)
        mib = 10 * mib + (unsigned)(*digit - '0');
    for (int slot = 0; *digit == '\0' && slot < GM_ROUNDUP_SLOTS; slot++)
        if (mib == 1U << slot)
            return slot;
    return -1;
}

void gm_rules_take_roundup(struct gm_rules *rules, const char *key, int64_t divisions)
{
    const int slot = gm_rules_roundup_slot(key);
    if (slot >= 0 && divisions >= 0 && divisions <= 1 << 20 && (divisions & (divisions - 1)) == 0)
        rules->roundup[slot] = (uint32_t)divisions;
}

static unsigned log2_floor(uint64_t n)
{
    return 63U - (unsigned)__builtin_clzll(n);
}

uint64_t gm_rules_round(const struct gm_rules *rules, uint64_t requested)
{
    if (requested < GM_MIN_BLOCK)
        return GM_MIN_BLOCK;
    if (requested >= UINT64_C(1) << 60)
        return requested;
    unsigned power = log2_floor(requested);
    unsigned slot = power < 20 ? 0 : power - 20 < GM_ROUNDUP_SLOTS ? power - 20 : GM_ROUNDUP_SLOTS - 1;
    uint64_t divisions = rules->roundup[slot], unit = GM_MIN_BLOCK;
    if (divisions > 1 && requested > GM_MIN_BLOCK * divisions && requested <= rules->roundup_bypass)
        unit = (UINT64_C(1) << power) >> log2_floor(divisions);
    return gm_round_up(requested, unit);
}

uint64_t gm_rules_segment(const struct gm_rules *rules, uint64_t rounded)
{
    if (rounded <= GM_SMALL_SIZE)
        return GM_SMALL_SEGMENT;
    const uint64_t unit = UINT64_C(2) << 20;
    return rounded < UINT64_C(10) << 20 ? rules->large_segment : gm_round_up(rounded, unit);
}

bool gm_rules_split(const struct gm_rules *rules, bool is_small, bool is_expandable, uint64_t rounded,
                    uint64_t remaining)
{
    if (is_small || is_expandable)
        return remaining >= GM_MIN_BLOCK;
    return rounded < rules->max_split && remaining > GM_SMALL_SIZE;
}
