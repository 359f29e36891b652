/* SPDX-License-Identifier: Apache-2.0
 *
 * The window that slides over a stream, and the simplest source: memory.
 */
#include "analyze/formats/source.h"

#include "analyze/formats/source_filter.h"

#include <stdlib.h>
#include <string.h>

enum gm_status gm_source_begin(struct gm_source *source, gm_source_read *read, gm_source_close *close, void *state,
                               struct gm_error *err)
{
    *source = (struct gm_source){.read = read, .close = close, .state = state, .window_size = GM_SOURCE_WINDOW};
    source->window = malloc(source->window_size);
    if (source->window == NULL) {
        gm_source_free(source);
        return gm_no_memory(err);
    }
    source->p = source->end = source->window;
    return GM_OK;
}

/* Memory is its own window: nothing is copied, and nothing comes after it. */
enum gm_status gm_source_open_memory(struct gm_source *source, const void *data, size_t length, struct gm_error *err)
{
    (void)err;
    const unsigned char *bytes = length > 0 ? data : (const unsigned char *)"";
    *source = (struct gm_source){
        .p = bytes, .end = bytes + length, .end_offset = length, .at_end = true, .window_size = length};
    return GM_OK;
}

void gm_source_free(struct gm_source *source)
{
    if (source->close != NULL)
        source->close(source->state);
    free(source->window);
    *source = (struct gm_source){0};
}

enum gm_status gm_source_more(struct gm_source *source, size_t want, struct gm_error *err)
{
    size_t have = (size_t)(source->end - source->p);
    if (have >= want || source->at_end)
        return GM_OK;
    enum gm_status may = source->may_go_on == NULL ? GM_OK : source->may_go_on(source->asked, err);
    if (may != GM_OK)
        return may;
    if (source->more != NULL)
        return source->more(source, want, err);
    if (want > source->window_size / 2)
        return gm_fail(err, GM_E_INTERNAL, gm_source_offset(source), "%zu bytes wanted of a window of %zu", want,
                       source->window_size);
    memmove(source->window, source->p, have);
    source->p = source->window;
    source->end = source->window + have;
    while (have < want) {
        size_t got = 0;
        GM_TRY(source->read(source->state, source->window + have, source->window_size - have, &got, err));
        if (got == 0) {
            source->at_end = true;
            return GM_OK;
        }
        have += got;
        source->end += got;
        source->end_offset += got;
    }
    return GM_OK;
}

/* ---- what the decompressing ones share --------------------------------------------------------------------------- */

static gm_source_read read_filter;

static bool is_filter(const struct gm_source *source)
{
    return source->read == read_filter;
}

void gm_filter_expect_pickle(struct gm_source *source)
{
    if (is_filter(source))
        ((struct gm_filter *)source->state)->ratio = GM_EXPANSION_PICKLE;
}

static uint64_t disk_bytes(const struct gm_filter *filter)
{
    while (is_filter(&filter->inner))
        filter = filter->inner.state;
    return gm_source_offset(&filter->inner);
}

uint64_t gm_filter_source_disk_bytes(const struct gm_source *source)
{
    return is_filter(source) ? disk_bytes(source->state) : gm_source_offset(source);
}

static enum gm_status check_limit(const struct gm_filter *filter, struct gm_error *err)
{
    uint64_t disk = disk_bytes(filter);
    if (filter->produced <= GM_EXPANSION_FREE || (filter->produced - GM_EXPANSION_FREE) / filter->ratio <= disk)
        return GM_OK;
    return gm_fail(err, GM_E_LIMIT, filter->produced,
                   "%llu compressed bytes expand to more than %llu MiB plus %llu times their size: "
                   "this looks like a decompression bomb; if it is not, decompress it first",
                   (unsigned long long)disk, (unsigned long long)(GM_EXPANSION_FREE >> 20),
                   (unsigned long long)filter->ratio);
}

/* An error is kept for all later reads; it is reported at once only if there are no bytes to deliver first. */
static enum gm_status read_filter(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    struct gm_filter *filter = state;
    *got = 0;
    if (filter->error.status == GM_OK) {
        enum gm_status status = filter->some(filter, out, size, got, &filter->error);
        filter->produced += *got;
        const enum gm_status limit = check_limit(filter, &filter->error);
        filter->error.status = limit != GM_OK ? limit : status;
    }
    if (filter->error.status == GM_OK || *got > 0)
        return GM_OK;
    if (err != NULL)
        *err = filter->error;
    return filter->error.status;
}

enum gm_status gm_filter_open(struct gm_source *source, struct gm_source *inner, struct gm_filter *filter,
                              gm_source_read *some, gm_source_close *close, struct gm_error *err)
{
    if (filter == NULL) {
        gm_source_free(inner);
        *source = (struct gm_source){0};
        return gm_no_memory(err);
    }
    *filter = (struct gm_filter){.inner = *inner, .some = some, .ratio = GM_EXPANSION_OTHER};
    *inner = (struct gm_source){0};
    return gm_source_begin(source, read_filter, close, filter, err);
}
