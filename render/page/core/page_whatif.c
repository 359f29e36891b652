/* SPDX-License-Identifier: Apache-2.0
 *
 * What if: the recorded requests once more through the allocator's model, as gmreplay does it with --memory,
 * --alloc-conf and --scale.
 */
#include "analyze/allocator/recorded_settings.h"
#include "render/page/core/opened.h"
#include "replay/trials/bound.h"
#include "replay/verify/follow.h"
#include "replay/verify/verify.h"
#include "replay/whatif/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 16384 };

struct question {
    const struct gm_snapshot *snapshot;
    struct gm_page_device *d;
    const char *query;
    struct gm_conf recorded;
    struct gm_whatif_options options;
    struct gm_refused refused;
    struct gm_text unknown; /* keys of the settings that are not known */
};

/* The settings that are asked for: the recorded ones, or a text in their place. */
static enum gm_status read_settings(struct question *q, struct gm_error *err)
{
    size_t length = 0;
    const char *text = gm_query_value(q->query, "conf", &length);
    q->recorded = gm_settings_recorded(q->snapshot, NULL);
    if (!q->snapshot->has_settings)
        q->recorded.expandable_segments = gm_follow_expandable_at_start(q->d->h, false);
    q->options.conf = q->recorded;
    if (text == NULL || (length == strlen("recorded") && memcmp(text, "recorded", length) == 0))
        return GM_OK;
    q->options.conf = gm_conf_default();
    q->options.conf.ties = q->recorded.ties;
    return gm_conf_parse(&q->options.conf, text, length, &q->unknown, err);
}

static uint64_t scaled(uint64_t bytes, double factor)
{
    const double product = (double)bytes * factor;
    const uint64_t rounded = product >= 0x1p60 ? UINT64_C(1) << 60 : (uint64_t)(product + 0.5);
    return rounded == 0 && bytes > 0 && factor > 0 ? 1 : rounded;
}

/* Other sizes of whole roles; NULL: none changes, or there is no memory, which *ok tells. */
static uint64_t *read_scales(const struct question *q, const struct gm_page_layers *roles, bool *ok)
{
    double factor[GM_PAGE_MOST_LAYERS];
    bool changes = false;
    for (uint32_t l = 0; l < roles->count; l++) {
        char key[32];
        snprintf(key, sizeof key, "scale.%u", (unsigned)l);
        factor[l] = fmax(gm_query_number(q->query, key, 1), 0);
        changes = changes || factor[l] != 1;
    }
    const struct gm_history *h = q->d->h;
    uint64_t *requested = changes ? calloc(h->allocation_count + 1, sizeof *requested) : NULL;
    *ok = !changes || requested != NULL;
    for (size_t a = 0; requested != NULL && a < h->allocation_count; a++) {
        const double by = factor[roles->of[a]];
        requested[a] = by == 1 ? gm_requested(h, a) : scaled(gm_requested(h, a), by);
    }
    return requested;
}

static struct gm_whatif_part *split(uint32_t events, uint32_t columns)
{
    struct gm_whatif_part *parts = gm_answer_memory(columns, sizeof *parts);
    for (uint32_t i = 0; parts != NULL && i < columns; i++) {
        parts[i].first = (uint32_t)((uint64_t)events * i / columns);
        parts[i].end = (uint32_t)((uint64_t)events * (i + 1) / columns);
    }
    return parts;
}

static void tell_curve(const struct gm_whatif_part *parts, uint32_t columns, const struct gm_whatif_result *r)
{
    uint32_t *first = gm_answer_add("column_first", GM_PAGE_U32, columns);
    uint32_t *end = gm_answer_add("column_end", GM_PAGE_U32, columns);
    double *reserved = gm_answer_add("column_reserved", GM_PAGE_F64, columns);
    double *allocated = gm_answer_add("column_allocated", GM_PAGE_F64, columns);
    for (uint32_t i = 0; i < columns && gm_answer_is_whole(); i++) {
        const bool is_played = i < r->parts_played;
        first[i] = parts[i].first;
        end[i] = parts[i].end;
        reserved[i] = is_played ? (double)parts[i].peak_reserved : (double)NAN;
        allocated[i] = is_played ? (double)parts[i].peak_allocated : (double)NAN;
    }
}

