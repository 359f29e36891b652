/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/export.h"

#include <libdeflate.h>
#include <stdlib.h>

void gm_gzip_add(struct gm_text *out, const struct gm_text *plain, int level)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
    size_t room = compressor == NULL ? 0 : libdeflate_gzip_compress_bound(compressor, plain->length);
    GM_FREED void *packed = room == 0 ? NULL : malloc(room);
    size_t n = packed == NULL ? 0 : libdeflate_gzip_compress(compressor, plain->data, plain->length, packed, room);
    if (n > 0)
        gm_text_add_bytes(out, packed, n);
    else
        out->failed = true;
    if (compressor != NULL)
        libdeflate_free_compressor(compressor);
}
