/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/notice_files.h"

#include "analyze/cli/operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gm_value_format(const char *text, void *value)
{
    struct gm_formats *formats = value;
    const size_t length = strcspn(text, "=");
    const char *file = text[length] == '=' ? text + length + 1 : "-";
    for (int form = 0; form < GM_NOTICES_FORMS; form++)
        if (strlen(gm_notice_forms[form]) == length && strncmp(gm_notice_forms[form], text, length) == 0 &&
            formats->n < GM_FORMATS_MOST && file[0] != '\0') {
            formats->v[formats->n].form = form;
            formats->v[formats->n++].file = file;
            return true;
        }
    return false;
}

void gm_format_words(struct gm_text *out)
{
    for (int form = 0; form < GM_NOTICES_FORMS; form++)
        gm_text_printf(out, "%s\n%s=\n", gm_notice_forms[form], gm_notice_forms[form]);
}

bool gm_formats_take_stdout(const struct gm_formats *formats)
{
    for (size_t i = 0; i < formats->n; i++)
        if (gm_path_is_standard(formats->v[i].file))
            return true;
    return false;
}

enum gm_status gm_formats_check(const struct gm_usual_options *options, const char *also, struct gm_error *err)
{
    const char *first = also, *second = NULL;
    char words[GM_FORMATS_MOST][24];
    if (gm_path_is_standard(options->json)) {
        second = first;
        first = "--json -";
    }
    for (size_t i = 0; i < options->formats.n && second == NULL; i++) {
        if (!gm_path_is_standard(options->formats.v[i].file))
            continue;
        snprintf(words[i], sizeof words[i], "--format %s", gm_notice_forms[options->formats.v[i].form]);
        second = first;
        first = words[i];
    }
    if (second != NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s and %s both want standard output", second, first);
    return GM_OK;
}

enum gm_status gm_formats_open_places(struct gm_notice_places *places, const struct gm_usual_options *options,
                                      struct gm_error *err)
{
    const char *folder = options->source == NULL ? "." : options->source;
    *places = (struct gm_notice_places){.sources = NULL};
    if (options->formats.n == 0)
        return GM_OK;
    while (strncmp(folder, "./", 2) == 0)
        folder += 2 + strspn(folder + 2, "/");
    const bool is_here = folder[0] == '\0' || strcmp(folder, ".") == 0;
    const size_t n = is_here || folder[0] == '/' ? 0 : strlen(folder); /* paths are below the working directory */
    if (n > 0) {
        struct gm_text prefix = {0};
        gm_text_printf(&prefix, "%s%s", folder, folder[n - 1] == '/' ? "" : "/");
        if (prefix.failed) {
            gm_text_free(&prefix);
            return gm_no_memory(err);
        }
        places->prefix = prefix.data;
    }
    return gm_sources_open(&places->sources, is_here ? "." : folder, err);
}

void gm_formats_close_places(struct gm_notice_places *places)
{
    gm_sources_free(places->sources);
    free(places->prefix);
}

void gm_formats_put(struct gm_call *call, const struct gm_formats *formats, const struct gm_notices *notices)
{
    for (size_t i = 0; i < formats->n; i++) {
        struct gm_text text = {0};
        gm_notices_write(&text, notices, (enum gm_notice_form)formats->v[i].form, call->terminal.program, GM_VERSION);
        gm_call_put(call, formats->v[i].file, &text);
    }
}
