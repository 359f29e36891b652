/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL: ranks in the processes of one run. A collective returns at once, as on a card. What a rank knows of what it
 * sends it says to the others (exchange.c); what it is to get is a promise, kept when the host looks (values.c). So
 * shapes, sizes and objects that ranks tell each other are the true ones, tensors that kernels made are not known, and
 * nobody waits where a real program would not. When the host waits for a stream it waits for the other ranks, too
 * (order.c), as barriers need.
 *
 * One rank of a job whose others are not there (--world-size) takes them to send what it sends itself.
 */
#include "replay/dry/private.h"

#include "analyze/base/freed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { NCCL_OK = 0, NCCL_CUDA_ERROR = 1, NCCL_SYSTEM_ERROR = 2, NCCL_INVALID = 4, NCCL_VERSION = 22809 };
enum { NAME_BYTES = 16, NAME = 48 };

struct nccl_id {
    unsigned char bytes[128];
};

/* A way to or from one other rank, for send and recv. */
struct pair {
    struct dry_way *way;
    uint64_t turns;
    int peer;
    bool is_ours;
    struct pair *next;
};

/* They stay: promises know them. */
struct dry_communicator {
    int ranks, rank, device;
    size_t place;          /* among all of this process */
    char name[NAME];       /* the same in all its ranks */
    struct dry_way **ways; /* of the ranks, opened when they are needed */
    struct pair *pairs;
    uint64_t turn, met, charged; /* collectives; that all have come to; bytes */
    unsigned parts;              /* that were split off */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of what is opened and read, not held while waiting */
static struct dry_communicator *all[DRY_COMMUNICATORS];
static size_t communicator_count;

bool dry_is_alone(void)
{
    return getenv("GMDRY_WORLD_SIZE") != NULL;
}

static const char *words(int status)
{
    return status == NCCL_OK ? "no error" : "error (of gmdry's stand-in)";
}

API_IS(const char *, ncclGetErrorString, words(status), int status)
API_IS(const char *, ncclGetLastError, "", void *communicator)
API_SETS(ncclGetVersion, *version, NCCL_VERSION, int *version)

/* ---- its memory -------------------------------------------------------------------------------------------------- */

/* NCCL's buffers, by the sizes in its source (2.2x, device.h): eight steps for each of three protocols: LL 512 KiB,
 * LL128 4,800 KiB, Simple 4 MiB (NCCL_BUFFSIZE). One set for each channel and each neighbour, which is one of two ranks
 * and two of more, in rings and chains. Channels: 24 where cards have NVLink, else 2, as logs of such machines tell.
 * Not in it: NVLS, networks, and the buffers of send and recv. */
static uint64_t buffers_of(const struct dry_communicator *c)
{
    const uint64_t ll = UINT64_C(512) << 10, ll128 = UINT64_C(4800) << 10;
    const char *size = getenv("NCCL_BUFFSIZE"), *most = getenv("NCCL_MAX_NCHANNELS");
    const struct dry_card *card = dry_card();
    const bool has_nvlink = card->minor == 0 && card->major >= 7 && card->major <= 10;
    uint64_t channels = has_nvlink ? 24 : 2;
    const uint64_t simple = size != NULL && atoll(size) > 0 ? (uint64_t)atoll(size) : UINT64_C(4) << 20;
    if (most != NULL && atoi(most) > 0 && (uint64_t)atoi(most) < channels)
        channels = (uint64_t)atoi(most);
    return channels * (c->ranks > 2 ? 2 : 1) * (ll + ll128 + simple);
}

/* They are made when ranks first meet. */
static int charge(struct dry_communicator *c)
{
    if (c->charged > 0 || c->ranks < 2)
        return NCCL_OK;
    const uint64_t bytes = buffers_of(c);
    dry_lock();
    const bool fits = dry_charge_estimate(c->device, bytes);
    dry_unlock();
    if (!fits)
        return NCCL_CUDA_ERROR;
    c->charged = bytes;
    return NCCL_OK;
}

static int discharge(struct dry_communicator *c)
{
    dry_lock();
    if (c->charged > 0)
        dry_discharge_estimate(c->device, c->charged);
    c->charged = 0;
    dry_unlock();
    return NCCL_OK;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

static struct dry_way *open_way(const struct dry_communicator *c, int from, int to)
{
    char name[NAME + 32];
    snprintf(name, sizeof name, to < 0 ? "%s.%d" : "%s.%d-%d", c->name, from, to);
    return dry_way_open(name, from == c->rank);
}

/* What `rank` says to all. */
static struct dry_way *way_of(struct dry_communicator *c, int rank)
{
    if (c->ways == NULL || rank < 0 || rank >= c->ranks)
        return NULL;
    pthread_mutex_lock(&mutex);
    if (c->ways[rank] == NULL)
        c->ways[rank] = open_way(c, rank, -1);
    struct dry_way *way = c->ways[rank];
    pthread_mutex_unlock(&mutex);
    return way;
}

/* Without ways to the others: alone until it has them. */
static int create(struct dry_communicator **communicator, int ranks, int rank, const char *name)
{
    struct dry_communicator *c = calloc(1, sizeof *c);
    if (c == NULL || ranks < 1 || rank < 0 || rank >= ranks) {
        free(c);
        return c == NULL ? NCCL_SYSTEM_ERROR : NCCL_INVALID;
    }
    *c = (struct dry_communicator){.ranks = ranks, .rank = rank, .device = dry_current(), .place = DRY_COMMUNICATORS};
    snprintf(c->name, sizeof c->name, "%s", name);
    pthread_mutex_lock(&mutex);
    if (communicator_count < DRY_COMMUNICATORS) {
        c->place = communicator_count++;
        all[c->place] = c;
    }
    pthread_mutex_unlock(&mutex);
    *communicator = c;
    return NCCL_OK;
}

static int connect_ranks(struct dry_communicator *c)
{
    if (dry_is_alone())
        return NCCL_OK;
    c->ways = calloc((size_t)c->ranks + 1, sizeof(struct dry_way *));
    way_of(c, c->rank); /* the others see that we are there */
    return c->ways != NULL ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

static int create_connected(struct dry_communicator **communicator, int ranks, int rank, const char *name)
{
    const int status = create(communicator, ranks, rank, name);
    return status == NCCL_OK ? connect_ranks(*communicator) : status;
}

API(int, ncclGetUniqueId, struct nccl_id *id)
{
    memset(id, 0, sizeof *id);
    return getrandom(id->bytes, NAME_BYTES, 0) == NAME_BYTES ? NCCL_OK : NCCL_SYSTEM_ERROR;
}

static int create_named(struct dry_communicator **communicator, int ranks, int rank, const struct nccl_id *id)
{
    char name[NAME];
    for (int i = 0; i < NAME_BYTES; i++)
        snprintf(name + 2 * (size_t)i, 3, "%02x", id->bytes[i]);
    return create_connected(communicator, ranks, rank, name);
}

API_IS(int, ncclCommInitRank, create_named(communicator, ranks, rank, &id), struct dry_communicator **communicator,
       int ranks, struct nccl_id id, int rank)
API_IS(int, ncclCommInitRankConfig, create_named(communicator, ranks, rank, &id),
       struct dry_communicator **communicator, int ranks, struct nccl_id id, int rank, void *config)
API_IS(int, ncclCommInitRankScalable, create_named(communicator, ranks, rank, &ids[0]),
       struct dry_communicator **communicator, int ranks, int rank, int count, const struct nccl_id *ids, void *config)

API(int, ncclCommInitAll, struct dry_communicator **communicators, int count, const int *devices)
{
    struct nccl_id id;
    int status = ncclGetUniqueId(&id);
    for (int i = 0; status == NCCL_OK && i < count; i++) {
        status = create_named(&communicators[i], count, i, &id);
        if (status == NCCL_OK)
            communicators[i]->device = devices == NULL ? i : devices[i];
    }
    return status;
}

API_IS(int, ncclCommDestroy, discharge(communicator), struct dry_communicator *communicator)
API_IS(int, ncclCommAbort, discharge(communicator), struct dry_communicator *communicator)
API_SETS(ncclCommCount, *ranks, communicator->ranks, const struct dry_communicator *communicator, int *ranks)
API_SETS(ncclCommUserRank, *rank, communicator->rank, const struct dry_communicator *communicator, int *rank)
API_SETS(ncclCommCuDevice, *device, communicator->device, const struct dry_communicator *communicator, int *device)
API_SETS(ncclCommGetAsyncError, *status, NCCL_OK, void *communicator, int *status)
API_SETS(ncclCommRegister, *handle, dry_handle(), void *communicator, void *buffer, size_t bytes, void **handle)
API_SETS(ncclCommWindowRegister, *window, dry_handle(), void *communicator, void *buffer, size_t bytes, void **window,
         int flags)

/* ---- promises ---------------------------------------------------------------------------------------------------- */

/* The types with which programs count; others are not folded. */
#define TYPES(M)                                                                                                       \
    M(0, int8_t) M(1, uint8_t) M(2, int32_t) M(3, uint32_t) M(4, int64_t) M(5, uint64_t) M(7, float) M(8, double)

static uint64_t size_of(int type)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; /* by ncclDataType_t */
    return type >= 0 && type < (int)sizeof sizes ? sizes[type] : 1;
}

#define FOLD(number, type)                                                                                             \
    static void fold_##type(void *into, const void *more, size_t count, enum dry_fold fold)                            \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type a, b;                                                                                                 \
            memcpy(&a, (char *)into + i * sizeof a, sizeof a);                                                         \
            memcpy(&b, (const char *)more + i * sizeof b, sizeof b);                                                   \
            a = (type)(fold == DRY_PRODUCT ? a * b                                                                     \
                       : fold == DRY_MAX   ? (a > b ? a : b)                                                           \
                       : fold == DRY_MIN   ? (a < b ? a : b)                                                           \
                                           : a + b);                                                                     \
            memcpy((char *)into + i * sizeof a, &a, sizeof a);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void share_##type(void *sum, size_t count, int ranks)                                                       \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                                           \
            type a;                                                                                                    \
            memcpy(&a, (char *)sum + i * sizeof a, sizeof a);                                                          \
            a = (type)(a / (type)ranks);                                                                               \
            memcpy((char *)sum + i * sizeof a, &a, sizeof a);                                                          \
        }                                                                                                              \
    }
