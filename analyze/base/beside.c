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
