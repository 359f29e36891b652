/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/timeline/traced.h"

#include "analyze/diagnose/diagnose.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"

#include <inttypes.h>

static const char rules_text[] = "tier only\n"
                                 "category Attention #112233\n"
                                 "  name attend\n"
                                 "category MLP #445566\n"
                                 "  name feed\n";

static void put_frames(struct gm_text *t, const char *name)
{
    if (name != NULL)
        gm_text_printf(t, ",\"frames\":[{\"name\":\"%s\",\"filename\":\"m.py\",\"line\":1}]", name);
}

static uint64_t put_event(struct traced *t, const char *action, const char *key, uint64_t value, uint64_t size,
                          const char *name)
{
    gm_text_printf(&t->events,
                   "%s{\"action\":\"%s\",\"%s\":%" PRIu64 ",\"size\":%" PRIu64 ",\"stream\":%" PRId64
                   ",\"time_us\":%" PRIu64,
                   t->event > 0 ? "," : "", action, key, value, size, t->stream, 1000 + t->time);
    put_frames(&t->events, name);
    gm_text_add_char(&t->events, '}');
    t->time += 10;
    return t->event++;
}

uint64_t gm_traced_event(struct traced *t, const char *action, uint64_t address, uint64_t size, const char *name)
{
    return put_event(t, action, "addr", address, size, name);
}

uint64_t gm_traced_oom(struct traced *t, uint64_t device_free, uint64_t size, const char *name)
{
    return put_event(t, "oom", "device_free", device_free, size, name);
}

void gm_traced_grow(struct traced *t, uint64_t address, uint64_t whole, uint64_t size, const char *name)
{
    gm_traced_event(t, "segment_alloc", address, whole, name);
    gm_traced_event(t, "alloc", address, size, name);
}

void gm_traced_free(struct traced *t, uint64_t address, uint64_t size)
{
    gm_traced_event(t, "free_requested", address, size, NULL);
    gm_traced_event(t, "free_completed", address, size, NULL);
}

void gm_traced_segment(struct traced *t, uint64_t address, uint64_t size, const char *type)
{
    if (t->segments.length > 0)
        gm_text_add(&t->segments, "]},");
    gm_text_printf(&t->segments,
                   "{\"device\":0,\"address\":%" PRIu64 ",\"total_size\":%" PRIu64 ",\"stream\":%" PRId64
                   ",\"segment_type\":\"%s\"%s,\"blocks\":[",
                   address, size, t->stream, type, t->more != NULL ? t->more : "");
    t->last_address = address;
}

void gm_traced_block(struct traced *t, uint64_t size, uint64_t requested, const char *name)
{
    const char *before = t->segments.data[t->segments.length - 1] == '[' ? "" : ",";
    gm_text_printf(&t->segments, "%s{\"address\":%" PRIu64 ",\"size\":%" PRIu64 ",\"state\":\"%s\"", before,
                   t->last_address, size, requested > 0 ? "active_allocated" : "inactive");
    if (requested > 0)
        gm_text_printf(&t->segments, ",\"requested_size\":%" PRIu64, requested);
    put_frames(&t->segments, name);
    gm_text_add_char(&t->segments, '}');
    t->last_address += size;
}

void gm_traced_whole(struct traced *t, uint64_t address, uint64_t size, uint64_t requested, const char *name)
{
    gm_traced_segment(t, address, size, "large");
    gm_traced_block(t, size, requested, name);
}

const struct gm_device_timeline *gm_traced_analyze_unfollowed(struct traced *t)
{
    struct gm_text text = {0};
    struct gm_error err = {0};
    struct gm_classifier *classifier;
    if (t->segments.length > 0)
        gm_text_add(&t->segments, "]}");
    gm_text_printf(&text, "{\"segments\":[%s],\"device_traces\":[[%s]]", t->segments.length > 0 ? t->segments.data : "",
                   t->events.length > 0 ? t->events.data : "");
    if (t->settings != NULL)
        gm_text_printf(&text, ",\"allocator_settings\":{%s},\"external_annotations\":[]", t->settings);
    gm_text_add_char(&text, '}');
    assert_false(text.failed);
    assert_int_equal(gm_snapshot_load_bytes(&t->snapshot, text.data, text.length, "test", NULL, &err), GM_OK);
    gm_text_free(&text);
    assert_int_equal(gm_category_rules_parse(&t->rules, rules_text, strlen(rules_text), "rules", &err), GM_OK);
    const struct gm_state_options state = {.top = 50, .device = -1, .rules = t->rules};
    assert_int_equal(gm_state_analyze(&t->report, &t->snapshot, &state, &err), GM_OK);
    assert_int_equal(gm_classifier_new(&classifier, t->rules, &t->snapshot, &err), GM_OK);
    const struct gm_timeline_options options = {.rules = t->rules, .classifier = classifier, .top = 50};
    assert_int_equal(gm_timeline_analyze(&t->report, &t->snapshot, &options, &err), GM_OK);
    assert_int_equal(gm_diagnose(&t->report, NULL, NULL, &err), GM_OK);
    gm_classifier_free(classifier);
    assert_int_equal(t->report.device_count, 1);
    return &t->report.timelines[0];
}

const struct gm_device_timeline *gm_traced_analyze(struct traced *t)
{
    const struct gm_device_timeline *out = gm_traced_analyze_unfollowed(t);
    assert_true(out->reconciliation.is_reconstructed);
    assert_int_equal(out->reconciliation.residual_active, 0);
    assert_int_equal(out->reconciliation.residual_reserved, 0);
    assert_int_equal(out->reconciliation.end_blocks_same, out->reconciliation.end_blocks);
    return out;
}

const struct gm_finding *gm_traced_finding(const struct traced *t, const char *id)
{
    for (size_t i = 0; i < t->report.diagnosis.finding_count; i++)
        if (strcmp(t->report.diagnosis.findings[i].id, id) == 0)
            return &t->report.diagnosis.findings[i];
    return NULL;
}

void gm_traced_end(struct traced *t)
{
    gm_report_free(&t->report);
    gm_category_rules_free(t->rules);
    gm_snapshot_free(&t->snapshot);
    gm_text_free(&t->segments);
    gm_text_free(&t->events);
}
