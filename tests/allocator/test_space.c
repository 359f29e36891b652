/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space: invariants after every operation, and random operations beside a map of pages that is searched
 * from end to end.
 */
#include "analyze/allocator/address_space.h"
#include "analyze/base/freed.h"
#include "tests/allocator/invariants.h"
#include "tests/random_next.h"
#include "tests/unit.h"

static void assert_sound(const struct gm_space *space)
{
    const char *why;
    if (!space_is_sound(space, &why))
        fail_msg("broken: %s", why);
}

/* Worked example A of the allocator's documentation: three blocks from one segment, a hole, a fit into the hole. */
TEST(split_and_merge)
{
    GM_FREED_BY(gm_space_free) struct gm_space space = {0};
    assert_true(gm_space_keep_segments(&space));
    assert_int_equal(gm_space_map(&space, 4096, 2 << 20, 0, 0, false), GM_SPACE_OK);
    uint32_t a = gm_space_take(&space, gm_space_free_at(&space, 4096), 512, 1);
    uint32_t b = gm_space_take(&space, gm_space_free_at(&space, 4096 + 512), 1024, 2);
    uint32_t c = gm_space_take(&space, gm_space_free_at(&space, 4096 + 1536), 1 << 20, 3);
    assert_sound(&space);
    assert_int_equal(space.active, 512 + 1024 + (1 << 20));
    uint32_t tail = gm_space_free_at(&space, 4096 + 1536 + (1 << 20));
    assert_int_equal(space.blocks.v[tail].size, 1047040);
    gm_space_let_go(&space, b);
    assert_int_equal(space.pending, 1024);
    assert_int_equal(gm_space_free_at(&space, 4096 + 512), GM_SPACE_NONE); /* pending is not free */
    uint32_t hole = gm_space_release(&space, b);
    assert_int_equal(space.blocks.v[hole].size, 1024);
    assert_int_equal(space.pending, 0);
    gm_space_release(&space, a); /* merges with the hole above it */
    assert_int_equal(space.blocks.v[gm_space_free_at(&space, 4096)].size, 1536);
    assert_sound(&space);
    gm_space_release(&space, c); /* merges with both */
    assert_int_equal(space.blocks.v[gm_space_free_at(&space, 4096)].size, 2 << 20);
    assert_int_equal(gm_space_unmap(&space, 4096, 2 << 20), GM_SPACE_OK);
    assert_sound(&space);
    assert_int_equal(space.reserved, 0);
    assert_int_equal(space.ranges.n, 0);
    assert_int_equal(gm_space_map(&space, 4096, 2 << 20, 0, 0, false), GM_SPACE_OK);
    assert_int_equal(space.segments.n, 2); /* its row was used again */
    assert_int_equal(gm_space_unmap(&space, 8192, 4096), GM_SPACE_OK);
    assert_true(space.segments.v[1].is_cut); /* whose parts are nobody's to give back */
    assert_int_equal(gm_space_unmap(&space, 4096, 4096), GM_SPACE_OK);
    assert_int_equal(space.gone.n, 0);
    assert_sound(&space);
}

/* Segments that come and go at either end of the addresses cost no more each when they are many. */
TEST(many_ranges_cost_no_more_each)
{
    enum { N = 20000, UP, DOWN, BOTH, FIFO, ORDERS };
    const uint64_t page = 2 << 20;
    for (int order = UP; order < ORDERS; order++) {
        struct gm_space space = {0};
        uint64_t low = N, high = N; /* [low, high) are mapped */
        for (int i = 0; i < N; i++) {
            const bool is_below = order == DOWN || (order == BOTH && i % 2 == 0);
            const uint64_t at = is_below ? --low : high++;
            assert_int_equal(gm_space_map(&space, (at + 1) * page, page, 0, 0, 0), GM_SPACE_OK);
        }
        for (int i = 0; i < N; i++) {
            const bool is_top = order == DOWN || (order == BOTH && i % 3 == 0);
            const uint64_t at = is_top ? --high : low++;
            assert_int_equal(gm_space_unmap(&space, (at + 1) * page, page), GM_SPACE_OK);
            if (order == FIFO)
                assert_int_equal(gm_space_map(&space, (++high) * page, page, 0, 0, 0), GM_SPACE_OK);
            if (i % 1000 == 0)
                assert_sound(&space);
        }
        assert_int_equal(space.ranges.n, order == FIFO ? N : 0);
        assert_sound(&space);
        assert_in_range(space.work, 0, N);
        gm_space_free(&space);
    }
}

