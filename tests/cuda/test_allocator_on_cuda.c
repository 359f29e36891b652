/* SPDX-License-Identifier: Apache-2.0
 *
 * The caching allocator on the CUDA device: random operations give the same events as on the simulated device, place by
 * place, and every block can be filled and holds what was put into it until it is freed.
 */
#include "analyze/base/size.h"
#include "kernels/kernels.h"
#include "replay/cuda/cuda.h"
#include "replay/model/allocator.h"
#include "replay/model/sim.h"
#include "tests/allocator/invariants.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/unit.h"

#include <string.h>

#define MEMORY (96 * GM_MIB)
enum { MOST = 128, OPERATIONS = 1500, SOME = 16384 };

struct event {
    enum gm_allocator_event kind;
    uint64_t address, size;
};
struct side {
    struct gm_allocator a;
    struct gm_device device;
    struct gm_allocator_sink sink;
    uint32_t block[MOST];
    struct event log[64];
    size_t events;
};

static void put(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint32_t pool, uint32_t owner)
{
    struct side *s = self;
    (void)stream;
    (void)pool;
    (void)owner;
    assert_true(s->events < 64);
    s->log[s->events++] = (struct event){event, address, size};
}

static void start(struct side *s, const char *settings, struct gm_device device)
{
    struct gm_conf conf = gm_conf_default();
    memset(s, 0, sizeof *s);
    assert_int_equal(gm_conf_parse(&conf, settings, strlen(settings), NULL, NULL), GM_OK);
    s->device = device;
    s->sink = (struct gm_allocator_sink){s, put};
    gm_allocator_init(&s->a, &conf, &s->device, &s->sink);
    for (uint32_t stream = 0; stream < 3; stream++)
        assert_int_equal(gm_allocator_stream(&s->a, stream * 16), stream);
    memset(s->block, 0xff, sizeof s->block);
}

/* Both devices give out the lowest address in one range for segments and another for reservations: they differ by one
 * constant each, which the first event shows. */
