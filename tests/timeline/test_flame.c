/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of frames at the peak and the map of the segments at the end.
 */
#include "analyze/base/text.h"

#include <stdio.h>
#include <string.h>

#include "tests/timeline/traced.h"
#include "tests/unit.h"

#define FRAME(name, file, line) "{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":" #line "}"
#define ALLOC(addr, size, frames) "{\"action\":\"alloc\",\"addr\":" #addr ",\"size\":" #size ",\"frames\":[" frames "]}"
#define NO_SEGMENTS "{\"segments\":[],\"device_traces\":[["

/* ---- flame ------------------------------------------------------------------------------------------------------- */

/* Every node's bytes are its own and its children's; children are sorted, behind their parent, and know it. */
static void check_tree(const struct gm_flame *flame, uint64_t bytes)
{
    assert_true(flame->node_count > 0);
    assert_int_equal(flame->nodes[0].bytes, bytes);
    assert_string_equal(flame->nodes[0].name, "all");
    for (uint32_t i = 0; i < flame->node_count; i++) {
        const struct gm_flame_node *node = &flame->nodes[i];
        uint64_t sum = node->self_bytes, blocks = node->self_blocks, before = UINT64_MAX;
        for (uint32_t k = node->first_child; k != 0; k = flame->nodes[k].next_sibling) {
            assert_true(k > i && k < flame->node_count);
            assert_int_equal(flame->nodes[k].parent, i);
            assert_int_equal(flame->nodes[k].depth, node->depth + 1);
            assert_true(flame->nodes[k].bytes <= before);
            before = flame->nodes[k].bytes;
            sum += before;
            blocks += flame->nodes[k].blocks;
        }
        assert_int_equal(node->bytes, sum);
        assert_int_equal(node->blocks, blocks);
    }
}

static const struct gm_flame_node *child(const struct gm_flame *flame, const struct gm_flame_node *node,
                                         const char *name, uint64_t line)
{
    for (uint32_t k = node->first_child; k != 0; k = flame->nodes[k].next_sibling)
        if (strcmp(flame->nodes[k].name, name) == 0 && flame->nodes[k].line == line)
            return &flame->nodes[k];
    return NULL;
}

#define MAIN FRAME("main", "train.py", 5)
#define NOISE FRAME("_PyEval_EvalFrameDefault", "ceval.c", 9)
static const char small[] = NO_SEGMENTS
    ALLOC(1000, 100, FRAME("at::empty", "e.cpp", 1) "," FRAME("attend", "a.py", 10) "," NOISE "," MAIN) "," ALLOC(
        2000, 200,
        FRAME(
            "attend", "a.py",
            10) "," MAIN) "," ALLOC(3000, 50,
                                    FRAME(
                                        "feed", "m.py",
                                        20) "," MAIN) "," ALLOC(4000, 400,
                                                                FRAME(
                                                                    "feed",
                                                                    "m.py",
                                                                    21) "," MAIN) "," ALLOC(5000, 30,
                                                                                            "") "," ALLOC(6000, 5,
                                                                                                          NOISE) "]]}";

/* Without being asked for, C++ frames stand only where there are no Python ones. */
TEST(python_frames_only)
{
    gm_traced_load(small, gm_traced_rules, (struct gm_timeline_options){.top = 5});
    const struct gm_flame *flame = &traced.report.timelines[0].flame;
    check_tree(flame, 785);
    const struct gm_flame_node *main_ = child(flame, &flame->nodes[0], "main", 5);
    assert_non_null(main_);
    const struct gm_flame_node *attend = child(flame, main_, "attend", 10);
    assert_non_null(attend);
    assert_int_equal(attend->self_bytes, 300);
    assert_int_equal(attend->first_child, 0);
    assert_non_null(child(flame, &flame->nodes[0], "_PyEval_EvalFrameDefault", 9)); /* it has no other frame */
}

