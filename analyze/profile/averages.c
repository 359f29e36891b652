/* SPDX-License-Identifier: Apache-2.0
 *
 * What each operator used, counted as torch.profiler's key_averages() does, so that the numbers are the same to the
 * byte:
 *
 *   - an operator has the memory of all threads between its start and its end, both included;
 *   - operators of a thread nest by time; what overlaps only partly is beside;
 *   - `self` is the total less the totals of what is directly inside;
 *   - an operator that alone is inside one of its own name is not counted again;
 *   - memory that no operator has is a row [memory] of its own.
 *
 * Two things depend on the version of PyTorch, which the file does not state but shows: from 2.12 on ("host_name")
 * Python functions take part in the nesting; up to 2.10 the edges of operators are rounded by doubles, to about 256 ns.
 */
#include "analyze/base/freed.h"
#include "analyze/profile/profile_pass.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/ascii.h"
#include "analyze/base/bisect.h"
#include "analyze/base/intern.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* A span that has begun and not ended, or the one that alone is inside it and of its name, which may not count. */
struct closed {
    uint32_t span;
    struct gm_operator_sums total, inside; /* inside: of what is directly in it */
    int64_t kernels;
};
struct open {
    struct closed row;
    struct closed held;
    uint32_t children;
    bool has_held;
};

/* What is known of a string of the profile, so that it is worked out once. */
struct known {
    uint32_t name, shapes; /* in texts, + 1; 0: not yet */
    bool is_ignored;
};

struct table {
    struct gm_intern keys;
    struct gm_intern_recent recent;
    struct GM_VEC(struct gm_operator_row) rows;
    bool by_shapes, by_stack;
};

struct averages {
    struct gm_profile_pass *pass;
    const struct gm_profile *p;
    uint64_t *host, *device; /* [memory.n + 1]: bytes of the events before; they may wrap, differences count */
    int64_t *covered;        /* [memory.n + 1]: how many operators begin to have the event, less how many ended to */
    struct gm_profile_stacks stacks;
    struct GM_VEC(struct open) open;
    struct table *tables; /* those that are filled now */
    size_t table_count;
    bool has_python_nested, rounds_edges, is_of_modules, modules_are_annotations;
    struct gm_intern texts; /* names, shapes and stacks, as key_averages() tells them apart */
    struct known *known;    /* [strings + 1]; the last one: of no string */
    struct gm_stack_text text;
    size_t first; /* of memory: of the operator before */
};

