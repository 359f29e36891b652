/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GM_WORDS_DOUBT_H
#define GM_WORDS_DOUBT_H

#include "analyze/base/text.h"
#include "analyze/words/view.h"

#include <stdbool.h>

/* Appends why the trace of a device cannot be trusted, as one or two sentences. false, and nothing appended: there is
 * no reason to tell above the peak. */
bool gm_doubt_add(struct gm_text *out, const struct gm_view *view, bool with_device);

#endif
