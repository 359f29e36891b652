/* SPDX-License-Identifier: Apache-2.0
 *
 * A full timeline has a row for each of millions of events, so numbers are formatted by hand: two digits at a time,
 * from a table, into their place.
 */
#include "analyze/export/csv.h"

#include "analyze/export/formats.h"

#include <string.h>

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
    "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
    "9899";

static int count_digits(uint64_t v)
{
    int n = 1;
    for (; v >= 10000; v /= 10000)
        n += 4;
    return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

static char *put_number(char *out, uint64_t v)
{
    int n = count_digits(v);
    char *at = out + n;
    for (; v >= 100; v /= 100)
        memcpy(at -= 2, &pairs[2 * (v % 100)], 2);
    if (v >= 10)
        memcpy(out, &pairs[2 * v], 2);
    else
        *out = (char)('0' + v);
    return out + n;
}

static char *put_cell(char *out, char before, uint64_t v)
{
    *out++ = before;
    return v == GM_REPORT_NONE ? out : put_number(out, v);
}

const char *gm_csv_header(void)
{
    return "device,event,time_us,allocated,active,requested,reserved\n";
}

char *gm_csv_row(char out[GM_CSV_ROW], int64_t device, const struct gm_sample *sample)
{
    char *at = out;
    if (device < 0)
        *at++ = '-';
    at = put_number(at, device < 0 ? 0 - (uint64_t)device : (uint64_t)device);
    at = put_cell(at, ',', sample->event);
    at = put_cell(at, ',', sample->time_us);
    at = put_cell(at, ',', sample->levels.allocated);
    at = put_cell(at, ',', sample->levels.active);
    at = put_cell(at, ',', sample->levels.requested);
    at = put_cell(at, ',', sample->levels.reserved);
    *at++ = '\n';
    return at;
}

enum { PEAKS = 4 };

/* The four peaks of a device in the order of their events; the state before event 0 comes first. */
static void get_peaks(struct gm_sample peaks[PEAKS], const struct gm_report *report, size_t d)
{
    const struct gm_device_timeline *t = &report->timelines[d];
    const struct gm_peak *requested = &report->peaks[d];
    const struct gm_moment others[] = {t->peak_allocated, t->peak_active, t->peak_reserved};
    peaks[0] = (struct gm_sample){requested->event, requested->time_us, requested->levels};
    for (size_t i = 1; i < PEAKS; i++)
        peaks[i] = (struct gm_sample){others[i - 1].event, others[i - 1].time_us, others[i - 1].levels};
    for (size_t i = 1; i < PEAKS; i++)
        for (size_t k = i; k > 0 && peaks[k].event + 1 < peaks[k - 1].event + 1; k--) {
            struct gm_sample moved = peaks[k];
            peaks[k] = peaks[k - 1];
            peaks[k - 1] = moved;
        }
}

char *gm_csv_row_before(char out[GM_CSV_ROW], const struct gm_report *report, size_t d)
{
    struct gm_sample peaks[PEAKS];
    if (gm_export_timeline(report, d) == NULL)
        return out;
    get_peaks(peaks, report, d);
    return peaks[0].event == GM_REPORT_NONE ? gm_csv_row(out, report->devices[d].device, &peaks[0]) : out;
}

static void add_row(struct gm_text *out, int64_t device, const struct gm_sample *sample)
{
    char row[GM_CSV_ROW];
    gm_text_add_bytes(out, row, (size_t)(gm_csv_row(row, device, sample) - row));
}

/* Samples and peaks are both in order; each event gets one row. `event + 1` puts GM_REPORT_NONE, as 0, first. */
static void write_device(struct gm_text *out, const struct gm_report *report, size_t d)
{
    const struct gm_device_timeline *timeline = &report->timelines[d];
    int64_t device = report->devices[d].device;
    struct gm_sample peaks[PEAKS];
    get_peaks(peaks, report, d);
    size_t p = 0, s = 0;
    while (p < PEAKS || s < timeline->sample_count) {
        const struct gm_sample *sample = s < timeline->sample_count ? &timeline->samples[s] : NULL;
        if (p == PEAKS || (sample != NULL && sample->event + 1 <= peaks[p].event + 1)) {
            add_row(out, device, sample);
            s++;
        } else {
            sample = &peaks[p];
            add_row(out, device, sample);
        }
        while (p < PEAKS && peaks[p].event == sample->event)
            p++;
    }
}

void gm_csv_write(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out, gm_csv_header());
    for (size_t d = 0; d < report->device_count; d++)
        if (gm_export_timeline(report, d) != NULL)
            write_device(out, report, d);
}
