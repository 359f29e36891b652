/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that call the stand-in as a library, in place of NVIDIA's: GMDRY_LIBRARY names it.
 */
#ifndef GM_TESTS_DRY_STAND_IN_H
#define GM_TESTS_DRY_STAND_IN_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;

/* A function of it as a variable of its name. It has another type than dlsym says. */
#define FIND(type, name) __typeof__(type) name = (__typeof__(type))(uintptr_t)dlsym(library, #name)

/* A group's set-up. */
static inline int open_library(void **state)
{
    library = dlopen(getenv("GMDRY_LIBRARY"), RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "%s\n", dlerror());
    return library == NULL;
}

#endif
