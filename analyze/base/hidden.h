/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of what is being written: hidden, and with who writes it, so that what a killed program left can be removed.
 * Folders are shared between containers and machines, so only what surely has no writer any more may be:
 *
 *   - its mark is ours and no process has its id; nobody holds its lock, where there are locks; or
 *   - the file system is a local one, whose locks are seen here; nobody holds its lock, and nothing has happened to it
 *     for a day (longer than any run, and than the instant between making and locking it).
 *
 * Anything else stays.
 */
#pragma once

#include <stdbool.h>

/* Whose process ids are meant: 16 hexadecimal digits that differ between machines, between containers and after each
 * start of the machine; all 0 if that cannot be known. */
enum { GM_MARK = 17 };
void gm_hidden_mark(char mark[GM_MARK]);

/* "MARK-PID-N" of this process. */
enum { GM_HIDDEN_TAIL = 48 };
char *gm_hidden_tail(char out[GM_HIDDEN_TAIL], unsigned n);

/* Who made a hidden name. */
struct gm_hidden_writer {
    bool has_mark; /* older versions had none */
    bool is_here;  /* the mark is ours */
    bool is_dead;  /* if the process id is one of here */
};
/* Whether `tail` is such a one, or PID, `separator` and N as older versions had it; `mark` is that of this process. */
bool gm_hidden_read(struct gm_hidden_writer *writer, const char *tail, char separator, const char mark[GM_MARK]);

/* Nothing has happened to it for a day. */
enum { GM_STALE_SECONDS = 86400 };
bool gm_hidden_is_old(int dir, const char *name);
/* If its writer is surely gone (above), opens it (`flags`: O_DIRECTORY or 0) and takes its lock: the caller removes it
 * and closes the descriptor. Else -1. */
int gm_hidden_take(int dir, const char *name, const struct gm_hidden_writer *writer, int flags);
