/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes explained by a transformer's dimensions, and what one of these should need.
 */
#include "analyze/document/sections.h"

#include <math.h>

enum { SIZES = 20 /* that people are shown */ };

GM_CELL(s, source_of, struct gm_dim_row, row,
        row->is_given         ? "given"
        : row->source != NULL ? row->source
                              : "of the others");

GM_CELL(s, shown_percent, struct gm_need_row, row,
        isnan(row->percent) ? NULL : gm_doc_printf(c->doc, "%+.1f %%", row->percent));

static void tell_dims(struct gm_doc *d, const struct gm_dims_report *r)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_ALL, "name", "Dimension", struct gm_dim_row, name),
        GM_FIELD(GM_COUNT, GM_ALL, "value", "Value", struct gm_dim_row, value),
        GM_KEY(GM_BOOL, "is_given", struct gm_dim_row, is_given),
        GM_GET(GM_TEXT, GM_ALL, "source", "From", source_of),
    };
    GM_TABLE(d, columns, r->dims, r->dim_count, .key = "values");
    if (r->dim_count == 0)
        gm_doc_tell(d, "No sizes look like a transformer's: --dims batch=..,seq=..,hidden=..,... says what they are.");
}

static void tell_needs(struct gm_doc *d, const struct gm_dims_report *r)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_ALL, "name", "Should need", struct gm_need_row, name),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Needed", struct gm_need_row, bytes),
        GM_FIELD(GM_BYTES, GM_ALL, "measured_bytes", "Measured", struct gm_need_row, measured),
        GM_GET(GM_FIGURE, GM_READ | GM_BLANK, NULL, "Differs", shown_percent),
        GM_KEY(GM_DELTA, "difference_bytes", struct gm_need_row, difference),
        GM_KEY(GM_REAL, "difference_percent", struct gm_need_row, percent),
        GM_FIELD(GM_NAME, GM_ALL | GM_UNDER, "formula", "Formula", struct gm_need_row, formula),
        GM_FIELD(GM_TEXT, GM_ALL | GM_UNDER | GM_BLANK, "remark", "Remark", struct gm_need_row, remark),
    };
    GM_TABLE(d, columns, r->needs, r->need_count, .key = "needs");
    if (r->missing != NULL)
        gm_doc_tell(d, "What it should need is not known without %s: --dims says these.", r->missing);
    else
        gm_doc_tell(d,
                    "Measured is the most at any moment of the trace, of activations without logits. No biases and no "
                    "dropout are in the formulas.%s%s",
                    r->doubt == NULL ? "" : " ", r->doubt == NULL ? "" : r->doubt);
}

static void tell_sizes(struct gm_doc *d, const struct gm_dims_report *r)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_READ, NULL, "One", struct gm_size_row, bytes),
        GM_KEY(GM_COUNT, "bytes", struct gm_size_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks_at_peak", "Blocks", struct gm_size_row, blocks),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes_at_peak", "Together", struct gm_size_row, total),
        GM_KEY(GM_COUNT, "made", struct gm_size_row, made),
        GM_FIELD(GM_TEXT, GM_ALL, "role", "Mostly", struct gm_size_row, role),
        GM_FIELD(GM_NAME, GM_ALL | GM_UNDER | GM_BLANK, "formula", "Is", struct gm_size_row, formula),
        GM_KEY(GM_COUNT, "other_formulas", struct gm_size_row, others),
        GM_FIELD(GM_TEXT, GM_ALL | GM_UNDER | GM_BLANK, "meaning", "Such as", struct gm_size_row, meaning),
    };
    gm_doc_tell(d, "Of the peak's requested bytes, %s %% are in blocks whose size is a product of these dimensions:",
                gm_doc_share(d, r->explained, r->peak));
    GM_TABLE(d, columns, r->sizes, r->size_count, .key = "sizes", .txt_max = SIZES, .md_max = SIZES);
}

void gm_section_dims(struct gm_doc *d, const struct gm_view *v)
{
    static const struct gm_column keys[] = {
        GM_KEY(GM_BYTES, "explained_bytes", struct gm_dims_report, explained),
        GM_KEY(GM_BYTES, "peak_requested_bytes", struct gm_dims_report, peak),
        GM_KEY(GM_TEXT, "missing", struct gm_dims_report, missing),
        GM_KEY(GM_TEXT, "doubt", struct gm_dims_report, doubt),
    };
    const struct gm_dims_report *r = v->timeline->dims;
    if (r == NULL)
        return;
    gm_doc_open(d, "dims", NULL);
    GM_FIELDS(d, keys, r, NULL);
    tell_dims(d, r);
    tell_needs(d, r);
    tell_sizes(d, r);
    gm_doc_close(d);
}
