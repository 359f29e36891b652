/* SPDX-License-Identifier: Apache-2.0
 *
 * What the names of a run's optimizers tell: how many tensors of a parameter's size they keep for it.
 */
#include "analyze/timeline/roles/role_work.h"

#include <ctype.h>
#include <string.h>

/* As torch.optim has them. Adam's amsgrad would be a third: it is rarer than a second set of weights. */
static const struct {
    const char *name; /* the class's name begins with it, in lower case */
    uint32_t states;
} optimizers[] = {
    {"adam", 2}, {"nadam", 2},   {"radam", 2}, {"sparseadam", 2}, {"adadelta", 2}, {"rprop", 2},
    {"asgd", 2}, {"adagrad", 1}, {"sgd", 1},   {"lion", 1},       {"muon", 1},
};
enum { MOST_STATES = 3 };

static uint32_t states_of(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        size_t k = 0;
        while (k < n && optimizers[i].name[k] == tolower((unsigned char)name[k]))
            k++;
        if (optimizers[i].name[k] == '\0')
            return optimizers[i].states;
    }
    return MOST_STATES;
}

uint32_t gm_role_most_states(const struct gm_snapshot *s)
{
    static const char prefix[] = "Optimizer.step#";
    uint32_t most = 0;
    for (size_t i = 0; i < s->annotation_count && most < MOST_STATES; i++) {
        size_t n;
        const char *text = gm_string(s, s->annotations[i].name, &n);
        if (n < sizeof prefix || memcmp(text, prefix, sizeof prefix - 1) != 0)
            continue;
        uint32_t states = states_of(text + sizeof prefix - 1, n - (sizeof prefix - 1));
        most = states > most ? states : most;
    }
    return most == 0 ? MOST_STATES : most;
}
