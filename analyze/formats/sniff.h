/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file is, by its first bytes and never by its name.
 */
#ifndef GM_FORMATS_SNIFF_H
#define GM_FORMATS_SNIFF_H

#include "analyze/formats/source.h"

enum gm_content {
    GM_CONTENT_PICKLE,
    GM_CONTENT_JSON,
    GM_CONTENT_HTML,
    GM_CONTENT_GMTRACE,
    GM_CONTENT_GZIP,
    GM_CONTENT_ZSTD
};

/* Looks at the next bytes of *source without consuming them. GM_E_FORMAT, saying what it looks like, if it can be no
 * snapshot in any form that we read. */
enum gm_status gm_sniff(struct gm_source *source, enum gm_content *content, struct gm_error *err);

#endif
