/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot that a test of the passes makes by hand: it adds segments, blocks to the last segment, events to the
 * last trace, and has it analysed. Everything is plain arrays, so a test may change a number afterwards. Each test
 * begins with an empty one.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

enum {
    FX_SEGMENTS = 40,
    FX_BLOCKS = 200,
    FX_EVENTS = 60,
    FX_STRINGS = 200,
    FX_FRAMES = 100,
    FX_STACKS = 100,
    FX_SMALL = 16,
    FX_TRACES = 4
};

extern struct fixture {
    struct gm_snapshot s;
    struct gm_report report; /* of fx_analyze */

    int64_t g_device[FX_SEGMENTS];
    uint64_t g_address[FX_SEGMENTS], g_total[FX_SEGMENTS], g_allocated[FX_SEGMENTS], g_active[FX_SEGMENTS],
        g_requested[FX_SEGMENTS];
    struct gm_stream_id g_stream[FX_SEGMENTS];
    struct gm_pool_id g_pool[FX_SEGMENTS];
    struct gm_stack_id g_stack[FX_SEGMENTS];
    uint8_t g_type[FX_SEGMENTS], g_expandable[FX_SEGMENTS];
    size_t g_first[FX_SEGMENTS], g_count[FX_SEGMENTS];

    uint64_t b_address[FX_BLOCKS], b_size[FX_BLOCKS], b_requested[FX_BLOCKS];
    uint8_t b_state[FX_BLOCKS];
    struct gm_stack_id b_stack[FX_BLOCKS];
    uint32_t b_segment[FX_BLOCKS];

    uint8_t e_action[FX_EVENTS];
    uint64_t e_addr[FX_EVENTS], e_size[FX_EVENTS];
    uint64_t e_time[FX_EVENTS];
    struct gm_stack_id e_stack[FX_EVENTS];
    uint32_t e_stream[FX_EVENTS];
    struct gm_trace traces[FX_TRACES];

    uint64_t string_start[FX_STRINGS + 1];
    char bytes[1 << 16];
    struct gm_string_id f_name[FX_FRAMES], f_file[FX_FRAMES];
    uint64_t f_line[FX_FRAMES];
    uint64_t stack_start[FX_STACKS + 1];
    struct gm_frame_id stack_frames[FX_FRAMES * 4];
    int64_t streams[FX_SMALL];
    struct gm_pool_key pools[FX_SMALL];
    struct gm_setting settings[FX_SMALL];
} fx;

void fx_begin(void); /* an empty one anew */

struct gm_string_id fx_string(const char *text);
/* Frames as "name @ file : line" or "name @ file", innermost first, then NULL. */
struct gm_stack_id fx_stack(const char *first, ...) __attribute__((sentinel));
struct gm_stream_id fx_stream(int64_t handle);
struct gm_pool_id fx_pool(uint64_t first, uint64_t second);

/* Adds a segment on device 0 in the default pool and stream; returns its row for changes. */
size_t fx_segment(uint64_t address, uint64_t size, enum gm_segment_type type, bool is_expandable);
/* Adds a block right after the last one of the last segment; requested may be GM_ABSENT. Returns its row. */
size_t fx_block(enum gm_block_state state, uint64_t size, uint64_t requested, struct gm_stack_id stack);
size_t fx_live(uint64_t size);
size_t fx_free_block(uint64_t size);
/* Begins the next device's trace; events go to the last one. */
void fx_trace(void);
size_t fx_event(enum gm_action action, uint64_t addr, uint64_t size);
struct gm_setting *fx_setting(const char *key, enum gm_setting_type type);

/* Analyses with the default rules; the test fails if that fails. */
const struct gm_report *fx_analyze(size_t top, int64_t device);
const struct gm_finding *fx_finding(const char *id);
