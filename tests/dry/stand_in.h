/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that call the stand-in as a library, in place of NVIDIA's: GMDRY_LIBRARY names it.
 */
#pragma once

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
    const char *name = getenv("GMDRY_LIBRARY"); /* ctest sets it; of NULL dlopen makes the program itself */
    library = name == NULL ? NULL : dlopen(name, RTLD_NOW);
    if (library == NULL)
        fprintf(stderr, "GMDRY_LIBRARY: %s\n", name == NULL ? "not set (ctest sets it)" : dlerror());
    return library == NULL;
}
