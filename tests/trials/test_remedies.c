/* SPDX-License-Identifier: Apache-2.0
 *
 * Remedies on small traces whose peaks are worked out by hand: every block has a segment of its own size, and larger
 * requests do not fit in smaller segments.
 */
#include "replay/trials/remedies.h"

#include "analyze/report/report.h"
#include "replay/whatif/gpus.h"
#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28, C = 3 << 28 };
#define D ((uint64_t)4 << 28)

/* 100 MiB that stay, where `is_old` since before the trace; 200 that come and go, then 300, then 90. Reserved: 100 +
 * 200
 * + 300, and the 90 in the 200. */
static void four_blocks(bool is_old)
{
    if (!is_old) {
        gm_traced_grow(A, MIB(100), MIB(100), "keep"); /* event 1 */
    }
    gm_traced_grow(B, MIB(200), MIB(200), "second");
    gm_traced_free(B, MIB(200));
    gm_traced_grow(D, MIB(300), MIB(300), "large");
    gm_traced_free(D, MIB(300));
    gm_traced_event("alloc", B, MIB(90), "last");
    gm_traced_free(B, MIB(90));
    gm_traced_whole(A, MIB(100), MIB(100), "keep");
    gm_traced_whole(B, MIB(200), 0, NULL);
    gm_traced_whole(D, MIB(300), 0, NULL);
}

/* Of the test. */
static struct gm_search_device device;
static struct gm_search search;

static void setup(bool is_old)
{
    four_blocks(is_old);
    device = (struct gm_search_device){.history = gm_traced_history(), .baseline = gm_conf_default()};
    search = (struct gm_search){.devices = &device, .device_count = 1, .threads = 2};
}

/* The allocation with so many MiB. */
static uint32_t of_mib(uint64_t mib)
{
    for (uint32_t a = 0; a < traced.history.allocation_count; a++)
        if (gm_requested(&traced.history, a) == MIB(mib))
            return a;
    fail();
    return 0;
}

static struct gm_remedy_change change(uint32_t a, uint64_t bytes, uint32_t gone, uint32_t again)
{
    return (struct gm_remedy_change){.allocation = a, .gone = gone, .again = again, .bytes = bytes};
}

static bool always(void *asked)
{
    (void)asked;
    return true;
}

static void replay(struct gm_remedy *remedies, size_t count)
{
    struct gm_remedy *list[8];
    struct gm_error err = {0};
    assert_true(count <= 8);
    for (size_t i = 0; i < count; i++)
        list[i] = &remedies[i];
    assert_int_equal(gm_remedies_replay(list, count, &search, NULL, &err), GM_OK);
}

/* What one remedy of one change leaves reserved at the peak. */
static uint64_t peak_with(struct gm_remedy_change c)
{
    struct gm_remedy remedy = {.changes = &c, .count = 1, .is_usual = true};
    replay(&remedy, 1);
    assert_int_equal(remedy.saving.before, MIB(600));
    assert_int_equal(remedy.saving.alone, MIB(600) - remedy.saving.peak);
    assert_int_equal(remedy.saving.on_top, remedy.saving.alone);
    assert_int_equal(remedy.saving.rank, 0);
    return remedy.saving.peak;
}

TEST(dropped_and_smaller)
{
    setup(false);
    const uint32_t kept = of_mib(100), second = of_mib(200), large = of_mib(300);
    assert_int_equal(peak_with(change(kept, 0, GM_NEVER, GM_NEVER)), MIB(500));
    assert_int_equal(peak_with(change(kept, MIB(50), GM_NEVER, GM_NEVER)), MIB(550));
    assert_int_equal(peak_with(change(large, MIB(150), GM_NEVER, GM_NEVER)), MIB(300));  /* in the 200 */
    assert_int_equal(peak_with(change(second, 0, GM_NEVER, GM_NEVER)), MIB(400));        /* the 90 in the 300 */
    assert_int_equal(peak_with(change(second, MIB(400), GM_NEVER, GM_NEVER)), MIB(500)); /* the 300 in the 400 */
    assert_int_equal(peak_with(change(second, GM_REMEDY_AS_RECORDED, GM_NEVER, GM_NEVER)), MIB(600));
}

