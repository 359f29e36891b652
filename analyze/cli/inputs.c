/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/inputs.h"

#include "analyze/base/threads.h"
#include "analyze/cli/bar.h"
#include "analyze/formats/load.h"

struct reading {
    struct gm_input *inputs;
    const struct gm_inputs_options *options;
    size_t count;
    atomic_size_t done;
};

static void read_one(void *argument, size_t i)
{
    struct reading *r = argument;
    const struct gm_inputs_options *options = r->options;
    struct gm_input *input = &r->inputs[i];
    const struct gm_load_options load = {.salvage = options->salvage, .max_memory = options->max_memory};
    struct gm_snapshot snapshot = {0};
    input->error = (struct gm_error){.offset = GM_NO_OFFSET};
    gm_name_detect(input->name, input->path);
    input->status = gm_snapshot_load(&snapshot, input->path, &load, &input->error);
    if (input->status == GM_OK) {
        input->is_salvaged = snapshot.source.is_salvaged;
        input->salvaged_offset = snapshot.source.salvaged_offset;
        input->status = gm_summary_make(&input->summary, &snapshot, input->name, &options->summary, &input->error);
    }
    if (input->status == GM_OK && options->wants_page)
        input->status = gm_page_trace_make(&input->page, &snapshot, &input->error);
    gm_snapshot_free(&snapshot);
    atomic_fetch_add(&r->done, 1);
}

static void tell(struct gm_bar_line *line, const void *argument, double seconds)
{
    const struct reading *r = argument;
    line->done = atomic_load(&r->done);
    line->all = r->count;
    gm_text_printf(&line->text, "%zu of %zu read, %d s", (size_t)line->done, r->count, (int)seconds);
}

void gm_inputs_read(struct gm_input *inputs, size_t count, const struct gm_inputs_options *options)
{
    struct reading r = {.inputs = inputs, .options = options, .count = count};
    struct gm_threads threads;
    struct gm_bar bar;
    gm_bar_start(&bar, options->progress, tell, &r);
    gm_threads_run(&threads, count, (size_t)options->threads, read_one, &r);
    gm_bar_stop(&bar);
}

void gm_inputs_free(struct gm_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gm_summary_free(&inputs[i].summary);
        gm_page_trace_free(&inputs[i].page);
    }
}
