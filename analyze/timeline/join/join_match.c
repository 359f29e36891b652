/* SPDX-License-Identifier: Apache-2.0
 *
 * Which memory event of the trace is which event of the snapshot. Both record the same calls of the allocator, within a
 * few microseconds of each other, by clocks that need not agree:
 *
 *   - the offset of the clocks is that of which most pairs of one address, device and direction (came, went) and of a
 *     size that fits are within NEAR_NS of each other, looked for in some stretches of consecutive events;
 *   - from the best stretch on, forwards and backwards, each event of the trace is given the nearest event of the
 *     snapshot that nobody has. The offset follows them, so that clocks may drift apart;
 *   - that counts only if nearly all events have one (is_confident). Another run of the same program has the same
 *     addresses and sizes in the same order, but not the same times: less than half of them;
 *   - only then events that are left over may take what is left over between their neighbours.
 */
#include "analyze/timeline/join/join_work.h"

#include "analyze/base/address_map.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NEAR_NS INT64_C(10000)
#define SAME_CLOCK_NS INT64_C(1000000000) /* two that show the time since 1970 differ by less */
enum {
    FEWEST = 16,         /* events that must agree */
    PERCENT = 90,        /* of the trace's, while the snapshot recorded */
    PERCENT_CHANCE = 70, /* of those that agree with clocks set wrong, at most */
    STRETCHES = 8,       /* that are looked at, each of so many events: */
    STRETCH = 256,
    PAIRS_MOST = 1 << 18,   /* of a stretch */
    NEAREST_MOST = 512,     /* pairs of an event to each side of its own time, where the clocks should agree */
    CANDIDATES_MOST = 4096, /* of an event that has more, where anything may be its time, nothing is learnt */
    NEIGHBOURS = 64,
    TRIES = 4,    /* neighbours to each side */
    FOLLOW = 8,   /* the offset goes that part of the way */
    BUCKETS = 100 /* of NEAR_NS, for the median */
};
/* A block is larger than its request by what rounding adds (at most twice as much) or the allocator does not split. */
#define UNSPLIT_MOST (UINT64_C(20) << 20)

/* A memory event of the trace; `time_ns` is since 1970 if the file says when its clock began. */
struct told {
    int64_t time_ns;
    uint32_t memory, key;
    uint32_t row; /* of the snapshot's events, or GM_PROFILE_NONE */
};
struct recording {
    int64_t first_ns, last_ns;
};

struct matching {
    struct gm_join *join;
    struct GM_VEC(struct told) told; /* by time */
    struct gm_address_map keys;
    uint32_t key_count;
    size_t *first;                /* [key_count + 1]: its rows in `rows` */
    uint32_t *rows;               /* events of the snapshot, by key, then in order */
    struct recording *recordings; /* [trace_count] */
    uint64_t recorded;            /* allocations and frees of the snapshot */
    int64_t *offsets;             /* of pairs; [PAIRS_MOST] */
    size_t pairs;
    uint64_t spread[BUCKETS + 1]; /* how far matches are from the offset */
};

/* Of the snapshot; -1: not given. */
static int64_t time_of(const struct gm_snapshot *s, size_t row)
{
    const int64_t us = gm_event_time_us(&s->events, row);
    return us < 0 || us > INT64_MAX / 4000 ? -1 : us * 1000;
}

/* Alike for what the two files say of one call; seldom for anything else, and then sizes and times differ. */
static uint64_t key_of(uint64_t address, uint64_t device, bool is_alloc)
{
    return address ^ device << 52 ^ (uint64_t)is_alloc << 63;
}

enum direction { CAME, WENT, NEITHER };
static enum direction direction_of(const struct gm_snapshot *s, size_t row)
{
    switch (s->events.action[row]) {
    case GM_ACTION_ALLOC:
        return CAME;
    case GM_ACTION_FREE_REQUESTED:
    case GM_ACTION_FREE:
        return WENT;
    default:
        return NEITHER;
    }
}

static bool fits(const struct matching *w, const struct told *t, size_t row)
{
    const uint64_t block = gm_magnitude(w->join->p->memory.v[t->memory].bytes),
                   size = gm_event_size(&w->join->snapshot->events, row);
    return block >= size && block - size <= gm_max(size, UNSPLIT_MOST);
}

/* ---- both files -------------------------------------------------------------------------------------------------- */

static bool is_told(const struct gm_profile_memory *m)
{
    return gm_profile_side(m) == GM_SIDE_DEVICE && m->device >= 0 && m->bytes != 0 && m->address != GM_PROFILE_ABSENT;
}

