/* SPDX-License-Identifier: Apache-2.0
 *
 * The k largest of many without sorting them all: a heap of the best k so far with the worst of them at its root.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/order.h"

#include <stdlib.h>

GM_ORDERING(compare, struct gm_top_key,
            GM_DOWN(bytes) || GM_UP(device) || GM_UP(address) || GM_UP(index)); /* the better one first */

bool gm_top_new(struct gm_top *top, size_t k, size_t candidates)
{
    *top = (struct gm_top){.k = k < candidates ? k : candidates};
    top->keys = calloc(top->k + 1, sizeof *top->keys);
    return top->keys != NULL;
}

void gm_top_free(struct gm_top *top)
{
    free(top->keys);
    *top = (struct gm_top){0};
}

static void swap(struct gm_top_key *a, struct gm_top_key *b)
{
    struct gm_top_key kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(struct gm_top *top, size_t i)
{
    for (; i > 0 && compare(&top->keys[(i - 1) / 2], &top->keys[i]) < 0; i = (i - 1) / 2)
        swap(&top->keys[(i - 1) / 2], &top->keys[i]);
}

static void sift_down(struct gm_top *top)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < top->n; i = child) {
        if (child + 1 < top->n && compare(&top->keys[child + 1], &top->keys[child]) > 0)
            child++;
        if (compare(&top->keys[child], &top->keys[i]) <= 0)
            return;
        swap(&top->keys[child], &top->keys[i]);
    }
}

void gm_top_offer(struct gm_top *top, const struct gm_top_key *key)
{
    if (top->n < top->k) {
        top->keys[top->n++] = *key;
        sift_up(top, top->n - 1);
    } else if (top->k > 0 && compare(key, &top->keys[0]) < 0) {
        top->keys[0] = *key;
        sift_down(top);
    }
}

void gm_top_sort(struct gm_top *top)
{
    if (top->n > 1)
        qsort(top->keys, top->n, sizeof *top->keys, compare);
}
