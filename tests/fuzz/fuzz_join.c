/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of torch.profiler beside a snapshot: bytes become calls of the allocator on few addresses, told by both
 * files, by one of them or by each in another way, and operators, modules, launches and kernels around them. What is
 * joined must add up.
 */
#include "analyze/base/text.h"
#include "analyze/document/documents.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdlib.h>

struct files {
    struct gm_text events[2], trace;
    uint64_t us;
    unsigned calls;
};

static void write_call(struct files *f, struct gm_fuzz_bytes *b)
{
    static const uint64_t sizes[] = {512, 300, 4096, 1, UINT64_MAX, 1 << 30, 0, UINT64_C(1) << 63};
    const unsigned how = gm_fuzz_next(b), where = gm_fuzz_next(b), late = gm_fuzz_next(b);
    const uint64_t address = 0x10000 + (where & 31) * 512, size = sizes[where >> 5];
    const unsigned device = how >> 1 & 1;
    const bool is_alloc = (how & 1) != 0;
    f->us += late >> 4;
    if ((how & 8) == 0)
        gm_text_printf(&f->events[device],
                       "%s{\"action\":\"%s\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64
                       ",\"stream\":0,\"time_us\":%" PRIu64 "}",
                       f->events[device].length > 0 ? "," : "",
                       is_alloc         ? "alloc"
                       : (how & 4) != 0 ? "free_completed"
                                        : "free_requested",
                       address, size, f->us);
    if ((how & 16) != 0)
        return;
    const uint64_t block = gm_min((size + 511) / 512 * 512, INT64_MAX);
    gm_text_printf(&f->trace,
                   "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64
                   ".%u,\"args\":{\"Bytes\":%s%" PRIu64 ",\"Addr\":%" PRIu64 ",\"Device Id\":%u,\"Device Type\":1}},",
                   how >> 7, f->us + (how >> 5 & 1) * 37, late & 15, is_alloc ? "" : "-", block, address,
                   device + (how >> 6 & (how >> 5) & 1));
}

static void write_span(struct files *f, struct gm_fuzz_bytes *b)
{
    static const char *const names[] = {"aten::mm",     "aten::empty",         "aten::cat",      "AddmmBackward0",
                                        "aten::linear", "nn.Module: Linear_0", "ProfilerStep#1", "a.py(1): f"};
    static const char *const kinds[] = {"cpu_op",       "python_function", "user_annotation",
                                        "cuda_runtime", "kernel",          "gpu_memcpy"};
    static const char *const shapes[] = {"[[2, 3], [3, 4]]", "[[[128], [4, 4]], []]", "[[], [2]]",
                                         "[[99999999999999999999, 2]]"};
    const unsigned what = gm_fuzz_next(b), length = gm_fuzz_next(b), numbers = gm_fuzz_next(b);
    gm_text_printf(&f->trace,
                   "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64
                   ",\"dur\":%u,\"args\":{\"correlation\":%u,\"Sequence number\":%d,\"Fwd thread id\":%u,"
                   "\"Input Dims\":%s,\"Input type\":[\"float\",\"TensorList\"]}},",
                   kinds[what % 6], names[what >> 5], what % 6 >= 4 ? 0 : 1, what >> 7, f->us - (length & 7),
                   length >> 2, numbers & 7, (int)(numbers >> 3 & 7) - 1, numbers >> 7,
                   shapes[(numbers >> 6 & 1) + (what >> 4 & 1) * 2]);
}

static void check_side(const struct gm_join_side *s)
{
    HOLDS(s->all.count == s->matched.count + s->outside.count + s->elsewhere.count + s->unknown.count);
}

static void check_spans(const struct gm_join_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        HOLDS(spans[i].busy_ns >= 0 && spans[i].idle_ns >= 0 &&
              spans[i].span_ns == spans[i].busy_ns + spans[i].idle_ns);
}

static void check(const struct gm_report *report)
{
    const struct gm_join_report *j = report->join;
    HOLDS(j != NULL && (j->reason == NULL) == (j->blocks != NULL));
    if (j->reason != NULL)
        return;
    HOLDS(j->agreed <= j->compared && j->trace.matched.count == j->snapshot.matched.count);
    check_side(&j->trace);
    check_side(&j->snapshot);
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_join_device *of = report->timelines[d].join;
        if (of == NULL)
            continue;
        const uint64_t told =
            gm_known_add(gm_known_add(of->matched.requested, of->before.requested), of->unknown.requested);
        HOLDS(told == of->requested || told >= UINT64_MAX / 2 || of->requested >= UINT64_MAX / 2);
        check_spans(of->steps, of->step_count);
        check_spans(of->phases, of->phase_count);
    }
}

static void run(const struct gm_snapshot *snapshot, const struct gm_snapshot *beside)
{
    static struct gm_category_rules *rules;
    GM_FREED_BY(gm_report_free) struct gm_report report = {0};
    GM_FREED struct gm_text words = {0};
    struct gm_classifier *classifier = NULL;
    struct gm_error err = {0};
    if (rules == NULL)
        HOLDS(gm_category_rules_default(&rules, &err) == GM_OK);
    HOLDS(gm_classifier_new(&classifier, rules, snapshot, &err) == GM_OK);
    const struct gm_state_options state = {.top = 1000, .device = -1, .rules = rules, .classifier = classifier};
    const struct gm_timeline_options timeline = {
        .rules = rules, .classifier = classifier, .top = 1000, .beside = beside};
    HOLDS(gm_state_analyze(&report, snapshot, &state, &err) == GM_OK);
    HOLDS(gm_timeline_analyze(&report, snapshot, &timeline, &err) == GM_OK);
    check(&report);
    report.run_name = report.timestamp = "fuzz";
    gm_analysis_document(&words, GM_TXT, &report, NULL);
    gm_analysis_document(&words, GM_JSON, &report, NULL);
    gm_classifier_free(classifier);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gm_fuzz_bytes b = {data, size};
    struct files f = {.us = UINT64_C(1700000000000000)};
    GM_FREED struct gm_text text = {0};
    struct gm_snapshot snapshot = {0}, beside = {0};
    const unsigned clock = gm_fuzz_next(&b);
    gm_text_printf(&f.trace, "{\"baseTimeNanoseconds\":%s,\"traceEvents\":[",
                   clock & 1   ? "-3600000000000"
                   : clock & 2 ? "9223372036854775807"
                               : "0");
    while (b.size > 0 && f.calls++ < 4096)
        (gm_fuzz_next(&b) & 3) == 0 ? write_span(&f, &b) : write_call(&f, &b);
    gm_text_printf(&f.trace, "0]}");
    gm_text_printf(&text, "{\"segments\":[],\"device_traces\":[[%s],[%s]]}",
                   f.events[0].length > 0 ? f.events[0].data : "", f.events[1].length > 0 ? f.events[1].data : "");
    if (!text.failed && !f.trace.failed &&
        gm_snapshot_load_bytes(&snapshot, text.data, text.length, "fuzz", NULL, NULL) == GM_OK &&
        gm_snapshot_load_bytes(&beside, f.trace.data, f.trace.length, "trace", NULL, NULL) == GM_OK &&
        beside.profile != NULL)
        run(&snapshot, &beside);
    gm_snapshot_free(&snapshot);
    gm_snapshot_free(&beside);
    gm_text_free(&f.events[0]);
    gm_text_free(&f.events[1]);
    gm_text_free(&f.trace);
    return 0;
}
