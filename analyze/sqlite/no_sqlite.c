/* SPDX-License-Identifier: Apache-2.0
 *
 * The database of a build without SQLite: there is none.
 */
#include "analyze/sqlite/sqlite.h"

enum gm_status gm_sqlite_check(struct gm_error *err)
{
    return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET, "--export sqlite: built without SQLite (libsqlite3-dev)");
}

enum gm_status gm_sqlite_write(const char *path, const struct gm_sqlite_source *source, bool (*gives_up)(void),
                               struct gm_error *err)
{
    (void)path, (void)source, (void)gives_up;
    return gm_sqlite_check(err);
}
