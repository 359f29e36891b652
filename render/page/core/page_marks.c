/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies along the axis: steps, phases and annotated ranges, peaks, requests that were refused.
 */
#include "render/page/core/opened.h"

#include <math.h>

static uint32_t moment_of(const struct gm_moment *moment)
{
    return moment->event == GM_REPORT_NONE ? 0 : (uint32_t)moment->event + 1;
}

static void tell_steps(const struct gm_steps *steps)
{
    const size_t n = steps->row_count;
    struct gm_answer_list names = {0};
    uint32_t *first = gm_answer_add("step_first", GM_PAGE_U32, n), *last = gm_answer_add("step_last", GM_PAGE_U32, n);
    uint32_t *event = gm_answer_add("step_peak_event", GM_PAGE_U32, n);
    double *peak = gm_answer_add("step_peak", GM_PAGE_F64, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        const struct gm_step_row *row = &steps->rows[i];
        gm_answer_put(&names, row->label);
        first[i] = (uint32_t)row->first_event;
        last[i] = (uint32_t)row->last_event;
        event[i] = row->peak_event == GM_REPORT_NONE ? UINT32_MAX : (uint32_t)row->peak_event;
        peak[i] = gm_answer_of(row->peak.active);
    }
    gm_answer_strings("step_name", &names);
}

static void tell_bands(const struct gm_steps *steps)
{
    const size_t n = steps->band_count;
    struct gm_answer_list names = {0};
    uint32_t *first = gm_answer_add("band_first", GM_PAGE_U32, n), *last = gm_answer_add("band_last", GM_PAGE_U32, n);
    uint32_t *depth = gm_answer_add("band_depth", GM_PAGE_U32, n);
    uint8_t *phase = gm_answer_add("band_phase", GM_PAGE_U8, n), *step = gm_answer_add("band_is_step", GM_PAGE_U8, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        const struct gm_band *band = &steps->bands[i];
        gm_answer_put(&names, band->name);
        first[i] = (uint32_t)band->first_event;
        last[i] = (uint32_t)band->last_event;
        depth[i] = band->depth;
        phase[i] = (uint8_t)band->phase;
        step[i] = band->is_step;
    }
    gm_answer_strings("band_name", &names);
}

static void tell_peaks(const struct gm_peak *requested, const struct gm_device_timeline *t)
{
    static const char *const names[] = {"requested", "allocated", "active", "reserved"};
    enum { KINDS = sizeof names / sizeof *names };
    const struct gm_moment first = {.event = requested->event};
    const struct gm_moment *const moments[KINDS] = {&first, &t->peak_allocated, &t->peak_active, &t->peak_reserved};
    const uint64_t levels[KINDS] = {requested->requested, t->peak_allocated.levels.allocated,
                                    t->peak_active.levels.active, t->peak_reserved.levels.reserved};
    struct gm_answer_list list = {0};
    uint32_t *moment = gm_answer_add("peak_moment", GM_PAGE_U32, KINDS);
    double *bytes = gm_answer_add("peak_bytes", GM_PAGE_F64, KINDS);
    for (int i = 0; i < KINDS && gm_answer_is_whole(); i++) {
        gm_answer_put(&list, names[i]);
        moment[i] = moment_of(moments[i]);
        bytes[i] = gm_answer_of(levels[i]);
    }
    gm_answer_strings("peak_name", &list);
    const size_t n = t->peak.next_count;
    uint32_t *next = gm_answer_add("next_moment", GM_PAGE_U32, n);
    double *next_bytes = gm_answer_add("next_bytes", GM_PAGE_F64, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        next[i] = moment_of(&t->peak.next[i].moment);
        next_bytes[i] = gm_answer_of(t->peak.next[i].moment.levels.requested);
    }
}

static void tell_refused(const struct gm_device_timeline *t)
{
    const size_t n = t->oom_count;
    struct gm_answer_list why = {0};
    uint32_t *event = gm_answer_add("oom_event", GM_PAGE_U32, n);
    double *asked = gm_answer_add("oom_asked", GM_PAGE_F64, n), *left = gm_answer_add("oom_free", GM_PAGE_F64, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        event[i] = (uint32_t)t->ooms[i].event;
        asked[i] = gm_answer_of(t->ooms[i].asked);
        left[i] = gm_answer_of(t->ooms[i].device_free);
        gm_answer_put(&why, t->ooms[i].verdict_detail);
    }
    gm_answer_strings("oom_why", &why);
}

const struct gm_page_result *gm_page_marks(uint32_t handle, uint32_t device)
{
    static const struct gm_device_timeline none;
    static const struct gm_peak no_peak = {.requested = GM_REPORT_NONE, .event = GM_REPORT_NONE};
    struct gm_opened *o;
    gm_answer_begin();
    const struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL)
        return NULL;
    const struct gm_device_timeline *t = d->timeline == NULL || d->h->count == 0 ? &none : d->timeline;
    const struct gm_peak *peaks = o->judged.report.peaks;
    tell_steps(&t->steps);
    tell_bands(&t->steps);
    tell_peaks(peaks == NULL || t == &none ? &no_peak : &peaks[device], t);
    tell_refused(t);
    return gm_answer_end();
}