TEST(callers_above_callees)
{
    gm_traced_load(small, gm_traced_rules, (struct gm_timeline_options){.top = 5, .has_native = true});
    const struct gm_flame *flame = &traced.report.timelines[0].flame;
    check_tree(flame, 785);
    const struct gm_flame_node *root = &flame->nodes[0], *main_ = child(flame, root, "main", 5);
    assert_non_null(main_);
    assert_int_equal(main_->bytes, 750);
    assert_int_equal(main_->self_bytes, 0);
    assert_int_equal(main_->color, 0x445566); /* 450 of 750 bytes */
    assert_true(main_->is_python);
    assert_int_equal(root->first_child, main_ - flame->nodes);
    const struct gm_flame_node *attend = child(flame, main_, "attend", 10);
    assert_non_null(attend);
    assert_int_equal(attend->bytes, 300);
    assert_int_equal(attend->self_bytes, 200);
    assert_int_equal(attend->blocks, 2);
    assert_int_equal(attend->color, 0x112233);
    const struct gm_flame_node *cpp = child(flame, attend, "at::empty", 1);
    assert_non_null(cpp);
    assert_int_equal(cpp->self_bytes, 100);
    assert_false(cpp->is_python);
    assert_string_equal(cpp->filename, "e.cpp");
    assert_int_equal(child(flame, main_, "feed", 21)->bytes, 400);
    assert_int_equal(child(flame, main_, "feed", 20)->bytes, 50);
    const struct gm_flame_node *without = child(flame, root, "(no stack recorded)", GM_REPORT_NONE);
    assert_non_null(without);
    assert_int_equal(without->bytes, 30);
    /* a stack of nothing but noise is shown as it is */
    assert_int_equal(child(flame, root, "_PyEval_EvalFrameDefault", 9)->bytes, 5);
}

TEST(depth_cuts_from_the_outermost_frame)
{
    gm_traced_load(small, gm_traced_rules, (struct gm_timeline_options){.top = 5, .depth = 1});
    const struct gm_flame *flame = &traced.report.timelines[0].flame;
    check_tree(flame, 785);
    const struct gm_flame_node *main_ = child(flame, &flame->nodes[0], "main", 5);
    assert_int_equal(main_->self_bytes, 750);
    assert_int_equal(main_->first_child, 0);
}

/* 20,000 different stacks: the tree stays small, what is not shown is in "(other)". */
TEST(small_nodes_are_folded)
{
    GM_FREED struct gm_text t = {0};
    uint64_t sum = 0;
    gm_text_add(&t, NO_SEGMENTS);
    for (int i = 0; i < 20000; i++) {
        int size = i % 100 == 0 ? 100000 : i % 7 + 1;
        gm_text_printf(&t, "%s{\"action\":\"alloc\",\"addr\":%d,\"size\":%d,\"frames\":[", i > 0 ? "," : "",
                       (i + 1) * 512, size);
        gm_text_printf(&t,
                       "{\"name\":\"%s\",\"filename\":\"x.py\",\"line\":%d},{\"name\":\"step\",\"filename\":"
                       "\"y.py\",\"line\":%d}]}",
                       i % 2 == 0 ? "attend" : "feed", i, i % 11);
        sum += (uint64_t)size;
    }
    gm_text_add(&t, "]]}");
    assert_false(t.failed);
    gm_traced_load(t.data, gm_traced_rules, (struct gm_timeline_options){.top = 5});
    const struct gm_flame *flame = &traced.report.timelines[0].flame;
    check_tree(flame, sum);
    assert_true(flame->node_count <= 5000);
    assert_int_equal(flame->nodes[0].blocks, 20000);
    const struct gm_flame_node *step = child(flame, &flame->nodes[0], "step", 3);
    assert_non_null(step);
    const struct gm_flame_node *other = child(flame, step, "(other)", GM_REPORT_NONE);
    assert_non_null(other);
    assert_int_equal(other->self_bytes, other->bytes);
    /* 200 stacks of 100000 bytes are large enough; they and everything else is there once */
    size_t large = 0;
    for (size_t i = 0; i < flame->node_count; i++)
        large += flame->nodes[i].self_bytes == 100000;
    assert_int_equal(large, 200);
}

/* ---- map --------------------------------------------------------------------------------------------------------- */

static void add_block(struct gm_text *t, uint64_t size, const char *state, const char *name)
{
    gm_text_printf(t, "%s{\"size\":%llu,\"state\":\"%s\",\"requested_size\":1,\"frames\":[", t->length > 0 ? "," : "",
                   (unsigned long long)size, state);
    if (name != NULL)
        gm_text_printf(t, "{\"name\":\"%s\",\"filename\":\"x.py\",\"line\":1}", name);
    gm_text_add(t, "]}");
}

static void map_of(const char *segments)
{
    GM_FREED struct gm_text t = {0};
    gm_text_printf(&t, "{\"segments\":[%s],\"device_traces\":[[{\"action\":\"snapshot\",\"addr\":0,\"size\":0}]]}",
                   segments);
    assert_false(t.failed);
    gm_traced_load(t.data, gm_traced_rules, (struct gm_timeline_options){.top = 5});
}

