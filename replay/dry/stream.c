/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, events, captures and graphs. Work is done as soon as it is asked for; when that is seen: event_progress.c.
 */
#include "replay/dry/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

struct capture {
    bool is_active;
    unsigned long long id;
    struct capture *before; /* all stay: streams, events and graphs know them */
};

struct stream {
    struct capture *capture;
    int priority, device;
    unsigned flags;
    unsigned polls; /* since it had nothing to do */
};

struct event {
    struct capture *capture;
    size_t stream;
    uint64_t mark; /* 0: not recorded */
    unsigned polls;
    struct dry_clock *clock;
};

/* At a fixed address, so that two runs give the same handles: programs keep them in hash tables. */
static struct stream *streams;
static struct dry_clock *clocks[DRY_STREAMS]; /* of each */
static size_t stream_count = 1;               /* the first is the default stream, by whatever handle */
static struct capture *last_capture;

static bool make_streams(void)
{
    if (streams != NULL)
        return true;
    const uintptr_t address = 0x3f0000000000;
    void *wish = NULL;
    memcpy(&wish, &address, sizeof wish);
    void *got = mmap(wish, DRY_STREAMS * sizeof *streams, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    streams = got == MAP_FAILED ? NULL : got;
    return streams != NULL;
}

/* Handles 0, 1 and 2 are the default stream: the legacy one and that of the thread. */
static struct stream *stream_of(void *handle)
{
    static struct stream none;
    dry_lock();
    const bool is_there = make_streams();
    dry_unlock();
    return (uintptr_t)handle > 2 ? handle : is_there ? &streams[0] : &none;
}

static struct capture *capture_of(const struct stream *stream)
{
    return stream->capture != NULL && stream->capture->is_active ? stream->capture : NULL;
}

static int create(void **handle, unsigned flags, int priority)
{
    int error = DRY_NO_MEMORY;
    dry_lock();
    if (make_streams() && stream_count < DRY_STREAMS) {
        struct stream *stream = &streams[stream_count++];
        *stream = (struct stream){.priority = priority, .device = dry_current(), .flags = flags};
        *handle = stream;
        error = DRY_OK;
    }
    dry_unlock();
    return dry_result(error);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

API_IS(int, cudaStreamCreate, create(stream, 0, 0), void **stream)
API_IS(int, cudaStreamCreateWithFlags, create(stream, flags, 0), void **stream, unsigned flags)

API(int, cudaStreamCreateWithPriority, void **stream, unsigned flags, int priority)
{
    return create(stream, flags,
                  priority > LEAST_PRIORITY      ? LEAST_PRIORITY
                  : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                                                 : priority);
}

API_IS(int, cuStreamCreate, create(stream, flags, 0), void **stream, unsigned flags)

/* Its handle is not used again. */
API_IS(int, cudaStreamDestroy, DRY_OK, void *stream)
API_IS(int, cuStreamDestroy_v2, DRY_OK, void *stream)

API(int, cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    if (least != NULL)
        *least = LEAST_PRIORITY;
    if (greatest != NULL)
        *greatest = GREATEST_PRIORITY;
    return DRY_OK;
}

API_IS(int, cuCtxGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange(least, greatest), int *least, int *greatest)
API_SETS(cudaStreamGetPriority, *priority, stream_of(stream)->priority, void *stream, int *priority)
API_SETS(cudaStreamGetFlags, *flags, stream_of(stream)->flags, void *stream, unsigned *flags)
API_SETS(cudaStreamGetDevice, *device, (uintptr_t)stream > 2 ? stream_of(stream)->device : dry_current(), void *stream,
         int *device)
API_SETS(cudaStreamGetId, *id, (uintptr_t)stream > 2 ? (unsigned long long)(stream_of(stream) - streams) : 0,
         void *stream, unsigned long long *id)

static size_t line_of(const struct stream *stream)
{
    return streams != NULL && stream >= streams && stream < streams + DRY_STREAMS ? (size_t)(stream - streams) : 0;
}

struct dry_clock **dry_stream_clock(void *stream)
{
    return &clocks[line_of(stream_of(stream))];
}

/* Waiting while the stream is captured breaks the capture; asking does, too. */
static int wait_for(void *stream)
{
    const struct stream *s = stream_of(stream);
    if (capture_of(s) != NULL)
        return dry_result(DRY_CAPTURE);
    dry_wait(line_of(s), UINT64_MAX);
    dry_order_reach(dry_stream_clock(stream));
    return DRY_OK;
}

/* Not ready is no error that stays. */
static int ask_for(void *stream)
{
    struct stream *s = stream_of(stream);
    if (capture_of(s) != NULL)
        return dry_result(DRY_CAPTURE);
    if (!dry_is_reached(line_of(s), dry_last_mark(line_of(s)), &s->polls))
        return DRY_NOT_READY;
    s->polls = 0;
    return DRY_OK;
}

API_IS(int, cudaStreamQuery, ask_for(stream), void *stream)
API_IS(int, cudaStreamSynchronize, wait_for(stream), void *stream)
API_IS(int, cuStreamQuery, ask_for(stream), void *stream)
API_IS(int, cuStreamSynchronize, wait_for(stream), void *stream)

API(int, cudaDeviceSynchronize, void)
{
    dry_wait_all();
    dry_order_reach_all();
    return DRY_OK;
}

API_IS(int, cudaDeviceReset, DRY_OK, void)

API(int, cudaLaunchHostFunc, void *stream, void (*function)(void *), void *data)
{
    if (capture_of(stream_of(stream)) == NULL)
        function(data);
    return DRY_OK;
}

API(int, cudaStreamAddCallback, void *stream, void (*function)(void *, int, void *), void *data, unsigned flags)
{
    function(stream, DRY_OK, data);
    return DRY_OK;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static int create_event(void **event)
{
    *event = calloc(1, sizeof(struct event));
    return *event == NULL ? dry_result(DRY_NO_MEMORY) : DRY_OK;
}

static int destroy_event(struct event *event)
{
    if (event != NULL)
        free(event->clock);
    free(event);
    return DRY_OK;
}

/* A stream that waits for an event of a captured stream is captured with it. */
static int record(struct event *event, void *stream)
{
    const struct stream *s = stream_of(stream);
    event->capture = capture_of(s);
    event->stream = line_of(s);
    event->mark = event->capture == NULL ? dry_mark(event->stream) : 0;
    event->polls = 0;
    dry_order_record(&event->clock, dry_stream_clock(stream));
    return DRY_OK;
}

API_IS(int, cudaEventCreate, create_event(event), void **event)
API_IS(int, cudaEventCreateWithFlags, create_event(event), void **event, unsigned flags)
API_IS(int, cuEventCreate, create_event(event), void **event, unsigned flags)
API_IS(int, cudaEventDestroy, destroy_event(event), void *event)
API_IS(int, cuEventDestroy_v2, destroy_event(event), void *event)
API_IS(int, cudaEventRecord, record(event, stream), void *event, void *stream)
API_IS(int, cudaEventRecordWithFlags, record(event, stream), void *event, void *stream, unsigned flags)
API_IS(int, cuEventRecord, record(event, stream), void *event, void *stream)

static int ask_event(struct event *event)
{
    return dry_is_reached(event->stream, event->mark, &event->polls) ? DRY_OK : DRY_NOT_READY;
}

static int wait_event(const struct event *event)
{
    dry_wait(event->stream, event->mark);
    dry_order_reach(&event->clock);
    return DRY_OK;
}

API_IS(int, cudaEventQuery, ask_event(event), void *event)
API_IS(int, cudaEventSynchronize, wait_event(event), void *event)
API_IS(int, cuEventQuery, ask_event(event), void *event)
API_IS(int, cuEventSynchronize, wait_event(event), void *event)
API_SETS(cudaEventElapsedTime, *milliseconds, 1, float *milliseconds, void *from, void *to)
API_SETS(cudaEventElapsedTime_v2, *milliseconds, 1, float *milliseconds, void *from, void *to)
API_SETS(cuEventElapsedTime, *milliseconds, 1, float *milliseconds, void *from, void *to)

struct shared_event {
    char unused[64];
};

/* Another process's event is complete. */
API(int, cudaIpcGetEventHandle, struct shared_event *handle, void *event)
{
    memset(handle, 0, sizeof *handle);
    return DRY_OK;
}

API_IS(int, cudaIpcOpenEventHandle, create_event(event), void **event, struct shared_event handle)

API(int, cudaStreamWaitEvent, void *stream, struct event *event, unsigned flags)
{
    struct stream *s = stream_of(stream);
    if (event->capture != NULL && event->capture->is_active)
        s->capture = event->capture;
    else
        dry_depend(line_of(s), event->stream, event->mark);
    dry_order_wait(dry_stream_clock(stream), &event->clock);
    return DRY_OK;
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

static struct capture *new_capture(bool is_active)
{
    struct capture *capture = malloc(sizeof *capture);
    if (capture == NULL)
        return NULL;
    dry_lock();
    *capture = (struct capture){is_active, last_capture == NULL ? 1 : last_capture->id + 1, last_capture};
    last_capture = capture;
    dry_unlock();
    return capture;
}

static int begin(void *stream)
{
    struct stream *s = stream_of(stream);
    struct capture *capture = capture_of(s) == NULL ? new_capture(true) : NULL;
    if (capture == NULL)
        return dry_result(DRY_CAPTURE);
    s->capture = capture;
    return DRY_OK;
}

API_IS(int, cudaStreamBeginCapture, begin(stream), void *stream, int mode)
API_IS(int, cudaStreamBeginCaptureToGraph, begin(stream), void *stream, void *graph, const void *dependencies,
       const void *data, size_t count, int mode)

/* The capture is the graph. */
API(int, cudaStreamEndCapture, void *stream, void **graph)
{
    struct stream *s = stream_of(stream);
    struct capture *capture = capture_of(s);
    if (capture == NULL)
        return dry_result(DRY_CAPTURE);
    capture->is_active = false;
    s->capture = NULL;
    *graph = capture;
    return DRY_OK;
}

API_SETS(cudaStreamIsCapturing, *status, capture_of(stream_of(stream)) != NULL, void *stream, int *status)
API_IS(int, cuStreamIsCapturing, cudaStreamIsCapturing(stream, status), void *stream, int *status)

struct capture_info {
    int *status;
    unsigned long long *id;
    void **graph;
    const void **dependencies, **edges;
    size_t *count;
};

static int tell_capture(void *stream, struct capture_info info)
{
    struct capture *capture = capture_of(stream_of(stream));
    *info.status = capture != NULL;
    if (info.id != NULL)
        *info.id = capture != NULL ? capture->id : 0;
    if (info.graph != NULL)
        *info.graph = capture;
    if (info.dependencies != NULL)
        *info.dependencies = NULL;
    if (info.edges != NULL)
        *info.edges = NULL;
    if (info.count != NULL)
        *info.count = 0;
    return DRY_OK;
}

API_OF("libcudart.so.12", int, dry_capture_info_12, cudaStreamGetCaptureInfo, void *stream, int *status,
       unsigned long long *id)
{
    return tell_capture(stream, (struct capture_info){.status = status, .id = id});
}

API_IS(int, cudaStreamGetCaptureInfo_v2,
       tell_capture(stream, (struct capture_info){status, id, graph, dependencies, NULL, count}), void *stream,
       int *status, unsigned long long *id, void **graph, const void **dependencies, size_t *count)
API_IS(int, cudaStreamGetCaptureInfo_v3,
       tell_capture(stream, (struct capture_info){status, id, graph, dependencies, edges, count}), void *stream,
       int *status, unsigned long long *id, void **graph, const void **dependencies, const void **edges, size_t *count)

API_OF("libcudart.so.13", int, dry_capture_info_13, cudaStreamGetCaptureInfo, void *stream, int *status,
       unsigned long long *id, void **graph, const void **dependencies, const void **edges, size_t *count)
{
    return tell_capture(stream, (struct capture_info){status, id, graph, dependencies, edges, count});
}

API(int, cudaThreadExchangeStreamCaptureMode, int *mode)
{
    static _Thread_local int current; /* cudaStreamCaptureModeGlobal */
    const int before = current;
    current = *mode;
    *mode = before;
    return DRY_OK;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

API(int, cudaGraphCreate, void **graph, unsigned flags)
{
    *graph = new_capture(false);
    return *graph == NULL ? dry_result(DRY_NO_MEMORY) : DRY_OK;
}

API_SETS(cudaGraphInstantiate, *executable, graph, void **executable, void *graph, unsigned long long flags)
API_IS(int, cudaGraphInstantiateWithFlags, cudaGraphInstantiate(executable, graph, flags), void **executable,
       void *graph, unsigned long long flags)

API(int, cudaGraphLaunch, void *executable, void *stream)
{
    dry_count_launch();
    return DRY_OK;
}

API_IS(int, cudaGraphDestroy, DRY_OK, void *graph)
API_IS(int, cudaGraphExecDestroy, DRY_OK, void *executable)

/* One node, so that nobody takes it for an empty graph. */
API(int, cudaGraphGetNodes, void *graph, void **nodes, size_t *count)
{
    if (nodes != NULL)
        nodes[0] = graph;
    *count = 1;
    return DRY_OK;
}

enum { KERNEL_NODE = 0 };

API_SETS(cudaGraphNodeGetType, *type, KERNEL_NODE, void *node, int *type)

/* That of CUDA 13 has one more parameter in between. */
API_OF("libcudart.so.12", int, dry_dependencies_12, cudaGraphNodeGetDependencies, void *node, void **others,
       size_t *count)
{
    *count = 0;
    return DRY_OK;
}

API_OF("libcudart.so.13", int, dry_dependencies_13, cudaGraphNodeGetDependencies, void *node, void **others,
       void *edges, size_t *count)
{
    *count = 0;
    return DRY_OK;
}

API_SETS(cudaDeviceGetGraphMemAttribute, *value, 0, int device, int attribute, uint64_t *value)

/* It lives as long as the process. */
API_SETS(cudaUserObjectCreate, *object, dry_handle(), void **object, void *data, void (*destroy)(void *),
         unsigned references, unsigned flags)
