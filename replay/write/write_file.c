/* SPDX-License-Identifier: Apache-2.0
 *
 * Into a file, compressed as its name says.
 */
#include "analyze/base/new_file.h"
#include "replay/write/snapshot_writer.h"
#include "replay/write/write.h"

#include <string.h>

struct target {
    struct gm_new_file file;
    bool (*gives_up)(void);
};

static enum gm_status write_all(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    struct target *t = context;
    if (t->gives_up != NULL && t->gives_up())
        return gm_fail(err, GM_E_WRITE, GM_NO_OFFSET, "%s: interrupted", t->file.shown);
    return gm_new_file_write(&t->file, bytes, length, err);
}

static enum gm_compression by_suffix(const char *path)
{
    size_t n = strlen(path);
    if (n >= 4 && strcmp(path + n - 4, ".zst") == 0)
        return GM_COMPRESSION_ZSTD;
    return n >= 3 && strcmp(path + n - 3, ".gz") == 0 ? GM_COMPRESSION_GZIP : GM_COMPRESSION_NONE;
}

static enum gm_status write_compressed(const struct gm_snapshot *snapshot, enum gm_compression compression,
                                       const struct gm_sink *file, struct gm_error *err)
{
    struct gm_compressor *compressor;
    struct gm_sink sink;
    enum gm_status status = gm_compressor_new(&compressor, compression, file, &sink, err);
    GM_THEN(status, gm_write_pickle(snapshot, &sink, err));
    GM_THEN(status, gm_compressor_finish(compressor, err));
    gm_compressor_free(compressor);
    return status;
}

enum gm_status gm_write_snapshot_file(const struct gm_snapshot *snapshot, bool (*gives_up)(void), const char *path,
                                      struct gm_error *err)
{
    struct target t = {.gives_up = gives_up};
    const struct gm_sink file = {.write = write_all, .context = &t};
    enum gm_compression compression = by_suffix(path);
    enum gm_status status = gm_new_file_open(&t.file, path, err);
    GM_THEN(status, compression == GM_COMPRESSION_NONE ? gm_write_pickle(snapshot, &file, err)
                                                       : write_compressed(snapshot, compression, &file, err));
    return gm_new_file_close(&t.file, status, err);
}
