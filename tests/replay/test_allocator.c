/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of PyTorch's allocator, each as a case of three lines: settings, operations, the expected state; all of it
 * worked out by hand. The invariants are checked after every operation.
 *
 * Operations (a to z are blocks, sizes are bytes with K, M, G and + - of bytes):
 *   a=5M  a=5M@1  a=5M#3   malloc on stream 0, on stream 1, in the private pool 3
 *   -a    ~a  +a           free; its first part only; its second part
 *   empty empty#3          empty_cache(), of one pool
 *   retire#3               nobody uses the private pool 3 any more
 *   whole#3 custom#3       it never splits a block; it has an allocator of its own
 *   set:TEXT               other settings while it runs
 *
 * State: S (cudaMalloc) or E (expandable) and what is mapped, pool and stream if not the default ones, then its blocks
 * from below: their letters, with ? while a free waits, and . for a free one. Then the events: a f F (alloc,
 * free_requested, free_completed), S s (segment_alloc, segment_free), M m (map, unmap), O (oom). Then counters.
 */
#include "analyze/base/size.h"
#include "replay/model/allocator.h"
#include "replay/model/sim.h"
#include "tests/allocator/invariants.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *rule; /* the section of the rules, and which one */
    const char *settings;
    uint64_t mib; /* of the device; 0: unlimited */
    const char *operations, *state, *events, *counters;
};

static const struct test tests[] = {
#include "tests/replay/allocator_cases.h"
};

struct world {
    struct gm_sim sim;
    struct gm_device device;
    struct gm_allocator_sink sink;
    struct gm_allocator a;
    uint32_t block[26];
    char log[256];
};

static void put(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint32_t pool, uint32_t owner)
{
    static const char letters[] = "afFSsMmO";
    struct world *w = self;
    (void)address;
    (void)size;
    (void)stream;
    (void)pool;
    (void)owner;
    size_t n = strlen(w->log);
    assert_true(n + 1 < sizeof w->log);
    w->log[n] = letters[event];
}

static void set(struct gm_conf *conf, const char *text, size_t length)
{
    struct gm_error err = {0};
    size_t mark = *text == '+' || *text == '*';
    if (mark > 0)
        conf->ties = *text == '+' ? GM_TIES_OLDEST_SEGMENT : GM_TIES_OLDEST_BLOCK;
    if (gm_conf_parse(conf, text + mark, length - mark, NULL, &err) != GM_OK)
        fail_msg("%s", err.message);
}

static void start(struct world *w, const struct test *t)
{
    struct gm_conf conf = gm_conf_default();
    *w = (struct world){.sim = gm_sim_init(t->mib == 0 ? UINT64_MAX : t->mib * GM_MIB, GM_PLACE_LOW)};
    set(&conf, t->settings, strlen(t->settings));
    w->device = gm_sim_device(&w->sim);
    w->sink = (struct gm_allocator_sink){w, put};
    gm_allocator_init(&w->a, &conf, &w->device, &w->sink);
    for (uint32_t s = 0; s < 4; s++) /* handles that as unsigned numbers come in another order: 0, 2, 3, 1 */
        assert_int_equal(gm_allocator_stream(&w->a, s == 1 ? -5 : (int64_t)s * 16), s);
}

static uint64_t size_of(const char **text)
{
    uint64_t total = 0;
    char sign = '+';
    for (;;) {
        uint64_t n = strtoull(*text, (char **)(uintptr_t)text, 10);
        static const char units[] = "KMG";
        const char *unit = **text != '\0' ? strchr(units, **text) : NULL;
        if (unit != NULL) {
            n <<= 10 * (unit - units + 1);
            ++*text;
        }
        total = sign == '+' ? total + n : total - n;
        if (**text != '+' && **text != '-')
            return total;
        sign = *(*text)++;
    }
}

