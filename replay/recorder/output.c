/* SPDX-License-Identifier: Apache-2.0
 *
 * A recording as a file, whole or not at all.
 */
#include "replay/recorder/recorder.h"

#include "analyze/base/new_file.h"
#include "analyze/formats/gmtrace_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0' && strspn(value, "0123456789") == strlen(value))
            return value;
    }
    return "0";
}

void gm_record_path(struct gm_text *out, const char *pattern)
{
    for (const char *p = pattern; *p != '\0'; p++) {
        char kind = *p == '%' ? p[1] : '\0';
        if (kind == 'p')
            gm_text_printf(out, "%ld", (long)getpid());
        else if (kind == 'r')
            gm_text_add(out, rank());
        else
            gm_text_add_char(out, *p);
        p += kind == 'p' || kind == 'r' || kind == '%';
    }
}

enum gm_status gm_record_write(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err)
{
    GM_FREED struct gm_text data = {0};
    struct gm_new_file file;
    enum gm_status status = gm_write_gmtrace(snapshot, &data, err);
    if (status == GM_OK && data.failed)
        status = gm_no_memory(err);
    if (status == GM_OK) {
        status = gm_new_file_open(&file, path, err);
        GM_THEN(status, gm_new_file_write(&file, data.data, data.length, err));
        status = gm_new_file_close(&file, status, err);
    }
    return status;
}
