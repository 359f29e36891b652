/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fill and verify of a replay find: overlapping blocks, a write through a stale pointer, a block that is used
 * again before others are done with it; and which kernel a class gets.
 */
#include "replay/compute/compute_work.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/unit.h"

#include <string.h>
/* after those that it needs */
struct fixture {
    struct gm_cuda *cuda;
    struct gm_work *work;
    struct gm_compute_found found;
    struct gm_compute_sums classes[2];
    struct gm_device device;
    uint64_t memory;
};

enum { BYTES = 1 << 16 };
static const uint16_t class_of[8] = {0, 1, 0, 1, 0, 1, 0, 1};
static const unsigned char kernel_of[8] = {GM_KERNEL_COPY,  GM_KERNEL_COPY,     GM_KERNEL_SOFTMAX,
                                           GM_KERNEL_ADAMW, GM_KERNEL_SOFTMAX,  GM_KERNEL_SOFTMAX,
                                           GM_KERNEL_MLP,   GM_KERNEL_EMBEDDING};

static void begin(struct fixture *f, enum gm_compute_mode mode, bool is_late)
{
    const struct fake_cuda options = {
        .memory = UINT64_C(1) << 30, .has_driver = true, .devices = 1, .is_late = is_late};
    *f = (struct fixture){0};
    fake_cuda_start(&options);
    assert_int_equal(gm_cuda_open(&f->cuda, 0, UINT64_MAX, NULL), GM_OK);
    f->device = gm_cuda_device(f->cuda);
    assert_int_equal(f->device.allocate(f->device.self, 16 * BYTES, &f->memory), GM_DEVICE_OK);
    f->found.classes = f->classes;
    const struct gm_compute_options work = {
        .cuda = f->cuda, .mode = mode, .allocation_count = 8, .class_of = class_of, .kernel_of = kernel_of};
    assert_true(gm_work_open(&f->work, &work, &f->found));
}

static void end(struct fixture *f)
{
    struct gm_cuda_left left;
    assert_true(gm_work_close(f->work));
    assert_int_equal(f->device.release(f->device.self, f->memory, 16 * BYTES), GM_DEVICE_OK);
    assert_int_equal(gm_cuda_close(f->cuda, &left, NULL), GM_OK);
    assert_int_equal(left.marks + left.scratch + left.blocks, 0);
    assert_true(fake_cuda_holds_nothing());
    fake_cuda_end();
}

static void allocate(struct fixture *f, uint32_t allocation, uint64_t offset, int64_t stream)
{
    const struct gm_compute_piece piece = {.name = f->memory + offset,
                                           .at = f->memory + offset,
                                           .bytes = BYTES,
                                           .allocation = allocation,
                                           .stream = stream};
    assert_true(gm_work_allocated(f->work, &piece));
}

static void free_at(struct fixture *f, uint32_t event, uint64_t offset)
{
    assert_true(gm_work_let_go(f->work, event, f->memory + offset, false));
    assert_true(gm_work_freed(f->work, event + 1, f->memory + offset));
}

TEST(overlap)
{
    struct fixture f;
    begin(&f, GM_COMPUTE_TOUCH, false);
    allocate(&f, 0, 0, 0);
    allocate(&f, 1, BYTES - 512, 0); /* its first 512 bytes are the other's last */
    free_at(&f, 10, BYTES - 512);
    free_at(&f, 20, 0);
    assert_true(gm_work_finish(f.work));
    assert_int_equal(f.found.mismatches, 1);
    const struct gm_compute_mismatch *m = &f.found.mismatch[0];
    assert_int_equal(m->allocation, 0);
    assert_int_equal(m->event, 20);
    assert_int_equal(m->first, BYTES - 512);
    assert_int_equal(m->words, 512 / 4);
    assert_int_equal(f.classes[0].mismatches, 1);
    assert_int_equal(f.classes[1].mismatches, 0);
    assert_int_equal(f.classes[0].verified + f.classes[1].verified, 2);
    end(&f);
}

