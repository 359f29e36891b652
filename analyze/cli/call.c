/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/call.h"

#include "analyze/base/clock.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/manual.h"
#include "analyze/cli/operands.h"

#include <malloc.h>
#include <unistd.h>

void gm_call_raise(struct gm_call *call, enum gm_status status)
{
    const int code = gm_status_exit_code(status);
    if (status == GM_E_PIPE)
        call->has_lost_reader = true; /* counts if nothing else does */
    else if (code > call->exit_code)
        call->exit_code = code;
}

void gm_call_fail(struct gm_call *call, const char *subject, const struct gm_error *err)
{
    GM_FREED struct gm_text message = {0};
    gm_message_add_error(&message, &call->terminal, subject, err);
    if (err->status != GM_E_PIPE && (!call->is_mute || err->status == GM_E_INTERNAL))
        gm_message_flush(&message);
    gm_call_raise(call, err->status);
}

static void tell(struct gm_call *call, enum gm_message kind, const char *subject, const char *before, const char *text)
{
    struct gm_text message = {0};
    gm_message_add(&message, &call->terminal, kind, subject, "%s%s", before, text);
    gm_message_flush(&message);
}

void gm_call_fail_with(struct gm_call *call, const char *subject, enum gm_status status, const char *text)
{
    tell(call, GM_MESSAGE_ERROR, subject, "", text);
    gm_call_raise(call, status);
}

void gm_call_warn(struct gm_call *call, const char *subject, const char *text)
{
    if (!call->is_quiet)
        tell(call, GM_MESSAGE_WARNING, subject, "warning: ", text);
}

void gm_call_note(struct gm_call *call, const char *text)
{
    if (!call->is_quiet)
        tell(call, GM_MESSAGE_NOTE, NULL, "", text);
}

void gm_call_put(struct gm_call *call, const char *path, struct gm_text *text)
{
    struct gm_error err;
    enum gm_status status = GM_OK;
    const bool is_stdout = gm_path_is_standard(path);
    if (text->failed)
        status = gm_no_memory(&err);
    else if (is_stdout && !call->is_stdout_broken)
        status = gm_write_all(STDOUT_FILENO, text->data, text->length, "standard output", &err);
    else if (!is_stdout && path != NULL)
        status = gm_write_file(path, text->data, text->length, &err);
    call->is_stdout_broken |= is_stdout && (status == GM_E_WRITE || status == GM_E_PIPE);
    if (status != GM_OK)
        gm_call_fail(call, NULL, &err);
    gm_text_free(text);
}

void gm_call_print(struct gm_call *call, struct gm_text *text)
{
    gm_call_put(call, "-", text);
}

static void print_page(struct gm_call *call, const struct gm_program *program, const struct gm_parsed *page)
{
    struct gm_text text = {0};
    if (call->is_mute)
        return;
    if (page->what == GM_PARSED_HELP)
        gm_options_help(program, &text);
    else if (page->what == GM_PARSED_LIST)
        page->list(&text);
    else if (page->what == GM_PARSED_MANUAL)
        gm_manual(program, (enum gm_manual)page->form, &text);
    else
        gm_text_printf(&text, "%s %s\n", program->name, GM_VERSION);
    gm_call_print(call, &text);
}

static enum gm_status check(const struct gm_program *program, void *options, char **operands, int *count,
                            struct gm_error *err)
{
    const struct gm_usual_options *usual = options;
    const enum gm_status status = program->check == NULL ? GM_OK : program->check(options, operands, count, err);
    if (status == GM_OK && usual->results != NULL && usual->results[0] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--results is empty");
    if (status == GM_OK && usual->open && usual->no_page)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--open shows memory.html, which --no-page leaves out");
    operands[*count] = NULL; /* they were moved to the front */
    return status;
}

/* What is large goes back to the system as soon as it is freed. By itself the C library would keep columns that are
 * dead below others that live: a tenth of the peak of large files. What is small stays for the next file: told of one
 * threshold only, it would be given back after each. */
static void keep_memory_low(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 768 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void gm_call_keep_lower(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
#endif
}

void gm_call_give_back(void)
{
#ifdef M_TRIM_THRESHOLD
    malloc_trim(0);
#endif
}

bool gm_call_begin(struct gm_call *call, const struct gm_program *program, int *argc, char **argv, void *options)
{
    const struct gm_usual_options *usual = options;
    struct gm_parsed page;
    struct gm_error err;
    int count = 0;
    keep_memory_low();
    call->terminal = gm_terminal_open(program->name);
    gm_interrupt_install();
    gm_call_time(call, NULL);
    enum gm_status status = gm_options_parse(program, *argc, argv, options, &count, &page, &err);
    if (status == GM_OK && page.what == GM_PARSED_RUN)
        status = check(program, options, argv, &count, &err);
    *argc = count;
    call->is_quiet = usual->quiet;
    call->is_verbose = usual->verbose;
    if (status != GM_OK) {
        if (status == GM_E_USAGE)
            gm_fail(&err, status, GM_NO_OFFSET, "%s (see %s --help)", err.message, program->name);
        gm_call_fail(call, NULL, &err);
    } else if (page.what != GM_PARSED_RUN) {
        print_page(call, program, &page);
    }
    return status == GM_OK && page.what == GM_PARSED_RUN;
}

void gm_call_time(struct gm_call *call, const char *what)
{
    const double then = call->clock;
    call->clock = gm_seconds();
    if (!call->is_verbose || what == NULL)
        return;
    struct gm_text message = {0};
    gm_message_add(&message, &call->terminal, GM_MESSAGE_NOTE, NULL, "%s %.3f ms", what, 1e3 * (call->clock - then));
    gm_message_flush(&message);
}

int gm_call_end(struct gm_call *call)
{
    if (close(STDOUT_FILENO) != 0 && call->exit_code == 0)
        return gm_status_exit_code(GM_E_WRITE); /* a network file system tells only now */
    return call->exit_code == 0 && call->has_lost_reader ? gm_status_exit_code(GM_E_PIPE) : call->exit_code;
}

int gm_cpu_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}
