/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that are only names (names.def).
 */
#include "replay/dry/private.h"

#include <string.h>

#define PUBLIC __attribute__((DRY_PUBLIC))

/* NCCL's that are only names do not, of CUDA itself only those that fill or copy; who looks on does not. */
static bool may_write(enum dry_library library, const char *name)
{
    if (library == DRY_LIBRARY_nvml || library == DRY_LIBRARY_cupti || library == DRY_LIBRARY_nvtx ||
        library == DRY_LIBRARY_nccl)
        return false;
    return library > DRY_LIBRARY_cuda || strstr(name, "Mem") != NULL || strstr(name, "WriteValue") != NULL;
}

#define RUNS(library, name)                                                                                            \
    PUBLIC int name(void);                                                                                             \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        if (may_write(DRY_LIBRARY_##library, #name))                                                                   \
            dry_forget();                                                                                              \
        return 0;                                                                                                      \
    }
#define CREATES(library, name)                                                                                         \
    PUBLIC int name(void **handle);                                                                                    \
    int name(void **handle)                                                                                            \
    {                                                                                                                  \
        *handle = dry_new_handle();                                                                                    \
        return 0;                                                                                                      \
    }
#define FAILS(library, name)                                                                                           \
    PUBLIC int name(void);                                                                                             \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        static bool is_said;                                                                                           \
        return dry_unknown(DRY_LIBRARY_##library, #name, &is_said);                                                    \
    }
#include "replay/dry/names.def"
