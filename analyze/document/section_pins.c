/* SPDX-License-Identifier: Apache-2.0
 *
 * The live blocks that pin cached memory at the end, and how large blocks are. JSON has pins in "fragmentation".
 */
#include "analyze/document/sections.h"

#include <string.h>

enum { PINS = 10 };

/* Pins that are alike as one row. */
struct pin {
    const struct gm_pin_row *pin;
    size_t count;    /* blocks in one segment or page range that have one size, share, category and site */
    uint64_t pinned; /* by all of them, saturated */
    uint64_t range, sharers;
    const char *category, *site;
};

static bool are_equal(const struct gm_pin_row *a, const struct gm_pin_row *b)
{
    return a->segment_address == b->segment_address && a->segment_bytes == b->segment_bytes &&
           a->pinned_bytes == b->pinned_bytes && a->sharers == b->sharers && a->block.bytes == b->block.bytes &&
           a->block.device == b->block.device && strcmp(a->block.category, b->block.category) == 0 &&
           strcmp(a->block.site, b->block.site) == 0;
}

static struct pin pin_of(const struct gm_fragmentation *f, size_t first)
{
    const struct gm_pin_row *pin = &f->pins[first];
    struct pin row = {pin, 0, 0, pin->segment_bytes, pin->sharers, pin->block.category, pin->block.site};
    for (; first + row.count < f->pin_count && are_equal(pin, &pin[row.count]); row.count++)
        row.pinned = gm_plus(row.pinned, pin[row.count].pinned_bytes);
    return row;
}

GM_CELL(s, pin_blocks, struct pin, p, gm_doc_each(c->doc, p->count, p->pin->block.bytes));

void gm_section_pins(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Pinned", struct pin, pinned),
        GM_GET(GM_FIGURE, GM_READ, NULL, "Blocks", pin_blocks),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Range", struct pin, range),
        GM_FIELD(GM_COUNT, GM_READ, NULL, "Sharers", struct pin, sharers),
        GM_FIELD(GM_TEXT, GM_MD, NULL, "Category", struct pin, category),
        GM_FIELD(GM_SITE, GM_READ, NULL, "Made in", struct pin, site),
    };
    const struct gm_fragmentation *f = &report->fragmentation;
    struct pin *rows = gm_doc_rows(d, f->pin_count, sizeof *rows);
    size_t n = 0;
    if (rows == NULL || f->pin_count == 0)
        return;
    for (size_t i = 0; i < f->pin_count; i += rows[n++].count)
        rows[n] = pin_of(f, i);
    gm_doc_fold(d, NULL, "Live blocks that keep the most cached memory from being released");
    gm_doc_tell(d,
                "By the share of one block. Pinned: their share in what the range strands; sharers: all live blocks in "
                "it. A range is a segment, or whole pages of an expandable one.");
    GM_TABLE(d, columns, rows, n, .txt_max = PINS, .md_max = PINS);
    gm_doc_close(d);
}

void gm_section_histogram(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_TXT, NULL, "Size", struct gm_histogram_bin, label),
        GM_KEY(GM_BYTES, "from_bytes", struct gm_histogram_bin, from),
        GM_KEY(GM_BYTES, "to_bytes", struct gm_histogram_bin, to), /* null: no upper end */
        GM_FIELD(GM_COUNT, GM_TXT | GM_JSON, "active_blocks", "Active", struct gm_histogram_bin, active.blocks),
        GM_FIELD(GM_BYTES, GM_TXT | GM_JSON, "active_bytes", "Bytes", struct gm_histogram_bin, active.bytes),
        GM_FIELD(GM_COUNT, GM_TXT | GM_JSON, "inactive_blocks", "Cached", struct gm_histogram_bin, cached.blocks),
        GM_FIELD(GM_BYTES, GM_TXT | GM_JSON, "inactive_bytes", "Bytes", struct gm_histogram_bin, cached.bytes),
    };
    struct gm_histogram_bin rows[GM_HISTOGRAM_BINS];
    size_t n = 0;
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
        if (gm_doc_is(d, GM_JSON) || report->histogram[i].active.blocks > 0 || report->histogram[i].cached.blocks > 0)
            rows[n++] = report->histogram[i];
    gm_doc_fold(d, NULL, gm_doc_is(d, GM_TXT) ? "Blocks by size" : NULL);
    GM_TABLE(d, columns, rows, n, .key = "histogram", .in = GM_TXT | GM_JSON);
    gm_doc_close(d);
}
