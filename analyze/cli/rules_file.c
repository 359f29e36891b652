/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/rules_file.h"

#include "analyze/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GM_RULES_MOST = 1 << 20 }; /* bytes, as the parser has it */

static enum gm_status read_file(struct gm_text *text, const char *path, struct gm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gm_fail(err, GM_E_READ, GM_NO_OFFSET, "%s: cannot open: %s", path, strerror(errno));
    enum gm_status status = GM_OK;
    char part[16384];
    ssize_t n;
    while (status == GM_OK && (n = read(fd, part, sizeof part)) != 0) {
        if (n > 0)
            gm_text_add_bytes(text, part, (size_t)n);
        else if (errno != EINTR)
            status = gm_fail(err, GM_E_READ, GM_NO_OFFSET, "%s: cannot read: %s", path, strerror(errno));
        if (text->length > GM_RULES_MOST)
            status = gm_fail(err, GM_E_LIMIT, GM_NO_OFFSET, "%s: rules of more than 1 MiB", path);
        else if (text->failed)
            status = gm_no_memory(err);
    }
    close(fd);
    return status;
}

enum gm_status gm_rules_load(struct gm_category_rules **rules, const char *path, struct gm_text *text,
                             struct gm_error *err)
{
    if (path == NULL)
        return gm_category_rules_default(rules, err);
    gm_text_add(text, "");
    const enum gm_status status = read_file(text, path, err);
    return status == GM_OK ? gm_category_rules_parse(rules, text->data, text->length, path, err) : status;
}

enum gm_status gm_ignore_load(struct gm_ignore *ignore, const struct gm_usual_options *options, struct gm_error *err)
{
    const struct gm_texts *given = &options->ignore, *files = &options->ignore_files;
    enum gm_status status = GM_OK;
    for (size_t i = 0; status == GM_OK && i < given->n; i++)
        status = gm_ignore_add(ignore, given->v[i], strlen(given->v[i]), "--ignore", err);
    for (size_t i = 0; status == GM_OK && i < files->n; i++) {
        GM_FREED struct gm_text text = {0};
        status = read_file(&text, files->v[i], err);
        if (status == GM_OK && text.length > 0)
            status = gm_ignore_add_lines(ignore, text.data, text.length, files->v[i], err);
    }
    return status;
}

void gm_ignore_end(struct gm_ignore *ignore, struct gm_call *call)
{
    const struct gm_ignore_rule *unused;
    for (size_t i = 0; (unused = gm_ignore_unused(ignore, &i)) != NULL;) {
        char text[300];
        snprintf(text, sizeof text, "nothing fell under the rule '%s'", unused->text);
        gm_call_warn(call, unused->place, text);
    }
    gm_ignore_free(ignore);
}
