/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip (RFC 1952), any number of members one after the other. What follows the last member and is no member is ignored,
 * as gzip itself does.
 */
#include "analyze/formats/source_filter.h"

#include <stdlib.h>
#define ZLIB_CONST /* next_in points to const */
#include <zlib.h>

struct gunzip {
    struct gm_filter filter;
    z_stream z;
    bool between_members, is_first, is_done;
};

/* Starts the next member if there is one, else sets is_done. */
static enum gm_status next_member(struct gunzip *g, struct gm_error *err)
{
    struct gm_source *inner = &g->filter.inner;
    GM_TRY(gm_source_more(inner, 2, err));
    bool is_member = inner->end - inner->p >= 2 && inner->p[0] == 0x1f && inner->p[1] == 0x8b;
    if (!is_member && g->is_first)
        return gm_fail(err, GM_E_CORRUPT, 0, "no gzip data");
    g->is_first = false;
    g->is_done = !is_member;
    g->between_members = false;
    if (is_member)
        inflateReset(&g->z);
    return GM_OK;
}

/* Decompresses as much as is in the inner window; *stalled if it took and gave nothing. */
static enum gm_status inflate_window(struct gunzip *g, bool *stalled, struct gm_error *err)
{
    struct gm_source *inner = &g->filter.inner;
    size_t have = (size_t)(inner->end - inner->p);
    uInt in = have < UINT32_MAX ? (uInt)have : UINT32_MAX, out = g->z.avail_out;
    g->z.next_in = inner->p;
    g->z.avail_in = in;
    int code = inflate(&g->z, Z_NO_FLUSH);
    inner->p += in - g->z.avail_in;
    *stalled = g->z.avail_in == in && g->z.avail_out == out;
    uint64_t produced = g->filter.produced;
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR:
        return GM_OK;
    case Z_STREAM_END:
        g->between_members = true;
        *stalled = false;
        return GM_OK;
    case Z_MEM_ERROR:
        return gm_no_memory(err);
    default:
        return gm_fail(err, GM_E_CORRUPT, produced + (out - g->z.avail_out),
                       "damaged gzip data at compressed byte %llu (%s)", (unsigned long long)gm_source_offset(inner),
                       g->z.msg != NULL ? g->z.msg : "needs a dictionary");
    }
}

static enum gm_status gunzip_some(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    struct gunzip *g = state;
    struct gm_source *inner = &g->filter.inner;
    enum gm_status status = GM_OK;
    g->z.next_out = out;
    g->z.avail_out = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
    while (status == GM_OK && g->z.avail_out > 0 && !g->is_done) {
        bool stalled = false;
        status = g->between_members ? next_member(g, err) : inflate_window(g, &stalled, err);
        *got = (size_t)(g->z.next_out - out);
        if (status == GM_OK && stalled) {
            status = gm_source_more(inner, (size_t)(inner->end - inner->p) + 1, err);
            if (status == GM_OK && inner->at_end && inner->p == inner->end)
                status =
                    gm_fail(err, GM_E_TRUNCATED, g->filter.produced + *got,
                            "the gzip data ends early, after %llu bytes", (unsigned long long)gm_source_offset(inner));
        }
    }
    return status;
}

static void gunzip_close(void *state)
{
    struct gunzip *g = state;
    inflateEnd(&g->z);
    gm_source_free(&g->filter.inner);
    free(g);
}

enum gm_status gm_source_open_gzip(struct gm_source *source, struct gm_source *inner, struct gm_error *err)
{
    struct gunzip *g = calloc(1, sizeof *g);
    if (g == NULL || inflateInit2(&g->z, 15 + 16) != Z_OK) {
        free(g);
        return gm_filter_open(source, inner, NULL, NULL, NULL, err);
    }
    g->between_members = g->is_first = true;
    return gm_filter_open(source, inner, &g->filter, gunzip_some, gunzip_close, err);
}
