/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator's model on cases worked out by hand from the rules of PyTorch's allocator; invariants after every
 * operation.
 */
#include "analyze/base/size.h"
#include "replay/allocator/allocator.h"
#include "replay/allocator/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* An allocator on a simulated device, its segments numbered as they come, its events as one letter each: a f F (alloc,
 * free_requested, free_completed), S s (segment alloc and free), M m (map, unmap), O (oom). */
struct world {
    struct gm_sim sim;
    struct gm_device device;
    struct gm_allocator_sink sink;
    struct gm_allocator a;
    uint64_t segment[16];
    size_t segments;
    char log[512];
    uint64_t oom_size, oom_free;
};

static void put(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint8_t pool, uint32_t owner)
{
    static const char letters[] = "afFSsMmO";
    struct world *w = self;
    (void)stream;
    (void)pool;
    (void)owner;
    size_t n = strlen(w->log);
    assert_true(n + 1 < sizeof w->log);
    w->log[n] = letters[event];
    if (event == GM_EVENT_SEGMENT_ALLOC)
        w->segment[w->segments++] = address;
    if (event == GM_EVENT_OOM) {
        w->oom_size = size;
        w->oom_free = address;
    }
}

static void check(const struct world *w)
{
    const char *why;
    if (!gm_allocator_check(&w->a, &why))
        fail_msg("broken: %s", why);
    assert_int_equal(w->sim.used, w->a.total);
}

static void start(struct world *w, const char *settings, uint64_t capacity)
{
    struct gm_conf conf = gm_conf_default();
    struct gm_error err = {0};
    *w = (struct world){.sim = gm_sim_init(capacity)};
    assert_int_equal(gm_conf_parse(&conf, settings, strlen(settings), &err), GM_OK);
    w->device = gm_sim_device(&w->sim);
    w->sink = (struct gm_allocator_sink){w, put};
    gm_allocator_init(&w->a, &conf, &w->device, &w->sink);
    assert_int_equal(gm_allocator_stream(&w->a, 0), 0);
}

static void end(struct world *w)
{
    gm_allocator_free(&w->a);
    gm_sim_free(&w->sim);
}

static uint32_t get_on(struct world *w, uint64_t requested, uint32_t stream)
{
    uint32_t block = gm_allocator_malloc(&w->a, requested, stream, 0, 0, 7);
    check(w);
    return block;
}

static uint32_t get(struct world *w, uint64_t requested)
{
    return get_on(w, requested, 0);
}

static void drop(struct world *w, uint32_t block)
{
    gm_allocator_free_requested(&w->a, block);
    gm_allocator_free_completed(&w->a, block);
    check(w);
}

/* The block lies in segment `segment` at `offset` and has `size` bytes. */
static void is_at(const struct world *w, uint32_t block, size_t segment, uint64_t offset, uint64_t size)
{
    assert_int_not_equal(block, GM_SPACE_NONE);
    assert_int_equal(w->a.space.blocks.v[block].address - w->segment[segment], offset);
    assert_int_equal(w->a.space.blocks.v[block].size, size);
}

static void small_pool(void **state)
{
    (void)state;
    struct world w;
    start(&w, "", UINT64_MAX);
    uint32_t first = get(&w, 1), second = get(&w, 1000), third = get(&w, GM_MIB), fourth = get(&w, GM_MIB);
    is_at(&w, first, 0, 0, 512);
    is_at(&w, second, 0, 512, 1024);
    is_at(&w, third, 0, 1536, GM_MIB);
    is_at(&w, fourth, 1, 0, GM_MIB);
    drop(&w, second);
    is_at(&w, get(&w, 512), 0, 512, 512); /* the hole is the best fit */
    is_at(&w, get(&w, 700), 0, 1050112, 1024);
    drop(&w, first);
    const struct gm_stats *s = &w.a.stats;
    assert_int_equal(s->segment[GM_STAT_ALL].current, 2);
    assert_int_equal(s->reserved_bytes[GM_STAT_SMALL_POOL].current, 2 * 2 * GM_MIB);
    assert_int_equal(s->allocated_bytes[GM_STAT_ALL].current, 512 + 1024 + 2 * GM_MIB);
    assert_int_equal(s->requested_bytes[GM_STAT_ALL].current, 512 + 700 + 2 * GM_MIB);
    /* Free: 512 and 512 and a tail in the first segment, half of the second. */
    assert_int_equal(s->inactive_split[GM_STAT_ALL].current, 4);
    assert_int_equal(s->inactive_split_bytes[GM_STAT_ALL].current, 4 * GM_MIB - (512 + 1024 + 2 * GM_MIB));
    assert_string_equal(w.log, "SaaaSafFaafF");
    end(&w);
}

