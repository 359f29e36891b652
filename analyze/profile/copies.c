/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between the host and devices, by kind and stream; and in bursts, with what the device had allocated before and
 * after them, so that what offloading saves is a number. A copy runs on the device later than the operator that asked
 * for it, and memory is allocated and freed at the operators' time: a burst begins with the operator of its first copy.
 */
#include "analyze/profile/profile_pass.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"

#include <string.h>

enum direction { TO_HOST, TO_DEVICE, ON_DEVICE, BETWEEN_DEVICES, OTHER };
static const char *const direction_words[] = {"to the host", "to the device", "on the device", "between devices",
                                              "other"};

struct copy {
    const struct gm_profile_span *span;
    enum direction direction;
    int64_t device, asked_ns; /* asked: when the operator that asked for it began */
    uint32_t step;            /* index in the steps, or GM_PROFILE_NONE */
};
GM_ORDERING(by_device, struct copy, GM_UP(device) || GM_UP(asked_ns) || GM_UP(span->start_ns));

/* What is allocated after an event: of a device, as stated; of the host, the sum of its events. */
struct level {
    int64_t device, time_ns; /* device: HOST is the host */
    uint64_t bytes;
    size_t row;
};
GM_ORDERING(by_place, struct level, GM_UP(device) || GM_UP(row));
#define HOST (-2)
#define HOST_AT_FIRST (UINT64_C(1) << 62) /* so that no sum is negative */

struct levels { /* of one place, by time */
    const struct level *v;
    size_t n;
};

struct work {
    const struct gm_profile *p;
    const struct gm_links *links;
    struct GM_VEC(uint32_t) steps; /* spans, by time */
    struct GM_VEC(struct copy) copies;
    struct GM_VEC(struct gm_copy_burst) bursts;
    struct GM_VEC(struct gm_copy_row) rows;
    struct gm_intern kinds; /* of rows */
    struct GM_VEC(struct level) levels;
    struct levels device, host; /* of `levels`; device: of the copies that are looked at */
};

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* As CUDA, HIP and XPU call them: "Memcpy DtoH (Device -> Pageable)", "CopyDeviceToHost", "Memcpy D2M". */
static enum direction direction_of(const char *name)
{
    static const char *const to_host[] = {"DtoH", "DeviceToHost", "D2H", "D2M", NULL},
                             *const to_device[] = {"HtoD", "HostToDevice", "H2D", "M2D", NULL},
                             *const on_device[] = {"DtoD", "DeviceToDevice", "D2D", NULL},
                             *const between[] = {"PtoP", "PeerToPeer", "P2P", NULL};
    return gm_has_any(name, to_host)     ? TO_HOST
           : gm_has_any(name, to_device) ? TO_DEVICE
           : gm_has_any(name, on_device) ? ON_DEVICE
           : gm_has_any(name, between)   ? BETWEEN_DEVICES
                                         : OTHER;
}

/* A device's number is the process of what runs on it. */
static int64_t device_of(const struct gm_profile *p, const struct gm_profile_span *span)
{
    size_t n;
    const char *s = gm_profile_string(p, p->threads.v[span->thread].process, &n);
    int64_t device = n == 0 || n > 4 ? -1 : 0;
    for (size_t i = 0; device >= 0 && i < n; i++)
        device = gm_is_digit(s[i]) ? device * 10 + (s[i] - '0') : -1;
    return device < GM_PROFILE_DEVICES ? device : -1;
}

/* When the outermost operator of a copy began, or the copy. */
static int64_t asked_at(const struct work *w, const struct gm_profile_span *copy)
{
    uint32_t i = gm_link_of(w->links, (size_t)(copy - w->p->spans.v))->operator_span;
    int64_t start = copy->start_ns;
    for (; i < w->p->spans.n && w->p->spans.v[i].kind == GM_SPAN_OPERATOR; i = w->p->spans.v[i].parent)
        start = w->p->spans.v[i].start_ns < start ? w->p->spans.v[i].start_ns : start;
    return start;
}

static bool list_steps(struct work *w)
{
    for (uint32_t i = 0; i < w->p->spans.n; i++) {
        const struct gm_profile_span *span = &w->p->spans.v[i];
        const bool is_host = !gm_profile_span_is_on_device(span->kind);
        if (is_host && gm_profile_is_step(w->p, span) && !GM_VEC_PUSH(&w->steps, i))
            return false;
    }
    return true; /* steps are of one thread, so they are by time */
}

static uint32_t step_at(const struct work *w, int64_t time)
{
    size_t after = 0;
    GM_BISECT(after, w->steps.n, i, w->p->spans.v[w->steps.v[i]].start_ns <= time);
    const bool is_in = after > 0 && time <= gm_profile_span_end(&w->p->spans.v[w->steps.v[after - 1]]);
    return is_in ? (uint32_t)(after - 1) : GM_PROFILE_NONE;
}

