/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_fragmentation FILE: what analyze/timeline says about fragmentation, churn and out-of-memory events of every
 * device with a trace, one JSON object a line. For check_growth.py.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/trace_analyze.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void text(const char *name, const char *s)
{
    printf(",\"%s\":", name);
    if (s == NULL) {
        printf("null");
        return;
    }
    putchar('"');
    for (; *s != '\0'; s++)
        printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    putchar('"');
}

static void number(const char *name, uint64_t v)
{
    if (v == GM_REPORT_NONE)
        printf(",\"%s\":null", name);
    else
        printf(",\"%s\":%" PRIu64, name, v);
}

static void reasons(const uint64_t unusable[GM_UNUSABLE_COUNT])
{
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        number(gm_unusable_name((enum gm_unusable)i), unusable[i]);
}

static void dump_growths(const struct gm_fragmentation_history *f)
{
    printf(",\"growths\":[");
    for (size_t i = 0; i < f->growth_count; i++) {
        const struct gm_growth_row *g = &f->growths[i];
        printf("%s{\"event\":%" PRIu64, i > 0 ? "," : "", g->event);
        number("bytes", g->bytes);
        number("asked", g->asked);
        text("pool", g->pool);
        printf(",\"stream\":%" PRId64, g->stream);
        text("site", g->site);
        number("cached", g->cached);
        reasons(g->unusable);
        number("largest_hole", g->largest_hole);
        number("pending", g->pending);
        printf(",\"is_first\":%s,\"is_retry\":%s}", g->is_first ? "true" : "false", g->is_retry ? "true" : "false");
    }
    printf("]");
}

static void dump_stats(const char *name, const struct gm_site_stat *v, size_t n)
{
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        printf("%s{\"allocs\":%" PRIu64, i > 0 ? "," : "", v[i].allocs);
        text("site", v[i].site);
        text("category", v[i].category);
        number("bytes", v[i].bytes);
        number("temporary", v[i].temporary_allocs);
        number("waste", v[i].waste);
        number("median_life_us", v[i].median_life_us);
        printf("}");
    }
    printf("]");
}

static void dump_fragmentation(const struct gm_fragmentation_history *f)
{
    number("growth_total", f->growth_total);
    number("growth_bytes", f->growth_bytes);
    number("growths_avoidable", f->growths_avoidable);
    number("growth_avoidable_bytes", f->growth_avoidable_bytes);
    number("growths_examined", f->growths_examined);
    number("rounding_bytes", f->rounding_bytes);
    number("temporary_allocs", f->temporary_allocs);
    number("temporary_bytes", f->temporary_bytes);
    number("driver_allocs", f->driver_allocs);
    number("driver_frees", f->driver_frees);
    number("retries", f->retries);
    dump_growths(f);
    dump_stats("rounding", f->rounding, f->rounding_count);
    dump_stats("churn", f->churn, f->churn_count);
    printf(",\"samples\":[");
    for (size_t i = 0; i < f->sample_count; i++)
        printf("%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "", f->samples[i].event,
               f->samples[i].largest_free, f->samples[i].cached, f->samples[i].stranded);
    printf("],\"pinners\":[");
    for (size_t i = 0; i < f->pinner_count; i++) {
        const struct gm_pinner_row *p = &f->pinners[i];
        printf("%s{\"address\":%" PRIu64, i > 0 ? "," : "", p->address);
        number("bytes", p->bytes);
        number("pinned", p->pinned_bytes);
        number("event", p->event);
        number("age_events", p->age_events);
        number("age_us", p->age_us);
        text("site", p->site);
        printf("}");
    }
    printf("]");
}

static void dump_slices(const char *name, const struct gm_slice *v, size_t n)
{
    printf(",\"%s\":{", name);
    for (size_t i = 0; i < n; i++)
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", v[i].name, v[i].bytes);
    printf("}");
}

