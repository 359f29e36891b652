/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/fleet_outputs.h"

#include "analyze/cli/interrupt.h"
#include "analyze/words/fleet.h"
#include "render/fleet.h"

#include <stdlib.h>

enum { FILES = 4 };
struct outputs {
    struct {
        const char *name;
        struct gm_text text;
    } files[FILES];
    struct gm_png charts[GM_FLEET_CHART_COUNT];
};

static enum gm_status draw(struct outputs *o, const struct gm_fleet_context *context, const struct gm_fleet *fleet,
                           struct gm_error *err)
{
    struct gm_painter *painter;
    enum gm_status status = gm_fonts_wait(context->fonts, &painter, err);
    for (int i = 0; status == GM_OK && i < GM_FLEET_CHART_COUNT; i++)
        status = gm_fleet_chart_draw(&o->charts[i], painter, fleet, (enum gm_fleet_chart)i, err);
    return status;
}

static enum gm_status make(struct outputs *o, const struct gm_fleet_context *context, const struct gm_fleet *fleet,
                           struct gm_error *err)
{
    static const char *const names[FILES] = {"fleet.json", "fleet_report.txt", "README.md", "fleet.csv"};
    const char *charts[2 * GM_FLEET_CHART_COUNT + 1] = {NULL};
    for (int i = 0; i < GM_FLEET_CHART_COUNT; i++) {
        charts[2 * i] = gm_fleet_chart_file_name((enum gm_fleet_chart)i);
        charts[2 * i + 1] = gm_fleet_chart_caption((enum gm_fleet_chart)i);
    }
    for (int i = 0; i < FILES; i++)
        o->files[i].name = names[i];
    gm_words_fleet_json(&o->files[0].text, fleet); /* the first: --json wants it, too */
    gm_words_fleet_text(&o->files[1].text, fleet);
    gm_words_fleet_markdown(&o->files[2].text, fleet, context->fonts != NULL ? charts : NULL);
    gm_words_fleet_csv(&o->files[3].text, fleet);
    return context->fonts != NULL ? draw(o, context, fleet, err) : GM_OK;
}

static enum gm_status fill(struct gm_run *run, const struct outputs *o, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < GM_FLEET_CHART_COUNT; i++)
        if (o->charts[i].data != NULL)
            status = gm_run_add(run, gm_fleet_chart_file_name((enum gm_fleet_chart)i), o->charts[i].data,
                                o->charts[i].length, err);
    for (int i = 0; status == GM_OK && i < FILES; i++) {
        const struct gm_text *text = &o->files[i].text;
        status = text->failed ? gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory")
                              : gm_run_add(run, o->files[i].name, text->data, text->length, err);
    }
    return status;
}

static enum gm_status publish(struct gm_run **run, const struct outputs *o, bool *was_left_alone,
                              const struct gm_fleet_context *context, const char *name, struct gm_error *err)
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

enum gm_status gm_fleet_outputs_write(struct gm_run **run, struct gm_text *json, bool *latest_was_left_alone,
                                      const struct gm_fleet_context *context, const struct gm_fleet *fleet,
                                      const char *name, struct gm_error *err)
{
    struct outputs o = {.files = {{.name = NULL}}};
    *run = NULL;
    enum gm_status status = make(&o, context, fleet, err);
    if (status == GM_OK)
        status = publish(run, &o, latest_was_left_alone, context, name, err);
    if (status == GM_OK) {
        *json = o.files[0].text;
        o.files[0].text = (struct gm_text){0};
    }
    for (int i = 0; i < FILES; i++)
        gm_text_free(&o.files[i].text);
    for (int i = 0; i < GM_FLEET_CHART_COUNT; i++)
        free(o.charts[i].data);
    return status;
}
