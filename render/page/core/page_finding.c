/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocations that a finding is about, and where they are.
 */
#include "analyze/base/ascii.h"
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"

#include <stdlib.h>
#include <string.h>

/* What a finding accuses. */
struct accused {
    const struct gm_remedy *remedy; /* its allocations; NULL */
    const char *site;               /* "f  m.py:3, from n.py:8"; NULL */
};

static bool is_told(const char *query, const char *key, const char *text)
{
    size_t n;
    const char *value = gm_query_value(query, key, &n);
    return value == NULL ? text == NULL : text != NULL && gm_is_text(value, n, text);
}

/* The one that says that; false: there is none. */
static bool find(struct accused *out, const struct gm_diagnosis *diagnosis, const char *query)
{
    const struct gm_to_do *item = NULL;
    for (size_t i = 0; i < diagnosis->to_do_count && item == NULL; i++)
        if (is_told(query, "detail", diagnosis->to_do[i].detail) && is_told(query, "id", diagnosis->to_do[i].finding))
            item = &diagnosis->to_do[i];
    *out = (struct accused){item == NULL ? NULL : diagnosis->of_site, item == NULL ? NULL : item->site};
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (!is_told(query, "id", f->id) ||
            (item == NULL ? !is_told(query, "detail", f->detail)
                          : item->site != NULL && f->site != NULL && strcmp(item->site, f->site) != 0))
            continue;
        *out = (struct accused){f->remedy, f->site};
        return true;
    }
    return item != NULL;
}

/* Those of the remedy; without one, those of the call site. */
static void choose(struct gm_opened *o, const struct gm_page_device *d, const struct accused *f, uint8_t *is_in)
{
    const struct gm_remedy *r = f->remedy;
    for (size_t i = 0; r != NULL && i < r->count; i++)
        if (r->changes[i].allocation < d->h->allocation_count)
            is_in[r->changes[i].allocation] = 1;
    if ((r != NULL && r->count > 0) || f->site == NULL)
        return;
    for (size_t a = 0; a < d->h->allocation_count; a++) {
        const char *site = gm_names_site(&o->names, (struct gm_stack_id){gm_stack_of(d->h, a)});
        const size_t n = site == NULL ? 0 : strlen(site);
        is_in[a] = n > 0 && strncmp(site, f->site, n) == 0 && (f->site[n] == '\0' || f->site[n] == ',');
    }
}

static void tell(const struct gm_page_device *d, const uint8_t *is_in)
{
    const struct gm_history *h = d->h;
    uint64_t sum = 0, most = 0;
    uint32_t first = gm_page_moments(d) - 1, last = 0, highest = 0;
    size_t n = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!is_in[a])
            continue;
        const uint32_t end = h->freed[a] == GM_NEVER ? gm_page_moments(d) - 1 : h->freed[a];
        n++;
        sum += h->born[a] == 0 ? gm_requested(h, a) : 0;
        first = h->born[a] < first ? h->born[a] : first;
        last = end > last ? end : last;
    }
    most = sum;
    for (uint32_t i = 0; i < h->count; i++) {
        const uint32_t a = h->of_event[i];
        if (a == GM_NEVER || !is_in[a])
            continue;
        sum += h->born[a] == i + 1 ? gm_requested(h, a) : 0;
        sum -= h->freed[a] == i + 1 ? gm_requested(h, a) : 0;
        highest = sum > most ? i + 1 : highest;
        most = sum > most ? sum : most;
    }
    uint32_t *list = gm_answer_add("allocation", GM_PAGE_U32, n);
    n = 0;
    for (uint32_t a = 0; list != NULL && a < h->allocation_count; a++)
        if (is_in[a])
            list[n++] = a;
    gm_answer_u32("first", first);
    gm_answer_u32("last", last);
    gm_answer_u32("highest", highest);
    gm_answer_number("bytes", (double)most);
}

/* The device of the remedy, else the one that holds most. */
static uint32_t device_of(const struct gm_opened *o, const struct gm_remedy *remedy)
{
    uint32_t device = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < o->judged.kept.count; i++) {
        const struct gm_page_device *d = &o->devices[i];
        const uint64_t top = gm_page_active(d, gm_page_highest(d, 0, gm_page_moments(d) - 1));
        if (remedy != NULL ? d->h->device == remedy->device : top > most)
            device = i;
        most = top > most ? top : most;
    }
    return device;
}

const struct gm_page_result *gm_page_finding(uint32_t handle, const char *query)
{
    struct accused f;
    gm_answer_begin();
    struct gm_opened *o = gm_opened_judged(handle);
    if (o == NULL)
        return NULL;
    if (o->judged.kept.count == 0 || !find(&f, &o->judged.report.diagnosis, query))
        return gm_answer_refuse("the report has no such finding");
    const uint32_t device = device_of(o, f.remedy);
    const struct gm_page_device *d = &o->devices[device];
    GM_FREED uint8_t *is_in = calloc(d->h->allocation_count + 1, 1);
    if (is_in == NULL)
        return gm_answer_no_memory();
    choose(o, d, &f, is_in);
    gm_answer_u32("device", device);
    tell(d, is_in);
    return gm_answer_end();
}

const struct gm_page_result *gm_page_mark(uint32_t handle, uint32_t device, const uint32_t *allocations, uint32_t count)
{
    struct gm_page_device *d = gm_opened_device(handle, device, NULL);
    if (d == NULL)
        return NULL;
    gm_page_forget_table(d);
    free(d->marked);
    d->marked = calloc(d->h->allocation_count + 1, 1);
    if (d->marked == NULL)
        return gm_answer_no_memory();
    for (uint32_t i = 0; i < count; i++)
        if (allocations[i] < d->h->allocation_count)
            d->marked[allocations[i]] = 1;
    return gm_answer_end();
}
