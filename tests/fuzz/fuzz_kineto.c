/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of torch.profiler: the same through any window, and a snapshot that holds together or an error.
 */
#include "analyze/formats/decoders.h"
#include "tests/formats/sources.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

struct outcome {
    enum gm_status status;
    size_t spans, details, memory, threads, strings;
    uint64_t odd, other;
};

static struct outcome decode(struct gm_source *source)
{
    struct gm_profile p;
    struct gm_error err = {0};
    struct outcome o = {.status = gm_kineto_decode(source, &(struct gm_decoded){.profile = &p}, &err)};
    if ((o.status != GM_OK && err.message[0] == '\0') || !gm_profile_finish(&p))
        abort();
    o.spans = p.spans.n;
    o.details = p.details.n;
    o.memory = p.memory.n;
    o.threads = p.threads.n;
    o.strings = p.strings.entries.n;
    o.odd = p.odd_events;
    o.other = p.other_events;
    gm_profile_free(&p);
    gm_source_free(source);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gm_source source;
    if (gm_source_open_memory(&source, data, size, NULL) != GM_OK)
        abort();
    const struct outcome a = decode(&source);
    open_steps(&source, data, size, 2048, 1 + size % 97);
    const struct outcome b = decode(&source);
    if (a.status != b.status || a.spans != b.spans || a.details != b.details || a.memory != b.memory ||
        a.threads != b.threads || a.strings != b.strings || a.odd != b.odd || a.other != b.other)
        abort();
    gm_fuzz_load(data, size);
    return 0;
}