static bool list_copies(struct work *w)
{
    for (size_t i = 0; i < w->p->spans.n; i++) {
        const struct gm_profile_span *span = &w->p->spans.v[i];
        size_t n;
        if (span->kind != GM_SPAN_MEMCPY)
            continue;
        struct copy copy = {.span = span,
                            .direction = direction_of(gm_profile_string(w->p, span->name, &n)),
                            .device = device_of(w->p, span),
                            .asked_ns = asked_at(w, span)};
        copy.step = step_at(w, copy.asked_ns);
        if (!GM_VEC_PUSH(&w->copies, copy))
            return false;
    }
    GM_SORT(w->copies.v, w->copies.n, by_device);
    return true;
}

/* ---- what is allocated ------------------------------------------------------------------------------------------- */

/* With one from before the first event of each place. */
static bool list_levels(struct work *w)
{
    uint64_t host = HOST_AT_FIRST;
    for (size_t i = 0; i < w->p->memory.n; i++) {
        const struct gm_profile_memory *m = &w->p->memory.v[i];
        const enum gm_memory_side side = gm_profile_side(m);
        host += side == GM_SIDE_HOST ? (uint64_t)m->bytes : 0;
        const bool is_stated = side == GM_SIDE_DEVICE && m->allocated != GM_PROFILE_ABSENT;
        const struct level level = {side == GM_SIDE_HOST ? HOST : m->device, m->time_ns,
                                    side == GM_SIDE_HOST ? host : m->allocated, i};
        if ((is_stated || side == GM_SIDE_HOST) && !GM_VEC_PUSH(&w->levels, level))
            return false;
    }
    GM_SORT(w->levels.v, w->levels.n, by_place);
    return true;
}

static struct levels levels_of(const struct work *w, int64_t device)
{
    size_t first = 0, end = 0;
    if (w->levels.n == 0)
        return (struct levels){NULL, 0};
    GM_BISECT(first, w->levels.n, i, w->levels.v[i].device < device);
    end = first;
    GM_BISECT(end, w->levels.n, i, w->levels.v[i].device <= device);
    return (struct levels){first == end ? NULL : w->levels.v + first, end - first};
}

/* How many levels began before a time, or at it. */
static size_t begun(const struct levels *levels, int64_t time, bool at_it)
{
    size_t after = 0;
    GM_BISECT(after, levels->n, i, levels->v[i].time_ns < time || (at_it && levels->v[i].time_ns == time));
    return after;
}

/* GM_REPORT_NONE: nothing is stated. */
static uint64_t bytes_at(const struct work *w, const struct levels *levels, int64_t time, bool at_it)
{
    const size_t after = begun(levels, time, at_it);
    if (levels->n == 0)
        return GM_REPORT_NONE;
    if (after > 0)
        return levels->v[after - 1].bytes;
    return levels == &w->host ? HOST_AT_FIRST : gm_profile_allocated_before(&w->p->memory.v[levels->v[0].row]);
}

static uint64_t lowest(const struct work *w, int64_t from, int64_t to)
{
    uint64_t bytes = bytes_at(w, &w->device, from, true);
    for (size_t i = begun(&w->device, from, true); i < w->device.n && w->device.v[i].time_ns <= to; i++)
        bytes = w->device.v[i].bytes < bytes ? w->device.v[i].bytes : bytes;
    return bytes;
}

/* ---- by kind and stream ------------------------------------------------------------------------------------------ */

static const char *clean(struct gm_profile_pass *pass, uint32_t string)
{
    size_t n;
    const char *s = gm_profile_string(pass->profile, string, &n);
    return gm_profile_clean(pass->arena, s, n);
}

/* "stream 7", "7" */
static const char *stream_of(struct gm_profile_pass *pass, const struct gm_profile_span *span)
{
    static const char begin[] = "stream ";
    size_t n;
    const char *s = gm_profile_string(pass->profile, pass->profile->threads.v[span->thread].thread, &n);
    const size_t skip = gm_begins_with(s, n, begin) ? sizeof begin - 1 : 0;
    return gm_profile_clean(pass->arena, s + skip, n - skip);
}

