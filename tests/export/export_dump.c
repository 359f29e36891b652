/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: export_dump DIRECTORY: writes every format of every sample as DIRECTORY/SAMPLE/FILE, for test_formats.py.
 */
#include "analyze/export/csv.h"
#include "analyze/export/export.h"
#include "tests/export/samples.h"

#include <stdio.h>
#include <sys/stat.h>

static int write_file(const char *directory, const char *sample, const char *name, struct gm_text *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, sample);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", directory, sample, name);
    FILE *f = text->failed ? NULL : fopen(path, "wb");
    bool ok = f != NULL && (text->length == 0 || fwrite(text->data, 1, text->length, f) == text->length);
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    gm_text_free(text);
    *text = (struct gm_text){0};
    if (!ok)
        fprintf(stderr, "cannot write %s\n", path);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failures = argc == 2 ? 0 : 2;
    for (int s = 0; argc == 2 && s < SAMPLE_COUNT; s++) {
        struct gm_report report;
        struct gm_text text = {0};
        sample_fill(&report, (enum sample)s);
        for (int f = 0; f < GM_EXPORT_COUNT && gm_export_applies(&report); f++) {
            gm_export_write(&text, &report, (enum gm_export)f);
            failures += write_file(argv[1], sample_name((enum sample)s), gm_export_file_name((enum gm_export)f), &text);
        }
        gm_csv_write(&text, &report);
        failures += write_file(argv[1], sample_name((enum sample)s), "timeline.csv", &text);
        gm_report_free(&report);
    }
    return failures;
}
