/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/gmdiff.h"

#include "analyze/document/documents.h"

#include <string.h>

enum { POINTS = 2000 };

struct gm_summary_options gm_diff_reading(const struct gm_diff_options *options, const struct gm_category_rules *rules)
{
    return (struct gm_summary_options){.rules = rules, .device = options->usual.device, .points = POINTS};
}

/* "BASE_vs_NEW", "BASE_vs_NEW_and_2_more". */
static void name_run(char out[GM_NAME_SIZE], const struct gm_diff_options *options, const struct gm_comparison *c)
{
    struct gm_text text = {0};
    if (options->usual.name != NULL)
        gm_text_add(&text, options->usual.name);
    else if (c->labels != NULL)
        gm_text_printf(&text, "%.60s_vs_%.60s", c->labels[0], c->labels[1]);
    if (options->usual.name == NULL && c->run_count > 2)
        gm_text_printf(&text, "_and_%zu_more", c->run_count - 2);
    gm_name_clean(out, text.failed ? "diff" : text.data);
    gm_text_free(&text);
}

enum gm_status gm_diff_compare(struct gm_comparison *c, char name[GM_NAME_SIZE], const struct gm_summary *const *runs,
                               size_t count, const struct gm_diff_options *options, time_t when, struct gm_error *err)
{
    const struct gm_compare_options compare = {.limit = options->limit, .top = (size_t)options->usual.top};
    GM_TRY(gm_compare(c, runs, count, &compare, err));
    name_run(name, options, c);
    return gm_shell_name(&c->arena, &c->run_name, &c->timestamp, name, when, err);
}

struct gm_text_names gm_diff_texts(bool is_drawn)
{
    const struct gm_text_names names = {
        {GM_DIFF_JSON, "diff_report.txt", "README.md", "pr_comment.md", GM_DIFF_FLAMEGRAPH_SVG}, is_drawn ? 5 : 4};
    return names;
}

enum gm_status gm_diff_make(struct gm_text *out, const char *name, const struct gm_comparison *c, bool is_drawn,
                            struct gm_error *err)
{
    const struct gm_chart_list charts = gm_chart_list_of(gm_charts_of_comparison(c));
    if (strcmp(name, GM_DIFF_FLAMEGRAPH_SVG) == 0)
        return gm_diff_flamegraph_svg(out, c, err);
    if (strcmp(name, GM_DIFF_JSON) == 0)
        gm_diff_json(out, c);
    else if (strcmp(name, "diff_report.txt") == 0)
        gm_diff_text(out, c, is_drawn);
    else if (strcmp(name, "README.md") == 0)
        gm_diff_markdown(out, c, is_drawn ? charts.v : NULL);
    else
        gm_diff_comment(out, c);
    return GM_OK;
}
