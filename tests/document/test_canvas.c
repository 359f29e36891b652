/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawings on a canvas, by hand: one device, a tree of 1 KiB and a curve of four columns.
 */
#include "analyze/document/canvas.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <string.h>

#define NODE(of, up, below, beside, all, own, function, path, number)                                                  \
    [of] = {.name = function,                                                                                          \
            .filename = path,                                                                                          \
            .line = number,                                                                                            \
            .parent = up,                                                                                              \
            .first_child = below,                                                                                      \
            .next_sibling = beside,                                                                                    \
            .bytes = all,                                                                                              \
            .self_bytes = own,                                                                                         \
            .blocks = 1,                                                                                               \
            .self_blocks = (own) > 0}

static const struct gm_flame_node nodes[] = {
    NODE(0, 0, 1, 0, 1024, 0, "all", "", GM_REPORT_NONE),
    NODE(1, 0, 4, 2, 1000, 0, "main", "/app/train.py", 10),
    NODE(2, 0, 0, 3, 16, 16, "(no stack recorded)", "", GM_REPORT_NONE),
    NODE(3, 0, 0, 0, 8, 8, "t\xc3\xa9ny", "/app/a.py", 1),
    NODE(4, 1, 6, 5, 800, 100, "forward", "/app/model.py", 20),
    NODE(5, 1, 0, 0, 200, 200, "step", "/x/torch/optim.py", 40),
    NODE(6, 4, 7, 0, 700, 0, "_call_impl", "/x/torch/module.py", 1),
    NODE(7, 6, 0, 0, 700, 700, "linear", "/x/torch/nn.py", 30),
};

#define COLUMN(i, allocated, reserved)                                                                                 \
    {                                                                                                                  \
        .first_event = i, .last_event = i, .x0 = 100.0 * (i), .x1 = 100.0 * ((i) + 1), .high = {                       \
            allocated,                                                                                                 \
            allocated,                                                                                                 \
            allocated,                                                                                                 \
            reserved                                                                                                   \
        }                                                                                                              \
    }

static const struct gm_curve_column columns[] = {COLUMN(0, 0, 1024), COLUMN(1, 512, 1024), COLUMN(2, 1024, 1536),
                                                 COLUMN(3, 576, 1536)};
static const struct gm_step_row steps[] = {{.number = 7, .first_event = 2, .last_event = 3}};
static const struct gm_peak peak = {.requested = 1024, .event = 2, .time_us = GM_REPORT_NONE};
static const struct gm_device_report device = {.trace = {.events = 4, .peak_reserved = 1536}};
static const struct gm_device_timeline timeline = {
    .reconciliation = {.is_reconstructed = true},
    .curve = {.has_times = true, .is_by_time = true, .x_end = 400, .columns = columns, .column_count = 4},
    .flame = {nodes, sizeof nodes / sizeof *nodes},
    .steps = {.rows = steps, .row_count = 1},
};
static const struct gm_report report = {.devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};

typedef void draw_fn(struct gm_text *out, const struct gm_report *report, const struct gm_text_canvas *canvas);

static void assert_drawn(draw_fn *draw, const struct gm_text_canvas *canvas, const char *expected)
{
    GM_FREED struct gm_text text = {0};
    draw(&text, &report, canvas);
    assert_false(text.failed);
    gm_text_add(&text, "");
    assert_string_equal(text.data, expected);
}

TEST(tree)
{
    const struct gm_text_canvas canvas = {.columns = 60, .lines = 50, .is_utf8 = true};
    assert_drawn(gm_canvas_tree, &canvas,
                 "\nDevice 0 at its peak: 1.00 KiB requested at event 2\n"
                 "     1000 B  97.7%  main  train.py:10\n"
                 "      800 B  78.1%  ├ forward  model.py:20\n"
                 "      700 B  68.4%  │ ├ linear  nn.py:30\n"
                 "      100 B   9.8%  │ └ itself\n"
                 "      200 B  19.5%  └ step  optim.py:40\n"
                 "       16 B   1.6%  (no stack recorded)\n"
                 "        8 B   0.8%  t\xc3\xa9ny  a.py:1\n");
}

TEST(tree_in_ascii_with_colour)
{
    const struct gm_text_canvas canvas = {.columns = 60, .lines = 50, .has_colour = true};
    assert_drawn(gm_canvas_tree, &canvas,
                 "\nDevice 0 at its peak: 1.00 KiB requested at event 2\n"
                 "     1000 B  97.7%  main  train.py:10\n"
                 "      800 B  78.1%  + forward  model.py:20\n"
                 "      700 B  68.4%  | + \x1b[2mlinear  nn.py:30\x1b[0m\n"
                 "      100 B   9.8%  | ` itself\n"
                 "      200 B  19.5%  ` \x1b[2mstep  optim.py:40\x1b[0m\n"
                 "       16 B   1.6%  (no stack recorded)\n"
                 "        8 B   0.8%  t?ny  a.py:1\n");
}

