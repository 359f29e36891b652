/* SPDX-License-Identifier: Apache-2.0
 *
 * What the trace's operators made of a device's memory. The peak that it tells of is the highest while both files
 * recorded: a profiler's schedule covers a few steps, and the run's highest may be in another.
 */
#include "analyze/timeline/join/join_work.h"

#include "analyze/base/address_map.h"
#include "analyze/base/bisect.h"
#include "analyze/base/intern.h"
#include "analyze/base/order.h"
#include "analyze/timeline/peaks/groups.h"

#include <stdlib.h>
#include <string.h>

/* ---- beginning and end of all ------------------------------------------------------------------------------------ */

bool gm_join_new(struct gm_join **join, struct gm_report *report, const struct gm_snapshot *snapshot,
                 const struct gm_snapshot *beside)
{
    struct gm_join *j = calloc(1, sizeof *j);
    *join = j;
    if (j == NULL)
        return false;
    const struct gm_profile *profile = beside->profile;
    *j = (struct gm_join){.p = profile, .snapshot = snapshot, .arena = &report->arena};
    j->out = gm_arena_calloc(j->arena, 1, sizeof *j->out);
    j->memory_of = malloc((snapshot->events.count + 1) * sizeof *j->memory_of);
    if (j->out == NULL || j->memory_of == NULL)
        return false;
    memset(j->memory_of, 0xff, snapshot->events.count * sizeof *j->memory_of);
    j->out->path = gm_clean_copy(j->arena, beside->source.path);
    report->join = j->out;
    if (j->out->path == NULL)
        return false;
    if (profile->memory.n > 0) {
        j->bounds_ns[0] = profile->memory.v[0].time_ns;
        j->bounds_ns[1] = profile->memory.v[profile->memory.n - 1].time_ns;
    }
    return gm_join_match(j) && (j->out->reason != NULL || gm_join_spans(j));
}

void gm_join_free(struct gm_join *join)
{
    if (join == NULL)
        return;
    GM_FREE_ALL(join->memory_of, join->operation, join->module, join->is_backward, join->kernels.v, join->kernel_ns,
                join);
}

/* ---- one device -------------------------------------------------------------------------------------------------- */

struct row_work {
    uint32_t detail; /* a span or GM_PROFILE_NONE: whose name, shapes and types it has */
    uint32_t number; /* in order of its first allocation */
    struct gm_join_row row;
    int64_t best_ns; /* of row.kernel, whose name is: */
    uint32_t best;
};
struct table {
    struct gm_intern keys;
    struct GM_VEC(struct row_work) rows;
    uint32_t *row_of; /* [2 * (spans + 1)] row + 1, 0: none yet; by place_of */
};

struct work {
    struct gm_trace_pass *pass;
    const struct gm_join *join;
    const struct gm_profile *p;
    struct gm_join_device *out;
    uint32_t first, last; /* moments between which both record */
    uint32_t moment;      /* the peak */
    struct table operators, modules;
};

/* The operation in which a memory event, which may be none, was told, or GM_PROFILE_NONE. */
static uint32_t operation_of(const struct work *w, uint32_t memory)
{
    const uint32_t span = memory == GM_PROFILE_NONE ? GM_PROFILE_NONE : w->p->memory.v[memory].span;
    return span == GM_PROFILE_NONE ? GM_PROFILE_NONE : w->join->operation[span];
}

/* Where table.row_of has the row of a span, or of none. */
static size_t place_of(const struct work *w, uint32_t span, bool is_backward)
{
    return 2 * (span == GM_PROFILE_NONE ? w->p->spans.n : span) + is_backward;
}

static void find_window(struct work *w)
{
    const struct gm_history *h = &w->pass->history;
    w->first = GM_NEVER;
    for (uint32_t i = 0; i < h->count; i++)
        if (w->join->memory_of[h->first + i] != GM_PROFILE_NONE) {
            w->first = w->first == GM_NEVER ? i + 1 : w->first;
            w->last = i + 1;
        }
}

