/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnoses a snapshot with all rules asked in order and with rules asked ahead by another thread, some times, and only
 * where they may find something: both must find the same. usage: diagnose_both FILE; prints how much was found, exit
 * code 1: it differs.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/formats/load.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/state/categories.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/trials/settings_advice.h"

#include <stdio.h>
#include <string.h>

enum { TIMES = 8 };

/* As programs do it: ahead means beside the replays, whose settings some rules tell. */
static enum gm_status diagnose(struct gm_report *report, const struct gm_snapshot *snapshot, struct gm_kept *kept,
                               enum gm_asking asking, struct gm_error *err)
{
    struct gm_diagnosing *d = NULL;
    bool needs_replay;
    enum gm_status status = gm_advice_begin(report, false, GM_ADVICE_EVENTS, &needs_replay, err);
    report->diagnosis = (struct gm_diagnosis){0};
    GM_THEN(status, gm_diagnose_begin(&d, report, snapshot, kept, asking, err));
    if (needs_replay)
        GM_THEN(status, gm_advice_replay(report, kept, NULL, 1, err));
    GM_THEN(status, gm_diagnose_end(d, err));
    gm_diagnosing_free(d);
    return status;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool are_same(const struct gm_diagnosis *a, const struct gm_diagnosis *b)
{
    bool same = a->finding_count == b->finding_count;
    for (size_t i = 0; same && i < a->finding_count; i++) {
        const struct gm_finding *f = &a->findings[i], *g = &b->findings[i];
        same = strcmp(f->id, g->id) == 0 && strcmp(f->detail, g->detail) == 0 && f->bytes == g->bytes &&
               f->rank == g->rank && is_same_text(f->site, g->site);
    }
    return same;
}

int main(int argc, char **argv)
{
    struct gm_snapshot snapshot;
    struct gm_report report = {0};
    struct gm_kept kept = {0};
    struct gm_category_rules *rules = NULL;
    struct gm_error err;
    const struct gm_load_options load = {0};
    if (argc != 2 || gm_category_rules_default(&rules, &err) != GM_OK ||
        gm_snapshot_load(&snapshot, argv[1], &load, &err) != GM_OK)
        return 3;
    const struct gm_timeline_options options = {.rules = rules};
    int code = gm_timeline_keep(&report, &kept, &snapshot, &options, &err) == GM_OK &&
                       diagnose(&report, &snapshot, &kept, GM_ASK_ALL, &err) == GM_OK
                   ? 0
                   : 5;
    const struct gm_diagnosis plain = report.diagnosis;
    size_t mistakes = 0;
    for (size_t i = 0; i < plain.finding_count; i++)
        mistakes += plain.findings[i].rank == GM_RANK_MISTAKE;
    for (int i = 0; i < TIMES && code == 0; i++)
        code = diagnose(&report, &snapshot, &kept, GM_ASK_AHEAD, &err) != GM_OK ? 5
               : are_same(&plain, &report.diagnosis)                            ? 0
                                                                                : 1;
    printf("%zu %zu\n", mistakes, plain.finding_count);
    gm_kept_free(&kept);
    gm_report_free(&report);
    gm_snapshot_free(&snapshot);
    gm_category_rules_free(rules);
    return code;
}