/* The 100 are the first request and never end. With the 200 kept until the 300 are there, and other moments. */
TEST(live_shorter)
{
    setup(false);
    const uint32_t kept = of_mib(100), second = of_mib(200), large = of_mib(300);
    const uint32_t before_second = traced.history.born[second] - 1, before_large = traced.history.born[large] - 1;
    /* Its segment is free, but too small for anyone before the 90. */
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, before_second, GM_NEVER)), MIB(600));
    /* It comes back into the segment it had, or into the one of the 200, which is larger; nothing more is needed. */
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, before_second, before_large)), MIB(600));
    /* It comes when the 200 are free, and takes half of them. */
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, 0, before_large)), MIB(500));
    /* Gone as soon as it is there: it was never asked for. */
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, traced.history.born[kept], GM_NEVER)), MIB(500));
    /* Moments at which it is not there change nothing. */
    const uint32_t after = traced.history.freed[second];
    assert_int_equal(peak_with(change(second, GM_REMEDY_AS_RECORDED, after, GM_NEVER)), MIB(600));
    assert_int_equal(peak_with(change(second, GM_REMEDY_AS_RECORDED, 0, after)), MIB(400));
}

/* Where nothing less is reserved, what is requested counts: the 100 are gone when the 300 are there. */
TEST(requested_only)
{
    setup(false);
    const struct gm_remedy_change c =
        change(of_mib(100), GM_REMEDY_AS_RECORDED, traced.history.born[of_mib(200)] - 1, GM_NEVER);
    struct gm_remedy remedies[] = {{.changes = &c, .count = 1}, {.changes = &c, .count = 1, .has_price = true}};
    replay(remedies, 2);
    assert_int_equal(remedies[0].saving.requested, MIB(100));
    assert_int_equal(remedies[0].saving.alone, UINT64_MAX);
    assert_int_equal(remedies[1].saving.requested, 0);
    assert_int_equal(remedies[1].saving.alone, 0);
}

/* What is live since before the trace can come later, too. */
TEST(old_blocks_come_later)
{
    setup(true);
    const uint32_t kept = of_mib(100), large = of_mib(300);
    assert_int_equal(traced.history.born[kept], 0);
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, 0, traced.history.born[large] - 1)), MIB(500));
    assert_int_equal(peak_with(change(kept, GM_REMEDY_AS_RECORDED, 0, GM_NEVER)), MIB(500));
}

/* The 90 from the beginning on, too, in a segment of their own; their own request goes into the 300. Said twice it is
 * the same. */
TEST(there_before)
{
    setup(false);
    const uint32_t last = of_mib(90);
    const struct gm_remedy_change early[] = {change(of_mib(200), 0, GM_NEVER, GM_NEVER),
                                             change(last, GM_REMEDY_AS_RECORDED, GM_NEVER, 1),
                                             change(last, GM_REMEDY_AS_RECORDED, GM_NEVER, 1)};
    for (size_t count = 1; count <= 3; count++) {
        struct gm_remedy remedy = {.changes = early, .count = count};
        replay(&remedy, 1);
        assert_int_equal(remedy.saving.peak, MIB(count == 1 ? 400 : 490));
    }
}

/* Made before all else they have a segment of their own, and stay in it. */
TEST(made_first)
{
    setup(false);
    const struct gm_remedy_change first = change(of_mib(90), GM_REMEDY_AS_RECORDED, 0, 0);
    struct gm_remedy remedy = {.changes = &first, .count = 1};
    replay(&remedy, 1);
    assert_int_equal(remedy.saving.peak, MIB(690));
}

