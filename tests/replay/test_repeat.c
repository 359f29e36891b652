/* SPDX-License-Identifier: Apache-2.0
 *
 * A recorded step played again, on small traces worked out by hand. Addresses of the trace: A is 2^28, and so on; each
 * block has a segment of its own, of its own size (multiples of 2 MiB above 10 MiB).
 */

#include "replay/whatif/whatif.h"
#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28, C = 3 << 28, PARTS_MOST = 16 };

static const struct gm_repeat_evidence alone = {.before = GM_NEVER};

/* Of the test. */
static struct gm_repeat repeat;
static struct gm_whatif_part parts[PARTS_MOST];

static int end(void **state)
{
    gm_repeat_free(&repeat);
    repeat = (struct gm_repeat){0};
    return 0;
}
AROUND_EACH(NULL, end)

static void make(uint64_t address, uint64_t size, const char *name)
{
    gm_traced_grow(address, size, size, name);
}

/* The events [0, first), the step [first, end), `turns` times the step again, the rest. */
static struct gm_whatif_result play(size_t turns, uint64_t capacity)
{
    struct gm_whatif_result result;
    struct gm_error err = {0};
    struct gm_whatif_options options = {
        .conf = gm_conf_default(), .capacity = capacity, .parts = parts, .part_count = turns + 3, .repeat = &repeat};
    parts[0] = (struct gm_whatif_part){.first = 0, .end = repeat.first};
    for (size_t i = 1; i <= turns + 1; i++)
        parts[i] = (struct gm_whatif_part){.first = repeat.first, .end = repeat.end, .is_again = i > 1};
    parts[turns + 2] = (struct gm_whatif_part){.first = repeat.end, .end = (uint32_t)traced.history.count};
    assert_int_equal(gm_whatif(&result, &traced.history, &options, &err), GM_OK);
    return result;
}

TEST(the_last_complete_step)
{
    const struct gm_kept_step steps[] = {{1, 0, 9, true}, {2, 10, 19, false}, {3, 20, 29, false}, {4, 30, 35, true}};
    assert_int_equal(gm_repeat_step(steps, 4), 2);
    assert_int_equal(gm_repeat_step(steps, 3), 2);
    assert_int_equal(gm_repeat_step(steps, 1), SIZE_MAX);
    assert_int_equal(gm_repeat_step(NULL, 0), SIZE_MAX);
}

/* Before: the weights (20 MiB, live from the start on) and the output (12) of the step before. The step makes a
 * temporary (16) and its own output (12), frees the old output and the temporary. Afterwards the output is freed. */
TEST(replaced_output)
{
    make(A, MIB(12), "forward");
    uint64_t first = gm_traced_event("segment_alloc", B, MIB(16), "temporary");
    gm_traced_event("alloc", B, MIB(16), "temporary");
    make(C, MIB(12), "forward");
    gm_traced_free(A, MIB(12));
    gm_traced_free(B, MIB(16));
    uint64_t end = gm_traced_event("free_requested", C, MIB(12), NULL);
    gm_traced_event("free_completed", C, MIB(12), NULL);
    gm_traced_whole(A, MIB(12), 0, NULL);
    gm_traced_whole(B, MIB(16), 0, NULL);
    gm_traced_whole(C, MIB(12), 0, NULL);
    gm_traced_whole((uint64_t)4 << 28, MIB(20), MIB(20), "weights");
    gm_traced_history();
    assert_true(gm_repeat_plan(&repeat, &traced.history, (uint32_t)first, (uint32_t)end, &alone));
    assert_int_equal(repeat.carries.n, 1);
    assert_int_equal(traced.history.born[repeat.carries.v[0].from],
                     first + 4); /* the new output takes the place of the old one */
    assert_int_equal(traced.history.born[repeat.carries.v[0].to], 2);
    assert_int_equal(gm_repeat_left_bytes(&repeat), 0);
    assert_int_equal(repeat.unmatched, 0);
    struct gm_whatif_result r = play(3, UINT64_MAX);
    for (int i = 1; i <= 4; i++) { /* 20 + 12 + 16 + 12; 20 + 12 */
        assert_int_equal(parts[i].peak_allocated, MIB(60));
        assert_int_equal(parts[i].peak_reserved, MIB(60));
        assert_int_equal(parts[i].allocated_at_end, MIB(32));
    }
    assert_int_equal(parts[5].allocated_at_end, MIB(20));
    assert_int_equal(r.stats.allocated_bytes[GM_STAT_ALL].current, MIB(20));
    assert_int_equal(r.allocs, 2 + 4 * 2); /* the weights, the first output, the steps */
    assert_int_equal(r.played, traced.history.count + 3 * (end - first));
    assert_int_equal(r.parts_played, 6);
}

