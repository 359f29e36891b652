/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding JSON (RFC 8259), plus the NaN, Infinity and -Infinity that Python writes.
 */
#ifndef GM_FORMATS_JSON_H
#define GM_FORMATS_JSON_H

#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"

/* Decodes one JSON value from *source into the assembler, whatever follows it; gm_assembler_finish is the caller's.
 * Integers of up to 64 bits are exact, longer ones become reals. Escaped lone surrogates become U+FFFD; bytes that are
 * no UTF-8 are kept. */
enum gm_status gm_json_decode(struct gm_source *source, struct gm_assembler *a, struct gm_error *err);

#endif
