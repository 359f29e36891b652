/* SPDX-License-Identifier: Apache-2.0
 *
 * "out_of_memory" and "fragmentation_history" of analysis.json. Without a reconstruction nothing is known of what was
 * cached: null.
 */
#include "analyze/words/json_parts.h"
#include "analyze/words/oom.h"

/* Keys by reason: they are the enum's, spelt once and for all. */
static void add_unusable(struct gm_json *json, const uint64_t unusable[GM_UNUSABLE_COUNT])
{
    static const char *const keys[GM_UNUSABLE_COUNT] = {"hole_too_small", "wrong_stream", "wrong_pool", "whole_segment",
                                                        "fits"};
    gm_json_open_flat(json, "unusable_bytes", '{');
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        gm_json_number(json, keys[i], unusable[i]);
    gm_json_close(json, '}');
}

static void add_holes(struct gm_json *json, const struct gm_oom_row *oom)
{
    gm_json_open(json, "holes", '[');
    for (size_t i = 0; i < oom->hole_count; i++) {
        const struct gm_hole *hole = &oom->holes[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "bytes", hole->bytes);
        gm_json_string(json, "pinned_by", hole->pinned_by);
        gm_json_number(json, "pinned_by_bytes", hole->pinned_by == NULL ? GM_REPORT_NONE : hole->pinned_by_bytes);
        gm_json_number(json, "age_us", hole->pinned_by == NULL ? GM_REPORT_NONE : hole->age_us);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_grew(struct gm_json *json, const struct gm_oom_row *oom)
{
    gm_json_string(json, "grew_since", oom->grew_since);
    gm_json_open(json, "grew", '[');
    for (size_t i = 0; i < oom->grew_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "site", oom->grew[i].label);
        gm_json_string(json, "category", oom->grew[i].category);
        gm_json_number(json, "bytes", oom->grew[i].bytes);
        gm_json_number(json, "blocks", oom->grew[i].blocks);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_oom(struct gm_json *json, const struct gm_view *view, const struct gm_oom_row *oom)
{
    static const char *const verdicts[] = {NULL, "capacity", "fragmentation", "both"};
    gm_json_open(json, NULL, '{');
    gm_json_number(json, "event", oom->event);
    gm_json_number(json, "time_us", oom->time_us);
    gm_json_number(json, "asked_bytes", oom->asked);
    gm_json_number(json, "device_free_bytes", oom->device_free);
    gm_json_string(json, "pool", oom->pool);
    gm_json_signed(json, "stream", oom->stream);
    gm_json_string(json, "site", oom->site);
    gm_json_string(json, "verdict", verdicts[oom->verdict]);
    gm_json_string(json, "verdict_detail", oom->verdict_detail);
    gm_json_levels(json, "levels", gm_view_levels(view, oom->levels));
    gm_json_number(json, "pending_bytes", view->is_reconstructed ? oom->pending : GM_REPORT_NONE);
    gm_json_slices(json, "categories", oom->categories, oom->category_count, oom->levels.requested);
    gm_json_slices(json, "roles", oom->roles, oom->role_count, oom->levels.requested);
    if (view->is_reconstructed)
        add_unusable(json, oom->unusable);
    else
        gm_json_null(json, "unusable_bytes");
    gm_json_number(json, "largest_hole_bytes", view->is_reconstructed ? oom->largest_hole : GM_REPORT_NONE);
    add_holes(json, oom);
    add_grew(json, oom);
    gm_json_close(json, '}');
}

void gm_json_ooms(struct gm_json *json, const struct gm_view *view)
{
    gm_json_open(json, "out_of_memory", '[');
    for (size_t i = 0; i < view->timeline->oom_count; i++)
        add_oom(json, view, &view->timeline->ooms[i]);
    gm_json_close(json, ']');
}

static void add_samples(struct gm_json *json, const struct gm_fragmentation_history *h)
{
    gm_json_open(json, "samples", '[');
    for (size_t i = 0; i < h->sample_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "event", h->samples[i].event);
        gm_json_number(json, "time_us", h->samples[i].time_us);
        gm_json_number(json, "largest_free_bytes", h->samples[i].largest_free);
        gm_json_number(json, "cached_bytes", h->samples[i].cached);
        gm_json_number(json, "stranded_bytes", h->samples[i].stranded);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_growths(struct gm_json *json, const struct gm_fragmentation_history *h)
{
    gm_json_number(json, "growths", h->growth_total);
    gm_json_number(json, "growth_bytes", h->growth_bytes);
    gm_json_number(json, "growth_avoidable_bytes", h->growth_avoidable_bytes);
    gm_json_number(json, "growths_avoidable", h->growths_avoidable);
    gm_json_number(json, "growths_examined", h->growths_examined);
    gm_json_open(json, "largest_growths", '[');
    for (size_t i = 0; i < h->growth_count; i++) {
        const struct gm_growth_row *g = &h->growths[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "event", g->event);
        gm_json_number(json, "time_us", g->time_us);
        gm_json_number(json, "bytes", g->bytes);
        gm_json_number(json, "asked_bytes", g->asked);
        gm_json_string(json, "pool", g->pool);
        gm_json_signed(json, "stream", g->stream);
        gm_json_string(json, "site", g->site);
        gm_json_number(json, "cached_bytes", g->cached);
        add_unusable(json, g->unusable);
        gm_json_number(json, "largest_hole_bytes", g->largest_hole);
        gm_json_number(json, "pending_bytes", g->pending);
        gm_json_bool(json, "is_first", g->is_first);
        gm_json_bool(json, "is_retry", g->is_retry);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_pinners(struct gm_json *json, const struct gm_fragmentation_history *h)
{
    gm_json_open(json, "pinners", '[');
    for (size_t i = 0; i < h->pinner_count; i++) {
        const struct gm_pinner_row *p = &h->pinners[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_number(json, "pinned_bytes", p->pinned_bytes);
        gm_json_number(json, "bytes", p->bytes);
        gm_json_number(json, "requested_bytes", p->requested);
        gm_json_number(json, "address", p->address);
        gm_json_string(json, "site", p->site);
        gm_json_string(json, "category", p->category);
        gm_json_number(json, "event", p->event);
        gm_json_number(json, "age_events", p->age_events);
        gm_json_number(json, "age_us", p->age_us);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_stats(struct gm_json *json, const char *key, const struct gm_site_stat *rows, size_t count,
                      bool is_churn)
{
    gm_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "site", rows[i].site);
        gm_json_string(json, "category", rows[i].category);
        gm_json_number(json, is_churn ? "allocs" : "blocks", rows[i].allocs);
        gm_json_number(json, "bytes", rows[i].bytes);
        if (is_churn) {
            gm_json_number(json, "temporary_allocs", rows[i].temporary_allocs);
            gm_json_number(json, "median_life_us", rows[i].median_life_us);
        } else {
            gm_json_number(json, "waste_bytes", rows[i].waste);
        }
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_json_history(struct gm_json *json, const struct gm_view *view)
{
    const struct gm_fragmentation_history *h = &view->timeline->fragmentation;
    if (!view->is_reconstructed) {
        gm_json_null(json, "fragmentation_history");
        return;
    }
    gm_json_open(json, "fragmentation_history", '{');
    gm_json_number(json, "driver_allocs", h->driver_allocs);
    gm_json_number(json, "driver_frees", h->driver_frees);
    gm_json_number(json, "driver_cycles", h->driver_cycles);
    gm_json_number(json, "retries", h->retries);
    add_growths(json, h);
    add_samples(json, h);
    add_pinners(json, h);
    gm_json_number(json, "rounding_bytes", h->rounding_bytes);
    add_stats(json, "rounding", h->rounding, h->rounding_count, false);
    gm_json_number(json, "temporary_allocs", h->temporary_allocs);
    gm_json_number(json, "temporary_bytes", h->temporary_bytes);
    add_stats(json, "churn", h->churn, h->churn_count, true);
    gm_json_close(json, '}');
}
