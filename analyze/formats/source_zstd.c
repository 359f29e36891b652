/* SPDX-License-Identifier: Apache-2.0
 *
 * Zstandard (RFC 8878), any number of frames, skippable ones too. What follows the last frame and is no frame is
 * ignored, as for gzip.
 */
#include "analyze/formats/source_filter.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { MAX_WINDOW_LOG = 27 }; /* 128 MiB: what zstd -d itself accepts unasked */

struct unzstd {
    struct gm_filter filter;
    ZSTD_DCtx *context;
    bool between_frames, is_done;
};

static bool is_frame(const unsigned char *p)
{
    bool is_data = p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd;
    return is_data || ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18);
}

static enum gm_status explain(const struct unzstd *z, size_t code, uint64_t produced, struct gm_error *err)
{
    unsigned long long at = gm_source_offset(&z->filter.inner);
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return gm_no_memory(err);
    case ZSTD_error_frameParameter_windowTooLarge:
        return gm_fail(err, GM_E_LIMIT, produced,
                       "it was compressed with a window of more than 128 MiB: decompress it first (zstd -d --long=31)");
    default:
        return gm_fail(err, GM_E_CORRUPT, produced, "damaged zstd data at compressed byte %llu (%s)", at,
                       ZSTD_getErrorName(code));
    }
}

/* Reads on after the window gave nothing more. */
static enum gm_status refill(struct unzstd *z, uint64_t produced, struct gm_error *err)
{
    struct gm_source *inner = &z->filter.inner;
    enum gm_status status = gm_source_more(inner, (size_t)(inner->end - inner->p) + 1, err);
    if (status == GM_OK && inner->at_end && inner->p == inner->end)
        status = gm_fail(err, GM_E_TRUNCATED, produced, "the zstd data ends early, after %llu bytes",
                         (unsigned long long)gm_source_offset(inner));
    return status;
}

static enum gm_status unzstd_some(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    struct unzstd *z = state;
    struct gm_source *inner = &z->filter.inner;
    ZSTD_outBuffer buffer = {out, size, 0};
    while (buffer.pos < size && !z->is_done) {
        if (z->between_frames) {
            GM_TRY(gm_source_more(inner, 4, err));
            z->between_frames = false;
            z->is_done = inner->end - inner->p < 4 || !is_frame(inner->p);
            continue;
        }
        ZSTD_inBuffer in = {inner->p, (size_t)(inner->end - inner->p), 0};
        const size_t before = buffer.pos, code = ZSTD_decompressStream(z->context, &buffer, &in);
        inner->p += in.pos;
        *got = buffer.pos;
        const uint64_t produced = z->filter.produced + *got;
        if (ZSTD_isError(code))
            return explain(z, code, produced, err);
        z->between_frames = code == 0;
        if (code != 0 && in.pos == 0 && buffer.pos == before)
            GM_TRY(refill(z, produced, err));
    }
    return GM_OK;
}

static void unzstd_close(void *state)
{
    struct unzstd *z = state;
    ZSTD_freeDCtx(z->context);
    gm_source_free(&z->filter.inner);
    free(z);
}

enum gm_status gm_source_open_zstd(struct gm_source *source, struct gm_source *inner, struct gm_error *err)
{
    struct unzstd *z = calloc(1, sizeof *z);
    if (z != NULL)
        z->context = ZSTD_createDCtx();
    if (z == NULL || z->context == NULL) {
        free(z);
        return gm_filter_open(source, inner, NULL, NULL, NULL, err);
    }
    ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax, MAX_WINDOW_LOG);
    z->between_frames = true;
    return gm_filter_open(source, inner, &z->filter, unzstd_some, unzstd_close, err);
}