TEST(map_keeps_blocks)
{
    GM_FREED struct gm_text blocks = {0}, segments = {0};
    add_block(&blocks, 512, "active_allocated", "attend");
    add_block(&blocks, 1024, "active_allocated", "attend");
    add_block(&blocks, 2048, "inactive", NULL);
    add_block(&blocks, 512, "active_pending_free", "feed");
    for (int i = 0; i < 60; i++)
        gm_text_printf(&segments, "{\"device\":0,\"address\":%d,\"total_size\":%d,\"blocks\":[]},", (i + 1) * 1000000,
                       (i + 1) * 8);
    gm_text_printf(&segments,
                   "{\"device\":0,\"address\":512,\"total_size\":4096,\"segment_type\":\"small\","
                   "\"blocks\":[%s]},{\"device\":1,\"address\":99,\"total_size\":9999999,\"blocks\":[]}",
                   blocks.data);
    map_of(segments.data);
    const struct gm_segment_map *map = &traced.report.timelines[0].map;
    assert_int_equal(map->segment_total, 61);
    assert_int_equal(map->segment_count, 48);
    assert_int_equal(map->rest_bytes, 8 * 13 * 14 / 2); /* the thirteen smallest */
    const struct gm_map_segment *g = &map->segments[0];
    assert_int_equal(g->bytes, 4096);
    assert_int_equal(g->address, 512);
    assert_string_equal(g->pool, "small");
    assert_int_equal(g->block_count, 4);
    const struct {
        uint64_t offset, bytes;
        uint8_t state;
        uint32_t color;
    } expected[] = {{0, 512, 1, 0x112233}, {512, 1024, 1, 0x112233}, {1536, 2048, 0, 0}, {3584, 512, 2, 0x445566}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(g->blocks[i].offset, expected[i].offset);
        assert_int_equal(g->blocks[i].bytes, expected[i].bytes);
        assert_int_equal(g->blocks[i].state, expected[i].state);
        assert_int_equal(g->blocks[i].color, expected[i].color);
    }
    assert_null(g->blocks[2].category);
    assert_string_equal(g->blocks[3].category, "MLP");
    assert_int_equal(map->segments[1].bytes, 480);
}

/* Segments that would look the same are listed once, the first; of another block there is another. */
TEST(map_counts_alike)
{
    GM_FREED struct gm_text segments = {0};
    for (int i = 0; i < 70; i++)
        gm_text_printf(&segments,
                       "%s{\"device\":0,\"address\":%d,\"total_size\":4096,\"segment_type\":\"%s\","
                       "\"blocks\":[{\"size\":%d,\"state\":\"inactive\"}]}",
                       i > 0 ? "," : "", (i + 1) * 4096, i < 60 ? "large" : "small", i < 50 && i != 9 ? 4096 : 2048);
    map_of(segments.data);
    const struct gm_segment_map *map = &traced.report.timelines[0].map;
    assert_int_equal(map->segment_count, 3);
    assert_int_equal(map->segments[0].alike, 48);
    assert_int_equal(map->segments[1].address, 10 * 4096);
    assert_int_equal(map->segments[1].alike, 10);
    assert_int_equal(map->segments[2].alike, 9);
    assert_int_equal(map->rest_bytes, 0);
}

/* 30,000 blocks in a segment: fewer rows, the same sums by state and category, large blocks where they were. */
TEST(map_simplifies)
{
    GM_FREED struct gm_text blocks = {0}, segments = {0};
    uint64_t sums[3] = {0}, found[3] = {0}, total = 0, large_at = 0;
    for (int i = 0; i < 30000; i++) {
        uint64_t size = i == 20000 ? 40000 * 512 : (uint64_t)(i % 4 + 1) * 512;
        int kind = i % 3;
        if (i == 20000)
            large_at = total;
        add_block(&blocks, size, kind == 0 ? "inactive" : "active_allocated",
                  kind == 0   ? NULL
                  : kind == 1 ? "attend"
                              : "feed");
        sums[kind] += size;
        total += size;
    }
    gm_text_printf(&segments, "{\"device\":0,\"address\":512,\"total_size\":%llu,\"blocks\":[%s]}",
                   (unsigned long long)total, blocks.data);
    map_of(segments.data);
    const struct gm_map_segment *g = &traced.report.timelines[0].map.segments[0];
    uint64_t at = 0, pixel = total / 1500 + 1;
    bool has_large = false;
    assert_true(g->block_count < 6000);
    for (size_t i = 0; i < g->block_count; i++) {
        assert_int_equal(g->blocks[i].offset, at);
        at += g->blocks[i].bytes;
        found[g->blocks[i].state == 0 ? 0 : g->blocks[i].color == 0x112233 ? 1 : 2] += g->blocks[i].bytes;
        if (g->blocks[i].bytes >= 40000 * 512) {
            has_large = true;
            assert_true(g->blocks[i].offset + pixel >= large_at && g->blocks[i].offset <= large_at + pixel);
        }
    }
    assert_true(has_large);
    assert_int_equal(at, total);
    for (int i = 0; i < 3; i++)
        assert_int_equal(found[i], sums[i]);
}
