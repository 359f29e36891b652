/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragmentation of the state at the end, and the live blocks that pin it. JSON has "fragmentation" of each device, too:
 * json_state.c; "histogram" is here.
 */
#include "analyze/words/block_runs.h"
#include "analyze/words/sections.h"

enum { PINS = 10 };

struct row {
    const char *name;
    uint64_t blocks, bytes; /* GM_REPORT_NONE: not told */
    const char *what;
};

static union gm_value row_blocks(const struct gm_cell_of *c)
{
    char text[GM_NUMBER_TEXT];
    const uint64_t blocks = ((const struct row *)c->row)->blocks;
    return (union gm_value){.s = blocks == GM_REPORT_NONE ? ""
                                                          : gm_doc_printf(c->doc, "%s", gm_count_format(text, blocks))};
}

static void say_totals(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_TXT, NULL, NULL, struct row, name),
        GM_GET(GM_FIGURE, GM_TXT, NULL, "Blocks", row_blocks),
        GM_FIELD(GM_BYTES, GM_TXT, NULL, "Size", struct row, bytes),
        GM_FIELD(GM_TEXT, GM_TXT, NULL, NULL, struct row, what),
    };
    const struct gm_fragmentation *f = &report->fragmentation;
    const struct row rows[] = {
        {"Inactive blocks", f->inactive_blocks, report->totals.inactive, "reserved, in nobody's use"},
        {"  largest", GM_REPORT_NONE, f->largest_inactive, "the largest hole"},
        {"  over 100 MiB", f->unused_over_100mib.blocks, f->unused_over_100mib.bytes, ""},
        {"Releasable", GM_REPORT_NONE, f->releasable, "segments without a live block"},
        {"Stranded", GM_REPORT_NONE, f->stranded, "beside live blocks"},
        {"empty_cache() returns", GM_REPORT_NONE, f->empty_cache, ""},
    };
    const char *why = gm_report_empty_cache_differs(report);
    gm_doc_table(d, &(struct gm_table){.in = GM_TXT, GM_COLUMNS(columns), GM_ROWS(rows, sizeof rows / sizeof *rows)});
    if (why != NULL)
        gm_doc_say(d, GM_SAY, GM_TXT, NULL, "%s", why);
}

/* Pins that are alike as one row. */
struct pin {
    const struct gm_pin_row *pin;
    struct gm_pin_run run;
    uint64_t range, sharers;
    const char *category, *site;
};

static union gm_value pin_blocks(const struct gm_cell_of *c)
{
    const struct pin *p = c->row;
    char size[GM_NUMBER_TEXT];
    gm_bytes_format(size, p->pin->block.bytes);
    return (union gm_value){.s = p->run.count > 1 ? gm_doc_printf(c->doc, "%zu x %s", p->run.count, size)
                                                  : gm_doc_printf(c->doc, "%s", size)};
}

void gm_section_pins(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Pinned", struct pin, run.pinned),
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
    for (size_t i = 0; i < f->pin_count; i += rows[n++].run.count) {
        const struct gm_pin_row *pin = &f->pins[i];
        rows[n] =
            (struct pin){pin, gm_pin_run(f, i), pin->segment_bytes, pin->sharers, pin->block.category, pin->block.site};
    }
    gm_doc_fold(d, NULL, "Live blocks that keep the most cached memory from being released");
    gm_doc_say(d, GM_SAY, GM_READ, NULL,
               "By the share of one block. Pinned: their share in what the range strands; sharers: all live blocks in "
               "it. A range is a segment, or whole pages of an expandable one.");
    gm_doc_table(d, &(struct gm_table){GM_COLUMNS(columns), GM_ROWS(rows, n), .txt_max = PINS, .md_max = PINS});
    gm_doc_close(d);
}

static void say_histogram(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_TXT, NULL, "Blocks by size", struct gm_histogram_bin, label),
        GM_FIELD(GM_BYTES, GM_JSON, "from_bytes", NULL, struct gm_histogram_bin, from),
        GM_FIELD(GM_BYTES, GM_JSON, "to_bytes", NULL, struct gm_histogram_bin, to), /* null: no upper end */
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
    gm_doc_table(d,
                 &(struct gm_table){.key = "histogram", .in = GM_TXT | GM_JSON, GM_COLUMNS(columns), GM_ROWS(rows, n)});
}

void gm_section_fragmentation(struct gm_doc *d, const struct gm_report *report)
{
    gm_doc_open(d, NULL, gm_doc_is(d, GM_TXT) ? "Fragmentation analysis" : NULL);
    say_totals(d, report);
    if (gm_doc_is(d, GM_TXT))
        gm_section_pins(d, report);
    say_histogram(d, report);
    gm_doc_close(d);
}
