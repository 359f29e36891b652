/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests of what is told about a peak: a report made of a snapshot that is written as JSON in the test.
 */
#ifndef GM_TESTS_TIMELINE_SMALL_REPORT_H
#define GM_TESTS_TIMELINE_SMALL_REPORT_H

#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/unit.h"

/* The includer has included cmocka.h and what it needs. */

struct small_report {
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules;
    struct gm_classifier *classifier;
    struct gm_report report;
};

static inline void small_report_make(struct small_report *r, const char *json, const char *rules,
                                     struct gm_timeline_options options)
{
    struct gm_error err = {0};
    assert_int_equal(gm_snapshot_load_bytes(&r->snapshot, json, strlen(json), "test", NULL, &err), GM_OK);
    assert_int_equal(gm_category_rules_parse(&r->rules, rules, strlen(rules), "rules", &err), GM_OK);
    assert_int_equal(gm_classifier_new(&r->classifier, r->rules, &r->snapshot, &err), GM_OK);
    const struct gm_state_options state = {.top = 5, .device = -1, .rules = r->rules, .classifier = r->classifier};
    assert_int_equal(gm_state_analyze(&r->report, &r->snapshot, &state, &err), GM_OK);
    options.rules = r->rules;
    options.classifier = r->classifier;
    assert_int_equal(gm_timeline_analyze(&r->report, &r->snapshot, &options, &err), GM_OK);
}

static inline void small_report_free(struct small_report *r)
{
    gm_report_free(&r->report);
    gm_classifier_free(r->classifier);
    gm_category_rules_free(r->rules);
    gm_snapshot_free(&r->snapshot);
}

#endif
