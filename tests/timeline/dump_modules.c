/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_modules FILE: each allocation of the first device with the calls of modules that it was made in, as one JSON
 * object: [address, bytes, born, freed, role, path], the path as "|caller:line>file function#number|...". For
 * tests/oracle/module_truth.py, and to look at by hand.
 */
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/modules/module_work.h"
#include "analyze/timeline/trace_analyze.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_text(const struct gm_snapshot *s, struct gm_string_id id)
{
    size_t n;
    const char *text = gm_string(s, id, &n);
    for (size_t i = 0; i < n; i++)
        putchar(text[i] == '"' || text[i] == '\\' || text[i] == '|' || (unsigned char)text[i] < ' ' ? '?' : text[i]);
}

static void print_call(const struct gm_snapshot *s, const struct gm_calls *calls, uint32_t call)
{
    const struct gm_module_call *c = &calls->calls.v[call];
    const struct gm_call_node *node = &calls->nodes.v[c->node];
    if (call == 0)
        return;
    print_call(s, calls, c->parent);
    putchar('|');
    print_text(s, s->frames.filename[node->caller]);
    printf(":%" PRIu64 ">", s->frames.line[node->caller]);
    print_text(s, s->frames.filename[node->callee]);
    putchar(' ');
    print_text(s, s->frames.name[node->callee]);
    printf("#%u", c->number);
}

static int print(const struct gm_snapshot *s, struct gm_report *report, const struct gm_kept_device *device)
{
    struct gm_names names;
    struct gm_calls calls = {.of = NULL};
    struct gm_trace_pass pass = {.snapshot = s, .report = report, .history = device->history};
    pass.names = &names;
    const bool ok = gm_names_init(&names, s, &report->arena) && gm_calls_find(&calls, &pass);
    const struct gm_history *h = &pass.history;
    printf("{\"allocations\":[");
    for (size_t a = 0; ok && a < h->allocation_count; a++) {
        printf("%s[%" PRIu64 ",%" PRIu64 ",%u,%" PRId32 ",\"%s\",\"", a == 0 ? "" : ",\n", gm_history_address(h, a),
               gm_requested(h, a), h->born[a], (int32_t)h->freed[a], gm_role_name(device->role[a]));
        print_call(s, &calls, calls.of[a]);
        printf("\"]");
    }
    printf("],\n\"times\":[");
    for (size_t i = 0; i < h->count; i++)
        printf("%s%" PRIu64, i == 0 ? "" : ",", gm_history_time(h, i));
    printf("]}\n");
    gm_calls_free(&calls);
    gm_names_free(&names);
    return ok ? 0 : 5;
}

int main(int argc, char **argv)
{
    static const char no_rules[] = "tier only\ncategory Nothing\n  name ?\n";
    struct gm_error err = {0};
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules = NULL;
    struct gm_classifier *classifier = NULL;
    struct gm_report report = {.run_name = NULL};
    struct gm_kept kept = {.count = 0};
    enum gm_status status = argc == 2 ? gm_snapshot_load(&snapshot, argv[1], NULL, &err) : GM_E_USAGE;
    if (status != GM_OK) {
        fprintf(stderr, "dump_modules: %s\n", err.message);
        return 2;
    }
    status = gm_category_rules_parse(&rules, no_rules, strlen(no_rules), "rules", &err);
    if (status == GM_OK)
        status = gm_classifier_new(&classifier, rules, &snapshot, &err);
    const struct gm_state_options state = {.top = 5, .device = -1, .rules = rules, .classifier = classifier};
    const struct gm_timeline_options options = {.rules = rules, .classifier = classifier, .top = 5, .keep = &kept};
    if (status == GM_OK)
        status = gm_state_analyze(&report, &snapshot, &state, &err);
    if (status == GM_OK)
        status = gm_timeline_analyze(&report, &snapshot, &options, &err);
    int code = status == GM_OK && kept.count > 0 ? print(&snapshot, &report, &kept.v[0]) : 3;
    if (status != GM_OK)
        fprintf(stderr, "dump_modules: %s\n", err.message);
    gm_kept_free(&kept);
    gm_report_free(&report);
    gm_classifier_free(classifier);
    gm_category_rules_free(rules);
    gm_snapshot_free(&snapshot);
    return code;
}