static void large_pool(void **state)
{
    (void)state;
    struct world w;
    start(&w, "", UINT64_MAX);
    uint32_t a = get(&w, 3 * GM_MIB), b = get(&w, 9 * GM_MIB), c = get(&w, 7340132), d = get(&w, 12582913);
    is_at(&w, a, 0, 0, 3 * GM_MIB);
    is_at(&w, b, 0, 3145728, 9 * GM_MIB);
    is_at(&w, c, 0, 12582912, 8388608); /* 1048064 bytes are too few to split off */
    is_at(&w, d, 1, 0, 12583424);
    drop(&w, b);
    is_at(&w, get(&w, 8388609), 0, 3145728, 9437184);
    drop(&w, a);
    drop(&w, c);
    is_at(&w, get(&w, 2 * GM_MIB), 0, 0, 3145728); /* exactly 1 MiB is not split off either */
    assert_int_equal(w.a.stats.allocated_bytes[GM_STAT_LARGE_POOL].peak, 3145728 + 9437184 + 8388608 + 12583424);
    end(&w);
}

static void streams_do_not_share(void **state)
{
    (void)state;
    struct world w;
    start(&w, "", UINT64_MAX);
    uint32_t other = gm_allocator_stream(&w.a, -5);
    drop(&w, get(&w, 5 * GM_MIB));
    is_at(&w, get_on(&w, 5 * GM_MIB, other), 1, 0, 5 * GM_MIB);
    is_at(&w, get_on(&w, 5 * GM_MIB, 0), 0, 0, 5 * GM_MIB);
    uint32_t private = gm_allocator_malloc(&w.a, 5 * GM_MIB, 0, 0, 3, 0);
    is_at(&w, private, 2, 0, 5 * GM_MIB);
    end(&w);
}

static void pending_blocks(void **state)
{
    (void)state;
    struct world w;
    start(&w, "", UINT64_MAX);
    uint32_t a = get(&w, 1000), b = get(&w, 1000);
    gm_allocator_free_requested(&w.a, a);
    drop(&w, b); /* does not merge with the pending one */
    is_at(&w, get(&w, 1000), 0, 1024, 1024);
    assert_int_equal(w.a.stats.allocated_bytes[GM_STAT_ALL].current, 1024);
    assert_int_equal(w.a.stats.active_bytes[GM_STAT_ALL].current, 2048);
    gm_allocator_free_completed(&w.a, a);
    is_at(&w, get(&w, 1000), 0, 0, 1024);
    end(&w);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct world w;
    start(&w, "", 64 * GM_MIB);
    uint32_t a = get(&w, 30 * GM_MIB), b = get(&w, 1000);
    drop(&w, a);
    /* 40 MiB do not fit beside the cached 30: the cache goes back, then they do. */
    uint32_t c = get(&w, 40 * GM_MIB);
    assert_int_not_equal(c, GM_SPACE_NONE);
    assert_int_equal(w.a.stats.num_alloc_retries, 1);
    assert_int_equal(w.a.stats.num_ooms, 0);
    assert_int_equal(get(&w, 30 * GM_MIB), GM_SPACE_NONE);
    assert_int_equal(w.a.stats.num_ooms, 1);
    assert_int_equal(w.a.stats.num_alloc_retries, 2);
    assert_int_equal(w.oom_size, 30 * GM_MIB);
    assert_int_equal(w.oom_free, 22 * GM_MIB);
    assert_string_equal(w.log, "SaSafFsSaO");
    /* A retry waits for what other streams still use. */
    gm_allocator_free_requested(&w.a, c);
    assert_int_not_equal(get(&w, 50 * GM_MIB), GM_SPACE_NONE);
    assert_string_equal(w.log, "SaSafFsSaOfFsSa");
    drop(&w, b);
    assert_int_equal(gm_allocator_malloc(&w.a, UINT64_C(1) << 60, 0, 0, 0, 0), GM_SPACE_NONE);
    assert_string_equal(w.log, "SaSafFsSaOfFsSafF"); /* such a request leaves no event */
    end(&w);
}

static void memory_fraction_and_garbage(void **state)
{
    (void)state;
    struct world w;
    start(&w, "per_process_memory_fraction:0.5,garbage_collection_threshold:0.6", 200 * GM_MIB);
    /* The limit is 100 MiB, collection starts above 60. */
    uint32_t a = get(&w, 30 * GM_MIB), b = get(&w, 40 * GM_MIB);
    drop(&w, a);
    drop(&w, b);
    assert_int_equal(w.a.total, 70 * GM_MIB);
    uint32_t c = get(&w, 45 * GM_MIB); /* nothing fits: 70 > 60, and both are as old as the mean */
    assert_int_not_equal(c, GM_SPACE_NONE);
    assert_string_equal(w.log, "SaSafFfFssSa");
    assert_int_equal(w.a.total, 46 * GM_MIB);
    assert_int_equal(w.a.stats.num_alloc_retries, 0);
    /* Over the limit: the device is not even asked. */
    assert_int_equal(get(&w, 60 * GM_MIB), GM_SPACE_NONE);
    assert_int_equal(w.a.stats.num_ooms, 1);
    end(&w);
}

