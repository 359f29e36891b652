/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded streams as CUDA streams, and events.
 */
#include "analyze/base/freed.h"
#include "replay/cuda/cuda_private.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

bool gm_cuda_stream(struct gm_cuda *cuda, int64_t recorded, void **stream)
{
    uint32_t before, index = gm_map_get(&cuda->stream_of, (uint64_t)recorded);
    *stream = NULL;
    if (recorded == 0)
        return true;
    if (index != GM_MAP_NONE) {
        *stream = cuda->streams.v[index];
        return true;
    }
    cudaStream_t made = NULL;
    if (!GM_VEC_ROOM(&cuda->streams, 1))
        return gm_cuda_fail(cuda, GM_E_NOMEM, "out of host memory");
    if (!gm_cuda_ok(cuda, "cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking)))
        return false;
    cuda->streams.v[cuda->streams.n++] = made;
    if (!gm_map_put(&cuda->stream_of, (uint64_t)recorded, (uint32_t)(cuda->streams.n - 1), &before))
        return gm_cuda_fail(cuda, GM_E_NOMEM, "out of host memory");
    *stream = made;
    return true;
}

bool gm_cuda_wait_stream(struct gm_cuda *cuda, void *stream)
{
    return gm_cuda_ok(cuda, "cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

bool gm_cuda_wait(struct gm_cuda *cuda)
{
    return gm_cuda_ok(cuda, "cudaDeviceSynchronize", cudaDeviceSynchronize());
}

static bool take_mark(struct gm_cuda *c, void **event)
{
    cudaEvent_t made = NULL;
    if (c->idle_marks.n > 0) {
        *event = c->idle_marks.v[--c->idle_marks.n];
        return true;
    }
    if (!GM_VEC_ROOM(&c->events, 1) || !GM_VEC_ROOM(&c->idle_marks, c->events.n + 1))
        return gm_cuda_fail(c, GM_E_NOMEM, "out of host memory");
    if (!gm_cuda_ok(c, "cudaEventCreateWithFlags", cudaEventCreateWithFlags(&made, cudaEventDefault)))
        return false;
    c->events.v[c->events.n++] = made;
    *event = made;
    return true;
}

bool gm_cuda_mark(struct gm_cuda *cuda, void *stream, struct gm_cuda_mark *mark)
{
    mark->event = NULL;
    if (!take_mark(cuda, &mark->event))
        return false;
    if (gm_cuda_ok(cuda, "cudaEventRecord", cudaEventRecord(mark->event, stream)))
        return true;
    gm_cuda_drop_mark(cuda, *mark);
    mark->event = NULL;
    return false;
}

bool gm_cuda_wait_mark(struct gm_cuda *cuda, struct gm_cuda_mark mark)
{
    return gm_cuda_ok(cuda, "cudaEventSynchronize", cudaEventSynchronize(mark.event));
}

bool gm_cuda_stream_waits(struct gm_cuda *cuda, void *stream, struct gm_cuda_mark mark)
{
    return gm_cuda_ok(cuda, "cudaStreamWaitEvent", cudaStreamWaitEvent(stream, mark.event, 0));
}

bool gm_cuda_elapsed(struct gm_cuda *cuda, struct gm_cuda_mark from, struct gm_cuda_mark to, double *seconds)
{
    float milliseconds = 0;
    bool is_ok = gm_cuda_ok(cuda, "cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, from.event, to.event));
    *seconds = (double)milliseconds / 1000;
    return is_ok;
}

void gm_cuda_drop_mark(struct gm_cuda *cuda, struct gm_cuda_mark mark)
{
    cuda->idle_marks.v[cuda->idle_marks.n++] = mark.event;
}

void gm_cuda_streams_close(struct gm_cuda *c, struct gm_cuda_left *left)
{
    left->marks = c->events.n - c->idle_marks.n;
    for (size_t i = 0; i < c->events.n; i++)
        gm_cuda_ok(c, "cudaEventDestroy", cudaEventDestroy(c->events.v[i]));
    for (size_t i = 0; i < c->streams.n; i++)
        gm_cuda_ok(c, "cudaStreamDestroy", cudaStreamDestroy(c->streams.v[i]));
    GM_FREE_ALL(c->events.v, c->idle_marks.v, c->streams.v);
}
