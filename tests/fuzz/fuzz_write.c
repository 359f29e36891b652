/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be read can be written, what was written can be read, and written again it is the same file.
 */
#include "analyze/base/utf8.h"
#include "analyze/formats/load.h"
#include "replay/write/write.h"
#include "tests/formats/model_check.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
    unsigned char *p;
    size_t n, capacity;
};

static enum gm_status collect(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    struct output *o = context;
    if (o->n + length > o->capacity) {
        size_t capacity = (o->n + length) * 2;
        unsigned char *p = realloc(o->p, capacity);
        if (p == NULL)
            return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
        o->p = p;
        o->capacity = capacity;
    }
    memcpy(o->p + o->n, bytes, length);
    o->n += length;
    return GM_OK;
}

/* Writes the snapshot; false if that is refused, which only nesting of frames in frames can bring about. */
static bool write_to(const struct gm_snapshot *s, struct output *o)
{
    const struct gm_sink sink = {.write = collect, .context = o};
    struct gm_error err = {0};
    enum gm_status status = gm_write_pickle(s, &sink, &err);
    HOLDS(status == GM_OK || (status == GM_E_LIMIT && err.message[0] != '\0'));
    return status == GM_OK;
}

/* Bytes that are no UTF-8 are written as surrogates, so two strings may become one: then only what was written is
 * compared with what is written again. */
static bool all_readable(const struct gm_snapshot *s)
{
    const char *p = s->strings.bytes, *end = p + s->strings.start[s->strings.count];
    while (p < end) {
        uint32_t code;
        size_t length = gm_utf8_decode(p, (size_t)(end - p), &code);
        if (length == 0)
            return false;
        p += length;
    }
    return true;
}

/* Reads what was written; it must be there again, and written again the same. */
static void again(const struct gm_snapshot *s, const struct output *written, bool is_same, int generation)
{
    struct gm_snapshot t;
    struct gm_error err = {0};
    enum gm_status status = gm_snapshot_load_bytes(&t, written->p, written->n, "written", NULL, &err);
    if (status != GM_OK)
        fprintf(stderr, "%s\n", err.message);
    HOLDS(status == GM_OK);
    HOLDS(gm_model_check(&t) == NULL);
    HOLDS(s->segments.count == t.segments.count && s->blocks.count == t.blocks.count);
    HOLDS(s->events.count == t.events.count && s->annotation_count == t.annotation_count);
    HOLDS(s->trace_count == t.trace_count);
    HOLDS(s->setting_count <= t.setting_count); /* a number of more than 64 bits is left out, None is not */
    struct output o = {0};
    HOLDS(write_to(&t, &o));
    HOLDS(!is_same || (o.n == written->n && memcmp(o.p, written->p, o.n) == 0));
    if (generation == 0)
        again(&t, &o, true, 1);
    free(o.p);
    gm_snapshot_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gm_snapshot s;
    struct gm_error err = {0};
    const struct gm_load_options options = {.salvage = true};
    if (gm_snapshot_load_bytes(&s, data, size, "fuzz", &options, &err) != GM_OK)
        return 0;
    HOLDS(gm_model_check(&s) == NULL);
    struct output o = {0};
    if (write_to(&s, &o))
        again(&s, &o, all_readable(&s), 0);
    free(o.p);
    gm_snapshot_free(&s);
    return 0;
}
