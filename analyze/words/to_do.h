/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of what to do, for every output: findings, and what would lower the peak of the device whose peak is
 * highest (or that ran out of memory first). The first is what the line "To do" says.
 */
#ifndef GM_WORDS_TO_DO_H
#define GM_WORDS_TO_DO_H

#include "analyze/base/text.h"
#include "analyze/words/advice.h"

enum { GM_TO_DO_MOST = 64 };

struct gm_to_do {
    const struct gm_finding *finding; /* NULL: it is none */
    const struct gm_group_row *site;  /* the call site that is worth most; NULL: it is not about that */
    struct gm_role_advice role;       /* what the role that holds most asks for, where both are NULL */
    int rank;                         /* in the list: lower ones first */
};
struct gm_to_do_list {
    struct gm_to_do v[GM_TO_DO_MOST];
    size_t n;
    bool has_view, has_oom;
    struct gm_view view; /* of the device that the site and the role are of */
};

void gm_to_do_make(struct gm_to_do_list *list, const struct gm_report *report);
/* "Activations are 61.2 % of the peak", with the bytes in parentheses; and what to do about it. */
void gm_to_do_title(struct gm_text *out, const struct gm_to_do_list *list, size_t i);
void gm_to_do_detail(struct gm_text *out, const struct gm_to_do_list *list, size_t i);
enum gm_severity gm_to_do_severity(const struct gm_to_do *item);

/* Whether it lowers what memory a run needs. */
bool gm_to_do_helps(const struct gm_to_do *item);
/* Whether a run out of memory was ended by what grew from step to step: at least a tenth of the peak. */
bool gm_to_do_ended_by_growth(const struct gm_view *view);

#endif
