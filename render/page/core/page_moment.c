/* SPDX-License-Identifier: Apache-2.0
 *
 * What lives at a moment, by group.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/order.h"
#include "analyze/report/numbers.h"
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"

#include <stdlib.h>
#include <string.h>

struct group {
    uint64_t key;
    uint64_t bytes, requested;
    uint32_t count, largest; /* allocation */
};

struct groups {
    struct GM_VEC(struct group) rows;
    struct gm_address_map of; /* the row of a key */
};

static bool is_split(uint32_t group)
{
    return group < GM_PAGE_SPLITS;
}

/* Equal call sites of different stacks are one group: the text decides, not the stack. */
static uint64_t key_of(struct gm_opened *o, const struct gm_page_device *d, uint32_t group,
                       const struct gm_page_layers *layers, uint32_t a)
{
    const struct gm_history *h = d->h;
    const char *site;
    switch (group) {
    case GM_PAGE_GROUP_SITE:
        site = gm_names_site(&o->names, (struct gm_stack_id){gm_stack_of(h, a)});
        return site == NULL ? 0 : gm_hash_bytes(site, strlen(site));
    case GM_PAGE_GROUP_STACK:
        return gm_stack_of(h, a);
    case GM_PAGE_GROUP_SIZE:
        return gm_requested(h, a);
    case GM_PAGE_GROUP_NONE:
        return a;
    default:
        return layers->of[a];
    }
}

static struct group *find(struct groups *g, uint64_t key)
{
    uint32_t i = gm_map_get(&g->of, key);
    if (i != GM_MAP_NONE)
        return &g->rows.v[i];
    i = (uint32_t)g->rows.n;
    if (!GM_VEC_PUSH(&g->rows, ((struct group){.key = key})) || !gm_map_put(&g->of, key, i, &(uint32_t){0}))
        return NULL;
    return &g->rows.v[i];
}

static bool collect(struct groups *g, struct gm_opened *o, const struct gm_page_device *d, uint32_t moment, uint32_t by,
                    const struct gm_page_layers *layers)
{
    const struct gm_history *h = d->h;
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, moment))
            continue;
        struct group *group = find(g, key_of(o, d, by, layers, a));
        if (group == NULL)
            return false;
        if (group->count == 0 || gm_block_bytes(h, a) > gm_block_bytes(h, group->largest))
            group->largest = a;
        group->bytes += gm_block_bytes(h, a);
        group->requested += gm_requested(h, a);
        group->count++;
    }
    return true;
}

GM_ORDERING(most_first, struct group, GM_DOWN(bytes) || GM_UP(largest));

static void put_label(struct gm_answer_list *labels, struct gm_opened *o, const struct gm_page_device *d, uint32_t by,
                      const struct gm_page_layers *layers, const struct group *g)
{
    char text[GM_NUMBER_TEXT];
    if (by == GM_PAGE_GROUP_SIZE)
        gm_answer_put(labels, gm_bytes_format(text, g->key));
    else if (is_split(by))
        gm_answer_put(labels, layers->name[g->key]);
    else
        gm_answer_put(labels, gm_names_site(&o->names, (struct gm_stack_id){gm_stack_of(d->h, g->largest)}));
}

static uint32_t color_of(const struct gm_opened *o, const struct gm_page_device *d, uint32_t by,
                         const struct gm_page_layers *layers, const struct group *g)
{
    return is_split(by) ? layers->color[g->key] : gm_category_color(o->rules, d->kept->category[g->largest]);
}

static void tell_rest(const struct group *rows, size_t shown, size_t n)
{
    uint64_t bytes = 0, count = 0;
    for (size_t i = shown; i < n; i++) {
        bytes += rows[i].bytes;
        count += rows[i].count;
    }
    gm_answer_number("rest_bytes", (double)bytes);
    gm_answer_number("rest_count", (double)count);
}

static void tell(struct gm_opened *o, const struct gm_page_device *d, uint32_t by, const struct gm_page_layers *layers,
                 const struct group *rows, size_t n)
{
    struct gm_answer_list labels = {0};
    double *bytes = gm_answer_add("bytes", GM_PAGE_F64, n), *requested = gm_answer_add("requested", GM_PAGE_F64, n);
    uint32_t *count = gm_answer_add("count", GM_PAGE_U32, n), *color = gm_answer_add("color", GM_PAGE_U32, n);
    uint32_t *largest = gm_answer_add("largest", GM_PAGE_U32, n), *stack = gm_answer_add("stack", GM_PAGE_U32, n);
    for (size_t i = 0; gm_answer_is_whole() && i < n; i++) {
        put_label(&labels, o, d, by, layers, &rows[i]);
        bytes[i] = (double)rows[i].bytes;
        requested[i] = (double)rows[i].requested;
        count[i] = rows[i].count;
        color[i] = color_of(o, d, by, layers, &rows[i]);
        largest[i] = rows[i].largest;
        stack[i] = gm_stack_of(d->h, rows[i].largest);
    }
    gm_answer_strings("label", &labels);
}

const struct gm_page_result *gm_page_moment(uint32_t handle, uint32_t device, uint32_t moment, uint32_t group,
                                            uint32_t limit)
{
    struct gm_opened *o;
    struct groups g = {0};
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL || !gm_page_is_moment(d, moment))
        return NULL;
    if (group > GM_PAGE_GROUP_NONE)
        return gm_answer_refuse("no such group");
    const struct gm_page_layers *layers = is_split(group) ? gm_opened_layers(o, d, group) : NULL;
    if (is_split(group) && layers == NULL)
        return NULL;
    const bool ok = collect(&g, o, d, moment, group, layers);
    if (ok) {
        const size_t shown = limit == 0 || g.rows.n < limit ? g.rows.n : limit;
        GM_SORT(g.rows.v, g.rows.n, most_first);
        tell(o, d, group, layers, g.rows.v, shown);
        tell_rest(g.rows.v, shown, g.rows.n);
        gm_answer_levels(d, moment, "requested_level");
    }
    free(g.rows.v);
    gm_map_free(&g.of);
    return ok ? gm_answer_end() : gm_answer_no_memory();
}
