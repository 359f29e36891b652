/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/terminal.h"

#include "analyze/base/new_file.h"
#include "analyze/base/utf8.h"
#include "analyze/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* open() gives the lowest free number, so going up fills each hole with the wrong end of /dev/null: reading a closed
 * stdin and writing a closed stdout fail as they should. */
static void occupy_closed_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(gm_status_exit_code(GM_E_INTERNAL));
}

static bool wants_colour(void)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return (no_color == NULL || *no_color == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

struct gm_terminal gm_terminal_open(const char *program)
{
    occupy_closed_descriptors();
    signal(SIGPIPE, SIG_IGN);
    bool is_tty = isatty(STDERR_FILENO) == 1;
    return (struct gm_terminal){program, is_tty, is_tty && wants_colour()};
}

/* Not what setlocale finds: it fails where the locale's files are missing, and the terminal is there. */
static bool wants_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && (value == NULL || *value == '\0'); i++)
        value = getenv(names[i]);
    return value != NULL && (strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL);
}

struct gm_terminal_page gm_terminal_page(size_t usual)
{
    struct winsize size;
    const bool is_tty = isatty(STDOUT_FILENO) == 1;
    const bool is_known = is_tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (struct gm_terminal_page){is_known ? size.ws_col : usual, wants_utf8(), is_tty && wants_colour()};
}

enum gm_status gm_write_all(int fd, const void *data, size_t length, const char *name, struct gm_error *err)
{
    int reason = gm_write_fully(fd, data, length);
    if (reason == 0)
        return GM_OK;
    return gm_fail(err, reason == EPIPE ? GM_E_PIPE : GM_E_WRITE, GM_NO_OFFSET, "%s: cannot write: %s", name,
                   strerror(reason));
}

enum gm_status gm_write_file(const char *path, const void *data, size_t length, struct gm_error *err)
{
    struct gm_new_file file;
    bool is_direct = gm_new_file_is_direct(path);
    if (!is_direct)
        gm_interrupt_hold(); /* so that the hidden file does not stay */
    enum gm_status status = gm_new_file_open(&file, path, err);
    GM_THEN(status, gm_new_file_write(&file, data, length, err));
    status = gm_new_file_close(&file, status, err);
    if (!is_direct)
        gm_interrupt_release();
    return status;
}

static const char *const colours[] = {
    [GM_MESSAGE_ERROR] = "\x1b[1;31m", [GM_MESSAGE_WARNING] = "\x1b[33m", [GM_MESSAGE_NOTE] = "\x1b[2m"};

void gm_message_add(struct gm_text *out, const struct gm_terminal *terminal, enum gm_message kind, const char *subject,
                    const char *format, ...)
{
    char raw[1024], clean[GM_UTF8_CLEAN(sizeof raw)];
    if (terminal->has_colour)
        gm_text_add(out, colours[kind]);
    gm_text_printf(out, "%s:%s ", terminal->program, terminal->has_colour ? "\x1b[0m" : "");
    if (subject != NULL) {
        gm_utf8_clean_line(clean, sizeof clean, subject, strlen(subject));
        gm_text_printf(out, "%s: ", clean[0] == '\0' ? "''" : clean);
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    gm_utf8_clean_line(clean, sizeof clean, raw, n < 0 ? 0 : strlen(raw));
    gm_text_printf(out, "%s\n", clean);
}

void gm_message_add_error(struct gm_text *out, const struct gm_terminal *terminal, const char *subject,
                          const struct gm_error *err)
{
    char place[GM_ERROR_PLACE];
    gm_message_add(out, terminal, GM_MESSAGE_ERROR, subject, "%s%s", err->message, gm_error_place(place, err));
}

void gm_message_flush(struct gm_text *out)
{
    /* Where stderr itself cannot be written there is nobody left to tell. */
    if (out->length > 0)
        (void)gm_write_all(STDERR_FILENO, out->data, out->length, "standard error", NULL);
    gm_text_free(out);
    *out = (struct gm_text){0};
}