static bool read_trace(struct matching *w)
{
    const struct gm_profile *p = w->join->p;
    for (size_t i = 0; i < p->memory.n; i++) {
        const struct gm_profile_memory *m = &p->memory.v[i];
        if (!is_told(m))
            continue;
        const uint64_t key = key_of(m->address, (uint64_t)m->device, m->bytes > 0);
        const uint32_t number = gm_map_number(&w->keys, key, w->key_count);
        const struct told t = {gm_wrap_add(p->base_ns, m->time_ns), (uint32_t)i, number, GM_PROFILE_NONE};
        if (number == GM_MAP_NONE || !GM_VEC_PUSH(&w->told, t))
            return false;
        w->key_count += number == w->key_count;
    }
    return true;
}

/* Calls of the snapshot's rows that the trace may tell, in order. */
static void each_row(struct matching *w, bool is_counted)
{
    const struct gm_snapshot *s = w->join->snapshot;
    for (size_t d = 0; d < s->trace_count; d++) {
        for (size_t row = s->traces[d].first; row < s->traces[d].first + s->traces[d].count; row++) {
            const enum direction direction = direction_of(s, row);
            const int64_t time = time_of(s, row);
            if (direction == NEITHER || time < 0)
                continue;
            const uint32_t key = gm_map_get(&w->keys, key_of(gm_event_addr(&s->events, row), d, direction == CAME));
            if (is_counted) {
                struct recording *r = &w->recordings[d];
                r->first_ns = time < r->first_ns ? time : r->first_ns;
                r->last_ns = time > r->last_ns ? time : r->last_ns;
                w->recorded++;
                w->first[key == GM_MAP_NONE ? w->key_count + 1 : key + 1]++;
            } else if (key != GM_MAP_NONE) {
                w->rows[w->first[key]++] = (uint32_t)row;
            }
        }
    }
}

static bool read_snapshot(struct matching *w)
{
    const struct gm_snapshot *s = w->join->snapshot;
    w->first = calloc((size_t)w->key_count + 2, sizeof *w->first);
    w->recordings = malloc((s->trace_count + 1) * sizeof *w->recordings);
    if (w->first == NULL || w->recordings == NULL)
        return false;
    for (size_t d = 0; d < s->trace_count; d++)
        w->recordings[d] = (struct recording){INT64_MAX, INT64_MIN};
    each_row(w, true);
    for (uint32_t k = 0; k < w->key_count; k++)
        w->first[k + 1] += w->first[k];
    w->rows = malloc((w->first[w->key_count] + 1) * sizeof *w->rows);
    if (w->rows == NULL)
        return false;
    each_row(w, false); /* leaves the end of each key's rows, which is where the next one's begin */
    for (uint32_t k = w->key_count; k > 0; k--)
        w->first[k] = w->first[k - 1];
    w->first[0] = 0;
    return true;
}

/* ---- the offset -------------------------------------------------------------------------------------------------- */

/* Where in `rows` those of an event's key are that are not before a time. */
static size_t from_time(const struct matching *w, const struct told *t, int64_t time)
{
    size_t low = w->first[t->key];
    GM_BISECT(low, w->first[t->key + 1], i, time_of(w->join->snapshot, w->rows[i]) < time);
    return low;
}

/* Adds the offsets of an event; false: it has nothing to say. */
static bool add_pairs(struct matching *w, const struct told *t, bool is_same_clock)
{
    size_t from = w->first[t->key], to = w->first[t->key + 1];
    if (is_same_clock) {
        const size_t here = from_time(w, t, t->time_ns);
        from = here - from > NEAREST_MOST ? here - NEAREST_MOST : from;
        to = to - here > NEAREST_MOST ? here + NEAREST_MOST : to;
    }
    bool any = false;
    for (size_t i = from; to - from <= CANDIDATES_MOST && i < to && w->pairs < PAIRS_MOST; i++) {
        const int64_t offset = gm_wrap_sub(t->time_ns, time_of(w->join->snapshot, w->rows[i]));
        if (!fits(w, t, w->rows[i]) || (is_same_clock && gm_magnitude(offset) > (uint64_t)SAME_CLOCK_NS))
            continue;
        w->offsets[w->pairs++] = offset;
        any = true;
    }
    return any;
}

