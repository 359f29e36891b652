/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/export.h"

#include "analyze/export/formats.h"

#include <string.h>

static const struct {
    const char *file_name;
    void (*write)(struct gm_text *out, const struct gm_report *report);
} formats[GM_EXPORT_COUNT] = {
    [GM_EXPORT_FOLDED] = {"peak.folded", gm_export_folded},
    [GM_EXPORT_SPEEDSCOPE] = {"peak.speedscope.json", gm_export_speedscope},
    [GM_EXPORT_PERFETTO] = {"timeline.perfetto.json", gm_export_perfetto},
    [GM_EXPORT_PPROF] = {"peak.pb.gz", gm_export_pprof},
    [GM_EXPORT_MODULES] = {"modules.csv", gm_export_modules},
    [GM_EXPORT_JOINED] = {"joined.csv", gm_export_joined},
};

const char *const gm_export_names[GM_EXPORT_COUNT + 2] = {
    [GM_EXPORT_FOLDED] = "folded", [GM_EXPORT_SPEEDSCOPE] = "speedscope", [GM_EXPORT_PERFETTO] = "perfetto",
    [GM_EXPORT_PPROF] = "pprof",   [GM_EXPORT_MODULES] = "modules",       [GM_EXPORT_JOINED] = "joined",
    [GM_EXPORT_SQLITE] = "sqlite"};

const char *gm_export_file_name(enum gm_export format)
{
    return formats[format].file_name;
}

void gm_export_write(struct gm_text *out, const struct gm_report *report, enum gm_export format)
{
    formats[format].write(out, report);
}

const struct gm_device_timeline *gm_export_timeline(const struct gm_report *report, size_t d)
{
    return report->timelines == NULL || report->devices[d].trace.events == 0 ? NULL : &report->timelines[d];
}

bool gm_export_applies(const struct gm_report *report)
{
    for (size_t d = 0; d < report->device_count; d++)
        if (gm_export_timeline(report, d) != NULL)
            return true;
    return false;
}

struct gm_place_in_code gm_export_place(const struct gm_flame_node *node)
{
    bool is_known = node->filename != NULL && node->filename[0] != '\0' && strcmp(node->filename, "??") != 0;
    return is_known ? (struct gm_place_in_code){node->filename, node->line}
                    : (struct gm_place_in_code){"", GM_REPORT_NONE};
}

size_t gm_export_trees(const struct gm_report *report)
{
    size_t n = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        n += timeline != NULL && timeline->flame.node_count > 0;
    }
    return n;
}
