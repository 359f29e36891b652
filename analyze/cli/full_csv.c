/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job.h"

#include "analyze/base/vec.h"
#include "analyze/cli/interrupt.h"
#include "analyze/export/csv.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20 };

/* Where the rows of a device begin in the file. */
struct beginning {
    int64_t device;
    uint64_t offset;
};
struct beginnings GM_VEC(struct beginning);

struct gm_full_csv {
    struct gm_sample_sink sink;
    struct gm_job *job;
    const struct gm_analyze_context *context;
    struct gm_run_file *file; /* NULL: no row yet, or finished */
    bool is_holding;          /* signals */
    struct beginnings beginnings;
    size_t used; /* of buffer */
    enum gm_status status;
    struct gm_error err;
    char buffer[BUFFER];
};

static bool keep(struct gm_full_csv *csv, enum gm_status status)
{
    csv->status = status;
    return status == GM_OK;
}

static bool begin_file(struct gm_full_csv *csv)
{
    gm_interrupt_hold();
    csv->is_holding = true;
    if (!keep(csv, gm_run_begin(&csv->job->run, csv->context->options.usual.results, csv->job->name,
                                csv->context->shell->when, &csv->err)) ||
        !keep(csv, gm_run_file_open(&csv->file, csv->job->run, "timeline.csv", &csv->err)))
        return false;
    csv->used = strlen(gm_csv_header());
    memcpy(csv->buffer, gm_csv_header(), csv->used);
    return true;
}

static bool flush(struct gm_full_csv *csv)
{
    if (gm_interrupt_is_pending())
        return keep(csv, gm_fail(&csv->err, GM_E_WRITE, GM_NO_OFFSET, "interrupted while timeline.csv was written"));
    if (!keep(csv, gm_run_file_write(csv->file, csv->buffer, csv->used, &csv->err)))
        return false;
    csv->used = 0;
    return true;
}

static bool begin_device(struct gm_full_csv *csv, int64_t device)
{
    const struct beginning beginning = {device, gm_run_file_length(csv->file) + csv->used};
    return GM_VEC_PUSH(&csv->beginnings, beginning) || keep(csv, gm_no_memory(&csv->err));
}

static bool put(void *self, int64_t device, const struct gm_sample *sample)
{
    struct gm_full_csv *csv = self;
    struct beginnings *b = &csv->beginnings;
    if (csv->status != GM_OK || (csv->file == NULL && !begin_file(csv)))
        return false;
    if ((b->n == 0 || b->v[b->n - 1].device != device) && !begin_device(csv, device))
        return false;
    if (BUFFER - csv->used < GM_CSV_ROW && !flush(csv))
        return false;
    csv->used = (size_t)(gm_csv_row(csv->buffer + csv->used, device, sample) - csv->buffer);
    return true;
}

struct gm_full_csv *gm_full_csv_new(struct gm_job *job, const struct gm_analyze_context *context)
{
    struct gm_full_csv *csv = malloc(sizeof *csv);
    if (csv == NULL)
        return NULL;
    csv->sink = (struct gm_sample_sink){csv, put};
    csv->job = job;
    csv->context = context;
    csv->file = NULL;
    csv->is_holding = false;
    csv->beginnings = (struct beginnings){0};
    csv->used = 0;
    csv->status = GM_OK;
    return csv;
}

const struct gm_sample_sink *gm_full_csv_sink(const struct gm_full_csv *csv)
{
    return &csv->sink;
}

enum gm_status gm_full_csv_status(const struct gm_full_csv *csv, struct gm_error *err)
{
    if (csv->status != GM_OK && err != NULL)
        *err = csv->err;
    return csv->status;
}

/* Known only now: which devices had a peak before event 0. From the last, so that the places of the others stay. */
static void insert_rows_before(struct gm_full_csv *csv, const struct gm_report *report)
{
    for (size_t i = csv->beginnings.n; csv->status == GM_OK && i-- > 0;) {
        for (size_t d = 0; d < report->device_count; d++) {
            char row[GM_CSV_ROW];
            if (report->devices[d].device != csv->beginnings.v[i].device)
                continue;
            size_t length = (size_t)(gm_csv_row_before(row, report, d) - row);
            if (length > 0)
                keep(csv, gm_run_file_insert(csv->file, csv->beginnings.v[i].offset, row, length, &csv->err));
        }
    }
}

enum gm_status gm_full_csv_finish(struct gm_full_csv *csv, const struct gm_report *report, struct gm_error *err)
{
    if (csv->file != NULL && csv->status == GM_OK && flush(csv)) {
        insert_rows_before(csv, report);
        if (csv->status == GM_OK) {
            keep(csv, gm_run_file_close(csv->file, &csv->err));
            csv->file = NULL;
        }
    }
    return gm_full_csv_status(csv, err);
}

void gm_full_csv_free(struct gm_full_csv *csv)
{
    if (csv == NULL)
        return;
    if (csv->file != NULL)
        (void)gm_run_file_close(csv->file, NULL); /* given up: the error was told */
    if (csv->status != GM_OK || csv->file != NULL) {
        gm_run_free(csv->job->run);
        csv->job->run = NULL;
    }
    if (csv->is_holding)
        gm_interrupt_release();
    GM_FREE_ALL(csv->beginnings.v, csv);
}
