/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds the memory: live requested bytes by role and by category at the peak of requested bytes.
 */
#include "analyze/base/order.h"
#include "analyze/state/categories.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>

enum { ROLES, CATEGORIES, KINDS, SHOWN = 3 };

bool gm_replay_count_holders(struct gm_replay_device *d, struct gm_whatif_options *options)
{
    const struct gm_replay_options *o = d->run->options;
    const struct gm_kept_device *kept = d->kept;
    size_t n = kept->history.allocation_count, roles = GM_ROLE_COUNT, categories = gm_category_count(d->run->rules);
    if (o->summary == NULL && o->limit == UINT64_MAX && !gm_replay_on_gpu(o))
        return true;
    d->role = malloc((n + 1) * sizeof *d->role);
    d->held = calloc(2 * (roles + categories), sizeof *d->held);
    if (d->role == NULL || d->held == NULL)
        return false;
    for (size_t a = 0; a < n; a++)
        d->role[a] = kept->role[a];
    uint64_t *v = d->held;
    d->classes[ROLES] = (struct gm_whatif_class){d->role, roles, v, v + roles};
    v += 2 * roles;
    d->classes[CATEGORIES] = (struct gm_whatif_class){kept->category, categories, v, v + categories};
    options->classes = d->classes;
    options->class_count = KINDS;
    return true;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

struct holder {
    const char *name;
    uint64_t bytes;
    size_t i;
};
GM_ORDERING(by_bytes, struct holder, GM_DOWN(bytes) || GM_UP(i));

/* Those with most bytes first. */
static size_t list_holders(struct holder *list, const struct gm_replay_device *d, int kind)
{
    const struct gm_whatif_class *class = &d->classes[kind];
    size_t n = 0;
    for (size_t i = 0; i < class->count; i++)
        if (class->at_peak[i] > 0)
            list[n++] = (struct holder){kind == ROLES ? gm_role_name(i) : gm_category_name(d->run->rules, (uint32_t)i),
                                        class->at_peak[i], i};
    GM_SORT(list, n, by_bytes);
    return n;
}

static void tell_holders(struct gm_doc *doc, const char *by, const struct holder *list, size_t n, uint64_t peak)
{
    struct gm_text text = {0};
    for (size_t i = 0; i < n && i < SHOWN; i++)
        gm_text_printf(&text, "%s%s %s (%s %%)", i == 0 ? "" : ", ", list[i].name, gm_doc_bytes(doc, list[i].bytes),
                       gm_doc_share(doc, list[i].bytes, peak));
    gm_text_add(&text, n == 0 ? "nothing" : n > SHOWN ? ", ..." : "");
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s %s", by, gm_doc_take(doc, &text));
}

void gm_replay_say_holders(struct gm_doc *doc, const struct gm_replay_device *d, bool is_long)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "name", struct holder, name),
        GM_KEY(GM_BYTES, "bytes", struct holder, bytes),
        GM_PART_OF(GM_JSON, "percent", NULL, struct holder, bytes),
    };
    static const char *const keys[KINDS] = {"roles_at_peak", "categories_at_peak"}, *const by[] = {"by role",
                                                                                                   "by category"};
    const uint64_t peak = gm_replay_requested(d);
    if (is_long)
        gm_doc_tell(doc, "Of %s requested at once:", gm_doc_bytes(doc, peak));
    for (int kind = ROLES; kind < KINDS; kind++) {
        struct holder *list = gm_doc_rows(doc, d->classes[kind].count, sizeof *list);
        const size_t n = list == NULL ? 0 : list_holders(list, d, kind);
        if (d->held == NULL)
            GM_OBJECT(doc, keys[kind], columns, NULL, NULL);
        else
            GM_TABLE(doc, columns, list, n, .key = keys[kind], .in = GM_JSON, .of = &peak);
        if (is_long && gm_doc_is(doc, GM_READ))
            tell_holders(doc, by[kind], list, n, peak);
    }
}
