/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's counters: --memory-summary prints them as torch.cuda.memory_summary() does, for those who know that table;
 * JSON has them under the names of torch.cuda.memory_stats().
 */
#include "analyze/document/documents.h"
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <stdio.h>

enum { WIDTH = 75 /* between the bars */ };

static const char *const titles[GM_USAGE_ROWS] = {
#define X(name, title) title,
    GM_USAGE_MAP(X)
#undef X
};
static const char *const names[GM_USAGE_ROWS] = {
#define X(name, title) #name,
    GM_USAGE_MAP(X)
#undef X
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void add_rule(struct gm_text *out, char c)
{
    gm_text_add_char(out, '|');
    gm_text_repeat(out, c, WIDTH);
    gm_text_add(out, "|\n");
}

/* Whole numbers, rounded down, in the unit in which `of` has at most six digits. */
static void add_cell(struct gm_text *out, uint64_t amount, uint64_t of, bool is_bytes)
{
    static const char *const sizes[] = {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}, *const counts[] = {" ", "K", "M"};
    const double least = is_bytes ? 768 * 1024 : 750 * 1000, step = is_bytes ? 1024 : 1000;
    const int last = is_bytes ? 5 : 2;
    int unit = 0;
    if (amount == GM_REPORT_NONE) {
        gm_text_add(out, " |     n/a   ");
        return;
    }
    for (double left = (double)of; unit < last && left >= least; unit++, left /= step)
        amount /= (uint64_t)step;
    if (is_bytes)
        gm_text_printf(out, " | %6" PRIu64 " %s", amount, sizes[unit]);
    else
        gm_text_printf(out, " | %7" PRIu64 " %s ", amount, counts[unit]);
}

static void add_row(struct gm_text *out, const char *title, const struct gm_usage *u, const struct gm_usage *of,
                    bool is_bytes)
{
    gm_text_printf(out, "| %-21s", title);
    add_cell(out, u->current, of->current, is_bytes);
    add_cell(out, u->peak, of->peak, is_bytes);
    add_cell(out, u->allocated, of->allocated, is_bytes);
    add_cell(out, u->freed, of->freed, is_bytes);
    gm_text_add(out, " |\n");
}

static const char *number(char text[GM_NUMBER_TEXT], uint64_t n)
{
    if (n == GM_REPORT_NONE)
        return "n/a";
    snprintf(text, GM_NUMBER_TEXT, "%" PRIu64, n);
    return text;
}

static void add_table(struct gm_text *out, const struct gm_memory_summary *m, const struct gm_usage_table *table)
{
    static const char *const pools[GM_USAGE_POOLS] = {NULL, "      from large pool", "      from small pool"};
    char ooms[GM_NUMBER_TEXT], retries[GM_NUMBER_TEXT];
    add_rule(out, '=');
    gm_text_printf(out, "|%17s PyTorch CUDA memory summary, device ID %-17" PRId64 " |\n", "", m->device);
    add_rule(out, '-');
    gm_text_printf(out, "|%11s CUDA OOMs: %-12s | %6s cudaMalloc retries: %-8s  |\n", "", number(ooms, m->ooms), "",
                   number(retries, m->retries));
    add_rule(out, '=');
    gm_text_add(out, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
    for (int i = 0; i < GM_USAGE_ROWS; i++) {
        add_rule(out, '-');
        for (int k = 0; k < GM_USAGE_POOLS; k++)
            add_row(out, k == GM_USAGE_ALL ? titles[i] : pools[k], &table->rows[i][k], &table->rows[i][GM_USAGE_ALL],
                    i < GM_USAGE_BYTES);
    }
    add_rule(out, '-');
    add_row(out, "Oversize allocations", &table->oversize_allocations, &table->oversize_allocations, false);
    add_rule(out, '-');
    add_row(out, "Oversize GPU segments", &table->oversize_segments, &table->oversize_segments, false);
    add_rule(out, '=');
}

void gm_analysis_memory_summary(struct gm_text *out, const struct gm_report *report)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    for (size_t i = 0; report->memory != NULL && i < report->device_count; i++) {
        const struct gm_memory_summary *m = &report->memory[i];
        gm_text_add(out, "\n");
        if (m->at_peak != NULL) {
            gm_doc_tell(&doc, "Device %" PRId64 " at the peak of requested memory, after event %s:", m->device,
                        gm_doc_event(&doc, m->at_peak->event));
            add_table(out, m, m->at_peak);
            gm_text_add(out, "\n");
        }
        gm_doc_tell(&doc, "Device %" PRId64 " at the end:", m->device);
        add_table(out, m, &m->at_end);
        if (m->note != NULL)
            gm_doc_tell(&doc, "%s", m->note);
    }
    gm_doc_end(&doc);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static void tell_usage(struct gm_doc *d, const char *key, const struct gm_usage *usage)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_BYTES, "current", struct gm_usage, current),
        GM_KEY(GM_BYTES, "peak", struct gm_usage, peak),
        GM_KEY(GM_BYTES, "allocated", struct gm_usage, allocated),
        GM_KEY(GM_BYTES, "freed", struct gm_usage, freed),
    };
    GM_OBJECT(d, key, columns, usage, NULL);
}

static void tell_counters(struct gm_doc *d, const char *key, const struct gm_usage_table *table)
{
    static const char *const pools[GM_USAGE_POOLS] = {"all", "large_pool", "small_pool"};
    if (table == NULL) {
        gm_json_null(&d->json, key);
        return;
    }
    gm_doc_open(d, key, NULL);
    gm_json_number(&d->json, "event", table->event);
    for (int i = 0; i < GM_USAGE_ROWS; i++) {
        gm_doc_open(d, names[i], NULL);
        for (int k = 0; k < GM_USAGE_POOLS; k++)
            tell_usage(d, pools[k], &table->rows[i][k]);
        gm_doc_close(d);
    }
    tell_usage(d, "oversize_allocations", &table->oversize_allocations);
    tell_usage(d, "oversize_segments", &table->oversize_segments);
    gm_doc_close(d);
}

static void tell_device(const struct gm_cell_of *c)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_ID, "device", struct gm_memory_summary, device),
        GM_KEY(GM_COUNT, "num_ooms", struct gm_memory_summary, ooms),
        GM_KEY(GM_COUNT, "num_alloc_retries", struct gm_memory_summary, retries),
        GM_KEY(GM_TEXT, "note", struct gm_memory_summary, note),
    };
    const struct gm_memory_summary *m = c->row;
    GM_FIELDS(c->doc, columns, m, NULL);
    tell_counters(c->doc, "at_end", &m->at_end);
    tell_counters(c->doc, "at_peak", m->at_peak);
}

void gm_section_memory(struct gm_doc *d, const struct gm_report *report)
{
    if (report->memory == NULL)
        gm_json_null(&d->json, "memory_summary");
    else
        gm_doc_nested(d, "memory_summary", tell_device, GM_NESTED_ROWS(report->memory, report->device_count), NULL);
}