/* Two steps that keep 12 MiB each; the second one frees 10 that nobody makes again. */
static void appending(uint64_t *first)
{
    make(C, MIB(10), "load");
    make(A, MIB(12), "append");
    *first = gm_traced_event("segment_alloc", B, MIB(12), "append");
    gm_traced_event("alloc", B, MIB(12), "append");
    gm_traced_free(C, MIB(10));
    gm_traced_whole(A, MIB(12), MIB(12), "append");
    gm_traced_whole(B, MIB(12), MIB(12), "append");
    gm_traced_whole(C, MIB(10), 0, NULL);
    gm_traced_history();
}

/* What the step before kept is still there when the step ends: it goes on like that. */
TEST(piles_up)
{
    uint64_t first;
    appending(&first);
    const struct gm_repeat_evidence evidence = {.before = 0};
    assert_true(gm_repeat_plan(&repeat, &traced.history, (uint32_t)first, (uint32_t)traced.history.count, &evidence));
    assert_int_equal(repeat.carries.n, 0);
    assert_int_equal(repeat.left[GM_REPEAT_PILES_UP].allocations.n, 1);
    assert_int_equal(repeat.left[GM_REPEAT_PILES_UP].bytes, MIB(12));
    assert_int_equal(gm_repeat_left_bytes(&repeat), MIB(12));
    assert_int_equal(repeat.unmatched, 1);
    assert_int_equal(repeat.unmatched_bytes, MIB(10));
    struct gm_whatif_result r = play(3, UINT64_MAX);
    for (uint64_t i = 1; i <= 4; i++)
        assert_int_equal(parts[i].allocated_at_end, MIB(12) * (i + 1));
    assert_int_equal(r.peak.reserved, MIB(10 + 5 * 12));
    assert_int_equal(r.peak.allocated, MIB(5 * 12));
    assert_int_equal(r.peak.largest_free, MIB(10));
    assert_int_equal(r.peak.event, first + 1);
    assert_int_equal(r.peak.part, 4);
    /* 53 MiB: the 10 go back for the fourth block of 12, the fifth (60) does not fit. */
    r = play(3, MIB(53));
    assert_true(r.has_failed);
    assert_int_equal(r.failure.event, first + 1);
    assert_int_equal(r.failure.active, MIB(48));
    assert_int_equal(r.parts_played, 5);
    assert_int_equal(r.stats.num_alloc_retries, 2);
}

/* The same step, and nothing is known of the one before: each turn asks for 12 MiB, and then the last ones go. If it is
 * optimizer state, no turn asks for it. */
TEST(stays)
{
    for (int lasts = 0; lasts < 2; lasts++) {
        uint64_t first;
        uint8_t role[8] = {0};
        appending(&first);
        for (size_t i = 0; i < GM_ROLE_COUNT; i++)
            if (strcmp(gm_role_name(i), lasts ? "Optimizer state" : "Activation") == 0)
                memset(role, (int)i, sizeof role);
        const struct gm_repeat_evidence evidence = {.before = GM_NEVER, .role = role};
        assert_true(
            gm_repeat_plan(&repeat, &traced.history, (uint32_t)first, (uint32_t)traced.history.count, &evidence));
        assert_int_equal(repeat.left[GM_REPEAT_PILES_UP].allocations.n, 0);
        assert_int_equal(repeat.left[lasts ? GM_REPEAT_IS_ONCE : GM_REPEAT_IS_REPLACED].bytes, MIB(12));
        struct gm_whatif_result r = play(3, UINT64_MAX);
        for (int i = 1; i <= 4; i++) {
            assert_int_equal(parts[i].allocated_at_end, MIB(24));
            assert_int_equal(parts[i].peak_allocated, i == 1 ? MIB(34) : lasts ? MIB(24) : MIB(36));
        }
        assert_int_equal(r.allocs, 3 + (lasts ? 0 : 3));
        assert_false(r.has_failed);
        gm_repeat_free(&repeat);
    }
}

/* A cache that is made anew, one row larger: 12 MiB give way to 14. Same place, other size: it stays one block. Another
 * place of 12 MiB has nothing to do with it. */
