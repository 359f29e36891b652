/* SPDX-License-Identifier: Apache-2.0
 *
 * What the memory events state of each device and of the host, and the copies between them.
 */
#include "analyze/profile/profile_pass.h"

#include "analyze/base/order.h"
#include "analyze/base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 1024, SITE_FRAMES = 3 };

/* -1: the host; -2: neither. */
static int64_t device_of(const struct gm_profile_memory *m)
{
    const enum gm_memory_side side = gm_profile_side(m);
    return side == GM_SIDE_HOST ? -1 : side == GM_SIDE_DEVICE && m->device >= 0 ? m->device : -2;
}

static struct gm_stated_memory new_row(int64_t device)
{
    const uint64_t none = GM_REPORT_NONE;
    return (struct gm_stated_memory){.device = device,
                                     .capacity = none,
                                     .limits = {none, none, none},
                                     .first_allocated = none,
                                     .peak_allocated = none,
                                     .last_allocated = none,
                                     .first_reserved = none,
                                     .peak_reserved = none,
                                     .last_reserved = none,
                                     .peak_allocated_us = none,
                                     .peak_reserved_us = none};
}

/* Before the event, as far as the event after it tells. */
static uint64_t before(uint64_t after, int64_t bytes)
{
    const uint64_t size = bytes < 0 ? (uint64_t)0 - (uint64_t)bytes : (uint64_t)bytes;
    return bytes < 0 ? gm_known_add(after, size) : gm_sat_sub(after, size);
}

static uint64_t us_of(const struct gm_profile *p, int64_t ns)
{
    const int64_t us = (p->base_ns + ns) / 1000;
    return us < 0 ? GM_REPORT_NONE : (uint64_t)us;
}

static void note(struct gm_stated_memory *row, const struct gm_profile *p, const struct gm_profile_memory *m,
                 uint32_t *peak_span)
{
    row->allocs += m->bytes > 0;
    row->frees += m->bytes < 0;
    row->net_bytes = gm_signed_add(row->net_bytes, m->bytes);
    row->most_net_bytes = row->net_bytes > row->most_net_bytes ? row->net_bytes : row->most_net_bytes;
    if (m->allocated != GM_PROFILE_ABSENT) {
        if (row->first_allocated == GM_REPORT_NONE)
            row->first_allocated = before(m->allocated, m->bytes);
        if (row->peak_allocated == GM_REPORT_NONE || m->allocated > row->peak_allocated) {
            row->peak_allocated = m->allocated;
            row->peak_allocated_us = us_of(p, m->time_ns);
            *peak_span = m->span;
        }
        row->last_allocated = m->allocated;
    }
    if (m->reserved != GM_PROFILE_ABSENT) {
        row->first_reserved = row->first_reserved == GM_REPORT_NONE ? m->reserved : row->first_reserved;
        if (row->peak_reserved == GM_REPORT_NONE || m->reserved > row->peak_reserved) {
            row->peak_reserved = m->reserved;
            row->peak_reserved_us = us_of(p, m->time_ns);
        }
        row->last_reserved = m->reserved;
    }
}