static void max_split_size(void **state)
{
    (void)state;
    struct world w;
    start(&w, "max_split_size_mb:50", 400 * GM_MIB);
    uint32_t a = get(&w, 100 * GM_MIB);
    drop(&w, a);
    uint32_t b = get(&w, 30 * GM_MIB); /* smaller ones do not take from oversize blocks */
    is_at(&w, b, 1, 0, 30 * GM_MIB);
    is_at(&w, get(&w, 90 * GM_MIB), 0, 0, 100 * GM_MIB); /* large ones take them whole if they waste < 20 MiB */
    end(&w);
    start(&w, "max_split_size_mb:50", 230 * GM_MIB);
    a = get(&w, 100 * GM_MIB);
    b = get(&w, 60 * GM_MIB);
    drop(&w, a);
    drop(&w, b);
    /* 130 MiB: nothing fits, 70 are left; the oversize blocks of the stream go, the largest first, until it is enough.
     */
    assert_int_not_equal(get(&w, 130 * GM_MIB), GM_SPACE_NONE);
    assert_string_equal(w.log, "SaSafFfFssSa");
    assert_int_equal(w.a.stats.num_alloc_retries, 0);
    assert_int_equal(w.a.stats.oversize_segments.current, 1);
    end(&w);
}

static void expandable_segments(void **state)
{
    (void)state;
    struct world w;
    start(&w, "expandable_segments:True", 1024 * GM_MIB);
    uint32_t a = get(&w, 5 * GM_MIB);
    uint64_t base = w.a.space.blocks.v[a].address;
    assert_int_equal(w.a.total, 20 * GM_MIB);
    uint32_t b = get(&w, 25 * GM_MIB); /* 15 MiB are free at its end: one more page */
    assert_int_equal(w.a.space.blocks.v[b].address, base + 5 * GM_MIB);
    assert_int_equal(w.a.total, 40 * GM_MIB);
    assert_int_equal(w.a.stats.segment[GM_STAT_ALL].current, 0);
    assert_int_equal(w.a.stats.inactive_split[GM_STAT_ALL].current, 0);
    uint32_t c = get(&w, 10 * GM_MIB - 512);
    assert_int_equal(w.a.space.blocks.v[c].size, 10 * GM_MIB - 512); /* 512 bytes are split off */
    uint32_t small = get(&w, 100);
    assert_int_equal(w.a.total, 42 * GM_MIB); /* a page of 2 MiB in a reservation of its own */
    assert_string_equal(w.log, "MaMaaMa");
    drop(&w, b);
    gm_allocator_empty_cache(&w.a); /* whole pages only: from 5 to 30 MiB is free, the page from 20 is c's too */
    check(&w);
    assert_int_equal(w.a.total, 42 * GM_MIB);
    drop(&w, c);
    gm_allocator_empty_cache(&w.a);
    check(&w);
    assert_int_equal(w.a.total, 22 * GM_MIB); /* the second page went, the first is a's */
    /* 18 MiB: the 15 left in the first page and the unmapped page after it. */
    uint32_t d = get(&w, 18 * GM_MIB);
    assert_int_equal(w.a.space.blocks.v[d].address, base + 5 * GM_MIB);
    drop(&w, a);
    drop(&w, d);
    drop(&w, small);
    gm_allocator_empty_cache(&w.a);
    check(&w);
    assert_int_equal(w.a.total, 0);
    assert_int_equal(w.a.reservations.n, 0);
    end(&w);
}

static void expandable_runs_full(void **state)
{
    (void)state;
    struct world w;
    start(&w, "expandable_segments:True", 50 * GM_MIB);
    uint32_t a = get(&w, 30 * GM_MIB); /* two pages of 20 MiB */
    assert_int_equal(get(&w, 20 * GM_MIB), GM_SPACE_NONE);
    assert_string_equal(w.log, "MaO"); /* the rest of the second page and one more would do, but 50 are all */
    assert_int_equal(w.a.total, 40 * GM_MIB);
    drop(&w, a);
    uint32_t b = get(&w, 40 * GM_MIB);
    assert_int_equal(w.a.space.blocks.v[b].size, 40 * GM_MIB);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_pool),           cmocka_unit_test(large_pool),
        cmocka_unit_test(streams_do_not_share), cmocka_unit_test(pending_blocks),
        cmocka_unit_test(out_of_memory),        cmocka_unit_test(memory_fraction_and_garbage),
        cmocka_unit_test(max_split_size),       cmocka_unit_test(expandable_segments),
        cmocka_unit_test(expandable_runs_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
