/* SPDX-License-Identifier: Apache-2.0
 *
 * How every fallible function of gmanalyze reports failure.
 *
 * A function returns a gm_status; the caller may pass a gm_error that is filled with one line for a person:
 * what went wrong and where in the input (byte offset of the decoded stream). There is no "last error" anywhere.
 */
#pragma once

#include <stdint.h>

/* status, exit code of a program that ends with it, what it means */
#define GM_STATUS_MAP(X)                                                                                               \
    X(OK, 0, "success")                                                                                                \
    X(E_CHECK, 1, "a check asked for on the command line failed")                                                      \
    X(E_USAGE, 2, "wrong usage")                                                                                       \
    X(E_READ, 3, "an input could not be opened or read")                                                               \
    X(E_TRUNCATED, 3, "an input ends too early")                                                                       \
    X(E_CORRUPT, 3, "an input is damaged")                                                                             \
    X(E_REFUSED, 3, "an input asks for code to be executed")                                                           \
    X(E_LIMIT, 3, "an input exceeds a documented limit")                                                               \
    X(E_FORMAT, 3, "an input is no snapshot")                                                                          \
    X(E_MISSING, 4, "a capability is missing here")                                                                    \
    X(E_WRITE, 5, "an output could not be written")                                                                    \
    X(E_PIPE, 141, "the reader of an output has gone")                                                                 \
    X(E_NOMEM, 5, "out of host memory")                                                                                \
    X(E_INTERNAL, 5, "internal error")

enum gm_status {
#define X(name, exit_code, text) GM_##name,
    GM_STATUS_MAP(X)
#undef X
};

#define GM_NO_OFFSET UINT64_MAX

/* Of an input that is damaged, or ends too early, and was not to be salvaged. */
enum gm_salvage { GM_SALVAGE_NONE, GM_SALVAGE_HELPS, GM_SALVAGE_USELESS };

struct gm_error {
    enum gm_status status;
    uint64_t offset; /* bytes into the decoded (decompressed) input, GM_NO_OFFSET if it has no place there */
    enum gm_salvage salvage;
    char message[480]; /* one line without the offset, without a final newline, only printable characters */
};

/* Fills *err (which may be NULL). Control characters and invalid UTF-8 that came in through %s are replaced: a message
 * is always one clean line. */
void gm_error_set(struct gm_error *err, enum gm_status status, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What follows the message where it is told: the offset, and that --salvage helps; "" if there is neither. */
enum { GM_ERROR_PLACE = 112 };
char *gm_error_place(char out[GM_ERROR_PLACE], const struct gm_error *err);

static inline enum gm_status gm_status_of(enum gm_status status)
{
    return status;
}

/* The same, and its value is `status`, so that a failure is one statement: return gm_fail(...). A macro, so that
 * whoever checks the caller knows that it is not GM_OK. */
#define gm_fail(err, status, offset, ...) (gm_error_set((err), (status), (offset), __VA_ARGS__), gm_status_of(status))

/* Returns the status of a call from the function in which it stands, unless that is GM_OK. */
#define GM_TRY(call)                                                                                                   \
    do {                                                                                                               \
        enum gm_status status_of_call = (call);                                                                        \
        if (status_of_call != GM_OK)                                                                                   \
            return status_of_call;                                                                                     \
    } while (0)

/* The next of several calls, each of which is made only if all before it went well. */
#define GM_THEN(status, call) ((status) = (status) == GM_OK ? (call) : (status))

/* Fails for want of memory: return gm_no_memory(err). */
#define gm_no_memory(err) gm_fail((err), GM_E_NOMEM, GM_NO_OFFSET, "out of memory")

/* The exit code documented for `status`, and its meaning in words (a constant string). */
int gm_status_exit_code(enum gm_status status);
const char *gm_status_text(enum gm_status status);
