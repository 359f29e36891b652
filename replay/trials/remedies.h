/* SPDX-License-Identifier: Apache-2.0
 *
 * What mending mistakes would save: requests that are dropped, smaller, or live shorter, replayed.
 */
#pragma once

#include "analyze/report/remedy.h"
#include "replay/trials/trial.h"

/* Replays the baseline of `search`, each remedy alone, and each on top of those above it: 2 * count replays of
 * all devices at most. `baseline`: the devices' peaks of reserved bytes, if that has been replayed with unlimited
 * memory; NULL. A remedy of a device that is not searched, with settings that PyTorch would not take, or that was left
 * out because the search was over, has no saving. GM_E_NOMEM, or an internal error. */
enum gm_status gm_remedies_replay(struct gm_remedy *const *remedies, size_t count, const struct gm_search *search,
                                  const uint64_t *baseline, struct gm_error *err);

/* Fixes that are tried together: each is a list of remedies, of several devices. */
struct gm_fix {
    const struct gm_remedy *remedies;
    size_t count;
};
/* Replays trials[i] with all fixes whose bit is set in sets[i]; capacity and taken are the caller's. */
enum gm_status gm_fixes_try(struct gm_trial *trials, const uint32_t *sets, size_t set_count, const struct gm_fix *fixes,
                            size_t fix_count, const struct gm_search *search, struct gm_error *err);
