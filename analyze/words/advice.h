/* SPDX-License-Identifier: Apache-2.0
 *
 * What would lower a peak: the call site that is worth most, and what people do about the role that holds most of it.
 */
#ifndef GM_WORDS_ADVICE_H
#define GM_WORDS_ADVICE_H

#include "analyze/words/view.h"

/* What lasts from step to step (parameters, their gradients, optimizer state) nobody leaves out: such call sites are
 * no advice, their role is. */
struct gm_role_advice {
    const char *role;
    const char *subject;  /* "activations are" */
    const char *in_short; /* a clause of few words */
    const char *in_full;  /* a clause */
    bool is_lasting;
    uint64_t bytes; /* requested, at the peak */
};

/* The role that holds most of the peak. false: none of those with advice holds a quarter of it. */
bool gm_advice_role(struct gm_role_advice *advice, const struct gm_view *view);
/* The call site without which the peak would be lowest. NULL: none has a name and saves enough to be worth a look. */
const struct gm_group_row *gm_advice_site(const struct gm_view *view);
/* The finding of that id; NULL: it was not made. */
const struct gm_finding *gm_advice_finding(const struct gm_report *report, const char *id);

#endif
