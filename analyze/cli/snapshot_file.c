/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/snapshot_file.h"

#include "analyze/base/new_file.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/terminal.h"
#include "replay/write/write.h"

#include <unistd.h>

static enum gm_status to_stdout(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    (void)context;
    return gm_write_all(STDOUT_FILENO, bytes, length, "standard output", err);
}

enum gm_status gm_put_snapshot(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err)
{
    const struct gm_sink out = {.write = to_stdout};
    if (gm_path_is_standard(path))
        return gm_write_pickle(snapshot, &out, err);
    if (gm_new_file_is_direct(path))
        return gm_write_snapshot_file(snapshot, NULL, path, err);
    gm_interrupt_hold();
    const enum gm_status status = gm_write_snapshot_file(snapshot, gm_interrupt_is_pending, path, err);
    gm_interrupt_release();
    return status;
}
