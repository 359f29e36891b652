/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_allocations FILE: of the first device with a trace, as one JSON object, each allocation as [address, bytes,
 * born, let go, freed, role, what its stack says, path] (moments, -1 for never), where the path is the calls of modules
 * that it was made in, as "|caller:line>file function#number|...". Beside them the events' times, the phases as
 * [phase, first event], and the steps. For tests/oracle, and to look at by hand.
 */
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "analyze/timeline/modules/module_work.h"
#include "analyze/timeline/roles/role_work.h"
#include "analyze/timeline/trace_analyze.h"

#include <inttypes.h>
#include <stdio.h>

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

static void print_allocations(const struct gm_trace_pass *pass, const struct gm_calls *calls)
{
    const struct gm_history *h = &pass->history;
    printf("{\"allocations\":[");
    for (size_t a = 0; a < h->allocation_count; a++) {
        const struct gm_stack_id stack = {gm_stack_of(h, a)};
        printf("%s[%" PRIu64 ",%" PRIu64 ",%u,%" PRId32 ",%" PRId32 ",\"%s\",%u,\"", a == 0 ? "" : ",\n",
               gm_history_address(h, a), gm_requested(h, a), h->born[a], (int32_t)gm_let_go(h, a), (int32_t)h->freed[a],
               gm_role_name(pass->role[a]), (unsigned)gm_stack_ask(pass->role_stacks, stack));
        print_call(pass->snapshot, calls, calls->of[a]);
        printf("\"]");
    }
    printf("],\n\"times\":[");
    for (size_t i = 0; i < h->count; i++)
        printf("%s%" PRId64, i == 0 ? "" : ",", (int64_t)gm_history_time(h, i));
    printf("],\n");
}

static void print_steps(const struct gm_kept_device *device, const char *source)
{
    printf("\"phases\":[");
    for (size_t i = 0; device->phase != NULL && i < device->history.count; i++)
        if (i == 0 || gm_phase_of(device->phase, i) != gm_phase_of(device->phase, i - 1))
            printf("%s[\"%s\",%zu]", i == 0 ? "" : ",", gm_phase_name(gm_phase_of(device->phase, i)), i);
    printf("],\n\"source\":\"%s\",\"steps\":[", source == NULL ? "" : source);
    for (size_t i = 0; i < device->step_count; i++)
        printf("%s{\"first\":%u,\"last\":%u,\"is_partial\":%s}", i == 0 ? "" : ",", device->steps[i].first,
               device->steps[i].last, device->steps[i].is_partial ? "true" : "false");
    printf("]}\n");
}

static enum gm_status dump(const struct gm_snapshot *s, struct gm_report *report, const struct gm_kept_device *device,
                           const char *source, struct gm_error *err)
{
    struct gm_names names;
    GM_FREED_BY(gm_calls_free) struct gm_calls calls = {.of = NULL};
    struct gm_trace_pass pass = {.snapshot = s,
                                 .report = report,
                                 .names = &names,
                                 .history = device->history,
                                 .role = device->role,
                                 .role_stacks = gm_role_stacks_new(s)};
    const bool ok =
        pass.role_stacks != NULL && gm_names_init(&names, s, &report->arena) && gm_calls_find(&calls, &pass);
    if (ok) {
        print_allocations(&pass, &calls);
        print_steps(device, source);
    }
    gm_names_free(&names);
    gm_role_stacks_free(pass.role_stacks);
    return ok ? GM_OK : gm_no_memory(err);
}

int main(int argc, char **argv)
{
    struct gm_error err = {0};
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules = NULL;
    struct gm_report report = {.run_name = NULL};
    struct gm_kept kept = {.count = 0};
    if (argc != 2 || gm_snapshot_load(&snapshot, argv[1], NULL, &err) != GM_OK) {
        fprintf(stderr, "dump_allocations: %s\n", argc != 2 ? "usage: dump_allocations FILE" : err.message);
        return 2;
    }
    enum gm_status status = gm_category_rules_default(&rules, &err);
    const struct gm_timeline_options options = {.rules = rules};
    GM_THEN(status, gm_timeline_keep(&report, &kept, &snapshot, &options, &err));
    for (size_t d = 0; status == GM_OK && d < kept.count; d++)
        if (report.devices[d].trace.events > 0) {
            status = dump(&snapshot, &report, &kept.v[d], report.timelines[d].steps.source, &err);
            break;
        }
    if (status != GM_OK)
        fprintf(stderr, "dump_allocations: %s\n", err.message);
    gm_kept_free(&kept);
    gm_report_free(&report);
    gm_category_rules_free(rules);
    gm_snapshot_free(&snapshot);
    return gm_status_exit_code(status);
}
