/* SPDX-License-Identifier: Apache-2.0
 *
 * What is matched is the same call: a snapshot has the Python stack of each allocation, and so has a trace of
 * with_stack=True, and neither is looked at to match them.
 */
#include "analyze/formats/load.h"
#include "analyze/timeline/join/join_work.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

struct pair {
    struct gm_snapshot snapshot, beside;
    struct gm_report report;
    struct gm_join *join;
};

static void load(struct gm_snapshot *s, const char *name, const char *suffix)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s.gz", GM_PAIRS, name, suffix);
    assert_int_equal(gm_snapshot_load(s, path, NULL, NULL), GM_OK);
}

static void begin(struct pair *p, const char *name)
{
    *p = (struct pair){.join = NULL};
    load(&p->snapshot, name, "pickle");
    load(&p->beside, name, "pair.json");
    assert_true(gm_join_new(&p->join, &p->report, &p->snapshot, &p->beside));
    assert_null(p->join->out->reason);
}

static void end(struct pair *p)
{
    gm_join_free(p->join);
    gm_report_free(&p->report);
    gm_snapshot_free(&p->snapshot);
    gm_snapshot_free(&p->beside);
}

/* The innermost Python function of a stack of the snapshot, and of the trace; false: there is none. */
static bool of_snapshot(const struct gm_snapshot *s, struct gm_stack_id stack, char out[256])
{
    size_t depth, n, file_length;
    const struct gm_frame_id *frames = gm_stack_frames(s, stack, &depth);
    if (depth == 0)
        return false;
    const char *name = gm_string(s, s->frames.name[frames[0].v], &n);
    const char *file = gm_string(s, s->frames.filename[frames[0].v], &file_length);
    const char *slash = memrchr(file, '/', file_length);
    snprintf(out, 256, "%.*s %.*s", slash == NULL ? 0 : (int)(file + file_length - slash - 1), slash + 1, (int)n, name);
    return true;
}

static bool of_trace(const struct gm_profile *p, uint32_t span, char out[256])
{
    for (; span != GM_PROFILE_NONE; span = p->spans.v[span].parent) {
        size_t n;
        const char *s = gm_profile_string(p, p->spans.v[span].name, &n);
        const char *function = memmem(s, n, "): ", 3), *open = memchr(s, '(', n);
        if (p->spans.v[span].kind != GM_SPAN_PYTHON || function == NULL || open == NULL)
            continue;
        const char *slash = memrchr(s, '/', (size_t)(open - s));
        const char *file = slash == NULL ? s : slash + 1;
        snprintf(out, 256, "%.*s %s", (int)(open - file), file, function + 3);
        return true;
    }
    return false;
}

static void compare_stacks(const char *name, size_t fewest)
{
    struct pair p;
    size_t same = 0, all = 0;
    begin(&p, name);
    for (size_t row = 0; row < p.snapshot.events.count; row++) {
        char ours[256], theirs[256];
        const uint32_t memory = p.join->memory_of[row];
        if (memory == GM_PROFILE_NONE || p.snapshot.events.action[row] != GM_ACTION_ALLOC ||
            !of_snapshot(&p.snapshot, gm_event_stack(&p.snapshot.events, row), ours) ||
            !of_trace(p.join->p, p.join->p->memory.v[memory].span, theirs))
            continue;
        all++;
        same += strcmp(ours, theirs) == 0;
        if (strcmp(ours, theirs) != 0)
            print_message("%s: %s, %s\n", name, ours, theirs);
    }
    print_message("%s: %zu of %zu\n", name, same, all);
    assert_int_equal(same, all);
    assert_true(all >= fewest);
    end(&p);
}

TEST(stacks)
{
    compare_stacks("2.6.0_training", 20);
    compare_stacks("2.15.0_training", 20);
}

/* No two are the same, and addresses, devices and directions agree. */
TEST(one_to_one)
{
    static const char *const names[] = {"2.4.1_inference", "2.10.0_devices", "2.15.0_threads", "2.15.0_lines"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pair p;
        begin(&p, names[i]);
        const struct gm_snapshot *s = &p.snapshot;
        for (size_t d = 0; d < s->trace_count; d++) {
            uint32_t last = 0;
            bool any = false;
            for (size_t row = s->traces[d].first; row < s->traces[d].first + s->traces[d].count; row++) {
                const uint32_t at = p.join->memory_of[row];
                if (at == GM_PROFILE_NONE)
                    continue;
                const struct gm_profile_memory *m = &p.join->p->memory.v[at];
                assert_true(!any || at > last);
                assert_int_equal(m->address, gm_event_addr(&s->events, row));
                assert_int_equal(m->device, (int32_t)d);
                assert_int_equal(m->bytes > 0, s->events.action[row] == GM_ACTION_ALLOC);
                last = at;
                any = true;
            }
        }
        end(&p);
    }
}
