/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/state/fixture.h"

#include "analyze/diagnose/diagnose.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

struct fixture fx;

static void point_tables(void)
{
    struct gm_snapshot *s = &fx.s;
    s->source = (struct gm_source_info){.path = "made by hand", .disk_bytes = 123, .pickle_protocol = 4};
    s->strings = (struct gm_strings){fx.string_start, fx.bytes, 1};
    s->frames = (struct gm_frames){fx.f_name, fx.f_file, fx.f_line, 1};
    s->stacks = (struct gm_stacks){fx.stack_start, fx.stack_frames, 2};
    s->streams = fx.streams;
    s->pools = fx.pools;
    s->stream_count = s->pool_count = 1;
    s->segments = (struct gm_segments){.device = fx.g_device,
                                       .address = fx.g_address,
                                       .total_size = fx.g_total,
                                       .allocated_size = fx.g_allocated,
                                       .active_size = fx.g_active,
                                       .requested_size = fx.g_requested,
                                       .stream = fx.g_stream,
                                       .pool = fx.g_pool,
                                       .stack = fx.g_stack,
                                       .type = fx.g_type,
                                       .is_expandable = fx.g_expandable,
                                       .block_first = fx.g_first,
                                       .block_count = fx.g_count};
    s->blocks = (struct gm_blocks){.address = fx.b_address,
                                   .size = fx.b_size,
                                   .requested = fx.b_requested,
                                   .state = fx.b_state,
                                   .stack = fx.b_stack,
                                   .segment = fx.b_segment};
    s->events = (struct gm_events){.action = fx.e_action,
                                   .addr = {.plain = fx.e_addr},
                                   .size = {.plain = fx.e_size},
                                   .time_us = {.plain = fx.e_time},
                                   .stack = {.wide = fx.e_stack},
                                   .stream = {fx.e_stream, 0}};
    s->traces = fx.traces;
    s->settings = fx.settings;
}

void fx_begin(void)
{
    gm_report_free(&fx.report);
    memset(&fx, 0, sizeof fx);
    point_tables();
}

__attribute__((constructor)) static void begin_each(void)
{
    fx_begin();
    unit_end_with(fx_begin);
}

static struct gm_string_id add_string(const char *text, size_t n)
{
    struct gm_strings *strings = &fx.s.strings;
    for (uint32_t i = 1; i < strings->count; i++)
        if (fx.string_start[i + 1] - fx.string_start[i] == n && memcmp(fx.bytes + fx.string_start[i], text, n) == 0)
            return (struct gm_string_id){i};
    uint64_t at = fx.string_start[strings->count];
    assert_true(strings->count < FX_STRINGS && at + n <= sizeof fx.bytes);
    memcpy(fx.bytes + at, text, n);
    fx.string_start[strings->count + 1] = at + n;
    return (struct gm_string_id){strings->count++};
}

struct gm_string_id fx_string(const char *text)
{
    return add_string(text, strlen(text));
}

static struct gm_frame_id add_frame(const char *text)
{
    const char *at = strstr(text, " @ "), *file = at == NULL ? text + strlen(text) : at + 3;
    const char *colon = strstr(file, " : ");
    size_t name_length = at == NULL ? strlen(text) : (size_t)(at - text);
    size_t file_length = colon == NULL ? strlen(file) : (size_t)(colon - file);
    uint32_t row = fx.s.frames.count++;
    assert_true(row < FX_FRAMES);
    fx.f_name[row] = add_string(text, name_length);
    fx.f_file[row] = add_string(file, file_length);
    fx.f_line[row] = colon == NULL ? GM_ABSENT : strtoull(colon + 3, NULL, 10);
    return (struct gm_frame_id){row};
}

struct gm_stack_id fx_stack(const char *first, ...)
{
    va_list args;
    va_start(args, first);
    uint32_t row = fx.s.stacks.count++;
    uint64_t at = fx.stack_start[row];
    assert_true(row < FX_STACKS);
    for (const char *text = first; text != NULL; text = va_arg(args, const char *)) {
        assert_true(at < FX_FRAMES * 4);
        fx.stack_frames[at++] = add_frame(text);
    }
    va_end(args);
    fx.stack_start[row + 1] = at;
    return (struct gm_stack_id){row};
}

struct gm_stream_id fx_stream(int64_t handle)
{
    for (uint32_t i = 1; i < fx.s.stream_count; i++)
        if (fx.streams[i] == handle)
            return (struct gm_stream_id){i};
    assert_true(fx.s.stream_count < FX_SMALL);
    fx.streams[fx.s.stream_count] = handle;
    return (struct gm_stream_id){fx.s.stream_count++};
}

