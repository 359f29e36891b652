/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the report as CSV: modules.csv has a row for each node of the tree of modules' calls (docs/modules.md),
 * parents before what is below them.
 */
#include "analyze/export/csv.h"
#include "analyze/export/formats.h"

#include <inttypes.h>
#include <string.h>

/* Quoted where it must be, as in RFC 4180. */
static void add_name(struct gm_text *out, const char *name)
{
    const char *s = name == NULL ? "" : name;
    const bool is_quoted = strpbrk(s, ",\"\r\n") != NULL;
    gm_text_add(out, is_quoted ? ",\"" : ",");
    for (; *s != '\0'; s++)
        gm_text_add(out, *s == '"' ? "\"\"" : (char[]){*s, '\0'});
    gm_text_add(out, is_quoted ? "\"" : "");
}

static void add_node(struct gm_text *out, int64_t device, const struct gm_modules *m, uint32_t i)
{
    const struct gm_module_node *n = &m->nodes[i];
    const uint64_t numbers[] = {
        n->calls,       n->bytes,         n->own,        n->blocks,          n->least,           n->most,
        n->use.weights, n->use.gradients, n->use.states, n->use.activations, n->use.temporaries, n->use.others};
    gm_text_printf(out, "%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32, device, i, n->parent, n->depth);
    add_name(out, n->caller);
    gm_text_add_csv_number(out, n->caller == NULL ? GM_REPORT_NONE : n->caller_line);
    add_name(out, n->function);
    add_name(out, n->file);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        gm_text_add_csv_number(out, numbers[k]);
    gm_text_add_char(out, '\n');
}

void gm_export_modules(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out, "device,node,parent,depth,caller_file,caller_line,function,file,calls,bytes,own_bytes,blocks,"
                     "least_bytes,most_bytes,weights,gradients,optimizer_state,activations,temporaries,other\n");
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        for (uint32_t i = 0; timeline != NULL && i < timeline->modules.node_count; i++)
            add_node(out, report->devices[d].device, &timeline->modules, i);
    }
}

static void add_joined(struct gm_text *out, int64_t device, const struct gm_join_event *e)
{
    const char *const told[] = {e->operation, e->shapes, e->types, e->values, e->formula, e->module};
    const uint64_t numbers[] = {e->event, e->time_us, e->address, e->requested, e->block, e->freed};
    gm_text_printf(out, "%" PRId64, device);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gm_text_add_csv_number(out, numbers[i]);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        gm_text_add_char(out, ',');
        gm_text_add_csv(out, told[i] == NULL ? "" : told[i]);
    }
    gm_text_printf(out, ",%d,%" PRIu64 ",%" PRIu64 ",", e->is_backward, e->kernels, e->device_ns);
    gm_text_add_csv(out, e->kernel == NULL ? "" : e->kernel);
    gm_text_add_char(out, '\n');
}

void gm_export_joined(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out,
                "device,event,time_us,address,requested_bytes,block_bytes,freed_event,operator,shapes,types,values,"
                "formula,module,is_backward,kernels,kernel_time_ns,kernel\n");
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        for (size_t i = 0; timeline != NULL && timeline->join != NULL && i < timeline->join->event_count; i++)
            add_joined(out, report->devices[d].device, &timeline->join->events[i]);
    }
}

void gm_operators_csv_write(struct gm_text *out, const struct gm_profile_report *profile)
{
    const struct gm_operator_table *table = profile->has_shapes ? &profile->shapes : &profile->operators;
    gm_text_add(out, "name,shapes,on_device,annotation,calls,self_device_bytes,device_bytes,self_host_bytes,host_bytes,"
                     "self_time_ns,time_ns,self_device_time_ns,device_time_ns\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct gm_operator_row *r = &table->v[i];
        gm_text_add_csv(out, r->name);
        gm_text_add_char(out, ',');
        gm_text_add_csv(out, r->shapes == NULL ? "" : r->shapes);
        gm_text_printf(out, ",%d,%d,%" PRIu64, r->is_on_device, r->is_annotation, r->calls);
        const struct gm_operator_sums *self = &r->self, *total = &r->total;
        const int64_t numbers[] = {self->device_bytes,   total->device_bytes,  self->host_bytes,
                                   total->host_bytes,    self->time_ns,        total->time_ns,
                                   self->device_time_ns, total->device_time_ns};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            gm_text_printf(out, ",%" PRId64, numbers[k]);
        gm_text_add_char(out, '\n');
    }
}
