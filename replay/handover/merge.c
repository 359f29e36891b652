/* SPDX-License-Identifier: Apache-2.0
 *
 * What two dumps have in common is the longest end of the one that is a beginning of the other, found as the prefix
 * function of Knuth, Morris and Pratt finds it. Programs repeat themselves, and so several lengths may fit: times tell
 * which is meant, for an event is recorded once, and the clock of two dumps differs by microseconds.
 */
#include "replay/handover/merge.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/timeline/history/history.h"
#include "replay/handover/graft.h"

#include <stdlib.h>
#include <string.h>

/* A trace of a device or of pinned host memory: those of the devices come first. */
struct lane {
    bool is_host;
    size_t index;
};

struct shares GM_VEC(struct gm_merge_share);

struct merger {
    struct gm_graft graft;
    const struct gm_merge_part *parts;
    size_t count, lane_count, device_lanes;
    uint64_t *shared; /* [lane][part]: events that the part before has, too */
    size_t first;     /* parts before it are left out */
    struct shares shares;
    struct gm_error *err;
};

static struct lane lane_at(const struct merger *w, size_t i)
{
    return i < w->device_lanes ? (struct lane){false, i} : (struct lane){true, i - w->device_lanes};
}

static struct gm_trace trace_of(const struct gm_snapshot *s, struct lane lane)
{
    const size_t count = lane.is_host ? s->host_trace_count : s->trace_count;
    const struct gm_trace *traces = lane.is_host ? s->host_traces : s->traces;
    return lane.index < count ? traces[lane.index]
                              : (struct gm_trace){.max_entries = GM_ABSENT, .overflowed = GM_TRUTH_ABSENT};
}

/* ---- what two sequences have in common --------------------------------------------------------------------------- */

struct sequence {
    uint64_t *key;       /* equal for what is the same but for its time */
    int64_t *time;       /* microseconds */
    const uint8_t *mark; /* the actions of events; NULL: they are none */
    size_t n;
};

/* false: no memory. */
static bool new_sequence(struct sequence *s, size_t n)
{
    *s = (struct sequence){malloc((n + 1) * sizeof *s->key), malloc((n + 1) * sizeof *s->time), NULL, n};
    return s->key != NULL && s->time != NULL;
}

enum { CLOCKS_DIFFER = 2000 }; /* microseconds at most, of one event in two dumps */

/* How far apart two times are. INT64_MAX: it is not known. */
static uint64_t time_between(int64_t a, int64_t b)
{
    return a == GM_ABSENT_TIME || b == GM_ABSENT_TIME ? INT64_MAX : gm_gap((uint64_t)a, (uint64_t)b);
}

enum { NOT_KNOWN = -2, NO_ROOM = -1 }; /* as lengths: several fit, and nothing tells which is meant; no memory */

/* Of the lengths that fit (each the border of the one before), the one that is meant; 0: none is. */
static int64_t choose_length(const struct sequence *a, const struct sequence *b, const uint32_t *border, size_t longest)
{
    uint64_t best = INT64_MAX, second = INT64_MAX;
    size_t chosen = 0, marked = 0, marks = 0, fits = 0;
    for (size_t n = longest; n > 0; n = border[n - 1]) {
        const int64_t *end = a->time + (a->n - n);
        const uint64_t apart = gm_max(time_between(end[0], b->time[0]), time_between(end[n - 1], b->time[n - 1]));
        fits++;
        if (b->mark != NULL && n < b->n && b->mark[n] == GM_ACTION_SNAPSHOT) {
            marked = n;
            marks++;
        }
        if (apart < best) {
            second = best;
            best = apart;
            chosen = n;
        } else {
            second = gm_min(second, apart);
        }
    }
    if (best < INT64_MAX && best > CLOCKS_DIFFER)
        return 0;
    if (best < second) /* others have to be much further off, or nobody knows */
        return best <= second / 4 ? (int64_t)chosen : NOT_KNOWN;
    return fits <= 1 ? (int64_t)longest : marks == 1 ? (int64_t)marked : NOT_KNOWN;
}

