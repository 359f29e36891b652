/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/bound.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "replay/trials/plan.h"
#include "replay/verify/releases.h"

#include <stdlib.h>

#define MOST (UINT64_C(1) << 62) /* of all sizes together: beyond it they are no device's, and sums could wrap */

static uint64_t block_bytes(const struct gm_search_device *device, const struct gm_rules *rules, size_t a)
{
    const uint64_t requested = gm_whatif_request(device->requested, device->history, a);
    return requested == 0 ? 0 : gm_rules_round(rules, requested);
}

static uint32_t end_of(const struct gm_history *h, size_t a, bool until_completed)
{
    return !until_completed && gm_let_go(h, a) < h->freed[a] ? gm_let_go(h, a) : h->freed[a];
}

static bool are_sizes_sound(const struct gm_search_device *device, const struct gm_rules *rules)
{
    uint64_t sum = 0;
    for (size_t a = 0; a < device->history->allocation_count; a++) {
        uint64_t bytes = block_bytes(device, rules, a);
        if (bytes > MOST - sum)
            return false;
        sum += bytes;
    }
    return true;
}

enum gm_status gm_bound_live(uint64_t *bytes, const struct gm_search_device *device, const struct gm_rules *rules,
                             bool until_completed, struct gm_error *err)
{
    const struct gm_history *h = device->history;
    *bytes = 0;
    if (!are_sizes_sound(device, rules))
        return GM_OK;
    uint64_t *change = calloc(h->count + 2, sizeof *change), sum = 0; /* [moment]; wraps, its sums do not */
    if (change == NULL)
        return gm_no_memory(err);
    for (size_t a = 0; a < h->allocation_count; a++) {
        uint32_t end = end_of(h, a, until_completed);
        uint64_t size = block_bytes(device, rules, a);
        if (h->born[a] >= end || h->born[a] > h->count)
            continue;
        change[h->born[a]] += size;
        if (end <= h->count)
            change[end] -= size;
    }
    for (size_t m = 0; m <= h->count; m++) {
        sum += change[m];
        *bytes = sum > *bytes ? sum : *bytes;
    }
    free(change);
    return GM_OK;
}

/* The event of the last refused request; false: there is none. */
static bool find_refused(const struct gm_history *h, uint32_t *event)
{
    const uint8_t *action = h->snapshot->events.action + h->first;
    size_t i = h->device_event_count;
    while (i > 0 && action[h->device_events[i - 1]] != GM_ACTION_OOM)
        i--;
    *event = i > 0 ? h->device_events[i - 1] : 0;
    return i > 0;
}

static uint32_t last_of_stack(const struct gm_history *h, uint32_t stack)
{
    uint32_t last = GM_NEVER;
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (stack != 0 && gm_stack_of(h, a) == stack && h->born[a] != GM_NEVER &&
            (last == GM_NEVER || h->born[a] > h->born[last]))
            last = a;
    return last;
}

bool gm_bound_refused(struct gm_refused *refused, struct gm_history *h, const struct gm_rules *recorded)
{
    const struct gm_search_device device = {.history = h};
    const struct gm_rules rules = gm_rules_default();
    *refused = (struct gm_refused){0};
    if (!find_refused(h, &refused->request.event) || !are_sizes_sound(&device, &rules))
        return false;
    uint32_t then = refused->request.event + 1; /* the moment after the event */
    refused->size = gm_event_size(&h->snapshot->events, h->first + refused->request.event);
    if (refused->size > MOST)
        return false;
    uint64_t later = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] > then)
            later += h->born[a] == GM_NEVER ? 0 : block_bytes(&device, &rules, a);
        else if (end_of(h, a, false) > then)
            refused->in_use += block_bytes(&device, &rules, a);
    if (later > 0 && later >= refused->in_use / 2)
        return false; /* it went on */
    bool is_plain = true;
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        is_plain = is_plain && recorded->roundup[i] <= 1;
    /* roundup_power2_divisions makes it half as large again at most. */
    refused->request.size =
        is_plain ? refused->size : (refused->size - refused->size / 3) / GM_MIN_BLOCK * GM_MIN_BLOCK;
    refused->needs = refused->in_use + refused->request.size;
    refused->like = last_of_stack(h, gm_event_stack(&h->snapshot->events, h->first + refused->request.event).v);
    return true;
}

/* Sums of a lying file's sizes may wrap. */
static uint64_t after_event(const struct gm_history *h, size_t event, uint64_t reserved)
{
    const struct gm_events *e = &h->snapshot->events;
    const uint8_t action = e->action[h->first + event];
    return gm_action_is_growth(action)    ? reserved + gm_event_bytes(e, h->first + event)
           : gm_action_is_release(action) ? reserved - gm_event_bytes(e, h->first + event)
                                          : reserved;
}

