/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of the state at the end; without a trace the first of them stand on top. Memory: reserved, allocated,
 * efficiency and its grade, devices, peak. Largest: categories. Where: the call site that holds most. Cached: what is
 * unused, what could be given back.
 */
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

void gm_headline_add(struct gm_case *c, struct gm_heading *line, const char *format, ...)
{
    va_list args;
    if (line->count == GM_HEADLINE_PIECES)
        return;
    va_start(args, format);
    const char *piece = gm_arena_vprintf(&c->report->arena, format, args);
    va_end(args);
    c->failed |= piece == NULL;
    line->pieces[line->count++] = piece == NULL ? "" : piece;
}

void gm_headline_add_nothing(struct gm_case *c, struct gm_heading *line, const char *nothing)
{
    const size_t n = c->report->diagnosis.ignored_count;
    if (n == 0)
        gm_headline_add(c, line, "%s", nothing);
    else
        gm_headline_add(c, line, "nothing but what is ignored (%zu finding%s)", n, gm_plural(n));
}

/* Of one device; 0: not known. */
static uint64_t peak_reserved(const struct gm_report *report)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < report->device_count; i++) {
        uint64_t p = report->devices[i].trace.events > 0 ? report->devices[i].trace.peak_reserved : GM_REPORT_NONE;
        if (p != GM_REPORT_NONE && p > peak)
            peak = p;
    }
    return peak;
}

/* What a trace of torch.profiler states of its end; it lists neither segments nor blocks. */
static void add_stated(struct gm_case *c, struct gm_heading *line)
{
    const struct gm_profile_report *p = c->report->profile;
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT];
    for (size_t i = 0; i < p->stated_count; i++) {
        const struct gm_stated_memory *s = &p->stated[i];
        if (s->device >= 0 && s->allocated.last != GM_REPORT_NONE && s->reserved.last != GM_REPORT_NONE)
            gm_headline_add(c, line, "device %" PRId64 ": %s reserved, %s allocated, as stated", s->device,
                            gm_size_format(a, s->reserved.last), gm_size_format(b, s->allocated.last));
    }
    if (line->count == 0)
        gm_headline_add(c, line, "not known");
}

/* `is_all`: the summary, which has no line of its own for what is cached. */
static void make_memory(struct gm_case *c, struct gm_heading *line, bool is_all)
{
    line->label = "Memory";
    const struct gm_totals *t = &c->report->totals;
    char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT];
    const uint64_t peak = peak_reserved(c->report);
    if (c->report->lacks_end) {
        add_stated(c, line);
    } else if (t->reserved == 0) {
        gm_headline_add(c, line, "nothing is reserved in this snapshot");
    } else {
        gm_headline_add(c, line, "%s reserved", gm_size_format(a, t->reserved));
        gm_headline_add(c, line, "%s allocated", gm_size_format(a, t->allocated));
        gm_share_format(b, t->allocated, t->reserved);
        if (c->has_view) /* a grade is of the peak, if there is one */
            gm_headline_add(c, line, "%s %% of it", b);
        else
            gm_headline_add(c, line, "efficiency %s %% (%s)", b, gm_grade_name(gm_grade_of(gm_totals_efficiency(t))));
        if (c->report->device_count > 1)
            gm_headline_add(c, line, "%zu devices", c->report->device_count);
        if (is_all && t->inactive > 0) {
            gm_headline_add(c, line, "%s cached", gm_size_format(a, t->inactive));
            gm_headline_add(c, line, "%s releasable", gm_size_format(a, c->report->fragmentation.releasable));
        }
    }
    if (peak > 0 && peak != GM_REPORT_NONE)
        gm_headline_add(c, line, "peak reserved %s%s", gm_size_format(a, peak),
                        c->report->device_count > 1 ? " on one device" : "");
}

/* Categories, or roles. */
static void make_largest(struct gm_case *c, struct gm_heading *line)
{
    const bool are_roles = gm_report_roles_say_more(c->report);
    const struct gm_slice *slices = are_roles ? c->report->roles : c->report->categories;
    const size_t count = are_roles ? c->report->role_count : c->report->category_count;
    line->label = "Largest";
    if (c->report->lacks_end) {
        gm_headline_add(c, line, "not known: a profiler's trace lists neither segments nor blocks");
        return;
    }
    for (size_t i = 0; i < count && i < 3; i++) {
        const struct gm_slice *slice = &slices[i];
        char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT];
        if (slice->bytes > 0)
            gm_headline_add(c, line, "%s %s (%s %%)", slice->name, gm_size_format(a, slice->bytes),
                            gm_share_format(b, slice->bytes, c->report->totals.allocated));
    }
    if (line->count == 0)
        gm_headline_add(c, line, "no block is allocated");
}

