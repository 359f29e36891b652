/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share.
 */
#ifndef GM_ADVICE_PRIVATE_H
#define GM_ADVICE_PRIVATE_H

#include "analyze/allocator/conf.h"
#include "analyze/base/text.h"
#include "analyze/report/report.h"

/* advice_finding.c: report->advice, which advises something, as one more finding. false: no memory. */
bool gm_advice_finding_add(struct gm_report *report);

#endif
