/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/page_runs.h"

#include "analyze/cli/browser.h"
#include "analyze/export/gzip.h"
#include "analyze/formats/gmtrace_write.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_LEVEL = 1 /* of gzip: 2 and 3 take 1.4 times as long for 0 and 5 % less, 6 twice as long for 19 % */ };

enum gm_status gm_page_trace_make(struct gm_page_trace *out, const struct gm_snapshot *snapshot, struct gm_error *err)
{
    if (!gm_page_is_there())
        return GM_OK;
    gm_text_printf(&out->query, "format=%s\ncompression=%s\nbytes=%llu\n", snapshot->source.format,
                   gm_compression_name(snapshot->source.compression), (unsigned long long)snapshot->source.disk_bytes);
    return gm_write_gmtrace_quickly(snapshot, &out->trace, err);
}

void gm_page_trace_call(struct gm_page_trace *trace, const char *name, const char *path, const char *created)
{
    gm_text_add(&trace->name, name);
    gm_text_printf(&trace->query, "name=%s\npath=%s\ncreated=%s\n", name, path, created);
}

void gm_page_trace_free(struct gm_page_trace *trace)
{
    gm_text_free(&trace->name);
    gm_text_free(&trace->trace);
    gm_text_free(&trace->query);
    *trace = (struct gm_page_trace){0};
}

void gm_page_add(struct gm_run_files *files, const struct gm_page_trace *const *traces, size_t count,
                 const struct gm_text *rules)
{
    struct gm_page_run *runs = calloc(count + 1, sizeof *runs);
    struct gm_text report = {0};
    bool ok = runs != NULL;
    size_t n = 0;
    for (size_t i = 0; ok && i < count; i++) {
        const struct gm_page_trace *t = traces[i];
        ok = !t->name.failed && !t->trace.failed && !t->query.failed;
        if (ok && t->trace.length > 0)
            runs[n++] = (struct gm_page_run){
                .name = t->name.data, .query = t->query.data, .trace = t->trace.data, .trace_length = t->trace.length};
    }
    for (size_t i = 0; n == 1 && i < files->count; i++)
        if (strcmp(files->v[i].name, GM_RUN_ANALYSIS) == 0)
            gm_gzip_add(&report, &files->v[i].text, REPORT_LEVEL);
    ok = ok && !report.failed;
    if (n == 1)
        runs[0].report = report;
    struct gm_text *page = !ok || n > 0 ? gm_run_files_text(files, GM_RUN_PAGE) : NULL;
    if (ok && n > 0)
        gm_page_write(page, runs, n, rules->data);
    else if (!ok)
        page->failed = true;
    gm_text_free(&report);
    free(runs);
}

static void tell_no_page(struct gm_call *call, const char *option)
{
    char text[200];
    snprintf(text, sizeof text,
             "%s: this program was built without the page: clang and lld for wasm32, wasi-libc, or the sources of zlib "
             "and zstd were missing",
             option);
    gm_call_fail_with(call, NULL, GM_E_MISSING, text);
}

void gm_page_put_empty(struct gm_call *call, const char *path)
{
    struct gm_text page = {0};
    if (!gm_page_is_there()) {
        tell_no_page(call, "--viewer");
        return;
    }
    gm_page_write(&page, NULL, 0, NULL);
    gm_call_put(call, path, &page);
}

void gm_page_open(struct gm_call *call, const char *run)
{
    struct gm_text path = {0};
    struct gm_error err;
    gm_text_printf(&path, "%s/memory.html", run);
    if (!gm_page_is_there())
        tell_no_page(call, "--open");
    else if (!path.failed && access(path.data, R_OK) != 0)
        gm_call_warn(call, run, "--open: there is no memory.html, since there is no trace");
    else if ((path.failed ? gm_no_memory(&err) : gm_browser_open(path.data, &err)) != GM_OK)
        gm_call_fail(call, NULL, &err);
    gm_text_free(&path);
}