static struct gm_operator_sums combine(struct gm_operator_sums a, struct gm_operator_sums b,
                                       int64_t (*each)(int64_t, int64_t))
{
    return (struct gm_operator_sums){each(a.host_bytes, b.host_bytes), each(a.device_bytes, b.device_bytes),
                                     each(a.time_ns, b.time_ns), each(a.device_time_ns, b.device_time_ns)};
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool sum_memory(struct averages *w)
{
    const size_t n = w->p->memory.n;
    w->host = calloc(n + 1, sizeof *w->host);
    w->device = calloc(n + 1, sizeof *w->device);
    w->covered = calloc(n + 2, sizeof *w->covered);
    if (w->host == NULL || w->device == NULL || w->covered == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct gm_profile_memory *m = &w->p->memory.v[i];
        const enum gm_memory_side side = gm_profile_side(m);
        w->host[i + 1] = w->host[i] + (side == GM_SIDE_HOST ? (uint64_t)m->bytes : 0);
        w->device[i + 1] = w->device[i] + (side == GM_SIDE_DEVICE ? (uint64_t)m->bytes : 0);
    }
    return true;
}

/* What older versions make of a time: nanoseconds since 1970 / 1000 * 1000, as doubles. */
static int64_t edge(const struct averages *w, int64_t ns)
{
    if (!w->rounds_edges)
        return ns;
    const double us = (double)((long double)(w->p->base_ns + ns) / 1000.0L);
    return (int64_t)(us * 1000.0) - w->p->base_ns;
}

/* How many events are before a time, of which at least `at` are known to be: mostly not many more. */
static size_t count_before(const struct averages *w, int64_t time, size_t at)
{
    const struct gm_profile_memory *m = w->p->memory.v;
    size_t end = at;
    for (size_t step = 1; end < w->p->memory.n && m[end].time_ns < time; step *= 2) {
        at = end + 1;
        end = w->p->memory.n - at < step ? w->p->memory.n : at + step;
    }
    GM_BISECT(at, end, i, m[i].time_ns < time);
    return at;
}

static struct gm_operator_sums measure(struct averages *w, const struct gm_profile_span *span, bool has_memory)
{
    const int64_t start = edge(w, span->start_ns), end = edge(w, gm_profile_span_end(span));
    const bool is_later = w->first > 0 && w->p->memory.v[w->first - 1].time_ns < start;
    const size_t first = w->first = count_before(w, start, is_later ? w->first : 0);
    const size_t last = count_before(w, end + 1, first);
    if (has_memory && last > first) {
        w->covered[first]++;
        w->covered[last]--;
    }
    return (struct gm_operator_sums){.host_bytes = gm_wrap_sub((int64_t)w->host[last], (int64_t)w->host[first]),
                                     .device_bytes = gm_wrap_sub((int64_t)w->device[last], (int64_t)w->device[first]),
                                     .time_ns = span->duration_ns};
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct averages *w, uint32_t name, size_t *n)
{
    static const char any_step[] = "ProfilerStep*";
    const char *s = gm_profile_string(w->p, name, n);
    const bool is_step = gm_begins_with(s, *n, GM_PROFILE_STEP);
    *n = is_step ? sizeof any_step - 1 : *n;
    return is_step ? any_step : s;
}

static bool same_name(const struct averages *w, uint32_t a, uint32_t b)
{
    size_t n, m;
    const uint32_t one = w->p->spans.v[a].name, other = w->p->spans.v[b].name;
    const char *s = name_of(w, one, &n), *t = name_of(w, other, &m);
    return one == other || (n == m && memcmp(s, t, n) == 0);
}

static struct known *known_of(const struct averages *w, uint32_t string)
{
    return &w->known[string == GM_PROFILE_NONE ? w->p->strings.entries.n : string];
}

/* This and the next two: in w->texts; GM_INTERN_NONE: no memory. */
static uint32_t name_number(struct averages *w, uint32_t string)
{
    struct known *known = known_of(w, string);
    size_t n;
    const char *name = name_of(w, string, &n);
    if (known->name == 0)
        known->name = gm_intern_add(&w->texts, name, n) + 1;
    return known->name - 1;
}

static uint32_t stack_number(struct averages *w, uint32_t span)
{
    uint32_t none = 0, *known = gm_profile_stack_number(&w->stacks, span);
    known = known == NULL ? &none : known;
    if (*known != 0)
        return *known - 1;
    if (!gm_profile_stack_text(&w->stacks, span, &w->text))
        return GM_INTERN_NONE;
    *known = gm_intern_add(&w->texts, w->text.v == NULL ? "" : w->text.v, w->text.n) + 1;
    return *known - 1;
}

/* A list of tensors among the inputs is told as [], whatever is in it. */
static uint32_t shapes_number(struct averages *w, uint32_t string)
{
    struct known *known = known_of(w, string);
    if (known->shapes != 0)
        return known->shapes - 1;
    size_t n;
    const char *s = gm_profile_string(w->p, string, &n);
    int depth = 0;
    bool is_list = false; /* of the input that is read */
    w->text.n = 0;
    if (!GM_VEC_ROOM(&w->text, n + 1))
        return GM_INTERN_NONE;
    for (size_t i = 0; i < n; i++) {
        depth += s[i] == '[';
        is_list = is_list || depth > 2;
        depth -= s[i] == ']';
        is_list = is_list && depth > 1;
        if (!is_list)
            w->text.v[w->text.n++] = s[i];
    }
    known->shapes = gm_intern_add(&w->texts, n == 0 ? "[]" : w->text.v, n == 0 ? 2 : w->text.n) + 1;
    return known->shapes - 1;
}

struct key {
    uint32_t name, shapes, stack;
    uint32_t what; /* bits: annotation, on a device */
};

static const char *clean(const struct averages *w, uint32_t text)
{
    const struct gm_intern_entry *entry = &w->texts.entries.v[text];
    return gm_profile_clean(w->pass->arena, entry->bytes, entry->length);
}

static struct gm_operator_row *row_of(const struct averages *w, struct table *t, struct key key)
{
    if (key.name == GM_INTERN_NONE || key.shapes == GM_INTERN_NONE || key.stack == GM_INTERN_NONE)
        return NULL;
    const uint32_t i = gm_intern_again(&t->keys, &t->recent, &key, sizeof key);
    if (i == GM_INTERN_NONE)
        return NULL;
    if (i < t->rows.n)
        return &t->rows.v[i];
    struct gm_operator_row row = {.name = clean(w, key.name),
                                  .shapes = t->by_shapes ? clean(w, key.shapes) : NULL,
                                  .stack = t->by_stack ? clean(w, key.stack) : NULL,
                                  .is_annotation = (key.what & 1) != 0,
                                  .is_on_device = (key.what & 2) != 0};
    const bool ok = row.name != NULL && (!t->by_shapes || row.shapes != NULL) && (!t->by_stack || row.stack != NULL);
    return ok && GM_VEC_PUSH(&t->rows, row) ? &t->rows.v[i] : NULL;
}

static bool count_into(struct averages *w, struct table *t, const struct closed *c)
{
    const struct gm_profile_span *span = &w->p->spans.v[c->span];
    const bool is_annotation = span->kind == GM_SPAN_ANNOTATION || span->kind == GM_SPAN_DEVICE_ANNOTATION;
    const struct key key = {.name = name_number(w, span->name),
                            .shapes = t->by_shapes ? shapes_number(w, gm_profile_detail_of(w->p, span)->shapes) : 0,
                            .stack = t->by_stack ? stack_number(w, c->span) : 0,
                            .what = (uint32_t)is_annotation | (gm_profile_span_is_on_device(span->kind) ? 2u : 0u)};
    struct gm_operator_row *row = row_of(w, t, key);
    if (row == NULL)
        return false;
    row->calls++;
    row->total = combine(row->total, c->total, gm_wrap_add);
    row->self = combine(row->self, combine(c->total, c->inside, gm_wrap_sub), gm_wrap_add);
    return true;
}

static bool emit(struct averages *w, const struct closed *c)
{
    if (!w->is_of_modules && w->p->spans.v[c->span].kind == GM_SPAN_PYTHON)
        return true;
    for (size_t i = 0; i < w->table_count; i++)
        if (!count_into(w, &w->tables[i], c))
            return false;
    return true;
}

/* ---- nesting ----------------------------------------------------------------------------------------------------- */

/* The innermost open span ends. */
static bool close_one(struct averages *w)
{
    struct open *top = &w->open.v[--w->open.n];
    struct closed c = top->row;
    if (top->has_held && top->children == 1) { /* it alone: what is inside it is inside this one */
        c.inside = top->held.inside;
        c.kernels = top->held.kernels;
        c.total.device_time_ns = top->held.total.device_time_ns;
    } else {
        c.total.device_time_ns = gm_wrap_add(c.kernels, c.inside.device_time_ns);
    }
    if (w->open.n == 0)
        return emit(w, &c);
    struct open *outer = &w->open.v[w->open.n - 1];
    outer->row.inside = combine(outer->row.inside, c.total, gm_wrap_add);
    outer->children += outer->children < 2;
    if (outer->children == 1 && same_name(w, outer->row.span, c.span)) {
        outer->held = c;
        outer->has_held = true;
        return true;
    }
    const bool had_held = outer->has_held;
    outer->has_held = false;
    return (!had_held || emit(w, &outer->held)) && emit(w, &c);
}

static bool is_ignored(const char *s, size_t n)
{
    static const char *const names[] = {"[memory]",
                                        "[OutOfMemory]",
                                        "profiler::_record_function_enter",
                                        "profiler::_record_function_enter_new",
                                        "profiler::_record_function_exit",
                                        "aten::is_leaf",
                                        "aten::output_nr",
                                        "aten::_version"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (gm_is_text(s, n, names[i]))
            return true;
    return false;
}

static bool takes_part(const struct averages *w, const struct gm_profile_span *span)
{
    size_t n;
    const char *s = gm_profile_string(w->p, span->name, &n);
    if (w->is_of_modules && w->modules_are_annotations)
        return span->kind == GM_SPAN_ANNOTATION;
    if (w->is_of_modules)
        return span->kind == GM_SPAN_PYTHON && gm_begins_with(s, n, "nn.Module: ");
    return (span->kind != GM_SPAN_PYTHON || w->has_python_nested) && !w->known[span->name].is_ignored;
}

static bool take(struct averages *w, uint32_t i)
{
    const struct gm_profile_span *span = &w->p->spans.v[i];
    struct open o = {.row = {.span = i}};
    if (gm_profile_span_is_on_device(span->kind)) {
        o.row.total = (struct gm_operator_sums){.device_time_ns = span->duration_ns};
        return emit(w, &o.row);
    }
    while (w->open.n > 0) {
        const struct gm_profile_span *outer = &w->p->spans.v[w->open.v[w->open.n - 1].row.span];
        if (gm_profile_is_around(outer, span))
            break;
        if (!close_one(w))
            return false;
    }
    o.row.total = measure(w, span, !w->is_of_modules);
    o.row.kernels = gm_link_of(&w->pass->links, i)->device_ns;
    return GM_VEC_PUSH(&w->open, o);
}

static bool walk(struct averages *w, struct table *tables, size_t count)
{
    w->tables = tables;
    w->table_count = count;
    for (uint32_t i = 0; i < w->p->spans.n; i++)
        if (takes_part(w, &w->p->spans.v[i]) && !take(w, i))
            return false;
    while (w->open.n > 0)
        if (!close_one(w))
            return false;
    return true;
}

/* ---- before and after -------------------------------------------------------------------------------------------- */

static bool look_at_names(struct averages *w)
{
    const struct gm_intern *strings = &w->p->strings;
    w->known = calloc(strings->entries.n + 1, sizeof *w->known);
    for (size_t i = 0; w->known != NULL && i < strings->entries.n; i++)
        w->known[i].is_ignored = is_ignored(strings->entries.v[i].bytes, strings->entries.v[i].length);
    return w->known != NULL;
}

/* Memory that no operator has. */
static bool add_rest(struct averages *w, struct table *tables, size_t count)
{
    int64_t covers = 0;
    for (size_t i = 0; i < w->p->memory.n; i++) {
        const struct gm_profile_memory *m = &w->p->memory.v[i];
        const enum gm_memory_side side = gm_profile_side(m);
        const struct gm_operator_sums bytes = {.host_bytes = side == GM_SIDE_HOST ? m->bytes : 0,
                                               .device_bytes = side == GM_SIDE_DEVICE ? m->bytes : 0};
        covers += w->covered[i];
        for (size_t t = 0; covers == 0 && t < count; t++) {
            struct gm_operator_row *row = row_of(w, &tables[t],
                                                 (struct key){.name = gm_intern_add(&w->texts, "[memory]", 8),
                                                              .shapes = gm_intern_add(&w->texts, "[]", 2),
                                                              .stack = gm_intern_add(&w->texts, "", 0)});
            if (row == NULL)
                return false;
            row->calls++;
            row->total = combine(row->total, bytes, gm_wrap_add);
            row->self = combine(row->self, bytes, gm_wrap_add);
        }
    }
    return true;
}

GM_ORDERING(by_weight, struct gm_operator_row,
            GM_DOWN(self.device_bytes) || GM_DOWN(self.host_bytes) || GM_DOWN(self.time_ns) ||
                GM_DOWN(self.device_time_ns) || GM_BY(strcmp(a->name, b->name)) ||
                GM_BY(a->shapes == NULL || b->shapes == NULL ? 0 : strcmp(a->shapes, b->shapes)) ||
                GM_BY(a->stack == NULL || b->stack == NULL ? 0 : strcmp(a->stack, b->stack)) || GM_UP(is_annotation) ||
                GM_UP(is_on_device));

static bool publish(struct averages *w, struct table *t, struct gm_operator_table *out)
{
    GM_SORT(t->rows.v, t->rows.n, by_weight);
    *out =
        (struct gm_operator_table){gm_arena_array(w->pass->arena, t->rows.v, t->rows.n, sizeof *t->rows.v), t->rows.n};
    return out->v != NULL;
}

static bool run(struct averages *w, struct table tables[4])
{
    struct gm_profile_report *out = w->pass->out;
    if (!look_at_names(w) || !sum_memory(w) ||
        (out->has_python && !gm_profile_stacks_find(&w->stacks, w->p, &w->pass->links)) || !walk(w, tables, 3) ||
        !add_rest(w, tables, 3))
        return false;
    w->is_of_modules = true;
    bool ok = walk(w, &tables[3], 1);
    if (ok && tables[3].rows.n == 0) {
        w->modules_are_annotations = out->modules_are_annotations = true;
        ok = walk(w, &tables[3], 1);
    }
    return ok && publish(w, &tables[0], &out->operators) && publish(w, &tables[1], &out->shapes) &&
           publish(w, &tables[2], &out->stacks) && publish(w, &tables[3], &out->modules);
}

enum gm_status gm_profile_averages(struct gm_profile_pass *pass, struct gm_error *err)
{
    const struct gm_profile *p = pass->profile;
    struct averages w = {.pass = pass, .p = p, .has_python_nested = p->has_host_name};
    struct table tables[4] = {{.by_shapes = false}, {.by_shapes = true}, {.by_stack = true}, {.by_shapes = false}};
    w.rounds_edges = p->base_ns != 0 && !p->has_host_name && !p->is_trace_id_first;
    pass->out->has_rounded_edges = w.rounds_edges;
    const bool ok = run(&w, tables);
    for (size_t t = 0; t < 4; t++) {
        gm_intern_free(&tables[t].keys);
        free(tables[t].rows.v);
    }
    GM_FREE_ALL(w.host, w.device, w.covered);
    gm_profile_stacks_free(&w.stacks);
    GM_FREE_ALL(w.open.v, w.text.v);
    gm_intern_free(&w.texts);
    free(w.known);
    return ok ? GM_OK : gm_no_memory(err);
}
