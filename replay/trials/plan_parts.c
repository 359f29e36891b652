/* SPDX-License-Identifier: Apache-2.0
 *
 * Of a plan for a card: half the batch at a time. What is made of a batch is half as large, and the gradients of the
 * first half are there while the second one runs.
 */
#include "analyze/base/order.h"
#include "replay/trials/card_plan.h"

#include <stdlib.h>

GM_ORDERING(by_size, uint64_t, GM_BY(GM_ORDER(*a, *b)));

/* A temporary of a weight's size, in as many bits, half or twice as many, is no smaller if the batch is. */
static bool is_of_weight(const uint64_t *sizes, size_t count, uint64_t size)
{
    const uint64_t as[] = {size, size / 2, size * 2};
    bool is = false;
    for (size_t i = 0; i < sizeof as / sizeof *as && count > 0; i++)
        is |= bsearch(&as[i], sizes, count, sizeof *sizes, by_size) != NULL;
    return is;
}

/* From where those of the step before went, or the last weight or state came. */
static void keep_gradients(struct gm_remedy_change *changes, size_t *n, const struct gm_history *h, const uint8_t *role)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const uint32_t a = h->of_event[i];
        if (a == GM_NEVER)
            continue;
        const bool is_birth = h->born[a] == i + 1, is_gradient = role[a] == GM_ROLE_GRADIENT;
        if (is_birth && is_gradient && from > 0)
            changes[(*n)++] = (struct gm_remedy_change){a, GM_REMEDY_NEVER, from, GM_REMEDY_AS_RECORDED};
        else if (is_birth ? role[a] == GM_ROLE_PARAMETER || role[a] == GM_ROLE_OPTIMIZER_STATE : is_gradient)
            from = i + 1;
    }
}

bool gm_plan_parts(struct gm_remedy_change *changes, size_t *count, const struct gm_history *h, const uint8_t *role)
{
    GM_FREED uint64_t *sizes = malloc((h->allocation_count + 1) * sizeof *sizes);
    size_t weights = 0;
    *count = 0;
    if (sizes == NULL)
        return false;
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (role[a] == GM_ROLE_PARAMETER || role[a] == GM_ROLE_GRADIENT)
            sizes[weights++] = gm_requested(h, a);
    GM_SORT(sizes, weights, by_size);
    keep_gradients(changes, count, h, role);
    for (uint32_t a = 0; a < h->allocation_count; a++)
        if (role[a] == GM_ROLE_ACTIVATION || role[a] == GM_ROLE_INPUT ||
            (role[a] == GM_ROLE_TEMPORARY && !is_of_weight(sizes, weights, gm_requested(h, a))))
            changes[(*count)++] =
                (struct gm_remedy_change){a, GM_REMEDY_NEVER, GM_REMEDY_NEVER, (gm_requested(h, a) + 1) / 2};
    return true;
}
