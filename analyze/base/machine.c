/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* A file that says a number of bytes, or "max". */
static uint64_t read_limit(const char *path)
{
    uint64_t bytes;
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%" SCNu64, &bytes) != 1) /* NOLINT(cert-err34-c): too large is no limit */
        bytes = UINT64_MAX;
    if (file != NULL)
        fclose(file);
    return bytes;
}

uint64_t gm_machine_memory(void)
{
    static const char *const containers[] = {"/sys/fs/cgroup/memory.max", /* the two versions of Linux's cgroups */
                                             "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t least = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        uint64_t bytes = read_limit(containers[i]);
        least = bytes < least ? bytes : least;
    }
    return least;
}
