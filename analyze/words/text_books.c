/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_report.txt: the ledger, whose rows sum to reserved, and the allocator's settings.
 */
#include "analyze/document/columns.h"
#include "analyze/document/numbers.h"
#include "analyze/words/settings.h"
#include "analyze/words/text_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME = 42, BYTES = 26 };

static void add_row(struct gm_text *out, char sign, const char *name, uint64_t bytes)
{
    gm_text_printf(out, "  %c %-*s", sign, NAME - 4, name);
    gm_text_count(out, bytes, BYTES);
    gm_text_size(out, bytes, 12);
    gm_text_add_char(out, '\n');
}

static void add_rule(struct gm_text *out)
{
    gm_text_repeat(out, ' ', NAME);
    gm_text_repeat(out, '-', BYTES + 12);
    gm_text_add_char(out, '\n');
}

static void add_residual(struct gm_text *out, int64_t residual)
{
    char number[GM_NUMBER_TEXT];
    gm_text_printf(out, "    %-*s%*s\n", NAME - 4, "residual (reserved - sum)", BYTES,
                   gm_signed_count_format(number, residual));
}

static void add_stated(struct gm_text *out, const char *name, uint64_t stated, uint64_t counted)
{
    gm_text_printf(out, "    %-*s", NAME - 4, name);
    gm_text_count(out, stated, BYTES);
    gm_text_add(out, stated == GM_REPORT_NONE ? "  not stated\n" : stated == counted ? "  agrees\n" : "  DIFFERS\n");
}

/* One line per device; the same rows from left to right. */
static void add_devices(struct gm_text *out, const struct gm_report *report)
{
    gm_text_printf(out, "\n  %6s%12s%12s%12s%12s%12s%12s\n", "device", "requested", "rounding", "pending", "releas'ble",
                   "stranded", "reserved");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_ledger *l = &report->devices[i].ledger;
        char device[GM_NUMBER_TEXT];
        snprintf(device, sizeof device, "%" PRId64, report->devices[i].device);
        gm_text_add(out, "  ");
        gm_columns_cell(out, device, 6, GM_CELL_RIGHT);
        const uint64_t cells[] = {l->allocated_requested, l->allocated_rounding, l->pending,
                                  l->releasable,          l->stranded,           l->reserved};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            gm_text_size(out, cells[k], 12);
        gm_text_add_char(out, '\n');
        if (l->residual != 0)
            add_residual(out, l->residual);
    }
}

void gm_text_ledger(struct gm_text *out, const struct gm_report *report)
{
    const struct gm_ledger *l = &report->ledger;
    gm_text_section(out, "LEDGER");
    gm_text_printf(out, "  %-*s%*s%12s\n", NAME - 2, "", BYTES, "bytes", "size");
    add_row(out, ' ', "allocated blocks: requested", l->allocated_requested);
    add_row(out, '+', "allocated blocks: rounding", l->allocated_rounding);
    add_row(out, '+', "blocks pending free", l->pending);
    add_row(out, '+', "cached, releasable", l->releasable);
    add_row(out, '+', "cached, stranded", l->stranded);
    add_rule(out);
    add_row(out, '=', "sum", l->sum);
    add_row(out, ' ', "reserved (sum of the segments)", l->reserved);
    add_residual(out, l->residual);
    gm_text_add(out, "\n  What the file itself states per segment, against its blocks:\n");
    add_stated(out, "allocated", l->stated_allocated, report->totals.allocated);
    add_stated(out, "active", l->stated_active, report->totals.active);
    add_stated(out, "requested", l->stated_requested, report->totals.requested);
    char a[GM_NUMBER_TEXT];
    if (l->segments_disagreeing > 0)
        gm_text_printf(out, "    segments that disagree with their blocks: %s\n",
                       gm_count_format(a, l->segments_disagreeing));
    if (l->explanation != NULL) {
        gm_text_add(out, "  ");
        gm_columns_wrap(out, l->explanation, 2);
    }
    if (report->device_count > 1)
        add_devices(out, report);
}

void gm_text_settings(struct gm_text *out, const struct gm_report *report)
{
    gm_text_section(out, "ALLOCATOR SETTINGS");
    if (report->settings == NULL) {
        gm_text_add(out, "  The file records none.\n");
        return;
    }
    if (report->setting_count == 0)
        gm_text_add(out, "  Recorded, but empty.\n");
    struct gm_text defaults = {0};
    for (size_t i = 0, run = 0; i < report->setting_count; i += run) {
        const struct gm_setting_row *row = &report->settings[i];
        struct gm_text line = {0};
        run = gm_settings_run(report, i);
        gm_settings_key(&line, report, i, run);
        gm_text_printf(&line, " = %s", row->value[0] != '\0' ? row->value : "(empty)");
        if (line.failed) {
            out->failed = true;
        } else if (row->is_default) {
            gm_text_printf(&defaults, "%s%s", defaults.length > 0 ? ", " : "", line.data);
        } else {
            gm_text_add(out, "  ");
            gm_columns_wrap(out, line.data, 4);
        }
        gm_text_free(&line);
    }
    if (defaults.length > 0) {
        gm_text_add(out, "  At their defaults:\n    ");
        gm_columns_wrap(out, defaults.data, 4);
    }
    out->failed = out->failed || defaults.failed;
    gm_text_free(&defaults);
}
