/* SPDX-License-Identifier: Apache-2.0
 *
 * The three standard streams of a program: safe to use whatever the caller closed, never half-written unnoticed, and
 * coloured only where a person looks.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct gm_terminal {
    const char *program; /* begins every line on stderr */
    bool is_tty;         /* stderr is a terminal */
    bool has_colour;     /* and colour is welcome there */
};

/* Call first: occupies descriptors 0 to 2 where they are closed, so that no file of ours gets their numbers (writing to
 * a closed stdout still fails), and ignores SIGPIPE, so that whatever else is to be written is. */
struct gm_terminal gm_terminal_open(const char *program);

/* What can be drawn on stdout: as wide as its terminal, where it is one; else `usual` columns, without colour. */
struct gm_terminal_page {
    size_t columns;
    bool is_utf8; /* what the locale's variables say */
    bool has_colour;
};
struct gm_terminal_page gm_terminal_page(size_t usual);

/* Writes everything to descriptor `fd` or fails as gm_new_file_write does; `name` is what the message calls it. */
enum gm_status gm_write_all(int fd, const void *data, size_t length, const char *name, struct gm_error *err);
/* Creates or replaces the file at `path`, which appears when it is complete (analyze/base/new_file.h). */
enum gm_status gm_write_file(const char *path, const void *data, size_t length, struct gm_error *err);

enum gm_message { GM_MESSAGE_ERROR, GM_MESSAGE_WARNING, GM_MESSAGE_NOTE };

/* Adds one line "PROGRAM: SUBJECT: text" to `out`; SUBJECT (a path, may be NULL) and the text are cleaned of whatever
 * could break the line or the terminal. */
void gm_message_add(struct gm_text *out, const struct gm_terminal *terminal, enum gm_message kind, const char *subject,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same for an error: "PROGRAM: SUBJECT: what (at byte N)". */
void gm_message_add_error(struct gm_text *out, const struct gm_terminal *terminal, const char *subject,
                          const struct gm_error *err);
/* Writes what was added to stderr, as far as it will go, and empties `out`. */
void gm_message_flush(struct gm_text *out);
