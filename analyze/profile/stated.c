/* SPDX-License-Identifier: Apache-2.0
 *
 * What the memory events state of each device and of the host.
 */
#include "analyze/profile/profile_pass.h"

#include "analyze/base/text.h"

#include <stdlib.h>

enum { SITE_FRAMES = 3 };

/* -1: the host; -2: neither. */
static int64_t device_of(const struct gm_profile_memory *m)
{
    const enum gm_memory_side side = gm_profile_side(m);
    return side == GM_SIDE_HOST ? -1 : side == GM_SIDE_DEVICE && m->device >= 0 ? m->device : -2;
}

static struct gm_stated_memory new_row(int64_t device)
{
    const uint64_t none = GM_REPORT_NONE;
    const struct gm_stated_level level = {none, none, none, none};
    return (struct gm_stated_memory){
        .device = device, .capacity = none, .limits = {none, none, none}, .allocated = level, .reserved = level};
}

/* A level that an event states, GM_PROFILE_ABSENT: it does not; `before` the event. Whether it is a new peak. */
static bool note_level(struct gm_stated_level *level, const struct gm_profile *p, int64_t time_ns, uint64_t stated,
                       uint64_t before)
{
    if (stated == GM_PROFILE_ABSENT)
        return false;
    const bool is_peak = level->peak == GM_REPORT_NONE || stated > level->peak;
    level->first = level->first == GM_REPORT_NONE ? before : level->first;
    level->last = stated;
    if (is_peak) {
        const int64_t us = gm_profile_us(p, time_ns);
        level->peak = stated;
        level->peak_us = us < 0 ? GM_REPORT_NONE : (uint64_t)us;
    }
    return is_peak;
}

static void note(struct gm_stated_memory *row, const struct gm_profile *p, const struct gm_profile_memory *m,
                 uint32_t *peak_span)
{
    row->allocs += m->bytes > 0;
    row->frees += m->bytes < 0;
    row->net_bytes = gm_signed_add(row->net_bytes, m->bytes);
    row->most_net_bytes = row->net_bytes > row->most_net_bytes ? row->net_bytes : row->most_net_bytes;
    if (note_level(&row->allocated, p, m->time_ns, m->allocated, gm_profile_allocated_before(m)))
        *peak_span = m->span;
    note_level(&row->reserved, p, m->time_ns, m->reserved, m->reserved);
}

/* "aten::empty < aten::linear < forward": the innermost spans around a moment; NULL: no memory, or there are none. */
static const char *site_of(struct gm_profile_pass *pass, uint32_t span)
{
    const struct gm_profile *p = pass->profile;
    GM_FREED struct gm_text text = {0};
    for (int k = 0; k < SITE_FRAMES && span != GM_PROFILE_NONE; k++, span = p->spans.v[span].parent) {
        size_t n;
        const char *s = gm_profile_string(p, p->spans.v[span].name, &n);
        gm_text_add(&text, k > 0 ? " < " : "");
        gm_text_add_bytes(&text, s, n);
    }
    return text.length == 0 ? NULL : gm_profile_clean(pass->arena, text.data, text.length);
}

static bool name_device(struct gm_profile_pass *pass, struct gm_stated_memory *row)
{
    const struct gm_profile *p = pass->profile;
    for (size_t i = 0; i < p->devices.n; i++) {
        const struct gm_profile_device *d = &p->devices.v[i];
        if (row->device < 0 || d->id != row->device)
            continue;
        size_t n;
        const char *s = gm_profile_string(p, d->name, &n);
        row->capacity = d->memory == GM_PROFILE_ABSENT ? GM_REPORT_NONE : d->memory;
        row->name = n == 0 ? NULL : gm_profile_clean(pass->arena, s, n);
        return n == 0 || row->name != NULL;
    }
    return true;
}

/* How near the peak comes to what the card has. Cards are sold by whole, even gigabytes, of which they report less. */
static void judge(struct gm_stated_memory *row)
{
    static const char *const words[] = {"below", "warning", "high", "critical"};
    static const uint64_t eightieths[] = {70, 75, 78};
    const uint64_t peak = row->reserved.peak != GM_REPORT_NONE ? row->reserved.peak : row->allocated.peak;
    if (row->device < 0 || row->capacity == GM_REPORT_NONE)
        return;
    const uint64_t sold = gm_round_up(row->capacity, UINT64_C(2) << 30);
    size_t level = 0;
    for (size_t i = 0; i < 3; i++) {
        row->limits[i] = sold / 80 * eightieths[i];
        level = peak != GM_REPORT_NONE && peak >= row->limits[i] ? i + 1 : level;
    }
    row->pressure = peak == GM_REPORT_NONE ? NULL : words[level];
}

enum gm_status gm_profile_stated(struct gm_profile_pass *pass, struct gm_error *err)
{
    const struct gm_profile *p = pass->profile;
    enum { NOWHERE = GM_PROFILE_DEVICES + 1 };
    GM_FREED struct gm_stated_memory *rows = calloc(NOWHERE + 1, sizeof *rows); /* the host is behind the devices */
    GM_FREED uint32_t *spans = calloc(NOWHERE + 1, sizeof *spans);
    size_t count = 0;
    if (rows == NULL || spans == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i <= GM_PROFILE_DEVICES; i++)
        rows[i] = new_row(i == GM_PROFILE_DEVICES ? -1 : (int64_t)i);
    for (size_t i = 0; i < p->memory.n; i++) {
        const int64_t device = device_of(&p->memory.v[i]);
        const size_t at = device == -1                                 ? GM_PROFILE_DEVICES
                          : device < 0 || device >= GM_PROFILE_DEVICES ? NOWHERE
                                                                       : (size_t)device;
        note(&rows[at], p, &p->memory.v[i], &spans[at]);
    }
    struct gm_stated_memory *out = gm_arena_calloc(pass->arena, GM_PROFILE_DEVICES + 1, sizeof *out);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i <= GM_PROFILE_DEVICES; i++) {
        if (rows[i].allocs + rows[i].frees == 0)
            continue;
        if (rows[i].allocated.peak != GM_REPORT_NONE)
            rows[i].peak_site = site_of(pass, spans[i]);
        ok = name_device(pass, &rows[i]);
        rows[i].is_of_option = rows[i].device >= 0 && pass->card_bytes != 0;
        if (rows[i].is_of_option)
            rows[i].capacity = pass->card_bytes;
        judge(&rows[i]);
        out[count++] = rows[i];
    }
    pass->out->stated = out;
    pass->out->stated_count = count;
    return ok ? GM_OK : gm_no_memory(err);
}
