/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a gzip file.
 */
#ifndef GM_EXPORT_GZIP_H
#define GM_EXPORT_GZIP_H

#include "analyze/base/text.h"

/* Appends `plain`, compressed; `level` from 1, quickly, to 12. */
void gm_gzip_add(struct gm_text *out, const struct gm_text *plain, int level);

#endif