static void dump_oom(const struct gm_oom_row *o)
{
    static const char *const verdicts[] = {"unknown", "capacity", "fragmentation", "both"};
    printf("{\"event\":%" PRIu64, o->event);
    number("asked", o->asked);
    number("device_free", o->device_free);
    text("pool", o->pool);
    printf(",\"stream\":%" PRId64, o->stream);
    text("site", o->site);
    number("requested", o->levels.requested);
    number("allocated", o->levels.allocated);
    number("active", o->levels.active);
    number("reserved", o->levels.reserved);
    number("pending", o->pending);
    reasons(o->unusable);
    number("largest_hole", o->largest_hole);
    dump_slices("categories", o->categories, o->category_count);
    dump_slices("roles", o->roles, o->role_count);
    printf(",\"holes\":[");
    for (size_t i = 0; i < o->hole_count; i++) {
        printf("%s{\"bytes\":%" PRIu64, i > 0 ? "," : "", o->holes[i].bytes);
        number("pinned_by_bytes", o->holes[i].pinned_by_bytes);
        number("age_us", o->holes[i].age_us);
        text("pinned_by", o->holes[i].pinned_by);
        printf("}");
    }
    printf("],\"grew\":[");
    for (size_t i = 0; i < o->grew_count; i++) {
        printf("%s{\"bytes\":%" PRIu64 ",\"blocks\":%" PRIu64, i > 0 ? "," : "", o->grew[i].bytes, o->grew[i].blocks);
        text("site", o->grew[i].label);
        printf("}");
    }
    printf("]");
    text("grew_since", o->grew_since);
    text("verdict", verdicts[o->verdict]);
    text("detail", o->verdict_detail);
    printf("}");
}

static void dump(const struct gm_report *report)
{
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *t = &report->timelines[d];
        if (report->devices[d].trace.events == 0)
            continue;
        printf("{\"device\":%" PRId64 ",\"reconstructed\":%s,\"peak_active_event\":", report->devices[d].device,
               t->reconciliation.is_reconstructed ? "true" : "false");
        printf(t->peak_active.event == GM_REPORT_NONE ? "null" : "%" PRIu64, t->peak_active.event);
        dump_fragmentation(&t->fragmentation);
        printf(",\"ooms\":[");
        for (size_t i = 0; i < t->oom_count; i++) {
            printf(i > 0 ? "," : "");
            dump_oom(&t->ooms[i]);
        }
        printf("],\"findings\":[");
        for (size_t i = 0; i < report->diagnosis.finding_count; i++) {
            printf("%s{\"severity\":\"%s\"", i > 0 ? "," : "",
                   gm_severity_name(report->diagnosis.findings[i].severity));
            text("id", report->diagnosis.findings[i].id);
            text("title", report->diagnosis.findings[i].title);
            text("detail", report->diagnosis.findings[i].detail);
            number("bytes", report->diagnosis.findings[i].bytes);
            printf("}");
        }
        printf("]}\n");
    }
}

int main(int argc, char **argv)
{
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules;
    struct gm_classifier *classifier;
    struct gm_report report;
    struct gm_error err = {0};
    if (argc < 2 || gm_snapshot_load(&snapshot, argv[1], NULL, &err) != GM_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: dump_fragmentation FILE [ROWS]" : err.message);
        return 2;
    }
    const size_t top = argc > 2 ? strtoul(argv[2], NULL, 10) : 50;
    if (gm_category_rules_default(&rules, &err) != GM_OK)
        return 1;
    const struct gm_state_options state = {.top = top, .device = -1, .rules = rules};
    if (gm_state_analyze(&report, &snapshot, &state, &err) != GM_OK ||
        gm_classifier_new(&classifier, rules, &snapshot, &err) != GM_OK)
        return 1;
    const struct gm_timeline_options options = {.rules = rules, .classifier = classifier, .top = top};
    if (gm_timeline_analyze(&report, &snapshot, &options, &err) != GM_OK ||
        gm_diagnose(&report, NULL, NULL, &err) != GM_OK)
        return 1;
    dump(&report);
    gm_report_free(&report);
    gm_classifier_free(classifier);
    gm_category_rules_free(rules);
    gm_snapshot_free(&snapshot);
    return 0;
}
