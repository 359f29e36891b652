/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/operands.h"

#include "analyze/base/order.h"
#include "analyze/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool gm_path_is_standard(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static bool is_one_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of a path that does not lead anywhere yet: the file's name, and what its folder is. False if there is no folder. */
static bool look_at_folder(const char *path, const char **name, struct stat *folder)
{
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    GM_FREED char *text = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    return text != NULL && stat(text, folder) == 0;
}

bool gm_path_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const char *name_a, *name_b;
    if (strcmp(a, b) == 0)
        return stat(a, &of_a) != 0 || S_ISREG(of_a.st_mode);
    bool has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;
    if (has_a && has_b)
        return S_ISREG(of_a.st_mode) && is_one_inode(&of_a, &of_b);
    return !has_a && !has_b && look_at_folder(a, &name_a, &of_a) && look_at_folder(b, &name_b, &of_b) &&
           strcmp(name_a, name_b) == 0 && is_one_inode(&of_a, &of_b);
}

enum gm_status gm_paths_check_stdin(char *const *inputs, size_t count, size_t most, struct gm_error *err)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += gm_path_is_standard(inputs[i]);
    return found <= most ? GM_OK : gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "standard input (-) can be read only once");
}

enum gm_status gm_paths_check_json(const char *json, const char *input, struct gm_error *err)
{
    if (json != NULL && json[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--json is empty");
    if (json == NULL || gm_path_is_standard(json) || !gm_path_is_same(json, input))
        return GM_OK;
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--json would overwrite the snapshot %s", input);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

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
        GM_FREED struct gm_text both = {0};
        gm_text_printf(&both, "%s_%s", name, detected);
        gm_name_clean(out, both.failed ? detected : both.data);
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
