/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces that contradict themselves and their segments: bytes become segments, blocks and events on few addresses, so
 * that overlaps, double frees and segments under live blocks are the rule. What comes out must add up.
 */
#include "analyze/base/text.h"
#include "analyze/document/documents.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static unsigned long long some_address(struct gm_fuzz_bytes *b)
{
    unsigned n = gm_fuzz_next(b);
    return n == 255 ? UINT64_MAX : 0x100000ULL + (n & 15) * 512 + (n >> 4) * (2ULL << 20);
}

static unsigned long long some_size(struct gm_fuzz_bytes *b)
{
    static const unsigned long long sizes[] = {0,          1,          512,        513,       1024,     4096,
                                               1 << 20,    2 << 20,    3 << 20,    10 << 20,  20 << 20, (20 << 20) + 1,
                                               1ULL << 40, 1ULL << 62, 1ULL << 63, UINT64_MAX};
    return sizes[gm_fuzz_next(b) & 15];
}

static void write_segments(struct gm_text *text, struct gm_fuzz_bytes *b)
{
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free", "active_allocated"};
    unsigned segments = gm_fuzz_next(b) & 7;
    for (unsigned i = 0; i < segments; i++) {
        unsigned kind = gm_fuzz_next(b), blocks = gm_fuzz_next(b) & 7;
        gm_text_printf(text,
                       "%s{\"device\":%u,\"address\":%llu,\"total_size\":%llu,\"stream\":%u,\"is_expandable\":%s,"
                       "\"segment_type\":\"%s\",\"segment_pool_id\":[%u,0],\"blocks\":[",
                       i > 0 ? "," : "", kind & 1, some_address(b), some_size(b), kind >> 1 & 1,
                       kind & 4 ? "true" : "false", kind & 8 ? "small" : "large", kind >> 4 & 1);
        for (unsigned k = 0; k < blocks; k++)
            gm_text_printf(text, "%s{\"size\":%llu,\"requested_size\":%llu,\"state\":\"%s\"}", k > 0 ? "," : "",
                           some_size(b), some_size(b), states[gm_fuzz_next(b) & 3]);
        gm_text_printf(text, "]}");
    }
}

static void write_events(struct gm_text *text, struct gm_fuzz_bytes *b, unsigned count)
{
    static const char *const frames[] = {"forward", "AccumulateGrad", "torch::autograd::MmBackward0::apply", "step"};
    for (unsigned i = 0; i < count && b->size > 0; i++) {
        unsigned action = gm_fuzz_next(b), how = gm_fuzz_next(b);
        gm_text_printf(text, "%s{\"action\":\"%s\",\"%s\":%llu,\"size\":%llu,\"stream\":%u", i > 0 ? "," : "",
                       gm_action_name((enum gm_action)(action % GM_ACTION_COUNT)),
                       action % GM_ACTION_COUNT == GM_ACTION_OOM ? "device_free" : "addr", some_address(b),
                       some_size(b), how & 1);
        if (how & 2)
            gm_text_printf(text, ",\"time_us\":%llu",
                           1700000000000000ULL + gm_fuzz_next(b) * (how & 4 ? 1ULL : 1000000ULL));
        if (how & 8)
            gm_text_printf(text, ",\"frames\":[{\"name\":\"%s\",\"filename\":\"torch/optim/adam.py\",\"line\":%u}]",
                           frames[how >> 4 & 3], how >> 6);
        gm_text_printf(text, "}");
    }
}

static void write_annotations(struct gm_text *text, struct gm_fuzz_bytes *b)
{
    static const char *const names[] = {"ProfilerStep#1", "ProfilerStep#2", "Optimizer.step#Adam.step", "forward"};
    unsigned count = gm_fuzz_next(b) & 15;
    for (unsigned i = 0; i < count; i++) {
        unsigned what = gm_fuzz_next(b);
        gm_text_printf(text, "%s{\"name\":\"%s\",\"stage\":\"%s\",\"device\":%u,\"time_us\":%llu}", i > 0 ? "," : "",
                       names[what & 3], what & 4 ? "START" : "END", what >> 3 & 1,
                       1700000000000000ULL + gm_fuzz_next(b) * (what & 16 ? 1ULL : 1000000ULL));
    }
}

static void check(const struct gm_report *report)
{
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_peak *peak = &report->peaks[d];
        uint64_t sum = 0;
        for (size_t i = 0; i < peak->category_count && sum < UINT64_MAX / 2; i++)
            sum += peak->categories[i].bytes;
        HOLDS(sum == peak->requested || sum >= UINT64_MAX / 2 || peak->requested >= UINT64_MAX / 2);
        const struct gm_device_timeline *t = &report->timelines[d];
        HOLDS(t->peak_active.levels.active >= t->reconciliation.at_end.active || report->devices[d].trace.events == 0);
        HOLDS(t->reconciliation.end_blocks_same <= t->reconciliation.end_blocks);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gm_category_rules *rules;
    struct gm_fuzz_bytes b = {data, size};
    GM_FREED struct gm_text text = {0}, words = {0};
    struct gm_error err = {0};
    if (rules == NULL)
        HOLDS(gm_category_rules_default(&rules, &err) == GM_OK);
    gm_text_printf(&text, "{\"segments\":[");
    write_segments(&text, &b);
    gm_text_printf(&text, "],\"external_annotations\":[");
    write_annotations(&text, &b);
    gm_text_printf(&text, "],\"device_traces\":[[");
    write_events(&text, &b, gm_fuzz_next(&b));
    gm_text_printf(&text, "],[");
    write_events(&text, &b, 4096);
    gm_text_printf(&text, "]]}");
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot snapshot = {0};
    GM_FREED_BY(gm_report_free) struct gm_report report = {0};
    struct gm_classifier *classifier = NULL;
    if (!text.failed && gm_snapshot_load_bytes(&snapshot, text.data, text.length, "fuzz", NULL, &err) == GM_OK) {
        HOLDS(gm_classifier_new(&classifier, rules, &snapshot, &err) == GM_OK);
        const struct gm_state_options state = {.top = 5, .device = -1, .rules = rules, .classifier = classifier};
        const struct gm_timeline_options timeline = {
            .rules = rules, .classifier = classifier, .top = 5, .group = GM_GROUP_FUNCTION};
        HOLDS(gm_state_analyze(&report, &snapshot, &state, &err) == GM_OK);
        HOLDS(gm_timeline_analyze(&report, &snapshot, &timeline, &err) == GM_OK);
        check(&report);
        report.run_name = report.timestamp = "fuzz";
        gm_analysis_document(&words, GM_TXT, &report, NULL);
        gm_analysis_document(&words, GM_JSON, &report, NULL);
        gm_classifier_free(classifier);
    }
    return 0;
}