TEST(grown_cache)
{
    make(A, MIB(12), "concatenate");
    uint64_t first = gm_traced_event("segment_alloc", B, MIB(14), "concatenate");
    gm_traced_event("alloc", B, MIB(14), "concatenate");
    make(C, MIB(12), "append");
    gm_traced_free(A, MIB(12));
    gm_traced_whole(A, MIB(12), 0, NULL);
    gm_traced_whole(B, MIB(14), MIB(14), "concatenate");
    gm_traced_whole(C, MIB(12), MIB(12), "append");
    gm_traced_history();
    assert_true(gm_repeat_plan(&repeat, &traced.history, (uint32_t)first, (uint32_t)traced.history.count, &alone));
    assert_int_equal(repeat.carries.n, 1);
    assert_int_equal(gm_requested(&traced.history, repeat.carries.v[0].from), MIB(14));
    assert_int_equal(gm_requested(&traced.history, repeat.carries.v[0].to), MIB(12));
    assert_int_equal(repeat.left[GM_REPEAT_IS_REPLACED].allocations.n, 1);
    assert_int_equal(repeat.left[GM_REPEAT_IS_REPLACED].bytes, MIB(12));
    play(2, UINT64_MAX);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(parts[i].allocated_at_end, MIB(14 + 12));
}

/* A free that waits for another stream: requested in one step, completed in the next. Live are the pending block of the
 * turn before and the own one; allocated is only what is not pending. */
TEST(deferred_free)
{
    make(A, MIB(12), "send");
    gm_traced_event("free_requested", A, MIB(12), NULL);
    uint64_t first = gm_traced_event("segment_alloc", B, MIB(12), "send");
    gm_traced_event("alloc", B, MIB(12), "send");
    gm_traced_event("free_completed", A, MIB(12), NULL);
    gm_traced_event("free_requested", B, MIB(12), NULL);
    gm_traced_whole(A, MIB(12), 0, NULL);
    gm_traced_whole(B, MIB(12), 0, NULL);
    gm_traced_history();
    assert_true(gm_repeat_plan(&repeat, &traced.history, (uint32_t)first, (uint32_t)traced.history.count, &alone));
    assert_int_equal(repeat.carries.n, 1);
    assert_int_equal(gm_repeat_left_bytes(&repeat) + repeat.unmatched, 0);
    struct gm_whatif_result r = play(4, UINT64_MAX);
    assert_int_equal(r.stats.reserved_bytes[GM_STAT_ALL].peak, MIB(24));
    assert_int_equal(r.stats.active_bytes[GM_STAT_ALL].peak, MIB(24));
    assert_int_equal(r.stats.active_bytes[GM_STAT_ALL].current, MIB(12));
    assert_int_equal(r.stats.allocated_bytes[GM_STAT_ALL].peak, MIB(12));
    assert_int_equal(r.stats.allocated_bytes[GM_STAT_ALL].current, 0);
}

/* Requested bytes by class at the peak of requested bytes: 20 of class 1 (from before the trace) and 12 + 16 of 0. */
TEST(classes)
{
    struct gm_error err = {0};
    struct gm_whatif_result result;
    uint64_t now[2] = {7, 7}, at_peak[2] = {7, 7};
    uint16_t of[8] = {0};
    make(A, MIB(12), "forward");
    make(B, MIB(16), "temporary");
    gm_traced_free(B, MIB(16));
    gm_traced_whole(A, MIB(12), MIB(12), "forward");
    gm_traced_whole(B, MIB(16), 0, NULL);
    gm_traced_whole(C, MIB(20), MIB(20), "weights");
    gm_traced_history();
    for (size_t a = 0; a < traced.history.allocation_count; a++)
        of[a] = traced.history.born[a] == 0;
    const struct gm_whatif_class class = {of, 2, now, at_peak};
    struct gm_whatif_options options = {
        .conf = gm_conf_default(), .capacity = UINT64_MAX, .from_layout = true, .classes = &class, .class_count = 1};
    for (int i = 0; i < 2; i++, options.from_layout = false) {
        assert_int_equal(gm_whatif(&result, &traced.history, &options, &err), GM_OK);
        assert_int_equal(at_peak[0], MIB(28));
        assert_int_equal(at_peak[1], MIB(20));
        assert_int_equal(now[0], MIB(12));
        assert_int_equal(result.stats.requested_bytes[GM_STAT_ALL].peak, MIB(48));
    }
}
