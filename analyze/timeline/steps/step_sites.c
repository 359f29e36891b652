/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes per stack as rows per call site.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STACKS = 2000, MOST_ROWS = 20 };

struct part {
    uint32_t stack;
    int64_t bytes, blocks;
    const char *site;
};

GM_ORDERING(by_bytes, struct part,
            GM_DOWN(bytes) || GM_BY(a->site != NULL && b->site != NULL ? strcmp(a->site, b->site) : 0) || GM_UP(stack));

GM_ORDERING(by_site, struct part, GM_BY(strcmp(a->site, b->site)) || GM_BY(by_bytes(a, b)));

/* Sums parts of one site into the first of them, which holds most. Returns how many are left. */
static size_t merge(struct part *parts, size_t n)
{
    size_t kept = 0;
    qsort(parts, n, sizeof *parts, by_site);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(parts[kept - 1].site, parts[i].site) == 0) {
            parts[kept - 1].bytes = gm_signed_add(parts[kept - 1].bytes, parts[i].bytes);
            parts[kept - 1].blocks = gm_signed_add(parts[kept - 1].blocks, parts[i].blocks);
        } else {
            parts[kept++] = parts[i];
        }
    }
    qsort(parts, kept, sizeof *parts, by_bytes);
    return kept;
}

static bool fill_row(struct gm_trace_pass *pass, struct gm_group_row *row, const struct part *part)
{
    const struct gm_timeline_options *options = pass->options;
    struct gm_stack_id stack = {part->stack};
    uint32_t category = gm_classify(options->classifier, stack);
    const char *name = gm_category_name(options->rules, category);
    *row = (struct gm_group_row){.label = part->site,
                                 .category = gm_arena_copy(&pass->report->arena, name, strlen(name)),
                                 .color = gm_category_color(options->rules, category),
                                 .bytes = (uint64_t)part->bytes,
                                 .blocks = part->blocks < 0 ? 0 : (uint64_t)part->blocks,
                                 .peak_without = GM_REPORT_NONE};
    row->frames = gm_names_frames(pass->names, stack, &row->frame_count);
    return row->category != NULL && row->frames != NULL;
}

static bool publish(struct gm_trace_pass *pass, struct part *parts, size_t n, const struct gm_group_row **rows,
                    size_t *count)
{
    for (size_t i = 0; i < n; i++)
        if ((parts[i].site = gm_names_site(pass->names, (struct gm_stack_id){parts[i].stack})) == NULL)
            return false;
    n = merge(parts, n);
    n = n < MOST_ROWS ? n : MOST_ROWS;
    struct gm_group_row *out = gm_arena_calloc(&pass->report->arena, n + 1, sizeof *out);
    for (size_t i = 0; out != NULL && i < n; i++)
        if (!fill_row(pass, &out[i], &parts[i]))
            return false;
    *rows = out;
    *count = n;
    return out != NULL;
}

bool gm_site_rows(struct gm_trace_pass *pass, const int64_t *bytes, const int64_t *blocks,
                  const struct gm_group_row **rows, size_t *count)
{
    size_t n = 0, stacks = pass->snapshot->stacks.count;
    *rows = NULL;
    *count = 0;
    for (uint32_t s = 0; s < stacks; s++)
        n += bytes[s] > 0;
    if (n == 0)
        return true;
    struct part *parts = malloc(n * sizeof *parts);
    if (parts == NULL)
        return false;
    n = 0;
    for (uint32_t s = 0; s < stacks; s++)
        if (bytes[s] > 0)
            parts[n++] = (struct part){s, bytes[s], blocks[s], NULL};
    qsort(parts, n, sizeof *parts, by_bytes);
    bool ok = publish(pass, parts, n < MOST_STACKS ? n : MOST_STACKS, rows, count);
    free(parts);
    return ok;
}
