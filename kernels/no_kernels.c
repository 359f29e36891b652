/* SPDX-License-Identifier: Apache-2.0
 *
 * The launchers of a build without a CUDA toolkit.
 */
#include "kernels/launch.h"

static bool refuse(struct gm_kernel_error *error)
{
    *error = (struct gm_kernel_error){"launch", "no toolkit", "built without CUDA", true};
    return false;
}

#define X(id, name)                                                                                                    \
    bool gm_launch_##name(struct gm_kernel_place *place, const struct gm_kernel_job *job,                              \
                          struct gm_kernel_error *error)                                                               \
    {                                                                                                                  \
        (void)place;                                                                                                   \
        (void)job;                                                                                                     \
        return refuse(error);                                                                                          \
    }
GM_KERNEL_MAP(X)
#undef X

void gm_kernel_place_end(struct gm_kernel_place *place)
{
    (void)place;
}
