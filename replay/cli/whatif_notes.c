/* SPDX-License-Identifier: Apache-2.0
 *
 * What a reader of a what-if might take for granted, and is not so here: settings that do nothing, and what of the
 * recording is decided anew.
 */
#include "analyze/document/columns.h"
#include "analyze/document/json_out.h"
#include "analyze/document/numbers.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/trials/bound.h"
#include "replay/verify/follow.h"

#include <inttypes.h>

struct notes {
    struct gm_text *text; /* or */
    struct gm_json *json;
};

static void put(const struct notes *to, const struct gm_text *note)
{
    const char *words = note->length == 0 ? "" : note->data;
    if (to->json != NULL) {
        gm_json_string(to->json, NULL, words);
        to->json->out->failed |= note->failed;
    } else if (to->text != NULL) {
        gm_text_add(to->text, "note: ");
        gm_columns_wrap(to->text, words, 6);
        to->text->failed |= note->failed;
    }
}

static void note_settings(const struct notes *to, const struct gm_replay_run *run)
{
    bool is_bounded = gm_replay_is_bounded(run) || gm_replay_on_gpu(run->options);
    bool has_fraction = run->conf.memory_fraction < 1;
    bool has_gc = run->conf.gc_threshold > 0;
    struct gm_text note = {0};
    if (has_fraction && !is_bounded)
        gm_text_printf(&note,
                       "per_process_memory_fraction limits nothing here%s: memory is unlimited (--memory and "
                       "--gpu say how much there is)",
                       has_gc ? ", and garbage_collection_threshold does nothing" : "");
    else if (has_gc && !has_fraction)
        gm_text_add(&note, "garbage_collection_threshold does nothing here: it takes a memory fraction "
                           "(per_process_memory_fraction)");
    if (note.length > 0)
        put(to, &note);
    gm_text_free(&note);
    if (run->conf.reserve_fraction > 0 && run->conf.expandable_segments && !is_bounded) {
        gm_text_add(&note, "expandable_segments_reserve is a part of the device's memory, which is unlimited here "
                           "(--memory and --gpu say how much there is): reservations are, too");
        put(to, &note);
        gm_text_free(&note);
    }
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

static void note_refused(struct gm_text *note, const struct gm_replay_device *device)
{
    const struct gm_refused *r = &device->refused;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT], d[GM_NUMBER_TEXT];
    gm_text_printf(note,
                   "on device %" PRId64
                   " the recording ended out of memory (event %s): %s were refused with %s in use. "
                   "What would have come after it is not known: the program needs at least %s",
                   device->whatif.device, gm_count_format(d, r->request.event), gm_bytes_format(a, r->size),
                   gm_bytes_format(b, r->in_use), gm_bytes_format(c, r->needs));
}

static void note_device(const struct notes *to, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    struct gm_text note = {0};
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (run->options->alloc_conf == NULL && is_switched(h, device->conf.expandable_segments)) {
        gm_text_printf(&note,
                       "on device %" PRId64 " expandable_segments was not always %s in the recording, as it is here",
                       device->whatif.device, device->conf.expandable_segments ? "on" : "off");
        put(to, &note);
        gm_text_free(&note);
    }
    if (device->was_refused) {
        note_refused(&note, device);
        put(to, &note);
        gm_text_free(&note);
    }
    uint64_t times = device->whatif.recorded_releases;
    if (times > 0 && !gm_replay_is_bounded(run) && !gm_replay_on_gpu(run->options)) {
        gm_text_printf(&note,
                       "on device %" PRId64 " recorded requests made the allocator give memory back, %s time%s; with "
                       "unlimited memory none does. Recorded peak: %s reserved",
                       device->whatif.device, gm_count_format(a, times), gm_plural(times),
                       gm_bytes_format(b, gm_bound_recorded(h)));
        put(to, &note);
    }
    gm_text_free(&note);
}

static void put_all(const struct notes *to, const struct gm_replay_run *run)
{
    if (run->options->verify)
        return;
    if (run->options->backend != GM_REPLAY_CUDA_ASYNC) /* that has no settings */
        note_settings(to, run);
    for (size_t i = 0; i < run->device_count; i++)
        note_device(to, run, i);
}

void gm_replay_note_words(struct gm_text *out, const struct gm_replay_run *run)
{
    put_all(&(struct notes){.text = out}, run);
}

void gm_replay_note_json(struct gm_json *json, const struct gm_replay_run *run)
{
    gm_json_open(json, "notes", '[');
    put_all(&(struct notes){.json = json}, run);
    gm_json_close(json, ']');
}
