/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/finding.h"

#include "analyze/document/numbers.h"

#include <stdio.h>
#include <string.h>

/* Where the title does not say what the bytes are. */
static const struct {
    const char *id, *what;
} table[] = {
    {"out-of-memory", " asked for"},          {"memory-growth", " a step"},
    {"peak-by-one-site", " less without it"}, {"allocator-efficiency", " unused"},
    {"uneven-devices", " above the mean"},
};

char *gm_finding_bytes(char out[GM_FINDING_BYTES], const struct gm_finding *finding)
{
    const char *what = "";
    char size[GM_NUMBER_TEXT];
    out[0] = '\0';
    if (finding->bytes == GM_REPORT_NONE)
        return out;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(finding->id, table[i].id) == 0)
            what = table[i].what;
    if (strcmp(finding->id, "peak-by-one-site") == 0 && strstr(finding->title, "peak") == NULL)
        what = ""; /* without a trace it is what the site holds */
    snprintf(out, GM_FINDING_BYTES, " (%s%s)", gm_bytes_format(size, finding->bytes), what);
    return out;
}
