/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a snapshot and writes it again.
 *
 * usage: rewrite [--time] IN OUT
 */
#include "analyze/formats/load.h"
#include "replay/write/write.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct count {
    uint64_t bytes;
};

static enum gm_status count_bytes(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    (void)bytes;
    (void)err;
    ((struct count *)context)->bytes += length;
    return GM_OK;
}

int main(int argc, char **argv)
{
    int first = argc > 1 && strcmp(argv[1], "--time") == 0 ? 2 : 1;
    if (argc != first + 2) {
        fprintf(stderr, "usage: rewrite [--time] IN OUT\n");
        return 2;
    }
    struct gm_snapshot s;
    struct gm_error err = {0};
    enum gm_status status = gm_snapshot_load(&s, argv[first], NULL, &err);
    if (status == GM_OK && first == 2) { /* the writing alone */
        struct count count = {0};
        const struct gm_sink nowhere = {.write = count_bytes, .context = &count};
        double start = seconds();
        status = gm_write_pickle(&s, &nowhere, &err);
        double took = seconds() - start;
        printf("%.1f MB in %.3f s, %.0f MB/s\n", (double)count.bytes / 1e6, took, (double)count.bytes / 1e6 / took);
    }
    GM_THEN(status, gm_write_snapshot_file(&s, NULL, argv[first + 1], &err));
    gm_snapshot_free(&s);
    if (status != GM_OK)
        fprintf(stderr, "%s: %s\n", argv[first], err.message);
    return gm_status_exit_code(status);
}
