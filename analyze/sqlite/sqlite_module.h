/* SPDX-License-Identifier: Apache-2.0
 *
 * What is called of SQLite, as a table that a shared object of its own provides: the library takes as long to load as
 * the others of gmanalyze together, and few ask for a database. So it is opened where one is asked for.
 */
#pragma once

#include <sqlite3.h>

#define GM_SQLITE_MODULE_SYMBOL "gm_sqlite_module"
#define GM_SQLITE_MODULE_FILE "gmsqlite.so"

#define GM_SQLITE_MAP(X)                                                                                               \
    X(bind_blob64)                                                                                                     \
    X(bind_double)                                                                                                     \
    X(bind_int64)                                                                                                      \
    X(bind_null)                                                                                                       \
    X(bind_text64)                                                                                                     \
    X(close)                                                                                                           \
    X(errstr)                                                                                                          \
    X(exec)                                                                                                            \
    X(finalize)                                                                                                        \
    X(open_v2)                                                                                                         \
    X(prepare_v2)                                                                                                      \
    X(progress_handler)                                                                                                \
    X(reset)                                                                                                           \
    X(step)

struct gm_sqlite_module {
    const char *version; /* of the program that it belongs to */
#define X(name) __typeof__(&sqlite3_##name) name;
    GM_SQLITE_MAP(X)
#undef X
};
extern const struct gm_sqlite_module gm_sqlite_module;