/* How many at the end of `a` are those at the beginning of `b`; or one of the above. */
static int64_t common(const struct sequence *a, const struct sequence *b)
{
    const size_t most = gm_min(a->n, b->n);
    uint32_t *border = most == 0 ? NULL : calloc(b->n, sizeof *border); /* [i]: of b's first i + 1 */
    size_t matched = 0;
    if (most == 0)
        return 0;
    if (border == NULL)
        return NO_ROOM;
    for (size_t i = 1; i < b->n; i++) {
        size_t k = border[i - 1];
        while (k > 0 && b->key[i] != b->key[k])
            k = border[k - 1];
        border[i] = (uint32_t)(k + (b->key[i] == b->key[k]));
    }
    for (size_t i = a->n - most; i < a->n; i++) {
        while (matched > 0 && (matched == b->n || a->key[i] != b->key[matched]))
            matched = border[matched - 1];
        matched += a->key[i] == b->key[matched];
    }
    const int64_t length = choose_length(a, b, border, matched);
    free(border);
    return length;
}

static bool events_of(struct sequence *s, const struct gm_graft_part *part, struct lane lane)
{
    const struct gm_trace trace = trace_of(part->s, lane);
    if (!new_sequence(s, trace.count))
        return false;
    s->mark = part->s->events.action + trace.first;
    for (size_t i = 0; i < trace.count; i++) {
        const struct gm_event_row e = gm_graft_event(part, trace.first + i);
        const uint64_t said[] = {e.action,          e.addr,          e.size,       e.stack.v, e.stream, e.pool,
                                 e.compile_context, e.user_metadata, e.action_name};
        s->key[i] = gm_hash_bytes(said, sizeof said);
        s->time[i] = e.time_us;
    }
    return true;
}

static bool annotations_of(struct sequence *s, const struct gm_graft_part *part, struct lane lane)
{
    (void)lane;
    if (!new_sequence(s, part->s->annotation_count))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const struct gm_annotation *a = &part->s->annotations[i];
        const uint64_t said[] = {part->string[a->name.v], a->stage, (uint64_t)a->device};
        s->key[i] = gm_hash_bytes(said, sizeof said);
        s->time[i] = a->time_us;
    }
    return true;
}

typedef bool fill_sequence(struct sequence *s, const struct gm_graft_part *part, struct lane lane);

