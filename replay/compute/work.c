/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/freed.h"
#include "replay/compute/compute_work.h"

#include "analyze/base/address_map.h"
#include "analyze/base/vec.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4096, TIMED = 4 * SLOTS }; /* so many verdicts and times are on their way at once, at most */
#define NONE UINT32_MAX

struct piece {
    struct gm_compute_piece told;
    uint64_t key;
    uint32_t line;
    uint32_t before, after; /* in its line; NONE at the ends */
    bool is_there, is_let_go, has_mark;
    struct gm_cuda_mark mark; /* the others are done with it */
};
struct line { /* a stream, and what it got, oldest first */
    void *stream;
    uint32_t last;
};
struct asked { /* a verify whose result is not known yet */
    struct gm_compute_mismatch block;
};
struct timed {
    struct gm_cuda_mark from, to;
    uint16_t class;
    unsigned char kernel;
};

struct gm_work {
    struct gm_compute_options options;
    struct gm_cuda *cuda;
    struct gm_compute_found *found;
    struct gm_kernel_place place;
    struct gm_kernel_result *results; /* [SLOTS], on the GPU */
    struct gm_kernel_result *answers; /* [SLOTS], here */
    struct asked asked[SLOTS];
    size_t asked_count;
    struct timed timed[TIMED];
    size_t timed_count;
    struct GM_VEC(struct piece) pieces;
    struct GM_VEC(uint32_t) unused;
    struct gm_address_map piece_of; /* name: index in pieces */
    struct GM_VEC(struct line) lines;
    struct gm_address_map line_of; /* handle: index in lines */
    uint64_t serial;               /* of allocations */
};

/* ---- what is on its way ------------------------------------------------------------------------------------------ */

static bool reset_results(struct gm_work *w, size_t count)
{
    for (size_t i = 0; i < count; i++)
        w->answers[i] = (struct gm_kernel_result){0, GM_KERNEL_NOWHERE};
    return gm_cuda_put(w->cuda, w->results, w->answers, count * sizeof *w->results, NULL);
}

static void judge(struct gm_work *w, const struct asked *asked, const struct gm_kernel_result *result)
{
    struct gm_compute_found *f = w->found;
    struct gm_compute_sums *class = &f->classes[w->options.class_of[asked->block.allocation]];
    class->verified++;
    f->kernels[GM_KERNEL_VERIFY].verified++;
    if (result->mismatches == 0)
        return;
    class->mismatches++;
    f->kernels[GM_KERNEL_VERIFY].mismatches++;
    f->mismatches++;
    if (f->named == GM_COMPUTE_NAMED)
        return;
    struct gm_compute_mismatch *m = &f->mismatch[f->named++];
    *m = asked->block;
    m->words = result->mismatches;
    m->first = result->first;
}

/* Waits for everything, and takes its results. */
static bool drain(struct gm_work *w)
{
    bool ok = gm_cuda_wait(w->cuda);
    for (size_t i = 0; i < w->timed_count; i++) {
        const struct timed *t = &w->timed[i];
        double seconds = 0;
        ok = ok && gm_cuda_elapsed(w->cuda, t->from, t->to, &seconds);
        w->found->classes[t->class].seconds += seconds;
        w->found->kernels[t->kernel].seconds += seconds;
        gm_cuda_drop_mark(w->cuda, t->from);
        gm_cuda_drop_mark(w->cuda, t->to);
    }
    w->timed_count = 0;
    ok = ok && (w->asked_count == 0 ||
                gm_cuda_get(w->cuda, w->answers, w->results, w->asked_count * sizeof *w->results, NULL));
    for (size_t i = 0; ok && i < w->asked_count; i++)
        judge(w, &w->asked[i], &w->answers[i]);
    ok = ok && (w->asked_count == 0 || reset_results(w, w->asked_count));
    w->asked_count = 0;
    return ok;
}

/* Always false. */
static bool tell(struct gm_work *w, const struct gm_kernel *kernel, const struct gm_kernel_error *error)
{
    if (!error->is_missing)
        return gm_cuda_launch_failed(w->cuda, error->call, error->name, error->words);
    char who[64];
    snprintf(who, sizeof who, "the kernel %s", kernel->name);
    return gm_cuda_lacks(w->cuda, who, error->words);
}

static bool launch(struct gm_work *w, const struct piece *p, enum gm_kernel_id id, const struct gm_kernel_job *job,
                   void *stream)
{
    const struct gm_kernel *kernel = &gm_kernels[id];
    struct timed *t = &w->timed[w->timed_count];
    uint16_t class = w->options.class_of[p->told.allocation];
    struct gm_compute_sums *sums[2] = {&w->found->classes[class], &w->found->kernels[id]};
    struct gm_kernel_error error = {0};
    t->class = class;
    t->kernel = (unsigned char)id;
    if (!gm_cuda_mark(w->cuda, stream, &t->from))
        return false;
    w->place.stream = stream;
    bool ok = kernel->launch(&w->place, job, &error) || tell(w, kernel, &error);
    if (!ok || !gm_cuda_mark(w->cuda, stream, &t->to)) {
        gm_cuda_drop_mark(w->cuda, t->from);
        return false;
    }
    w->timed_count++;
    for (int i = 0; i < 2; i++) {
        sums[i]->launches++;
        sums[i]->bytes += kernel->bytes(job);
        sums[i]->flops += kernel->flops(job);
    }
    return w->timed_count < TIMED || drain(w);
}

