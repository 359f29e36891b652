/* SPDX-License-Identifier: Apache-2.0 */
#include "render/fold.h"

#include "analyze/base/arithmetic.h"
#include "render/metric.h"

#include <string.h>

const struct gm_fill gm_folded_fill = {0xd5dae0, 0x7d8793, GM_HATCH_DOTS};

static bool is_small(uint64_t bytes, uint64_t sum)
{
    return (double)bytes * 1000 < (double)sum * GM_FOLD_PERMILLE;
}

struct gm_folded gm_fold_categories(struct gm_display *display, const struct gm_slice *slices, size_t count,
                                    size_t rows)
{
    struct gm_folded f = {.n = 0};
    size_t present = 0; /* slices are sorted: the ones with bytes come first */
    while (present < count && slices[present].bytes > 0)
        f.bytes = gm_sat_add(f.bytes, slices[present++].bytes);
    size_t keep = present;
    while (keep > 0 && is_small(slices[keep - 1].bytes, f.bytes))
        keep--;
    if (keep > rows || (keep == rows && present > rows))
        keep = rows - 1;
    if (present - keep == 1 && present <= rows)
        keep = present;
    for (; f.n < keep; f.n++) {
        const struct gm_slice *s = &slices[f.n];
        f.parts[f.n] = (struct gm_piece){gm_name(s->name), s->bytes, {s->color, 0, GM_HATCH_NONE}};
        f.blocks[f.n] = s->blocks;
    }
    f.folded_from = keep;
    f.folded = present - keep;
    if (f.folded > 0) {
        struct gm_piece *rest = &f.parts[f.n];
        *rest = (struct gm_piece){gm_display_printf(display, "Other (%zu)", f.folded), 0, gm_folded_fill};
        for (size_t i = keep; i < present; i++) {
            rest->bytes = gm_sat_add(rest->bytes, slices[i].bytes);
            f.blocks[f.n] = gm_sat_add(f.blocks[f.n], slices[i].blocks);
        }
        f.n++;
    }
    return f;
}

void gm_fold_like(const struct gm_folded *model, const struct gm_slice *slices, size_t count,
                  struct gm_piece out[GM_FOLD_ROWS])
{
    size_t named = model->n - (model->folded > 0);
    for (size_t k = 0; k < model->n; k++) {
        out[k] = model->parts[k];
        out[k].bytes = 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < named && strcmp(gm_name(slices[i].name), model->parts[k].name) != 0)
            k++;
        if (k < model->n)
            out[k].bytes = gm_sat_add(out[k].bytes, slices[i].bytes);
    }
}

void gm_fold_note(struct gm_page *page, const struct gm_slice *slices, const struct gm_folded *f)
{
    if (f->folded == 0)
        return;
    struct gm_display *d = page->display;
    const char *start = gm_display_printf(d, "%s: ", f->parts[f->n - 1].name);
    const double room = GM_PAGE_INNER - gm_text_width(start, GM_TEXT_SMALL, GM_REGULAR) -
                        gm_text_width(" ...", GM_TEXT_SMALL, GM_REGULAR);
    const char *names = gm_name(slices[f->folded_from].name);
    for (size_t i = 1; i < f->folded; i++) {
        const char *more = gm_display_printf(d, "%s, %s", names, gm_name(slices[f->folded_from + i].name));
        if (gm_text_width(more, GM_TEXT_SMALL, GM_REGULAR) > room) {
            names = gm_display_printf(d, "%s ...", names);
            break;
        }
        names = more;
    }
    gm_page_note(page, gm_display_printf(d, "%s%s", start, names));
    for (size_t i = 0; i < f->folded_from; i++)
        if (strcmp(f->parts[i].name, "Other") == 0)
            gm_page_note(page, "Other, without a number, is a category: stacks that no rule matches");
}
