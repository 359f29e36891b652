/* SPDX-License-Identifier: Apache-2.0
 *
 * Running out of memory: what was asked for, where every byte was, why no cached one would do, who grew.
 */
#include "analyze/document/sections.h"

enum { SHOWN = 3, ROWS = 8 };

/* What the columns' functions need. */
struct of {
    const struct gm_view *view;
    const struct gm_oom_row *oom;
};

/* ---- where every byte was ---------------------------------------------------------------------------------------- */

struct part {
    const char *name;
    uint64_t bytes;
};

/* Reserved bytes that are neither active nor cached for a reason: 0 unless the trace contradicts itself. */
static uint64_t not_attributed(const struct gm_view *view, const struct gm_oom_row *oom)
{
    uint64_t sum = oom->levels.active;
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        sum = gm_plus(sum, oom->unusable[i]);
    const uint64_t lacking = gm_less(oom->levels.reserved, sum);
    return !view->is_reconstructed || lacking == GM_REPORT_NONE ? 0 : lacking;
}

/* Every reserved byte, where it is known what was cached. */
static size_t add_cached(struct gm_doc *d, struct part *to, const struct of *of)
{
    const uint64_t lacking = not_attributed(of->view, of->oom);
    size_t n = 0;
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        if (of->oom->unusable[i] > 0)
            to[n++] = (struct part){gm_doc_printf(d, "+ cached: %s", gm_unusable_name((enum gm_unusable)i)),
                                    of->oom->unusable[i]};
    if (lacking > 0)
        to[n++] = (struct part){"+ cached: not attributed", lacking};
    return n;
}

static void say_bytes(struct gm_doc *d, const struct of *of)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Where every byte was", struct part, name),
        GM_FIELD(GM_BYTES, GM_READ, NULL, "Size", struct part, bytes),
        GM_PART_OF(GM_READ, NULL, "Of reserved", struct part, bytes),
    };
    const struct gm_levels l = gm_view_levels(of->view, of->oom->levels);
    const bool is_known = of->view->is_reconstructed;
    struct part rows[GM_UNUSABLE_COUNT + 5] = {{"Live, requested", l.requested}};
    size_t n = 1;
    if (is_known) {
        rows[n++] = (struct part){"+ live, rounding", gm_less(l.active, l.requested)};
        n += add_cached(d, rows + n, of);
    }
    rows[n++] = (struct part){"= reserved", l.reserved};
    if (is_known && of->oom->pending > 0)
        rows[n++] = (struct part){"of it live but freed (pending a stream)", of->oom->pending};
    GM_TABLE(d, columns, rows, n, .in = GM_READ, .of = &l.reserved);
    if (!is_known)
        gm_doc_tell(d, "What was cached, and why, is not known: %s.", gm_view_reason(of->view));
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

GM_CELL(u, hole_bytes, struct gm_hole, hole, hole->pinned_by == NULL ? GM_REPORT_NONE : hole->pinned_by_bytes);

GM_CELL(u, hole_age, struct gm_hole, hole, hole->pinned_by == NULL ? GM_REPORT_NONE : hole->age_us);

GM_CELL(s, hole_site, struct gm_hole, hole, hole->pinned_by == NULL ? "(ends of its segment)" : hole->pinned_by);

static void say_holes(struct gm_doc *d, const struct gm_oom_row *oom)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Hole", struct gm_hole, bytes),
        GM_GET(GM_BYTES, GM_ALL, "pinned_by_bytes", "Block", hole_bytes),
        GM_GET(GM_DURATION, GM_ALL, "age_us", "Age", hole_age),
        GM_KEY(GM_SITE, "pinned_by", struct gm_hole, pinned_by),
        GM_GET(GM_SITE, GM_READ, NULL, "Made in", hole_site),
    };
    GM_TABLE(d, columns, oom->holes, oom->hole_count, .key = "holes", .in = GM_TXT | GM_JSON,
             .title = "The largest holes that did not fit, and the live block that bounds each", .txt_max = ROWS);
}

static void say_grew(struct gm_doc *d, const struct gm_oom_row *oom)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "By", struct gm_group_row, bytes),
        GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Blocks", struct gm_group_row, blocks),
        GM_KEY(GM_TEXT, "category", struct gm_group_row, category),
        GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct gm_group_row, label),
    };
    GM_TABLE(d, columns, oom->grew, oom->grew_count, .key = "grew",
             .title = gm_doc_printf(d, "Who grew %s", oom->grew_since != NULL ? oom->grew_since : "last"),
             .txt_max = ROWS, .md_max = 5);
}

/* ---- one --------------------------------------------------------------------------------------------------------- */

static void say_request(struct gm_doc *d, const struct of *of)
{
    static const char *const verdicts[] = {"unknown", "capacity", "fragmentation", "capacity and fragmentation"};
    const struct gm_oom_row *oom = of->oom;
    gm_doc_tell(d, "%s%sstream %s%s%s. The largest hole of that pool and stream was %s.",
                oom->pool != NULL ? "Asked for in pool " : "Asked for on ",
                oom->pool != NULL ? gm_doc_printf(d, "%s, ", oom->pool) : "", gm_stream_name(d, of->view, oom->stream),
                oom->site != NULL ? ", at " : "", oom->site != NULL ? gm_doc_printf(d, GM_QUOTED, oom->site) : "",
                of->view->is_reconstructed ? gm_doc_bytes(d, oom->largest_hole) : "not known");
    if (oom->verdict_detail == NULL)
        gm_doc_tell(d, "%s were asked for (rounded); the device had %s free.", gm_doc_bytes(d, oom->asked),
                    oom->device_free == GM_REPORT_NONE ? "an unknown number of bytes"
                                                       : gm_doc_bytes(d, oom->device_free));
    gm_doc_say(d, GM_SAY_STRONG, GM_READ, NULL, "Verdict: %s.", verdicts[oom->verdict]);
    if (oom->verdict_detail != NULL)
        gm_doc_tell(d, "%s", oom->verdict_detail);
}

