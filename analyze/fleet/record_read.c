/* SPDX-License-Identifier: Apache-2.0
 *
 * From a record to a row of the fleet. It may come from a file that anybody could have written: every length is
 * checked.
 */
#include "analyze/fleet/record.h"

#include "analyze/base/order.h"
#include "analyze/fleet/record_parts.h"
#include "analyze/state/shown_names.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const unsigned char *p, *end;
    struct gm_arena *arena;  /* what the item keeps */
    struct gm_arena scratch; /* what is forgotten with the reader */
    bool ok;
};

static uint64_t get(struct reader *r)
{
    uint64_t value = 0;
    if (!r->ok || r->end - r->p < GM_RECORD_NUMBER) {
        r->ok = false;
        return 0;
    }
    for (int i = 0; i < GM_RECORD_NUMBER; i++)
        value |= (uint64_t)r->p[i] << (8 * i);
    r->p += GM_RECORD_NUMBER;
    return value;
}

/* A number of things that take `size` bytes each at least. */
static size_t get_count(struct reader *r, size_t size)
{
    const uint64_t n = get(r);
    if (n > (uint64_t)(r->end - r->p) / size)
        r->ok = false;
    return r->ok ? (size_t)n : 0;
}

static const char *get_string_into(struct reader *r, struct gm_arena *arena)
{
    const uint64_t n = get(r);
    if (!r->ok || n == 0)
        return NULL;
    if (n - 1 > (uint64_t)(r->end - r->p)) {
        r->ok = false;
        return NULL;
    }
    const char *raw = gm_arena_copy(&r->scratch, (const char *)r->p, (size_t)n - 1);
    const char *s = raw == NULL ? NULL : gm_clean_copy(arena, raw);
    r->p += n - 1;
    r->ok = s != NULL;
    return s;
}

static const char *get_string(struct reader *r)
{
    return get_string_into(r, r->arena);
}

static void get_totals(struct reader *r, struct gm_totals *t)
{
    uint64_t *const all[GM_RECORD_TOTALS] = {
        &t->reserved, &t->allocated, &t->pending, &t->active,        &t->requested,        &t->inactive,
        &t->rounding, &t->segments,  &t->blocks,  &t->active_blocks, &t->allocated_blocks, &t->inactive_blocks};
    for (size_t i = 0; i < GM_RECORD_TOTALS; i++)
        *all[i] = get(r);
}

static void get_oom(struct reader *r, struct gm_fleet_oom *oom)
{
    oom->device = (int64_t)get(r);
    oom->event = get(r);
    oom->time_us = get(r);
    oom->asked = get(r);
    oom->device_free = get(r);
    oom->reserved = get(r);
    oom->site = get_string(r);
    r->ok = r->ok && oom->site != NULL;
}

static void get_categories(struct reader *r, struct gm_fleet_item *item)
{
    const size_t n = get_count(r, 3 * GM_RECORD_NUMBER);
    struct gm_slice *slices = gm_arena_calloc(r->arena, n, sizeof *slices);
    r->ok = r->ok && slices != NULL;
    for (size_t i = 0; r->ok && i < n; i++) {
        slices[i].name = get_string(r);
        slices[i].color = (uint32_t)get(r);
        slices[i].bytes = get(r);
        r->ok = r->ok && slices[i].name != NULL;
    }
    item->categories = slices;
    item->category_count = r->ok ? n : 0;
}

static const char *keep(struct reader *r, const char *s)
{
    const char *own = s == NULL ? NULL : gm_arena_copy(r->arena, s, strlen(s));
    r->ok = r->ok && (s == NULL || own != NULL);
    return own;
}

/* The number of the site, whose strings are in the scratch, among all. */
static uint32_t add_site(struct reader *r, struct gm_record_sites *sites, const struct gm_fleet_site *site)
{
    struct gm_text key = {0};
    gm_text_printf(&key, "%s%c%s%c%s", site->label, 1, site->via == NULL ? "\2" : site->via, 1, site->category);
    const uint32_t number = key.failed ? GM_INTERN_NONE : gm_intern_add(&sites->keys, key.data, key.length);
    gm_text_free(&key);
    r->ok = r->ok && number != GM_INTERN_NONE;
    if (r->ok && number == sites->v.n) { /* the first time that it is met: its strings are kept */
        const struct gm_fleet_site own = {keep(r, site->label), keep(r, site->via), keep(r, site->category),
                                          site->color};
        r->ok = r->ok && GM_VEC_PUSH(&sites->v, own);
    }
    return number;
}

GM_ORDERING(compare_uses, struct gm_fleet_use, GM_UP(site));

