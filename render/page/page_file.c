/* SPDX-License-Identifier: Apache-2.0 */
#include "render/page/page_file.h"

#include "analyze/base/base64.h"

#include <string.h>

/* page_template.S of the build has the file; no_page.c has none, of no bytes. */
extern const char gm_page_template[];
extern const uint64_t gm_page_template_size;
static const char mark[] = "<!--RUNS-->";

bool gm_page_is_there(void)
{
    return gm_page_template_size > 0;
}

/* Of an attribute in double quotes. */
static void add_escaped(struct gm_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("&<>\"\n", *text) != NULL)
            gm_text_printf(out, "&#%d;", *text);
        else
            gm_text_add_char(out, *text);
    }
}

static void add_run(struct gm_text *out, const struct gm_page_run *run)
{
    gm_text_add(out, "<script type=\"text/plain\" class=\"gm-run\" data-name=\"");
    add_escaped(out, run->name);
    gm_text_add(out, "\" data-query=\"");
    add_escaped(out, run->query);
    gm_text_add(out, "\">");
    gm_base64_add(out, run->trace, run->trace_length);
    gm_text_add(out, "</script>\n");
    if (run->report.length == 0)
        return;
    gm_text_add(out, "<script type=\"text/plain\" class=\"gm-report\">");
    gm_base64_add(out, run->report.data, run->report.length);
    gm_text_add(out, "</script>\n");
}

void gm_page_write(struct gm_text *out, const struct gm_page_run *runs, size_t count, const char *rules)
{
    const size_t length = (size_t)gm_page_template_size;
    const char *at = memmem(gm_page_template, length, mark, sizeof mark - 1);
    gm_text_add_bytes(out, gm_page_template, (size_t)(at - gm_page_template));
    if (rules != NULL) {
        gm_text_add(out, "<script type=\"text/plain\" id=\"gm-rules\" data-encoding=\"base64\">");
        gm_base64_add(out, rules, strlen(rules));
        gm_text_add(out, "</script>\n");
    }
    for (size_t i = 0; i < count; i++)
        add_run(out, &runs[i]);
    at += sizeof mark - 1;
    gm_text_add_bytes(out, at, (size_t)(gm_page_template + length - at));
}