/* Two rows say when it is away: it is back after both. Halved twice it is a quarter. */
TEST(rows_add_up)
{
    setup(false);
    const uint32_t kept = of_mib(100), second = of_mib(200), large = of_mib(300);
    const struct gm_remedy_change away[] = {
        change(kept, GM_REMEDY_AS_RECORDED, 0, traced.history.born[second]),
        change(kept, GM_REMEDY_AS_RECORDED, traced.history.born[second], traced.history.born[large] - 1)};
    const struct gm_remedy_change quarter[] = {change(kept, MIB(50), GM_NEVER, GM_NEVER),
                                               change(kept, MIB(50), GM_NEVER, GM_NEVER)};
    struct gm_remedy remedies[] = {{.changes = away, .count = 2}, {.changes = quarter, .count = 2}};
    replay(remedies, 1);
    assert_int_equal(remedies[0].saving.peak, MIB(500));
    replay(remedies + 1, 1);
    assert_int_equal(remedies[1].saving.peak, MIB(525) + MIB(1)); /* 25 in a segment of 26 */
}

/* Alone, and on top of those above: what two of them save is not the sum. */
TEST(ranked)
{
    setup(false);
    const struct gm_remedy_change no_second = change(of_mib(200), 0, GM_NEVER, GM_NEVER);
    const struct gm_remedy_change half_large = change(of_mib(300), MIB(150), GM_NEVER, GM_NEVER);
    const struct gm_remedy_change no_kept = change(of_mib(100), 0, GM_NEVER, GM_NEVER);
    struct gm_remedy remedies[] = {
        {.changes = &no_second, .count = 1},  {.changes = &no_kept, .count = 1},
        {.changes = &half_large, .count = 1}, {.settings = "expandable_segments:True"},
        {.settings = "no such thing"},        {.device = 7, .changes = &no_kept, .count = 1}};
    replay(remedies, 6);
    /* 100 + 200; 100 + 150; 150; 8 pages. A setting is no substitute for what mends. */
    const struct {
        uint64_t alone, on_top, peak;
        size_t rank;
    } expected[] = {{200, 50, 250, 1}, {100, 100, 150, 2}, {300, 300, 300, 0}, {200, 0, 160, 3}};
    for (size_t i = 0; i < 4; i++) {
        const struct gm_remedy_saving *s = &remedies[i].saving;
        assert_int_equal(s->before, MIB(600));
        assert_int_equal(s->alone, MIB(expected[i].alone));
        assert_int_equal(s->on_top, MIB(expected[i].on_top));
        assert_int_equal(s->peak, MIB(expected[i].peak));
        assert_int_equal(s->rank, expected[i].rank);
        assert_string_equal(s->card, gm_gpu_at(0)->name);
        assert_int_equal(s->card_usable, gm_gpu_usable(gm_gpu_at(0)));
    }
    for (size_t i = 4; i < 6; i++) {
        assert_int_equal(remedies[i].saving.alone, GM_REPORT_NONE);
        assert_int_equal(remedies[i].saving.on_top, GM_REPORT_NONE);
        assert_null(remedies[i].saving.card);
    }
}

/* Either changes or a setting: the setting, where the changes save less than half as much. */
TEST(either)
{
    setup(false);
    const struct gm_remedy_change no_kept = change(of_mib(100), 0, GM_NEVER, GM_NEVER);
    const struct gm_remedy both = {.changes = &no_kept, .count = 1, .settings = "expandable_segments:True"};
    struct gm_remedy remedies[] = {both, both};
    remedies[0].settings_save = MIB(200);
    remedies[1].settings_save = MIB(201) + 1;
    replay(remedies, 1);
    assert_null(remedies[0].settings);
    assert_int_equal(remedies[0].saving.alone, MIB(100));
    replay(remedies + 1, 1);
    assert_string_equal(remedies[1].settings, "expandable_segments:True");
    assert_int_equal(remedies[1].count, 0);
    assert_int_equal(remedies[1].saving.alone, MIB(200));
}

