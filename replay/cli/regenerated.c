/* SPDX-License-Identifier: Apache-2.0
 *
 * -o: the snapshot of the replay, as PyTorch would have written it.
 */
#include "analyze/cli/snapshot_file.h"
#include "replay/cli/gmreplay.h"
#include "replay/regenerate/regenerate.h"

enum gm_status gm_replay_write_snapshot(struct gm_replay_run *run, const char *path, struct gm_error *err)
{
    const struct gm_replay_options *o = run->options;
    struct gm_regenerated made;
    gm_kept_free(&run->kept); /* as large as the trace, and not needed any more */
    enum gm_status status =
        gm_regenerate(&made, &run->recorder, o->alloc_conf == NULL ? NULL : &run->conf, o->alloc_conf, err);
    if (status != GM_OK)
        return status;
    status = gm_put_snapshot(&made.snapshot, path, err);
    gm_regenerated_free(&made);
    return status;
}