static const char *when(struct gm_doc *d, const struct gm_oom_row *oom)
{
    char since[GM_NUMBER_TEXT];
    return gm_doc_printf(d, "t event %s (%s)", gm_doc_count(d, oom->event),
                         gm_since_us_format(since, d->origin_us, oom->time_us));
}

static void say_oom(struct gm_doc *d, const struct of *of, bool is_first)
{
    const struct gm_oom_row *oom = of->oom;
    gm_doc_open(d, NULL, gm_doc_printf(d, "A%s", when(d, oom)));
    if (!is_first)
        say_request(d, of);
    say_bytes(d, of);
    gm_section_slices(d, "Live then, by category", oom->categories, oom->category_count, ROWS, oom->levels.requested);
    gm_section_slices(d, "Live then, by role", oom->roles, oom->role_count, 0, oom->levels.requested);
    say_holes(d, oom);
    say_grew(d, oom);
    gm_doc_close(d);
}

GM_CELL(s, verdict_of, struct gm_oom_row, row,
        ((const char *const[]){NULL, "capacity", "fragmentation", "both"})[row->verdict]);

static void add_lists(const struct gm_cell_of *c)
{
    const struct gm_oom_row *oom = c->row;
    gm_json_slices(c->doc, "categories", oom->categories, oom->category_count, oom->levels.requested);
    gm_json_slices(c->doc, "roles", oom->roles, oom->role_count, oom->levels.requested);
    say_holes(c->doc, oom);
    say_grew(c->doc, oom);
}

static void add_unusable(const struct gm_cell_of *c)
{
    const struct gm_view *v = c->of;
    const struct gm_oom_row *oom = c->row;
    GM_OBJECT(c->doc, "unusable_bytes", gm_unusable_columns, v->is_reconstructed ? oom->unusable : NULL, NULL);
}

/* What is not known without a reconstruction, as GM_REPORT_NONE. */
static const struct gm_oom_row *known_ooms(struct gm_doc *d, const struct gm_view *v)
{
    const size_t n = v->timeline->oom_count;
    struct gm_oom_row *rows = gm_doc_rows(d, n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < n; i++) {
        rows[i] = v->timeline->ooms[i];
        rows[i].levels = gm_view_levels(v, rows[i].levels);
        if (!v->is_reconstructed)
            rows[i].pending = rows[i].largest_hole = GM_REPORT_NONE;
    }
    return rows;
}

static void add_ooms(struct gm_doc *d, const struct gm_view *v)
{
#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_oom_row, field)
    static const struct gm_column columns[] = {
        KEY(GM_EVENT, "event", event),
        KEY(GM_TIME, "time_us", time_us),
        KEY(GM_BYTES, "asked_bytes", asked),
        KEY(GM_BYTES, "device_free_bytes", device_free),
        KEY(GM_TEXT, "pool", pool),
        KEY(GM_HANDLE, "stream", stream),
        KEY(GM_SITE, "site", site),
        GM_GET(GM_TEXT, GM_JSON, "verdict", NULL, verdict_of),
        KEY(GM_TEXT, "verdict_detail", verdict_detail),
        GM_INSIDE("levels", gm_levels_columns, struct gm_oom_row, levels),
        KEY(GM_BYTES, "pending_bytes", pending),
        GM_NESTED(NULL, add_lists),
        GM_NESTED("unusable_bytes", add_unusable),
        KEY(GM_BYTES, "largest_hole_bytes", largest_hole),
        KEY(GM_TEXT, "grew_since", grew_since),
    };
#undef KEY
    GM_TABLE(d, columns, known_ooms(d, v), v->timeline->oom_count, .key = "out_of_memory", .in = GM_JSON, .of = v);
}

void gm_section_ooms(struct gm_doc *d, const struct gm_view *v)
{
    const uint64_t all = v->device->trace.ooms;
    const size_t listed = v->timeline->oom_count, n = listed < SHOWN ? listed : SHOWN;
    if (gm_doc_is(d, GM_JSON)) {
        add_ooms(d, v);
        return;
    }
    gm_doc_tell(d, "%s allocation%s failed%s", gm_doc_count(d, all), gm_plural(all),
                n == 0 ? ". Where the bytes were then is not known."
                       : gm_doc_printf(d, "%s a%s.", all > 1 ? ", the first" : "", when(d, v->timeline->ooms)));
    if (n > 0)
        say_request(d, &(struct of){v, v->timeline->ooms});
    gm_doc_fold(d, NULL, "Out of memory: where every byte was");
    for (size_t i = 0; i < n; i++)
        say_oom(d, &(struct of){v, &v->timeline->ooms[i]}, i == 0);
    if (n > 0 && n < all)
        gm_doc_tell(d, "%s more%s", gm_doc_count(d, all - n),
                    n < listed ? gm_doc_printf(d, ", the next ones in %s", d->json_name) : "");
    gm_doc_close(d);
}
