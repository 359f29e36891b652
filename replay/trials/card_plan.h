/* SPDX-License-Identifier: Apache-2.0
 *
 * The cheapest fixes after which a recording runs on a card with 5 % of it to spare, or that all together are
 * not enough, and by how much. Fixes are what the trace itself can prove: smaller or absent requests of a role,
 * mistakes that the diagnosis has found, another setting. What is not in it (other kernels, other shapes) is none.
 */
#pragma once

#include "analyze/report/remedy.h"
#include "replay/trials/trial.h"
#include "replay/whatif/gpus.h"

struct gm_report;

struct gm_plan_task {
    struct gm_report *report; /* diagnosed; its `plan` is filled */
    const struct gm_snapshot *snapshot;
    const struct gm_conf *conf; /* the settings to begin with */
    const struct gm_gpu *card;
    /* is_open, if the recording ended out of memory: then it is enough to get past the request that was refused. */
    const struct gm_search *search;
    const uint8_t *const *roles; /* [device of the search][allocation] */
    uint64_t most_events;        /* of a longer run no plan is made */
};
/* Up to some hundreds of replays, where fixes are many. GM_E_NOMEM, or an internal error. */
enum gm_status gm_card_plan_make(const struct gm_plan_task *task, struct gm_error *err);

/* plan_parts.c: half the batch at a time. Writes at most one change for each allocation. false: no memory. */
bool gm_plan_parts(struct gm_remedy_change *changes, size_t *count, const struct gm_history *h, const uint8_t *role);
/* plan_offload.c: what lies idle on the host meanwhile. Writes at most one change for each allocation. false: no
 * memory. */
bool gm_plan_offload(struct gm_remedy_change *changes, size_t *count, const struct gm_history *h, const uint8_t *role);