static uint64_t reserved_at_start(const struct gm_history *h)
{
    const struct gm_segments *segments = &h->snapshot->segments;
    uint64_t end = 0, net = 0;
    for (size_t i = 0; i < segments->count; i++)
        end += segments->device[i] == h->device ? segments->total_size[i] : 0;
    for (size_t i = 0; i < h->device_event_count; i++)
        net = after_event(h, h->device_events[i], net);
    return (int64_t)(end - net) < 0 ? 0 : end - net;
}

uint64_t gm_bound_recorded(const struct gm_history *h)
{
    uint64_t now = reserved_at_start(h), peak = now;
    for (size_t i = 0; i < h->device_event_count; i++) {
        now = after_event(h, h->device_events[i], now);
        peak = (int64_t)now > (int64_t)peak ? now : peak;
    }
    return peak;
}

static void note_limit(struct gm_recorded_limit *limit, struct gm_recorded_limit found)
{
    found.bytes = gm_sat_add(found.reserved, found.left) - !found.is_exact;
    if (limit->bytes == GM_ABSENT || found.bytes < limit->bytes)
        *limit = found;
}

/* A memory fraction refuses what the device has. Nobody knows how much that is. */
static void note_oom(struct gm_recorded_limit *limit, const struct gm_history *h, size_t event, uint64_t reserved,
                     const struct gm_conf *recorded)
{
    const struct gm_events *e = &h->snapshot->events;
    const uint64_t left = gm_event_addr(e, h->first + event), size = gm_event_size(e, h->first + event);
    if (size > MOST)
        return;
    const uint64_t page = size <= GM_SMALL_SIZE ? 2 * GM_MIB : recorded->rules.large_segment;
    const uint64_t segment = gm_round_up(size, page);
    const bool is_exact = left < segment && recorded->memory_fraction >= 1;
    note_limit(limit, (struct gm_recorded_limit){.is_exact = is_exact,
                                                 .event = (uint32_t)event,
                                                 .reserved = reserved,
                                                 .left = is_exact ? left : segment});
}

/* Memory went back for a request: what had been reserved, and the growth after it. Clearly less than the peak (by a
 * sixteenth, which others on the device take and give meanwhile) did not fill the device. */
static void note_release(struct gm_recorded_limit *limit, const struct gm_history *h, const struct gm_release_run *run,
                         uint64_t reserved, uint64_t peak)
{
    const uint64_t growth = gm_history_growth(h, run->last + 1, NULL);
    if (growth > 0 && growth <= MOST && gm_sat_add(reserved, growth) >= peak - peak / 16)
        note_limit(limit, (struct gm_recorded_limit){.event = run->first, .reserved = reserved, .left = growth});
}

