/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/oom.h"

#include <inttypes.h>
#include <stdio.h>

const char *gm_oom_verdict_name(enum gm_oom_verdict verdict)
{
    static const char *const names[] = {"unknown", "capacity", "fragmentation", "capacity and fragmentation"};
    return names[verdict];
}

char *gm_stream_format(char out[GM_STREAM_TEXT], const struct gm_view *view, int64_t stream)
{
    const struct gm_device_report *d = view->device;
    for (size_t i = 0; i < d->stream_count; i++)
        if (d->streams[i].stream == stream) {
            snprintf(out, GM_STREAM_TEXT, "%" PRIu32, d->streams[i].number);
            return out;
        }
    if (stream == 0)
        snprintf(out, GM_STREAM_TEXT, "0");
    else
        snprintf(out, GM_STREAM_TEXT, "0x%" PRIx64, (uint64_t)stream);
    return out;
}

uint64_t gm_oom_not_attributed(const struct gm_view *view, const struct gm_oom_row *oom)
{
    if (!view->is_reconstructed)
        return 0;
    uint64_t sum = oom->levels.active;
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        sum = gm_plus(sum, oom->unusable[i]);
    const uint64_t lacking = gm_less(oom->levels.reserved, sum);
    return lacking == GM_REPORT_NONE ? 0 : lacking;
}