/* name=SIZE[@STREAM][#POOL] */
static void do_malloc(struct world *w, const char *op)
{
    const char *at = op + 2;
    uint64_t size = size_of(&at);
    uint32_t stream = *at == '@' ? (uint32_t)strtoul(at + 1, (char **)(uintptr_t)&at, 10) : 0;
    uint64_t pool = *at == '#' ? strtoull(at + 1, NULL, 10) : 0;
    w->block[op[0] - 'a'] =
        gm_allocator_malloc(&w->a, size, stream, gm_allocator_home_of(&w->a, 0, pool), (uint32_t)(op[0] - 'a'));
}

static void make_custom(struct world *w, uint32_t pool)
{
    w->a.pools.v[pool].is_custom = true;
}

static bool begins(const char *op, const char *word)
{
    return strncmp(op, word, strlen(word)) == 0;
}

static void operate(struct world *w, const char *op)
{
    const char *number = strchr(op, '#');
    uint64_t pool = number == NULL ? 0 : strtoull(number + 1, NULL, 10);
    if (begins(op, "set:"))
        set(&w->a.conf, op + 4, strlen(op + 4));
    else if (begins(op, "empty#"))
        gm_allocator_empty_pool(&w->a, 0, pool);
    else if (begins(op, "empty"))
        gm_allocator_empty_cache(&w->a);
    else if (begins(op, "retire#"))
        gm_allocator_set_freeable(&w->a, gm_allocator_home_of(&w->a, 0, pool), true);
    else if (begins(op, "whole#"))
        gm_allocator_never_split(&w->a, gm_allocator_home_of(&w->a, 0, pool));
    else if (begins(op, "custom#"))
        make_custom(w, gm_allocator_pool_of(&w->a, 0, pool, false));
    else if (op[0] == '-')
        gm_allocator_free_completed(&w->a, w->block[op[1] - 'a']);
    else if (op[0] == '~')
        gm_allocator_free_requested(&w->a, w->block[op[1] - 'a']);
    else if (op[0] == '+')
        gm_allocator_free_completed(&w->a, w->block[op[1] - 'a']);
    else if (op[1] == '=')
        do_malloc(w, op);
    else
        fail_msg("no such operation: %s", op);
}

static void add_size(char *out, size_t room, uint64_t size)
{
    size_t n = strlen(out);
    if (size % GM_MIB == 0)
        snprintf(out + n, room - n, "%" PRIu64 "M", size / GM_MIB);
    else if (size % 1024 == 0)
        snprintf(out + n, room - n, "%" PRIu64 "K", size / 1024);
    else
        snprintf(out + n, room - n, "%" PRIu64, size);
}

static void describe(const struct world *w, char *out, size_t room)
{
    out[0] = '\0';
    for (size_t i = 0; i < w->a.space.ranges.n; i++) {
        const struct gm_space_range *range = &w->a.space.ranges.v[i];
        const struct gm_space_block *last = &w->a.space.blocks.v[range->last];
        const struct gm_allocator_pool *pool = &w->a.pools.v[last->pool];
        uint32_t block = range->last;
        snprintf(out + strlen(out), room - strlen(out), "%s%c", i == 0 ? "" : " ", last->is_expandable ? 'E' : 'S');
        add_size(out, room, range->size);
        if (pool->id_second != 0)
            snprintf(out + strlen(out), room - strlen(out), "#%" PRIu64, pool->id_second);
        if (last->stream != 0)
            snprintf(out + strlen(out), room - strlen(out), "@%" PRIu32, last->stream);
        while (w->a.space.blocks.v[block].prev != GM_SPACE_NONE)
            block = w->a.space.blocks.v[block].prev;
        for (bool is_first = true; block != GM_SPACE_NONE; block = w->a.space.blocks.v[block].next, is_first = false) {
            const struct gm_space_block *b = &w->a.space.blocks.v[block];
            snprintf(out + strlen(out), room - strlen(out), "%c%c%s", is_first ? '[' : ' ',
                     b->use == GM_SPACE_FREE ? '.' : (char)('a' + b->owner), b->use == GM_SPACE_PENDING ? "?" : "");
            add_size(out, room, b->size);
        }
        snprintf(out + strlen(out), room - strlen(out), "]");
    }
}