TYPES(FOLD)

static const struct {
    void (*fold)(void *into, const void *more, size_t count, enum dry_fold fold);
    void (*share)(void *sum, size_t count, int ranks);
} types[] = {
#define ROW(number, type) [number] = {fold_##type, share_##type},
    TYPES(ROW)};

static bool can_fold(int type, int fold)
{
    return type >= 0 && type < (int)(sizeof types / sizeof *types) && types[type].fold != NULL && fold >= 0 &&
           fold <= DRY_MEAN;
}

/* A piece of what was said in a turn; NULL: it is not known. */
static char *hear(struct dry_way *way, uint64_t turn, uint64_t offset, uint64_t bytes)
{
    uint64_t said = 0;
    if (!dry_await(way, turn))
        return NULL;
    pthread_mutex_lock(&mutex);
    char *data = dry_said(way, turn, &said);
    pthread_mutex_unlock(&mutex);
    if (data != NULL && offset + bytes <= said) {
        memmove(data, data + offset, bytes);
        return data;
    }
    free(data);
    return NULL;
}

char *dry_fulfil(const struct dry_promise *p, uint64_t bytes)
{
    if (p->way != NULL)
        return hear(p->way, p->turn, p->offset, bytes);
    struct dry_communicator *c = p->communicator;
    const size_t count = bytes / size_of(p->type);
    char *folded = NULL;
    if (count * size_of(p->type) != bytes)
        return NULL;
    for (int i = 0; i < c->ranks; i++) {
        char *one = hear(way_of(c, i), p->turn, p->offset, bytes);
        if (one == NULL) {
            free(folded);
            return NULL;
        }
        if (folded == NULL) {
            folded = one;
            continue;
        }
        types[p->type].fold(folded, one, count, p->fold);
        free(one);
    }
    if (p->fold == DRY_MEAN)
        types[p->type].share(folded, count, c->ranks);
    return folded;
}

