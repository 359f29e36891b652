/* SPDX-License-Identifier: Apache-2.0
 *
 * The ordered set of free blocks beside an array that is searched from end to end.
 */
#include "replay/model/free_set.h"
#include "tests/random_next.h"
#include "tests/unit.h"

enum { SIZES = 30, ADDRESSES = 40, STEPS = 100000 };

static bool is_there[SIZES][ADDRESSES];

/* Ages come before addresses, which are in the other order here. */
static struct gm_free_entry entry_of(int i)
{
    return (struct gm_free_entry){(uint64_t)(i / ADDRESSES), (uint64_t)(ADDRESSES - i % ADDRESSES),
                                  (uint32_t)(i % ADDRESSES), (uint32_t)i};
}

/* The first entry from (size, age) on, in order of size, then age; -1 if there is none. */
static int first_from(int size, int address)
{
    for (int i = size * ADDRESSES + address; i < SIZES * ADDRESSES; i++)
        if (is_there[i / ADDRESSES][i % ADDRESSES])
            return i;
    return -1;
}

static void check_walk(const struct gm_free_set *set)
{
    size_t n = 0;
    int at = 0;
    struct gm_free_place place = gm_free_set_first(set), last = place;
    for (; place.entry != NULL; gm_free_set_next(set, &place), n++) {
        at = first_from(at / ADDRESSES, at % ADDRESSES);
        assert_int_equal(place.entry->size * ADDRESSES + place.entry->age, at);
        assert_int_equal(place.entry->block, at);
        at++;
        last = place;
    }
    assert_int_equal(n, set->count);
    place = gm_free_set_last(set);
    assert_ptr_equal(place.entry, last.entry);
    for (; place.entry != NULL; gm_free_set_prev(set, &place))
        n--;
    assert_int_equal(n, 0);
}

TEST(random_operations)
{
    struct gm_free_set set = {0};
    uint64_t random = 88172645463325252U;
    for (int i = 0; i < STEPS; i++) {
        int size = (int)(random_next(&random) % SIZES), address = (int)(random_next(&random) % ADDRESSES);
        bool *there = &is_there[size][address];
        const struct gm_free_entry entry = entry_of(size * ADDRESSES + address);
        /* Mostly growing, then mostly shrinking, so that chunks split and vanish. */
        bool puts = random_next(&random) % 10 < ((i / 20000) % 2 == 0 ? 7U : 3U);
        if (puts && !*there) {
            assert_true(gm_free_set_insert(&set, &entry));
            *there = true;
        } else if (!puts) {
            assert_int_equal(gm_free_set_remove(&set, &entry), *there);
            *there = false;
        }
        int from = first_from(size, address);
        struct gm_free_place place = gm_free_set_from(&set, &entry);
        assert_int_equal(place.entry == NULL, from < 0);
        if (from >= 0)
            assert_int_equal(place.entry->block, from);
        from = first_from(size, 0);
        place = gm_free_set_fit(&set, (uint64_t)size);
        assert_int_equal(place.entry == NULL ? -1 : (int)place.entry->block, from);
        const int to = (int)(random_next(&random) % (SIZES * ADDRESSES));
        if (from >= 0 && !is_there[to / ADDRESSES][to % ADDRESSES]) {
            const struct gm_free_entry other = entry_of(to);
            assert_true(gm_free_set_change(&set, &place, &other));
            is_there[from / ADDRESSES][from % ADDRESSES] = false;
            is_there[to / ADDRESSES][to % ADDRESSES] = true;
        }
        if (i % 500 == 0)
            check_walk(&set);
    }
    gm_free_set_clear(&set);
    assert_int_equal(set.count, 0);
    assert_null(gm_free_set_first(&set).entry);
    assert_null(gm_free_set_last(&set).entry);
}