/* Of a part and the one before. */
static int64_t common_of(fill_sequence *of, const struct gm_graft_part *part, struct lane lane)
{
    struct sequence a = {.n = 0}, b = {.n = 0};
    const int64_t n = of(&a, part - 1, lane) && of(&b, part, lane) ? common(&a, &b) : NO_ROOM;
    GM_FREE_ALL(a.key, a.time, b.key, b.time);
    return n;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Without the block's size, which some allocators choose in their own way: no trace tells that of a freed one. */
struct held {
    uint64_t address, requested;
    uint8_t use;
};
struct held_list GM_VEC(struct held);
GM_ORDERING(by_address, struct held, GM_UP(address));

/* What a snapshot shows of a device: blocks in use, and *reserved bytes. false: no memory. */
static bool shown_state(struct held_list *list, uint64_t *reserved, const struct gm_snapshot *s, size_t device)
{
    *reserved = 0;
    for (size_t i = 0; i < s->segments.count; i++) {
        if (s->segments.device[i] != (int64_t)device)
            continue;
        *reserved = gm_plus(*reserved, s->segments.total_size[i]);
        for (size_t b = s->segments.block_first[i]; b < s->segments.block_first[i] + s->segments.block_count[i]; b++) {
            const struct held held = {s->blocks.address[b], s->blocks.requested[b],
                                      gm_space_use_of(s->blocks.state[b])};
            if (held.use != GM_SPACE_FREE && !GM_VEC_PUSH(list, held))
                return false;
        }
    }
    return true;
}

/* The same at a moment of a later one. */
static bool followed_state(struct held_list *list, uint64_t *reserved, struct gm_history *h, uint32_t moment)
{
    GM_FREED_BY(gm_space_free) struct gm_space space = {.reserved = 0};
    bool ok = gm_history_space_at(h, moment, &space);
    *reserved = space.reserved;
    for (size_t i = 0; ok && i < space.blocks.n; i++) {
        const struct gm_space_block *b = &space.blocks.v[i];
        if (b->use == GM_SPACE_ALLOCATED || b->use == GM_SPACE_PENDING)
            ok = GM_VEC_PUSH(list, ((struct held){b->address, gm_requested(h, b->owner), b->use}));
    }
    return ok;
}

enum agreement { AGREE, DIFFER, UNKNOWN, NO_MEMORY };

static enum agreement compare(struct held_list *a, struct held_list *b)
{
    GM_SORT(a->v, a->n, by_address);
    GM_SORT(b->v, b->n, by_address);
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = a->v[i].address == b->v[i].address && a->v[i].use == b->v[i].use &&
               (a->v[i].requested == b->v[i].requested || a->v[i].requested == GM_ABSENT);
    return same ? AGREE : DIFFER;
}

/* Whether the part, followed backwards to where the part before was dumped, shows what that one shows. */
static enum agreement states_agree(const struct merger *w, size_t part, struct lane lane, size_t moment)
{
    const struct gm_snapshot *before = w->parts[part - 1].snapshot;
    struct gm_history h;
    struct held_list shown = {0}, followed = {0};
    uint64_t shown_bytes, followed_bytes;
    if (lane.is_host)
        return UNKNOWN;
    if (gm_history_build(&h, w->parts[part].snapshot, lane.index, NULL, NULL) != GM_OK)
        return NO_MEMORY;
    enum agreement agreement = UNKNOWN;
    if (h.is_reconstructed) {
        const bool ok = shown_state(&shown, &shown_bytes, before, lane.index) &&
                        followed_state(&followed, &followed_bytes, &h, (uint32_t)moment);
        agreement = !ok ? NO_MEMORY : shown_bytes != followed_bytes ? DIFFER : compare(&shown, &followed);
    }
    GM_FREE_ALL(shown.v, followed.v);
    gm_history_free(&h);
    return agreement;
}

/* ---- dumps of one process ---------------------------------------------------------------------------------------- */

static enum gm_status tell_gap(const struct merger *w, size_t part, struct lane lane)
{
    return gm_fail(w->err, GM_E_FORMAT, GM_NO_OFFSET,
                   "between %s and %s events of %s %zu are missing: the ring is too small for so few dumps "
                   "(--after-gap keeps what is after the last gap; --ranks takes them for several processes)",
                   w->parts[part - 1].name, w->parts[part].name, lane.is_host ? "host trace" : "device", lane.index);
}

/* How the part goes on from the one before; *has_gap: it does not. */
static enum gm_status join(struct merger *w, size_t part, size_t lane_index, bool *has_gap)
{
    const struct lane lane = lane_at(w, lane_index);
    const struct gm_trace a = trace_of(w->parts[part - 1].snapshot, lane), b = trace_of(w->parts[part].snapshot, lane);
    const uint8_t *action = w->parts[part].snapshot->events.action;
    uint64_t *shared = &w->shared[lane_index * w->count + part];
    bool has_begun = a.count > 0;
    for (size_t p = w->first; p < part; p++)
        has_begun |= trace_of(w->parts[p].snapshot, lane).count > 0;
    const int64_t length = a.count > 0 ? common_of(events_of, &w->graft.parts[part], lane) : 0;
    if (length == NO_ROOM)
        return gm_no_memory(w->err);
    if (length == NOT_KNOWN)
        return gm_fail(
            w->err, GM_E_FORMAT, GM_NO_OFFSET,
            "the program repeats itself, and %s could follow %s in several ways: no times tell which is meant",
            w->parts[part].name, w->parts[part - 1].name);
    *shared = (uint64_t)length;
    if (!has_begun)
        return GM_OK;
    const enum agreement agreement = states_agree(w, part, lane, *shared);
    if (agreement == NO_MEMORY)
        return gm_no_memory(w->err);
    if (*shared > 0 && agreement == DIFFER)
        return gm_fail(w->err, GM_E_CORRUPT, GM_NO_OFFSET,
                       "%s and %s have %zu events of device %zu in common, and contradict each other in what was there "
                       "then: the program went on while one of them was taken, or they are of two processes",
                       w->parts[part - 1].name, w->parts[part].name, (size_t)*shared, lane.index);
    const bool follows = b.count == 0 || action[b.first] == GM_ACTION_SNAPSHOT;
    *has_gap |= *shared == 0 && !(follows && (agreement == AGREE || (lane.is_host && b.count > 0)));
    return GM_OK;
}

static enum gm_status join_all(struct merger *w, bool after_gap)
{
    for (size_t part = 1; part < w->count; part++)
        for (size_t lane = 0; lane < w->lane_count; lane++) {
            bool has_gap = false;
            GM_TRY(join(w, part, lane, &has_gap));
            if (has_gap && !after_gap)
                return tell_gap(w, part, lane_at(w, lane));
            if (has_gap)
                w->first = part;
        }
    for (size_t lane = 0; lane < w->lane_count; lane++)
        w->shared[lane * w->count + w->first] = 0;
    return GM_OK;
}

/* Those that the part before does not have. They are in a ring of their own, which may have a gap; of those without
 * times that repeat themselves it cannot be told, and none is taken. */
static bool add_annotations_after(struct merger *w, size_t part)
{
    const struct gm_graft_part *from = &w->graft.parts[part];
    const int64_t shared = part > w->first ? common_of(annotations_of, from, (struct lane){false, 0}) : 0;
    for (size_t i = shared < 0 ? from->s->annotation_count : (size_t)shared; i < from->s->annotation_count; i++)
        if (!gm_graft_add_annotation(&w->graft, from, i, from->s->annotations[i].device))
            return false;
    return shared != NO_ROOM;
}

/* ---- the merged one ---------------------------------------------------------------------------------------------- */

static bool add_share(struct merger *w, struct gm_trace *to, size_t part, int64_t device, struct lane own,
                      uint64_t shared)
{
    const struct gm_trace trace = trace_of(w->parts[part].snapshot, own);
    const struct gm_merge_share share = {part, device, (int64_t)own.index, shared, trace.count - shared};
    if (to->count == 0) {
        to->first = w->graft.m->events.count;
        to->max_entries = trace.max_entries;
        to->overflowed = trace.overflowed;
    }
    to->count += share.added;
    if (to->max_entries != GM_ABSENT)
        to->max_entries = gm_max(to->max_entries, to->count);
    return gm_graft_add_events(&w->graft, &w->graft.parts[part], trace.first + shared, share.added) &&
           (own.is_host || trace.count == 0 || GM_VEC_PUSH(&w->shares, share));
}

static bool add_lane(struct merger *w, struct gm_trace *to, size_t lane)
{
    *to = (struct gm_trace){.first = w->graft.m->events.count, .max_entries = GM_ABSENT};
    bool ok = true;
    for (size_t part = w->first; ok && part < w->count; part++)
        ok = add_share(w, to, part, (int64_t)lane, lane_at(w, lane), w->shared[lane * w->count + part]);
    return ok;
}

static enum gm_status begin(struct merger *w, struct gm_error *err)
{
    const struct gm_snapshot **snapshots = calloc(w->count, sizeof(void *));
    size_t host_lanes = 0;
    w->err = err;
    for (size_t i = 0; snapshots != NULL && i < w->count; i++) {
        snapshots[i] = w->parts[i].snapshot;
        w->device_lanes = gm_max(w->device_lanes, snapshots[i]->trace_count);
        host_lanes = gm_max(host_lanes, snapshots[i]->host_trace_count);
    }
    w->lane_count = w->device_lanes + host_lanes;
    w->shared = calloc(w->lane_count * w->count + 1, sizeof *w->shared);
    enum gm_status status = snapshots == NULL || w->shared == NULL
                                ? gm_no_memory(err)
                                : gm_graft_begin(&w->graft, snapshots, w->count, err);
    free(snapshots);
    return status;
}

static void end(struct gm_merged *out, struct merger *w, enum gm_status status)
{
    gm_graft_free(&w->graft);
    free(w->shared);
    if (status != GM_OK) {
        free(w->shares.v);
        return;
    }
    out->shares = w->shares.v;
    out->share_count = w->shares.n;
    out->first_part = w->first;
}

static void put_traces(struct gm_snapshot *out, const struct gm_trace *traces, size_t devices, size_t hosts)
{
    out->traces = traces;
    out->trace_count = devices;
    out->host_traces = traces + devices;
    out->host_trace_count = hosts;
}

static bool fill_dumps(struct gm_snapshot *out, struct merger *w)
{
    struct gm_trace *traces = gm_arena_calloc(&w->graft.m->arena, w->lane_count + 1, sizeof *traces);
    bool ok = traces != NULL;
    for (size_t lane = 0; ok && lane < w->lane_count; lane++)
        ok = add_lane(w, &traces[lane], lane);
    for (size_t part = w->first; ok && part < w->count; part++)
        ok = add_annotations_after(w, part);
    if (!ok || !gm_graft_end(&w->graft, out, w->count - 1, w->count - 1, NULL, NULL))
        return false;
    put_traces(out, traces, w->device_lanes, w->lane_count - w->device_lanes);
    return true;
}

enum gm_status gm_merge_dumps(struct gm_merged *out, const struct gm_merge_part *parts, size_t count, bool after_gap,
                              struct gm_error *err)
{
    struct merger w = {.parts = parts, .count = count};
    size_t events = 0;
    *out = (struct gm_merged){.first_part = 0};
    for (size_t i = 0; i < count; i++)
        events += parts[i].snapshot->events.count;
    if (events == 0)
        return gm_fail(
            err, GM_E_FORMAT, GM_NO_OFFSET,
            "none has events, so there is nothing to put together (--ranks takes them for several processes)");
    enum gm_status status = begin(&w, err);
    GM_THEN(status, join_all(&w, after_gap));
    if (status == GM_OK && !fill_dumps(&out->snapshot, &w))
        status = gm_builder_failure(w.graft.m, GM_NO_OFFSET, err);
    end(out, &w, status);
    return status;
}

/* ---- ranks of a job ---------------------------------------------------------------------------------------------- */

/* The devices of a rank that have memory or events get the numbers from `first` on. */
struct rank {
    int64_t *device; /* ascending */
    size_t count;
    int64_t first;
};

static int64_t rank_device(const void *context, size_t part, int64_t own)
{
    const struct rank *rank = (const struct rank *)context + part;
    for (size_t i = 0; i < rank->count; i++)
        if (rank->device[i] == own)
            return rank->first + (int64_t)i;
    return rank->first; /* of an annotation of a device without memory */
}

GM_ORDERING(by_number, int64_t, (order = GM_ORDER(*a, *b)));

static bool find_devices(struct rank *rank, const struct gm_snapshot *s, struct gm_arena *arena)
{
    size_t n = 0;
    rank->device = gm_arena_calloc(arena, s->segments.count + s->trace_count + 1, sizeof *rank->device);
    if (rank->device == NULL)
        return false;
    for (size_t i = 0; i < s->segments.count; i++)
        if (n == 0 || rank->device[n - 1] != s->segments.device[i])
            rank->device[n++] = s->segments.device[i];
    for (size_t d = 0; d < s->trace_count; d++)
        if (s->traces[d].count > 0)
            rank->device[n++] = (int64_t)d;
    qsort(rank->device, n, sizeof *rank->device, by_number);
    for (size_t i = 0; i < n; i++)
        if (rank->count == 0 || rank->device[rank->count - 1] != rank->device[i])
            rank->device[rank->count++] = rank->device[i];
    return true;
}

static bool is_same_setting(const struct gm_graft_part *a, const struct gm_setting *x, const struct gm_graft_part *b,
                            const struct gm_setting *y)
{
    return strcmp(x->key, y->key) == 0 && x->type == y->type && x->integer == y->integer && x->real == y->real &&
           a->string[x->string.v] == b->string[y->string.v];
}

static enum gm_status check_settings(const struct merger *w)
{
    const struct gm_graft_part *first = &w->graft.parts[0];
    for (size_t p = 1; p < w->count; p++) {
        const struct gm_graft_part *part = &w->graft.parts[p];
        bool same = part->s->setting_count == first->s->setting_count;
        size_t i = 0;
        while (same && i < first->s->setting_count &&
               is_same_setting(first, &first->s->settings[i], part, &part->s->settings[i]))
            i++;
        if (!same || i < first->s->setting_count)
            return gm_fail(w->err, GM_E_FORMAT, GM_NO_OFFSET,
                           "the allocators of %s and %s had other settings (%s), and one snapshot has one set of them",
                           w->parts[0].name, w->parts[p].name,
                           same ? first->s->settings[i].key : "not the same number of them");
    }
    return GM_OK;
}

/* Annotations of all ranks, by time. */
struct noted {
    int64_t time;
    size_t part, row;
};
GM_ORDERING(by_time, struct noted, GM_UP(time) || GM_UP(part) || GM_UP(row));

static bool add_ranks_annotations(struct merger *w, const struct rank *ranks)
{
    size_t count = 0, n = 0;
    for (size_t p = 0; p < w->count; p++)
        count += w->parts[p].snapshot->annotation_count;
    GM_FREED struct noted *noted = malloc((count + 1) * sizeof *noted);
    bool ok = noted != NULL;
    for (size_t p = 0; ok && p < w->count; p++)
        for (size_t i = 0; i < w->parts[p].snapshot->annotation_count; i++)
            noted[n++] = (struct noted){w->parts[p].snapshot->annotations[i].time_us, p, i};
    if (ok)
        qsort(noted, n, sizeof *noted, by_time);
    for (size_t i = 0; ok && i < n; i++) {
        const int64_t own = w->parts[noted[i].part].snapshot->annotations[noted[i].row].device;
        ok = gm_graft_add_annotation(&w->graft, &w->graft.parts[noted[i].part], noted[i].row,
                                     rank_device(ranks, noted[i].part, own));
    }
    return ok;
}

static bool fill_ranks(struct gm_snapshot *out, struct merger *w, const struct rank *ranks, size_t devices)
{
    size_t host_count = 0, n = 0;
    for (size_t p = 0; p < w->count; p++)
        host_count += w->parts[p].snapshot->host_trace_count;
    struct gm_trace *traces = gm_arena_calloc(&w->graft.m->arena, devices + host_count + 1, sizeof *traces);
    bool ok = traces != NULL;
    for (size_t p = 0; ok && p < w->count; p++)
        for (size_t i = 0; ok && i < ranks[p].count; i++, n++)
            ok = add_share(w, &traces[n], p, (int64_t)n, (struct lane){false, (size_t)ranks[p].device[i]}, 0);
    for (size_t p = 0; ok && p < w->count; p++)
        for (size_t i = 0; ok && i < w->parts[p].snapshot->host_trace_count; i++, n++)
            ok = add_share(w, &traces[n], p, -1, (struct lane){true, i}, 0);
    if (!ok || !add_ranks_annotations(w, ranks) || !gm_graft_end(&w->graft, out, 0, w->count - 1, rank_device, ranks))
        return false;
    put_traces(out, traces, devices, host_count);
    return true;
}

enum gm_status gm_merge_ranks(struct gm_merged *out, const struct gm_merge_part *parts, size_t count,
                              struct gm_error *err)
{
    struct merger w = {.parts = parts, .count = count};
    size_t devices = 0;
    *out = (struct gm_merged){.first_part = 0};
    enum gm_status status = begin(&w, err);
    GM_THEN(status, check_settings(&w));
    struct rank *ranks = status == GM_OK ? gm_arena_calloc(&w.graft.arena, count, sizeof *ranks) : NULL;
    if (status == GM_OK && ranks == NULL)
        status = gm_no_memory(err);
    for (size_t p = 0; status == GM_OK && p < count; p++) {
        ranks[p].first = (int64_t)devices;
        if (!find_devices(&ranks[p], parts[p].snapshot, &w.graft.arena))
            status = gm_no_memory(err);
        devices += ranks[p].count;
    }
    if (status == GM_OK && !fill_ranks(&out->snapshot, &w, ranks, devices))
        status = gm_builder_failure(w.graft.m, GM_NO_OFFSET, err);
    end(out, &w, status);
    return status;
}

void gm_merged_free(struct gm_merged *merged)
{
    gm_snapshot_free(&merged->snapshot);
    free(merged->shares);
    *merged = (struct gm_merged){.first_part = 0};
}