/* The moment when most is requested while both record. */
static void find_peak(struct work *w)
{
    const struct gm_trace_pass *pass = w->pass;
    struct gm_sums sums = gm_sums_start(pass);
    struct gm_walk walk = gm_walk_start(&pass->history);
    struct gm_change change;
    gm_i128 most = -1, run_most = sums.requested;
    while (gm_walk_next(&walk, &change)) {
        const uint32_t moment = change.event + 1;
        gm_sums_apply(&sums, pass, &change);
        run_most = sums.requested > run_most ? sums.requested : run_most;
        if (walk.event != moment || moment < w->first || moment > w->last || sums.requested <= most)
            continue;
        most = sums.requested;
        w->moment = moment;
    }
    w->out->requested = gm_clamp(most);
    w->out->is_run_peak = most >= run_most;
    w->out->event = gm_event_of_moment(w->moment);
    w->out->time_us = gm_history_time(&pass->history, w->out->event);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct key {
    uint32_t name, shapes, types, is_backward;
};

/* The row of a span, or of none; NULL: no memory. */
static struct row_work *row_of(struct work *w, struct table *t, uint32_t span, bool is_backward)
{
    uint32_t *known = &t->row_of[place_of(w, span, is_backward)];
    if (*known != 0)
        return &t->rows.v[*known - 1];
    struct key key = {GM_PROFILE_NONE, GM_PROFILE_NONE, GM_PROFILE_NONE, is_backward};
    if (span != GM_PROFILE_NONE) {
        const struct gm_profile_detail *d = gm_profile_detail_of(w->p, &w->p->spans.v[span]);
        key = (struct key){w->p->spans.v[span].name, d->shapes, d->types, is_backward};
    }
    const uint32_t i = gm_intern_add(&t->keys, &key, sizeof key);
    const struct row_work fresh = {
        .detail = span, .number = i, .row = {.is_backward = is_backward}, .best = GM_PROFILE_NONE};
    if (i == GM_INTERN_NONE || (i == t->rows.n && !GM_VEC_PUSH(&t->rows, fresh)))
        return NULL;
    *known = i + 1;
    return &t->rows.v[i];
}

static void add(struct gm_join_sum *sum, uint64_t requested, uint64_t allocated)
{
    sum->blocks++;
    sum->requested = gm_known_add(sum->requested, requested);
    sum->allocated = gm_known_add(sum->allocated, allocated);
}

/* An allocation that is matched. */
static bool count_matched(struct work *w, size_t a, const struct gm_profile_memory *m, bool is_live)
{
    const uint64_t requested = gm_requested(&w->pass->history, a), block = (uint64_t)m->bytes;
    const uint32_t at = m->span, none = GM_PROFILE_NONE;
    struct row_work *rows[] = {
        row_of(w, &w->operators, at == none ? none : w->join->operation[at], false),
        row_of(w, &w->modules, at == none ? none : w->join->module[at], at != none && w->join->is_backward[at])};
    w->out->other_sizes += w->pass->history.is_reconstructed && gm_block_bytes(&w->pass->history, a) != block;
    for (size_t k = 0; k < 2; k++) {
        if (rows[k] == NULL)
            return false;
        add(&rows[k]->row.all, requested, block);
        if (is_live)
            add(&rows[k]->row.at_peak, requested, block);
    }
    if (is_live)
        add(&w->out->matched, requested, block);
    return true;
}

static bool count_allocations(struct work *w)
{
    const struct gm_history *h = &w->pass->history;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const uint32_t memory = gm_join_memory_of(w->pass, a);
        const bool is_live = gm_history_is_active(h, a, w->moment);
        if (gm_is_hidden(w->pass, a))
            continue;
        if (memory != GM_PROFILE_NONE && !count_matched(w, a, &w->p->memory.v[memory], is_live))
            return false;
        if (memory == GM_PROFILE_NONE && is_live)
            add(h->born[a] < w->first ? &w->out->before : &w->out->unknown, gm_requested(h, a), gm_block_bytes(h, a));
    }
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Which kernel took most of a row: sums by row and name. Operators that nest with Python between them have the same
 * kernels, so there may be more to add than there are kernels; beyond some times as many nobody is named. */
struct kernel_sums {
    struct gm_intern keys;
    struct GM_VEC(int64_t) ns;
    uint64_t budget;
};

static bool name_kernels(struct work *w, struct kernel_sums *sums, uint32_t row, size_t first, size_t end)
{
    for (size_t i = first; i < end && sums->budget > 0; i++, sums->budget--) {
        const struct gm_profile_span *kernel = &w->p->spans.v[w->join->kernels.v[i].span];
        const uint32_t key[2] = {row, kernel->name};
        const uint32_t at = gm_intern_add(&sums->keys, key, sizeof key);
        if (at == GM_INTERN_NONE || (at == sums->ns.n && !GM_VEC_PUSH(&sums->ns, 0)))
            return false;
        sums->ns.v[at] = gm_signed_add(sums->ns.v[at], kernel->duration_ns);
        struct row_work *r = &w->operators.rows.v[row];
        if (r->best == GM_PROFILE_NONE || sums->ns.v[at] > r->best_ns) {
            r->best = kernel->name;
            r->best_ns = sums->ns.v[at];
        }
    }
    return true;
}

/* Of every operation that made something, once. */
static bool count_kernels(struct work *w)
{
    struct kernel_sums sums = {.budget = 8 * (uint64_t)w->join->kernels.n};
    bool ok = true;
    for (uint32_t span = 0; ok && span < w->p->spans.n; span++) {
        const uint32_t known = w->operators.row_of[place_of(w, span, false)], row = known - 1;
        if (known == 0)
            continue;
        size_t first;
        const size_t end = gm_join_kernels_in(w->join, span, &first);
        struct gm_join_row *r = &w->operators.rows.v[row].row;
        r->calls++;
        r->kernels += end - first;
        r->device_ns = gm_known_add(r->device_ns, (uint64_t)(w->join->kernel_ns[end] - w->join->kernel_ns[first]));
        ok = name_kernels(w, &sums, row, first, end);
    }
    gm_intern_free(&sums.keys);
    free(sums.ns.v);
    return ok;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

GM_ORDERING(by_weight, struct row_work, GM_DOWN(row.at_peak.requested) || GM_DOWN(row.all.requested) || GM_UP(number));

static bool publish(struct work *w, struct table *t, const struct gm_join_row **out, size_t *count)
{
    const size_t n = gm_min(t->rows.n, w->pass->options->top);
    struct gm_join_row *rows = gm_arena_calloc(w->join->arena, n + 1, sizeof *rows);
    GM_SORT(t->rows.v, t->rows.n, by_weight);
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct row_work *from = &t->rows.v[i];
        rows[i] = from->row;
        ok = gm_join_tell(w->join, from->best, &rows[i].kernel);
        if (from->detail == GM_PROFILE_NONE)
            continue;
        const struct gm_profile_detail *d = gm_profile_detail_of(w->p, &w->p->spans.v[from->detail]);
        ok = ok && gm_join_tell(w->join, w->p->spans.v[from->detail].name, &rows[i].name) &&
             gm_join_tell(w->join, d->shapes, &rows[i].shapes) && gm_join_tell(w->join, d->types, &rows[i].types);
        w->join->out->has_shapes = w->join->out->has_shapes || rows[i].shapes != NULL;
    }
    *out = rows;
    *count = n;
    return ok;
}

/* A matched block at the peak. */
struct live {
    uint64_t requested;
    uint32_t row, memory; /* of w->operators before it is sorted; of the profile */
};
GM_ORDERING(by_size, struct live, GM_UP(requested) || GM_UP(row) || GM_UP(memory));
struct sized {
    struct gm_join_size row;
    uint32_t memory; /* of the first one */
};
GM_ORDERING(by_total, struct sized, GM_DOWN(row.total) || GM_DOWN(row.bytes) || GM_UP(memory));

static size_t list_live(const struct work *w, struct live *v)
{
    const struct gm_history *h = &w->pass->history;
    size_t n = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const uint32_t memory = gm_join_memory_of(w->pass, a);
        if (memory == GM_PROFILE_NONE || gm_is_hidden(w->pass, a) || !gm_history_is_active(h, a, w->moment))
            continue;
        const size_t place = place_of(w, operation_of(w, memory), false);
        v[n++] = (struct live){gm_requested(h, a), w->operators.row_of[place], memory};
    }
    GM_SORT(v, n, by_size);
    return n;
}

