/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmanalyze share: the options, and what is the same for all snapshots of one call.
 */
#pragma once

#include "analyze/cli/pictures.h"
#include "analyze/cli/shell.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/trials/settings_advice.h"

#include <stdbool.h>
#include <stdint.h>

struct gm_wanted_stream {
    int64_t handle;
    bool is_given;
};

struct gm_analyze_options {
    struct gm_usual_options usual;
    const char *viewer;     /* where the page without a trace goes; NULL: nowhere */
    const char *preface;    /* lines before the reports; NULL: none. No option: gmdry has some */
    struct gm_texts kineto; /* traces of torch.profiler beside the snapshots: none, or as many as these */
    const char *watch;      /* a folder whose new snapshots are reported; NULL: none */
    bool tree, chart, explain, memory_summary, csv_full;
    struct gm_timeline_options timeline; /* as far as options say it */
    struct gm_wanted_stream stream;
    unsigned exports;             /* bit i: enum gm_export i */
    const char *gpu;              /* NULL: not given */
    int64_t replay_events;        /* a longer trace is not replayed; 0: any is */
    uint64_t fail_above;          /* UINT64_MAX: no such check */
    double fail_below_efficiency; /* negative: no such check */
    int fail_on;                  /* enum gm_severity; negative: no such check */
};

#define GM_ANALYZE_DEFAULTS                                                                                            \
    {                                                                                                                  \
        .usual = GM_USUAL_DEFAULTS, .fail_above = UINT64_MAX, .fail_below_efficiency = -1, .fail_on = -1,              \
        .replay_events = GM_ADVICE_EVENTS                                                                              \
    }

/* Its command line: of a struct gm_analyze_options. */
extern const struct gm_program gm_analyze_program;

/* Read-only while jobs run. */
struct gm_analyze_context {
    struct gm_analyze_options options;
    struct gm_terminal terminal;
    struct gm_shell *shell;
    int draw_threads;            /* for the charts of one snapshot */
    struct gm_pictures pictures; /* that --chart may draw */
};

/* Each is the `parse` of a gm_option: text in, *value out; false if it is none. */
bool gm_value_place(const char *text, void *value); /* struct gm_place: 12345, event:12345, 3.5s, 120ms, step:12 */
void gm_place_words(struct gm_text *out);
bool gm_value_stream(const char *text, void *value); /* struct gm_wanted_stream: 0, 94219239492, 0x55d1c0 */
