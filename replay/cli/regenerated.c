/* SPDX-License-Identifier: Apache-2.0
 *
 * -o: the snapshot of the replay, as PyTorch would have written it.
 */
#include "analyze/base/new_file.h"
#include "analyze/cli/interrupt.h"
#include "analyze/cli/paths.h"
#include "replay/cli/gmreplay.h"
#include "replay/regenerate/regenerate.h"
#include "replay/write/write.h"

#include <string.h>
#include <unistd.h>

static enum gm_status to_stdout(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    (void)context;
    return gm_write_all(STDOUT_FILENO, bytes, length, "standard output", err);
}

/* A signal in the middle ends the program as soon as the hidden file is gone. */
static enum gm_status write_file(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err)
{
    const struct gm_write_options options = {.gives_up = gm_interrupt_is_pending};
    if (gm_new_file_is_direct(path))
        return gm_write_snapshot_file(snapshot, NULL, path, err);
    gm_interrupt_hold();
    enum gm_status status = gm_write_snapshot_file(snapshot, &options, path, err);
    gm_interrupt_release();
    return status;
}

enum gm_status gm_replay_write_snapshot(struct gm_replay_run *run, const char *path, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    const struct gm_sink out = {.write = to_stdout};
    struct gm_regenerated made;
    gm_kept_free(&run->kept); /* as large as the trace, and not needed any more */
    enum gm_status status =
        gm_regenerate(&made, &run->recorder, o->alloc_conf == NULL ? NULL : &run->conf, o->alloc_conf, err);
    if (status != GM_OK)
        return status;
    if (gm_path_is_standard(path))
        status = gm_write_pickle(&made.snapshot, NULL, &out, err);
    else
        status = write_file(&made.snapshot, path, err);
    gm_regenerated_free(&made);
    return status;
}
