/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator's arithmetic on worked examples: what PyTorch's own documentation and source say of these sizes.
 */
#include "analyze/allocator/rounding.h"
#include "tests/unit.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

TEST(default_rounding)
{
    const struct gm_rules rules = gm_rules_default();
    static const uint64_t pairs[][2] = {{0, 512},
                                        {1, 512},
                                        {511, 512},
                                        {512, 512},
                                        {513, 1024},
                                        {MIB, MIB},
                                        {MIB + 1, 1049088},
                                        {10 * MIB - 512, 10485248},
                                        {10 * MIB - 511, 10 * MIB},
                                        {10 * MIB + 1, 10486272},
                                        {7340132, 7340544},
                                        {12582913, 12583424},
                                        {UINT64_C(1) << 60, UINT64_C(1) << 60},
                                        {UINT64_MAX, UINT64_MAX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_int_equal(gm_rules_round(&rules, pairs[i][0]), pairs[i][1]);
}

TEST(rounding_by_divisions)
{
    struct gm_rules rules = gm_rules_default();
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        rules.roundup[i] = 4;
    static const uint64_t four[][2] = {{1200, 1536},
                                       {2049, 2560},
                                       {600 * KIB, 640 * KIB},
                                       {1000 * KIB, MIB},
                                       {3 * MIB + 1, 3584 * KIB},
                                       {65 * MIB, 80 * MIB},
                                       {64 * MIB, 64 * MIB},
                                       {UINT64_C(40) << 30, UINT64_C(40) << 30}};
    for (size_t i = 0; i < sizeof four / sizeof *four; i++)
        assert_int_equal(gm_rules_round(&rules, four[i][0]), four[i][1]);
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        rules.roundup[i] = 2;
    static const uint64_t two[][2] = {{1025, 1536}, {700 * KIB, 768 * KIB}, {3 * MIB + 1, 4 * MIB}};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        assert_int_equal(gm_rules_round(&rules, two[i][0]), two[i][1]);
    /* Slots: below 2 MiB the first, from 32 GiB on the last; each only its own sizes. */
    rules = gm_rules_default();
    rules.roundup[1] = 2;
    assert_int_equal(gm_rules_round(&rules, 2 * MIB + 1), 3 * MIB);
    assert_int_equal(gm_rules_round(&rules, 2 * MIB - 1), 2 * MIB);
    assert_int_equal(gm_rules_round(&rules, 4 * MIB + 1), 4 * MIB + 512);
    rules.roundup[15] = 2;
    assert_int_equal(gm_rules_round(&rules, (UINT64_C(128) << 30) + 1), UINT64_C(192) << 30);
}

/* Single settings, as a file may have them. */
TEST(recorded_divisions)
{
    static const struct {
        const char *key;
        int slot;
    } keys[] = {{"roundup_power2_divisions.1", 0},    {"roundup_power2_divisions.32768", 15},
                {"roundup_power2_divisions.256", 8},  {"roundup_power2_divisions.65536", -1},
                {"roundup_power2_divisions.3", -1},   {"roundup_power2_divisions.0", -1},
                {"roundup_power2_divisions.", -1},    {"roundup_power2_divisions", -1},
                {"roundup_power2_divisions.+1", -1},  {"roundup_power2_divisions. 1", -1},
                {"roundup_power2_divisions.1x", -1},  {"roundup_power2_divisions.4294967297", -1},
                {"a.roundup_power2_divisions.1", -1}, {"roundup_power2_divisions.1.1", -1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(gm_rules_roundup_slot(keys[i].key), keys[i].slot);
    struct gm_rules rules = gm_rules_default();
    static const int64_t wrong[] = {-1, INT64_MIN, 3, 6, 1 << 21, INT64_MAX, INT64_C(1) << 32};
    gm_rules_take_roundup(&rules, "roundup_power2_divisions.4", 8);
    assert_int_equal(rules.roundup[2], 8);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        gm_rules_take_roundup(&rules, "roundup_power2_divisions.4", wrong[i]);
    assert_int_equal(rules.roundup[2], 8);
    gm_rules_take_roundup(&rules, "roundup_power2_divisions.4", 0);
    assert_int_equal(rules.roundup[2], 0);
}

TEST(splitting)
{
    struct gm_rules rules = gm_rules_default();
    assert_true(gm_rules_split(&rules, true, false, 512, 512));
    assert_false(gm_rules_split(&rules, true, false, 512, 0));
    assert_false(gm_rules_split(&rules, false, false, 2 * MIB, MIB));
    assert_true(gm_rules_split(&rules, false, false, 2 * MIB, MIB + 512));
    assert_true(gm_rules_split(&rules, false, true, 2 * MIB, 512));
    rules.max_split = 100 * MIB;
    assert_false(gm_rules_split(&rules, false, false, 100 * MIB, 50 * MIB));
    assert_true(gm_rules_split(&rules, false, false, 100 * MIB - 512, 50 * MIB));
}
