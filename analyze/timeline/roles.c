/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/pass.h"

bool gm_trace_roles(struct gm_trace_pass *pass)
{
    (void)pass;
    return true;
}

bool gm_trace_state_roles(struct gm_report *report, const struct gm_trace_pass *passes)
{
    (void)report;
    (void)passes;
    return true;
}
