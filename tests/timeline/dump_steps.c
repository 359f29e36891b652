/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_steps FILE [from|to event|time|step N]...: what is found about steps, as one JSON object per device; with
 * "roles" in place of places also each allocation with its role and the number of the rule that gave it. For
 * check_steps.py and check_truth.py, and to look at by hand.
 */
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/state/state.h"
#include "analyze/timeline/history/history.h"
#include "analyze/timeline/roles/role_work.h"
#include "analyze/timeline/trace_analyze.h"
#include "analyze/timeline/trace_pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_number(const char *key, uint64_t v)
{
    if (v == GM_REPORT_NONE)
        printf("\"%s\":null,", key);
    else
        printf("\"%s\":%" PRIu64 ",", key, v);
}

static void print_string(const char *key, const char *s)
{
    if (s == NULL) {
        printf("\"%s\":null,", key);
        return;
    }
    printf("\"%s\":\"", key);
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            putchar('\\');
        putchar(*s);
    }
    printf("\",");
}

static void print_rows(const struct gm_steps *steps)
{
    printf("\"rows\":[");
    for (size_t i = 0; i < steps->row_count; i++) {
        const struct gm_step_row *r = &steps->rows[i];
        printf("%s{", i == 0 ? "" : ",\n ");
        print_string("label", r->label);
        print_number("number", r->number);
        print_number("first", r->first_event);
        print_number("last", r->last_event);
        print_number("from_us", r->from_us);
        print_number("to_us", r->to_us);
        print_number("peak", r->peak.requested);
        print_number("peak_event", r->peak_event);
        print_number("end", r->end.requested);
        print_number("allocs", r->allocs);
        print_number("alloc_bytes", r->alloc_bytes);
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            print_number(gm_phase_name((enum gm_phase)p), r->phase_peak[p]);
        printf("\"growth\":%" PRId64 ",\"is_partial\":%s}", r->growth, r->is_partial ? "true" : "false");
    }
    printf("],\n");
}

static void print_bands(const struct gm_steps *steps)
{
    printf("\"bands\":[");
    for (size_t i = 0; i < steps->band_count; i++) {
        const struct gm_band *b = &steps->bands[i];
        printf("%s{", i == 0 ? "" : ",\n ");
        print_string("name", b->name);
        print_string("phase", gm_phase_name(b->phase));
        print_number("first", b->first_event);
        print_number("last", b->last_event);
        printf("\"depth\":%u,\"is_step\":%s}", b->depth, b->is_step ? "true" : "false");
    }
    printf("],\n");
}

/* Runs of one phase: [phase, first event]. */
static void print_phases(const struct gm_trace_pass *pass)
{
    printf("\"phases\":[");
    for (size_t i = 0; pass->phase != NULL && i < pass->history.count; i++)
        if (i == 0 || pass->phase[i] != pass->phase[i - 1])
            printf("%s[\"%s\",%zu]", i == 0 ? "" : ",", gm_phase_name(pass->phase[i]), i);
    printf("],\n");
}

/* [[address, bytes, born, let go, freed, role, rule, what the stack says], ...]: moments, -1 for never. */
static void print_roles(const struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    printf("\"allocations\":[");
    for (size_t a = 0; pass->role != NULL && a < h->allocation_count; a++)
        printf("%s[%" PRIu64 ",%" PRIu64 ",%u,%" PRId32 ",%" PRId32 ",\"%s\",%u,%u]", a == 0 ? "" : ",\n",
               gm_history_address(h, a), gm_requested(h, a), h->born[a], (int32_t)h->let_go[a], (int32_t)h->freed[a],
               gm_role_name(pass->role[a]), pass->reason[a],
               (unsigned)gm_stack_ask(pass->role_stacks, (struct gm_stack_id){gm_stack_of(h, a)}));
    printf("],\n\"events\":%zu,\"times\":[", h->count);
    for (size_t i = 0; pass->role != NULL && i < h->count; i++)
        printf("%s%" PRId64, i == 0 ? "" : ",", (int64_t)gm_history_time(h, i));
    printf("],\n");
}

