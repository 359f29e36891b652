/* SPDX-License-Identifier: Apache-2.0
 *
 * gmreplay on the fake CUDA: the environment says what the GPU is like and what goes wrong; at the end the file
 * FAKE_CUDA_REPORT gets what the program left behind.
 *   FAKE_CUDA_MEMORY, FAKE_CUDA_CONTEXT  bytes      FAKE_CUDA_DEVICES  how many (1)     FAKE_CUDA_DRIVER  0: none
 *   FAKE_CUDA_LATE   1: late streams                FAKE_CUDA_LACKS    a function that the driver has not
 *   FAKE_CUDA_FAIL   CALL:N:ERROR                   FAKE_CUDA_SPOIL    N:OFFSET, as fake_cuda_spoil
 */
#include "tests/fake_cuda/fake_cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static char failing[64];

__attribute__((constructor)) static void start(void)
{
    const struct fake_cuda options = {.memory = number("FAKE_CUDA_MEMORY", UINT64_C(80) << 30),
                                      .context = number("FAKE_CUDA_CONTEXT", UINT64_C(500) << 20),
                                      .has_driver = number("FAKE_CUDA_DRIVER", 1) != 0,
                                      .devices = (int)number("FAKE_CUDA_DEVICES", 1),
                                      .is_late = number("FAKE_CUDA_LATE", 0) != 0,
                                      .lacks = getenv("FAKE_CUDA_LACKS")};
    const char *fail = getenv("FAKE_CUDA_FAIL"), *spoil = getenv("FAKE_CUDA_SPOIL");
    uint64_t nth, offset;
    int error;
    fake_cuda_start(&options);
    if (fail != NULL && sscanf(fail, "%63[^:]:%" SCNu64 ":%d", failing, &nth, &error) == 3)
        fake_cuda_fail(failing, nth, error);
    if (spoil != NULL && sscanf(spoil, "%" SCNu64 ":%" SCNu64, &nth, &offset) == 2)
        fake_cuda_spoil(nth, offset);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAKE_CUDA_REPORT"), *failed = fake_cuda_failed();
    FILE *out = path == NULL ? NULL : fopen(path, "w");
    if (out != NULL) {
        struct fake_cuda_held h = fake_cuda_held();
        fprintf(out,
                "{\"calls\":%" PRIu64 ",\"failed\":\"%s\",\"bytes\":%" PRIu64 ",\"allocations\":%" PRIu64
                ",\"handles\":%" PRIu64 ",\"mappings\":%" PRIu64 ",\"reservations\":%" PRIu64 ",\"streams\":%" PRIu64
                ",\"events\":%" PRIu64 ",\"pools\":%" PRIu64 "}\n",
                fake_cuda_calls(NULL), failed == NULL ? "" : failed, h.bytes, h.allocations, h.handles, h.mappings,
                h.reservations, h.streams, h.events, h.pools);
        fclose(out);
    }
    fake_cuda_end();
}
