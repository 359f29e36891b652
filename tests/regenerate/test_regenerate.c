/* SPDX-License-Identifier: Apache-2.0
 *
 * Regenerated snapshots of small traces, worked out by hand: 12 MiB live before the trace, 10 come and go, 9 come.
 */
#include "replay/regenerate/regenerate.h"

#include "analyze/allocator/recorded_settings.h"
#include "replay/verify/verify.h"
#include "replay/whatif/whatif.h"
#include "tests/timeline/traced.h"

enum { A = 1 << 28 };

/* Of the test. */
static struct gm_event_recorder recorder;
static struct gm_regenerated made;

static void three_blocks(void)
{
    gm_traced_event("alloc", A + MIB(12), MIB(10), "attend");
    gm_traced_free(A + MIB(12), MIB(10));
    gm_traced_event("snapshot", 0, MIB(12), NULL);
    gm_traced_event("alloc", A + MIB(12), MIB(9), "feed");
    gm_traced_segment(A, MIB(40), "large");
    gm_traced_block(MIB(12), MIB(12), "before");
    gm_traced_block(MIB(9), MIB(9), "feed");
    gm_traced_block(MIB(19), 0, NULL);
}

static struct gm_history *build(void)
{
    struct gm_history *h = gm_traced_history();
    gm_recorder_init(&recorder, &traced.snapshot);
    return h;
}

static struct gm_whatif_result what_if(const char *settings, uint64_t capacity, uint64_t dropped)
{
    uint64_t requested[8];
    struct gm_whatif_options options = {.conf = gm_conf_default(), .capacity = capacity, .requested = requested};
    struct gm_whatif_result result;
    struct gm_error err = {0};
    struct gm_history *h = build();
    assert_in_range(h->allocation_count, 1, 8);
    for (size_t a = 0; a < h->allocation_count; a++)
        requested[a] = gm_requested(h, a) == dropped ? 0 : gm_requested(h, a);
    options.recorder = &recorder;
    assert_int_equal(gm_conf_parse(&options.conf, settings, strlen(settings), NULL, &err), GM_OK);
    assert_int_equal(gm_whatif(&result, h, &options, &err), GM_OK);
    assert_int_equal(gm_regenerate(&made, &recorder, &options.conf, settings, &err), GM_OK);
    return result;
}

static int end(void **state)
{
    gm_regenerated_free(&made);
    gm_recorder_free(&recorder);
    made = (struct gm_regenerated){0};
    recorder = (struct gm_event_recorder){0};
    return 0;
}
AROUND_EACH(NULL, end)

/* The name of a stack's one frame; "" without any. */
static const char *name_of(const struct gm_snapshot *s, struct gm_stack_id stack, char buffer[64])
{
    size_t depth, length;
    const struct gm_frame_id *frames = gm_stack_frames(s, stack, &depth);
    buffer[0] = '\0';
    if (depth == 0)
        return buffer;
    const char *text = gm_string(s, s->frames.name[frames[0].v], &length);
    memcpy(buffer, text, length < 63 ? length : 63);
    buffer[length < 63 ? length : 63] = '\0';
    return buffer;
}

static void assert_event(const struct gm_snapshot *s, size_t i, enum gm_action action, uint64_t addr, uint64_t size,
                         size_t origin, const struct gm_snapshot *recorded)
{
    const struct gm_events *e = &s->events;
    assert_in_range(i, 0, e->count - 1);
    assert_int_equal(e->action[i], action);
    assert_int_equal(gm_event_addr(e, i), addr);
    assert_int_equal(gm_event_size(e, i), size);
    assert_int_equal(gm_event_time_us(e, i), gm_event_time_us(&recorded->events, origin));
    assert_int_equal(gm_event_stack(e, i).v, gm_event_stack(&recorded->events, origin).v);
}

