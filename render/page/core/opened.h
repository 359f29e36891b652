/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files of render/page/core: an open snapshot, and what is worked out once so that questions are
 * answered in milliseconds.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/cli/judge.h"
#include "analyze/report/frame_kind.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "render/page/core/answer.h"

struct gm_page_levels;     /* levels.h */
struct gm_page_table;      /* table.c */
struct gm_page_event_list; /* page_events.c */

struct gm_page_layers { /* one way to split what lives */
    bool is_made;       /* when it was asked for first */
    uint32_t count;     /* at most GM_PAGE_MOST_LAYERS */
    const char **name;  /* [count] */
    uint32_t *color;    /* [count] 0xRRGGBB */
    uint8_t *of;        /* [allocation], the layer of each */
    uint64_t *kept;     /* levels.c: their bytes every so many moments */
};
enum { GM_PAGE_MOST_LAYERS = 64 };

struct gm_page_device {
    struct gm_history *h;
    struct gm_kept_device *kept;
    const struct gm_device_timeline *timeline;
    struct gm_page_levels *levels;
    struct gm_page_layers layers[GM_PAGE_SPLITS];
    struct gm_module_places modules; /* once asked for */
    struct gm_page_table *table;
    struct gm_page_event_list *event_list;
    uint8_t *marked; /* [allocation] by page_mark; NULL: none */
};

struct gm_opened {
    struct gm_snapshot snapshot;
    struct gm_judged judged;
    bool is_judged; /* to its end: that waits until somebody asks for analysis.json */
    bool is_brief;  /* nobody will */
    struct gm_category_rules *rules;
    bool *is_component; /* [category] gm_category_is_component */
    struct gm_classifier *classifier;
    struct gm_arena arena; /* names, layers, levels */
    struct gm_names names;
    struct gm_page_device *devices; /* [judged.kept.count] */
};

/* The snapshot of a handle; NULL, and the answer says so, if there is none. */
struct gm_opened *gm_opened_get(uint32_t handle);
/* Likewise its device, of a new answer. *of may be NULL. */
struct gm_page_device *gm_opened_device(uint32_t handle, uint32_t device, struct gm_opened **of);

/* The layers of a split, made when they are asked for first; NULL: the answer says why not. */
const struct gm_page_layers *gm_opened_layers(struct gm_opened *o, struct gm_page_device *d, uint32_t split);
void gm_answer_layers(const struct gm_page_layers *layers); /* name, color */

/* The name of the layer of a split that an allocation is in; NULL: there is no memory. */
const char *gm_opened_layer_of(struct gm_opened *o, struct gm_page_device *d, uint32_t split, size_t a);
/* What a split is called in questions and answers. */
extern const char *const gm_page_split_names[GM_PAGE_SPLITS];

void gm_page_forget_table(struct gm_page_device *d);
void gm_page_forget_events(struct gm_page_device *d);

/* gm_opened_get, judged to the end. NULL: the answer says why. */
struct gm_opened *gm_opened_judged(uint32_t handle);

/* The value of `key` in a query, up to the end of its line; NULL: it is not in it. */
const char *gm_query_value(const char *query, const char *key, size_t *length);
double gm_query_number(const char *query, const char *key, double otherwise);
