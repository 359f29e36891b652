/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest blocks, with where they were made. JSON has all of them ("top_blocks"); people see equal ones that follow
 * each other as one entry, and a stack once.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

enum { FEWEST = 3, LOOK_BACK = 200, TXT_FRAMES = 4, MD_STACKS = 5 };

/* Blocks [first, first + count) that have one size, category, site, device and stream. */
struct run {
    const struct gm_block_row *block; /* the first */
    size_t first, count;
    uint64_t bytes;        /* of all of them, saturated */
    size_t stack;          /* the block whose entry shows this stack */
    bool has_other_stacks; /* one of them was made by another stack than the first */
    bool has_other_roles;
};

static bool are_equal(const struct gm_block_row *a, const struct gm_block_row *b)
{
    return a->bytes == b->bytes && a->device == b->device && a->stream == b->stream &&
           (a->frame_count == 0) == (b->frame_count == 0) && strcmp(a->category, b->category) == 0 &&
           strcmp(a->site, b->site) == 0;
}

static bool are_of_one_role(const struct gm_block_row *a, const struct gm_block_row *b)
{
    return a->role == NULL || b->role == NULL ? a->role == b->role : strcmp(a->role, b->role) == 0;
}

/* The run that begins with a block; only that block if there are fewer than three. */
static struct run run_of(const struct gm_report *report, size_t first)
{
    const struct gm_block_row *blocks = &report->top_blocks[first];
    const struct run one = {blocks, first, 1, blocks->bytes, first, false, false};
    struct run run = one;
    for (; first + run.count < report->top_block_count; run.count++) {
        const struct gm_block_row *next = &blocks[run.count];
        if (!are_equal(blocks, next))
            break;
        run.bytes = gm_plus(run.bytes, next->bytes);
        run.has_other_stacks = run.has_other_stacks || !gm_frames_equal(blocks, next);
        run.has_other_roles = run.has_other_roles || !are_of_one_role(blocks, next);
    }
    return run.count >= FEWEST ? run : one;
}

/* The first block of the entry, of the last LOOK_BACK before runs[n], that shows its stack; or its own. */
static size_t stack_of(const struct run *runs, size_t n)
{
    for (size_t k = n > LOOK_BACK ? n - LOOK_BACK : 0; k < n && runs[n].block->frame_count > 0; k++)
        if (gm_frames_equal(runs[k].block, runs[n].block))
            return runs[k].first;
    return runs[n].first;
}

GM_CELL(s, run_number, struct run, run,
        run->count > 1 ? gm_doc_printf(c->doc, "%zu-%zu", run->first + 1, run->first + run->count)
                       : gm_doc_printf(c->doc, "%zu", run->first + 1));

GM_CELL(s, run_size, struct run, run, gm_doc_each(c->doc, run->count, run->block->bytes));

/* The category of the first; "No stack: Parameter" where there is no stack and the role of all is known. */
GM_CELL(s, run_kind, struct run, run,
        run->has_other_roles || !gm_block_has_role_only(run->block)
            ? run->block->category
            : gm_doc_printf(c->doc, "No stack: %s", run->block->role));

static union gm_value run_place(const struct gm_cell_of *c)
{
    const struct gm_block_row *block = ((const struct run *)c->row)->block;
    const char *address = block->address == GM_REPORT_NONE ? "" : gm_doc_printf(c->doc, " 0x%" PRIx64, block->address);
    return (union gm_value){.s = gm_doc_printf(c->doc, "device %" PRId64 " stream %" PRIu32 "%s", block->device,
                                               block->stream_number, address)};
}

/* The site, and where its stack has not been shown, the frames that tell most; Markdown shows a few stacks. */
static union gm_value run_site(const struct gm_cell_of *c)
{
    const struct run *run = c->row, *all = c->of;
    const bool is_md = gm_doc_is(c->doc, GM_MD);
    if (run->block->frame_count == 0) /* the category says so */
        return (union gm_value){.s = NULL};
    if (run->stack != run->first || (is_md && run - all >= MD_STACKS))
        return (union gm_value){.s = run->block->site};
    const char *frames = gm_frames_below(c->doc, run->block, is_md ? GM_FRAMES_MOST : TXT_FRAMES);
    return (union gm_value){.s = frames == NULL ? run->block->site
                                                : gm_doc_printf(c->doc, "%s\n%s", run->block->site, frames)};
}

