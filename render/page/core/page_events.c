/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of events: filtered once for each query, then looked at a page at a time.
 */
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gm_page_event_list { /* the last one that was asked for; of one device */
    char *query;
    uint32_t *events;
    uint32_t count;
};

void gm_page_forget_events(struct gm_page_device *d)
{
    if (d->event_list != NULL) {
        GM_FREE_ALL(d->event_list->query, d->event_list->events);
    }
    free(d->event_list);
    d->event_list = NULL;
}

/* In the order of enum gm_action. */
static const char *const kinds[GM_ACTION_COUNT] = {
    [GM_ACTION_ALLOC] = "made",         [GM_ACTION_FREE_REQUESTED] = "freed", [GM_ACTION_FREE_COMPLETED] = "freed",
    [GM_ACTION_FREE] = "freed",         [GM_ACTION_SEGMENT_ALLOC] = "driver", [GM_ACTION_SEGMENT_FREE] = "driver",
    [GM_ACTION_SEGMENT_MAP] = "driver", [GM_ACTION_SEGMENT_UNMAP] = "driver", [GM_ACTION_OOM] = "oom",
};

static bool fill(const struct gm_page_device *d, struct gm_page_event_list *list, const char *query)
{
    const struct gm_events *e = &d->h->snapshot->events;
    size_t n = 0;
    const char *kind = gm_query_value(query, "kind", &n);
    const double least = gm_query_number(query, "min_size", 0);
    list->query = strdup(query);
    list->events = malloc((d->h->count + 1) * sizeof *list->events);
    for (uint32_t i = 0; list->events != NULL && i < d->h->count; i++) {
        const size_t row = d->h->first + i;
        const char *is = kinds[e->action[row]] == NULL ? "other" : kinds[e->action[row]];
        if ((n == 0 || (strlen(is) == n && memcmp(is, kind, n) == 0)) && (double)gm_event_size(e, row) >= least)
            list->events[list->count++] = i;
    }
    return list->query != NULL && list->events != NULL;
}

static const struct gm_page_event_list *list_of(struct gm_page_device *d, const char *query)
{
    if (d->event_list != NULL && strcmp(d->event_list->query, query) == 0)
        return d->event_list;
    gm_page_forget_events(d);
    d->event_list = calloc(1, sizeof *d->event_list);
    if (d->event_list == NULL || !fill(d, d->event_list, query)) {
        gm_page_forget_events(d);
        gm_answer_no_memory();
    }
    return d->event_list;
}

const struct gm_page_result *gm_page_events(uint32_t handle, uint32_t device, const char *query, uint32_t first,
                                            uint32_t count, uint32_t near)
{
    struct gm_opened *o;
    struct gm_answer_list actions = {0}, sites = {0};
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    const struct gm_page_event_list *list = d == NULL ? NULL : list_of(d, query);
    const struct gm_page_layers *roles = list == NULL ? NULL : gm_opened_layers(o, d, GM_PAGE_BY_ROLE);
    if (roles == NULL)
        return NULL;
    const uint32_t from = first < list->count ? first : list->count,
                   n = count < list->count - from ? count : list->count - from;
    const struct gm_events *e = &o->snapshot.events;
    double *bytes = gm_answer_add("bytes", GM_PAGE_F64, n), *time = gm_answer_add("time", GM_PAGE_F64, n),
           *active = gm_answer_add("active", GM_PAGE_F64, n);
    uint32_t *event = gm_answer_add("event", GM_PAGE_U32, n), *of = gm_answer_add("allocation", GM_PAGE_U32, n),
             *role = gm_answer_add("role", GM_PAGE_U32, n);
    for (uint32_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const uint32_t k = event[i] = list->events[from + i], a = of[i] = d->h->of_event[k];
        const size_t row = d->h->first + k;
        gm_answer_put(&actions, gm_action_name((enum gm_action)e->action[row]));
        gm_answer_put(&sites, gm_names_site(&o->names, a == GM_NEVER ? gm_event_stack(e, row)
                                                                     : (struct gm_stack_id){gm_stack_of(d->h, a)}));
        bytes[i] = gm_answer_of(gm_event_size(e, row));
        time[i] = gm_page_has_times(d) ? gm_page_place(d, GM_PAGE_BY_TIME, k + 1) : (double)NAN;
        active[i] = (double)gm_page_active(d, k + 1);
        role[i] = a == GM_NEVER ? GM_NEVER : roles->of[a];
    }
    size_t after = 0; /* the first row at `near` or after it */
    GM_BISECT(after, list->count, i, list->events[i] < near);
    gm_answer_strings("action", &actions);
    gm_answer_strings("site", &sites);
    gm_answer_u32("total", list->count);
    gm_answer_u32("near", (uint32_t)after);
    return gm_answer_end();
}
