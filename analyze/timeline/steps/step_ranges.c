/* SPDX-License-Identifier: Apache-2.0
 *
 * Annotations as ranges of events. STARTs and ENDs of one name nest; a name's END belongs to its latest open START.
 * The recorder is a ring, so either may be lost. Times place them among the events, since they carry no event number;
 * files of 2024's development versions have them as events of their own instead.
 */
#include "analyze/base/ascii.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>
#include <string.h>

/* A START or an END. */
struct mark {
    int64_t time_us;
    uint32_t name, order;
    uint32_t first, last; /* the first event at or after it, the last one at or before it plus one */
    uint8_t stage;
};

struct marks {
    struct mark *v;
    size_t n;
};

GM_ORDERING(by_time, struct mark, GM_UP(time_us) || GM_UP(order));

/* The first event whose time is above `time`, or at it too if `or_equal`. */
static uint32_t event_at(const struct gm_history *h, int64_t time, bool or_equal)
{
    const struct gm_events *e = &h->snapshot->events;
    size_t low = 0;
    GM_BISECT(low, h->count, i,
              gm_event_time_us(e, h->first + i) < time || (!or_equal && gm_event_time_us(e, h->first + i) == time));
    return (uint32_t)low;
}

/* Annotations are of the device that was current on the thread; one that has none of its own shares the others'. */
static bool from_annotations(struct gm_step_work *w, struct marks *marks)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_snapshot *s = h->snapshot;
    size_t own = 0;
    for (size_t i = 0; i < s->annotation_count; i++)
        own += s->annotations[i].device == h->device;
    marks->v = malloc((s->annotation_count + 1) * sizeof *marks->v);
    if (marks->v == NULL)
        return false;
    bool is_sorted = true;
    for (size_t i = 0; i < s->annotation_count; i++) {
        const struct gm_annotation *a = &s->annotations[i];
        if ((own > 0 && a->device != h->device) || a->stage == GM_STAGE_OTHER || a->time_us == GM_ABSENT_TIME)
            continue;
        marks->v[marks->n] = (struct mark){a->time_us, a->name.v, (uint32_t)i, 0, 0, a->stage};
        is_sorted = is_sorted && (marks->n == 0 || marks->v[marks->n - 1].time_us <= a->time_us);
        marks->n++;
    }
    if (!is_sorted)
        GM_SORT(marks->v, marks->n, by_time);
    for (size_t i = 0; i < marks->n; i++) {
        marks->v[i].first = event_at(h, marks->v[i].time_us, true);
        marks->v[i].last = event_at(h, marks->v[i].time_us, false);
    }
    return true;
}

static uint8_t stage_of(const struct gm_snapshot *s, struct gm_string_id name)
{
    size_t n;
    const char *text = gm_string(s, name, &n);
    return gm_is_text(text, n, gm_stages[GM_STAGE_START]) ? GM_STAGE_START
           : gm_is_text(text, n, gm_stages[GM_STAGE_END]) ? GM_STAGE_END
                                                          : GM_STAGE_OTHER;
}

/* Events that say user_defined: one frame, its function START or END, its file the annotation's text. */
static bool from_events(struct gm_step_work *w, struct marks *marks)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_snapshot *s = h->snapshot;
    const uint8_t *action = s->events.action + h->first, *at = action, *end = action + h->count;
    size_t capacity = 0;
    for (; at < end && (at = memchr(at, GM_ACTION_USER_DEFINED, (size_t)(end - at))) != NULL; at++) {
        uint32_t i = (uint32_t)(at - action);
        size_t depth;
        const struct gm_frame_id *frames = gm_stack_frames(s, gm_event_stack(&s->events, h->first + i), &depth);
        uint8_t stage = depth == 0 ? GM_STAGE_OTHER : stage_of(s, s->frames.name[frames[0].v]);
        if (stage == GM_STAGE_OTHER)
            continue;
        if (!gm_grow(&marks->v, &capacity, marks->n + 1, sizeof *marks->v))
            return false;
        int64_t time = gm_event_time_us(&s->events, h->first + i);
        marks->v[marks->n++] = (struct mark){time, s->frames.filename[frames[0].v].v, i, i, i + 1, stage};
    }
    return true;
}