static void get_sites(struct reader *r, struct gm_fleet_item *item, struct gm_record_sites *sites)
{
    const size_t n = get_count(r, 6 * GM_RECORD_NUMBER);
    struct gm_fleet_use *uses = gm_arena_calloc(r->arena, n, sizeof *uses);
    size_t kept = 0;
    if (uses == NULL) {
        r->ok = false;
        return;
    }
    for (size_t i = 0; r->ok && i < n; i++) {
        struct gm_fleet_site site = {.label = get_string_into(r, &r->scratch)};
        site.via = get_string_into(r, &r->scratch);
        site.category = get_string_into(r, &r->scratch);
        site.color = (uint32_t)get(r) & 0xffffffU;
        uses[i].end = get(r);
        uses[i].peak = get(r);
        r->ok = r->ok && site.label != NULL && site.category != NULL;
        if (r->ok)
            uses[i].site = add_site(r, sites, &site);
    }
    item->rest_end = get(r);
    item->rest_peak = get(r);
    if (!r->ok)
        return;
    if (n > 1)
        qsort(uses, n, sizeof *uses, compare_uses);
    for (size_t i = 0; i < n; i++) { /* a record of ours names none twice */
        if (kept > 0 && uses[kept - 1].site == uses[i].site)
            continue;
        uses[kept++] = uses[i];
    }
    item->uses = uses;
    item->use_count = kept;
}

static void get_item(struct reader *r, struct gm_fleet_item *item, struct gm_record_sites *sites)
{
    item->has_trace = get(r) != 0;
    item->is_salvaged = get(r) != 0;
    item->disk_bytes = get(r);
    item->events = get(r);
    item->device_count = get(r);
    item->warning_count = (size_t)get(r);
    get_totals(r, &item->totals);
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        item->peaks[i] = get(r);
    item->fullest = get(r);
    item->peak_site = get_string(r);
    item->peak_phase = get_string(r);
    item->ooms = get(r);
    if (r->ok && item->ooms > 0)
        get_oom(r, &item->oom);
    get_categories(r, item);
    get_sites(r, item, sites);
}

/* Whether it begins and ends as a record does; *status is its own. */
static bool check_ends(const void *bytes, size_t length, enum gm_status *status)
{
    const size_t magic = sizeof GM_RECORD_MAGIC - 1;
    if (length < magic + 2 * GM_RECORD_NUMBER || memcmp(bytes, GM_RECORD_MAGIC, magic) != 0)
        return false;
    const unsigned char *p = bytes;
    struct reader sum = {.p = p + length - GM_RECORD_NUMBER, .end = p + length, .ok = true};
    struct reader head = {.p = p + magic, .end = p + length, .ok = true};
    const uint64_t code = get(&head);
    *status = (enum gm_status)code;
    return code <= GM_E_INTERNAL && get(&sum) == gm_record_sum(bytes, length - GM_RECORD_NUMBER, GM_RECORD_SUM_START);
}

bool gm_record_read(struct gm_fleet_item *item, struct gm_arena *arena, struct gm_record_sites *sites,
                    const void *bytes, size_t length)
{
    enum gm_status status;
    if (!check_ends(bytes, length, &status))
        return false;
    const unsigned char *p = bytes;
    struct reader r = {.p = p + sizeof GM_RECORD_MAGIC - 1 + GM_RECORD_NUMBER,
                       .end = p + length - GM_RECORD_NUMBER,
                       .arena = arena,
                       .ok = true};
    item->status = status;
    item->error = get_string(&r);
    if (status == GM_OK)
        get_item(&r, item, sites);
    item->each = get_string(&r);
    const uint64_t each_status = get(&r);
    const char *each_error = get_string(&r);
    if (r.ok && status == GM_OK && each_status != GM_OK && each_status <= GM_E_INTERNAL) {
        item->each_status = (enum gm_status)each_status;
        item->each_error = each_error == NULL ? "" : each_error;
    }
    gm_arena_free(&r.scratch);
    return r.ok && r.p == r.end;
}

bool gm_record_check(const void *bytes, size_t length, enum gm_status *status)
{
    struct gm_fleet_item item = {0};
    struct gm_arena arena = {0};
    struct gm_record_sites sites = {0};
    const bool ok = gm_record_read(&item, &arena, &sites, bytes, length);
    *status = item.status;
    gm_record_sites_free(&sites);
    gm_arena_free(&arena);
    return ok;
}

void gm_record_sites_free(struct gm_record_sites *sites)
{
    gm_intern_free(&sites->keys);
    free(sites->v.v);
    *sites = (struct gm_record_sites){0};
}