static bool explain(struct work *w, struct sized *s)
{
    const uint32_t operation = operation_of(w, s->memory);
    return operation == GM_PROFILE_NONE ||
           (gm_join_tell(w->join, w->p->spans.v[operation].name, &s->row.name) &&
            gm_join_explain(w->join, w->p->memory.v[s->memory].span, s->row.bytes, &s->row.formula));
}

/* Sizes at the peak, by operator. */
static bool tell_sizes(struct work *w)
{
    GM_FREED struct live *live = malloc((w->pass->history.allocation_count + 1) * sizeof *live);
    const size_t count = live == NULL ? 0 : list_live(w, live);
    GM_FREED struct sized *sizes = malloc((count + 1) * sizeof *sizes);
    size_t n = 0;
    for (size_t i = 0; sizes != NULL && i < count; i++) {
        if (i == 0 || live[i].requested != live[i - 1].requested || live[i].row != live[i - 1].row)
            sizes[n++] = (struct sized){{.bytes = live[i].requested}, live[i].memory};
        sizes[n - 1].row.blocks++;
        sizes[n - 1].row.total = gm_known_add(sizes[n - 1].row.total, live[i].requested);
    }
    bool ok = live != NULL && sizes != NULL;
    GM_SORT(sizes, n, by_total);
    w->out->size_count = gm_min(n, w->pass->options->top);
    struct gm_join_size *rows = gm_arena_calloc(w->join->arena, w->out->size_count + 1, sizeof *rows);
    ok = ok && rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = explain(w, &sizes[i]);
        w->out->explained = gm_known_add(w->out->explained, sizes[i].row.formula == NULL ? 0 : sizes[i].row.total);
        if (i < w->out->size_count)
            rows[i] = sizes[i].row;
    }
    w->out->sizes = rows;
    return ok;
}

