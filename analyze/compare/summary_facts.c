/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run was made with, as far as its snapshot tells: allocator settings, devices, features of PyTorch that were
 * seen, and what was recorded.
 */
#include "analyze/compare/summary_work.h"

#include "analyze/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts {
    struct gm_summary_work *work;
    struct GM_VEC(struct gm_summary_fact) rows;
    bool failed;
};

static void add(struct facts *f, const char *group, const char *key, const char *value)
{
    const struct gm_summary_fact row = {group, gm_summary_copy(f->work, key), gm_summary_copy(f->work, value)};
    if (row.key == NULL || row.value == NULL || !GM_VEC_PUSH(&f->rows, row))
        f->failed = true;
}

static void add_number(struct facts *f, const char *group, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add(f, group, key, value == GM_REPORT_NONE ? "not recorded" : text);
}

static void add_truth(struct facts *f, const char *group, const char *key, bool is)
{
    add(f, group, key, is ? "yes" : "no");
}

static void add_settings(struct facts *f)
{
    const struct gm_report *report = &f->work->report;
    if (report->settings == NULL)
        add(f, "setting", "allocator settings", "not recorded");
    for (size_t i = 0; report->settings != NULL && i < report->setting_count; i++)
        add(f, "setting", report->settings[i].key, report->settings[i].value);
}

/* "0", "0, 1, 5"; of many the first. */
static void add_devices(struct facts *f)
{
    enum { SHOWN = 16 };
    const struct gm_report *report = &f->work->report;
    struct gm_arena *arena = &f->work->report.arena;
    const char *list = "";
    for (size_t d = 0; d < report->device_count && d <= SHOWN && list != NULL; d++)
        list = d == SHOWN ? gm_arena_printf(arena, "%s ... (%zu)", list, report->device_count)
                          : gm_arena_printf(arena, "%s%s%" PRId64, list, d > 0 ? ", " : "", report->devices[d].device);
    if (list == NULL)
        f->failed = true;
    else
        add(f, "device", "devices", list[0] == '\0' ? "none" : list);
    uint64_t streams = 0;
    for (size_t d = 0; d < report->device_count; d++)
        streams += report->devices[d].stream_count;
    add_number(f, "device", "streams with segments", streams);
}

static bool any_event(const struct gm_rare_column *column, size_t count)
{
    if (column->v == NULL)
        return count > 0 && column->all != 0;
    for (size_t i = 0; i < count; i++)
        if (column->v[i] != 0)
            return true;
    return false;
}

static void add_features(struct facts *f)
{
    const struct gm_snapshot *s = f->work->snapshot;
    bool expandable = false;
    uint64_t private_pools = 0;
    for (size_t i = 0; i < s->segments.count; i++)
        expandable = expandable || s->segments.is_expandable[i] == GM_TRUE;
    for (uint32_t i = 1; i < s->pool_count; i++)
        private_pools += s->pools[i].first != 0 || s->pools[i].second != 0;
    add_truth(f, "feature", "expandable segments", expandable);
    add_number(f, "feature", "private pools (CUDA graphs, MemPool)", private_pools);
    add_truth(f, "feature", "torch.compile contexts", any_event(&s->events.compile_context, s->events.count));
    add_truth(f, "feature", "user metadata", any_event(&s->events.user_metadata, s->events.count));
    add_truth(f, "feature", "annotations", s->annotation_count > 0);
    add_truth(f, "feature", "pinned host memory", s->host_segments.count > 0);
}

/* Which frames stacks have: those of C++ or Python, both, or none. */
static void add_recording(struct facts *f)
{
    const struct gm_snapshot *s = f->work->snapshot;
    const struct gm_summary *summary = f->work->summary;
    bool python = false, native = false;
    for (size_t i = 0; i < summary->frame_count; i++) {
        python = python || summary->frames[i].is_python;
        native = native || !summary->frames[i].is_python;
    }
    add(f, "recording", "stacks", python && native ? "Python and C++" : python ? "Python" : native ? "C++" : "none");
    uint64_t entries = GM_REPORT_NONE;
    bool overflowed = false, told = false;
    for (size_t d = 0; d < s->trace_count; d++) {
        if (s->traces[d].max_entries != GM_ABSENT)
            entries = s->traces[d].max_entries;
        overflowed = overflowed || s->traces[d].overflowed == GM_TRUE;
        told = told || s->traces[d].overflowed != GM_TRUTH_ABSENT;
    }
    add_truth(f, "recording", "trace", summary->has_trace);
    add_number(f, "recording", "events kept at most", entries);
    add(f, "recording", "older events were lost", told ? overflowed ? "yes" : "no" : "not recorded");
}

GM_ORDERING(by_key, struct gm_summary_fact,
            GM_BY(strcmp(a->group, b->group)) || GM_BY(strcmp(a->key, b->key)) || GM_BY(strcmp(a->value, b->value)));

bool gm_summary_facts(struct gm_summary_work *work)
{
    struct facts f = {.work = work};
    add_settings(&f);
    add_devices(&f);
    add_features(&f);
    add_recording(&f);
    GM_SORT(f.rows.v, f.rows.n, by_key);
    work->summary->facts =
        f.failed ? NULL : gm_arena_array(&work->summary->arena, f.rows.v, f.rows.n, sizeof *f.rows.v);
    work->summary->fact_count = work->summary->facts == NULL ? 0 : f.rows.n;
    free(f.rows.v);
    return work->summary->facts != NULL;
}