static void same_events(struct side *x, struct side *y, uint64_t *shift)
{
    assert_int_equal(x->events, y->events);
    for (size_t i = 0; i < x->events; i++) {
        assert_int_equal(x->log[i].kind, y->log[i].kind);
        assert_int_equal(x->log[i].size, y->log[i].size);
        if (x->log[i].kind != GM_EVENT_OOM && *shift == 0)
            *shift = x->log[i].address - y->log[i].address;
        /* Reservations are a constant size and a gap apart on the simulated device; the fake does alike. */
        assert_int_equal(x->log[i].address - y->log[i].address, x->log[i].kind == GM_EVENT_OOM ? 0 : *shift);
    }
    x->events = y->events = 0;
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

/* Fills (or verifies) the beginning of a slot's block, on the device: all of it would take minutes. */
static void use(struct side *s, int slot, enum gm_kernel_id what, uint64_t most, struct gm_kernel_result *result)
{
    uint32_t block = s->block[slot];
    uint64_t bytes = s->a.requested.v[block];
    struct gm_kernel_place place = {0};
    struct gm_kernel_error error;
    struct gm_kernel_job job = {.block = (void *)(uintptr_t)s->a.space.blocks.v[block].address,
                                .bytes = bytes < most ? bytes : most,
                                .key = (uint64_t)slot,
                                .result = result};
    assert_true(gm_kernels[what].launch(&place, &job, &error));
}

static uint32_t ask(struct side *x, uint64_t size, uint32_t stream, int slot)
{
    return gm_allocator_malloc(&x->a, size, stream, gm_allocator_home_of(&x->a, 0, 0), (uint32_t)slot);
}

static void operate(struct side *x, struct side *y, uint64_t *random, struct gm_kernel_result *result)
{
    int slot = (int)random_below(random, MOST);
    uint64_t what = random_below(random, 200);
    if (what == 0) {
        gm_allocator_empty_cache(&x->a);
        gm_allocator_empty_cache(&y->a);
    } else if (x->block[slot] == GM_SPACE_NONE) {
        uint64_t sizes[] = {1 + random_below(random, 4096), 1 + random_below(random, GM_MIB),
                            1 + random_below(random, 24 * GM_MIB)};
        uint64_t size = sizes[random_below(random, 3)];
        uint32_t stream = (uint32_t)random_below(random, 3);
        x->block[slot] = ask(x, size, stream, slot);
        y->block[slot] = ask(y, size, stream, slot);
        if (x->block[slot] != GM_SPACE_NONE)
            use(x, slot, GM_KERNEL_FILL, SOME, NULL);
    } else {
        use(x, slot, GM_KERNEL_VERIFY, SOME, result);
        gm_allocator_free_requested(&x->a, x->block[slot]);
        gm_allocator_free_requested(&y->a, y->block[slot]);
        gm_allocator_free_completed(&x->a, x->block[slot]);
        gm_allocator_free_completed(&y->a, y->block[slot]);
        x->block[slot] = y->block[slot] = GM_SPACE_NONE;
    }
    assert_int_equal(x->block[slot] == GM_SPACE_NONE, y->block[slot] == GM_SPACE_NONE);
    assert_false(x->a.has_failed);
}

static void run(const char *settings, uint64_t seed)
{
    struct fake_cuda options = {.memory = 256 * GM_MIB, .has_driver = true, .devices = 1};
    static struct side on_cuda, on_sim;
    GM_FREED_BY(gm_sim_free) struct gm_sim sim = gm_sim_init(MEMORY, GM_PLACE_LOW);
    struct gm_cuda *cuda;
    struct gm_cuda_left left;
    struct gm_kernel_result result = {0, GM_KERNEL_NOWHERE};
    uint64_t shift = 0;
    const char *why;
    fake_cuda_start(&options);
    assert_int_equal(gm_cuda_open(&cuda, 0, MEMORY, NULL), GM_OK);
    start(&on_cuda, settings, gm_cuda_device(cuda));
    start(&on_sim, settings, gm_sim_device(&sim));
    for (int i = 0; i < OPERATIONS; i++) {
        operate(&on_cuda, &on_sim, &seed, &result);
        same_events(&on_cuda, &on_sim, &shift);
        assert_int_equal(fake_cuda_held().bytes, on_cuda.a.total);
    }
    assert_true(on_cuda.a.stats.num_ooms > 0 && on_cuda.a.stats.num_alloc_retries > 0);
    assert_memory_equal(&on_cuda.a.stats, &on_sim.a.stats, sizeof on_sim.a.stats);
    if (!allocator_is_sound(&on_cuda.a, &why))
        fail_msg("%s", why);
    assert_int_equal(result.mismatches, 0);
    assert_int_equal(gm_cuda_failure(cuda)->status, GM_OK);
    gm_allocator_free(&on_cuda.a);
    gm_allocator_free(&on_sim.a);
    uint64_t held = fake_cuda_held().bytes;
    assert_int_equal(gm_cuda_close(cuda, &left, NULL), GM_OK);
    assert_int_equal(left.block_bytes + left.page_bytes, held);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}

TEST(segments)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        run("", seed);
}

TEST(expandable)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        run("expandable_segments:True", seed);
}

/* A stray write into a live block is found, and where. */
TEST(overwritten)
{
    struct fake_cuda options = {.memory = 256 * GM_MIB, .has_driver = true, .devices = 1};
    static struct side side;
    struct gm_cuda *cuda;
    fake_cuda_start(&options);
    assert_int_equal(gm_cuda_open(&cuda, 0, UINT64_MAX, NULL), GM_OK);
    start(&side, "", gm_cuda_device(cuda));
    for (int slot = 0; slot < 3; slot++) {
        side.block[slot] = ask(&side, 1000003, 0, 0);
        use(&side, slot, GM_KERNEL_FILL, UINT64_MAX, NULL);
    }
    unsigned char *bytes = (unsigned char *)(uintptr_t)side.a.space.blocks.v[side.block[1]].address;
    bytes[777] ^= 1;
    bytes[1000002] ^= 128;
    for (int slot = 0; slot < 3; slot++) {
        struct gm_kernel_result result = {0, GM_KERNEL_NOWHERE};
        use(&side, slot, GM_KERNEL_VERIFY, UINT64_MAX, &result);
        assert_int_equal(result.mismatches, slot == 1 ? 2 : 0);
        assert_int_equal(result.first, slot == 1 ? 776 : GM_KERNEL_NOWHERE);
    }
    gm_allocator_free(&side.a);
    gm_cuda_close(cuda, NULL, NULL);
    fake_cuda_end();
}
