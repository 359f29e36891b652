/* SPDX-License-Identifier: Apache-2.0
 *
 * What was installed with the program, wherever that is: prefixes are not compiled in, so that a folder may be moved.
 * GM_PRIVATE_PARTS (CMakeLists.txt): where private parts are, seen from the folder of the programs; the same in a build
 * folder as installed.
 */
#ifndef GM_BASE_BESIDE_H
#define GM_BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* Writes to `path` where `name` is, which is relative to the folder of the object that this function was linked into:
 * the running program, or a shared library. False if it is not there, or cannot be read. */
bool gm_find_beside(char path[PATH_MAX], const char *name);

#endif