struct gm_pool_id fx_pool(uint64_t first, uint64_t second)
{
    for (uint32_t i = 1; i < fx.s.pool_count; i++)
        if (fx.pools[i].first == first && fx.pools[i].second == second)
            return (struct gm_pool_id){i};
    assert_true(fx.s.pool_count < FX_SMALL);
    fx.pools[fx.s.pool_count] = (struct gm_pool_key){first, second};
    return (struct gm_pool_id){fx.s.pool_count++};
}

size_t fx_segment(uint64_t address, uint64_t size, enum gm_segment_type type, bool is_expandable)
{
    size_t row = fx.s.segments.count++;
    assert_true(row < FX_SEGMENTS);
    fx.g_address[row] = address;
    fx.g_total[row] = size;
    fx.g_allocated[row] = fx.g_active[row] = fx.g_requested[row] = GM_ABSENT;
    fx.g_stream[row] = fx_stream(0);
    fx.g_pool[row] = fx_pool(0, 0);
    fx.g_type[row] = (uint8_t)type;
    fx.g_expandable[row] = is_expandable ? GM_TRUE : GM_FALSE;
    fx.g_first[row] = fx.s.blocks.count;
    return row;
}

size_t fx_block(enum gm_block_state state, uint64_t size, uint64_t requested, struct gm_stack_id stack)
{
    size_t row = fx.s.blocks.count++, segment = fx.s.segments.count - 1;
    assert_true(row < FX_BLOCKS && fx.s.segments.count > 0);
    bool is_first = fx.g_count[segment]++ == 0;
    fx.b_address[row] = is_first ? fx.g_address[segment] : fx.b_address[row - 1] + fx.b_size[row - 1];
    fx.b_size[row] = size;
    fx.b_requested[row] = requested;
    fx.b_state[row] = (uint8_t)state;
    fx.b_stack[row] = stack;
    fx.b_segment[row] = (uint32_t)segment;
    return row;
}

size_t fx_live(uint64_t size)
{
    return fx_block(GM_BLOCK_ACTIVE_ALLOCATED, size, size, (struct gm_stack_id){0});
}

size_t fx_free_block(uint64_t size)
{
    return fx_block(GM_BLOCK_INACTIVE, size, 0, (struct gm_stack_id){GM_STACK_EMPTY});
}

void fx_trace(void)
{
    size_t row = fx.s.trace_count++;
    assert_true(row < FX_TRACES);
    fx.traces[row] = (struct gm_trace){.first = fx.s.events.count, .max_entries = GM_ABSENT};
}

size_t fx_event(enum gm_action action, uint64_t addr, uint64_t size)
{
    size_t row = fx.s.events.count++;
    assert_true(row < FX_EVENTS && fx.s.trace_count > 0);
    fx.e_action[row] = (uint8_t)action;
    fx.e_addr[row] = addr;
    fx.e_size[row] = size;
    fx.e_time[row] = (uint64_t)GM_ABSENT_TIME;
    fx.e_stream[row] = fx_stream(0).v;
    fx.traces[fx.s.trace_count - 1].count++;
    return row;
}

struct gm_setting *fx_setting(const char *key, enum gm_setting_type type)
{
    assert_true(fx.s.setting_count < FX_SMALL);
    struct gm_setting *setting = &fx.settings[fx.s.setting_count++];
    *setting = (struct gm_setting){.key = key, .type = type};
    fx.s.has_settings = true;
    return setting;
}

const struct gm_report *fx_analyze(size_t top, int64_t device)
{
    struct gm_category_rules *rules;
    struct gm_error err;
    gm_report_free(&fx.report);
    if (gm_category_rules_default(&rules, &err) != GM_OK)
        fail_msg("%s", err.message);
    struct gm_state_options options = {.top = top, .device = device, .rules = rules};
    enum gm_status status = gm_state_analyze(&fx.report, &fx.s, &options, &err);
    gm_category_rules_free(rules);
    GM_THEN(status, gm_diagnose(&fx.report, NULL, NULL, &err));
    if (status != GM_OK)
        fail_msg("%s", err.message);
    return &fx.report;
}

const struct gm_finding *fx_finding(const char *id)
{
    for (size_t i = 0; i < fx.report.diagnosis.finding_count; i++)
        if (strcmp(fx.report.diagnosis.findings[i].id, id) == 0)
            return &fx.report.diagnosis.findings[i];
    return NULL;
}