bool gm_bound_limit(struct gm_recorded_limit *limit, const struct gm_history *h, const struct gm_conf *recorded)
{
    struct gm_releases releases;
    bool ok = gm_releases_find(&releases, h);
    *limit = (struct gm_recorded_limit){.bytes = GM_ABSENT};
    const bool collects = recorded->gc_threshold > 0; /* then memory goes back before the device is asked */
    uint64_t now = reserved_at_start(h), peak = gm_bound_recorded(h);
    for (size_t i = 0, next = 0; ok && i < h->device_event_count; i++) {
        const uint32_t event = h->device_events[i];
        if (next < releases.count && releases.v[next].first == event) {
            const struct gm_release_run *run = &releases.v[next++];
            if (run->cause == GM_RELEASE_REQUEST && !collects && (int64_t)now >= 0)
                note_release(limit, h, run, now, peak);
        }
        if (h->snapshot->events.action[h->first + event] == GM_ACTION_OOM && (int64_t)now >= 0)
            note_oom(limit, h, event, now, recorded);
        now = after_event(h, event, now);
    }
    gm_releases_free(&releases);
    if (limit->bytes != GM_ABSENT && limit->bytes < peak)
        limit->bytes = peak;
    return ok;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* What may share memory if nothing else may: blocks of one pool, stream and kind. */
struct grouped {
    uint64_t stream;
    uint32_t pool; /* 2 * the first of the history's pools with that id, + 1 if small */
    struct gm_plan_block block;
};

GM_ORDERING(by_group, struct grouped, GM_UP(pool) || GM_UP(stream));

/* For each pool the first one of its id; the caller frees it. NULL: no memory. */
static uint32_t *first_alike(const struct gm_history *h)
{
    uint32_t *alike = calloc(h->pool_count + 1, sizeof *alike); /* 0 is a default one */
    for (size_t id = 0; alike != NULL && id < h->snapshot->pool_count; id++) {
        const uint32_t large = h->pool_of_id[2 * id], small = h->pool_of_id[2 * id + 1];
        const uint32_t first = small == 0 || (large != 0 && large < small) ? large : small;
        if (large != 0 && !gm_history_pool_is_default(&h->pools[large - 1]))
            alike[large - 1] = first - 1;
        if (small != 0 && !gm_history_pool_is_default(&h->pools[small - 1]))
            alike[small - 1] = first - 1;
    }
    return alike;
}

/* SIZE_MAX: no memory. */
static size_t list_blocks(const struct gm_search_device *device, struct grouped *list)
{
    const struct gm_history *h = device->history;
    const struct gm_rules rules = gm_rules_default();
    GM_FREED uint32_t *alike = first_alike(h);
    size_t n = 0;
    if (alike == NULL)
        return SIZE_MAX;
    for (size_t a = 0; a < h->allocation_count; a++) {
        uint64_t size = block_bytes(device, &rules, a);
        uint32_t stream = gm_history_stream(h, a).v;
        if (size == 0 || h->born[a] >= h->freed[a])
            continue;
        list[n++] = (struct grouped){.stream = stream == 0 ? 0 : (uint64_t)h->snapshot->streams[stream],
                                     .pool = 2 * alike[gm_pool_number(h, a)] + (size <= GM_SMALL_SIZE),
                                     .block = {.born = h->born[a], .freed = h->freed[a], .size = size}};
    }
    return n;
}

/* By size as long as there are steps left for it, else quickly. */
static enum gm_planned plan(struct gm_plan_block *blocks, size_t n, uint64_t *steps, uint64_t *height, bool *is_quick)
{
    enum gm_planned planned = *steps > 0 ? gm_plan(blocks, n, steps, height) : GM_PLAN_TOO_MUCH;
    if (planned != GM_PLAN_TOO_MUCH)
        return planned;
    *is_quick = true;
    return gm_plan_quick(blocks, n, height);
}

static enum gm_planned plan_together(struct gm_bounds *bounds, const struct grouped *list, size_t n,
                                     struct gm_plan_block *blocks)
{
    uint64_t steps = GM_PLAN_STEPS;
    for (size_t i = 0; i < n; i++)
        blocks[i] = list[i].block;
    return plan(blocks, n, &steps, &bounds->plan, &bounds->is_quick);
}

static enum gm_planned plan_apart(struct gm_bounds *bounds, struct grouped *list, size_t n,
                                  struct gm_plan_block *blocks)
{
    uint64_t steps = GM_PLAN_STEPS;
    qsort(list, n, sizeof *list, by_group);
    for (size_t i = 0, k; i < n; i = k) {
        uint64_t peak = 0, height = 0;
        for (k = i; k < n && by_group(&list[i], &list[k]) == 0; k++)
            blocks[k - i] = list[k].block;
        if (!gm_plan_peak(blocks, k - i, &peak) ||
            plan(blocks, k - i, &steps, &height, &bounds->is_separate_quick) == GM_PLAN_NO_MEMORY)
            return GM_PLAN_NO_MEMORY;
        bounds->separate += peak;
        bounds->separate_plan += height;
    }
    /* The separate plans, one on top of the other, are a plan, too. */
    if (bounds->is_quick && bounds->separate_plan < bounds->plan)
        bounds->plan = bounds->separate_plan;
    return GM_PLANNED;
}

enum gm_status gm_bounds_find(struct gm_bounds *bounds, const struct gm_search_device *device, struct gm_error *err)
{
    const struct gm_rules rules = gm_rules_default();
    *bounds = (struct gm_bounds){.recorded_reserved = gm_bound_recorded(device->history)};
    bounds->is_known = are_sizes_sound(device, &rules);
    if (!bounds->is_known)
        return GM_OK;
    enum gm_status status = gm_bound_live(&bounds->live, device, &rules, false, err);
    GM_THEN(status, gm_bound_live(&bounds->active, device, &rules, true, err));
    if (status != GM_OK)
        return status;
    size_t most = device->history->allocation_count + 1;
    GM_FREED struct grouped *list = malloc(most * sizeof *list);
    GM_FREED struct gm_plan_block *blocks = malloc(most * sizeof *blocks);
    bool ok = list != NULL && blocks != NULL;
    if (ok) {
        size_t n = list_blocks(device, list);
        ok = n != SIZE_MAX && plan_together(bounds, list, n, blocks) != GM_PLAN_NO_MEMORY &&
             plan_apart(bounds, list, n, blocks) != GM_PLAN_NO_MEMORY;
    }
    return ok ? GM_OK : gm_no_memory(err);
}
