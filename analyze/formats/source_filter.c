/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/source_filter.h"

static bool is_filter(const struct gm_source *source)
{
    return source->read == gm_source_gzip_read || source->read == gm_source_zstd_read;
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

enum gm_status gm_filter_pending(const struct gm_filter *filter, struct gm_error *err)
{
    if (filter->error.status != GM_OK && err != NULL)
        *err = filter->error;
    return filter->error.status;
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

enum gm_status gm_filter_deliver(struct gm_filter *filter, size_t got, enum gm_status status, struct gm_error *err)
{
    struct gm_error here = {0};
    filter->produced += got;
    enum gm_status limit = check_limit(filter, &here);
    if (limit != GM_OK) {
        status = limit;
        if (err != NULL)
            *err = here;
    }
    if (status == GM_OK)
        return GM_OK;
    if (err != NULL)
        filter->error = *err;
    filter->error.status = status;
    return got > 0 ? GM_OK : status;
}
