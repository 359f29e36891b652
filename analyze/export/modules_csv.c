/* SPDX-License-Identifier: Apache-2.0
 *
 * modules.csv: a row for each node of the tree of modules' calls (docs/modules.md), parents before what is below them.
 */
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