static void make_cached(struct gm_case *c, struct gm_heading *line)
{
    line->label = "Cached";
    if (c->report->lacks_end)
        return;
    const struct gm_fragmentation *f = &c->report->fragmentation;
    char a[GM_SIZE_TEXT];
    if (c->report->totals.inactive == 0) {
        gm_headline_add(c, line, "nothing");
    } else {
        gm_headline_add(c, line, "%s unused: %s can be released", gm_size_format(a, c->report->totals.inactive),
                        gm_size_format((char[GM_SIZE_TEXT]){0}, f->releasable));
        gm_headline_add(c, line, "%s stranded", gm_size_format(a, f->stranded));
    }
    if (c->report->totals.pending > 0)
        gm_headline_add(c, line, "%s pending free", gm_size_format(a, c->report->totals.pending));
}

static void make_place(struct gm_case *c, struct gm_heading *line, uint64_t bytes, uint64_t blocks, const char *site)
{
    char a[GM_SIZE_TEXT], b[GM_NUMBER_TEXT], n[GM_NUMBER_TEXT];
    gm_headline_add(c, line, "%s (%s %%) in %s block%s", gm_size_format(a, bytes),
                    gm_share_format(b, bytes, c->report->totals.allocated),
                    blocks == 1 ? "one" : gm_count_format(n, blocks), gm_plural(blocks));
    line->site = site;
}

/* Where no site is listed. */
static void make_largest_block(struct gm_case *c, struct gm_heading *line)
{
    for (size_t i = 0; i < c->report->top_block_count; i++) {
        const struct gm_block_row *block = &c->report->top_blocks[i];
        if (block->frame_count == 0)
            continue;
        make_place(c, line, block->bytes, 1, block->site);
        return;
    }
    if (c->report->totals.allocated == 0)
        gm_headline_add(c, line, "no block is allocated");
    else
        gm_headline_add(c, line, "no stack recorded for what is allocated");
}

/* Whether stacks say so little of what is allocated that the largest site among them would mislead. */
static bool is_nearly_stackless(const struct gm_report *report)
{
    uint64_t with_stack = report->snapshot.live_bytes_with_stack;
    return with_stack > 0 && with_stack != GM_REPORT_NONE && with_stack < report->totals.allocated / 100;
}

static void make_stackless(struct gm_case *c, struct gm_heading *line)
{
    char share[GM_NUMBER_TEXT];
    uint64_t allocated = c->report->totals.allocated;
    gm_percent_format(share, allocated - c->report->snapshot.live_bytes_with_stack, allocated, 1);
    bool is_rounded_up = strcmp(share, "100.0") == 0; /* there is a stack, if only one */
    gm_headline_add(c, line, "no stack recorded for %s %% of what is allocated", is_rounded_up ? "over 99.9" : share);
}

void gm_headline_where(struct gm_case *c, struct gm_heading *line)
{
    line->label = "Where";
    if (c->report->lacks_end)
        return;
    if (is_nearly_stackless(c->report)) {
        make_stackless(c, line);
        return;
    }
    for (size_t i = 0; i < c->report->site_count; i++) {
        const struct gm_site_row *row = &c->report->sites[i];
        if (!gm_site_has_stack(row->site))
            continue;
        make_place(c, line, row->bytes, row->blocks, row->site);
        return;
    }
    make_largest_block(c, line);
}

/* Behind the first figure, so that no narrow line leaves it out: "9.47 GiB requested (FILTERED, DOUBTFUL)". */
static void add_marks(struct gm_case *c, struct gm_heading *line)
{
    const struct gm_report *report = c->report;
    bool is_filtered = false;
    struct gm_view view;
    struct gm_text text = {0};
    for (size_t i = 0; i < report->device_count; i++)
        is_filtered = is_filtered || (gm_view_of(&view, report, i) && view.timeline->filter != NULL);
    const char *const marks[] = {is_filtered ? "FILTERED" : NULL, report->diagnosis.doubt_count > 0 ? "DOUBTFUL" : NULL,
                                 report->snapshot.is_salvaged ? "SALVAGED" : NULL};
    const char *before = " (";
    gm_text_add(&text, line->pieces[0]);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (marks[i] == NULL)
            continue;
        gm_text_printf(&text, "%s%s", before, marks[i]);
        before = ", ";
    }
    gm_text_add(&text, before[0] == ',' ? ")" : "");
    line->pieces[0] = gm_case_take(c, &text);
}

void gm_headline_of_end(struct gm_case *c)
{
    struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    struct gm_heading *lines = diagnosis->at_end, *first = diagnosis->headline;
    make_memory(c, &lines[0], false);
    make_largest(c, &lines[1]);
    gm_headline_where(c, &lines[2]);
    make_cached(c, &lines[3]);
    if (!gm_headline_of_peak(c)) {
        make_memory(c, &first[0], true);
        make_largest(c, &first[1]);
        first[0].label = "Needs";
        first[1].label = "Made of";
        gm_headline_of_to_do(c, NULL);
    }
    memcpy(diagnosis->summary, first, sizeof diagnosis->summary);
    add_marks(c, &diagnosis->summary[0]);
}
