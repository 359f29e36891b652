/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/formats/model_check.h"

#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return "not true: " #condition;                                                                            \
    } while (0)

/* Uses a value that was computed only to read its parts. */
static void touch(unsigned value)
{
    __asm__ volatile("" : : "r"(value));
}

static bool is_ascending(const uint64_t *start, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (start[i] > start[i + 1])
            return false;
    return true;
}

static const char *check_interned(const struct gm_snapshot *s)
{
    CHECK(s->strings.count > 0 && s->strings.start[0] == 0 && s->strings.start[1] == 0);
    CHECK(is_ascending(s->strings.start, s->strings.count));
    unsigned sum = 0; /* of everything, so that a sanitizer sees what is not there */
    for (uint64_t i = 0; i < s->strings.start[s->strings.count]; i++)
        sum += (unsigned char)s->strings.bytes[i];
    CHECK(s->frames.count > 0 && s->frames.name[0].v == 0 && s->frames.filename[0].v == 0);
    for (uint32_t i = 0; i < s->frames.count; i++) {
        CHECK(s->frames.name[i].v < s->strings.count);
        CHECK(s->frames.filename[i].v < s->strings.count);
        sum += (unsigned)s->frames.line[i];
    }
    CHECK(s->stacks.count > GM_STACK_EMPTY && s->stacks.start[0] == 0 && s->stacks.start[GM_STACK_EMPTY + 1] == 0);
    CHECK(is_ascending(s->stacks.start, s->stacks.count));
    for (uint64_t i = 0; i < s->stacks.start[s->stacks.count]; i++)
        CHECK(s->stacks.frame_ids[i].v > 0 && s->stacks.frame_ids[i].v < s->frames.count);
    for (uint32_t i = 1; i < s->stream_count; i++)
        sum += (unsigned)s->streams[i];
    for (uint32_t i = 1; i < s->pool_count; i++)
        sum += (unsigned)(s->pools[i].first + s->pools[i].second);
    touch(sum);
    return NULL;
}

static const char *check_segments(const struct gm_snapshot *s, const struct gm_segments *g, const struct gm_blocks *b)
{
    size_t next = 0;
    for (size_t i = 0; i < g->count; i++) {
        CHECK(g->address[i] != GM_ABSENT && g->total_size[i] != GM_ABSENT);
        CHECK(g->stream[i].v == 0 || g->stream[i].v < s->stream_count);
        CHECK(g->pool[i].v == 0 || g->pool[i].v < s->pool_count);
        CHECK(g->stack[i].v < s->stacks.count);
        CHECK(g->type[i] <= GM_SEGMENT_LARGE && g->is_expandable[i] <= GM_TRUE);
        CHECK(g->block_first[i] == next && g->block_count[i] <= b->count - next);
        for (size_t j = next; j < next + g->block_count[i]; j++)
            CHECK(b->segment[j] == i);
        next += g->block_count[i];
    }
    CHECK(next == b->count);
    for (size_t i = 0; i < b->count; i++) {
        CHECK(b->size[i] != GM_ABSENT);
        CHECK(b->state[i] <= GM_BLOCK_ACTIVE_PENDING_FREE);
        CHECK(b->stack[i].v < s->stacks.count);
    }
    return NULL;
}

static const char *check_events(const struct gm_snapshot *s)
{
    size_t next = 0;
    for (size_t d = 0; d < s->trace_count; d++) {
        CHECK(s->traces[d].first == next && s->traces[d].count <= s->events.count - next);
        CHECK(s->traces[d].overflowed <= GM_TRUE);
        next += s->traces[d].count;
    }
    for (size_t d = 0; d < s->host_trace_count; d++) {
        CHECK(s->host_traces[d].first == next && s->host_traces[d].count <= s->events.count - next);
        next += s->host_traces[d].count;
    }
    CHECK(next == s->events.count);
    const struct gm_events *e = &s->events;
    unsigned sum = 0;
    for (size_t i = 0; i < e->count; i++) {
        CHECK(e->action[i] < GM_ACTION_COUNT);
        CHECK(gm_event_stack(e, i).v < s->stacks.count);
        CHECK(gm_rare_at(&e->stream, i) == 0 || gm_rare_at(&e->stream, i) < s->stream_count);
        CHECK(gm_rare_at(&e->pool, i) == 0 || gm_rare_at(&e->pool, i) < s->pool_count);
        CHECK(gm_rare_at(&e->compile_context, i) < s->strings.count);
        CHECK(gm_rare_at(&e->user_metadata, i) < s->strings.count);
        CHECK(gm_rare_at(&e->action_name, i) < s->strings.count);
        CHECK(gm_rare_at(&e->category, i) < s->strings.count);
        sum += (unsigned)(gm_event_addr(e, i) + gm_event_size(e, i)) + (unsigned)gm_event_time_us(e, i);
    }
    touch(sum);
    return NULL;
}

