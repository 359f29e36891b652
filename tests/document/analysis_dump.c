/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis_dump SAMPLE text|markdown|json|summary|explain: what a writer makes of a sample, for the checks in Python.
 */
#include "analyze/document/documents.h"

#include "sample.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct gm_report report;
    if (argc != 3 || !sample_report(&report, argv[1]))
        return 2;
    GM_FREED struct gm_text out = {0};
    if (strcmp(argv[2], "text") == 0)
        gm_analysis_document(&out, GM_TXT, &report, NULL);
    else if (strcmp(argv[2], "markdown") == 0)
        gm_analysis_document(&out, GM_MD, &report, strcmp(argv[1], "hostile") == 0 ? hostile_charts : sample_charts);
    else if (strcmp(argv[2], "json") == 0)
        gm_analysis_document(&out, GM_JSON, &report, NULL);
    else if (strcmp(argv[2], "summary") == 0)
        gm_analysis_summary(&out, &report, "results/20251114_143025_x");
    else if (strcmp(argv[2], "explain") == 0)
        gm_analysis_explain(&out, &report);
    bool ok = out.data != NULL && !out.failed && fwrite(out.data, 1, out.length, stdout) == out.length;
    ok = fflush(stdout) == 0 && ok;
    gm_report_free(&report);
    return ok ? 0 : 1;
}
