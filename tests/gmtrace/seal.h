/* SPDX-License-Identifier: Apache-2.0
 *
 * .gmtrace files taken apart and put together again, to attack what lies behind their checksums.
 */
#pragma once

#include "analyze/base/text.h"

#include <stdint.h>

/* Appends a section with a right checksum. */
void gm_add_section(struct gm_text *file, const char *tag, const void *payload, size_t length);

/* Makes all checksums and the length at the end right, as far as the sections can be followed. */
void gm_seal(unsigned char *file, size_t length);

/* Appends to *out the same file with nothing compressed in it. false if it cannot be taken apart. */
bool gm_plain(const unsigned char *file, size_t length, struct gm_text *out);
