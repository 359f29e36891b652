/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/sections.h"

#include <inttypes.h>

static void tell(struct gm_doc *d, const struct gm_view *v, void (*section)(struct gm_doc *d, const struct gm_view *v))
{
    d->origin_us = v->timeline->books.first_time_us;
    section(d, v);
}

void gm_section_of_views(struct gm_doc *d, const struct gm_report *report, const char *title,
                         void (*section)(struct gm_doc *d, const struct gm_view *v),
                         bool (*is_worth)(const struct gm_view *v))
{
    struct gm_view v;
    if (!gm_view_highest(&v, report) || (gm_doc_is(d, GM_MD) && is_worth != NULL && !is_worth(&v)))
        return;
    const bool are_several = gm_view_count(report) > 1;
    gm_doc_fold(d, NULL, title);
    if (gm_doc_is(d, GM_MD))
        tell(d, &v, section);
    for (size_t i = 0; gm_doc_is(d, GM_TXT) && i < report->device_count; i++) {
        if (!gm_view_of(&v, report, i))
            continue;
        if (are_several)
            gm_doc_open(d, NULL, gm_doc_printf(d, "Device %" PRId64, v.device->device));
        tell(d, &v, section);
        if (are_several)
            gm_doc_close(d);
    }
    gm_doc_close(d);
}

void gm_section_of_ooms(struct gm_doc *d, const struct gm_report *report)
{
    struct gm_view v;
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++) {
        if (!gm_view_of(&v, report, i) || v.device->trace.ooms == 0)
            continue;
        if (!any)
            gm_doc_open(d, NULL, "Out of memory");
        any = true;
        if (report->device_count > 1)
            gm_doc_open(d, NULL, gm_doc_printf(d, "Device %" PRId64, v.device->device));
        tell(d, &v, gm_section_ooms);
        if (report->device_count > 1)
            gm_doc_close(d);
    }
    if (any)
        gm_doc_close(d);
}

/* ---- slices --------------------------------------------------------------------------------------------------------
 */

static union gm_value slice_share(const struct gm_cell_of *c)
{
    return (union gm_value){.share = {((const struct gm_slice *)c->row)->bytes, *(const uint64_t *)c->of}};
}

void gm_section_slices(struct gm_doc *d, const char *title, const struct gm_slice *slices, size_t count, size_t most,
                       uint64_t whole)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct gm_slice, name),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Size", struct gm_slice, bytes),
        GM_FIELD(GM_COUNT, GM_READ, NULL, "Blocks", struct gm_slice, blocks),
        GM_GET(GM_SHARE, GM_READ, NULL, "Share", slice_share),
    };
    struct gm_slice rest = {.bytes = 0}, lacking = {.name = "not attributed", .blocks = GM_REPORT_NONE};
    uint64_t sum = 0;
    if (most == 0 || count <= most + 1) /* a row for one other would say less than that one */
        most = count;
    for (size_t i = 0; i < count; i++) {
        sum = gm_plus(sum, slices[i].bytes);
        rest.bytes = i < most ? 0 : gm_plus(rest.bytes, slices[i].bytes);
        rest.blocks = i < most ? 0 : gm_plus(rest.blocks, slices[i].blocks);
    }
    rest.name = gm_doc_printf(d, "%zu smaller", count - most);
    lacking.bytes = gm_less(whole, sum);
    struct gm_slice feet[2] = {rest, lacking};
    const size_t first = count > most ? 0 : 1, end = lacking.bytes == GM_REPORT_NONE || lacking.bytes == 0 ? 1 : 2;
    gm_doc_table(d, &(struct gm_table){.title = title,
                                       .in = GM_READ,
                                       GM_COLUMNS(columns),
                                       GM_ROWS(slices, most),
                                       .feet = feet + first,
                                       .foot_count = count == 0 ? 0 : end - first,
                                       .of = &whole});
}
