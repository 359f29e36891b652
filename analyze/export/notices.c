/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/notices.h"

#include "analyze/report/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The file and the line of a site, "forward  model/attention.py:88". false: it names none. */
static bool parse_site(struct gm_notices *notices, const char *site, const char **file, uint64_t *line)
{
    const char *at = NULL;
    for (const char *next = site; (next = strstr(next, "  ")) != NULL; next += 2)
        at = next + 2;
    if (at == NULL || *at == '\0')
        return false;
    const char *colon = strrchr(at, ':');
    const bool has_line = colon != NULL && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    if (has_line)
        *line = strtoull(colon + 1, NULL, 10);
    *file = gm_arena_copy(&notices->arena, at, has_line ? (size_t)(colon - at) : strlen(at));
    notices->failed = notices->failed || *file == NULL;
    return *file != NULL;
}

static void look_up(struct gm_notices *notices, struct gm_notice *notice, const struct gm_notice_places *places)
{
    const char *recorded, *found = NULL;
    struct gm_error err;
    if (places == NULL || places->sources == NULL || notice->site == NULL || notice->file != NULL ||
        !parse_site(notices, notice->site, &recorded, &notice->line))
        return;
    if (gm_sources_file(places->sources, recorded, &notice->line, &found, &err) != GM_OK)
        notices->failed = true;
    if (found == NULL) {
        notice->line = 0;
        return;
    }
    notice->file = gm_arena_printf(&notices->arena, "%s%s", places->prefix == NULL ? "" : places->prefix, found);
    notices->failed = notices->failed || notice->file == NULL;
}

static const char *copy(struct gm_notices *notices, const char *s)
{
    const char *own = s == NULL ? NULL : gm_arena_copy(&notices->arena, s, strlen(s));
    notices->failed = notices->failed || (s != NULL && own == NULL);
    return own;
}

void gm_notices_add(struct gm_notices *notices, const struct gm_notice *notice, const struct gm_notice_places *places)
{
    struct gm_notice own = *notice;
    own.rule = copy(notices, notice->rule);
    own.title = copy(notices, notice->title);
    own.text = copy(notices, notice->text);
    own.subject = copy(notices, notice->subject);
    own.site = copy(notices, notice->site);
    own.file = copy(notices, notice->file);
    look_up(notices, &own, places);
    notices->failed = notices->failed || !GM_VEC_PUSH(&notices->all, own); /* none is half there */
}

void gm_notices_free(struct gm_notices *notices)
{
    free(notices->all.v);
    gm_arena_free(&notices->arena);
    *notices = (struct gm_notices){.failed = false};
}

/* Takes both texts over; an empty title leaves the notice its own. */
static void add_made(struct gm_notices *notices, struct gm_notice notice, struct gm_text *title, struct gm_text *text,
                     const struct gm_notice_places *places)
{
    const bool failed = title->failed || text->failed;
    notice.title = title->data == NULL ? notice.title : title->data;
    notice.text = text->data;
    notices->failed = notices->failed || failed;
    if (!failed)
        gm_notices_add(notices, &notice, places);
    gm_text_free(title);
    gm_text_free(text);
}

void gm_notices_add_read(struct gm_notices *notices, const char *subject, const char *error)
{
    const struct gm_notice readable = {.rule = "readable", .title = "the snapshot was analysed", .subject = subject},
                           unreadable = {.level = GM_NOTICE_ERROR,
                                         .is_failure = true,
                                         .is_error = true,
                                         .rule = "unreadable",
                                         .title = "the snapshot could not be analysed",
                                         .text = error,
                                         .subject = subject};
    gm_notices_add(notices, error == NULL ? &readable : &unreadable, NULL);
}

/* ---- of models --------------------------------------------------------------------------------------------------- */

void gm_notices_of_report(struct gm_notices *notices, const struct gm_report *report, int fail_on,
                          const struct gm_notice_places *places)
{
    static const enum gm_notice_level levels[] = {
        [GM_INFO] = GM_NOTICE_NOTE, [GM_WARNING] = GM_NOTICE_WARNING, [GM_CRITICAL] = GM_NOTICE_ERROR};
    for (size_t i = 0; i < report->diagnosis.finding_count; i++) {
        const struct gm_finding *f = &report->diagnosis.findings[i];
        const struct gm_notice notice = {.level = levels[f->severity],
                                         .is_failure = fail_on >= 0 && (int)f->severity >= fail_on,
                                         .rule = f->id,
                                         .title = f->title,
                                         .text = f->detail,
                                         .subject = report->snapshot.path,
                                         .site = f->site};
        gm_notices_add(notices, &notice, places);
    }
}

