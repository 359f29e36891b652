/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "analyze/base/freed.h"
#include "analyze/formats/load.h"
#include "tests/formats/model_check.h"
#include "tests/formats/sources.h"

#include <stdio.h>
#include <stdlib.h>

static void check(const struct gm_snapshot *s, enum gm_status status, const struct gm_error *err)
{
    if (status != GM_OK) {
        HOLDS(err->status == status && err->message[0] != '\0');
        HOLDS(s->memory == NULL);
        return;
    }
    const char *wrong = gm_model_check(s);
    if (wrong != NULL) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
}

void gm_fuzz_load(const uint8_t *data, size_t size)
{
    for (int salvage = 0; salvage < 2; salvage++) {
        const struct gm_load_options options = {.salvage = salvage};
        struct gm_snapshot s;
        struct gm_error err = {0};
        enum gm_status status = gm_snapshot_load_bytes(&s, data, size, "fuzz", &options, &err);
        check(&s, status, &err);
        HOLDS(salvage == 1 || status != GM_OK || !s.source.is_salvaged);
        gm_snapshot_free(&s);
    }
}

struct outcome {
    enum gm_status decoded, finished;
    size_t segments, blocks, events, annotations, warnings;
    uint32_t strings, frames, stacks;
};

static struct outcome run(gm_fuzz_decoder *decode, struct gm_source *source)
{
    struct outcome o = {0};
    struct gm_error err = {0};
    struct gm_assembler *a;
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot s = {0};
    HOLDS(gm_assembler_new(&a, &err) == GM_OK);
    o.decoded = decode(source, a, &err);
    HOLDS(o.decoded == GM_OK || err.message[0] != '\0');
    o.finished = gm_assembler_finish(a, &s, o.decoded != GM_OK, gm_source_offset(source), &err);
    HOLDS(o.finished == GM_OK || err.message[0] != '\0');
    if (o.finished == GM_OK) {
        o.segments = s.segments.count;
        o.blocks = s.blocks.count;
        o.events = s.events.count;
        o.annotations = s.annotation_count;
        o.warnings = s.warning_count;
        o.strings = s.strings.count;
        o.frames = s.frames.count;
        o.stacks = s.stacks.count;
    }
    gm_assembler_free(a);
    gm_source_free(source);
    return o;
}

void gm_fuzz_windows(gm_fuzz_decoder *decode, const uint8_t *data, size_t size)
{
    struct gm_source source;
    HOLDS(gm_source_open_memory(&source, data, size, NULL) == GM_OK);
    struct outcome whole = run(decode, &source);
    open_steps(&source, data, size, 2048, 1 + size % 97);
    struct outcome parts = run(decode, &source);
    HOLDS(whole.decoded == parts.decoded && whole.finished == parts.finished);
    HOLDS(whole.segments == parts.segments && whole.blocks == parts.blocks && whole.events == parts.events);
    HOLDS(whole.annotations == parts.annotations && whole.warnings == parts.warnings);
    HOLDS(whole.strings == parts.strings && whole.frames == parts.frames && whole.stacks == parts.stacks);
}
