/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/profile: what its passes share.
 */
#ifndef GM_PROFILE_PROFILE_PASS_H
#define GM_PROFILE_PROFILE_PASS_H

#include "analyze/base/error.h"
#include "analyze/profile/links.h"
#include "analyze/report/profile_facts.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/profile.h"

struct gm_profile_pass {
    const struct gm_profile *profile;
    struct gm_arena *arena; /* the report's */
    struct gm_profile_report *out;
    struct gm_links links;
    uint64_t card_bytes; /* 0: as the trace says */
};

/* The tables of operators, shapes, modules and stacks. */
enum gm_status gm_profile_averages(struct gm_profile_pass *pass, struct gm_error *err);
/* What events state of devices and the host. */
enum gm_status gm_profile_stated(struct gm_profile_pass *pass, struct gm_error *err);
/* Copies, and what they did to what is allocated. */
enum gm_status gm_profile_copies(struct gm_profile_pass *pass, struct gm_error *err);
/* A string of the profile, clean and on one line; NULL: no memory. */
const char *gm_profile_clean(struct gm_arena *arena, const char *s, size_t n);

#endif
