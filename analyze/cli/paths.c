/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/paths.h"

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
    char *text = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool found = text != NULL && stat(text, folder) == 0;
    free(text);
    return found;
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
