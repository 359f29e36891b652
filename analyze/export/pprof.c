/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof's profile.proto, compressed with gzip: heap samples (bytes in use, objects in use) by stack. The protocol
 * buffer wire format needs two kinds of fields only: numbers (varints) and bytes with a length (strings, messages,
 * packed numbers). Numbers of fields are those of profile.proto.
 */
#include "analyze/export/export.h"
#include "analyze/export/formats.h"

#include <inttypes.h>
#include <string.h>

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_INLINE_FRAMES = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void put_varint(struct gm_text *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        gm_text_add_char(out, (char)((v & 0x7f) | 0x80));
    gm_text_add_char(out, (char)v);
}

static void put_number(struct gm_text *out, unsigned field, uint64_t v)
{
    put_varint(out, field << 3 | WIRE_VARINT);
    put_varint(out, v);
}

static void put_bytes(struct gm_text *out, unsigned field, const void *bytes, size_t n)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, n);
    if (n > 0)
        gm_text_add_bytes(out, bytes, n);
}

/* Appends `message` as a field and empties it. */
static void put_message(struct gm_text *out, unsigned field, struct gm_text *message)
{
    put_bytes(out, field, message->data, message->length);
    out->failed = out->failed || message->failed;
    message->length = 0;
}

struct profile {
    struct gm_text out, message, part;
    struct gm_triples strings;   /* by name; 0 is "" */
    struct gm_triples functions; /* by name and file; ids are numbers + 1 */
    struct gm_triples locations; /* by name, file and line; likewise */
    uint64_t device_key;         /* "device" in strings */
};

static uint64_t string_id(struct profile *p, const char *s)
{
    return gm_triples_put(&p->strings, s, "", 0);
}

static void put_value_type(struct profile *p, const char *type, const char *unit)
{
    put_number(&p->message, VALUE_TYPE_TYPE, string_id(p, type));
    put_number(&p->message, VALUE_TYPE_UNIT, string_id(p, unit));
    put_message(&p->out, PROFILE_SAMPLE_TYPE, &p->message);
}

static uint64_t location_id(struct profile *p, const char *name, const char *filename, uint64_t line)
{
    return UINT64_C(1) + gm_triples_put(&p->locations, name, filename, line);
}

/* Values of a profile are signed. */
static uint64_t value(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : v;
}

/* `device` is the value of a label, `root` the outermost frame, NULL for none. */
static void put_sample(struct profile *p, const struct gm_flame *flame, const struct gm_flame_walk *walk,
                       const char *device, const char *root)
{
    for (size_t i = walk->depth; i-- > 0;) { /* innermost first */
        const struct gm_flame_node *node = &flame->nodes[walk->path[i]];
        struct gm_place_in_code place = gm_export_place(node);
        put_varint(&p->part, location_id(p, node->name, place.filename, place.line));
    }
    if (root != NULL)
        put_varint(&p->part, location_id(p, root, "", GM_REPORT_NONE));
    put_message(&p->message, SAMPLE_LOCATION_ID, &p->part);
    put_varint(&p->part, value(flame->nodes[walk->node].self_blocks));
    put_varint(&p->part, value(flame->nodes[walk->node].self_bytes));
    put_message(&p->message, SAMPLE_VALUE, &p->part);
    put_number(&p->part, LABEL_KEY, p->device_key);
    put_number(&p->part, LABEL_STR, string_id(p, device));
    put_message(&p->message, SAMPLE_LABEL, &p->part);
    put_message(&p->out, PROFILE_SAMPLE, &p->message);
}

static void put_samples(struct profile *p, const struct gm_flame *flame, const char *device, const char *root)
{
    GM_FREED struct gm_flame_walk walk = {0};
    while (gm_flame_walk_next(&walk, flame))
        put_sample(p, flame, &walk, device, root);
    p->out.failed |= walk.failed;
}

/* What a profile of a program has for its binary; pprof shows the name and need not look for symbols. */
static void put_mapping(struct profile *p, const char *path)
{
    put_number(&p->message, MAPPING_ID, 1);
    put_number(&p->message, MAPPING_FILENAME, string_id(p, path == NULL ? NULL : gm_file_name(path)));
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES; field++)
        put_number(&p->message, field, 1);
    put_message(&p->out, PROFILE_MAPPING, &p->message);
}

/* What the samples refer to. */
static void put_tables(struct profile *p)
{
    for (size_t i = 0; i < p->locations.n; i++) {
        const struct gm_triple *location = &p->locations.v[i];
        put_number(&p->part, LINE_FUNCTION_ID,
                   UINT64_C(1) + gm_triples_put(&p->functions, location->name, location->filename, 0));
        if (location->number != GM_REPORT_NONE)
            put_number(&p->part, LINE_LINE, value(location->number));
        put_number(&p->message, LOCATION_ID, i + 1);
        put_number(&p->message, LOCATION_MAPPING_ID, 1);
        put_message(&p->message, LOCATION_LINE, &p->part);
        put_message(&p->out, PROFILE_LOCATION, &p->message);
    }
    for (size_t i = 0; i < p->functions.n; i++) {
        put_number(&p->message, FUNCTION_ID, i + 1);
        put_number(&p->message, FUNCTION_NAME, string_id(p, p->functions.v[i].name));
        put_number(&p->message, FUNCTION_FILENAME, string_id(p, p->functions.v[i].filename));
        put_message(&p->out, PROFILE_FUNCTION, &p->message);
    }
    for (size_t i = 0; i < p->strings.n; i++)
        put_bytes(&p->out, PROFILE_STRING, p->strings.v[i].name, strlen(p->strings.v[i].name));
}

/* The roots' names, "device 0", live in `names`. The latest peak gives the profile its time. */
static void put_profile(struct profile *p, const struct gm_report *report, struct gm_arena *names)
{
    bool are_several = gm_export_trees(report) > 1;
    uint64_t time_us = 0;
    string_id(p, "");
    put_value_type(p, "inuse_objects", "count");
    put_value_type(p, "inuse_space", "bytes");
    p->device_key = string_id(p, "device");
    put_mapping(p, report->snapshot.path);
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        if (timeline == NULL)
            continue;
        const char *root = gm_arena_printf(names, "device %" PRId64, report->devices[d].device);
        if (root == NULL)
            p->out.failed = true;
        else
            put_samples(p, &timeline->flame, root + strlen("device "), are_several ? root : NULL);
        if (report->peaks[d].time_us != GM_REPORT_NONE && report->peaks[d].time_us > time_us)
            time_us = report->peaks[d].time_us;
    }
    put_number(&p->out, PROFILE_COMMENT, string_id(p, "live GPU memory at the peak of requested bytes, by gmanalyze"));
    put_number(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE, string_id(p, "inuse_space"));
    if (time_us > 0 && time_us <= INT64_MAX / 1000)
        put_number(&p->out, PROFILE_TIME_NANOS, time_us * 1000);
    put_tables(p);
}

void gm_export_pprof(struct gm_text *out, const struct gm_report *report)
{
    struct profile p = {0};
    GM_FREED_BY(gm_arena_free) struct gm_arena names = {0};
    put_profile(&p, report, &names);
    if (p.out.failed || p.message.failed || p.part.failed || p.strings.failed || p.functions.failed ||
        p.locations.failed)
        out->failed = true;
    else
        gm_gzip_add(out, &p.out, 6);
    gm_text_free(&p.out);
    gm_text_free(&p.message);
    gm_text_free(&p.part);
    gm_triples_free(&p.strings);
    gm_triples_free(&p.functions);
    gm_triples_free(&p.locations);
}
