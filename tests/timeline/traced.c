/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/timeline/traced.h"

#include "analyze/diagnose/diagnose.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"

#include <inttypes.h>

const char gm_traced_rules[] = "tier only\n"
                               "category Attention #112233\n"
                               "  name attend\n"
                               "category MLP #445566\n"
                               "  name feed\n";

struct traced traced;

static void put_frames(struct gm_text *t, const char *name)
{
    if (name != NULL)
        gm_text_printf(t, ",\"frames\":[{\"name\":\"%s\",\"filename\":\"m.py\",\"line\":1}]", name);
}

static uint64_t put_event(const char *action, const char *key, uint64_t value, uint64_t size, const char *name)
{
    gm_text_printf(&traced.events,
                   "%s{\"action\":\"%s\",\"%s\":%" PRIu64 ",\"size\":%" PRIu64 ",\"stream\":%" PRId64
                   ",\"time_us\":%" PRIu64,
                   traced.event > 0 ? "," : "", action, key, value, size, traced.stream, 1000 + traced.time);
    put_frames(&traced.events, name);
    gm_text_add_char(&traced.events, '}');
    traced.time += 10;
    return traced.event++;
}

uint64_t gm_traced_event(const char *action, uint64_t address, uint64_t size, const char *name)
{
    return put_event(action, "addr", address, size, name);
}

uint64_t gm_traced_oom(uint64_t device_free, uint64_t size, const char *name)
{
    return put_event("oom", "device_free", device_free, size, name);
}

void gm_traced_grow(uint64_t address, uint64_t whole, uint64_t size, const char *name)
{
    gm_traced_event("segment_alloc", address, whole, name);
    gm_traced_event("alloc", address, size, name);
}

void gm_traced_free(uint64_t address, uint64_t size)
{
    gm_traced_event("free_requested", address, size, NULL);
    gm_traced_event("free_completed", address, size, NULL);
}

void gm_traced_segment(uint64_t address, uint64_t size, const char *type)
{
    if (traced.segments.length > 0)
        gm_text_add(&traced.segments, "]},");
    gm_text_printf(&traced.segments,
                   "{\"device\":0,\"address\":%" PRIu64 ",\"total_size\":%" PRIu64 ",\"stream\":%" PRId64
                   ",\"segment_type\":\"%s\"%s,\"blocks\":[",
                   address, size, traced.stream, type, traced.more != NULL ? traced.more : "");
    traced.last_address = address;
}

void gm_traced_block(uint64_t size, uint64_t requested, const char *name)
{
    const char *before = traced.segments.data[traced.segments.length - 1] == '[' ? "" : ",";
    gm_text_printf(&traced.segments, "%s{\"address\":%" PRIu64 ",\"size\":%" PRIu64 ",\"state\":\"%s\"", before,
                   traced.last_address, size, requested > 0 ? "active_allocated" : "inactive");
    if (requested > 0)
        gm_text_printf(&traced.segments, ",\"requested_size\":%" PRIu64, requested);
    put_frames(&traced.segments, name);
    gm_text_add_char(&traced.segments, '}');
    traced.last_address += size;
}

void gm_traced_whole(uint64_t address, uint64_t size, uint64_t requested, const char *name)
{
    gm_traced_segment(address, size, "large");
    gm_traced_block(size, requested, name);
}

static void forget_loaded(void)
{
    gm_history_free(&traced.history);
    gm_report_free(&traced.report);
    gm_category_rules_free(traced.rules);
    gm_snapshot_free(&traced.snapshot);
    traced.history = (struct gm_history){0};
    traced.report = (struct gm_report){0};
    traced.rules = NULL;
    traced.snapshot = (struct gm_snapshot){0};
}

static void forget_written(void)
{
    gm_text_free(&traced.segments);
    gm_text_free(&traced.events);
    traced.settings = traced.more = NULL;
    traced.time = traced.event = 0;
    traced.stream = 0;
}

const struct gm_device_timeline *gm_traced_load(const char *json, const char *rules, struct gm_timeline_options options)
{
    struct gm_error err = {0};
    forget_loaded();
    assert_int_equal(gm_snapshot_load_bytes(&traced.snapshot, json, strlen(json), "test", NULL, &err), GM_OK);
    if (rules == NULL)
        assert_int_equal(gm_category_rules_default(&traced.rules, &err), GM_OK);
    else
        assert_int_equal(gm_category_rules_parse(&traced.rules, rules, strlen(rules), "rules", &err), GM_OK);
    struct gm_state_options state = {.top = options.top, .device = -1, .rules = traced.rules};
    assert_int_equal(gm_classifier_new(&state.classifier, traced.rules, &traced.snapshot, &err), GM_OK);
    assert_int_equal(gm_state_analyze(&traced.report, &traced.snapshot, &state, &err), GM_OK);
    options.rules = traced.rules;
    options.classifier = state.classifier;
    assert_int_equal(gm_timeline_analyze(&traced.report, &traced.snapshot, &options, &err), GM_OK);
    gm_classifier_free(state.classifier);
    return &traced.report.timelines[0];
}

const struct gm_device_timeline *gm_traced_analyze_unfollowed(void)
{
    GM_FREED struct gm_text text = {0};
    struct gm_error err = {0};
    if (traced.segments.length > 0)
        gm_text_add(&traced.segments, "]}");
    gm_text_printf(&text, "{\"segments\":[%s],\"device_traces\":[[%s]]",
                   traced.segments.length > 0 ? traced.segments.data : "",
                   traced.events.length > 0 ? traced.events.data : "");
    if (traced.settings != NULL)
        gm_text_printf(&text, ",\"allocator_settings\":{%s},\"external_annotations\":[]", traced.settings);
    gm_text_add_char(&text, '}');
    assert_false(text.failed);
    forget_written();
    gm_traced_load(text.data, gm_traced_rules, (struct gm_timeline_options){.top = 50});
    assert_int_equal(traced.report.device_count, 1);
    assert_int_equal(gm_diagnose(&traced.report, NULL, NULL, &err), GM_OK);
    return &traced.report.timelines[0];
}

const struct gm_device_timeline *gm_traced_analyze(void)
{
    const struct gm_device_timeline *out = gm_traced_analyze_unfollowed();
    assert_true(out->reconciliation.is_reconstructed);
    assert_int_equal(out->reconciliation.residual_active, 0);
    assert_int_equal(out->reconciliation.residual_reserved, 0);
    assert_int_equal(out->reconciliation.end_blocks_same, out->reconciliation.end_blocks);
    return out;
}

const struct gm_finding *gm_traced_finding(const char *id)
{
    for (size_t i = 0; i < traced.report.diagnosis.finding_count; i++)
        if (strcmp(traced.report.diagnosis.findings[i].id, id) == 0)
            return &traced.report.diagnosis.findings[i];
    return NULL;
}

struct gm_history *gm_traced_history(void)
{
    struct gm_error err = {0};
    gm_traced_analyze_unfollowed();
    assert_int_equal(gm_history_build(&traced.history, &traced.snapshot, 0, NULL, &err), GM_OK);
    return &traced.history;
}

static void end(void)
{
    forget_loaded();
    forget_written();
}

__attribute__((constructor)) static void end_each(void)
{
    unit_end_with(end);
}