static void assert_block(const struct gm_snapshot *s, size_t i, uint64_t address, uint64_t size, uint64_t requested,
                         enum gm_block_state state, const char *name)
{
    char buffer[64];
    assert_in_range(i, 0, s->blocks.count - 1);
    assert_int_equal(s->blocks.address[i], address);
    assert_int_equal(s->blocks.size[i], size);
    assert_int_equal(s->blocks.requested[i], requested);
    assert_int_equal(s->blocks.state[i], state);
    assert_string_equal(name_of(s, s->blocks.stack[i], buffer), name);
}

/* What was followed is what was recorded. */
TEST(verified)
{
    struct gm_verify_result result;
    struct gm_conf conf = gm_conf_default();
    struct gm_error err = {0};
    three_blocks();
    struct gm_history *h = build();
    assert_int_equal(gm_verify_recorded(&result, h, &conf, &recorder, &err), GM_OK);
    assert_true(gm_verify_passed(&result));
    assert_int_equal(gm_regenerate(&made, &recorder, NULL, NULL, &err), GM_OK);
    const struct gm_snapshot *s = &made.snapshot;
    assert_int_equal(s->traces[0].count, 5);
    assert_event(s, 0, GM_ACTION_ALLOC, A + MIB(12), MIB(10), 0, &traced.snapshot);
    assert_event(s, 1, GM_ACTION_FREE_REQUESTED, A + MIB(12), MIB(10), 1, &traced.snapshot);
    assert_event(s, 2, GM_ACTION_FREE_COMPLETED, A + MIB(12), MIB(10), 2, &traced.snapshot);
    assert_event(s, 3, GM_ACTION_SNAPSHOT, 0, MIB(12), 3, &traced.snapshot);
    assert_event(s, 4, GM_ACTION_ALLOC, A + MIB(12), MIB(9), 4, &traced.snapshot);
    assert_int_equal(s->segments.count, 1);
    assert_int_equal(s->segments.total_size[0], MIB(40));
    assert_int_equal(s->segments.type[0], GM_SEGMENT_LARGE);
    assert_int_equal(s->blocks.count, 3);
    assert_block(s, 0, A, MIB(12), MIB(12), GM_BLOCK_ACTIVE_ALLOCATED, "before");
    assert_block(s, 1, A + MIB(12), MIB(9), MIB(9), GM_BLOCK_ACTIVE_ALLOCATED, "feed");
}

/* A wrong choice is replaced by the recorded one, and leaves no event. */
TEST(verified_wrong)
{
    struct gm_verify_result result;
    struct gm_conf conf = gm_conf_default();
    struct gm_error err = {0};
    gm_traced_event("alloc", A + MIB(20), MIB(10), "attend"); /* the model takes A + 12 MiB */
    gm_traced_segment(A, MIB(40), "large");
    gm_traced_block(MIB(12), MIB(12), "before");
    gm_traced_block(MIB(8), 0, NULL);
    gm_traced_block(MIB(10), MIB(10), "attend");
    gm_traced_block(MIB(10), 0, NULL);
    struct gm_history *h = build();
    assert_int_equal(gm_verify_recorded(&result, h, &conf, &recorder, &err), GM_OK);
    assert_false(gm_verify_passed(&result));
    assert_int_equal(gm_regenerate(&made, &recorder, NULL, NULL, &err), GM_OK);
    assert_int_equal(made.snapshot.events.count, 1);
    assert_event(&made.snapshot, 0, GM_ACTION_ALLOC, A + MIB(20), MIB(10), 0, &traced.snapshot);
    assert_int_equal(made.snapshot.blocks.count, 4);
    assert_block(&made.snapshot, 2, A + MIB(20), MIB(10), MIB(10), GM_BLOCK_ACTIVE_ALLOCATED, "attend");
}

