/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading ahead in a thread: a ring of buffers between one producer, which reads and decompresses, and one consumer,
 * which decodes. The consumer works in the buffers themselves; each has room in front for the few bytes that the one
 * before left over, so nothing else is copied.
 */
#include "analyze/formats/source_filter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4, SLOT_BYTES = 512 << 10, HEAD_BYTES = 128 << 10 };

struct slot {
    unsigned char *data; /* HEAD_BYTES of room, then SLOT_BYTES */
    size_t length;
    enum gm_status status; /* what follows these bytes, if it is_last */
    struct gm_error error;
    bool is_last;
};

struct ahead {
    struct gm_source inner; /* the producer's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*meanwhile)(void *); /* NULL: nothing; with `asked` under lock */
    void *asked;
    size_t produced, consumed; /* slots, under lock; slot i lives at slots[i % SLOTS] */
    bool is_stopped;           /* under lock */
    bool is_holding;           /* the consumer's: its window is slots[consumed % SLOTS] */
    struct slot slots[SLOTS];
};

/* ---- producer --------------------------------------------------------------------------------------------------- */

static void fill_slot(struct gm_source *inner, struct slot *slot)
{
    unsigned char *out = slot->data + HEAD_BYTES;
    size_t left = (size_t)(inner->end - inner->p); /* what was read before the thread began */
    slot->length = left < SLOT_BYTES ? left : SLOT_BYTES;
    memcpy(out, inner->p, slot->length);
    inner->p += slot->length;
    slot->status = GM_OK;
    slot->is_last = false;
    while (slot->length < SLOT_BYTES && !slot->is_last) {
        size_t got = 0;
        if (!inner->at_end)
            slot->status = inner->read(inner->state, out + slot->length, SLOT_BYTES - slot->length, &got, &slot->error);
        slot->is_last = slot->status != GM_OK || got == 0;
        slot->length += slot->status == GM_OK ? got : 0;
    }
}

static void do_meanwhile(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    void (*meanwhile)(void *) = a->produced - a->consumed == SLOTS ? a->meanwhile : NULL;
    void *asked = a->asked;
    pthread_mutex_unlock(&a->lock);
    if (meanwhile != NULL)
        meanwhile(asked);
}

static void *produce(void *argument)
{
    struct ahead *a = argument;
    bool is_last = false;
    while (!is_last) {
        do_meanwhile(a);
        pthread_mutex_lock(&a->lock);
        while (!a->is_stopped && a->produced - a->consumed == SLOTS)
            pthread_cond_wait(&a->changed, &a->lock);
        bool is_stopped = a->is_stopped;
        struct slot *slot = &a->slots[a->produced % SLOTS];
        pthread_mutex_unlock(&a->lock);
        if (is_stopped)
            break;
        fill_slot(&a->inner, slot);
        is_last = slot->is_last;
        pthread_mutex_lock(&a->lock);
        a->produced++;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

/* ---- consumer --------------------------------------------------------------------------------------------------- */

/* Waits for the slot after the one in use. Whatever of that one is still needed has to be saved before release(). */
static struct slot *next_slot(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    size_t next = a->consumed + (a->is_holding ? 1 : 0);
    while (a->produced == next)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return &a->slots[next % SLOTS];
}

static void release(struct ahead *a)
{
    if (a->is_holding) {
        pthread_mutex_lock(&a->lock);
        a->consumed++;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    a->is_holding = true;
}

/* The next buffer is the window: nothing is copied but what was left of the one before. */
static enum gm_status thread_more(struct gm_source *source, size_t want, struct gm_error *err)
{
    struct ahead *a = source->state;
    if (want > HEAD_BYTES)
        return gm_fail(err, GM_E_INTERNAL, gm_source_offset(source), "%zu bytes wanted at once", want);
    size_t have = (size_t)(source->end - source->p);
    while (have < want && !source->at_end) {
        const struct slot *held = &a->slots[a->consumed % SLOTS];
        if (a->is_holding && held->is_last) {
            if (held->status != GM_OK) {
                if (err != NULL)
                    *err = held->error;
                return held->status;
            }
            source->at_end = true;
            break;
        }
        struct slot *slot = next_slot(a);
        unsigned char *start = slot->data + HEAD_BYTES - have;
        if (have > 0)
            memcpy(start, source->p, have);
        source->p = start;
        source->end = slot->data + HEAD_BYTES + slot->length;
        source->end_offset += slot->length;
        release(a);
        have += slot->length;
    }
    return GM_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static void release_memory(struct ahead *a)
{
    for (size_t i = 0; i < SLOTS; i++)
        free(a->slots[i].data);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static void thread_close(void *state)
{
    struct ahead *a = state;
    pthread_mutex_lock(&a->lock);
    a->is_stopped = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    gm_source_free(&a->inner);
    release_memory(a);
}

static struct ahead *ahead_new(void)
{
    struct ahead *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    pthread_mutex_init(&a->lock, NULL); /* neither can fail with default attributes on Linux */
    pthread_cond_init(&a->changed, NULL);
    for (size_t i = 0; i < SLOTS; i++) {
        a->slots[i].data = malloc(HEAD_BYTES + SLOT_BYTES);
        if (a->slots[i].data == NULL) {
            release_memory(a);
            return NULL;
        }
    }
    return a;
}

void gm_source_thread_meanwhile(struct gm_source *source, void (*meanwhile)(void *), void *asked)
{
    struct ahead *a = source->state;
    if (source->more != thread_more)
        return;
    pthread_mutex_lock(&a->lock);
    a->meanwhile = meanwhile;
    a->asked = asked;
    pthread_mutex_unlock(&a->lock);
}

void gm_source_open_thread(struct gm_source *source, struct gm_source *inner)
{
    struct gm_source moved = *inner;
    *inner = (struct gm_source){0};
    *source = moved;
    struct ahead *a = moved.read != NULL && !moved.at_end ? ahead_new() : NULL;
    if (a == NULL)
        return;
    a->inner = moved;
    if (pthread_create(&a->thread, NULL, produce, a) != 0) {
        release_memory(a);
        return;
    }
    uint64_t offset = gm_source_offset(&moved);
    *source = (struct gm_source){.end_offset = offset,
                                 .window_size = 2 * (size_t)HEAD_BYTES,
                                 .more = thread_more,
                                 .close = thread_close,
                                 .state = a};
    source->p = source->end = a->slots[0].data;
}
