/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/export: strings in JSON.
 */
#ifndef GM_EXPORT_JSON_TEXT_H
#define GM_EXPORT_JSON_TEXT_H

#include "analyze/base/text.h"

/* A JSON string with its quotes; "" for NULL. A report's strings are well-formed UTF-8. */
void gm_export_string(struct gm_text *out, const char *s);

#endif
