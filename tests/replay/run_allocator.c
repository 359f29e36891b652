/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on standard input, events and statistics of the model on standard output: what check_reference.py compares
 * with the naive model. Lines: "settings TEXT", "capacity BYTES", "malloc ID BYTES STREAM POOL", "request ID" and
 * "complete ID" (a free's two parts), "empty", "expandable 0|1"; and of private pools: "custom POOL", "whole POOL",
 * "retire POOL 0|1", "emptypool POOL".
 */
#include "replay/model/allocator.h"
#include "replay/model/sim.h"
#include "tests/allocator/invariants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 1 << 16 };

struct world {
    struct gm_allocator a;
    uint32_t block_of[IDS];
};

static void put(void *self, enum gm_allocator_event event, uint64_t address, uint64_t size, uint32_t stream,
                uint32_t pool, uint32_t owner)
{
    static const char *const names[] = {"alloc",        "free_requested", "free_completed", "segment_alloc",
                                        "segment_free", "segment_map",    "segment_unmap",  "oom"};
    struct world *w = self;
    (void)pool;
    if (event == GM_EVENT_FREE_COMPLETED)
        w->block_of[owner] = GM_SPACE_NONE;
    printf("%s %" PRIu64 " %" PRIu64 " %" PRId64 "\n", names[event], address, size, w->a.handles.v[stream]);
}

static void print_stat(const char *name, const char *kind, const struct gm_stat *s)
{
    printf("%s%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", name, kind, s->current, s->peak, s->allocated,
           s->freed);
}

/* Of private pools, by id; there are few. */
static void print_pools(const struct gm_allocator *a)
{
    for (uint64_t id = 1; id < 16; id++) {
        uint64_t reserved = 0;
        for (size_t p = 0; p < a->pools.n; p++)
            reserved += a->pools.v[p].id_second == id ? a->pools.v[p].reserved : 0;
        if (reserved > 0)
            printf("reserved_bytes_by_private_pools %" PRIu64 " %" PRIu64 "\n", id, reserved);
    }
}

static void print_stats(const struct gm_stats *s)
{
    static const char *const kinds[] = {".all", ".small_pool", ".large_pool"};
#define X(name)                                                                                                        \
    for (int i = 0; i < GM_STAT_KINDS; i++)                                                                            \
        print_stat(#name, kinds[i], &s->name[i]);
    GM_STAT_MAP(X)
#undef X
    print_stat("oversize_allocations", "", &s->oversize_allocations);
    print_stat("oversize_segments", "", &s->oversize_segments);
    printf("num_alloc_retries %" PRId64 "\nnum_ooms %" PRId64 "\nnum_sync_all_streams %" PRId64
           "\nnum_device_alloc %" PRId64 "\nnum_device_free %" PRId64 "\nmax_split_size %" PRId64 "\n",
           s->num_alloc_retries, s->num_ooms, s->num_sync_all_streams, s->num_device_alloc, s->num_device_free,
           s->max_split_size);
}

static void do_line_of_pool(struct world *w, const char *line)
{
    unsigned is_freeable;
    uint64_t pool;
    if (sscanf(line, "custom %" SCNu64, &pool) == 1) {
        const struct gm_allocator_home home = gm_allocator_home_of(&w->a, 0, pool);
        w->a.pools.v[home.small].is_custom = w->a.pools.v[home.large].is_custom = true;
    } else if (sscanf(line, "whole %" SCNu64, &pool) == 1) {
        gm_allocator_never_split(&w->a, gm_allocator_home_of(&w->a, 0, pool));
    } else if (sscanf(line, "retire %" SCNu64 " %u", &pool, &is_freeable) == 2) {
        gm_allocator_set_freeable(&w->a, gm_allocator_home_of(&w->a, 0, pool), is_freeable != 0);
    } else if (sscanf(line, "emptypool %" SCNu64, &pool) == 1) {
        gm_allocator_empty_pool(&w->a, 0, pool);
    }
}

static bool do_line(struct world *w, const char *line)
{
    unsigned id, pool, on;
    uint64_t size;
    int64_t stream;
    const char *why;
    if (sscanf(line, "malloc %u %" SCNu64 " %" SCNd64 " %u", &id, &size, &stream, &pool) == 4 && id < IDS)
        w->block_of[id] = gm_allocator_malloc(&w->a, size, gm_allocator_stream(&w->a, stream),
                                              gm_allocator_home_of(&w->a, 0, pool), id);
    else if (sscanf(line, "request %u", &id) == 1 && id < IDS && w->block_of[id] != GM_SPACE_NONE)
        gm_allocator_free_requested(&w->a, w->block_of[id]);
    else if (sscanf(line, "complete %u", &id) == 1 && id < IDS && w->block_of[id] != GM_SPACE_NONE)
        gm_allocator_free_completed(&w->a, w->block_of[id]);
    else if (strcmp(line, "empty\n") == 0)
        gm_allocator_empty_cache(&w->a);
    else if (sscanf(line, "expandable %u", &on) == 1)
        w->a.conf.expandable_segments = on != 0;
    else
        do_line_of_pool(w, line);
    if (!allocator_is_sound(&w->a, &why)) {
        printf("BROKEN after '%s': %s\n", line, why);
        return false;
    }
    return !w->a.has_no_memory && !w->a.has_failed;
}

int main(void)
{
    GM_FREED struct world *w = calloc(1, sizeof *w);
    struct gm_sim sim;
    struct gm_device device;
    struct gm_allocator_sink sink = {w, put};
    struct gm_conf conf = gm_conf_default();
    struct gm_error err = {0};
    char line[1024];
    uint64_t capacity = UINT64_MAX;
    bool ok = w != NULL && fgets(line, sizeof line, stdin) != NULL && strncmp(line, "settings ", 9) == 0;
    const char *settings = ok ? line + 9 : line;
    conf.ties = *settings == '*' ? GM_TIES_OLDEST_BLOCK : *settings == '+' ? GM_TIES_OLDEST_SEGMENT : GM_TIES_LOWEST;
    settings += conf.ties != GM_TIES_LOWEST;
    if (ok && gm_conf_parse(&conf, settings, strlen(settings), NULL, &err) != GM_OK) {
        fprintf(stderr, "%s\n", err.message);
        ok = false;
    }
    ok = ok && fgets(line, sizeof line, stdin) != NULL && sscanf(line, "capacity %" SCNu64, &capacity) == 1;
    if (ok) {
        sim = gm_sim_init(capacity, GM_PLACE_LOW);
        device = gm_sim_device(&sim);
        gm_allocator_init(&w->a, &conf, &device, &sink);
        for (size_t i = 0; i < IDS; i++)
            w->block_of[i] = GM_SPACE_NONE;
        while (ok && fgets(line, sizeof line, stdin) != NULL)
            ok = do_line(w, line);
        print_stats(&w->a.stats);
        print_pools(&w->a);
        gm_allocator_free(&w->a);
        gm_sim_free(&sim);
    }
    return ok ? 0 : 1;
}