static int by_offset(const void *left, const void *right)
{
    return GM_ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

/* The offset with most pairs around it; how many these are. */
static size_t densest(struct matching *w, int64_t *offset)
{
    size_t most = 0;
    GM_SORT(w->offsets, w->pairs, by_offset);
    for (size_t i = 0, from = 0; i < w->pairs; i++) {
        while (gm_magnitude(gm_wrap_sub(w->offsets[i], w->offsets[from])) > (uint64_t)NEAR_NS)
            from++;
        const int64_t middle = w->offsets[from + (i - from) / 2];
        if (i + 1 - from > most || (i + 1 - from == most && gm_magnitude(middle) < gm_magnitude(*offset))) {
            most = i + 1 - from;
            *offset = middle;
        }
    }
    return most;
}

struct start {
    size_t at; /* in `told` */
    int64_t offset;
};

/* The stretch of which most agree, *percent of them. false: less than half. */
static bool find_start(struct matching *w, bool is_same_clock, struct start *start, uint64_t *percent)
{
    *percent = 0;
    const size_t n = w->told.n, length = gm_min(n, STRETCH), last = n - length;
    for (size_t k = 0; k < STRETCHES; k++) {
        const size_t from = last * k / (STRETCHES - 1);
        size_t asked = 0;
        w->pairs = 0;
        for (size_t i = from; i < from + length && w->pairs < PAIRS_MOST; i++)
            asked += add_pairs(w, &w->told.v[i], is_same_clock);
        int64_t offset = 0;
        const size_t most = densest(w, &offset);
        const uint64_t share = asked < FEWEST ? 0 : most * 100 / asked;
        if (share > *percent) {
            *percent = share;
            *start = (struct start){from, offset};
        }
        if (last == 0)
            break;
    }
    return *percent >= 50;
}

/* ---- event by event ---------------------------------------------------------------------------------------------- */

/* The nearest one that is free; GM_PROFILE_NONE: none is near enough. */
static uint32_t nearest(const struct matching *w, const struct told *t, int64_t time)
{
    const size_t here = from_time(w, t, time), first = w->first[t->key], end = w->first[t->key + 1];
    const size_t from = here - first > TRIES ? here - TRIES : first, to = end - here > TRIES ? here + TRIES : end;
    uint64_t least = NEAR_NS + 1;
    uint32_t found = GM_PROFILE_NONE;
    for (size_t i = from; i < to; i++) {
        const uint64_t distance = gm_magnitude(gm_wrap_sub(time_of(w->join->snapshot, w->rows[i]), time));
        if (distance >= least || w->join->memory_of[w->rows[i]] != GM_PROFILE_NONE || !fits(w, t, w->rows[i]))
            continue;
        least = distance;
        found = w->rows[i];
    }
    return found;
}

static void match_one(struct matching *w, struct told *t, int64_t *offset)
{
    const int64_t time = gm_wrap_sub(t->time_ns, *offset);
    t->row = nearest(w, t, time);
    if (t->row == GM_PROFILE_NONE)
        return;
    const int64_t distance = gm_wrap_sub(time, time_of(w->join->snapshot, t->row));
    w->join->memory_of[t->row] = t->memory;
    w->spread[gm_magnitude(distance) * BUCKETS / NEAR_NS]++;
    *offset = gm_wrap_add(*offset, distance / FOLLOW);
}

static void match_from(struct matching *w, const struct start *start)
{
    struct gm_join_report *out = w->join->out;
    int64_t first = start->offset, last = start->offset;
    for (size_t i = start->at; i < w->told.n; i++)
        match_one(w, &w->told.v[i], &last);
    for (size_t i = start->at; i-- > 0;)
        match_one(w, &w->told.v[i], &first);
    out->drift_ns = gm_wrap_sub(last, first);
    out->offset_ns = gm_wrap_add(first, out->drift_ns / 2);
}

/* The event of the snapshot that the nearest matched neighbour before (step -1) or behind (1) has; `end`: none is near.
 */
static uint32_t neighbour(const struct matching *w, size_t i, int step, uint32_t end)
{
    const struct gm_profile_memory *memory = w->join->p->memory.v;
    const int32_t device = memory[w->told.v[i].memory].device;
    for (int k = 0; k < NEIGHBOURS; k++) {
        i += (size_t)step;
        if (i >= w->told.n)
            return end;
        const struct told *t = &w->told.v[i];
        if (t->row != GM_PROFILE_NONE && memory[t->memory].device == device)
            return t->row;
    }
    return end;
}

/* A thread that is put aside between the two records leaves their times further apart. Once all else has its event, the
 * first of its address between those of its neighbours that is left over is its own. */
static void match_late(struct matching *w)
{
    for (size_t i = 0; i < w->told.n; i++) {
        struct told *t = &w->told.v[i];
        if (t->row != GM_PROFILE_NONE)
            continue;
        const uint32_t before = neighbour(w, i, -1, GM_PROFILE_NONE), behind = neighbour(w, i, 1, 0);
        size_t at = w->first[t->key];
        GM_BISECT(at, w->first[t->key + 1], r, w->rows[r] < before);
        if (before == GM_PROFILE_NONE || at == w->first[t->key + 1] || w->rows[at] >= behind ||
            w->join->memory_of[w->rows[at]] != GM_PROFILE_NONE || !fits(w, t, w->rows[at]))
            continue;
        t->row = w->rows[at];
        w->join->memory_of[t->row] = t->memory;
    }
}

static void forget_matches(struct matching *w)
{
    for (size_t i = 0; i < w->told.n; i++)
        if (w->told.v[i].row != GM_PROFILE_NONE) {
            w->join->memory_of[w->told.v[i].row] = GM_PROFILE_NONE;
            w->told.v[i].row = GM_PROFILE_NONE;
        }
    for (size_t b = 0; b <= BUCKETS; b++)
        w->spread[b] = 0;
}

/* ---- how far they agree ------------------------------------------------------------------------------------------ */

static void count(struct gm_join_count *c, uint64_t bytes)
{
    c->count++;
    c->bytes = gm_known_add(c->bytes, bytes);
}

static void count_trace(struct matching *w)
{
    struct gm_join_report *out = w->join->out;
    struct gm_join_side side = {.all.count = 0};
    out->compared = out->agreed = 0;
    for (size_t i = 0; i < w->told.n; i++) {
        const struct told *t = &w->told.v[i];
        const struct gm_profile_memory *m = &w->join->p->memory.v[t->memory];
        const int64_t time = gm_wrap_sub(t->time_ns, out->offset_ns);
        const struct recording *r =
            (size_t)m->device < w->join->snapshot->trace_count ? &w->recordings[m->device] : NULL;
        const bool is_elsewhere = r == NULL || r->first_ns > r->last_ns, is_matched = t->row != GM_PROFILE_NONE;
        const bool is_outside = !is_elsewhere && !is_matched && (time < r->first_ns - NEAR_NS || time > r->last_ns);
        out->compared += !is_elsewhere && !is_outside;
        out->agreed += is_matched;
        if (m->bytes < 0)
            continue;
        count(&side.all, (uint64_t)m->bytes);
        count(is_matched     ? &side.matched
              : is_elsewhere ? &side.elsewhere
              : is_outside   ? &side.outside
                             : &side.unknown,
              (uint64_t)m->bytes);
    }
    out->trace = side;
}

static void count_snapshot(struct matching *w)
{
    const struct gm_snapshot *s = w->join->snapshot;
    const struct gm_profile *p = w->join->p;
    struct gm_join_side side = {.all.count = 0};
    bool is_told_of[GM_PROFILE_DEVICES] = {false};
    for (size_t i = 0; i < w->told.n; i++)
        if (p->memory.v[w->told.v[i].memory].device < GM_PROFILE_DEVICES)
            is_told_of[p->memory.v[w->told.v[i].memory].device] = true;
    const int64_t offset = gm_wrap_sub(w->join->out->offset_ns, p->base_ns);
    const int64_t from = gm_wrap_sub(gm_wrap_sub(p->memory.v[0].time_ns, offset), NEAR_NS);
    const int64_t to = gm_wrap_add(gm_wrap_sub(p->memory.v[p->memory.n - 1].time_ns, offset), NEAR_NS);
    for (size_t d = 0; d < s->trace_count; d++)
        for (size_t row = s->traces[d].first; row < s->traces[d].first + s->traces[d].count; row++) {
            if (direction_of(s, row) != CAME)
                continue;
            const int64_t time = time_of(s, row);
            const bool is_matched = w->join->memory_of[row] != GM_PROFILE_NONE;
            const bool is_outside = !is_matched && (time < from || time > to);
            const bool is_elsewhere = d >= GM_PROFILE_DEVICES || !is_told_of[d];
            count(&side.all, gm_event_size(&s->events, row));
            count(is_matched     ? &side.matched
                  : is_outside   ? &side.outside
                  : is_elsewhere ? &side.elsewhere
                                 : &side.unknown,
                  gm_event_size(&s->events, row));
        }
    w->join->out->snapshot = side;
}

static void state_spread(struct matching *w)
{
    uint64_t before = 0;
    size_t bucket = 0;
    while (bucket < BUCKETS && (before += w->spread[bucket]) * 2 < w->join->out->agreed)
        bucket++;
    w->join->out->spread_ns = (bucket + 1) * (uint64_t)NEAR_NS / BUCKETS;
}

/* The share in percent of the trace's events that would agree by chance: as well, with the clocks set wrong. */
static uint64_t by_chance(const struct matching *w)
{
    static const int64_t wrong_ns[] = {-23456789, -1734567, -331331, -73737, 73737, 331331, 1734567, 23456789};
    enum { COUNT = sizeof wrong_ns / sizeof *wrong_ns };
    const struct gm_join_report *out = w->join->out;
    const int64_t near_ns = (int64_t)gm_min(NEAR_NS, gm_max(1000, 4 * out->spread_ns));
    uint64_t found = 0;
    for (size_t k = 0; k < COUNT; k++)
        for (size_t i = 0; i < w->told.n; i++) {
            const struct told *t = &w->told.v[i];
            const int64_t time = gm_wrap_sub(gm_wrap_sub(t->time_ns, out->offset_ns), wrong_ns[k]);
            const size_t at = from_time(w, t, gm_wrap_sub(time, near_ns));
            found += at < w->first[t->key + 1] &&
                     gm_wrap_sub(time_of(w->join->snapshot, w->rows[at]), time) <= near_ns && fits(w, t, w->rows[at]);
        }
    return out->compared == 0 ? 100 : found * 100 / COUNT / out->compared;
}

/* Whether these are two records of one run. That the snapshot has other allocations, too, says nothing: not all threads
 * are profiled. */
static bool is_confident(struct matching *w)
{
    struct gm_join_report *out = w->join->out;
    count_trace(w);
    state_spread(w);
    return out->agreed >= FEWEST && out->agreed * 100 >= out->compared * PERCENT && by_chance(w) <= PERCENT_CHANCE;
}

/* Why nothing can be compared; NULL: it can. */
static const char *obstacle(const struct matching *w)
{
    const struct gm_profile *p = w->join->p;
    if (p->memory.n == 0)
        return p->profile_memory
                   ? "the trace has no [memory] events: nothing was allocated or freed while it was recorded"
                   : "the trace has no [memory] events: record it with profile_memory=True";
    if (w->told.n < FEWEST)
        return "the trace has too few [memory] events of devices with addresses to tell that it is of the same run";
    return gm_events_have_times(&w->join->snapshot->events) ? NULL : "the snapshot's events have no times";
}

static bool match(struct matching *w)
{
    struct gm_join_report *out = w->join->out;
    struct start start;
    uint64_t most = 0, percent;
    w->offsets = malloc(PAIRS_MOST * sizeof *w->offsets);
    if (w->offsets == NULL)
        return false;
    for (int is_same_clock = 1; is_same_clock >= 0; is_same_clock--) {
        const bool is_found = find_start(w, is_same_clock, &start, &percent);
        if (is_found) {
            match_from(w, &start);
            if (is_confident(w)) {
                match_late(w);
                count_trace(w);
                count_snapshot(w);
                return true;
            }
            percent = out->compared == 0 ? 0 : out->agreed * 100 / out->compared;
            forget_matches(w);
        }
        most = gm_max(most, gm_min(percent, 100));
    }
    char words[256];
    const int n = snprintf(words, sizeof words,
                           "no offset of the clocks brings the two together: of the trace's memory events at most "
                           "%" PRIu64 " %% are in the snapshot at their address and time, and it takes %d %%; "
                           "perhaps it is of another run",
                           most, (int)PERCENT);
    *out = (struct gm_join_report){.path = out->path, .reason = gm_arena_copy(w->join->arena, words, (size_t)n)};
    return out->reason != NULL;
}

bool gm_join_match(struct gm_join *join)
{
    struct matching w = {.join = join};
    bool ok = read_trace(&w);
    join->out->reason = ok ? obstacle(&w) : NULL;
    if (ok && join->out->reason == NULL)
        ok = read_snapshot(&w) && match(&w);
    GM_FREE_ALL(w.told.v, w.first, w.rows, w.recordings, w.offsets);
    gm_map_free(&w.keys);
    return ok;
}

int64_t gm_join_trace_ns(const struct gm_join *join, int64_t time_us)
{
    return gm_wrap_sub(
        gm_wrap_add(time_us < 0 || time_us > INT64_MAX / 4000 ? 0 : time_us * 1000, join->out->offset_ns),
        join->p->base_ns);
}