/* ---- call sites -------------------------------------------------------------------------------------------------- */

struct site_sum { /* of one call site and one row of w->operators */
    uint32_t site, row;
    uint64_t bytes;
};
GM_ORDERING(by_site, struct site_sum, GM_UP(site) || GM_DOWN(bytes) || GM_UP(row));

struct site_sums {
    struct gm_grouping grouping;
    struct gm_intern keys;
    struct GM_VEC(struct site_sum) v;
};

static bool sum_sites(struct work *w, struct site_sums *sums)
{
    const struct gm_history *h = &w->pass->history;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const uint32_t operation = operation_of(w, gm_join_memory_of(w->pass, a));
        if (operation == GM_PROFILE_NONE || gm_is_hidden(w->pass, a))
            continue;
        const struct site_sum sum = {gm_grouping_of(&sums->grouping, gm_stack_of(h, a), gm_role_of(w->pass, a)),
                                     w->operators.row_of[place_of(w, operation, false)] - 1, 0};
        const uint32_t key[2] = {sum.site, sum.row}, at = gm_intern_add(&sums->keys, key, sizeof key);
        if (sum.site == GM_NEVER || at == GM_INTERN_NONE || (at == sums->v.n && !GM_VEC_PUSH(&sums->v, sum)))
            return false;
        sums->v.v[at].bytes = gm_known_add(sums->v.v[at].bytes, gm_requested(h, a));
    }
    return true;
}

/* For each call site of the run's peak the operator that made most of what it made while both recorded. */
static bool name_sites(struct work *w, struct site_sums *sums)
{
    const struct gm_peak_detail *peak = &w->pass->out->peak;
    const char **names = gm_arena_calloc(w->join->arena, peak->site_count + 1, sizeof *names);
    GM_FREED_BY(gm_intern_free) struct gm_intern labels = {.slots = NULL};
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < peak->site_count; i++)
        ok = gm_intern_add(&labels, peak->sites[i].label, strlen(peak->sites[i].label)) != GM_INTERN_NONE;
    GM_SORT(sums->v.v, sums->v.n, by_site);
    for (size_t k = 0; ok && k < sums->v.n; k++) {
        if (k > 0 && sums->v.v[k - 1].site == sums->v.v[k].site)
            continue;
        const char *label = sums->grouping.labels.v[sums->v.v[k].site];
        const uint32_t at = gm_intern_find(&labels, label, strlen(label));
        if (at < peak->site_count && sums->v.v[k].row < w->operators.rows.n)
            ok = gm_join_tell(w->join, w->p->spans.v[w->operators.rows.v[sums->v.v[k].row].detail].name, &names[at]);
    }
    w->out->sites = names;
    return ok;
}

static bool tell_sites(struct work *w)
{
    struct site_sums sums = {.keys = {.slots = NULL}};
    const bool ok =
        gm_grouping_start(&sums.grouping, w->pass, GM_GROUP_NONE, 0) && sum_sites(w, &sums) && name_sites(w, &sums);
    gm_grouping_free(&sums.grouping);
    gm_intern_free(&sums.keys);
    free(sums.v.v);
    return ok;
}

/* ---- steps and phases -------------------------------------------------------------------------------------------- */

struct device_time {
    struct gm_join_busy *v;
    size_t n;
};