void dry_meet(size_t communicator, uint64_t turn)
{
    struct dry_communicator *c = all[communicator];
    if (c->met >= turn || c->ways == NULL)
        return;
    for (int i = 0; i < c->ranks; i++)
        if (i != c->rank)
            dry_await(way_of(c, i), turn);
    c->met = turn;
}

/* ---- groups of one that is alone --------------------------------------------------------------------------------- */

/* What is sent and what is to come between the begin and the end of a group: who exchanges with others what it has gets
 * the same from them, from the peer to which it sends it, or of the same size. */
struct alone {
    int peer;
    uint64_t bytes;
    char *sent; /* NULL: it is to come: */
    void *to;
};

static _Thread_local int group_depth;
static _Thread_local struct alone *alone;
static _Thread_local size_t alone_count, alone_room;

/* With a copy of what is sent. */
static void note_alone(const struct alone *one)
{
    char *sent = one->sent == NULL ? NULL : malloc(one->bytes);
    if (group_depth == 0 || (sent == NULL && one->to == NULL) ||
        !dry_make_room(&alone, alone_count, &alone_room, sizeof *alone)) {
        free(sent);
        return;
    }
    if (sent != NULL)
        memcpy(sent, one->sent, one->bytes);
    alone[alone_count] = *one;
    alone[alone_count++].sent = sent;
}

