/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that are only names (names.def). They are weak: one written by hand wins.
 */
#include "replay/dry/private.h"

#define WEAK __attribute__((weak, visibility("default")))

#define RUNS(library, name)                                                                                            \
    WEAK int name(void);                                                                                               \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        return 0;                                                                                                      \
    }
#define CREATES(library, name)                                                                                         \
    WEAK int name(void **handle);                                                                                      \
    int name(void **handle)                                                                                            \
    {                                                                                                                  \
        *handle = dry_handle();                                                                                        \
        return 0;                                                                                                      \
    }
#define FAILS(library, name)                                                                                           \
    WEAK int name(void);                                                                                               \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        static bool is_said;                                                                                           \
        return dry_unknown(DRY_LIBRARY_##library, #name, &is_said);                                                    \
    }
#include "replay/dry/names.def"