/* Nanoseconds before `to` in which something ran. */
static int64_t busy_before(const struct device_time *t, int64_t to)
{
    size_t after = 0;
    GM_BISECT(after, t->n, i, t->v[i].from_ns < to);
    if (after == 0)
        return 0;
    const struct gm_join_busy *b = &t->v[after - 1];
    return gm_signed_add(b->before_ns, (to < b->to_ns ? to : b->to_ns) - b->from_ns);
}

static void add_time(struct gm_join_span *span, const struct device_time *t, int64_t from, int64_t to)
{
    if (to <= from)
        return;
    const int64_t busy = busy_before(t, to) - busy_before(t, from);
    span->times++;
    span->span_ns = gm_signed_add(span->span_ns, to - from);
    span->busy_ns = gm_signed_add(span->busy_ns, busy);
    span->idle_ns = gm_signed_add(span->idle_ns, to - from - busy);
}

enum { STEPS_MOST = 1000 };

/* As torch.profiler numbered them. */
static bool tell_numbered_steps(struct work *w, const struct device_time *t, struct gm_join_span *rows)
{
    for (size_t i = 0; i < w->p->spans.n && w->out->step_count < STEPS_MOST; i++) {
        const struct gm_profile_span *span = &w->p->spans.v[i];
        if (gm_profile_span_is_on_device(span->kind) || !gm_profile_is_step(w->p, span) || span->duration_ns == 0)
            continue;
        struct gm_join_span *row = &rows[w->out->step_count++];
        add_time(row, t, span->start_ns, gm_profile_span_end(span));
        if (!gm_join_tell(w->join, span->name, &row->name))
            return false;
    }
    return true;
}

/* Those of the snapshot that lie in the trace as a whole. */
static void tell_own_steps(struct work *w, const struct device_time *t, struct gm_join_span *rows)
{
    const struct gm_steps *steps = &w->pass->out->steps;
    for (size_t i = 0; i < steps->row_count && w->out->step_count < STEPS_MOST; i++) {
        const struct gm_step_row *step = &steps->rows[i];
        if (step->from_us == GM_REPORT_NONE || step->to_us == GM_REPORT_NONE)
            continue;
        const int64_t from = gm_join_trace_ns(w->join, (int64_t)gm_min(step->from_us, INT64_MAX));
        const int64_t to = gm_join_trace_ns(w->join, (int64_t)gm_min(step->to_us, INT64_MAX));
        if (from < w->join->bounds_ns[0] || to > w->join->bounds_ns[1] || to <= from)
            continue;
        rows[w->out->step_count].name = step->label;
        add_time(&rows[w->out->step_count++], t, from, to);
    }
}

static bool tell_steps(struct work *w, const struct device_time *t)
{
    struct gm_join_span *rows = gm_arena_calloc(w->join->arena, STEPS_MOST, sizeof *rows);
    w->out->steps = rows;
    if (rows == NULL || !tell_numbered_steps(w, t, rows))
        return false;
    if (w->out->step_count == 0)
        tell_own_steps(w, t, rows);
    return true;
}

/* A phase lasts from its first event to the first of the next one. */
static bool tell_phases(struct work *w, const struct device_time *t)
{
    const struct gm_history *h = &w->pass->history;
    struct gm_join_span sums[GM_PHASE_COUNT] = {{.name = NULL}};
    struct gm_join_span *rows = gm_arena_calloc(w->join->arena, GM_PHASE_COUNT, sizeof *rows);
    if (rows == NULL || w->pass->phase == NULL)
        return rows != NULL;
    uint32_t begin = w->first - 1;
    for (uint32_t i = begin; i < w->last; i++) {
        if (i + 1 < w->last && gm_phase_of(w->pass->phase, i + 1) == gm_phase_of(w->pass->phase, begin))
            continue;
        const uint64_t from = gm_history_time(h, begin), to = gm_history_time(h, i + 1 < w->last ? i + 1 : i);
        if (from != GM_REPORT_NONE && to != GM_REPORT_NONE && gm_phase_of(w->pass->phase, begin) < GM_PHASE_COUNT)
            add_time(&sums[gm_phase_of(w->pass->phase, begin)], t, gm_join_trace_ns(w->join, (int64_t)from),
                     gm_join_trace_ns(w->join, (int64_t)to));
        begin = i + 1;
    }
    for (size_t k = 0; k < GM_PHASE_COUNT; k++)
        if (sums[k].times > 0) {
            sums[k].name = gm_phase_name((enum gm_phase)k);
            rows[w->out->phase_count++] = sums[k];
        }
    w->out->phases = rows;
    return true;
}

