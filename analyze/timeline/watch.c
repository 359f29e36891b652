/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/watch.h"

#include <stdlib.h>

struct gm_watch {
    int unused;
};

static void see(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment)
{
    (void)self;
    (void)occasion;
    (void)space;
    (void)moment;
}

struct gm_watch *gm_watch_new(struct gm_watcher *watcher)
{
    struct gm_watch *watch = calloc(1, sizeof *watch);
    *watcher = (struct gm_watcher){.self = watch, .see = see, .samples = 512};
    return watch;
}

void gm_watch_free(struct gm_watch *watch)
{
    free(watch);
}