static struct gm_kernel_job job_of(const struct piece *p)
{
    return (struct gm_kernel_job){.block = (void *)(uintptr_t)p->told.at, .bytes = p->told.bytes, .key = p->key};
}

static bool verify(struct gm_work *w, const struct piece *p, uint32_t event, bool is_at_end, void *stream)
{
    if (w->asked_count == SLOTS && !drain(w))
        return false;
    struct gm_kernel_job job = job_of(p);
    struct asked *asked = &w->asked[w->asked_count];
    asked->block = (struct gm_compute_mismatch){.allocation = p->told.allocation,
                                                .event = event,
                                                .is_at_end = is_at_end,
                                                .address = p->told.at,
                                                .bytes = p->told.bytes};
    job.result = &w->results[w->asked_count++];
    return launch(w, p, GM_KERNEL_VERIFY, &job, stream);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static uint32_t line_of(struct gm_work *w, int64_t handle)
{
    uint32_t before, line = gm_map_get(&w->line_of, (uint64_t)handle);
    if (line != GM_MAP_NONE)
        return line;
    struct line made = {.last = NONE};
    line = (uint32_t)w->lines.n;
    if (!gm_cuda_stream(w->cuda, handle, &made.stream))
        return NONE;
    if (!GM_VEC_ROOM(&w->lines, 1) || !gm_map_put(&w->line_of, (uint64_t)handle, line, &before)) {
        gm_cuda_no_memory(w->cuda);
        return NONE;
    }
    w->lines.v[w->lines.n++] = made;
    return line;
}

/* A new piece, the last of its line. */
static uint32_t add_piece(struct gm_work *w, const struct gm_compute_piece *told)
{
    uint32_t before, line = line_of(w, told->stream);
    if (line == NONE)
        return NONE;
    if (!GM_VEC_ROOM(&w->pieces, 1) || !GM_VEC_ROOM(&w->unused, w->pieces.n + 1)) {
        gm_cuda_no_memory(w->cuda);
        return NONE;
    }
    uint32_t at = w->unused.n > 0 ? w->unused.v[w->unused.n - 1] : (uint32_t)w->pieces.n;
    if (!gm_map_put(&w->piece_of, told->name, at, &before)) {
        gm_cuda_no_memory(w->cuda);
        return NONE;
    }
    if (w->unused.n > 0)
        w->unused.n--;
    else
        w->pieces.n++;
    w->pieces.v[at] = (struct piece){.told = *told,
                                     .key = ++w->serial,
                                     .line = line,
                                     .before = w->lines.v[line].last,
                                     .after = NONE,
                                     .is_there = true};
    if (w->lines.v[line].last != NONE)
        w->pieces.v[w->lines.v[line].last].after = at;
    w->lines.v[line].last = at;
    return at;
}

/* It is no source any more. */
static void leave_line(struct gm_work *w, struct piece *p)
{
    if (p->after != NONE)
        w->pieces.v[p->after].before = p->before;
    else
        w->lines.v[p->line].last = p->before;
    if (p->before != NONE)
        w->pieces.v[p->before].after = p->after;
}

/* The kernel of its class, on the two pieces before it. */
static bool compute(struct gm_work *w, const struct piece *p, void *stream)
{
    struct gm_kernel_job job = job_of(p);
    enum gm_kernel_id id = (enum gm_kernel_id)w->options.kernel_of[p->told.allocation];
    uint32_t near = p->before;
    for (int i = 0; i < 2 && near != NONE; i++, near = w->pieces.v[near].before) {
        job.source[i].at = (const void *)(uintptr_t)w->pieces.v[near].told.at;
        job.source[i].bytes = w->pieces.v[near].told.bytes;
    }
    if (gm_kernels[id].bytes(&job) == 0)
        return true;
    struct gm_kernel_job again = job_of(p);
    return launch(w, p, id, &job, stream) && launch(w, p, GM_KERNEL_FILL, &again, stream);
}

bool gm_work_allocated(struct gm_work *w, const struct gm_compute_piece *told)
{
    uint32_t at = add_piece(w, told);
    if (at == NONE)
        return false;
    const struct piece *p = &w->pieces.v[at];
    void *stream = w->lines.v[p->line].stream;
    struct gm_kernel_job job = job_of(p);
    return launch(w, p, GM_KERNEL_FILL, &job, stream) && (w->options.mode != GM_COMPUTE_FULL || compute(w, p, stream));
}

/* The others wait for the piece's own stream, look at it, and leave a mark. */
static bool hand_over(struct gm_work *w, struct piece *p, uint32_t event)
{
    struct gm_cuda_mark own;
    void *others;
    if (!gm_cuda_stream(w->cuda, GM_COMPUTE_OTHERS, &others) ||
        !gm_cuda_mark(w->cuda, w->lines.v[p->line].stream, &own))
        return false;
    bool ok = gm_cuda_stream_waits(w->cuda, others, own) && verify(w, p, event, false, others);
    gm_cuda_drop_mark(w->cuda, own);
    p->has_mark = ok && gm_cuda_mark(w->cuda, others, &p->mark);
    return p->has_mark;
}

bool gm_work_let_go(struct gm_work *w, uint32_t event, uint64_t name, bool is_pending)
{
    uint32_t at = gm_map_get(&w->piece_of, name);
    if (at == GM_MAP_NONE || w->pieces.v[at].is_let_go)
        return true;
    struct piece *p = &w->pieces.v[at];
    p->is_let_go = true;
    leave_line(w, p);
    return is_pending ? hand_over(w, p, event) : verify(w, p, event, false, w->lines.v[p->line].stream);
}

bool gm_work_freed(struct gm_work *w, uint32_t event, uint64_t name)
{
    if (!gm_work_let_go(w, event, name, false))
        return false;
    uint32_t at = gm_map_take(&w->piece_of, name);
    if (at == GM_MAP_NONE)
        return true;
    struct piece *p = &w->pieces.v[at];
    bool ok = !p->has_mark || gm_cuda_wait_mark(w->cuda, p->mark);
    if (p->has_mark)
        gm_cuda_drop_mark(w->cuda, p->mark);
    p->is_there = p->has_mark = false;
    w->unused.v[w->unused.n++] = at;
    return ok;
}

bool gm_work_finish(struct gm_work *w)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->pieces.n; i++) {
        const struct piece *p = &w->pieces.v[i];
        if (p->is_there && !p->is_let_go)
            ok = verify(w, p, GM_COMPUTE_AT_END, true, w->lines.v[p->line].stream);
    }
    return ok && drain(w);
}