static void print_device(const struct gm_trace_pass *pass, double ms)
{
    const struct gm_steps *steps = &pass->out->steps;
    printf("{\"device\":%" PRId64 ",\"from\":%u,\"to\":%u,", pass->history.device, pass->from, pass->to);
    if (getenv("GM_DUMP_TIME") != NULL)
        printf("\"ms\":%.2f,", ms);
    print_string("source", steps->source);
    print_string("pattern", gm_run_pattern_name(steps->pattern));
    print_string("detail", steps->pattern_detail);
    print_number("capacity", steps->capacity);
    print_number("steps_to_oom", steps->steps_to_oom);
    printf(
        "\"period_events\":%.3f,\"certainty\":%d,\"slope\":%.3f,\"covered\":%.4f,\"warm_up\":%zu,\"row_total\":%zu,\n",
        steps->period_events, steps->certainty, steps->slope, steps->covered, steps->warm_up, steps->row_total);
    printf("\"survivors\":[");
    for (size_t i = 0; i < steps->survivor_count; i++) {
        printf("%s{", i == 0 ? "" : ",");
        print_string("label", steps->survivors[i].label);
        print_number("bytes", steps->survivors[i].bytes);
        printf("\"blocks\":%" PRIu64 "}", steps->survivors[i].blocks);
    }
    printf("],\n");
    print_bands(steps);
    print_phases(pass);
    print_roles(pass);
    print_rows(steps);
    printf("\"end\":true}\n");
}

static struct gm_place place(const char *kind, const char *value)
{
    return (struct gm_place){strcmp(kind, "event") == 0  ? GM_PLACE_EVENT
                             : strcmp(kind, "time") == 0 ? GM_PLACE_TIME
                                                         : GM_PLACE_STEP,
                             strtoull(value, NULL, 10)};
}

static enum gm_status dump(const struct gm_snapshot *snapshot, const struct gm_timeline_options *options,
                           struct gm_report *report, struct gm_names *names, struct gm_role_stacks *roles,
                           struct gm_error *err)
{
    for (size_t d = 0; d < report->device_count; d++) {
        struct gm_device_timeline out = {0};
        struct gm_trace_pass pass = {.snapshot = snapshot,
                                     .options = options,
                                     .report = report,
                                     .names = names,
                                     .index = d,
                                     .out = &out,
                                     .role_stacks = roles};
        if (report->devices[d].trace.events == 0)
            continue;
        enum gm_status status = gm_history_build(&pass.history, snapshot, (size_t)report->devices[d].device, NULL, err);
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (status == GM_OK && !(gm_trace_find_steps(&pass) && gm_trace_steps(&pass)))
            status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (status == GM_OK && roles != NULL && !gm_trace_roles(&pass))
            status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
        double ms = (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
        if (status == GM_OK && options->from.kind + options->to.kind != GM_PLACE_NONE)
            status = gm_trace_window(&pass, err);
        else
            pass.to = (uint32_t)pass.history.count;
        if (status == GM_OK)
            print_device(&pass, ms);
        gm_trace_forget_steps(&pass);
        free(pass.phase);
        free(pass.ranges);
        free(pass.range_changes);
        free(pass.role);
        free(pass.reason);
        gm_history_free(&pass.history);
        if (status != GM_OK)
            return status;
    }
    return GM_OK;
}

int main(int argc, char **argv)
{
    struct gm_snapshot snapshot;
    struct gm_report report = {0};
    struct gm_names names = {0};
    struct gm_category_rules *rules = NULL;
    struct gm_classifier *classifier = NULL;
    struct gm_error err = {0};
    if (argc < 2 || gm_snapshot_load(&snapshot, argv[1], NULL, &err) != GM_OK) {
        fprintf(stderr, "dump_steps: %s\n", argc < 2 ? "no file" : err.message);
        return 3;
    }
    struct gm_timeline_options options = {.top = 20};
    for (int i = 2; i + 2 < argc; i += 3)
        *(strcmp(argv[i], "from") == 0 ? &options.from : &options.to) = place(argv[i + 1], argv[i + 2]);
    struct gm_role_stacks *roles = argc == 3 && strcmp(argv[2], "roles") == 0 ? gm_role_stacks_new(&snapshot) : NULL;
    enum gm_status status = gm_category_rules_default(&rules, &err);
    const struct gm_state_options state = {.top = 5, .device = -1, .rules = rules};
    if (status == GM_OK)
        status = gm_state_analyze(&report, &snapshot, &state, &err);
    if (status == GM_OK)
        status = gm_classifier_new(&classifier, rules, &snapshot, &err);
    options.rules = rules;
    options.classifier = classifier;
    if (status == GM_OK && !gm_names_init(&names, &snapshot, &report.arena))
        status = gm_fail(&err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    if (status == GM_OK)
        status = dump(&snapshot, &options, &report, &names, roles, &err);
    gm_role_stacks_free(roles);
    if (status != GM_OK)
        fprintf(stderr, "dump_steps: %s\n", err.message);
    gm_names_free(&names);
    gm_classifier_free(classifier);
    gm_report_free(&report);
    gm_category_rules_free(rules);
    gm_snapshot_free(&snapshot);
    return gm_status_exit_code(status);
}
