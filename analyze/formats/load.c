/* SPDX-License-Identifier: Apache-2.0
 *
 * From a file to a snapshot: peel off compression and HTML by what the bytes say, decode what is inside, finish.
 */
#include "analyze/formats/load.h"

#include "analyze/base/bisect.h"
#include "analyze/base/clock.h"
#include "analyze/base/machine.h"
#include "analyze/base/size.h"
#include "analyze/formats/assemble.h"
#include "analyze/formats/decoders.h"
#include "analyze/formats/source.h"
#include "analyze/formats/source_filter.h"
#include "analyze/snapshot/builder.h"

#include <stdatomic.h>
#include <string.h>

enum { MAX_LAYERS = 2 }; /* of compression: someone may have compressed a compressed file once more */

enum { GM_MAX_DEVICES = 1024 }; /* PyTorch's limit is 128 */

/* Reading ahead pays from about here; decompressing costs more than reading. */
/* An event of a pickle has so many bytes at least. Of a larger file columns grow where they are, without being copied.
 */
enum { BYTES_EACH = 48, EXPECTED_MOST = 8 << 20 };
enum { THREAD_BYTES = 8 << 20, THREAD_COMPRESSED_BYTES = 256 << 10 };

struct loader {
    uint64_t max_memory;        /* bytes; 0: by the file's size */
    uint64_t machine;           /* bytes that there are at all */
    const uint64_t *disk_bytes; /* of the file; a pipe's are counted while it is read */
    struct gm_source source;
    struct gm_assembler *a;    /* of a snapshot's values; NULL: there are none */
    struct gm_profile profile; /* of a trace of torch.profiler, until it becomes the snapshot's */
    struct gm_source_info info;
    enum gm_content content;
    bool is_wrapped; /* in HTML */
    struct gm_error *err;
};

static const struct {
    const char *word;
    enum gm_status (*decode)(struct gm_source *source, struct gm_decoded *out, struct gm_error *err);
} formats[] = {
#define X(name, word, decode) {word, decode},
    GM_FORMAT_MAP(X)
#undef X
};

/* ---- layers ----------------------------------------------------------------------------------------------------- */

static enum gm_status peel_compression(struct loader *l)
{
    for (int layers = 0;; layers++) {
        enum gm_status status = gm_sniff(&l->source, &l->content, l->err);
        bool is_gzip = l->content == GM_CONTENT_GZIP;
        if (status != GM_OK || (!is_gzip && l->content != GM_CONTENT_ZSTD))
            return status;
        if (layers == MAX_LAYERS)
            return gm_fail(l->err, GM_E_LIMIT, GM_NO_OFFSET, "it is compressed more than %d times over", MAX_LAYERS);
        if (layers == 0)
            l->info.compression = is_gzip ? GM_COMPRESSION_GZIP : GM_COMPRESSION_ZSTD;
        struct gm_source inner = l->source;
        GM_TRY(is_gzip ? gm_source_open_gzip(&l->source, &inner, l->err)
                       : gm_source_open_zstd(&l->source, &inner, l->err));
    }
}

