/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of a what-if might take for granted, and is not so here: settings that do nothing, and what of the
 * recording is decided anew.
 */
#include "analyze/document/columns.h"
#include "analyze/report/numbers.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/trials/bound.h"

#include <inttypes.h>

static void put(struct gm_doc *doc, const char *note)
{
    if (gm_doc_is(doc, GM_JSON)) {
        gm_json_string(&doc->json, NULL, note);
        return;
    }
    gm_text_add(doc->out, "note: ");
    gm_columns_wrap(doc->out, note, 6);
}

static void note_settings(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const bool is_bounded = gm_replay_is_bounded(run) || gm_replay_on_gpu(run->options);
    const bool has_fraction = run->conf.memory_fraction<1, has_gc = run->conf.gc_threshold> 0;
    if (has_fraction && !is_bounded)
        put(doc, gm_doc_printf(doc,
                               "per_process_memory_fraction limits nothing here%s: memory is unlimited (--memory and "
                               "--gpu say how much there is)",
                               has_gc ? ", and garbage_collection_threshold does nothing" : ""));
    else if (has_gc && !has_fraction)
        put(doc, "garbage_collection_threshold does nothing here: it takes a memory fraction "
                 "(per_process_memory_fraction)");
    if (run->conf.reserve_fraction > 0 && run->conf.expandable_segments && !is_bounded)
        put(doc, "expandable_segments_reserve is a part of the device's memory, which is unlimited here "
                 "(--memory and --gpu say how much there is): reservations are, too");
}

/* The option is replayed with one value; growths show whether it was recorded with another one, too. */
static bool is_switched(const struct gm_history *h, bool is_on)
{
    for (size_t i = 0; i < h->segment_count; i++) {
        const struct gm_history_pool *p = &h->pools[h->segments[i].pool];
        uint8_t action = h->snapshot->events.action[h->first + h->segments[i].event];
        if (is_on ? action == GM_ACTION_SEGMENT_ALLOC && gm_history_pool_is_said_default(p)
                  : action == GM_ACTION_SEGMENT_MAP)
            return true;
    }
    return false;
}

static void note_device(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    const struct gm_refused *r = &device->refused;
    const int64_t number = device->whatif.device;
    const uint64_t times = device->whatif.recorded_releases;
    if (run->options->alloc_conf == NULL && is_switched(h, device->conf.expandable_segments))
        put(doc, gm_doc_printf(
                     doc, "on device %" PRId64 " expandable_segments was not always %s in the recording, as it is here",
                     number, device->conf.expandable_segments ? "on" : "off"));
    if (device->was_refused)
        put(doc, gm_doc_printf(doc,
                               "on device %" PRId64
                               " the recording ended out of memory (event %s): %s were refused with %s in use. "
                               "What would have come after it is not known: the program needs at least %s",
                               number, gm_doc_count(doc, r->request.event), gm_doc_bytes(doc, r->size),
                               gm_doc_bytes(doc, r->in_use), gm_doc_bytes(doc, r->needs)));
    if (times > 0 && !gm_replay_is_bounded(run) && !gm_replay_on_gpu(run->options))
        put(doc, gm_doc_printf(
                     doc,
                     "on device %" PRId64 " recorded requests made the allocator give memory back, %s time%s; with "
                     "unlimited memory none does. Recorded peak: %s reserved",
                     number, gm_doc_count(doc, times), gm_plural(times), gm_doc_bytes(doc, gm_bound_recorded(h))));
}

void gm_replay_notes(struct gm_doc *doc, const struct gm_replay_run *run)
{
    if (gm_doc_is(doc, GM_JSON))
        gm_json_open(&doc->json, "notes", '[');
    if (!run->options->verify && run->options->backend != GM_REPLAY_CUDA_ASYNC) /* that has no settings */
        note_settings(doc, run);
    for (size_t i = 0; !run->options->verify && i < run->device_count; i++)
        note_device(doc, run, i);
    if (gm_doc_is(doc, GM_JSON))
        gm_json_close(&doc->json, ']');
}