/* What has a price stands behind what has none, and settings that save less than a tenth behind both. */
TEST(priced)
{
    setup(false);
    const struct gm_remedy_change half_large = change(of_mib(300), MIB(150), GM_NEVER, GM_NEVER);
    const struct gm_remedy_change no_kept = change(of_mib(100), 0, GM_NEVER, GM_NEVER);
    struct gm_remedy remedies[] = {{.settings = "roundup_power2_divisions:4"},
                                   {.changes = &half_large, .count = 1, .has_price = true},
                                   {.changes = &no_kept, .count = 1}};
    replay(remedies, 3);
    assert_int_equal(remedies[0].saving.alone, 0);
    assert_int_equal(remedies[0].saving.rank, 2);
    assert_int_equal(remedies[1].saving.alone, MIB(300));
    assert_int_equal(remedies[1].saving.rank, 1);
    assert_int_equal(remedies[2].saving.alone, MIB(100));
    assert_int_equal(remedies[2].saving.on_top, MIB(100));
    assert_int_equal(remedies[2].saving.rank, 0);
}

/* A full device has given back its cache by itself: an empty_cache() saves only what stays below that. Fewer requests
 * need less on any device. */
TEST(of_what_the_recording_did_with)
{
    setup(false);
    const struct gm_remedy_change emptied = {.allocation = GM_REMEDY_NEVER, .gone = 6};
    const struct gm_remedy_change no_kept = change(of_mib(100), 0, GM_NEVER, GM_NEVER);
    struct gm_remedy remedies[] = {{.changes = &emptied, .count = 1}, {.changes = &no_kept, .count = 1}};
    replay(remedies, 2);
    assert_int_equal(remedies[0].saving.alone, MIB(200));
    assert_int_equal(remedies[0].saving.recorded, UINT64_MAX);
    device.recorded = MIB(450);
    replay(remedies, 2);
    assert_int_equal(remedies[0].saving.recorded, MIB(450));
    assert_int_equal(remedies[0].saving.before, MIB(450));
    assert_int_equal(remedies[0].saving.alone, MIB(50));
    assert_int_equal(remedies[1].saving.before, MIB(600));
    assert_int_equal(remedies[1].saving.alone, MIB(100));
    device.recorded = MIB(400);
    replay(remedies, 2);
    assert_int_equal(remedies[0].saving.alone, 0);
    remedies[0].is_of_end = true; /* nor was more reserved in the end than ever */
    replay(remedies, 1);
    assert_int_equal(remedies[0].saving.end_before, MIB(400));
}

/* A recording that ended out of memory does not show what it would have needed: no card is enough for certain. And what
 * was not replayed has no saving. */
TEST(what_is_not_known)
{
    setup(false);
    const struct gm_remedy_change no_kept = change(of_mib(100), 0, GM_NEVER, GM_NEVER);
    struct gm_remedy remedy = {.changes = &no_kept, .count = 1}, *list = &remedy;
    const uint64_t known = MIB(700); /* the baseline, by somebody else */
    struct gm_error err = {0};
    assert_int_equal(gm_remedies_replay(&list, 1, &search, &known, &err), GM_OK);
    assert_int_equal(remedy.saving.before, MIB(700));
    assert_int_equal(remedy.saving.alone, MIB(200));
    search.is_open = true;
    replay(&remedy, 1);
    assert_int_equal(remedy.saving.alone, MIB(100));
    assert_null(remedy.saving.card);
    search.is_open = false;
    search.floor = gm_gpu_usable(gm_gpu_at(gm_gpu_count() - 1)) + 1; /* another device has more than all cards */
    replay(&remedy, 1);
    assert_int_equal(remedy.saving.alone, MIB(100));
    assert_null(remedy.saving.card);
    search.floor = gm_gpu_usable(gm_gpu_find("rtx-3090")) + 1; /* the next larger card is none of CUDA's */
    replay(&remedy, 1);
    assert_string_equal(remedy.saving.card, "rtx-5090");
    search.is_over = always;
    replay(&remedy, 1);
    assert_int_equal(remedy.saving.alone, GM_REPORT_NONE);
    replay(NULL, 0);
}
