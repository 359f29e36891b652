/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/least.h"

#include <stdlib.h>

/* Replays the rows of list[0 .. *count) with `capacity` bytes and keeps those that run. */
static enum gm_status keep_running(size_t *list, size_t *count, struct gm_trial *trials, const struct gm_search *search,
                                   const struct gm_sweep *sweep, uint64_t capacity, bool *is_cut, struct gm_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        trials[i] = sweep->rows[list[i]].trial;
        trials[i].capacity = capacity;
        trials[i].is_needed = false;
    }
    enum gm_status status = gm_trials_run(search, trials, *count, err);
    for (size_t i = 0; status == GM_OK && i < *count; i++) {
        *is_cut |= trials[i].is_left_out;
        if (trials[i].runs)
            list[kept++] = list[i];
    }
    *count = kept;
    return status;
}

enum gm_status gm_least(struct gm_fit *fit, size_t *row, const struct gm_search *search, const struct gm_sweep *sweep,
                        uint64_t below, bool *is_cut, struct gm_error *err)
{
    size_t *list = malloc((sweep->count + 1) * sizeof *list), count = sweep->count;
    struct gm_trial *trials = malloc((sweep->count + 1) * sizeof *trials);
    enum gm_status status = GM_OK;
    *row = GM_SWEEP_NONE;
    *is_cut = false;
    if (list == NULL || trials == NULL)
        status = gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    for (size_t i = 0; status == GM_OK && i < count; i++)
        list[i] = i;
    for (int round = 0; status == GM_OK && round < GM_LEAST_ROUNDS && !*is_cut && below > GM_FIT_GRANULE; round++) {
        uint64_t capacity = below - GM_FIT_GRANULE;
        status = keep_running(list, &count, trials, search, sweep, capacity, is_cut, err);
        if (status != GM_OK || count == 0)
            break;
        struct gm_fit found;
        status = gm_fit_run(&found, search, &sweep->rows[list[0]].trial, capacity, err);
        *is_cut |= status == GM_OK && found.is_cut;
        if (status != GM_OK || !found.is_found)
            break;
        *fit = found;
        *row = list[0];
        below = found.capacity;
    }
    free(list);
    free(trials);
    return status;
}
