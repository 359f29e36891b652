/* SPDX-License-Identifier: Apache-2.0
 *
 * What the trace leaves open, and what shows it.
 */
#include "replay/verify/verify_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gm_inference *gm_infer(struct gm_verify_result *result, const char *what, const char *format, ...)
{
    if (result->inferred_count == GM_INFERRED_MOST)
        return NULL;
    struct gm_inference *row = &result->inferred[result->inferred_count++];
    va_list values;
    row->what = what;
    va_start(values, format);
    vsnprintf(row->value, sizeof row->value, format, values);
    va_end(values);
    return row;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* The device's active blocks of small segments whose size is not what `rules` make of the request: there nothing but
 * rounding makes a block larger. */
static uint64_t contradictions(const struct gm_history *h, const struct gm_rules *rules, uint64_t *considered)
{
    const struct gm_snapshot *s = h->snapshot;
    uint64_t wrong = 0;
    *considered = 0;
    for (size_t b = 0; b < s->blocks.count; b++) {
        uint32_t segment = s->blocks.segment[b];
        if (s->blocks.state[b] == GM_BLOCK_INACTIVE || s->blocks.requested[b] == GM_ABSENT ||
            s->segments.device[segment] != h->device || s->segments.type[segment] != GM_SEGMENT_SMALL)
            continue;
        ++*considered;
        wrong += gm_rules_round(rules, s->blocks.requested[b]) != s->blocks.size[b];
    }
    return wrong;
}

void gm_infer_settings(struct gm_verifying *v, struct gm_conf *conf)
{
    uint64_t considered;
    if (v->h->snapshot->has_settings || contradictions(v->h, &conf->rules, &considered) == 0)
        return;
    for (uint32_t divisions = 2; divisions <= 64; divisions *= 2) {
        struct gm_conf tried = *conf;
        for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
            tried.rules.roundup[slot] = divisions;
        if (contradictions(v->h, &tried.rules, &considered) > 0)
            continue;
        gm_infer(v->result, "roundup_power2_divisions",
                 "%" PRIu32 ": the file lists no settings, and no other number explains its block sizes", divisions);
        *conf = tried;
        return;
    }
}

/* ---- expandable segments ----------------------------------------------------------------------------------------- */

/* Whether a growth shows the option's value as recorded. Pages show it in any pool; the segment of a private pool only
 * if that grows by pages, too: it may have an allocator of its own. */
static bool shows_recorded(const struct gm_verifying *v, const struct gm_history_segment *s)
{
    uint8_t action = gm_action_at(v, s->event);
    if (v->recorded_expandable)
        return action == GM_ACTION_SEGMENT_MAP;
    return action == GM_ACTION_SEGMENT_ALLOC &&
           (gm_history_pool_is_said_default(&v->h->pools[s->pool]) || v->has_pages[s->pool]);
}

/* The first growth that shows the option as recorded; GM_NEVER: none. */
static uint32_t first_as_recorded(const struct gm_verifying *v)
{
    for (size_t i = 0; i < v->h->segment_count; i++)
        if (shows_recorded(v, &v->h->segments[i]))
            return v->h->segments[i].event;
    return GM_NEVER;
}

/* Private pools that grew by segments and never by pages, while the option was on: since event `from`. */
static void find_custom_pools(struct gm_verifying *v, uint32_t from)
{
    unsigned custom = 0;
    bool *is_custom = gm_follow_custom_pools(v->h, from);
    v->model.has_no_memory |= is_custom == NULL;
    for (size_t p = 0; p < v->h->pool_count && !v->model.has_no_memory; p++) {
        if (!is_custom[p])
            continue;
        uint32_t pool = gm_follow_pool(&v->follow, (uint32_t)p);
        if (v->model.has_no_memory)
            break;
        v->model.pools.v[pool].is_custom = true;
        custom++;
    }
    free(is_custom);
    if (custom > 0)
        gm_infer(v->result, "custom_pools",
                 "%u private pools grew by segments although expandable_segments is on: an allocator of their own",
                 custom);
}

/* States the option's first value, and until when it held; GM_NEVER: to the end. */
static void state_switch(struct gm_verifying *v, uint32_t until, const char *shown_by)
{
    char end[64] = "to the end of the trace";
    if (until != GM_NEVER)
        snprintf(end, sizeof end, "until event %" PRIu32, until);
    if (v->switch_row != NULL)
        snprintf(v->switch_row->value, sizeof v->switch_row->value, "%s %s: its %s show that, %s",
                 v->recorded_expandable ? "False" : "True", end, shown_by,
                 v->h->snapshot->has_settings ? "the snapshot's settings are later" : "the file lists no settings");
}

void gm_infer_expandable(struct gm_verifying *v)
{
    bool first = gm_follow_expandable_at_start(v->h, v->recorded_expandable);
    for (size_t i = 0; i < v->h->segment_count; i++)
        v->has_pages[v->h->segments[i].pool] |=
            gm_events_of(v)->action[gm_row(v, v->h->segments[i].event)] == GM_ACTION_SEGMENT_MAP;
    uint32_t until = first == v->recorded_expandable ? 0 : first_as_recorded(v);
    if (v->recorded_expandable && until != GM_NEVER && !v->model.private_by_segments)
        find_custom_pools(v, until);
    v->has_switched = true;
    if (first == v->recorded_expandable)
        return;
    v->switch_row = gm_infer(v->result, "expandable_segments", "%s", "");
    state_switch(v, until, "growths");
    v->model.conf.expandable_segments = first;
    v->has_switched = false;
}

void gm_infer_switch_now(struct gm_verifying *v, uint32_t event)
{
    state_switch(v, event, "growths and addresses");
    v->has_switched = true;
}

void gm_infer_switch(struct gm_verifying *v, uint32_t event)
{
    if (v->has_switched)
        return;
    const size_t row = gm_history_segment_row(v->h, event);
    if (row >= v->h->segment_count || v->h->segments[row].event != event || !shows_recorded(v, &v->h->segments[row]))
        return;
    v->model.conf.expandable_segments = v->recorded_expandable;
    v->has_switched = true;
}

/* ---- whose trace ------------------------------------------------------------------------------------------------- */

static bool has_npu_frame(const struct gm_snapshot *s)
{
    for (uint32_t f = 1; f < s->frames.count; f++) {
        size_t length;
        const char *file = gm_string(s, s->frames.filename[f], &length);
        if (memmem(file, length, "torch_npu", 9) != NULL)
            return true;
    }
    return false;
}

bool gm_verify_other_allocator(char text[GM_INFERRED_TEXT], const struct gm_history *h)
{
    text[0] = '\0';
    if (has_npu_frame(h->snapshot))
        snprintf(text, GM_INFERRED_TEXT, "its stacks name torch_npu (Ascend)");
    else if (h->odd_allocs > 0)
        snprintf(text, GM_INFERRED_TEXT, "%" PRIu64 " of %" PRIu64 " addresses are no multiple of 512", h->odd_allocs,
                 h->allocs);
    return text[0] != '\0';
}

void gm_infer_allocator(struct gm_verifying *v)
{
    struct gm_verify_result *r = v->result;
    uint64_t considered, wrong = contradictions(v->h, &v->model.conf.rules, &considered);
    if (r->exact == r->allocs)
        return;
    if (!gm_verify_other_allocator(r->other_allocator, v->h) && wrong * 2 > considered)
        snprintf(r->other_allocator, sizeof r->other_allocator,
                 "%" PRIu64 " of %" PRIu64 " small blocks have sizes that no rounding of PyTorch's makes", wrong,
                 considered);
}