/* 12 MiB map one page of 20 before the trace; 10 more do not fit into the other 8 and map a second one. */
TEST(expandable)
{
    traced.settings = "\"PYTORCH_CUDA_ALLOC_CONF\": \"\", \"expandable_segments\": false, "
                      "\"max_split_size\": -1, \"pinned_num_register_threads\": 3";
    three_blocks();
    what_if("expandable_segments:True,max_split_size_mb:100", UINT64_MAX, 0);
    const struct gm_snapshot *s = &made.snapshot;
    assert_int_equal(s->segments.count, 1);
    uint64_t base = s->segments.address[0];
    assert_int_equal(s->traces[0].count, 6);
    assert_event(s, 0, GM_ACTION_SEGMENT_MAP, base + MIB(20), MIB(20), 0, &traced.snapshot);
    assert_event(s, 1, GM_ACTION_ALLOC, base + MIB(12), MIB(10), 0, &traced.snapshot);
    assert_event(s, 2, GM_ACTION_FREE_REQUESTED, base + MIB(12), MIB(10), 1, &traced.snapshot);
    assert_event(s, 3, GM_ACTION_FREE_COMPLETED, base + MIB(12), MIB(10), 2, &traced.snapshot);
    assert_event(s, 4, GM_ACTION_SNAPSHOT, 0, MIB(12), 3, &traced.snapshot);
    assert_event(s, 5, GM_ACTION_ALLOC, base + MIB(12), MIB(9), 4, &traced.snapshot);
    assert_int_equal(s->segments.total_size[0], MIB(40));
    assert_int_equal(s->blocks.count, 3);
    assert_block(s, 0, base, MIB(12), MIB(12), GM_BLOCK_ACTIVE_ALLOCATED, "before");
    assert_block(s, 1, base + MIB(12), MIB(9), MIB(9), GM_BLOCK_ACTIVE_ALLOCATED, "feed");
    /* Its object is the one that the 10 MiB were freed as. */
    assert_block(s, 2, base + MIB(21), MIB(19), s->blocks.requested[2], GM_BLOCK_INACTIVE, "");
    struct gm_conf conf;
    size_t length;
    const char *text = gm_snapshot_alloc_conf(s, &length);
    assert_int_equal(length, strlen("expandable_segments:True,max_split_size_mb:100"));
    assert_memory_equal(text, "expandable_segments:True,max_split_size_mb:100", length);
    assert_int_equal(gm_snapshot_setting(s, "expandable_segments")->integer, 1);
    assert_int_equal(gm_snapshot_setting(s, "max_split_size")->integer, MIB(100));
    assert_int_equal(gm_snapshot_setting(s, "pinned_num_register_threads")->integer, 3);
    assert_int_equal(s->setting_count, 4);
    conf = gm_settings_recorded(s, NULL);
    assert_true(conf.expandable_segments);
}

/* A file without settings gets the text and the single ones. */
TEST(new_settings)
{
    struct gm_conf conf;
    three_blocks();
    what_if("roundup_power2_divisions:[256:1,512:4,>:8]", UINT64_MAX, 0);
    const struct gm_snapshot *s = &made.snapshot;
    assert_true(s->has_settings);
    assert_int_equal(s->setting_count, 20);
    assert_int_equal(gm_snapshot_setting(s, "max_split_size")->integer, -1);
    assert_int_equal(gm_snapshot_setting(s, "roundup_power2_divisions.512")->integer, 4);
    assert_int_equal(gm_snapshot_setting(s, "roundup_power2_divisions.32768")->integer, 8);
    conf = gm_settings_recorded(s, NULL);
    assert_int_equal(conf.rules.roundup[9], 4);
}