TEST(ranges_join_and_part)
{
    const uint64_t page = 2 << 20;
    GM_FREED_BY(gm_space_free) struct gm_space space = {0};
    assert_int_equal(gm_space_map(&space, 10 * page, page, 7, 1, true), GM_SPACE_OK);
    assert_int_equal(gm_space_map(&space, 12 * page, page, 7, 1, true), GM_SPACE_OK);
    assert_int_equal(space.ranges.n, 2);
    assert_int_equal(gm_space_map(&space, 11 * page, page, 7, 1, true), GM_SPACE_OK); /* fills the gap: one range */
    assert_int_equal(space.ranges.n, 1);
    assert_int_equal(gm_space_map(&space, 13 * page, page, 8, 1, true), GM_SPACE_OK);  /* another stream */
    assert_int_equal(gm_space_map(&space, 14 * page, page, 8, 2, true), GM_SPACE_OK);  /* another pool */
    assert_int_equal(gm_space_map(&space, 15 * page, page, 8, 2, false), GM_SPACE_OK); /* a cudaMalloc */
    assert_int_equal(space.ranges.n, 4);
    assert_sound(&space);
    assert_int_equal(gm_space_map(&space, 12 * page + 512, 512, 7, 1, true), GM_SPACE_CONFLICT);
    assert_int_equal(gm_space_map(&space, 9 * page, 2 * page, 7, 1, true), GM_SPACE_CONFLICT);
    assert_int_equal(gm_space_map(&space, UINT64_MAX - 512, 1024, 7, 1, true), GM_SPACE_CONFLICT);
    assert_int_equal(gm_space_map(&space, 99 * page, UINT64_MAX, 7, 1, true), GM_SPACE_CONFLICT);
    assert_int_equal(gm_space_map(&space, 99 * page, 0, 7, 1, true), GM_SPACE_CONFLICT);
    /* A live block at the front, its page stays; the middle page goes. */
    uint32_t block = gm_space_take(&space, gm_space_free_at(&space, 10 * page), 512, 0);
    assert_int_equal(gm_space_unmap(&space, 10 * page, page), GM_SPACE_CONFLICT);
    assert_int_equal(gm_space_unmap(&space, 11 * page, page), GM_SPACE_OK);
    assert_int_equal(space.ranges.n, 5);
    assert_int_equal(gm_space_range_of(&space, 11 * page), GM_SPACE_NONE);
    assert_int_equal(gm_space_block_of(&space, 10 * page + 511), block);
    assert_sound(&space);
    assert_int_equal(gm_space_map(&space, 11 * page, page, 7, 1, true), GM_SPACE_OK);
    assert_int_equal(space.ranges.n, 4);
    assert_int_equal(space.blocks.v[gm_space_free_at(&space, 10 * page + 512)].size, 3 * page - 512);
    assert_sound(&space);
}

TEST(sizes_learnt_later)
{
    GM_FREED_BY(gm_space_free) struct gm_space space = {0};
    assert_true(gm_space_keep_segments(&space));
    gm_space_map(&space, 1 << 20, 1 << 20, 0, 0, false);
    uint32_t a = gm_space_take(&space, gm_space_free_at(&space, 1 << 20), 4096, 0);
    uint32_t b = gm_space_take(&space, gm_space_free_at(&space, (1 << 20) + 4096), 8192, 1);
    assert_int_equal(gm_space_resize(&space, a, 8192), GM_SPACE_CONFLICT); /* b is in the way */
    assert_int_equal(gm_space_resize(&space, a, 1024), GM_SPACE_OK);
    assert_int_equal(space.blocks.v[gm_space_free_at(&space, (1 << 20) + 1024)].size, 3072);
    assert_sound(&space);
    assert_int_equal(gm_space_resize(&space, a, 4096), GM_SPACE_OK); /* takes exactly the hole */
    assert_sound(&space);
    assert_int_equal(gm_space_resize(&space, b, (1 << 20) - 4096), GM_SPACE_OK); /* up to the end of the range */
    assert_sound(&space);
    assert_int_equal(space.active, 1 << 20);
    assert_int_equal(gm_space_resize(&space, b, 512), GM_SPACE_OK); /* the last block of the range */
    assert_sound(&space);
}

/* ---- random operations ------------------------------------------------------------------------------------------- */

enum { UNITS = 600, STEPS = 60000, OWNERS = 200 };
enum { UNMAPPED, FREE, USED }; /* of a unit of 512 bytes; a used one is USED + its owner */