static const char *check_rest(const struct gm_snapshot *s)
{
    for (size_t i = 0; i < s->setting_count; i++) {
        CHECK(s->settings[i].key != NULL);
        CHECK(s->settings[i].type <= GM_SETTING_STRING);
        CHECK(s->settings[i].string.v < s->strings.count);
    }
    for (size_t i = 0; i < s->annotation_count; i++) {
        CHECK(s->annotations[i].name.v < s->strings.count);
        CHECK(s->annotations[i].stage <= GM_STAGE_END);
    }
    for (size_t i = 0; i < s->warning_count; i++)
        CHECK(s->warnings[i] != NULL && s->warnings[i][0] != '\0' && strchr(s->warnings[i], '\n') == NULL);
    CHECK(s->source.path != NULL);
    CHECK(s->source.is_salvaged == (s->source.salvaged_reason != NULL));
    CHECK(s->source.pickle_protocol >= -1 && s->source.pickle_protocol <= 5);
    return NULL;
}

static const char *check_loose(const struct gm_snapshot *s, const struct gm_loose *v)
{
    CHECK(v->type <= GM_LOOSE_DICT);
    CHECK(v->type != GM_LOOSE_STRING || (v->bits > 0 && v->bits < s->strings.count));
    CHECK(v->type != GM_LOOSE_POOL || (v->bits > 0 && v->bits < s->pool_count));
    CHECK(v->type != GM_LOOSE_FRAME || (v->bits > 0 && v->bits < s->frames.count));
    CHECK(v->type != GM_LOOSE_STACK || (v->bits > 0 && v->bits < s->stacks.count));
    CHECK(v->type < GM_LOOSE_LIST || v->count == 0 ||
          (v->bits < s->loose_count && v->count <= s->loose_count - v->bits));
    CHECK(v->type != GM_LOOSE_DICT || v->count % 2 == 0);
    return NULL;
}

static const char *check_extras(const struct gm_snapshot *s)
{
    const size_t rows[GM_ROW_KIND_COUNT] = {1,
                                            s->segments.count,
                                            s->blocks.count,
                                            s->host_segments.count,
                                            s->host_blocks.count,
                                            s->events.count,
                                            s->frames.count,
                                            s->annotation_count};
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++)
        for (size_t i = 0; i < s->extras[kind].count; i++) {
            const struct gm_extra *x = &s->extras[kind].v[i];
            CHECK(x->row < rows[kind] && x->key > 0 && x->key < s->strings.count);
            CHECK(i == 0 || x[-1].row <= x->row);
            const char *wrong = check_loose(s, &x->value);
            if (wrong != NULL)
                return wrong;
        }
    for (size_t i = 0; i < s->loose_count; i++) {
        const char *wrong = check_loose(s, &s->loose[i]);
        if (wrong != NULL)
            return wrong;
        CHECK(s->loose[i].type < GM_LOOSE_LIST || s->loose[i].count == 0 || s->loose[i].bits < i); /* no cycles */
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        for (size_t i = 0; i < s->key_orders[kind].count; i++)
            CHECK(s->key_orders[kind].keys[i] > 0 && s->key_orders[kind].keys[i] < s->strings.count);
    return check_loose(s, &s->settings_tree);
}

const char *gm_model_check(const struct gm_snapshot *snapshot)
{
    const char *wrong = check_interned(snapshot);
    if (wrong == NULL)
        wrong = check_segments(snapshot, &snapshot->segments, &snapshot->blocks);
    if (wrong == NULL)
        wrong = check_segments(snapshot, &snapshot->host_segments, &snapshot->host_blocks);
    if (wrong == NULL)
        wrong = check_events(snapshot);
    if (wrong == NULL)
        wrong = check_extras(snapshot);
    return wrong != NULL ? wrong : check_rest(snapshot);
}