/* 12 of 20 MiB are in use, 10 more are not to be had: the snapshot is the state then. */
TEST(out_of_memory)
{
    three_blocks();
    assert_true(what_if("", MIB(20), 0).has_failed);
    const struct gm_snapshot *s = &made.snapshot;
    assert_int_equal(s->traces[0].count, 1);
    assert_event(s, 0, GM_ACTION_OOM, MIB(8), MIB(10), 0, &traced.snapshot);
    assert_int_equal(s->segments.count, 1);
    assert_int_equal(s->segments.total_size[0], MIB(12));
    assert_int_equal(s->segments.active_size[0] == GM_ABSENT || s->segments.active_size[0] == MIB(12), 1);
    assert_int_equal(s->blocks.count, 1);
    assert_block(s, 0, s->segments.address[0], MIB(12), MIB(12), GM_BLOCK_ACTIVE_ALLOCATED, "before");
}

/* Not even the 12 MiB: one event, with what is known of them. */
TEST(out_of_memory_at_start)
{
    char buffer[64];
    three_blocks();
    assert_true(what_if("", MIB(10), 0).has_failed);
    const struct gm_snapshot *s = &made.snapshot;
    assert_int_equal(s->segments.count, 0);
    assert_int_equal(s->blocks.count, 0);
    assert_int_equal(s->traces[0].count, 1);
    assert_int_equal(s->events.action[0], GM_ACTION_OOM);
    assert_int_equal(gm_event_addr(&s->events, 0), MIB(10));
    assert_int_equal(gm_event_size(&s->events, 0), MIB(12));
    assert_string_equal(name_of(s, gm_event_stack(&s->events, 0), buffer), "before");
}

/* Left out: the 10 MiB. The 9 MiB get a segment of 20, whose object the remainder is: the segment shows no stack. */
TEST(left_out)
{
    three_blocks();
    what_if("", UINT64_MAX, MIB(10));
    const struct gm_snapshot *s = &made.snapshot;
    assert_int_equal(s->traces[0].count, 3);
    assert_int_equal(s->segments.count, 2);
    uint64_t base = gm_event_addr(&s->events, 1);
    assert_event(s, 0, GM_ACTION_SNAPSHOT, 0, MIB(12), 3, &traced.snapshot);
    assert_event(s, 1, GM_ACTION_SEGMENT_ALLOC, base, MIB(20), 4, &traced.snapshot);
    assert_event(s, 2, GM_ACTION_ALLOC, base, MIB(9), 4, &traced.snapshot);
    assert_int_equal(s->blocks.count, 3);
    assert_block(s, 2, base + MIB(9), MIB(11), s->blocks.requested[2], GM_BLOCK_INACTIVE, "");
    for (size_t i = 0; i < 2; i++)
        assert_true(s->segments.stack[i].v <= GM_STACK_EMPTY);
}

/* Growths stay when a try is taken back. */
TEST(taken_back)
{
    three_blocks();
    struct gm_history *h = build();
    gm_recorder_begin(&recorder, h);
    gm_recorder_hear(&recorder, GM_EVENT_ALLOC, 1, 2, 0, 0, 0);
    size_t mark = gm_recorder_mark(&recorder);
    gm_recorder_hear(&recorder, GM_EVENT_SEGMENT_ALLOC, 3, 4, 0, 0, 0);
    gm_recorder_hear(&recorder, GM_EVENT_ALLOC, 5, 6, 0, 0, 0);
    gm_recorder_hear(&recorder, GM_EVENT_SEGMENT_MAP, 7, 8, 0, 0, 0);
    gm_recorder_hear(&recorder, GM_EVENT_FREE_COMPLETED, 5, 6, 0, 0, 0);
    gm_recorder_take_back(&recorder, mark);
    assert_int_equal(recorder.events.count, 3);
    assert_int_equal(recorder.events.addr[0], 1);
    assert_int_equal(recorder.events.addr[1], 3);
    assert_int_equal(recorder.events.addr[2], 7);
    gm_recorder_hear(&recorder, GM_EVENT_ALLOC, 9, 9, 0, 0, 5); /* no such event: five there are */
    assert_int_equal(recorder.events.count, 3);
    gm_recorder_begin(&recorder, h); /* anew */
    assert_int_equal(recorder.events.count, 0);
    assert_int_equal(recorder.devices.n, 1);
}
