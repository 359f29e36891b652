/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies along the axis: steps, phases and annotated ranges, requests that were refused.
 */
#include "render/page/core/opened.h"

static void tell_steps(const struct gm_steps *steps)
{
    const size_t n = steps->row_count;
    struct gm_answer_list names = {0};
    uint32_t *first = gm_answer_add("step_first", GM_PAGE_U32, n), *last = gm_answer_add("step_last", GM_PAGE_U32, n);
    uint32_t *event = gm_answer_add("step_peak_event", GM_PAGE_U32, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        const struct gm_step_row *row = &steps->rows[i];
        gm_answer_put(&names, row->label);
        first[i] = (uint32_t)row->first_event;
        last[i] = (uint32_t)row->last_event;
        event[i] = row->peak_event == GM_REPORT_NONE ? UINT32_MAX : (uint32_t)row->peak_event;
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

static void tell_refused(const struct gm_device_timeline *t)
{
    uint32_t *event = gm_answer_add("oom_event", GM_PAGE_U32, t->oom_count);
    for (size_t i = 0; i < t->oom_count && event != NULL; i++)
        event[i] = (uint32_t)t->ooms[i].event;
}

const struct gm_page_result *gm_page_marks(uint32_t handle, uint32_t device)
{
    static const struct gm_device_timeline none;
    const struct gm_page_device *d = gm_opened_device(handle, device, NULL);
    if (d == NULL)
        return NULL;
    const struct gm_device_timeline *t = d->timeline == NULL || d->h->count == 0 ? &none : d->timeline;
    tell_steps(&t->steps);
    tell_bands(&t->steps);
    tell_refused(t);
    return gm_answer_end();
}
