/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/sqlite/sqlite_module.h"

const struct gm_sqlite_module gm_sqlite_module = {.version = GM_VERSION,
#define X(name) .name = sqlite3_##name,
                                                  GM_SQLITE_MAP(X)
#undef X
};
