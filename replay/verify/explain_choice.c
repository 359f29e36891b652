/* SPDX-License-Identifier: Apache-2.0
 *
 * Why the model chose another address than the trace has: the request, what was free, the rule, and what lies at the
 * recorded address.
 */
#include "replay/verify/verify_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 4 };

static void say(struct gm_verify_result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct gm_verify_result *r, const char *format, ...)
{
    size_t n = strlen(r->reason);
    va_list args;
    va_start(args, format);
    vsnprintf(r->reason + n, sizeof r->reason - n, format, args);
    va_end(args);
}

static void say_candidates(struct gm_verifying *v, uint32_t pool, uint32_t stream, uint64_t rounded)
{
    const struct gm_free_set *set = gm_allocator_free_blocks(&v->model, pool, stream);
    struct gm_free_place at = {0};
    unsigned shown = 0;
    if (set != NULL)
        at = gm_free_set_fit(set, rounded);
    if (at.entry == NULL)
        say(v->result, "; no free block of it is large enough");
    for (; at.entry != NULL && shown < SHOWN; gm_free_set_next(set, &at), shown++)
        say(v->result, "%s%" PRIu64 " at 0x%" PRIx64, shown == 0 ? "; free blocks that fit: " : ", ", at.entry->size,
            at.entry->address);
    if (at.entry != NULL)
        say(v->result, " and larger ones");
}

static void say_what_is_at(struct gm_verifying *v, uint64_t address, uint32_t pool, uint32_t stream)
{
    uint32_t block = gm_space_free_at(&v->model.space, address);
    if (block == GM_SPACE_NONE)
        block = gm_space_block_of(&v->model.space, address);
    if (block == GM_SPACE_NONE) {
        say(v->result, "; the recorded address is in no segment that the model has");
        return;
    }
    const struct gm_space_block *b = &v->model.space.blocks.v[block];
    bool is_free = b->use == GM_SPACE_FREE;
    say(v->result, "; at the recorded address the model has %s block of %" PRIu64 " bytes that begins at 0x%" PRIx64,
        is_free                      ? "a free"
        : b->use == GM_SPACE_PENDING ? "a pending"
                                     : "an allocated",
        b->size, b->address);
    if (is_free && (b->pool != pool || b->stream != stream))
        say(v->result, " of another %s", b->pool != pool ? "pool" : "stream");
    if (!is_free && v->h->born[b->owner] > 0)
        say(v->result, " (allocated by event %" PRIu32 ")", v->h->born[b->owner] - 1);
    else if (!is_free)
        say(v->result, " (from before the trace)");
}

static void say_growth(struct gm_verifying *v)
{
    if (v->is_growth_wrong)
        say(v->result, "; the model wanted %" PRIu64 " bytes %s", v->wanted.size,
            v->wanted.is_map ? "mapped" : "from cudaMalloc");
    if (v->growth < v->growth_end)
        say(v->result, "; the trace %s %" PRIu64 " bytes at 0x%" PRIx64,
            gm_action_at(v, v->growth) == GM_ACTION_SEGMENT_MAP ? "mapped" : "got a segment of",
            gm_size_at(v, v->growth), gm_addr_at(v, v->growth));
    else if (v->is_growth_wrong)
        say(v->result, "; the trace did not grow");
}

/* The number of divisions under which the request would need just what the trace got; 0: none, or the ones in force. */
static uint32_t divisions_of_growth(const struct gm_verifying *v, uint64_t requested)
{
    if (!v->is_growth_wrong || v->wanted.is_map || v->growth >= v->growth_end ||
        gm_action_at(v, v->growth) != GM_ACTION_SEGMENT_ALLOC)
        return 0;
    for (uint32_t divisions = 1; divisions <= 64; divisions *= 2) {
        struct gm_rules rules = v->model.conf.rules;
        for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
            rules.roundup[slot] = divisions;
        if (gm_rules_segment(&rules, gm_rules_round(&rules, requested)) == gm_size_at(v, v->growth))
            return divisions;
    }
    return 0;
}

void gm_explain_alloc(struct gm_verifying *v, uint32_t event, uint32_t a, uint64_t chosen)
{
    static const char *const ties[] = {"the lowest", "that which was made first",
                                       "that in the oldest segment, then the lowest"};
    struct gm_verify_result *r = v->result;
    const struct gm_history_pool *home = &v->h->pools[gm_pool_number(v->h, a)];
    uint64_t requested = gm_requested(v->h, a), rounded = gm_rules_round(&v->model.conf.rules, requested);
    uint64_t address = gm_addr_at(v, event);
    uint32_t stream = gm_follow_stream(&v->follow, gm_rare_at(&gm_events_of(v)->stream, gm_row(v, event)));
    bool is_small = rounded <= GM_SMALL_SIZE, is_known = home->id_first != GM_ABSENT;
    uint32_t pool =
        gm_allocator_pool_of(&v->model, is_known ? home->id_first : 0, is_known ? home->id_second : 0, is_small);
    r->has_mismatch = true;
    r->mismatch_event = event;
    r->recorded = address;
    r->chosen = chosen;
    r->reason[0] = '\0';
    if (v->model.has_no_memory)
        return;
    say(r, "%" PRIu64 " bytes (%" PRIu64 " rounded) from the %s pool", requested, rounded,
        is_small ? "small" : "large");
    if (is_known && (home->id_first != 0 || home->id_second != 0))
        say(r, " (%" PRIu64 ",%" PRIu64 ")", home->id_first, home->id_second);
    say(r, ", stream %" PRId64, v->model.handles.v[stream]);
    say_candidates(v, pool, stream, rounded);
    say(r, "; rule: the smallest that fits, of equal ones %s%s", ties[v->model.conf.ties],
        v->model.conf.expandable_segments ? ", then on to the next while that reaches less far" : "");
    if (v->model.conf.rules.max_split != UINT64_MAX)
        say(r, ", none over max_split_size for smaller requests");
    say_growth(v);
    const uint32_t divisions = divisions_of_growth(v, requested);
    if (divisions > 0)
        say(r,
            ", as under roundup_power2_divisions:%" PRIu32
            ": settings that were changed during the recording cannot be "
            "known, a snapshot has the last ones only",
            divisions);
    if (chosen != GM_ABSENT)
        say(r, "; the model took 0x%" PRIx64, chosen);
    say_what_is_at(v, address, pool, stream);
}
