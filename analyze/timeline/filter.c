/* SPDX-License-Identifier: Apache-2.0
 *
 * What the command line left out, as a sentence for the reports: "Only allocations of stream 7 of at least 1.00 MiB;
 * peaks are looked for from event 100 to event 200."
 */
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/timeline/trace_pass.h"

static void add_allocations(struct gm_text *out, const struct gm_timeline_options *options)
{
    char size[GM_SIZE_TEXT];
    if (!options->has_stream && options->min_size == 0)
        return;
    gm_text_add(out, "Only allocations");
    if (options->has_stream)
        gm_text_printf(out, " of stream %lld", (long long)options->stream);
    if (options->min_size > 0)
        gm_text_printf(out, " of at least %s", gm_size_format(size, options->min_size));
}

static void add_window(struct gm_text *out, const struct gm_trace_pass *pass, bool has_window)
{
    const struct gm_timeline_options *options = pass->options;
    if (options->from.kind == GM_PLACE_NONE && options->to.kind == GM_PLACE_NONE)
        return;
    gm_text_add(out, out->length == 0 ? "Peaks" : "; peaks");
    gm_text_add(out, " are looked for");
    if (!has_window)
        gm_text_add(out, " in the whole trace: this device has no such place as --from or --to asks for");
    if (has_window && options->from.kind != GM_PLACE_NONE) {
        gm_text_add(out, " from event ");
        gm_text_add_count(out, gm_event_of_moment(pass->from));
        gm_text_add(out, " on");
    }
    if (has_window && options->to.kind != GM_PLACE_NONE) {
        gm_text_add(out, " up to event ");
        gm_text_add_count(out, gm_event_of_moment(pass->to));
    }
}

bool gm_trace_filter(struct gm_trace_pass *pass, bool has_window)
{
    struct gm_text text = {0};
    add_allocations(&text, pass->options);
    add_window(&text, pass, has_window);
    if (text.length > 0) {
        gm_text_add_char(&text, '.');
        pass->out->filter = text.failed ? NULL : gm_arena_copy(&pass->report->arena, text.data, text.length);
        text.failed = text.failed || pass->out->filter == NULL;
    }
    gm_text_free(&text);
    return !text.failed;
}