/* NAME, NAME.peak, NAME.small and so on; the names of memory_stats(). */
static int64_t counter(const struct gm_stats *s, const char *name)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"num_alloc_retries", s->num_alloc_retries},       {"num_ooms", s->num_ooms},
                   {"num_sync_all_streams", s->num_sync_all_streams}, {"num_device_alloc", s->num_device_alloc},
                   {"num_device_free", s->num_device_free},           {"max_split_size", s->max_split_size}};
    const struct {
        const char *name;
        const struct gm_stat *stat;
    } stats[] = {
#define X(name) {#name, s->name},
        GM_STAT_MAP(X)
#undef X
            {"oversize_allocations", &s->oversize_allocations},
        {"oversize_segments", &s->oversize_segments}};
    size_t length = strcspn(name, ".");
    const char *part = name + length;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return numbers[i].value;
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        if (strlen(stats[i].name) != length || strncmp(name, stats[i].name, length) != 0)
            continue;
        const struct gm_stat *stat = stats[i].stat;
        if (strcmp(part, ".small") == 0)
            return stat[GM_STAT_SMALL_POOL].current;
        if (strcmp(part, ".large") == 0)
            return stat[GM_STAT_LARGE_POOL].current;
        return strcmp(part, ".peak") == 0        ? stat->peak
               : strcmp(part, ".allocated") == 0 ? stat->allocated
               : strcmp(part, ".freed") == 0     ? stat->freed
                                                 : stat->current;
    }
    fail_msg("no such counter: %s", name);
    return 0;
}

