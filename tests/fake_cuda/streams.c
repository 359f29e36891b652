/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events. Late streams keep their work until somebody waits, so that a program that forgets to wait is
 * found out: what it reads is not there yet, what it unmaps is still in use.
 */
#include "tests/fake_cuda/private.h"

#include <stdlib.h>
#include <string.h>

struct work {
    struct work *next;
    struct CUstream_st *stream;
    void (*do_it)(void *data);
    struct CUevent_st *record, *wait; /* or one of these */
    uint64_t serial;                  /* of the record that it is, or waits for */
    unsigned char data[];
};
struct CUstream_st {
    struct CUstream_st *next;
};
struct CUevent_st {
    struct CUevent_st *next;
    uint64_t recorded, passed; /* serials */
    uint64_t tick;
};
static struct CUstream_st *streams;
static struct CUevent_st *events;
static struct work *queue, **queue_end = &queue; /* of all streams, in order */
static uint64_t serial, ticks;

static struct work *push(struct CUstream_st *stream, size_t size)
{
    struct work *w = calloc(1, sizeof *w + size);
    if (w == NULL)
        abort();
    w->stream = stream;
    *queue_end = w;
    queue_end = &w->next;
    return w;
}

static void do_stream(struct CUstream_st *stream, const struct CUevent_st *until, uint64_t serial_of_it);

/* The first work of a stream; false: it has none. */
static bool do_one(struct CUstream_st *stream)
{
    struct work **at = &queue;
    while (*at != NULL && (*at)->stream != stream)
        at = &(*at)->next;
    struct work *w = *at;
    if (w == NULL)
        return false;
    *at = w->next;
    if (queue_end == &w->next)
        queue_end = at;
    if (w->wait != NULL && w->wait->passed < w->serial)
        for (struct work *other = queue; other != NULL; other = other->next)
            if (other->record == w->wait && other->serial == w->serial) {
                do_stream(other->stream, w->wait, w->serial);
                break;
            }
    if (w->record != NULL) {
        w->record->passed = w->serial;
        w->record->tick = ++ticks;
    }
    if (w->do_it != NULL)
        w->do_it(w->data);
    free(w);
    return true;
}

static void do_stream(struct CUstream_st *stream, const struct CUevent_st *until, uint64_t serial_of_it)
{
    while ((until == NULL || until->passed < serial_of_it) && do_one(stream))
        continue;
}

void fake_do_all(void)
{
    while (queue != NULL)
        do_one(queue->stream);
}

static void is_queued(struct CUstream_st *stream)
{
    if (!fake.is_late)
        do_stream(stream, NULL, 0);
}

void fake_cuda_queue(void *stream, void (*do_it)(void *data), const void *data, size_t size)
{
    struct work *w = push(stream, size);
    w->do_it = do_it;
    memcpy(w->data, data, size);
    is_queued(stream);
}

uint64_t fake_cuda_waiting(void)
{
    uint64_t n = 0;
    for (const struct work *w = queue; w != NULL; w = w->next)
        n++;
    return n;
}

void fake_streams_end(void)
{
    while (queue != NULL) {
        struct work *w = queue;
        queue = w->next;
        free(w);
    }
    queue_end = &queue;
    while (streams != NULL) {
        struct CUstream_st *next = streams->next;
        free(streams);
        streams = next;
    }
    while (events != NULL) {
        struct CUevent_st *next = events->next;
        free(events);
        events = next;
    }
    serial = ticks = 0;
}

void fake_streams_held(struct fake_cuda_held *held)
{
    for (const struct CUstream_st *s = streams; s != NULL; s = s->next)
        held->streams++;
    for (const struct CUevent_st *e = events; e != NULL; e = e->next)
        held->events++;
}

static bool is_stream(const struct CUstream_st *stream)
{
    const struct CUstream_st *s = streams;
    while (s != NULL && s != stream)
        s = s->next;
    return stream == NULL || s != NULL;
}

static bool is_event(const struct CUevent_st *event)
{
    const struct CUevent_st *e = events;
    while (e != NULL && e != event)
        e = e->next;
    return e != NULL;
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return fake_returns(cudaErrorInvalidResourceHandle);                                                       \
    } while (0)

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FAKE_BEGIN();
    if (flags != cudaStreamNonBlocking) /* the fake's default stream waits for no other */
        return fake_returns(cudaErrorInvalidValue);
    struct CUstream_st *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->next = streams;
    *stream = streams = made;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    FAKE_BEGIN();
    CHECK(stream != NULL && is_stream(stream));
    do_stream(stream, NULL, 0);
    struct CUstream_st **at = &streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FAKE_BEGIN();
    CHECK(is_stream(stream));
    do_stream(stream, NULL, 0);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    FAKE_BEGIN();
    fake_do_all();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    FAKE_BEGIN();
    CHECK(is_stream(stream) && is_event(event) && flags == 0);
    struct work *w = push(stream, 0);
    w->wait = event;
    w->serial = event->recorded;
    is_queued(stream);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    FAKE_BEGIN();
    CHECK(flags == cudaEventDefault);
    struct CUevent_st *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->next = events;
    *event = events = made;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    FAKE_BEGIN();
    CHECK(is_event(event));
    for (const struct work *w = queue; w != NULL; w = w->next)
        CHECK(w->record != event && w->wait != event); /* the real one would put it off */
    struct CUevent_st **at = &events;
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FAKE_BEGIN();
    CHECK(is_event(event) && is_stream(stream));
    struct work *w = push(stream, 0);
    w->record = event;
    w->serial = event->recorded = ++serial;
    is_queued(stream);
    return cudaSuccess;
}

/* Each question lets the GPU do one thing, so that asking on and on ends. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    FAKE_BEGIN();
    CHECK(is_event(event));
    if (event->passed >= event->recorded)
        return cudaSuccess;
    if (queue != NULL)
        do_one(queue->stream);
    return fake_returns(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    FAKE_BEGIN();
    CHECK(is_event(event));
    while (event->passed < event->recorded && queue != NULL)
        do_one(queue->stream);
    return cudaSuccess;
}

/* A millisecond for each event that passed. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    FAKE_BEGIN();
    CHECK(is_event(from) && is_event(to));
    if (from->passed < from->recorded || to->passed < to->recorded)
        return fake_returns(cudaErrorNotReady);
    *milliseconds = (float)(to->tick - from->tick);
    return cudaSuccess;
}

struct copy {
    void *to;
    const void *from;
    size_t size;
};

static void do_copy(void *data)
{
    const struct copy *c = data;
    memcpy(c->to, c->from, c->size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    FAKE_BEGIN();
    CHECK(is_stream(stream) && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost));
    struct copy c = {to, from, size};
    fake_cuda_queue(stream, do_copy, &c, sizeof c);
    return cudaSuccess;
}
