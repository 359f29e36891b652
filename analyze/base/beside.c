/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/beside.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool gm_find_beside(char path[PATH_MAX], const char *name)
{
    static const char here;
    Dl_info info;
    struct link_map *map = NULL;
    char program[PATH_MAX];
    const char *object = program;
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    /* The linker's name of the program itself is empty. */
    if (dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL && map->l_name[0] != '\0')
        object = map->l_name;
    const char *slash = strrchr(object, '/');
    if (slash == NULL)
        return false;
    const int length = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - object), object, name);
    return length < PATH_MAX && access(path, R_OK) == 0;
}

enum gm_status gm_open_beside(const void **table, const char *file, const char *symbol, const char *what,
                              struct gm_error *err)
{
    char path[PATH_MAX], name[NAME_MAX];
    /* From where the programs are, and from where a distribution has libgm: lib/TRIPLET. */
    static const char *const places[] = {GM_PRIVATE_PARTS, "../gmanalyze/"};
    bool is_there = false;
    for (size_t i = 0; !is_there && i < sizeof places / sizeof *places; i++) {
        snprintf(name, sizeof name, "%s%s", places[i], file);
        is_there = gm_find_beside(path, name);
    }
    void *library = is_there ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *const *found = library == NULL ? NULL : dlsym(library, symbol);
    *table = found;
    if (found != NULL && strcmp(*found, GM_VERSION) == 0)
        return GM_OK;
    if (!is_there)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "%s: there is no " GM_PRIVATE_PARTS "%s beside the program",
                       what, file);
    const char *reason = found != NULL ? "it is of another version" : dlerror();
    return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "%s: %s", what, reason != NULL ? reason : file);
}
