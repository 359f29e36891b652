/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/verify.h"
#include "replay/whatif/whatif_private.h"

#include <stdlib.h>

static bool has_sound_layout(const struct gm_history *h)
{
    const struct gm_events *e = &h->snapshot->events;
    const struct gm_segments *s = &h->snapshot->segments;
    uint64_t most = UINT64_C(1) << 61;
    for (size_t i = 0; i < s->count; i++)
        if (s->device[i] == h->device && (s->address[i] > most || s->total_size[i] > most - s->address[i]))
            return false;
    for (size_t i = 0; i < h->segment_count; i++) {
        size_t row = h->first + h->segments[i].event;
        if (gm_event_addr(e, row) > most || gm_event_size(e, row) > most - gm_event_addr(e, row))
            return false;
    }
    return h->is_reconstructed;
}

static bool start_from_layout(struct gm_playing *w)
{
    uint64_t learnt;
    uint32_t *ages, count;
    if (gm_verify_ages(w->h, &w->options->conf, &ages, &count, NULL) != GM_OK)
        return false;
    bool ok = gm_follow_adopt(&w->follow, true, &learnt);
    if (ok && ages != NULL && count <= w->model.next_age)
        gm_allocator_renumber(&w->model, ages, count);
    free(ages);
    if (!ok || w->model.has_no_memory)
        return false;
    gm_playing_repeat_places(w);
    return true;
}

static bool start_from_requests(struct gm_playing *w)
{
    struct gm_history *h = w->h;
    size_t n;
    GM_FREED struct gm_placed *list = gm_follow_requests_at_start(h, &n);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n && !w->result->has_failed && !w->model.has_failed; i++) {
        uint32_t a = list[i].allocation;
        if (gm_playing_request(w, a) == 0 || (w->away != NULL && w->away[a] > 0))
            continue;
        uint32_t stream = gm_playing_stream(w, gm_history_stream(h, a).v);
        ok = !w->model.has_no_memory;
        if (ok && (w->follow.block_of[a] = gm_playing_ask(w, a, stream, w->options->hooks)) == GM_SPACE_NONE)
            gm_playing_fail_alloc(w, 0, a, true);
        else if (ok && gm_let_go(h, a) == 0) {
            gm_allocator_free_requested(&w->model, w->follow.block_of[a]);
            gm_playing_tell_let_go(w, a, w->follow.block_of[a]);
        }
    }
    gm_stats_begin_peaks(&w->model.stats); /* what is pending was allocated for a moment: not in the trace */
    return ok;
}

bool gm_playing_start(struct gm_playing *w)
{
    struct gm_whatif_result *r = w->result;
    r->from_layout =
        w->options->from_layout && w->options->device == NULL && w->options->hooks == NULL && has_sound_layout(w->h);
    bool *is_custom = gm_follow_custom_pools(w->h, gm_follow_expandable_since(w->h));
    w->home = is_custom == NULL ? NULL : gm_follow_homes(&w->model, w->h, is_custom);
    free(is_custom);
    if (w->home == NULL || w->model.has_no_memory || !(r->from_layout ? start_from_layout(w) : start_from_requests(w)))
        return false;
    for (size_t i = 0; i < w->h->other_count; i++) {
        const uint32_t a = w->h->others[i].allocation;
        r->start_blocks += w->h->born[a] == 0 && w->follow.block_of[a] != GM_SPACE_NONE;
    }
    r->start_bytes = w->start_active = w->peak_active = r->start_bytes_at_peak = w->model.space.active;
    r->start_reserved = w->model.total;
    struct gm_level_now levels = gm_playing_levels(w, w->options->hooks);
    gm_playing_note_peak(w, &levels, GM_NEVER);
    w->counts = true;
    for (uint32_t a = 0; w->options->class_count > 0 && a < w->h->allocation_count; a++)
        if (w->h->born[a] == 0 && w->follow.block_of[a] != GM_SPACE_NONE)
            gm_playing_count(w, a, w->model.requested.v[w->follow.block_of[a]]);
    gm_playing_note_classes(w);
    return true;
}
