/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ functions as people write them. The demangler is the C++ library's, which is looked up, not linked:
 * programs in C have none, and keep the names that the compiler made.
 */
#include "replay/recorder/demangle.h"

#include "analyze/base/freed.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 1024, LONGEST = 4096 }; /* names that are remembered; bytes of one that is worth the work */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *(*demangle)(const char *name, char *buffer, size_t *size, int *status);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *name, *shown;
} known[KNOWN]; /* the same few kernels run again and again */

static void look_up(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    void *found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (size_t i = 0; found == NULL && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        found = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
    }
    memcpy(&demangle, &found, sizeof found);
}

static void show(char out[GM_NAME_SHOWN], const char *name)
{
    if (snprintf(out, GM_NAME_SHOWN, "%s", name) >= GM_NAME_SHOWN)
        memcpy(out + GM_NAME_SHOWN - 4, "...", 4);
}

static uint32_t hash(const char *text)
{
    uint32_t h = UINT32_C(2166136261); /* FNV-1a */
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * UINT32_C(16777619);
    return h;
}

static void find(char out[GM_NAME_SHOWN], const char *name)
{
    uint32_t at = hash(name) % KNOWN;
    if (known[at].name != NULL && strcmp(known[at].name, name) == 0) {
        show(out, known[at].shown);
        return;
    }
    int status = 0;
    char *long_one = demangle(name, NULL, NULL, &status);
    show(out, long_one != NULL && status == 0 ? long_one : name);
    free(long_one);
    char *copy = strdup(name), *shown = strdup(out);
    if (copy == NULL || shown == NULL) { /* then it is done again next time */
        free(copy);
        free(shown);
        return;
    }
    GM_FREE_ALL(known[at].name, known[at].shown);
    known[at].name = copy;
    known[at].shown = shown;
}

void gm_demangle(char out[GM_NAME_SHOWN], const char *name)
{
    if (strncmp(name, "_Z", 2) != 0 || strnlen(name, LONGEST) == LONGEST) {
        show(out, name);
        return;
    }
    pthread_once(&once, look_up);
    if (demangle == NULL) {
        show(out, name);
        return;
    }
    pthread_mutex_lock(&lock);
    find(out, name);
    pthread_mutex_unlock(&lock);
}
