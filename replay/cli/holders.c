/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds the memory: live requested bytes by role and by category at the peak of requested bytes.
 */
#include "analyze/report/numbers.h"
#include "analyze/state/categories.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROLES, CATEGORIES, SHOWN = 3 };

bool gm_replay_count_holders(struct gm_replay_run *run, size_t index, struct gm_whatif_options *options)
{
    struct gm_replay_device *device = &run->devices[index];
    const struct gm_kept_device *kept = &run->kept.v[run->device_of[index]];
    size_t n = kept->history.allocation_count, roles = GM_ROLE_COUNT, categories = gm_category_count(run->rules);
    if (run->options->summary == NULL && run->options->limit == UINT64_MAX && !gm_replay_on_gpu(run->options))
        return true;
    device->role = malloc((n + 1) * sizeof *device->role);
    device->held = calloc(2 * (roles + categories), sizeof *device->held);
    if (device->role == NULL || device->held == NULL)
        return false;
    for (size_t a = 0; a < n; a++)
        device->role[a] = kept->role[a];
    uint64_t *v = device->held;
    device->classes[ROLES] = (struct gm_whatif_class){device->role, roles, v, v + roles};
    v += 2 * roles;
    device->classes[CATEGORIES] = (struct gm_whatif_class){kept->category, categories, v, v + categories};
    options->classes = device->classes;
    options->class_count = 2;
    return true;
}

void gm_replay_free_holders(struct gm_replay_device *device)
{
    free(device->role);
    free(device->held);
}

static const char *name_of(const struct gm_replay_run *run, bool is_category, size_t i)
{
    return is_category ? gm_category_name(run->rules, (uint32_t)i) : gm_role_name(i);
}

/* The class with most bytes after `before` (SIZE_MAX: the first one), equal ones in their order; SIZE_MAX: none. */
static size_t next_largest(const struct gm_whatif_class *class, size_t before)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < class->count; i++) {
        uint64_t bytes = class->at_peak[i];
        bool is_after =
            before == SIZE_MAX || bytes < class->at_peak[before] || (bytes == class->at_peak[before] && i > before);
        if (bytes > 0 && is_after && (best == SIZE_MAX || bytes > class->at_peak[best]))
            best = i;
    }
    return best;
}

void gm_replay_holder_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index, bool is_category,
                            size_t indent)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_whatif_class *class = &device->classes[is_category ? CATEGORIES : ROLES];
    uint64_t peak = (uint64_t)device->whatif.stats.requested_bytes[GM_STAT_ALL].peak;
    size_t at = next_largest(class, SIZE_MAX);
    for (int shown = 0; at != SIZE_MAX && shown < SHOWN; shown++) {
        size_t next = next_largest(class, at);
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], item[GM_CHANGE_NAME + 128];
        snprintf(item, sizeof item, " %s %s (%s %%)%s", name_of(run, is_category, at),
                 gm_bytes_format(a, class->at_peak[at]), gm_share_format(b, class->at_peak[at], peak),
                 next == SIZE_MAX     ? ""
                 : shown + 1 == SHOWN ? ", ..."
                                      : ",");
        gm_replay_put_item(doc, item, indent);
        at = next;
    }
    gm_text_add(doc->out, class->count == 0 || next_largest(class, SIZE_MAX) == SIZE_MAX ? " nothing\n" : "\n");
}

void gm_replay_holder_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    uint64_t peak = (uint64_t)device->whatif.stats.requested_bytes[GM_STAT_ALL].peak;
    for (int c = ROLES; c <= CATEGORIES; c++) {
        const struct gm_whatif_class *class = &device->classes[c];
        const char *key = c == ROLES ? "roles_at_peak" : "categories_at_peak";
        if (device->held == NULL) {
            gm_json_null(&doc->json, key);
            continue;
        }
        gm_json_open(&doc->json, key, '[');
        for (size_t at = next_largest(class, SIZE_MAX); at != SIZE_MAX; at = next_largest(class, at)) {
            gm_json_open_flat(&doc->json, NULL, '{');
            gm_json_string(&doc->json, "name", name_of(run, c == CATEGORIES, at));
            gm_json_number(&doc->json, "bytes", class->at_peak[at]);
            gm_json_percent(&doc->json, "percent", class->at_peak[at], peak);
            gm_json_close(&doc->json, '}');
        }
        gm_json_close(&doc->json, ']');
    }
}