/* The largest get the lines; what would stand for itself only has its name. */
TEST(few_lines)
{
    struct gm_text_canvas canvas = {.columns = 60, .lines = 4, .is_utf8 = true};
    assert_drawn(gm_canvas_tree, &canvas,
                 "\nDevice 0 at its peak: 1.00 KiB requested at event 2\n"
                 "     1000 B  97.7%  main  train.py:10\n"
                 "      800 B  78.1%  ├ forward  model.py:20\n"
                 "      200 B  19.5%  └ step  optim.py:40\n"
                 "       24 B   2.3%  2 more\n");
    canvas.lines = 2;
    assert_drawn(gm_canvas_tree, &canvas,
                 "\nDevice 0 at its peak: 1.00 KiB requested at event 2\n"
                 "     1000 B  97.7%  main  train.py:10\n"
                 "       24 B   2.3%  2 more\n");
}

#define TEN(s) s s s s s s s s s s
#define A TEN("░")
#define F TEN("█")
#define L TEN("╌")

TEST(chart)
{
    const struct gm_text_canvas canvas = {.columns = 52, .is_utf8 = true, .card = "x", .limit = 1408};
    assert_drawn(gm_canvas_chart, &canvas,
                 "\nDevice 0 over time, peak: 1.00 KiB requested at e...\n"
                 "                                     ▼ peak\n"
                 "   1.5 KiB ┤" TEN(" ") TEN(" ") A A "\n"
                                                      "           │" L L A A "\n"
                                                      "           │" TEN(" ") TEN(" ") A A "\n"
                                                                                           "           │" TEN(" ")
                                                                                               TEN(" ") A A
                 "\n"
                 "     1 KiB ┤" A A F A "\n"
                 "           │" A A F A "\n"
                 "           │" A A F A "\n"
                 "           │" A A F TEN("▄") "\n"
                                               "     512 B ┤" A F F F "\n"
                                               "           │" A F F F "\n"
                                               "           │" A F F F "\n"
                                               "           │" A F F F "\n"
                                               "         0 └┬" TEN("─") "─────────┬" TEN(
                                                   "─") "────────┬\n"
                                                        "      time  0 us                200 us        400 us\n"
                                                        "      step                           |7\n"
                                                        "            █ allocated  ░ reserved  ╌ x: 1.38 KiB\n");
}

TEST(limit_out_of_sight_in_ascii)
{
    const struct gm_text_canvas canvas = {.columns = 70, .card = "x", .limit = 1 << 20};
    GM_FREED struct gm_text text = {0};
    gm_canvas_chart(&text, &report, &canvas);
    assert_non_null(strstr(text.data, "            # allocated  . reserved  - x: 1.00 MiB, far above\n"));
    assert_non_null(strstr(text.data, "   1.5 KiB +  "));
    for (size_t i = 0; i < text.length; i++)
        assert_true(text.data[i] > 0);
}

/* The left edge. */
TEST(peak_before_the_trace)
{
    const struct gm_peak before = {.requested = 1024, .event = GM_REPORT_NONE, .time_us = GM_REPORT_NONE};
    const struct gm_report moved = {.devices = &device, .device_count = 1, .peaks = &before, .timelines = &timeline};
    const struct gm_text_canvas canvas = {.columns = 70};
    GM_FREED struct gm_text text = {0};
    gm_canvas_chart(&text, &moved, &canvas);
    assert_non_null(strstr(text.data, "requested at the start of the trace\n            v peak\n"));
}

TEST(no_trace)
{
    const struct gm_report empty = {.device_count = 0};
    const struct gm_text_canvas canvas = {.columns = 60, .lines = 5};
    GM_FREED struct gm_text text = {0};
    gm_canvas_tree(&text, &empty, &canvas);
    assert_string_equal(text.data, "\nNo event recorded: nothing to draw.\n");
}

TEST(no_memory)
{
    static draw_fn *const draws[] = {gm_canvas_tree, gm_canvas_chart};
    const struct gm_text_canvas canvas = {.columns = 60, .lines = 50};
    for (size_t d = 0; d < 2; d++)
        for (size_t n = 1, is_done = 0; is_done == 0; n++) {
            struct gm_text text = {0};
            nomem_begin(n, false);
            draws[d](&text, &report, &canvas);
            is_done = !nomem_end();
            assert_int_equal(text.failed, is_done == 0);
            assert_true(n < 1000);
            gm_text_free(&text);
        }
}
