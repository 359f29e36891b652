/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: running out of memory. What was asked for, where every byte was, and why no cached one would do.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/oom.h"
#include "analyze/document/sites.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 3, HOLES = 8, GREW = 8, CATEGORIES = 8 };

static void add_request(struct gm_text *out, const struct gm_view *v, const struct gm_oom_row *oom)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], stream[GM_STREAM_TEXT];
    gm_text_paragraph(out, 4, "Asked for %s (rounded)%s%s, stream %s%s%s.", gm_bytes_format(a, oom->asked),
                      oom->pool != NULL ? ", pool " : "", oom->pool != NULL ? oom->pool : "",
                      gm_stream_format(stream, v, oom->stream), oom->site != NULL ? ", at " : "",
                      oom->site != NULL ? oom->site : "");
    gm_text_paragraph(out, 4, "The device had %s free; the largest hole of that pool and stream was %s.",
                      oom->device_free == GM_REPORT_NONE ? "an unknown number of bytes"
                                                         : gm_bytes_format(b, oom->device_free),
                      v->is_reconstructed ? gm_bytes_format(a, oom->largest_hole) : "not known");
    gm_text_paragraph(out, 4, "Verdict: %s. %s", gm_oom_verdict_name(oom->verdict),
                      oom->verdict_detail != NULL ? oom->verdict_detail : "");
}

static void add_byte_row(struct gm_text *out, char sign, const char *name, uint64_t bytes, uint64_t whole)
{
    gm_text_printf(out, "    %c %-40s", sign, name);
    gm_text_size(out, bytes, 12);
    gm_text_percent(out, bytes, whole);
    gm_text_add_char(out, '\n');
}

/* Every reserved byte. */
static void add_bytes(struct gm_text *out, const struct gm_view *v, const struct gm_oom_row *oom)
{
    const struct gm_levels l = gm_view_levels(v, oom->levels);
    gm_text_printf(out, "\n    %-42s%12s%8s\n", "Where every byte was", "size", "share");
    add_byte_row(out, ' ', "live, requested", l.requested, l.reserved);
    if (v->is_reconstructed) {
        add_byte_row(out, '+', "live, rounding", gm_less(l.active, l.requested), l.reserved);
        for (int i = 0; i < GM_UNUSABLE_COUNT; i++) {
            char name[64];
            snprintf(name, sizeof name, "cached: %s", gm_unusable_name((enum gm_unusable)i));
            if (oom->unusable[i] > 0)
                add_byte_row(out, '+', name, oom->unusable[i], l.reserved);
        }
        const uint64_t lacking = gm_oom_not_attributed(v, oom);
        if (lacking > 0)
            add_byte_row(out, '+', "cached: not attributed", lacking, l.reserved);
    }
    add_byte_row(out, '=', "reserved", l.reserved, l.reserved);
    if (v->is_reconstructed)
        add_byte_row(out, ' ', "of it live but freed (pending a stream)", oom->pending, l.reserved);
    else
        gm_text_paragraph(out, 6, "What was cached, and why, is not known: %s.", gm_text_reason(v));
}

static void add_holes(struct gm_text *out, const struct gm_oom_row *oom)
{
    size_t n = oom->hole_count < HOLES ? oom->hole_count : HOLES;
    if (n == 0)
        return;
    gm_text_add(out, "\n    The largest holes that did not fit, and the live block that bounds each\n");
    gm_text_printf(out, "    %11s%13s%14s  %s\n", "hole", "block", "age", "made in");
    for (size_t i = 0; i < n; i++) {
        const struct gm_hole *hole = &oom->holes[i];
        char age[GM_NUMBER_TEXT];
        gm_text_size(out, hole->bytes, 15);
        if (hole->pinned_by == NULL) {
            gm_text_add(out, "            -             -  (ends of its segment)\n");
            continue;
        }
        gm_text_size(out, hole->pinned_by_bytes, 13);
        gm_columns_cell(out, gm_duration_format(age, hole->age_us), 14, GM_CELL_RIGHT);
        gm_text_add(out, "  ");
        gm_site_row(out, hole->pinned_by, GM_LINE - 44);
        gm_text_add_char(out, '\n');
    }
    if (n < oom->hole_count)
        gm_text_printf(out, "    %zu more in analysis.json\n", oom->hole_count - n);
}

static void add_grew(struct gm_text *out, const struct gm_oom_row *oom)
{
    size_t n = oom->grew_count < GREW ? oom->grew_count : GREW;
    if (n == 0)
        return;
    gm_text_add_char(out, '\n');
    gm_text_paragraph(out, 4, "Who grew %s", oom->grew_since != NULL ? oom->grew_since : "last");
    gm_text_printf(out, "    %11s%10s  %s\n", "by", "blocks", "made in");
    for (size_t i = 0; i < n; i++) {
        gm_text_size(out, oom->grew[i].bytes, 15);
        gm_text_count(out, oom->grew[i].blocks, 10);
        gm_text_add(out, "  ");
        gm_site_row(out, oom->grew[i].label, GM_LINE - 27);
        gm_text_add_char(out, '\n');
    }
    if (n < oom->grew_count)
        gm_text_printf(out, "    %zu more in analysis.json\n", oom->grew_count - n);
}

static void add_oom(struct gm_text *out, const struct gm_view *v, const struct gm_oom_row *oom)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_paragraph(out, 2, "At event %s (%s)", gm_count_format(a, oom->event), gm_since_format(b, v, oom->time_us));
    add_request(out, v, oom);
    add_bytes(out, v, oom);
    if (oom->category_count > 0) {
        gm_text_add_char(out, '\n');
        gm_text_slices(out, "  Live then, by category", oom->categories, oom->category_count, CATEGORIES,
                       oom->levels.requested);
    }
    if (oom->role_count > 0) {
        gm_text_add_char(out, '\n');
        gm_text_slices(out, "  by role", oom->roles, oom->role_count, SIZE_MAX - 1, oom->levels.requested);
    }
    add_holes(out, oom);
    add_grew(out, oom);
}

static void add_ooms(struct gm_text *out, const struct gm_report *report, const struct gm_view *v)
{
    (void)report;
    uint64_t all = v->device->trace.ooms;
    size_t listed = v->timeline->oom_count, n = listed < SHOWN ? listed : SHOWN;
    char a[GM_NUMBER_TEXT];
    if (all == 0) {
        gm_text_add(out, "  Never.\n");
        return;
    }
    gm_text_paragraph(out, 2, "%s allocation%s failed.%s", gm_count_format(a, all), gm_plural(all),
                      n == 0 ? " Where the bytes were then is not known." : "");
    for (size_t i = 0; i < n; i++) {
        gm_text_add_char(out, '\n');
        add_oom(out, v, &v->timeline->ooms[i]);
    }
    if (n > 0 && n < all)
        gm_text_printf(out, "\n  %s more%s\n", gm_count_format(a, all - n),
                       n < listed ? ", the next ones in analysis.json" : "");
}

void gm_text_ooms(struct gm_text *out, const struct gm_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++)
        any = any || report->devices[i].trace.ooms > 0;
    if (any)
        gm_text_views(out, report, "OUT OF MEMORY", add_ooms);
}
