/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/operands.h"

#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/cli/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the last of several operands is a NAME (contract: gmanalyze). */
static bool is_name(const char *operand)
{
    struct stat st;
    bool is_file = stat(operand, &st) == 0 && S_ISREG(st.st_mode);
    return !is_file && !gm_path_is_standard(operand) && !gm_name_has_snapshot_suffix(operand);
}

/* Whether the last but one of three or more is where results go, as the tool before this one had it. */
static bool is_results(const char *operand)
{
    struct stat st;
    const size_t n = strlen(operand);
    return (n > 0 && operand[n - 1] == '/') ||
           (!gm_path_is_standard(operand) && stat(operand, &st) == 0 && S_ISDIR(st.st_mode));
}

enum gm_status gm_operands_sort(const char **name, const char **results, char **operands, int *count,
                                struct gm_error *err)
{
    if (*count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no SNAPSHOT given");
    if (*count >= 3 && is_results(operands[*count - 2])) {
        const char *directory = operands[*count - 2];
        if (*results != NULL)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "-o and the operand %.300s both say where results go",
                           directory);
        *results = directory;
        operands[*count - 2] = operands[*count - 1];
        --*count;
    }
    if (*name == NULL && *count >= 2 && is_name(operands[*count - 1]))
        *name = operands[--*count];
    return gm_paths_check_stdin(operands, (size_t)*count, 1, err);
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

struct named {
    char name[GM_NAME_SIZE]; /* as it was found */
    size_t index;
};

GM_ORDERING(compare_names, struct named, GM_BY(strcmp(a->name, b->name)));

GM_ORDERING(compare_named, struct named, GM_BY(compare_names(a, b)) || GM_UP(index));

bool gm_operands_number(char (*names)[GM_NAME_SIZE], size_t count)
{
    struct named *found = calloc(count + 1, sizeof *found), wanted = {.index = 0};
    if (found == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(found[i].name, names[i], sizeof found[i].name);
        found[i].index = i;
    }
    GM_SORT(found, count, compare_named);
    for (size_t i = 1, number = 1; i < count; i++) {
        if (compare_names(&found[i - 1], &found[i]) != 0) {
            number = 1;
            continue;
        }
        do
            snprintf(wanted.name, sizeof wanted.name, "%.*s_%zu", GM_NAME_SIZE - 24, found[i].name, ++number);
        while (bsearch(&wanted, found, count, sizeof *found, compare_names) != NULL);
        memcpy(names[found[i].index], wanted.name, sizeof wanted.name);
    }
    free(found);
    return true;
}
