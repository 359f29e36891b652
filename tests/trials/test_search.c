/* SPDX-License-Identifier: Apache-2.0
 *
 * The grid of settings, and searches on a small trace worked out by hand: a segment of 12 MiB lives before the trace,
 * then 10 MiB come and go, 9 come. A segment has at least 20 MiB below 10 MiB of request, else the request rounded up
 * to 2 MiB; so the default allocator reserves 12 + 10 MiB and puts the 9 in the place of the 10.
 */
#include "replay/trials/alike.h"
#include "replay/trials/bound.h"
#include "replay/trials/candidates.h"
#include "replay/trials/fit.h"
#include "replay/trials/sweep.h"
#include "tests/timeline/traced.h"

#include "analyze/allocator/recorded_settings.h"

#include <stdlib.h>

enum { A = 1 << 28 };

/* Of the test. */
static struct gm_search_device device;
static struct gm_search search;

static void begin(const char *settings, unsigned threads)
{
    struct gm_error err = {0};
    gm_traced_event("alloc", A + MIB(12), MIB(10), "attend");
    gm_traced_free(A + MIB(12), MIB(10));
    gm_traced_event("alloc", A + MIB(12), MIB(9), "feed");
    gm_traced_segment(A, MIB(40), "large");
    gm_traced_block(MIB(12), MIB(12), "attend");
    gm_traced_block(MIB(9), MIB(9), "feed");
    gm_traced_block(MIB(19), 0, NULL);
    device = (struct gm_search_device){.history = gm_traced_history(), .baseline = gm_conf_default()};
    assert_int_equal(gm_conf_parse(&device.baseline, settings, strlen(settings), NULL, &err), GM_OK);
    search = (struct gm_search){.devices = &device, .device_count = 1, .threads = threads};
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static bool has(const struct gm_candidates *grid, const char *part)
{
    for (size_t i = 0; i < grid->count; i++)
        if (strstr(grid->rows[i].text, part) != NULL)
            return true;
    return false;
}

static void check_grid(const char *settings, bool is_bounded, struct gm_candidates *grid)
{
    struct gm_conf baseline = gm_conf_default();
    struct gm_error err = {0};
    assert_int_equal(gm_conf_parse(&baseline, settings, strlen(settings), NULL, &err), GM_OK);
    assert_int_equal(gm_candidates_make(grid, &baseline, is_bounded, &err), GM_OK);
    assert_in_range(grid->count, 60, 120);
    for (size_t i = 0; i < grid->count; i++) {
        const struct gm_candidate *row = &grid->rows[i];
        struct gm_conf conf = gm_conf_default();
        assert_int_equal(gm_conf_parse(&conf, row->text, strlen(row->text), NULL, &err), GM_OK);
        assert_true(gm_settings_equal(&conf, &row->conf));
        assert_false(gm_settings_equal(&conf, &baseline));
        assert_null(strpbrk(row->text, " \t\"'"));
        bool is_new = strstr(row->text, "large_segment_size_mb") != NULL ||
                      strstr(row->text, "max_non_split_rounding_mb") != NULL;
        assert_true(!is_new || row->since != NULL);
        assert_true(conf.gc_threshold == 0 || conf.memory_fraction < 1); /* else it does nothing */
        for (size_t k = 0; k < i; k++)
            assert_false(gm_settings_equal(&conf, &grid->rows[k].conf));
    }
}

TEST(grids)
{
    GM_FREED struct gm_candidates *grid = malloc(sizeof *grid);
    assert_non_null(grid);
    check_grid("", false, grid);
    assert_true(has(grid, "expandable_segments:True"));
    assert_false(has(grid, "garbage_collection_threshold"));
    size_t unbounded = grid->count;
    check_grid("", true, grid);
    assert_true(has(grid, "garbage_collection_threshold:0.8,per_process_memory_fraction:0.99"));
    assert_true(grid->count > unbounded);
    check_grid("per_process_memory_fraction:0.5", true, grid);
    for (size_t i = 0; i < grid->count; i++)
        assert_true(grid->rows[i].conf.memory_fraction == 0.5);
    check_grid("expandable_segments:True,roundup_power2_divisions:[256:2,512:4,>:8],max_split_size_mb:300", true, grid);
    assert_true(has(grid, "max_split_size_mb:300")); /* the baseline's own, without expandable segments */
}

/* ---- trials and the sweep ---------------------------------------------------------------------------------------- */

TEST(trials)
{
    struct gm_error err = {0};
    begin("", 3);
    struct gm_trial t[4] = {{.is_baseline = true, .capacity = UINT64_MAX},
                            {.is_baseline = true, .capacity = MIB(22)},
                            {.is_baseline = true, .capacity = MIB(20)},
                            {.is_baseline = true, .capacity = MIB(4)}};
    assert_int_equal(gm_trials_run(&search, t, 4, &err), GM_OK);
    for (int i = 0; i < 2; i++) {
        assert_true(t[i].runs);
        assert_int_equal(t[i].peak_reserved, MIB(22));
        assert_int_equal(t[i].device_allocs, 2);
        assert_int_equal(t[i].retries, 0);
    }
    assert_false(t[2].runs);
    assert_false(t[2].failure.is_at_start);
    assert_int_equal(t[2].failure.event, 0);
    assert_int_equal(t[2].failure.requested, MIB(10));
    assert_false(t[3].runs);
    assert_true(t[3].failure.is_at_start);
    assert_int_equal(t[3].failure.requested, MIB(12));
}

TEST(sweeps)
{
    struct gm_error err = {0};
    struct gm_sweep sweep, other;
    begin("", 1);
    assert_int_equal(gm_sweep_run(&sweep, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
    assert_int_equal(sweep.rows[sweep.baseline].trial.peak_reserved, MIB(22));
    assert_int_equal(sweep.baseline, 0); /* 22 MiB are live: none can save anything, and the baseline changes nothing */
    assert_int_equal(sweep.winner, GM_SWEEP_NONE);
    search.threads = 4;
    assert_int_equal(gm_sweep_run(&other, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
    assert_int_equal(other.count, sweep.count);
    for (size_t i = 0; i < sweep.count; i++) {
        assert_string_equal(sweep.rows[i].text == NULL ? "?" : sweep.rows[i].text,
                            other.rows[i].text == NULL ? "?" : other.rows[i].text);
        assert_int_equal(sweep.rows[i].trial.peak_reserved, other.rows[i].trial.peak_reserved);
    }
    gm_sweep_free(&sweep);
    gm_sweep_free(&other);
    /* Pages of 64 MiB are a bad choice: leaving them is the shortest text that helps. */
    device.baseline.expandable_segments = true;
    device.baseline.rules.large_segment = device.baseline.max_non_split_rounding = MIB(64);
    assert_int_equal(gm_sweep_run(&sweep, &search, &device.baseline, MIB(40), 0, &err), GM_OK);
    assert_false(sweep.rows[sweep.baseline].trial.runs);
    assert_int_equal(sweep.winner, 0);
    assert_string_equal(sweep.rows[0].text, "");
    assert_true(sweep.rows[0].trial.runs);
    assert_int_equal(gm_sweep_saved(&sweep, &sweep.rows[0]), 0);
    gm_sweep_free(&sweep);
}

/* 400 events: sizes of which some, or none, are rounded otherwise by other settings. */
static void begin_random(uint32_t seed)
{
    uint64_t live[16] = {0}, size[16], at = 0;
    for (int i = 0; i < 400; i++) {
        seed = seed * 1664525U + 1013904223U;
        const uint32_t slot = seed >> 28, random = seed >> 8 & 0xffff;
        if (live[slot] != 0) {
            gm_traced_free(A + live[slot], size[slot]);
            live[slot] = 0;
            continue;
        }
        size[slot] = UINT64_C(1) << (9 + random % 18);
        if (random % 7 < seed % 3)
            size[slot] += size[slot] / 3 + random % 100;
        live[slot] = at += MIB(512);
        gm_traced_event("alloc", A + live[slot], size[slot], "attend");
    }
    gm_traced_whole(A, MIB(40), 0, NULL);
    device = (struct gm_search_device){.history = gm_traced_history(), .baseline = gm_conf_default()};
    search = (struct gm_search){.devices = &device, .device_count = 1, .threads = 2};
}

/* Settings that come to the same are replayed once: each replayed alone has the same result. */
TEST(alike)
{
    static const uint64_t capacities[] = {UINT64_MAX, MIB(700), MIB(300)};
    GM_FREED struct gm_candidates *list = malloc(sizeof *list);
    GM_FREED struct gm_asked *asked = malloc(sizeof *asked);
    size_t shared = 0;
    assert_true(list != NULL && asked != NULL);
    for (uint32_t seed = 1; seed <= 6; seed++)
        for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
            struct gm_error err = {0};
            struct gm_trial t[GM_CANDIDATES_MOST];
            begin_random(seed);
            assert_int_equal(gm_candidates_make(list, &device.baseline, c > 0, &err), GM_OK);
            for (size_t i = 0; i < list->count; i++)
                t[i] = (struct gm_trial){.conf = list->rows[i].conf, .capacity = capacities[c]};
            assert_int_equal(gm_trials_run(&search, t, list->count, &err), GM_OK);
            gm_asked_find(asked, &device);
            for (size_t i = 0; i < list->count; i++) {
                struct gm_trial alone = {.conf = t[i].conf, .capacity = capacities[c]};
                assert_int_equal(gm_trials_run(&search, &alone, 1, &err), GM_OK);
                assert_int_equal(alone.runs, t[i].runs);
                assert_int_equal(alone.peak_reserved, t[i].peak_reserved);
                assert_int_equal(alone.device_allocs, t[i].device_allocs);
                assert_int_equal(alone.retries, t[i].retries);
                assert_int_equal(alone.hangs_on_placement, t[i].hangs_on_placement);
                assert_int_equal(alone.failure.event, t[i].failure.event);
                const struct gm_conf here = gm_conf_reduced(&t[i].conf, asked);
                bool is_shared = false;
                for (size_t k = 0; k < i; k++) {
                    const struct gm_conf other = gm_conf_reduced(&t[k].conf, asked);
                    is_shared |= gm_confs_are_alike(&other, &here, asked);
                }
                shared += is_shared;
            }
        }
    print_message("%zu replays are those of others\n", shared);
    assert_true(shared > 100);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

TEST(fits)
{
    struct gm_error err = {0};
    struct gm_fit fit;
    begin("", 2);
    struct gm_trial trial = {.is_baseline = true};
    assert_int_equal(gm_fit_run(&fit, &search, &trial, MIB(22), &err), GM_OK);
    assert_true(fit.is_found);
    assert_int_equal(fit.lower_bound, MIB(22));
    assert_int_equal(fit.capacity, MIB(22));
    assert_int_equal(fit.failing, MIB(20));
    assert_int_equal(fit.failure.requested, MIB(10));
    assert_string_equal(fit.gpu->name, gm_gpu_at(0)->name);
    /* Half of the memory: twice as much is needed, which the peak does not tell. */
    device.baseline.memory_fraction = 0.5;
    assert_int_equal(gm_fit_run(&fit, &search, &trial, MIB(22), &err), GM_OK);
    assert_true(fit.is_found);
    assert_int_equal(fit.capacity, MIB(44));
    assert_int_equal(fit.failing, MIB(42));
    /* Nothing of it: never. */
    device.baseline.memory_fraction = 0;
    assert_int_equal(gm_fit_run(&fit, &search, &trial, MIB(22), &err), GM_OK);
    assert_false(fit.is_found);
}

/* Another device, which is not replayed, has 29 MiB reserved: 22 are not enough any more. */
TEST(floors)
{
    struct gm_error err = {0};
    struct gm_fit fit;
    begin("", 2);
    search.floor = MIB(29);
    struct gm_trial trial = {.is_baseline = true, .capacity = MIB(28)};
    assert_int_equal(gm_trials_run(&search, &trial, 1, &err), GM_OK);
    assert_false(trial.runs);
    assert_int_equal(trial.failed_device, 1); /* none of those that are replayed */
    assert_int_equal(gm_fit_run(&fit, &search, &trial, MIB(22), &err), GM_OK);
    assert_true(fit.is_found);
    assert_int_equal(fit.lower_bound, MIB(29));
    assert_int_equal(fit.capacity, MIB(30));
    assert_int_equal(fit.failing, MIB(28));
    assert_int_equal(fit.failed_device, 1);
}

/* With expandable pages of 64 MiB it needs 64 MiB; many settings of the grid need 22. */
TEST(least)
{
    struct gm_error err = {0};
    struct gm_sweep sweep;
    struct gm_fit fit = {0};
    size_t row;
    bool is_cut;
    begin("expandable_segments:True,large_segment_size_mb:64", 2);
    assert_int_equal(gm_sweep_run(&sweep, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
    assert_int_equal(gm_least(&fit, &row, &search, &sweep, MIB(64), &is_cut, &err), GM_OK);
    assert_false(is_cut);
    assert_int_not_equal(row, GM_SWEEP_NONE);
    assert_true(fit.is_found);
    assert_int_equal(fit.capacity, MIB(22));
    assert_int_equal(gm_least(&fit, &row, &search, &sweep, MIB(22), &is_cut, &err), GM_OK);
    assert_int_equal(row, GM_SWEEP_NONE);
    gm_sweep_free(&sweep);
}

/* ---- a search that ends early ------------------------------------------------------------------------------------ */

static bool after_some(void *asked)
{
    int *left = asked;
    return (*left)-- <= 0;
}

TEST(sweep_is_cut)
{
    struct gm_error err = {0};
    struct gm_sweep all, sweep;
    begin("expandable_segments:True,large_segment_size_mb:64", 1);
    assert_int_equal(gm_sweep_run(&all, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
    assert_int_equal(all.left_out, 0);
    for (int some = 0; some < 12; some += 4) {
        int left = some;
        search.is_over = after_some;
        search.asked = &left;
        assert_int_equal(gm_sweep_run(&sweep, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
        /* The baseline always, and nobody asks for it; and those that come to the same as one that was replayed. */
        assert_true(sweep.count >= 1 + (size_t)some && sweep.count < all.count);
        assert_int_equal(sweep.count + sweep.left_out, all.count);
        assert_true(sweep.rows[sweep.baseline].text == NULL && sweep.rows[sweep.baseline].trial.runs);
        assert_int_equal(sweep.winner == GM_SWEEP_NONE, some == 0); /* any other page saves a percent */
        gm_sweep_free(&sweep);
    }
    gm_sweep_free(&all);
}

/* Whenever it ends: nothing is found, or a capacity that runs. Only an end after all is the whole answer. */
TEST(fit_is_cut)
{
    struct gm_error err = {0};
    begin("", 1);
    struct gm_trial trial = {.is_baseline = true};
    struct gm_fit whole, fit = {.is_cut = true};
    assert_int_equal(gm_fit_run(&whole, &search, &trial, MIB(60), &err), GM_OK);
    assert_false(whole.is_cut);
    int some = 0;
    for (; fit.is_cut && some < 1000; some++) {
        int left = some;
        search.is_over = after_some;
        search.asked = &left;
        assert_int_equal(gm_fit_run(&fit, &search, &trial, MIB(60), &err), GM_OK);
        assert_int_equal(fit.replays, fit.is_cut ? (unsigned)some : whole.replays);
        assert_int_equal(fit.is_found, some > 0);
        assert_true(some == 0 || (fit.capacity >= whole.capacity && fit.capacity <= MIB(60)));
        assert_true(fit.failing == 0 || fit.failing == whole.failing);
    }
    assert_int_equal(some, whole.replays + 1);
    assert_int_equal(fit.capacity, whole.capacity);
}

TEST(least_is_cut)
{
    struct gm_error err = {0};
    struct gm_sweep sweep;
    struct gm_fit fit = {0};
    size_t row;
    bool is_cut;
    int left = 0;
    begin("expandable_segments:True,large_segment_size_mb:64", 1);
    assert_int_equal(gm_sweep_run(&sweep, &search, &device.baseline, UINT64_MAX, 0, &err), GM_OK);
    search.is_over = after_some;
    search.asked = &left;
    assert_int_equal(gm_least(&fit, &row, &search, &sweep, MIB(64), &is_cut, &err), GM_OK);
    assert_true(is_cut);
    assert_int_equal(row, GM_SWEEP_NONE);
    gm_sweep_free(&sweep);
}

TEST(bounds)
{
    struct gm_error err = {0};
    struct gm_bounds b;
    begin("", 1);
    assert_int_equal(gm_bounds_find(&b, &device, &err), GM_OK);
    assert_true(b.is_known && !b.is_quick && !b.is_separate_quick);
    assert_int_equal(b.recorded_reserved, MIB(40));
    assert_int_equal(b.live, MIB(22));
    assert_int_equal(b.active, MIB(22));
    assert_int_equal(b.plan, MIB(22));
    assert_int_equal(b.separate, MIB(22));
    assert_int_equal(b.separate_plan, MIB(22));
    /* With other sizes: the 12 MiB are left out, the 10 become 1,000 bytes, the 9 become 600. */
    uint64_t requested[3];
    for (size_t a = 0; a < traced.history.allocation_count; a++)
        requested[a] = gm_requested(&traced.history, a) == MIB(12)   ? 0
                       : gm_requested(&traced.history, a) == MIB(10) ? 1000
                                                                     : 600;
    device.requested = requested;
    assert_int_equal(gm_bounds_find(&b, &device, &err), GM_OK);
    assert_int_equal(b.active, 1024);
    assert_int_equal(b.plan, 1024);
    /* Sizes of no device: nothing is known, and nothing goes wrong. */
    for (size_t a = 0; a < traced.history.allocation_count; a++)
        requested[a] = UINT64_MAX - 5;
    assert_int_equal(gm_bounds_find(&b, &device, &err), GM_OK);
    assert_false(b.is_known);
}
