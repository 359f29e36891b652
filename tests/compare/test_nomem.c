/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation failure on the whole way from a snapshot to pages: the n-th allocation fails, for every n. It is told,
 * and nothing is shortened.
 */
#include "analyze/compare/compare.h"
#include "analyze/compare/summary_make.h"
#include "analyze/document/documents.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "render/diff_charts.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One device; a block of `size` bytes that stays and one that is freed. */
static void write_snapshot(const char *path, unsigned size)
{
    static const char frames[] = "\"frames\": [{\"name\": \"f<int>\", \"filename\": \"x/torch.cpp\", \"line\": 0}, "
                                 "{\"name\": \"forward\", \"filename\": \"/a/m.py\", \"line\": 3}]";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"segments\": [{\"device\": 0, \"address\": 2097152, \"total_size\": 2097152, \"stream\": 0, "
            "\"segment_type\": \"small\", \"blocks\": ["
            "{\"address\": 2097152, \"size\": %u, \"requested_size\": %u, \"state\": \"active_allocated\", %s}, "
            "{\"address\": %u, \"size\": %u, \"state\": \"inactive\"}]}], \"device_traces\": [[",
            size, size, frames, 2097152 + size, 2097152 - size);
    fprintf(file, "{\"action\": \"alloc\", \"addr\": 2097152, \"size\": %u, \"stream\": 0, \"time_us\": 1, %s}, ", size,
            frames);
    for (unsigned i = 0; i < 3; i++)
        fprintf(file,
                "{\"action\": \"alloc\", \"addr\": %u, \"size\": 512, \"stream\": 0, \"time_us\": 2}, "
                "{\"action\": \"free_requested\", \"addr\": %u, \"size\": 512, \"stream\": 0, \"time_us\": 3}, "
                "{\"action\": \"free_completed\", \"addr\": %u, \"size\": 512, \"stream\": 0, \"time_us\": 3}%s",
                2097152 + size, 2097152 + size, 2097152 + size, i < 2 ? ", " : "");
    fprintf(file, "]], \"allocator_settings\": {\"max_split_size\": %u}}", size);
    assert_int_equal(fclose(file), 0);
}

enum { RUNS = 3 };
struct way {
    struct gm_snapshot snapshots[RUNS];
    struct gm_category_rules *rules;
};

static void start(struct way *way)
{
    char folder[] = "/tmp/gm-nomem-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gm_category_rules_default(&way->rules, NULL), GM_OK);
    for (unsigned i = 0; i < RUNS; i++) {
        const struct gm_load_options options = {.salvage = false};
        snprintf(path, sizeof path, "%s/ctx%u.json", folder, 1 << i);
        write_snapshot(path, 512 * (i + 1));
        assert_int_equal(gm_snapshot_load(&way->snapshots[i], path, &options, NULL), GM_OK);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static bool lay_out(enum gm_chart chart, const struct gm_comparison *c)
{
    GM_FREED_BY(gm_display_free) struct gm_display display = {0};
    gm_chart_layout(&display, c, chart);
    return !display.failed;
}

/* Whether everything could be written. */
static bool write_all(const struct gm_comparison *c, size_t *length)
{
    struct gm_text texts[6] = {{0}};
    gm_diff_document(&texts[0], GM_JSON, c, NULL);
    gm_diff_document(&texts[1], GM_TXT, c, NULL);
    gm_diff_document(&texts[2], GM_MD, c, NULL);
    gm_diff_comment(&texts[3], c);
    gm_diff_summary(&texts[4], c, "there");
    enum gm_status status = gm_diff_flamegraph_svg(&texts[5], c, NULL);
    bool ok = status == GM_OK;
    *length = 0;
    for (int i = 0; i < 6; i++) {
        ok = ok && !texts[i].failed;
        *length += texts[i].length;
        gm_text_free(&texts[i]);
    }
    return lay_out(GM_CHART_DIFF_OVERVIEW, c) && lay_out(GM_CHART_DIFF_TIMELINE, c) &&
           lay_out(GM_CHART_DIFF_FLAMEGRAPH, c) && lay_out(GM_CHART_DIFF_SCALING, c) && ok;
}

static bool go(struct way *way, size_t *length)
{
    const struct gm_summary_options options = {.rules = way->rules, .device = -1, .points = 100};
    struct gm_compare_options compare = {.top = 10};
    struct gm_summary summaries[RUNS] = {{.path = NULL}};
    const struct gm_summary *runs[RUNS];
    GM_FREED_BY(gm_comparison_free) struct gm_comparison c = {.run_count = 0};
    bool ok = gm_growth_limit_parse(&compare.limit, "1%");
    for (int i = 0; i < RUNS && ok; i++) {
        enum gm_status status = gm_summary_make(&summaries[i], &way->snapshots[i], "x", &options, NULL);
        assert_true(status == GM_OK || status == GM_E_NOMEM);
        ok = status == GM_OK;
        runs[i] = &summaries[i];
    }
    if (ok) {
        enum gm_status status = gm_compare(&c, runs, RUNS, &compare, NULL);
        assert_true(status == GM_OK || status == GM_E_NOMEM);
        ok = status == GM_OK && write_all(&c, length);
    }
    for (int i = 0; i < RUNS; i++)
        gm_summary_free(&summaries[i]);
    return ok;
}

TEST(every_allocation)
{
    struct way way = {.rules = NULL};
    size_t whole = 0, length = 0;
    start(&way);
    assert_true(go(&way, &whole));
    assert_true(whole > 1000);
    size_t n = 1;
    for (bool is_done = false; !is_done; n += unit_sampled()) {
        nomem_begin(n, false);
        bool ok = go(&way, &length);
        is_done = !nomem_end();
        assert_true(ok ? length == whole : !is_done); /* the classifier goes on without memory for its cache */
    }
    assert_int_equal(length, whole);
    assert_true(n > 100);
    for (int i = 0; i < RUNS; i++)
        gm_snapshot_free(&way.snapshots[i]);
    gm_category_rules_free(way.rules);
}
