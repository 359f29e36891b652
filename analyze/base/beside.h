/* SPDX-License-Identifier: Apache-2.0
 *
 * What was installed with the program, wherever that is: prefixes are not compiled in, so that a folder may be moved.
 * GM_PRIVATE_PARTS (CMakeLists.txt): where private parts are, seen from the folder of the programs; the same in a build
 * folder as installed.
 */
#pragma once

#include "analyze/base/error.h"

#include <limits.h>
#include <stdbool.h>

/* Writes to `path` where `name` is, which is relative to the folder of the object that this function was linked into:
 * the running program, or a shared library. False if it is not there, or cannot be read. */
bool gm_find_beside(char path[PATH_MAX], const char *name);

/* The table `symbol` of the shared object `file`, which is among the private parts and stays open then. Tables begin
 * with the version of the program that they belong to. GM_E_MISSING, `what` before the reason: there is none of this
 * one. */
enum gm_status gm_open_beside(const void **table, const char *file, const char *symbol, const char *what,
                              struct gm_error *err);