/* "576.0 MiB in all; stack of 5": where that was shown. */
static union gm_value run_note(const struct gm_cell_of *c)
{
    const struct run *run = c->row;
    struct gm_text note = {0};
    if (run->count > 1)
        gm_text_printf(&note, "%s in all", gm_doc_bytes(c->doc, run->bytes));
    if (run->stack != run->first)
        gm_text_printf(&note, "%sstack of %zu%s", note.length > 0 ? "; " : "", run->stack + 1,
                       run->has_other_stacks ? " and others" : "");
    else if (run->has_other_stacks)
        gm_text_add(&note, "; stacks differ");
    return (union gm_value){.s = gm_doc_take_any(c->doc, &note)};
}

static void say_runs(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_FIGURE, GM_READ, NULL, "#", run_number),
        GM_GET(GM_FIGURE, GM_READ, NULL, "Size", run_size),
        GM_GET(GM_TEXT, GM_READ, NULL, "Category", run_kind),
        GM_GET(GM_TEXT, GM_READ, NULL, "Where", run_place),
        GM_GET(GM_SITE, GM_READ | GM_UNDER, NULL, "Made in", run_site),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Note", run_note),
    };
    struct run *runs = gm_doc_rows(d, report->top_block_count, sizeof *runs);
    size_t n = 0;
    for (size_t i = 0; runs != NULL && i < report->top_block_count; i += runs[n++].count) {
        runs[n] = run_of(report, i);
        runs[n].stack = stack_of(runs, n);
    }
    GM_TABLE(d, columns, runs, n, .in = GM_READ, .of = runs);
}

static size_t number_of(const struct gm_cell_of *c, const struct gm_block_row *block)
{
    return (size_t)(block - ((const struct gm_report *)c->of)->top_blocks);
}

GM_CELL(u, rank_of, struct gm_block_row, block, number_of(c, block) + 1);

/* What a trace of torch.profiler tells of the block. */
static const struct gm_join_block *joined(const struct gm_cell_of *c, const struct gm_block_row *block)
{
    return &((const struct gm_report *)c->of)->join->blocks[number_of(c, block)];
}
GM_CELL(s, operation_of, struct gm_block_row, block, joined(c, block)->operation);
GM_CELL(s, shapes_of, struct gm_block_row, block, joined(c, block)->shapes);
GM_CELL(s, module_of, struct gm_block_row, block, joined(c, block)->module);
GM_CELL(s, formula_of, struct gm_block_row, block, joined(c, block)->formula);

static void add_frames(const struct gm_cell_of *c)
{
    const struct gm_block_row *block = c->row;
    gm_json_frames(c->doc, block->frames, block->frame_count);
}

void gm_section_blocks(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_COUNT, GM_JSON, "rank", NULL, rank_of),
        GM_KEY(GM_BYTES, "bytes", struct gm_block_row, bytes),
        GM_KEY(GM_BYTES, "requested_bytes", struct gm_block_row, requested),
        GM_KEY(GM_COUNT, "address", struct gm_block_row, address),
        GM_KEY(GM_HANDLE, "device", struct gm_block_row, device),
        GM_KEY(GM_HANDLE, "stream", struct gm_block_row, stream),
        GM_KEY(GM_TEXT, "category", struct gm_block_row, category),
        GM_KEY(GM_TEXT, "role", struct gm_block_row, role),
        GM_NESTED("frames", add_frames),
        GM_KEY(GM_COUNT, "stream_number", struct gm_block_row, stream_number),
        GM_KEY(GM_TEXT, "pool", struct gm_block_row, pool),
        GM_KEY(GM_SITE, "site", struct gm_block_row, site),
        GM_GET(GM_NAME, GM_JSON, "operator", NULL, operation_of), /* this and those that follow: JOINED */
        GM_GET(GM_NAME, GM_JSON, "shapes", NULL, shapes_of),
        GM_GET(GM_NAME, GM_JSON, "module", NULL, module_of),
        GM_GET(GM_NAME, GM_JSON, "formula", NULL, formula_of),
    };
    enum { JOINED = 4, COLUMNS = sizeof columns / sizeof *columns };
    const size_t n = report->top_block_count;
    const bool is_joined = report->join != NULL && report->join->blocks != NULL;
    GM_TABLE_OF(d, columns, is_joined ? COLUMNS : COLUMNS - JOINED, report->top_blocks, n, .key = "top_blocks",
                .in = GM_JSON, .of = report);
    if (gm_doc_is(d, GM_JSON) || (n == 0 && gm_doc_is(d, GM_MD)))
        return;
    gm_doc_fold(d, NULL, n < 2 ? "The largest block" : gm_doc_printf(d, "The %zu largest blocks", n));
    if (n == 0)
        gm_doc_tell(d, report->totals.allocated == 0 ? "No block is allocated." : "None is listed.");
    say_runs(d, report);
    gm_doc_close(d);
}
