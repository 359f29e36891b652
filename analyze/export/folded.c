/* SPDX-License-Identifier: Apache-2.0
 *
 * Folded stacks, what flamegraph.pl and its kin read: one line for each stack, frames from the outermost, separated by
 * ';', a blank and the value. The format has no escapes, so a ';' in a name is written as ':' (as stackcollapse-perf.pl
 * does) and a line break as a blank.
 */
#include "analyze/export/formats.h"

#include <inttypes.h>

static void add_name(struct gm_text *out, const char *name)
{
    for (; name != NULL && *name != '\0'; name++)
        gm_text_add_char(out, *name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name);
}

/* "forward (model/attention.py:88)" */
static void add_frame(struct gm_text *out, const struct gm_flame_node *node)
{
    add_name(out, node->name == NULL || node->name[0] == '\0' ? "(no name)" : node->name);
    struct gm_place_in_code place = gm_export_place(node);
    if (place.filename[0] == '\0')
        return;
    gm_text_add(out, " (");
    add_name(out, place.filename);
    if (place.line != GM_REPORT_NONE)
        gm_text_printf(out, ":%" PRIu64, place.line);
    gm_text_add_char(out, ')');
}

static void write_device(struct gm_text *out, const struct gm_flame *flame, int64_t device, bool is_one_of_several)
{
    GM_FREED struct gm_flame_walk walk = {0};
    while (gm_flame_walk_next(&walk, flame)) {
        uint64_t bytes = flame->nodes[walk.node].self_bytes;
        if (bytes == 0)
            continue;
        if (is_one_of_several)
            gm_text_printf(out, "device %" PRId64 ";", device);
        for (size_t i = 0; i < walk.depth; i++) {
            if (i > 0)
                gm_text_add_char(out, ';');
            add_frame(out, &flame->nodes[walk.path[i]]);
        }
        gm_text_printf(out, " %" PRIu64 "\n", bytes);
    }
    out->failed |= walk.failed;
}

void gm_export_folded(struct gm_text *out, const struct gm_report *report)
{
    bool are_several = gm_export_trees(report) > 1;
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        if (timeline != NULL)
            write_device(out, &timeline->flame, report->devices[d].device, are_several);
    }
}
