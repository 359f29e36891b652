/* SPDX-License-Identifier: Apache-2.0
 *
 * The file format of speedscope: frames that all profiles share, and a profile for each device: samples (stacks as
 * frame numbers, outermost first) and their weights in bytes.
 */
#include "analyze/export/formats.h"

#include <inttypes.h>

/* The stacks of one profile, what stands between the brackets of "samples" and "weights"; fills `frames`. */
static void add_stacks(struct gm_text *samples, struct gm_text *weights, struct gm_triples *frames,
                       const struct gm_flame *flame)
{
    GM_FREED struct gm_flame_walk walk = {0};
    while (gm_flame_walk_next(&walk, flame)) {
        const bool is_first = weights->length == 0;
        const uint64_t bytes = flame->nodes[walk.node].self_bytes;
        if (bytes == 0)
            continue;
        gm_text_add(samples, is_first ? "[" : "],\n[");
        for (size_t i = 0; i < walk.depth; i++) {
            const struct gm_flame_node *node = &flame->nodes[walk.path[i]];
            struct gm_place_in_code place = gm_export_place(node);
            gm_text_printf(samples, i == 0 ? "%" PRIu32 : ",%" PRIu32,
                           gm_triples_put(frames, node->name, place.filename, place.line));
        }
        gm_text_printf(weights, is_first ? "%" PRIu64 : ",%" PRIu64, bytes);
    }
    gm_text_add(samples, weights->length == 0 ? "" : "]");
    samples->failed |= walk.failed;
}

static void add_profiles(struct gm_text *out, struct gm_triples *frames, const struct gm_report *report)
{
    const char *before = "";
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        if (timeline == NULL || timeline->flame.node_count == 0)
            continue;
        gm_text_printf(out,
                       "%s{\"type\":\"sampled\",\"name\":\"device %" PRId64 ": live at the peak\",\"unit\":\"bytes\","
                       "\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
                       before, report->devices[d].device, timeline->flame.nodes[0].bytes);
        GM_FREED struct gm_text weights = {0};
        add_stacks(out, &weights, frames, &timeline->flame);
        out->failed = out->failed || weights.failed;
        gm_text_printf(out, "],\n\"weights\":[%s]}", weights.data == NULL ? "" : weights.data);
        before = ",\n";
    }
}

static void add_frames(struct gm_text *out, const struct gm_triples *frames)
{
    for (size_t i = 0; i < frames->n; i++) {
        const struct gm_triple *frame = &frames->v[i];
        gm_text_add(out, i == 0 ? "\n{\"name\":" : ",\n{\"name\":");
        gm_export_string(out, frame->name);
        if (frame->filename[0] != '\0') {
            gm_text_add(out, ",\"file\":");
            gm_export_string(out, frame->filename);
        }
        if (frame->number != GM_REPORT_NONE)
            gm_text_printf(out, ",\"line\":%" PRIu64, frame->number);
        gm_text_add_char(out, '}');
    }
}

void gm_export_speedscope(struct gm_text *out, const struct gm_report *report)
{
    GM_FREED_BY(gm_triples_free) struct gm_triples frames = {0};
    gm_text_add(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                     "\"exporter\":\"gmanalyze " GM_VERSION "\",\n\"name\":");
    gm_export_string(out, report->run_name);
    gm_text_add(out, ",\n\"activeProfileIndex\":0,\n\"profiles\":[");
    add_profiles(out, &frames, report);
    gm_text_add(out, "],\n\"shared\":{\"frames\":[");
    add_frames(out, &frames);
    gm_text_add(out, "]}}\n");
    out->failed = out->failed || frames.failed;
}
