/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a finding, with what they count.
 */
#ifndef GM_WORDS_FINDING_H
#define GM_WORDS_FINDING_H

#include "analyze/report/report.h"

enum { GM_FINDING_BYTES = 64 };

/* " (4.94 GiB asked for)", to stand behind the title; "" if the finding has none. Returns out. */
char *gm_finding_bytes(char out[GM_FINDING_BYTES], const struct gm_finding *finding);

#endif
