/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation failure: the n-th allocation of our own code fails, for every n. (Those inside of glib end the process
 * whatever we do; they are not ours.)
 */
#include "render/charts.h"
#include "render/render.h"
#include "tests/nomem/nomem.h"
#include "tests/render/samples.h"
#include "tests/unit.h"

#include <stdlib.h>

TEST(draw)
{
    static const enum sample samples[] = {SAMPLE_EIGHT, SAMPLE_MANY_SMALL, SAMPLE_EMPTY};
    for (size_t s = 0; s < 3; s++) {
        struct gm_report report;
        sample_make(&report, samples[s]);
        for (int c = 0; c < GM_CHART_COUNT; c++) {
            size_t n = 0;
            for (bool is_done = false; !is_done;) {
                struct gm_painter *painter;
                struct gm_png png = {NULL, 0};
                struct gm_error err = {.status = GM_OK};
                assert_int_equal(gm_painter_new(&painter, &err), GM_OK);
                nomem_begin(++n, false);
                enum gm_status status = gm_chart_draw(&png, painter, &report, (enum gm_chart)c, &err);
                is_done = !nomem_end();
                assert_int_equal(status, is_done ? GM_OK : GM_E_NOMEM);
                assert_true((png.data != NULL) == (status == GM_OK));
                assert_int_equal(err.status, status);
                free(png.data);
                gm_painter_free(painter);
            }
            assert_true(n > 3);
        }
        gm_report_free(&report);
    }
}

TEST(svg)
{
    struct gm_report report;
    sample_make(&report, SAMPLE_RAGGED);
    size_t n = 0;
    for (bool is_done = false; !is_done;) {
        struct gm_text svg = {0};
        struct gm_error err = {.status = GM_OK};
        nomem_begin(++n, false);
        enum gm_status status = gm_flamegraph_svg(&svg, &report, &err);
        is_done = !nomem_end();
        assert_int_equal(status, is_done ? GM_OK : GM_E_NOMEM);
        assert_int_equal(err.status, status);
        assert_int_equal(svg.failed, !is_done);
        gm_text_free(&svg);
    }
    assert_true(n > 3);
    gm_report_free(&report);
}

TEST(painter)
{
    for (size_t n = 1;; n++) {
        struct gm_painter *painter;
        nomem_begin(n, false);
        enum gm_status status = gm_painter_new(&painter, NULL);
        bool is_done = !nomem_end();
        assert_true(status == GM_OK || (status == GM_E_NOMEM && painter == NULL));
        gm_painter_free(painter);
        if (is_done) {
            assert_int_equal(status, GM_OK);
            assert_true(n > 1);
            return;
        }
    }
}
