/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gmtrace/same.h"

#include <string.h>

#define SAME(member)                                                                                                   \
    do {                                                                                                               \
        if (a->member != b->member)                                                                                    \
            return #member;                                                                                            \
    } while (0)
#define SAME_COLUMN(member, n)                                                                                         \
    do {                                                                                                               \
        for (size_t i = 0; i < (size_t)(n); i++)                                                                       \
            if (memcmp(&a->member[i], &b->member[i], sizeof *a->member) != 0)                                          \
                return #member;                                                                                        \
    } while (0)

/* Of the tables that snapshot.h lists. */
#define SAME_ROWS(type, name) SAME_COLUMN(name, a->count);

static const char *same_tables(const struct gm_snapshot *a, const struct gm_snapshot *b)
{
    SAME(strings.count);
    SAME_COLUMN(strings.start, a->strings.count + 1);
    SAME_COLUMN(strings.bytes, a->strings.start[a->strings.count]);
    SAME(frames.count);
    SAME_COLUMN(frames.name, a->frames.count);
    SAME_COLUMN(frames.filename, a->frames.count);
    SAME_COLUMN(frames.line, a->frames.count);
    SAME(stacks.count);
    SAME_COLUMN(stacks.start, a->stacks.count + 1);
    SAME_COLUMN(stacks.frame_ids, a->stacks.start[a->stacks.count]);
    SAME(stream_count);
    SAME_COLUMN(streams, a->stream_count);
    SAME(pool_count);
    SAME_COLUMN(pools, a->pool_count);
    return NULL;
}

static const char *same_segments(const struct gm_segments *a, const struct gm_segments *b)
{
    SAME(count);
    GM_SEGMENT_COLUMNS(SAME_ROWS)
    return NULL;
}

static const char *same_blocks(const struct gm_blocks *a, const struct gm_blocks *b)
{
    SAME(count);
    GM_BLOCK_COLUMNS(SAME_ROWS)
    return NULL;
}

static const char *same_rare(const struct gm_rare_column *a, const struct gm_rare_column *b, size_t count)
{
    if ((a->v == NULL) != (b->v == NULL))
        return "whether a rare column varies";
    for (size_t i = 0; i < count; i++)
        if (gm_rare_at(a, i) != gm_rare_at(b, i))
            return "a rare column";
    SAME(all);
    return NULL;
}

static const char *same_events(const struct gm_events *a, const struct gm_events *b)
{
    SAME(count);
    GM_EVENT_COLUMNS(SAME_ROWS)
    if (gm_events_have_times(a) != gm_events_have_times(b))
        return "whether events have times";
    for (size_t i = 0; i < a->count; i++)
        if (gm_event_addr(a, i) != gm_event_addr(b, i) || gm_event_size(a, i) != gm_event_size(b, i) ||
            gm_event_time_us(a, i) != gm_event_time_us(b, i) || gm_event_stack(a, i).v != gm_event_stack(b, i).v)
            return "an address, size, time or stack";
    const char *wrong = NULL;
#define SAME_RARE(name) wrong = wrong != NULL ? wrong : same_rare(&a->name, &b->name, a->count);
    GM_EVENT_RARE_COLUMNS(SAME_RARE)
    return wrong;
}

static const char *same_traces(const struct gm_trace *a, const struct gm_trace *b, size_t count)
{
    for (size_t i = 0; i < count; i++, a++, b++) {
        SAME(first);
        SAME(count);
        SAME(max_entries);
        SAME(overflowed);
    }
    return NULL;
}

static const char *same_setting(const struct gm_setting *a, const struct gm_setting *b)
{
    if (strcmp(a->key, b->key) != 0)
        return "setting.key";
    SAME(type);
    SAME(integer);
    if (memcmp(&a->real, &b->real, sizeof a->real) != 0)
        return "setting.real";
    SAME(string.v);
    return NULL;
}

static const char *same_annotation(const struct gm_annotation *a, const struct gm_annotation *b)
{
    SAME(name.v);
    SAME(stage);
    SAME(device);
    SAME(time_us);
    return NULL;
}

static const char *same_loose(const struct gm_loose *a, const struct gm_loose *b)
{
    SAME(type);
    SAME(count);
    SAME(bits);
    return NULL;
}

static const char *same_extra(const struct gm_extra *a, const struct gm_extra *b)
{
    SAME(row);
    SAME(key);
    return same_loose(&a->value, &b->value);
}

static const char *same_extras(const struct gm_snapshot *a, const struct gm_snapshot *b)
{
    const char *wrong = NULL;
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        SAME(extras[kind].count);
        for (size_t i = 0; i < a->extras[kind].count && wrong == NULL; i++)
            wrong = same_extra(&a->extras[kind].v[i], &b->extras[kind].v[i]);
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++) {
        SAME(key_orders[kind].count);
        SAME_COLUMN(key_orders[kind].keys, a->key_orders[kind].count);
    }
    SAME(loose_count);
    for (size_t i = 0; i < a->loose_count && wrong == NULL; i++)
        wrong = same_loose(&a->loose[i], &b->loose[i]);
    return wrong != NULL ? wrong : same_loose(&a->settings_tree, &b->settings_tree);
}

static const char *same_rest(const struct gm_snapshot *a, const struct gm_snapshot *b)
{
    const char *wrong = NULL;
    SAME(has_settings);
    SAME(setting_count);
    SAME(has_annotations);
    SAME(annotation_count);
    SAME(warning_count);
    SAME(source.is_bare_segment_list);
    SAME(source.is_salvaged);
    SAME(source.salvaged_offset);
    for (size_t i = 0; i < a->setting_count && wrong == NULL; i++)
        wrong = same_setting(&a->settings[i], &b->settings[i]);
    for (size_t i = 0; i < a->annotation_count && wrong == NULL; i++)
        wrong = same_annotation(&a->annotations[i], &b->annotations[i]);
    for (size_t i = 0; i < a->warning_count && wrong == NULL; i++)
        wrong = strcmp(a->warnings[i], b->warnings[i]) != 0 ? "warnings" : NULL;
    if (wrong == NULL && a->source.is_salvaged)
        wrong = strcmp(a->source.salvaged_reason, b->source.salvaged_reason) != 0 ? "source.salvaged_reason" : NULL;
    return wrong;
}

const char *gm_snapshot_difference(const struct gm_snapshot *a, const struct gm_snapshot *b)
{
    const char *wrong = same_tables(a, b);
    wrong = wrong != NULL ? wrong : same_segments(&a->segments, &b->segments);
    wrong = wrong != NULL ? wrong : same_blocks(&a->blocks, &b->blocks);
    wrong = wrong != NULL ? wrong : same_segments(&a->host_segments, &b->host_segments);
    wrong = wrong != NULL ? wrong : same_blocks(&a->host_blocks, &b->host_blocks);
    wrong = wrong != NULL ? wrong : same_events(&a->events, &b->events);
    if (wrong != NULL)
        return wrong;
    SAME(trace_count);
    SAME(host_trace_count);
    wrong = same_traces(a->traces, b->traces, a->trace_count);
    wrong = wrong != NULL ? wrong : same_traces(a->host_traces, b->host_traces, a->host_trace_count);
    wrong = wrong != NULL ? wrong : same_extras(a, b);
    return wrong != NULL ? wrong : same_rest(a, b);
}