static bool counts(const struct test *t, const struct gm_stats *s)
{
    bool is_right = true;
    char all[512], *save = NULL;
    snprintf(all, sizeof all, "%s", t->counters == NULL ? "" : t->counters);
    for (char *word = strtok_r(all, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        bool is_negative = *value == '-';
        const char *at = value + is_negative;
        int64_t should = (int64_t)size_of(&at);
        should = is_negative ? -should : should;
        if (counter(s, word) == should)
            continue;
        print_error("%s: %s is %" PRId64 ", should be %s\n", t->rule, word, counter(s, word), value);
        is_right = false;
    }
    return is_right;
}

/* One case; false, and said why, if it comes out differently. */
static bool holds(const struct test *t)
{
    GM_FREED struct world *w = malloc(sizeof *w);
    char all[512], found[1024], *save = NULL;
    const char *why;
    assert_non_null(w);
    start(w, t);
    snprintf(all, sizeof all, "%s", t->operations);
    for (char *op = strtok_r(all, " ", &save); op != NULL; op = strtok_r(NULL, " ", &save)) {
        operate(w, op);
        if (!allocator_is_sound(&w->a, &why) || w->sim.used != w->a.total)
            fail_msg("%s: after %s: %s", t->rule, op, why == NULL ? "the device has given something else" : why);
    }
    describe(w, found, sizeof found);
    bool is_right = strcmp(found, t->state) == 0 && (t->events == NULL || strcmp(w->log, t->events) == 0);
    if (!is_right)
        print_error("%s\n  is        %s  %s\n  should be %s  %s\n", t->rule, found, w->log, t->state,
                    t->events == NULL ? "" : t->events);
    is_right = counts(t, &w->a.stats) && is_right;
    gm_allocator_free(&w->a);
    gm_sim_free(&w->sim);
    return is_right;
}

TEST(every_rule)
{
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        wrong += !holds(&tests[i]);
    assert_int_equal(wrong, 0);
}

/* What --verify and a what-if from the recorded layout begin with. */
TEST(adopted)
{
    static const struct test t = {.settings = "max_split_size_mb:30"};
    GM_FREED struct world *w = malloc(sizeof *w);
    const char *why;
    char found[256];
    assert_non_null(w);
    start(w, &t);
    uint32_t large = gm_allocator_pool_of(&w->a, 0, 0, false);
    assert_true(gm_allocator_adopt_segment(&w->a, GM_GIB, 20 * GM_MIB, 0, large, false));
    assert_true(gm_allocator_adopt_segment(&w->a, 2 * GM_GIB, 40 * GM_MIB, 0, large, false));
    w->sim.used = w->a.total;
    assert_int_not_equal(gm_allocator_adopt_block(&w->a, GM_GIB + 3 * GM_MIB, 2 * GM_MIB, 5, 0, false), GM_SPACE_NONE);
    assert_int_not_equal(gm_allocator_adopt_block(&w->a, GM_GIB + 8 * GM_MIB, 12 * GM_MIB, 6, 1, true), GM_SPACE_NONE);
    assert_int_not_equal(gm_allocator_adopt_block(&w->a, 2 * GM_GIB, 40 * GM_MIB, 7, 2, false), GM_SPACE_NONE);
    if (!allocator_is_sound(&w->a, &why))
        fail_msg("%s", why);
    describe(w, found, sizeof found);
    assert_string_equal(found, "S20M[.3M a2M .3M b?12M] S40M[c40M]");
    assert_int_equal(w->a.stats.inactive_split[GM_STAT_ALL].current, 2);
    assert_int_equal(w->a.stats.inactive_split_bytes[GM_STAT_ALL].current, 6 * GM_MIB);
    assert_int_equal(w->a.stats.oversize_segments.current, 1);
    assert_int_equal(w->a.stats.oversize_allocations.current, 1);
    gm_allocator_free(&w->a);
    gm_sim_free(&w->sim);
}

/* Section 17: reserved_bytes_by_private_pools. */
TEST(bytes_of_pools)
{
    static const struct test t = {.settings = ""};
    GM_FREED struct world *w = malloc(sizeof *w);
    assert_non_null(w);
    start(w, &t);
    operate(w, "a=1000#3");
    operate(w, "b=30M#3");
    operate(w, "c=5M");
    assert_int_equal(w->a.pools.v[gm_allocator_pool_of(&w->a, 0, 3, true)].reserved, 2 * GM_MIB);
    assert_int_equal(w->a.pools.v[gm_allocator_pool_of(&w->a, 0, 3, false)].reserved, 30 * GM_MIB);
    assert_int_equal(w->a.pools.v[gm_allocator_pool_of(&w->a, 0, 0, false)].reserved, 20 * GM_MIB);
    gm_allocator_free(&w->a);
    gm_sim_free(&w->sim);
}

/* Free blocks that a request steps over are work: callers bound what a hostile trace may ask for. */
TEST(stepping_over_is_work)
{
    enum { HOLES = 1000 };
    static const struct test t = {.settings = ""};
    GM_FREED struct world *w = malloc(sizeof *w);
    assert_non_null(w);
    start(w, &t);
    uint32_t small = gm_allocator_pool_of(&w->a, 0, 0, true);
    assert_true(gm_allocator_adopt_segment(&w->a, 64 * GM_GIB, HOLES * 2 * GM_MIB, 0, small, true));
    for (uint64_t i = 0; i < HOLES; i++)
        assert_int_not_equal(gm_allocator_adopt_block(&w->a, 64 * GM_GIB + i * 2 * GM_MIB, GM_MIB, GM_MIB, 0, false),
                             GM_SPACE_NONE);
    uint64_t before = w->a.space.work;
    operate(w, "a=1000");
    assert_true(w->a.space.work - before >= HOLES);
    gm_allocator_free(&w->a);
    gm_sim_free(&w->sim);
}

/* Ids that would all be found in one place if a file could know where: no chain of pools is longer than an id's two. */
TEST(ids_cannot_be_chosen_to_collide)
{
    GM_FREED_BY(gm_sim_free) struct gm_sim sim = gm_sim_init(UINT64_MAX, GM_PLACE_LOW);
    struct gm_device device = gm_sim_device(&sim);
    const struct gm_conf conf = gm_conf_default();
    struct gm_allocator a;
    gm_allocator_init(&a, &conf, &device, NULL);
    for (uint64_t i = 1; i <= 1000; i++)
        for (int is_small = 0; is_small < 2; is_small++) {
            uint32_t p = gm_allocator_pool_of(&a, 77 ^ i * UINT64_C(0x9e3779b97f4a7c15), i, is_small != 0);
            unsigned length = 0;
            for (; p != GM_MAP_NONE; p = a.pools.v[p].next)
                length++;
            assert_in_range(length, 1, 2);
        }
    gm_allocator_free(&a);
}
