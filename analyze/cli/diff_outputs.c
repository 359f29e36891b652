/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/diff_outputs.h"

#include "analyze/cli/interrupt.h"
#include "analyze/words/diff.h"
#include "render/diff.h"

#include <stdlib.h>

enum { FILES = 5 };
struct file {
    const char *name;
    struct gm_text text;
};

struct outputs {
    struct file files[FILES];
    size_t file_count;
    struct gm_png charts[GM_DIFF_CHART_COUNT];
};

static struct gm_text *add(struct outputs *o, const char *name)
{
    o->files[o->file_count].name = name;
    return &o->files[o->file_count++].text;
}

static enum gm_status draw(struct outputs *o, const struct gm_diff_context *context, const struct gm_comparison *c,
                           struct gm_error *err)
{
    struct gm_painter *painter;
    enum gm_status status = gm_fonts_wait(context->fonts, &painter, err);
    for (int i = 0; status == GM_OK && i < GM_DIFF_CHART_COUNT; i++)
        if (gm_diff_chart_applies(c, (enum gm_diff_chart)i))
            status = gm_diff_chart_draw(&o->charts[i], painter, c, (enum gm_diff_chart)i, err);
    if (status == GM_OK)
        status = gm_diff_flamegraph_svg(add(o, GM_DIFF_FLAMEGRAPH_SVG), c, err);
    return status;
}

static enum gm_status make(struct outputs *o, const struct gm_diff_context *context, const struct gm_comparison *c,
                           struct gm_error *err)
{
    const char *charts[2 * GM_DIFF_CHART_COUNT + 1] = {NULL};
    size_t n = 0;
    for (int i = 0; context->fonts != NULL && i < GM_DIFF_CHART_COUNT; i++)
        if (gm_diff_chart_applies(c, (enum gm_diff_chart)i)) {
            charts[n++] = gm_diff_chart_file_name((enum gm_diff_chart)i);
            charts[n++] = gm_diff_chart_caption((enum gm_diff_chart)i);
        }
    gm_words_diff_json(add(o, "diff.json"), c); /* the first: --json wants it, too */
    gm_words_diff_text(add(o, "diff_report.txt"), c);
    gm_words_diff_markdown(add(o, "README.md"), c, context->fonts != NULL ? charts : NULL);
    gm_words_diff_comment(add(o, "pr_comment.md"), c);
    return context->fonts != NULL ? draw(o, context, c, err) : GM_OK;
}

static enum gm_status fill(struct gm_run *run, const struct outputs *o, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < GM_DIFF_CHART_COUNT; i++)
        if (o->charts[i].data != NULL)
            status = gm_run_add(run, gm_diff_chart_file_name((enum gm_diff_chart)i), o->charts[i].data,
                                o->charts[i].length, err);
    for (size_t i = 0; status == GM_OK && i < o->file_count; i++) {
        const struct gm_text *text = &o->files[i].text;
        status = text->failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory")
                              : gm_run_add(run, o->files[i].name, text->data, text->length, err);
    }
    return status;
}

static enum gm_status publish(struct gm_run **run, const struct outputs *o, bool *was_left_alone,
                              const struct gm_diff_context *context, const char *name, struct gm_error *err)
{
    gm_interrupt_hold();
    enum gm_status status = gm_run_begin(run, context->options.results, name, context->when, err);
    if (status == GM_OK)
        status = fill(*run, o, err);
    if (status == GM_OK)
        status = gm_run_commit(*run, err);
    if (status != GM_OK) {
        gm_run_free(*run);
        *run = NULL;
    } else {
        status = gm_run_point_latest(*run, was_left_alone, err);
    }
    gm_interrupt_release();
    return status;
}

enum gm_status gm_diff_outputs_write(struct gm_run **run, struct gm_text *json, bool *latest_was_left_alone,
                                     const struct gm_diff_context *context, const struct gm_comparison *c,
                                     const char *name, struct gm_error *err)
{
    struct outputs o = {.file_count = 0};
    *run = NULL;
    enum gm_status status = make(&o, context, c, err);
    if (status == GM_OK)
        status = publish(run, &o, latest_was_left_alone, context, name, err);
    if (status == GM_OK) {
        *json = o.files[0].text;
        o.files[0].text = (struct gm_text){0};
    }
    for (size_t i = 0; i < o.file_count; i++)
        gm_text_free(&o.files[i].text);
    for (int i = 0; i < GM_DIFF_CHART_COUNT; i++)
        free(o.charts[i].data);
    return status;
}