struct naive {
    int unit[UNITS];
    int stream[UNITS];
    uint32_t block[OWNERS];
};

static uint64_t address_of(int unit)
{
    return UINT64_C(0x7f0000000000) + (uint64_t)unit * 512;
}

static void compare(struct gm_space *space, const struct naive *n)
{
    uint64_t reserved = 0, active = 0;
    for (int u = 0; u < UNITS; u++) {
        reserved += n->unit[u] != UNMAPPED ? 512 : 0;
        active += n->unit[u] >= USED ? 512 : 0;
        /* A free block begins where a free unit follows one that is not, or one of another stream's range. */
        bool begins = n->unit[u] == FREE && (u == 0 || n->unit[u - 1] != FREE || n->stream[u - 1] != n->stream[u]);
        uint32_t block = gm_space_free_at(space, address_of(u));
        assert_int_equal(block != GM_SPACE_NONE, begins);
        int end = u;
        while (begins && end < UNITS && n->unit[end] == FREE && n->stream[end] == n->stream[u])
            end++;
        if (begins)
            assert_int_equal(space->blocks.v[block].size, 512 * (end - u));
    }
    assert_int_equal(space->reserved, reserved);
    assert_int_equal(space->active, active);
}

static void random_map(struct gm_space *space, struct naive *n, int from, int count, int stream, bool is_map)
{
    bool fits = true;
    if (is_map) {
        for (int u = from; u < from + count; u++)
            fits &= n->unit[u] == UNMAPPED;
        assert_int_equal(gm_space_map(space, address_of(from), (uint64_t)count * 512, (uint32_t)stream, 0, true),
                         fits ? GM_SPACE_OK : GM_SPACE_CONFLICT);
    } else {
        for (int u = from; u < from + count; u++)
            fits &= n->unit[u] == FREE && n->stream[u] == n->stream[from];
        assert_int_equal(gm_space_unmap(space, address_of(from), (uint64_t)count * 512),
                         fits ? GM_SPACE_OK : GM_SPACE_CONFLICT);
    }
    for (int u = from; fits && u < from + count; u++) {
        n->unit[u] = is_map ? FREE : UNMAPPED;
        n->stream[u] = is_map ? stream : -1;
    }
}

static void random_take(struct gm_space *space, struct naive *n, int at, int count, uint32_t owner)
{
    uint32_t block = gm_space_free_at(space, address_of(at));
    if (block == GM_SPACE_NONE || n->block[owner] != GM_SPACE_NONE ||
        space->blocks.v[block].size < (uint64_t)count * 512)
        return;
    n->block[owner] = gm_space_take(space, block, (uint64_t)count * 512, owner);
    for (int u = at; u < at + count; u++)
        n->unit[u] = USED + (int)owner;
}

static void random_release(struct gm_space *space, struct naive *n, uint32_t owner)
{
    if (n->block[owner] == GM_SPACE_NONE)
        return;
    assert_int_equal(space->blocks.v[n->block[owner]].owner, owner);
    gm_space_release(space, n->block[owner]);
    n->block[owner] = GM_SPACE_NONE;
    for (int u = 0; u < UNITS; u++)
        if (n->unit[u] == USED + (int)owner)
            n->unit[u] = FREE;
}

TEST(random_operations)
{
    static struct naive n;
    GM_FREED_BY(gm_space_free) struct gm_space space = {0};
    uint64_t random = 88172645463325252U;
    for (int u = 0; u < UNITS; u++)
        n.stream[u] = -1;
    for (int i = 0; i < OWNERS; i++)
        n.block[i] = GM_SPACE_NONE;
    for (int i = 0; i < STEPS; i++) {
        int at = (int)(random_next(&random) % UNITS), count = 1 + (int)(random_next(&random) % 12);
        uint32_t owner = (uint32_t)(random_next(&random) % OWNERS);
        count = at + count > UNITS ? UNITS - at : count;
        unsigned what = (unsigned)(random_next(&random) % 10);
        if (what < 2)
            random_map(&space, &n, at, count, (int)(random_next(&random) % 2), true);
        else if (what < 3)
            random_map(&space, &n, at, count, 0, false);
        else if (what < 7)
            random_take(&space, &n, at, count, owner);
        else
            random_release(&space, &n, owner);
        if (i % 16 == 0) {
            assert_sound(&space);
            compare(&space, &n);
        }
        if (i % 16 < 8) { /* nobody asked yet */
            gm_map_free(&space.free_starts);
            space.has_no_starts = true;
        }
    }
}
