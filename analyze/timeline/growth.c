/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/pass.h"

bool gm_trace_fragmentation(struct gm_trace_pass *pass)
{
    (void)pass;
    return true;
}
