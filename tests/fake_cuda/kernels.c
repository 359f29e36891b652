/* SPDX-License-Identifier: Apache-2.0
 *
 * The launchers on the fake: a launch is queued on its stream and does what the CPU reference does. A launch fails as
 * any call does: its name is the kernel's.
 */
#include "kernels/launch.h"
#include "tests/fake_cuda/private.h"
#include "tests/kernels/reference.h"

#include <stdio.h>
#include <string.h>

static bool launch(const char *name, struct gm_kernel_place *place, const struct gm_kernel_job *job,
                   void (*do_it)(void *job), struct gm_kernel_error *error)
{
    int told = fake_begins(name);
    if (told == 0) {
        fake_cuda_queue(place->stream, do_it, job, sizeof *job);
        return true;
    }
    error->call = name;
    error->is_missing = told == GM_FAKE_MISSING;
    snprintf(error->name, sizeof error->name, "%s", cudaGetErrorName((cudaError_t)told));
    snprintf(error->words, sizeof error->words, "%s",
             error->is_missing ? "its library is not installed" : cudaGetErrorString((cudaError_t)told));
    return false;
}

static struct {
    uint64_t nth, offset; /* nth 0: none */
} spoil;

void fake_cuda_spoil(uint64_t nth, uint64_t offset)
{
    spoil.nth = nth;
    spoil.offset = offset;
}

static void spoil_verify(const char *name, const struct gm_kernel_job *job)
{
    if (strcmp(name, "verify") == 0 && spoil.nth > 0 && --spoil.nth == 0)
        ((unsigned char *)job->block)[spoil.offset] ^= 1;
}

/* The references are compiled without sanitizers; here they see whether all that a job names is there. */
static void touch_ends(const void *at, uint64_t bytes)
{
    const volatile unsigned char *byte = at;
    if (bytes > 0) {
        (void)byte[0];
        (void)byte[bytes - 1];
    }
}

static void touch(const struct gm_kernel_job *job)
{
    touch_ends(job->block, job->bytes);
    for (size_t i = 0; i < sizeof job->source / sizeof job->source[0]; i++)
        touch_ends(job->source[i].at, job->source[i].bytes);
    if (job->result != NULL)
        touch_ends(job->result, sizeof *job->result);
}

#define X(id, name)                                                                                                    \
    static void do_##name(void *job)                                                                                   \
    {                                                                                                                  \
        touch(job);                                                                                                    \
        spoil_verify(#name, job);                                                                                      \
        reference_##name(job);                                                                                         \
    }                                                                                                                  \
    bool gm_launch_##name(struct gm_kernel_place *place, const struct gm_kernel_job *job,                              \
                          struct gm_kernel_error *error)                                                               \
    {                                                                                                                  \
        return launch(#name, place, job, do_##name, error);                                                            \
    }
GM_KERNEL_MAP(X)
#undef X

void gm_kernel_place_end(struct gm_kernel_place *place)
{
    (void)place;
}
