/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/operands.h"

#include "analyze/base/text.h"

#include <string.h>
#include <sys/stat.h>

/* Whether the last of several operands is a NAME (contract: gmanalyze). */
static bool is_name(const char *operand)
{
    struct stat st;
    bool is_file = stat(operand, &st) == 0 && S_ISREG(st.st_mode);
    return !is_file && strcmp(operand, "-") != 0 && !gm_name_has_snapshot_suffix(operand);
}

enum gm_status gm_operands_sort(const char **name, char **operands, int *count, struct gm_error *err)
{
    if (*count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no SNAPSHOT given");
    if (*name == NULL && *count >= 2 && is_name(operands[*count - 1]))
        *name = operands[--*count];
    int from_stdin = 0;
    for (int i = 0; i < *count; i++)
        from_stdin += strcmp(operands[i], "-") == 0;
    if (from_stdin > 1)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "standard input (-) can be read only once");
    return GM_OK;
}

void gm_operands_name(char out[GM_NAME_SIZE], const char *path, const char *name, bool is_one_of_several)
{
    char detected[GM_NAME_SIZE];
    gm_name_detect(detected, path);
    if (name == NULL) {
        memcpy(out, detected, sizeof detected);
    } else if (is_one_of_several) {
        struct gm_text both = {0};
        gm_text_printf(&both, "%s_%s", name, detected);
        gm_name_clean(out, both.failed ? detected : both.data);
        gm_text_free(&both);
    } else {
        gm_name_clean(out, name);
    }
}