static bool count_copy(struct gm_profile_pass *pass, struct work *w, const struct copy *c)
{
    const uint32_t key[2] = {c->span->name, c->span->thread};
    const uint32_t i = gm_intern_add(&w->kinds, key, sizeof key);
    const int64_t end = gm_profile_span_end(c->span);
    if (i == GM_INTERN_NONE)
        return false;
    if (i == w->rows.n) {
        const struct gm_copy_row row = {.name = clean(pass, c->span->name),
                                        .stream = stream_of(pass, c->span),
                                        .direction = direction_words[c->direction],
                                        .device = c->device,
                                        .before = bytes_at(w, &w->device, c->asked_ns, false)};
        if (row.name == NULL || row.stream == NULL || !GM_VEC_PUSH(&w->rows, row))
            return false;
    }
    struct gm_copy_row *row = &w->rows.v[i];
    row->copies++;
    row->bytes = gm_known_add(row->bytes, gm_profile_detail_of(w->p, c->span)->bytes);
    row->time_ns = gm_signed_add(row->time_ns, c->span->duration_ns);
    row->after = bytes_at(w, &w->device, end, true);
    return true;
}

GM_ORDERING(by_bytes, struct gm_copy_row,
            GM_DOWN(bytes) || GM_DOWN(copies) || GM_BY(strcmp(a->name, b->name)) || GM_UP(device) ||
                GM_BY(strcmp(a->stream, b->stream)));

/* ---- bursts ------------------------------------------------------------------------------------------------------ */

/* How many copies from the first on are one burst. */
static size_t length_of(const struct copy *first, size_t most)
{
    size_t n = 1;
    while (n < most && first[n].device == first->device && first[n].direction == first->direction &&
           first[n].step == first->step)
        n++;
    return n;
}

static bool add_burst(struct gm_profile_pass *pass, struct work *w, const struct copy *first, size_t n, size_t most)
{
    const struct copy *last = first + n - 1;
    const bool has_next = n < most && first[n].device == first->device;
    int64_t until = has_next ? first[n].asked_ns : INT64_MAX;
    const int64_t us = gm_profile_us(w->p, first->span->start_ns);
    struct gm_copy_burst burst = {.direction = direction_words[first->direction],
                                  .device = first->device,
                                  .copies = n,
                                  .start_us = us < 0 ? GM_REPORT_NONE : (uint64_t)us,
                                  .before = bytes_at(w, &w->device, first->asked_ns, false)};
    if (first->step != GM_PROFILE_NONE) {
        const struct gm_profile_span *step = &w->p->spans.v[w->steps.v[first->step]];
        until = gm_profile_span_end(step) < until ? gm_profile_span_end(step) : until;
        burst.step = clean(pass, step->name);
        if (burst.step == NULL)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        burst.bytes = gm_known_add(burst.bytes, gm_profile_detail_of(w->p, first[i].span)->bytes);
        burst.time_ns = gm_signed_add(burst.time_ns, first[i].span->duration_ns);
    }
    const int64_t end = gm_profile_span_end(last->span);
    burst.after = first->direction == TO_HOST ? lowest(w, first->asked_ns, until)
                                              : bytes_at(w, &w->device, end < until ? end : until, true);
    if (w->host.n > 0)
        burst.host_bytes =
            gm_signed_gap(bytes_at(w, &w->host, until, true), bytes_at(w, &w->host, first->asked_ns, false));
    return GM_VEC_PUSH(&w->bursts, burst);
}

static bool walk(struct gm_profile_pass *pass, struct work *w)
{
    if (!list_steps(w) || !list_copies(w) || (w->copies.n > 0 && !list_levels(w)))
        return false;
    w->host = levels_of(w, HOST);
    for (size_t i = 0, n; i < w->copies.n; i += n) {
        const struct copy *first = &w->copies.v[i];
        w->device = levels_of(w, first->device);
        n = length_of(first, w->copies.n - i);
        if (!add_burst(pass, w, first, n, w->copies.n - i))
            return false;
        for (size_t k = 0; k < n; k++)
            if (!count_copy(pass, w, &first[k]))
                return false;
    }
    return true;
}

GM_ORDERING(by_time, struct gm_copy_burst, GM_UP(start_us) || GM_UP(device));

enum gm_status gm_profile_copies(struct gm_profile_pass *pass, struct gm_error *err)
{
    struct work w = {.p = pass->profile, .links = &pass->links};
    struct gm_profile_report *out = pass->out;
    const bool ok = walk(pass, &w);
    GM_SORT(w.rows.v, w.rows.n, by_bytes);
    GM_SORT(w.bursts.v, w.bursts.n, by_time);
    out->copies = ok ? gm_arena_array(pass->arena, w.rows.v, w.rows.n, sizeof *w.rows.v) : NULL;
    out->copy_count = w.rows.n;
    out->bursts = ok ? gm_arena_array(pass->arena, w.bursts.v, w.bursts.n, sizeof *w.bursts.v) : NULL;
    out->burst_count = w.bursts.n;
    gm_intern_free(&w.kinds);
    GM_FREE_ALL(w.steps.v, w.copies.v, w.bursts.v, w.rows.v, w.levels.v);
    return out->copies == NULL || out->bursts == NULL ? gm_no_memory(err) : GM_OK;
}
