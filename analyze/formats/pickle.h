/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding pickles, protocols 0 to 5, without ever executing anything: opcodes that would import, call or look up
 * something outside of the file are refused by name.
 */
#ifndef GM_FORMATS_PICKLE_H
#define GM_FORMATS_PICKLE_H

#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"

/* Decodes one pickle from *source up to its STOP into the assembler; gm_assembler_finish is the caller's. *protocol
 * gets the highest protocol stated or needed so far, also on failure. */
enum gm_status gm_pickle_decode(struct gm_source *source, struct gm_assembler *a, int *protocol, struct gm_error *err);

#endif