static void add_growth(struct gm_notices *notices, const struct gm_comparison *c, const struct gm_growth *g)
{
    char before[GM_NUMBER_TEXT], after[GM_NUMBER_TEXT];
    struct gm_text text = {0};
    gm_text_printf(&text, "%s", g->what);
    if (g->device >= 0)
        gm_text_printf(&text, " of device %" PRId64, g->device);
    gm_text_printf(&text, " was %s and is %s, which is over the limit of %s", gm_bytes_format(before, g->base),
                   gm_bytes_format(after, g->after), c->limit.text);
    const struct gm_notice notice = {.level = GM_NOTICE_ERROR,
                                     .is_failure = true,
                                     .rule = "fail-growth",
                                     .title = "GPU memory grew by more than is allowed",
                                     .subject = c->runs[g->run]->path};
    add_made(notices, notice, &(struct gm_text){0}, &text, NULL);
}

static void add_site(struct gm_notices *notices, const struct gm_diff_site *site, bool is_at_peak, bool is_over,
                     const char *subject, const struct gm_notice_places *places)
{
    char before[GM_NUMBER_TEXT], after[GM_NUMBER_TEXT], by[GM_NUMBER_TEXT];
    const struct gm_summary_site *now = site->after;
    struct gm_text title = {0}, text = {0};
    gm_text_printf(&title, "%s more GPU memory %s", gm_bytes_format(by, (uint64_t)site->row.delta),
                   is_at_peak ? "at the peak" : "at the end");
    gm_text_printf(&text, "%s", site->row.name);
    if (site->via != NULL)
        gm_text_printf(&text, ", %s,", site->via);
    gm_text_printf(&text, " holds %s", gm_bytes_format(after, site->row.after.bytes));
    if (site->row.base.bytes > 0)
        gm_text_printf(&text, " and held %s before", gm_bytes_format(before, site->row.base.bytes));
    gm_text_printf(&text, site->row.base.bytes > 0 ? " (%s)" : " and held nothing before (%s)", site->category);
    for (size_t i = 1; now != NULL && i < now->line_count; i++)
        gm_text_printf(&text, "%s%" PRIu64, i == 1 ? "; also made in line " : ", ", now->lines[i]);
    const struct gm_notice notice = {.level = is_over ? GM_NOTICE_WARNING : GM_NOTICE_NOTE,
                                     .rule = "grown-call-site",
                                     .subject = subject,
                                     .site = site->row.name,
                                     .line = now != NULL && now->line_count > 0 ? now->lines[0] : 0};
    add_made(notices, notice, &title, &text, places);
}

static void add_sites(struct gm_notices *notices, const struct gm_comparison *c, const struct gm_diff_pair *pair,
                      const struct gm_notice_places *places)
{
    enum { SMALLEST_SHARE = 100 };
    const bool is_at_peak = pair->sites_at_peak.sums.is_known;
    const struct gm_diff_site_table *table = is_at_peak ? &pair->sites_at_peak : &pair->sites;
    double sum = 0;
    size_t n = 0;
    bool is_over = false;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].row.delta > 0 && table->rows[i].row.kind != GM_DIFF_MOVED)
            sum += (double)table->rows[i].row.delta;
    for (size_t i = 0; i < c->growth_count; i++)
        is_over = is_over || c->growths[i].run == pair->after;
    for (size_t i = 0; i < table->count && n < c->top; i++) {
        const struct gm_diff_site *site = &table->rows[i];
        if (site->row.delta <= 0 || site->row.kind == GM_DIFF_MOVED || (double)site->row.delta * SMALLEST_SHARE < sum)
            continue;
        add_site(notices, site, is_at_peak, is_over, c->runs[pair->after]->path, places);
        n++;
    }
}