static const struct alone *like(const struct alone *wanted)
{
    const struct alone *found = NULL;
    for (size_t i = 0; i < alone_count; i++)
        if (alone[i].sent != NULL && alone[i].bytes == wanted->bytes &&
            (found == NULL || alone[i].peer == wanted->peer))
            found = &alone[i];
    return found;
}

static void settle_alone(void)
{
    for (size_t i = 0; i < alone_count; i++) {
        const struct alone *sent = alone[i].to == NULL ? NULL : like(&alone[i]);
        if (sent != NULL)
            dry_keep(alone[i].to, sent->sent, sent->bytes, true);
    }
    for (size_t i = 0; i < alone_count; i++)
        free(alone[i].sent);
    alone_count = 0;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* One of them: its turn, and what this rank knows of what it sends. */
struct call {
    int status; /* NCCL_OK, or nothing comes of it */
    struct dry_communicator *c;
    uint64_t bytes; /* of a rank's part */
    uint64_t turn;
    char *known; /* freed by end_call; NULL: nothing */
    bool is_guess, is_alone;
    int type;
};

/* `from` NULL: this rank sends nothing. */
static struct call begin_call(struct dry_communicator *c, const void *from, uint64_t parts, size_t count, int type,
                              void *stream)
{
    struct call call = {
        .status = charge(c), .c = c, .bytes = count * size_of(type), .type = type, .is_alone = c->ways == NULL};
    if (call.status != NCCL_OK)
        return call;
    call.known = from == NULL ? NULL : dry_kept(from, parts * call.bytes, &call.is_guess);
    call.turn = ++c->turn;
    if (!call.is_alone) {
        dry_say(way_of(c, c->rank), call.is_guess ? NULL : call.known, parts * call.bytes);
        dry_order_issue(dry_stream_clock(stream), c->place, call.turn);
    }
    return call;
}

static int end_call(struct call *call)
{
    free(call->known);
    return call->status;
}

/* To the `at`th part of `to`, from the `part`th of what `rank` sends. Alone: from what this one sends. */
static void get_part(const struct call *call, void *to, uint64_t at, int rank, uint64_t part)
{
    if (call->status != NCCL_OK)
        return;
    void *place = (char *)to + at * call->bytes;
    const char *own = call->known == NULL ? NULL : call->known + part * call->bytes;
    if (rank == call->c->rank || call->is_alone) {
        dry_keep(place, own, call->bytes, rank != call->c->rank);
        return;
    }
    const struct dry_promise promise = {
        .communicator = call->c, .way = way_of(call->c, rank), .turn = call->turn, .offset = part * call->bytes};
    if (promise.way != NULL)
        dry_keep_promise(place, call->bytes, &promise);
    else
        dry_keep(place, NULL, call->bytes, true);
}

/* The sum of as many as there are ranks, all the same. */
static void fold_alone(struct call *call, void *to, uint64_t part, int fold)
{
    char *own = call->known == NULL ? NULL : call->known + part * call->bytes;
    const size_t count = call->bytes / size_of(call->type);
    const bool is_same = fold == DRY_MAX || fold == DRY_MIN || fold == DRY_MEAN;
    if (own != NULL && fold == DRY_SUM && call->bytes <= 4096 && call->c->ranks <= 1 << 20) {
        char *one = malloc(call->bytes);
        if (one != NULL)
            memcpy(one, own, call->bytes);
        for (int i = 1; one != NULL && i < call->c->ranks; i++)
            types[call->type].fold(own, one, count, DRY_SUM);
        dry_keep(to, one == NULL ? NULL : own, call->bytes, true);
        free(one);
    } else {
        dry_keep(to, is_same ? own : NULL, call->bytes, true);
    }
}

/* Of all ranks' `part`th parts. */
static void get_folded(struct call *call, void *to, uint64_t part, int fold)
{
    const struct dry_promise promise = {.communicator = call->c,
                                        .turn = call->turn,
                                        .offset = part * call->bytes,
                                        .type = call->type,
                                        .fold = (enum dry_fold)fold};
    if (call->status != NCCL_OK)
        return;
    if (!can_fold(call->type, fold))
        dry_keep(to, NULL, call->bytes, false);
    else if (call->is_alone)
        fold_alone(call, to, part, fold);
    else
        dry_keep_promise(to, call->bytes, &promise);
}

API(int, ncclAllGather, const void *from, void *to, size_t count, int type, struct dry_communicator *communicator,
    void *stream)
{
    struct call call = begin_call(communicator, from, 1, count, type, stream);
    for (int i = 0; i < communicator->ranks; i++)
        get_part(&call, to, (uint64_t)i, i, 0);
    return end_call(&call);
}

API(int, ncclAllReduce, const void *from, void *to, size_t count, int type, int fold,
    struct dry_communicator *communicator, void *stream)
{
    struct call call = begin_call(communicator, from, 1, count, type, stream);
    get_folded(&call, to, 0, fold);
    return end_call(&call);
}

API(int, ncclReduce, const void *from, void *to, size_t count, int type, int fold, int root,
    struct dry_communicator *communicator, void *stream)
{
    struct call call = begin_call(communicator, from, 1, count, type, stream);
    if (root == communicator->rank)
        get_folded(&call, to, 0, fold);
    return end_call(&call);
}

API(int, ncclReduceScatter, const void *from, void *to, size_t count, int type, int fold,
    struct dry_communicator *communicator, void *stream)
{
    struct call call = begin_call(communicator, from, (uint64_t)communicator->ranks, count, type, stream);
    get_folded(&call, to, (uint64_t)communicator->rank, fold);
    return end_call(&call);
}

/* Alone, one that would get it has what it had. */
API(int, ncclBroadcast, const void *from, void *to, size_t count, int type, int root,
    struct dry_communicator *communicator, void *stream)
{
    const bool is_root = root == communicator->rank;
    const void *sent = is_root || dry_is_alone() ? from : NULL;
    struct call call = begin_call(communicator, sent, 1, count, type, stream);
    if (to != from || !is_root)
        get_part(&call, to, 0, root, 0);
    if (call.status == NCCL_OK && call.is_alone)
        note_alone(&(struct alone){
            .peer = root, .bytes = call.bytes, .sent = is_root ? call.known : NULL, .to = is_root ? NULL : to});
    return end_call(&call);
}

API_IS(int, ncclBcast, ncclBroadcast(buffer, buffer, count, type, root, communicator, stream), void *buffer,
       size_t count, int type, int root, struct dry_communicator *communicator, void *stream)

API(int, ncclGather, const void *from, void *to, size_t count, int type, int root,
    struct dry_communicator *communicator, void *stream)
{
    struct call call = begin_call(communicator, from, 1, count, type, stream);
    for (int i = 0; root == communicator->rank && i < communicator->ranks; i++)
        get_part(&call, to, (uint64_t)i, i, 0);
    return end_call(&call);
}

API(int, ncclScatter, const void *from, void *to, size_t count, int type, int root,
    struct dry_communicator *communicator, void *stream)
{
    const uint64_t parts = root == communicator->rank ? (uint64_t)communicator->ranks : 1;
    const void *sent = root == communicator->rank ? from : NULL;
    struct call call = begin_call(communicator, sent, parts, count, type, stream);
    get_part(&call, to, 0, root, root == communicator->rank || !call.is_alone ? (uint64_t)communicator->rank : 0);
    return end_call(&call);
}

API(int, ncclAlltoAll, const void *from, void *to, size_t count, int type, struct dry_communicator *communicator,
    void *stream)
{
    struct call call = begin_call(communicator, from, (uint64_t)communicator->ranks, count, type, stream);
    for (int i = 0; i < communicator->ranks; i++)
        get_part(&call, to, (uint64_t)i, i, (uint64_t)(call.is_alone ? i : communicator->rank));
    return end_call(&call);
}

/* The first after the built-in ones: not folded. */
API_SETS(ncclRedOpCreatePreMulSum, *operation, DRY_MEAN + 1, int *operation, void *scalar, int type, int residence,
         void *communicator)

/* ---- send and recv ----------------------------------------------------------------------------------------------- */

static struct pair *pair_with(struct dry_communicator *c, int peer, bool is_ours)
{
    struct pair *pair = c->pairs;
    while (pair != NULL && (pair->peer != peer || pair->is_ours != is_ours))
        pair = pair->next;
    if (pair != NULL || (pair = calloc(1, sizeof *pair)) == NULL)
        return pair;
    *pair = (struct pair){.peer = peer, .is_ours = is_ours, .next = c->pairs};
    if (c->ways != NULL)
        pair->way = is_ours ? open_way(c, c->rank, peer) : open_way(c, peer, c->rank);
    c->pairs = pair;
    return pair;
}

API(int, ncclSend, const void *from, size_t count, int type, int peer, struct dry_communicator *communicator,
    void *stream)
{
    const uint64_t bytes = count * size_of(type);
    bool is_guess;
    GM_FREED char *known = dry_kept(from, bytes, &is_guess);
    struct pair *pair = pair_with(communicator, peer, true);
    if (pair == NULL || charge(communicator) != NCCL_OK)
        return pair == NULL ? NCCL_SYSTEM_ERROR : NCCL_CUDA_ERROR;
    if (communicator->ways == NULL)
        note_alone(&(struct alone){.peer = peer, .bytes = bytes, .sent = known});
    dry_say(pair->way, is_guess ? NULL : known, bytes);
    return NCCL_OK;
}

API(int, ncclRecv, void *to, size_t count, int type, int peer, struct dry_communicator *communicator, void *stream)
{
    const uint64_t bytes = count * size_of(type);
    struct pair *pair = pair_with(communicator, peer, false);
    if (pair == NULL || charge(communicator) != NCCL_OK)
        return pair == NULL ? NCCL_SYSTEM_ERROR : NCCL_CUDA_ERROR;
    const struct dry_promise promise = {.communicator = communicator, .way = pair->way, .turn = ++pair->turns};
    if (pair->way != NULL)
        dry_keep_promise(to, bytes, &promise);
    else
        dry_keep(to, NULL, bytes, true);
    if (pair->way == NULL)
        note_alone(&(struct alone){.peer = peer, .bytes = bytes, .to = to});
    return NCCL_OK;
}

/* ---- parts of a communicator ------------------------------------------------------------------------------------- */

struct choice {
    int32_t colour, key;
};

/* Made when the other ranks have said what they chose; in a group at its end. */
struct split {
    struct dry_communicator *whole, *part;
    uint64_t turn;
    struct choice choice;
};

enum { SPLITS = 64 };
static _Thread_local struct split splits[SPLITS];
static _Thread_local size_t split_count;

/* Of one that is alone: how many have chosen a colour, and which of them this rank is, as the hook knows it. */
static struct {
    int colour, ranks, rank;
} coloured[1024];
static size_t coloured_count;

API(void, gmdryColour, int colour, int ranks, int rank)
{
    const size_t at = coloured_count++ % (sizeof coloured / sizeof *coloured);
    coloured[at].colour = colour;
    coloured[at].ranks = ranks;
    coloured[at].rank = rank;
}

/* What torch is about to split off: 0 ranks when it is done. */
static _Thread_local int next_ranks, next_rank;

API(void, gmdryPart, int ranks, int rank)
{
    next_ranks = ranks;
    next_rank = rank;
}

/* One that the hook does not know: as if all had chosen it. */
static void place_alone(const struct split *split)
{
    struct dry_communicator *part = split->part;
    part->ranks = next_ranks > 0 ? next_ranks : split->whole->ranks;
    part->rank = next_ranks > 0 ? next_rank : split->whole->rank;
    for (size_t i = 0; next_ranks == 0 && i < coloured_count && i < sizeof coloured / sizeof *coloured; i++)
        if (coloured[i].colour == split->choice.colour) {
            part->ranks = coloured[i].ranks;
            part->rank = coloured[i].rank;
        }
}

/* By key, then by rank. */
static void place_part(const struct split *split)
{
    struct dry_communicator *whole = split->whole, *part = split->part;
    int ranks = 0, rank = 0;
    for (int i = 0; i < whole->ranks; i++) {
        struct choice other = split->choice;
        char *said = i == whole->rank ? NULL : hear(way_of(whole, i), split->turn, 0, sizeof other);
        if (said != NULL)
            memcpy(&other, said, sizeof other);
        free(said);
        if (other.colour != split->choice.colour)
            continue;
        ranks++;
        rank += other.key < split->choice.key || (other.key == split->choice.key && i < whole->rank);
    }
    part->ranks = ranks;
    part->rank = rank;
}

static int finish_part(const struct split *split)
{
    struct dry_communicator *part = split->part;
    if (split->whole->ways == NULL) {
        place_alone(split);
        return NCCL_OK;
    }
    place_part(split);
    return connect_ranks(part);
}

/* FNV-1a of the whole's name and of what tells this part from others, twice. */
static void name_part(char name[NAME], const struct dry_communicator *whole, unsigned number, int colour)
{
    char text[2 * NAME];
    snprintf(text, sizeof text, "%s/%u/%d", whole->name, number, colour);
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    for (const char *at = text; *at != '\0'; at++)
        for (int i = 0; i < 2; i++)
            hash[i] = (hash[i] ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    snprintf(name, NAME, "%016llx%016llx", (unsigned long long)hash[0], (unsigned long long)hash[1]);
}

API(int, ncclCommSplit, struct dry_communicator *communicator, int colour, int key, struct dry_communicator **part,
    void *config)
{
    struct split split = {.whole = communicator, .choice = {colour, key}};
    char name[NAME];
    *part = NULL;
    split.turn = ++communicator->turn;
    if (communicator->ways != NULL)
        dry_say(way_of(communicator, communicator->rank), &split.choice, sizeof split.choice);
    name_part(name, communicator, communicator->parts++, colour);
    if (colour < 0)
        return NCCL_OK; /* NCCL_SPLIT_NOCOLOR */
    /* Its ranks are not known yet. */
    const int status = create(part, 1, 0, name);
    if (status != NCCL_OK)
        return status;
    split.part = *part;
    if (group_depth > 0 && split_count < SPLITS)
        splits[split_count++] = split;
    else
        return finish_part(&split);
    return NCCL_OK;
}

API(int, ncclCommShrink, struct dry_communicator *communicator, const int *excluded, int count,
    struct dry_communicator **part, void *config, int flags)
{
    char name[NAME];
    int rank = communicator->rank;
    for (int i = 0; i < count; i++)
        rank -= excluded[i] < communicator->rank;
    name_part(name, communicator, communicator->parts++, count);
    return create_connected(part, communicator->ranks - count, rank, name);
}

API(int, ncclGroupStart, void)
{
    group_depth++;
    return NCCL_OK;
}

API(int, ncclGroupEnd, void)
{
    if (group_depth == 0)
        return NCCL_INVALID;
    if (--group_depth > 0)
        return NCCL_OK;
    int status = NCCL_OK;
    for (size_t i = 0; i < split_count; i++)
        status = finish_part(&splits[i]) == NCCL_OK ? status : NCCL_SYSTEM_ERROR;
    split_count = 0;
    settle_alone();
    return status;
}