/* "ProfilerStep#12" is a profiler step with a number; others are told by how they begin. */
static uint8_t kind_of(const struct gm_snapshot *s, uint32_t name, uint64_t *number)
{
    static const char step[] = "ProfilerStep#";
    size_t n, prefix = sizeof step - 1;
    const char *text = gm_string(s, (struct gm_string_id){name}, &n);
    *number = 0;
    if (n > prefix && n <= prefix + 18 && gm_begins_with(text, n, step)) {
        for (size_t i = prefix; i < n; i++) {
            if (text[i] < '0' || text[i] > '9')
                return GM_RANGE_USER;
            *number = *number * 10 + (uint64_t)(text[i] - '0');
        }
        return GM_RANGE_PROFILER_STEP;
    }
    if (gm_begins_with(text, n, "Optimizer.step#"))
        return GM_RANGE_OPTIMIZER_STEP;
    if (gm_begins_with(text, n, "Optimizer.zero_grad#"))
        return GM_RANGE_ZERO_GRAD;
    return GM_RANGE_USER;
}

/* The range from one mark to another; NULL: the mark is lost. Without events in it there is nothing to show; but an
 * optimizer's step ends one of the run's. */
static bool add_range(struct gm_step_work *w, const struct mark *start, const struct mark *end)
{
    const struct gm_history *h = &w->pass->history;
    const struct gm_events *e = &h->snapshot->events;
    uint32_t first = start == NULL ? 0 : start->first, after = end == NULL ? (uint32_t)h->count : end->last;
    uint64_t number;
    if (first >= after)
        return start == NULL || end == NULL || first == 0 ||
               kind_of(h->snapshot, start->name, &number) != GM_RANGE_OPTIMIZER_STEP ||
               GM_VEC_PUSH(&w->idle, ((struct gm_idle_step){{start->name}, first}));
    struct gm_range r = {.name = {start == NULL ? end->name : start->name},
                         .has_start = start != NULL,
                         .has_end = end != NULL,
                         .first = first,
                         .last = after - 1};
    r.kind = kind_of(h->snapshot, r.name.v, &r.number);
    r.from_us = start != NULL ? start->time_us : gm_event_time_us(e, h->first);
    r.to_us = end != NULL ? end->time_us : gm_event_time_us(e, h->first + h->count - 1);
    return GM_VEC_PUSH(&w->ranges, r);
}

static bool pair_marks(struct gm_step_work *w, const struct marks *marks)
{
    size_t names = (size_t)w->pass->snapshot->strings.count + 1;
    GM_FREED uint32_t *open = calloc(names, sizeof *open); /* [name] the latest open START, plus one */
    GM_FREED uint32_t *before = malloc((marks->n + 1) * sizeof *before);
    GM_FREED bool *is_open = calloc(marks->n + 1, sizeof *is_open);
    bool ok = open != NULL && before != NULL && is_open != NULL;
    for (size_t i = 0; ok && i < marks->n; i++) {
        const struct mark *m = &marks->v[i];
        if (m->stage == GM_STAGE_START) {
            before[i] = open[m->name];
            open[m->name] = (uint32_t)i + 1;
            is_open[i] = true;
            continue;
        }
        uint32_t start = open[m->name];
        if (start != 0) {
            open[m->name] = before[start - 1];
            is_open[start - 1] = false;
        }
        ok = add_range(w, start == 0 ? NULL : &marks->v[start - 1], m);
    }
    for (size_t i = 0; ok && i < marks->n; i++)
        if (is_open[i])
            ok = add_range(w, &marks->v[i], NULL);
    return ok;
}

GM_ORDERING(by_first, struct gm_range, GM_UP(first) || GM_DOWN(last) || GM_UP(from_us) || GM_UP(name.v));

/* Sorted, the ranges around one are those that are open where it begins. */
static bool find_depths(struct gm_step_work *w)
{
    GM_FREED uint32_t *open = malloc((w->ranges.n + 1) * sizeof *open); /* the last events of those around */
    size_t n = 0;
    if (open == NULL)
        return false;
    GM_SORT(w->ranges.v, w->ranges.n, by_first);
    for (size_t i = 0; i < w->ranges.n; i++) {
        struct gm_range *r = &w->ranges.v[i];
        while (n > 0 && open[n - 1] < r->first)
            n--;
        r->depth = (unsigned)n;
        open[n++] = r->last;
    }
    return true;
}

bool gm_step_ranges(struct gm_step_work *w)
{
    const struct gm_history *h = &w->pass->history;
    GM_FREED struct marks marks = {0};
    bool ok = true;
    if (h->count == 0)
        return true;
    if (h->snapshot->annotation_count > 0 && h->snapshot->annotation_count < UINT32_MAX &&
        gm_events_have_times(&h->snapshot->events))
        ok = from_annotations(w, &marks);
    if (marks.n == 0)
        ok = ok && from_events(w, &marks);
    return ok && (marks.n == 0 || (pair_marks(w, &marks) && (w->ranges.n == 0 || find_depths(w))));
}