void gm_notices_of_comparison(struct gm_notices *notices, const struct gm_comparison *c,
                              const struct gm_notice_places *places)
{
    for (size_t i = 0; i < c->growth_count; i++)
        add_growth(notices, c, &c->growths[i]);
    for (size_t i = 0; c->limit.is_set && c->growth_count == 0 && i < c->pair_count; i++)
        gm_notices_add(notices,
                       &(struct gm_notice){.rule = "fail-growth",
                                           .title = "GPU memory grew by no more than is allowed",
                                           .subject = c->runs[c->pairs[i].after]->path},
                       NULL);
    for (size_t i = 0; i < c->pair_count; i++)
        add_sites(notices, c, &c->pairs[i], places);
}

/* ---- of a fleet -------------------------------------------------------------------------------------------------- */

static void add_item(struct gm_notices *notices, const struct gm_fleet_item *item,
                     const struct gm_notice_places *places)
{
    char asked[GM_NUMBER_TEXT], reserved[GM_NUMBER_TEXT];
    gm_notices_add_read(notices, item->path,
                        item->status == GM_OK ? NULL
                        : item->error == NULL ? gm_status_text(item->status)
                                              : item->error);
    if (item->status != GM_OK || item->ooms == 0)
        return;
    struct gm_text title = {0}, text = {0};
    gm_text_printf(&title, "out of memory on device %" PRId64, item->oom.device);
    gm_text_printf(&text, "%s were asked for while %s were reserved", gm_bytes_format(asked, item->oom.asked),
                   gm_bytes_format(reserved, item->oom.reserved));
    const struct gm_notice notice = {
        .level = GM_NOTICE_ERROR, .rule = "out-of-memory", .subject = item->path, .site = item->oom.site};
    add_made(notices, notice, &title, &text, places);
}

static void add_odd(struct gm_notices *notices, const struct gm_fleet *fleet, const struct gm_fleet_odd *odd,
                    const struct gm_notice_places *places)
{
    char held[GM_NUMBER_TEXT], reserved[GM_NUMBER_TEXT], by[GM_NUMBER_TEXT];
    const struct gm_fleet_item *item = &fleet->items[odd->item];
    struct gm_notice notice = {.level = GM_NOTICE_WARNING, .rule = "odd-rank", .subject = item->path};
    struct gm_text title = {0}, text = {0};
    gm_text_printf(&title, "%s is unlike the others", item->name);
    gm_text_printf(&text, "against %s: held %s, reserved %s", fleet->items[odd->against].name,
                   gm_delta_bytes_format(held, odd->held_delta), gm_delta_bytes_format(reserved, odd->reserved_delta));
    if (odd->sites.count > 0) {
        notice.site = fleet->sites[odd->sites.rows[0].site].label;
        gm_text_printf(&text, "; most at %s, %s", notice.site, gm_delta_bytes_format(by, odd->sites.rows[0].delta));
    }
    add_made(notices, notice, &title, &text, places);
}

static void add_growing(struct gm_notices *notices, const struct gm_fleet *fleet, const struct gm_fleet_growth *growth)
{
    char by[GM_NUMBER_TEXT];
    const struct gm_notice notice = {.level = GM_NOTICE_WARNING,
                                     .rule = "growing-rank",
                                     .title = "peak reserved grows from iteration to iteration",
                                     .subject = fleet->items[growth->last].path};
    struct gm_text text = {0};
    gm_text_printf(&text, "%s by %s an iteration, over %zu of them", fleet->rows[growth->row].label,
                   gm_bytes_format(by, (uint64_t)growth->reserved.slope), growth->count);
    if (growth->iterations_left >= 0)
        gm_text_printf(&text, "; %.0f more until the memory is full", growth->iterations_left);
    add_made(notices, notice, &(struct gm_text){0}, &text, NULL);
}

void gm_notices_of_fleet(struct gm_notices *notices, const struct gm_fleet *fleet,
                         const struct gm_notice_places *places)
{
    for (size_t i = 0; i < fleet->item_count; i++)
        add_item(notices, &fleet->items[i], places);
    for (size_t i = 0; i < fleet->odd_count; i++)
        add_odd(notices, fleet, &fleet->odds[i], places);
    for (size_t i = 0; i < fleet->growth_count; i++)
        if (fleet->growths[i].reserved.is_growing)
            add_growing(notices, fleet, &fleet->growths[i]);
}