static bool tell_times(struct work *w)
{
    GM_FREED struct device_time t = {.n = 0};
    if (w->join->out->kernels == 0)
        return true;
    return gm_join_busy(w->join, w->pass->history.device, &t.v, &t.n) &&
           (t.n == 0 || (tell_steps(w, &t) && tell_phases(w, &t)));
}

static bool run(struct work *w)
{
    const size_t spans = 2 * (w->p->spans.n + 1);
    w->operators.row_of = calloc(spans, sizeof *w->operators.row_of);
    w->modules.row_of = calloc(spans, sizeof *w->modules.row_of);
    if (w->operators.row_of == NULL || w->modules.row_of == NULL)
        return false;
    find_window(w);
    if (w->first == GM_NEVER)
        return true;
    find_peak(w);
    w->pass->out->join = w->out;
    return count_allocations(w) && count_kernels(w) && tell_sizes(w) && tell_sites(w) &&
           publish(w, &w->operators, &w->out->operators, &w->out->operator_count) &&
           publish(w, &w->modules, &w->out->modules, &w->out->module_count) && tell_times(w) &&
           gm_join_events(w->pass, w->out);
}

static void free_table(struct table *t)
{
    gm_intern_free(&t->keys);
    GM_FREE_ALL(t->rows.v, t->row_of);
}

bool gm_trace_join(struct gm_trace_pass *pass)
{
    if (pass->join == NULL || pass->join->out->reason != NULL || pass->history.count == 0)
        return true;
    struct work w = {.pass = pass, .join = pass->join, .p = pass->join->p};
    w.out = gm_arena_calloc(&pass->report->arena, 1, sizeof *w.out);
    const bool ok = w.out != NULL && run(&w);
    free_table(&w.operators);
    free_table(&w.modules);
    return ok;
}

/* ---- the largest blocks ------------------------------------------------------------------------------------------ */

static bool tell_block(const struct work *w, struct gm_join_block *out, uint64_t requested, uint32_t span)
{
    const struct gm_join *join = w->join;
    if (span == GM_PROFILE_NONE)
        return true;
    const uint32_t operation = join->operation[span], module = join->module[span];
    if (module != GM_PROFILE_NONE && !gm_join_tell(w->join, w->p->spans.v[module].name, &out->module))
        return false;
    return operation == GM_PROFILE_NONE ||
           (gm_join_tell(w->join, w->p->spans.v[operation].name, &out->operation) &&
            gm_join_tell(w->join, gm_profile_detail_of(w->p, &w->p->spans.v[operation])->shapes, &out->shapes) &&
            gm_join_explain(join, span, requested, &out->formula));
}

static bool tell_blocks(const struct work *w, struct gm_join_block *out)
{
    const struct gm_trace_pass *pass = w->pass;
    const struct gm_history *h = &pass->history;
    GM_FREED_BY(gm_map_free) struct gm_address_map at_end = {.slots = NULL};
    bool ok = true;
    uint32_t before;
    for (size_t a = 0; ok && a < h->allocation_count; a++)
        if (gm_final_block(h, a) != GM_NO_BLOCK && gm_join_memory_of(pass, a) != GM_PROFILE_NONE)
            ok = gm_map_put(&at_end, gm_history_address(h, a), gm_join_memory_of(pass, a), &before);
    for (size_t i = 0; ok && i < pass->report->top_block_count; i++) {
        const struct gm_block_row *row = &pass->report->top_blocks[i];
        const uint32_t memory = row->device != h->device ? GM_MAP_NONE : gm_map_get(&at_end, row->address);
        ok = memory == GM_MAP_NONE || tell_block(w, &out[i], row->requested, w->p->memory.v[memory].span);
    }
    return ok;
}

bool gm_trace_join_blocks(struct gm_trace_pass *passes, size_t count)
{
    if (count == 0 || passes[0].join->out->reason != NULL)
        return true;
    struct gm_join *join = passes[0].join;
    struct gm_join_block *blocks = gm_arena_calloc(join->arena, passes[0].report->top_block_count + 1, sizeof *blocks);
    bool ok = blocks != NULL;
    for (size_t d = 0; ok && d < count; d++)
        ok = tell_blocks(&(struct work){.pass = &passes[d], .join = join, .p = join->p}, blocks);
    join->out->blocks = blocks;
    return ok;
}