static void tell_failure(struct gm_opened *o, const struct gm_whatif_result *r)
{
    const struct gm_whatif_failure *f = &r->failure;
    const char *site = gm_names_site(&o->names, f->stack);
    gm_answer_u32("failed_event", f->is_at_start ? UINT32_MAX : f->event);
    gm_answer_number("failed_bytes", (double)f->requested);
    gm_answer_text("failed_site", site);
    gm_answer_text("why", f->why);
}

static void tell(struct gm_opened *o, const struct question *q, const struct gm_whatif_result *r)
{
    const struct gm_stats *stats = &r->stats;
    GM_FREED struct gm_text conf = {0};
    gm_conf_text(&conf, &q->options.conf);
    gm_answer_number("peak_reserved", (double)stats->reserved_bytes[GM_STAT_ALL].peak);
    gm_answer_number("peak_allocated", (double)stats->allocated_bytes[GM_STAT_ALL].peak);
    gm_answer_number("peak_requested", (double)stats->requested_bytes[GM_STAT_ALL].peak);
    gm_answer_u32("peak_event", r->peak.event);
    gm_answer_number("retries", (double)stats->num_alloc_retries);
    gm_answer_flag("has_failed", r->has_failed);
    if (r->has_failed)
        tell_failure(o, r);
    gm_answer_text("conf", conf.data);
    gm_answer_text("unknown", q->unknown.data);
}

static enum gm_status play(struct gm_opened *o, struct question *q, const struct gm_page_layers *roles,
                           uint32_t columns, struct gm_error *err)
{
    struct gm_whatif_result result = {0};
    struct gm_history *h = q->d->h;
    const double memory = gm_query_number(q->query, "memory", 0);
    bool ok;
    enum gm_status status = read_settings(q, err);
    if (status != GM_OK)
        return status;
    GM_FREED uint64_t *requested = read_scales(q, roles, &ok);
    q->options.capacity = memory >= 1 && memory < 0x1p62 ? (uint64_t)memory : UINT64_MAX;
    q->options.requested = requested;
    q->options.from_layout =
        requested == NULL && q->options.capacity == UINT64_MAX && gm_settings_equal(&q->options.conf, &q->recorded);
    q->options.parts = split((uint32_t)h->count, columns);
    q->options.part_count = columns;
    if (requested == NULL && gm_bound_refused(&q->refused, h, &q->recorded.rules))
        q->options.refused = &q->refused.request;
    status = ok && q->options.parts != NULL ? gm_verify_settle_pools(h, &q->recorded, err) : gm_no_memory(err);
    GM_THEN(status, gm_whatif(&result, h, &q->options, err));
    if (status == GM_OK) {
        tell_curve(q->options.parts, columns, &result);
        tell(o, q, &result);
    }
    return status;
}

const struct gm_page_result *gm_page_whatif(uint32_t handle, uint32_t device, const char *query, uint32_t columns)
{
    struct gm_opened *o;
    struct gm_error err;
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL)
        return NULL;
    if (d->h->count == 0)
        return gm_answer_refuse("it holds no trace of this device: there is nothing to replay");
    if (columns == 0 || columns > MOST_PARTS)
        return gm_answer_refuse("no such number of columns");
    const struct gm_page_layers *roles = gm_opened_layers(o, d, GM_PAGE_BY_ROLE);
    struct question q = {.snapshot = &o->snapshot, .d = d, .query = query};
    if (roles == NULL)
        return NULL;
    const enum gm_status status = play(o, &q, roles, columns, &err);
    gm_text_free(&q.unknown);
    return status == GM_OK ? gm_answer_end() : gm_answer_fail(&err);
}
