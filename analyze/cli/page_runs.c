/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/page_runs.h"

#include "analyze/export/export.h"
#include "analyze/formats/gmtrace_write.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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
    GM_FREED struct gm_page_run *runs = calloc(count + 1, sizeof *runs);
    GM_FREED struct gm_text report = {0};
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

/* ---- in the browser ---------------------------------------------------------------------------------------------- */

extern char **environ;

/* $1 is the file. */
static const char script[] = "set -f; IFS=:\n"
                             "for one in ${BROWSER:-xdg-open}; do\n"
                             "    case $one in\n"
                             "    *%s*) one=${one%%%s*}'\"$1\"'${one#*%s} ;;\n"
                             "    *) one=$one' \"$1\"' ;;\n"
                             "    esac\n"
                             "    unset IFS\n"
                             "    eval \"$one\" >&2 && exit\n"
                             "done\n"
                             "exit 1\n";

/* Whether a child goes on for two seconds, or has ended well by then. */
static bool has_begun(pid_t child)
{
    enum { LOOKS = 100 };
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    int status = 0;
    for (int i = 0; i < LOOKS; i++) {
        if (waitpid(child, &status, WNOHANG) != 0)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Shows the file at `path`: with the first command of $BROWSER that works (commands with ':' between them; %s in one
 * is the file, else it stands behind it), or, if that is not set, xdg-open. A command is left alone once it has run for
 * two seconds. What it prints goes to stderr. GM_E_MISSING: there is none that works. */
static enum gm_status show_in_browser(const char *path, struct gm_error *err)
{
    GM_FREED char *whole = realpath(path, NULL);
    const char *const argv[] = {"sh", "-c", script, "sh", whole != NULL ? whole : path, NULL};
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t child = 0;
    bool is_open = false;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE); /* which we ignore */
    if (posix_spawnattr_init(&attributes) == 0) {
        is_open = posix_spawnattr_setsigdefault(&attributes, &signals) == 0 &&
                  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF) == 0 &&
                  posix_spawn(&child, "/bin/sh", NULL, &attributes, (char *const *)(uintptr_t)argv, environ) == 0 &&
                  has_begun(child);
        posix_spawnattr_destroy(&attributes);
    }
    return is_open ? GM_OK
                   : gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                             "--open: no browser shows %s: neither $BROWSER, if it is set, nor else xdg-open", path);
}

void gm_page_open(struct gm_call *call, const char *run)
{
    GM_FREED struct gm_text path = {0};
    struct gm_error err;
    gm_text_printf(&path, "%s/memory.html", run);
    if (!gm_page_is_there())
        tell_no_page(call, "--open");
    else if (!path.failed && access(path.data, R_OK) != 0)
        gm_call_warn(call, run, "--open: there is no memory.html, since there is no trace");
    else if ((path.failed ? gm_no_memory(&err) : show_in_browser(path.data, &err)) != GM_OK)
        gm_call_fail(call, NULL, &err);
}