/* "aten::empty < aten::linear < forward": the innermost spans around a moment; NULL: no memory, or there are none. */
static const char *site_of(struct gm_profile_pass *pass, uint32_t span)
{
    const struct gm_profile *p = pass->profile;
    struct gm_text text = {0};
    for (int k = 0; k < SITE_FRAMES && span != GM_PROFILE_NONE; k++, span = p->spans.v[span].parent) {
        size_t n;
        const char *s = gm_profile_string(p, p->spans.v[span].name, &n);
        gm_text_add(&text, k > 0 ? " < " : "");
        gm_text_add_bytes(&text, s, n);
    }
    const char *site = text.length == 0 ? NULL : gm_profile_clean(pass->arena, text.data, text.length);
    gm_text_free(&text);
    return site;
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
    const uint64_t peak = row->peak_reserved != GM_REPORT_NONE ? row->peak_reserved : row->peak_allocated;
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

static enum gm_status state_devices(struct gm_profile_pass *pass, struct gm_error *err)
{
    const struct gm_profile *p = pass->profile;
    enum { NOWHERE = MOST_DEVICES + 1 };
    struct gm_stated_memory *rows = calloc(NOWHERE + 1, sizeof *rows); /* the host is behind the devices */
    uint32_t *spans = calloc(NOWHERE + 1, sizeof *spans);
    size_t count = 0;
    if (rows == NULL || spans == NULL) {
        free(rows);
        free(spans);
        return gm_no_memory(err);
    }
    for (size_t i = 0; i <= MOST_DEVICES; i++)
        rows[i] = new_row(i == MOST_DEVICES ? -1 : (int64_t)i);
    for (size_t i = 0; i < p->memory.n; i++) {
        const int64_t device = device_of(&p->memory.v[i]);
        const size_t at = device == -1 ? MOST_DEVICES : device < 0 || device >= MOST_DEVICES ? NOWHERE : (size_t)device;
        note(&rows[at], p, &p->memory.v[i], &spans[at]);
    }
    struct gm_stated_memory *out = gm_arena_calloc(pass->arena, MOST_DEVICES + 1, sizeof *out);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i <= MOST_DEVICES; i++) {
        if (rows[i].allocs + rows[i].frees == 0)
            continue;
        if (rows[i].peak_allocated != GM_REPORT_NONE)
            rows[i].peak_site = site_of(pass, spans[i]);
        ok = name_device(pass, &rows[i]);
        if (rows[i].device >= 0 && pass->card_bytes != 0)
            rows[i].capacity = pass->card_bytes;
        judge(&rows[i]);
        out[count++] = rows[i];
    }
    pass->out->stated = out;
    pass->out->stated_count = count;
    free(rows);
    free(spans);
    return ok ? GM_OK : gm_no_memory(err);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* What a device has allocated at a time, as stated: after the last event before it, or before the first one. */
static uint64_t allocated_at(const struct gm_profile *p, int64_t time)
{
    uint64_t level = GM_REPORT_NONE;
    for (size_t i = 0; i < p->memory.n; i++) {
        const struct gm_profile_memory *m = &p->memory.v[i];
        if (gm_profile_side(m) != GM_SIDE_DEVICE || m->allocated == GM_PROFILE_ABSENT)
            continue;
        if (m->time_ns > time)
            return level == GM_REPORT_NONE ? before(m->allocated, m->bytes) : level;
        level = m->allocated;
    }
    return level;
}

struct copies {
    struct gm_copy_row row;
    uint32_t name;
    int64_t first_ns, last_ns;
};
GM_ORDERING(by_bytes, struct copies, GM_DOWN(row.bytes) || GM_DOWN(row.copies) || GM_UP(name));

enum gm_status gm_profile_stated(struct gm_profile_pass *pass, struct gm_error *err)
{
    enum { KINDS = 16 };
    const struct gm_profile *p = pass->profile;
    struct copies kinds[KINDS];
    size_t n = 0;
    GM_TRY(state_devices(pass, err));
    for (size_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *s = &p->spans.v[i];
        size_t k = 0;
        if (s->kind != GM_SPAN_MEMCPY)
            continue;
        while (k < n && kinds[k].name != s->name)
            k++;
        if (k == KINDS)
            continue;
        if (k == n)
            kinds[n++] = (struct copies){.name = s->name, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
        struct copies *c = &kinds[k];
        c->row.copies++;
        c->row.bytes = gm_known_add(c->row.bytes, s->detail == GM_PROFILE_NONE ? 0 : p->details.v[s->detail].bytes);
        c->row.time_ns = gm_signed_add(c->row.time_ns, s->duration_ns);
        c->first_ns = s->start_ns < c->first_ns ? s->start_ns : c->first_ns;
        c->last_ns = gm_profile_span_end(s) > c->last_ns ? gm_profile_span_end(s) : c->last_ns;
    }
    qsort(kinds, n, sizeof *kinds, by_bytes);
    struct gm_copy_row *rows = gm_arena_calloc(pass->arena, n + 1, sizeof *rows);
    for (size_t k = 0; rows != NULL && k < n; k++) {
        size_t length;
        const char *s = gm_profile_string(p, kinds[k].name, &length);
        rows[k] = kinds[k].row;
        rows[k].before = allocated_at(p, kinds[k].first_ns);
        rows[k].after = allocated_at(p, kinds[k].last_ns);
        rows[k].name = gm_profile_clean(pass->arena, s, length);
        if (rows[k].name == NULL)
            return gm_no_memory(err);
    }
    pass->out->copies = rows;
    pass->out->copy_count = n;
    return rows == NULL ? gm_no_memory(err) : GM_OK;
}