TEST(stale_write)
{
    struct fixture f;
    begin(&f, GM_COMPUTE_TOUCH, false);
    allocate(&f, 0, 0, 0);
    memset((void *)(uintptr_t)(f.memory + 4096), 0, 8);
    assert_true(gm_work_finish(f.work)); /* it is still live */
    assert_int_equal(f.found.mismatches, 1);
    assert_true(f.found.mismatch[0].is_at_end);
    assert_int_equal(f.found.mismatch[0].first, 4096);
    assert_int_equal(f.found.mismatch[0].words, 2);
    end(&f);
}

/* Streams work as late as they may: the other stream's verify must come before the new owner's fill. */
TEST(pending)
{
    struct fixture f;
    for (int turn = 0; turn < 3; turn++) {
        begin(&f, GM_COMPUTE_TOUCH, turn > 0);
        allocate(&f, 0, 0, 5);
        assert_true(gm_work_let_go(f.work, 1, f.memory, true));
        uint64_t waiting = fake_cuda_waiting();
        void *others; /* does nothing before what it has to wait for is done */
        assert_true(gm_cuda_stream(f.cuda, GM_COMPUTE_OTHERS, &others));
        if (turn == 2)
            assert_true(gm_cuda_wait_stream(f.cuda, others));
        assert_true(gm_work_freed(f.work, 2, f.memory));
        assert_true(turn == 0 ? waiting == 0 : waiting > fake_cuda_waiting());
        allocate(&f, 1, 0, 5);
        assert_true(gm_work_finish(f.work));
        assert_int_equal(f.found.mismatches, 0);
        assert_int_equal(f.found.kernels[GM_KERNEL_VERIFY].verified, 2);
        end(&f);
    }
}

/* More verdicts than fit at once, with every kernel, on two streams. */
TEST(many)
{
    struct fixture f;
    uint64_t launches = 0;
    begin(&f, GM_COMPUTE_FULL, false);
    for (uint32_t i = 0; i < 5000; i++) {
        const struct gm_compute_piece piece = {.name = f.memory + i % 16 * BYTES,
                                               .at = f.memory + i % 16 * BYTES,
                                               .bytes = 512 + i % 7 * 48,
                                               .allocation = i % 8,
                                               .stream = i % 2};
        if (i >= 16)
            free_at(&f, i, i % 16 * BYTES);
        assert_true(gm_work_allocated(f.work, &piece));
    }
    assert_true(gm_work_finish(f.work));
    assert_int_equal(f.found.mismatches, 0);
    assert_int_equal(f.found.kernels[GM_KERNEL_VERIFY].verified, 5000);
    assert_int_equal(f.classes[0].verified, 2500);
    for (int k = GM_KERNEL_COPY; k < GM_KERNEL_COUNT; k++)
        launches += f.found.kernels[k].launches;
    assert_int_equal(launches, 5000);
    assert_int_equal(f.found.kernels[GM_KERNEL_COPY].launches, 2 * 5000 / 8);
    assert_int_equal(f.found.kernels[GM_KERNEL_FILL].launches, 2 * 5000);
    end(&f);
}

TEST(table)
{
    assert_int_equal(gm_compute_kernel("Attention", "Activation"), GM_KERNEL_ATTENTION);
    assert_int_equal(gm_compute_kernel("attention", "Optimizer state"), GM_KERNEL_ADAMW);
    assert_int_equal(gm_compute_kernel("Normalization", "Temporary"), GM_KERNEL_LAYERNORM);
    assert_int_equal(gm_compute_kernel("Loss", "Unknown"), GM_KERNEL_SOFTMAX);
    assert_int_equal(gm_compute_kernel("a user's own", "Communication buffer"), GM_KERNEL_COPY);
    assert_int_equal(gm_compute_kernel("a user's own", "Activation"), GM_KERNEL_ELEMENTWISE);
}
