/* SPDX-License-Identifier: Apache-2.0
 *
 * The real thing, on whatever machine this is: it opens and closes a GPU, or says what is missing.
 */
#include "kernels/kernels.h"
#include "replay/cuda/cuda.h"
#include "tests/unit.h"

#include <string.h>

TEST(open)
{
    struct gm_cuda *cuda;
    struct gm_cuda_left left;
    struct gm_error err = {0};
    enum gm_status status = gm_cuda_open(&cuda, 0, UINT64_MAX, &err);
    if (status == GM_OK) {
        assert_true(gm_cuda_info(cuda)->total_bytes > 0);
        assert_int_equal(gm_cuda_close(cuda, &left, &err), GM_OK);
        return;
    }
    assert_int_equal(gm_status_exit_code(status), 4);
    assert_null(cuda);
    assert_int_equal(strncmp(err.message, GM_TEST_WORDS, strlen(GM_TEST_WORDS)), 0);
    assert_int_equal(gm_cuda_close(NULL, NULL, NULL), GM_OK);
}

/* Without a device every launch fails, and says why; none crashes. */
TEST(launch)
{
    struct gm_kernel_place place = {0};
    struct gm_cuda *cuda;
    static float block[1024];
    if (gm_cuda_open(&cuda, 0, UINT64_MAX, NULL) == GM_OK) {
        gm_cuda_close(cuda, NULL, NULL); /* host memory is nothing for a real one */
        return;
    }
    for (int i = 0; i < GM_KERNEL_COUNT; i++) {
        struct gm_kernel_result result = {0, GM_KERNEL_NOWHERE};
        struct gm_kernel_job job = {.block = block, .bytes = sizeof block, .result = &result};
        struct gm_kernel_error error = {0};
        assert_false(gm_kernels[i].launch(&place, &job, &error));
        assert_non_null(error.call);
        assert_true(error.name[0] != '\0' && error.words[0] != '\0');
    }
    gm_kernel_place_end(&place);
}