static enum gm_status peel(struct loader *l)
{
    GM_TRY(peel_compression(l));
    l->info.format = formats[l->content].word;
    l->is_wrapped = l->content == GM_CONTENT_HTML;
    if (l->content == GM_CONTENT_PICKLE)
        gm_filter_expect_pickle(&l->source);
    if (!l->is_wrapped)
        return GM_OK;
    struct gm_source inner = l->source;
    enum gm_status status = gm_source_open_html(&l->source, &inner, l->err);
    GM_THEN(status, gm_sniff(&l->source, &l->content, l->err));
    if (status == GM_OK && l->content != GM_CONTENT_PICKLE)
        status = gm_fail(l->err, GM_E_FORMAT, GM_NO_OFFSET, "the base64 data in this HTML page is no pickle");
    return status;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static uint64_t memory_limit(const struct loader *l)
{
    uint64_t disk_bytes = *l->disk_bytes;
    uint64_t limit = disk_bytes > (UINT64_MAX - GM_LOAD_FREE) / GM_LOAD_RATIO
                         ? UINT64_MAX
                         : GM_LOAD_FREE + GM_LOAD_RATIO * disk_bytes;
    if (l->max_memory != 0)
        return l->max_memory;
    return limit < l->machine && l->content != GM_CONTENT_GMTRACE ? limit : l->machine;
}

/* Whether a snapshot of `held` bytes is within the limit. */
static enum gm_status check_memory(const struct loader *l, uint64_t held, struct gm_error *err)
{
    uint64_t limit = memory_limit(l);
    char text[GM_SIZE_TEXT];
    if (held <= limit / GM_LOAD_SHARE)
        return GM_OK;
    return gm_fail(err, GM_E_LIMIT, gm_source_offset(&l->source),
                   "it needs more than %s of memory, %s; --max-memory allows more", gm_size_format(text, limit),
                   l->max_memory != 0    ? "which is the limit"
                   : limit == l->machine ? "which is all that this machine has"
                                         : "far more than a snapshot of its size");
}

/* Once per window. */
static enum gm_status may_go_on(void *asked, struct gm_error *err)
{
    const struct loader *l = asked;
    if (l->a != NULL)
        gm_assembler_tell_filling(l->a);
    return check_memory(l, l->a != NULL ? gm_assembler_bytes(l->a) : gm_profile_bytes(&l->profile), err);
}

static void ask_pages(void *asked)
{
    gm_assembler_ask_pages(asked);
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

/* Checksums stand at the end of compressed data, behind the STOP of the pickle: reads on to there, within reason. */
static enum gm_status check_rest(struct loader *l)
{
    enum { MAX_REST = 16 << 20 };
    if (l->info.compression == GM_COMPRESSION_NONE || l->is_wrapped)
        return GM_OK;
    uint64_t first = gm_source_offset(&l->source);
    while (!l->source.at_end && gm_source_offset(&l->source) - first < MAX_REST) {
        l->source.p = l->source.end;
        GM_TRY(gm_source_more(&l->source, 1, l->err));
    }
    return GM_OK;
}

static enum gm_status decode(struct loader *l, struct gm_snapshot *snapshot)
{
    struct gm_decoded out = {.values = l->a, .snapshot = snapshot, .profile = &l->profile, .pickle_protocol = -1};
    enum gm_status status = formats[l->content].decode(&l->source, &out, l->err);
    l->info.pickle_protocol = out.pickle_protocol;
    l->info.decoded_bytes = gm_source_offset(&l->source);
    return status;
}

/* From what was decoded to the snapshot; `is_partial`: as far as that came. */
static enum gm_status finish(struct loader *l, struct gm_snapshot *snapshot, bool is_partial, uint64_t offset,
                             struct gm_error *err)
{
    if (l->a != NULL)
        return gm_assembler_finish(l->a, snapshot, is_partial, offset, err);
    return gm_profile_finish(&l->profile) ? gm_kineto_snapshot(&l->profile, snapshot, err) : gm_no_memory(err);
}

static bool can_salvage(enum gm_status status)
{
    return status == GM_E_TRUNCATED || status == GM_E_CORRUPT || status == GM_E_LIMIT;
}

/* The file is damaged (*l->err says how): makes a snapshot of what came before. If nothing came, the damage is the
 * error. */
static enum gm_status salvage(struct loader *l, struct gm_snapshot *snapshot, bool is_complete)
{
    struct gm_error damage = *l->err, other = {0};
    l->info.is_salvaged = true;
    l->info.salvaged_offset = damage.offset != GM_NO_OFFSET ? damage.offset : l->info.decoded_bytes;
    enum gm_status status = finish(l, snapshot, !is_complete, l->info.salvaged_offset, &other);
    if (status == GM_E_NOMEM) {
        *l->err = other;
        return status;
    }
    const bool has_spans = snapshot->profile != NULL && snapshot->profile->spans.n > 0;
    if (status == GM_OK && (snapshot->segments.count > 0 || snapshot->events.count > 0 || has_spans)) {
        l->info.salvaged_reason = gm_arena_copy(&snapshot->memory->arena, damage.message, strlen(damage.message));
        if (l->info.salvaged_reason != NULL)
            return GM_OK;
        gm_snapshot_free(snapshot);
        return gm_no_memory(l->err);
    }
    if (status == GM_OK)
        gm_snapshot_free(snapshot);
    return damage.status;
}

/* A .gmtrace file is whole or it is refused: there is nothing to salvage. */
static enum gm_status load_gmtrace(struct loader *l, struct gm_snapshot *snapshot)
{
    enum gm_status status = decode(l, snapshot);
    l->info.is_salvaged = snapshot->source.is_salvaged; /* before it became a .gmtrace */
    l->info.salvaged_offset = snapshot->source.salvaged_offset;
    l->info.salvaged_reason = snapshot->source.salvaged_reason;
    return status;
}

static enum gm_status load(struct loader *l, struct gm_snapshot *snapshot, const struct gm_load_options *options)
{
    enum gm_status status = peel(l);
    if (status == GM_OK && l->content == GM_CONTENT_GMTRACE)
        return load_gmtrace(l, snapshot);
    uint64_t worth =
        l->info.compression == GM_COMPRESSION_NONE ? (uint64_t)THREAD_BYTES : (uint64_t)THREAD_COMPRESSED_BYTES;
    if (status == GM_OK && l->info.disk_bytes >= worth) {
        struct gm_source inner = l->source;
        gm_source_open_thread(&l->source, &inner);
    }
    if (status == GM_OK && l->content != GM_CONTENT_KINETO)
        status = gm_assembler_new(&l->a, l->err);
    if (status != GM_OK)
        return status;
    if (l->content == GM_CONTENT_PICKLE && l->info.disk_bytes <= EXPECTED_MOST)
        gm_assembler_expect(l->a, (size_t)l->info.disk_bytes / BYTES_EACH);
    if (l->a != NULL)
        gm_source_thread_meanwhile(&l->source, ask_pages, l->a);
    l->source.may_go_on = may_go_on;
    l->source.asked = l;
    status = decode(l, snapshot);
    l->source.may_go_on = NULL;
    GM_THEN(status, may_go_on(l, l->err));
    bool is_complete = status == GM_OK;
    if (is_complete)
        status = check_rest(l);
    if (status == GM_OK)
        return finish(l, snapshot, false, l->info.decoded_bytes, l->err);
    if (!can_salvage(status))
        return status;
    const struct gm_error damage = *l->err;
    const enum gm_status saved = salvage(l, snapshot, is_complete);
    if ((options != NULL && options->salvage) || saved == GM_E_NOMEM)
        return saved;
    if (saved == GM_OK)
        gm_snapshot_free(snapshot);
    *l->err = damage;
    l->err->salvage = saved == GM_OK             ? GM_SALVAGE_HELPS
                      : status == GM_E_TRUNCATED ? GM_SALVAGE_USELESS
                                                 : GM_SALVAGE_NONE;
    return status;
}

/* A report, its tables and curves are made for each device, and a device costs a file a few bytes only. */
static enum gm_status check_devices(const struct gm_snapshot *s, struct gm_error *err)
{
    int64_t devices[GM_MAX_DEVICES + 1];
    size_t n = 0;
    for (size_t i = 0; i < s->segments.count + s->trace_count && n <= GM_MAX_DEVICES; i++) {
        size_t trace = i - s->segments.count;
        if (i >= s->segments.count && s->traces[trace].count == 0)
            continue;
        int64_t device = i < s->segments.count ? s->segments.device[i] : (int64_t)trace;
        size_t at = 0;
        GM_BISECT(at, n, k, devices[k] < device);
        if (at < n && devices[at] == device)
            continue;
        memmove(&devices[at + 1], &devices[at], (n - at) * sizeof *devices);
        devices[at] = device;
        n++;
    }
    return n <= GM_MAX_DEVICES ? GM_OK
                               : gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET,
                                         "more than %d devices with a segment or an event", GM_MAX_DEVICES);
}

/* Loads from l->source, which it frees, and fills in where the snapshot came from. */
static enum gm_status load_and_close(struct loader *l, struct gm_snapshot *snapshot, const char *name,
                                     const struct gm_load_options *options, const uint64_t *disk_bytes,
                                     struct gm_error *err)
{
    struct gm_error here = {0};
    l->err = &here;
    l->disk_bytes = disk_bytes;
    l->max_memory = options == NULL ? 0 : options->max_memory;
    l->machine = gm_machine_memory();
    l->info.disk_bytes = *disk_bytes;
    enum gm_status status = load(l, snapshot, options);
    if (status == GM_OK && !l->info.is_salvaged &&
        (status = check_memory(l, gm_builder_bytes(snapshot->memory), &here)) != GM_OK)
        gm_snapshot_free(snapshot);
    gm_source_free(&l->source);
    gm_assembler_free(l->a);
    gm_profile_free(&l->profile);
    if (status == GM_OK && (status = check_devices(snapshot, &here)) != GM_OK)
        gm_snapshot_free(snapshot);
    if (status == GM_OK) {
        l->info.disk_bytes = *disk_bytes; /* a pipe's are counted while it is read */
        l->info.is_bare_segment_list = snapshot->source.is_bare_segment_list;
        l->info.path = gm_arena_copy(&snapshot->memory->arena, name, strlen(name));
        snapshot->source = l->info;
        if (l->info.path == NULL) {
            gm_snapshot_free(snapshot);
            status = gm_no_memory(&here);
        }
    }
    if (status != GM_OK && err != NULL)
        *err = here;
    return status;
}

enum gm_status gm_snapshot_load(struct gm_snapshot *snapshot, const char *path, const struct gm_load_options *options,
                                struct gm_error *err)
{
    *snapshot = (struct gm_snapshot){0};
    struct loader l = {0};
    uint64_t disk_bytes = 0;
    struct gm_load_progress *progress = options == NULL ? NULL : options->progress;
    enum gm_status status =
        gm_source_open_file(&l.source, path, &disk_bytes, progress == NULL ? NULL : &progress->done, err);
    if (progress != NULL) {
        atomic_store(&progress->all, disk_bytes);
        atomic_store(&progress->began_us, (uint64_t)(1e6 * gm_seconds()));
    }
    return status == GM_OK ? load_and_close(&l, snapshot, path, options, &disk_bytes, err) : status;
}

enum gm_status gm_snapshot_load_bytes(struct gm_snapshot *snapshot, const void *data, size_t length, const char *name,
                                      const struct gm_load_options *options, struct gm_error *err)
{
    *snapshot = (struct gm_snapshot){0};
    struct loader l = {0};
    uint64_t disk_bytes = length;
    enum gm_status status = gm_source_open_memory(&l.source, data, length, err);
    return status == GM_OK ? load_and_close(&l, snapshot, name, options, &disk_bytes, err) : status;
}
