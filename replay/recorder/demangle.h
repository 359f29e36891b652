/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of C++ functions for people.
 */
#pragma once

enum { GM_NAME_SHOWN = 512 }; /* longer ones are cut, and end in three dots */

/* Other names, and all where no C++ library is installed, stay as they are. Any thread. */
void gm_demangle(char out[GM_NAME_SHOWN], const char *name);