/* CUDA loads a kernel, and cuBLAS itself, when it is launched first, which takes memory of the GPU: better now than
 * when that is full. And what is missing is known before the first event. */
static bool warm_up(struct gm_work *w)
{
    bool is_needed[GM_KERNEL_COUNT] = {[GM_KERNEL_FILL] = true, [GM_KERNEL_VERIFY] = true};
    struct gm_kernel_job job = {
        .block = w->results + 1, .bytes = (SLOTS - 1) * sizeof *w->results, .result = w->results};
    for (size_t i = 0; w->options.mode == GM_COMPUTE_FULL && i < w->options.allocation_count; i++)
        is_needed[w->options.kernel_of[i]] = true;
    for (int id = 0; id < GM_KERNEL_COUNT; id++) {
        struct gm_kernel_error error = {0};
        if (is_needed[id] && !gm_kernels[id].launch(&w->place, &job, &error) && !tell(w, &gm_kernels[id], &error))
            return false;
    }
    return true;
}

bool gm_work_open(struct gm_work **work, const struct gm_compute_options *options, struct gm_compute_found *found)
{
    void *results;
    *work = NULL;
    struct gm_work *w = calloc(1, sizeof *w);
    if (w == NULL)
        return gm_cuda_no_memory(options->cuda);
    w->options = *options;
    w->cuda = options->cuda;
    w->found = found;
    w->place.processors = gm_cuda_info(w->cuda)->processors;
    w->answers = malloc(SLOTS * sizeof *w->answers);
    *work = w;
    if (w->answers == NULL)
        return gm_cuda_no_memory(w->cuda);
    found->scratch_bytes = SLOTS * sizeof *w->results;
    if (!gm_cuda_scratch(w->cuda, found->scratch_bytes, &results))
        return false;
    w->results = results;
    return warm_up(w) && reset_results(w, SLOTS);
}

bool gm_work_close(struct gm_work *w)
{
    if (w == NULL)
        return true;
    bool ok = gm_cuda_failure(w->cuda)->status == GM_OK;
    for (size_t i = 0; i < w->timed_count; i++) {
        gm_cuda_drop_mark(w->cuda, w->timed[i].from);
        gm_cuda_drop_mark(w->cuda, w->timed[i].to);
    }
    for (size_t i = 0; i < w->pieces.n; i++)
        if (w->pieces.v[i].has_mark)
            gm_cuda_drop_mark(w->cuda, w->pieces.v[i].mark);
    gm_kernel_place_end(&w->place);
    ok = ok && (w->results == NULL || gm_cuda_drop_scratch(w->cuda, w->results));
    gm_map_free(&w->piece_of);
    gm_map_free(&w->line_of);
    GM_FREE_ALL(w->pieces.v, w->unused.v, w->lines.v, w->answers, w);
    return ok;
}
