/* SPDX-License-Identifier: Apache-2.0
 *
 * From a snapshot to its record, and from a record to a row of the fleet. One walk does both: each part of a record is
 * named once, in the order in which it stands:
 *   magic, status, error text; if the status is GM_OK: the numbers of struct gm_fleet_item, categories, sites; then the
 *   directory of --each and its failure; a checksum of all before.
 * A record may come from a file that anybody could have written: every length is checked.
 */
#include "analyze/fleet/record.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/compare/summary_make.h"
#include "analyze/formats/load.h"
#include "analyze/snapshot/profile.h"
#include "analyze/state/shown_names.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 8 };

/* Writes to `out`, or reads from p on if that is NULL. */
struct walk {
    struct gm_text *out;
    const unsigned char *p, *end;
    struct gm_arena *arena;  /* what the item keeps */
    struct gm_arena scratch; /* what is forgotten with the reader */
    bool ok;
};

static uint64_t number(struct walk *w, uint64_t value)
{
    unsigned char bytes[NUMBER_SIZE];
    for (int i = 0; i < NUMBER_SIZE; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    if (w->out != NULL) {
        gm_text_add_bytes(w->out, bytes, sizeof bytes);
        return value;
    }
    w->ok = w->ok && w->end - w->p >= NUMBER_SIZE;
    value = 0;
    for (int i = 0; w->ok && i < NUMBER_SIZE; i++)
        value |= (uint64_t)*w->p++ << (8 * i);
    return value;
}
/* A number of any type, told or filled in. */
#define WALK(w, field) ((field) = (__typeof__(field))number((w), (uint64_t)(field)))

/* A number of things that take `size` bytes each at least. */
static size_t walk_count(struct walk *w, size_t n, size_t size)
{
    n = (size_t)number(w, n);
    w->ok = w->ok && (w->out != NULL || n <= (size_t)(w->end - w->p) / size);
    return w->ok ? n : 0;
}

/* Its length + 1, its bytes; 0 for NULL. What was read lives in `arena`. */
static const char *string_in(struct walk *w, const char *s, struct gm_arena *arena)
{
    const uint64_t n = number(w, s == NULL ? 0 : (uint64_t)strlen(s) + 1);
    if (w->out != NULL) {
        gm_text_add_bytes(w->out, s == NULL ? "" : s, s == NULL ? 0 : (size_t)n - 1);
        return s;
    }
    w->ok = w->ok && (n == 0 || n - 1 <= (uint64_t)(w->end - w->p));
    if (!w->ok || n == 0)
        return NULL;
    const char *raw = gm_arena_copy(&w->scratch, (const char *)w->p, (size_t)n - 1);
    s = raw == NULL ? NULL : gm_clean_copy(arena, raw);
    w->p += n - 1;
    w->ok = s != NULL;
    return s;
}
#define WALK_STRING(w, field) ((field) = string_in((w), (field), (w)->arena))

/* ---- the parts of a record --------------------------------------------------------------------------------------- */

static void walk_totals(struct walk *w, struct gm_totals *t)
{
    uint64_t *const all[] = {&t->reserved,  &t->allocated,     &t->pending,          &t->active,
                             &t->requested, &t->inactive,      &t->rounding,         &t->segments,
                             &t->blocks,    &t->active_blocks, &t->allocated_blocks, &t->inactive_blocks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        WALK(w, *all[i]);
}

static void walk_oom(struct walk *w, struct gm_fleet_oom *oom)
{
    WALK(w, oom->device);
    WALK(w, oom->event);
    WALK(w, oom->time_us);
    WALK(w, oom->asked);
    WALK(w, oom->device_free);
    WALK(w, oom->reserved);
    WALK_STRING(w, oom->site);
    w->ok = w->ok && oom->site != NULL;
}

static void walk_categories(struct walk *w, struct gm_fleet_item *item)
{
    const size_t n = walk_count(w, item->category_count, 3 * NUMBER_SIZE);
    struct gm_slice *rows = gm_arena_calloc(w->arena, n, sizeof *rows);
    w->ok = w->ok && rows != NULL;
    for (size_t i = 0; w->ok && i < n; i++) {
        if (w->out != NULL)
            rows[i] = item->categories[i];
        WALK_STRING(w, rows[i].name);
        WALK(w, rows[i].color);
        WALK(w, rows[i].bytes);
        w->ok = w->ok && rows[i].name != NULL;
    }
    item->categories = rows;
    item->category_count = w->ok ? n : 0;
}

/* What a call site holds, with its strings, which are in the scratch. */
struct use {
    struct gm_fleet_site site;
    uint64_t end, peak;
};

static void walk_use(struct walk *w, struct use *use)
{
    struct gm_fleet_site *site = &use->site;
    site->label = string_in(w, site->label, &w->scratch);
    site->via = string_in(w, site->via, &w->scratch);
    site->category = string_in(w, site->category, &w->scratch);
    WALK(w, site->color);
    WALK(w, use->end);
    WALK(w, use->peak);
    w->ok = w->ok && site->label != NULL && site->category != NULL;
}

static void walk_item(struct walk *w, struct gm_fleet_item *item)
{
    WALK(w, item->stated_rank); /* gm_record_rank finds it here */
    WALK(w, item->has_trace);
    WALK(w, item->lacks_end);
    WALK(w, item->is_salvaged);
    WALK(w, item->disk_bytes);
    WALK(w, item->events);
    WALK(w, item->device_count);
    WALK(w, item->warning_count);
    walk_totals(w, &item->totals);
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        WALK(w, item->peaks[i]);
    WALK(w, item->fullest);
    WALK_STRING(w, item->peak_site);
    WALK_STRING(w, item->peak_phase);
    WALK(w, item->ooms);
    if (w->ok && item->ooms > 0)
        walk_oom(w, &item->oom);
    walk_categories(w, item);
}

/* ---- the first time that memory ran out -------------------------------------------------------------------------- */

static uint64_t reserved_at_end(const struct gm_snapshot *snapshot, int64_t device)
{
    uint64_t sum = 0;
    for (size_t s = 0; s < snapshot->segments.count; s++)
        if (snapshot->segments.device[s] == device)
            sum += snapshot->segments.total_size[s]; /* wraps for absurd sizes, as the steps back do */
    return sum;
}

/* What was reserved before the events from `from` on; GM_REPORT_NONE if the trace contradicts the segments. */
static uint64_t reserved_before(const struct gm_snapshot *snapshot, size_t device, size_t from)
{
    const struct gm_trace *trace = &snapshot->traces[device];
    const struct gm_events *events = &snapshot->events;
    uint64_t reserved = reserved_at_end(snapshot, (int64_t)device);
    for (size_t i = trace->first + trace->count; i-- > from;) {
        const uint8_t action = events->action[i];
        if (gm_event_size(events, i) == GM_ABSENT)
            continue;
        if (gm_action_is_growth(action))
            reserved -= gm_event_size(events, i);
        else if (gm_action_is_release(action))
            reserved += gm_event_size(events, i);
    }
    return reserved > (uint64_t)INT64_MAX ? GM_REPORT_NONE : reserved;
}

static uint64_t time_of(const struct gm_snapshot *snapshot, size_t event)
{
    const int64_t time = gm_event_time_us(&snapshot->events, event);
    return time < 0 ? GM_REPORT_NONE : (uint64_t)time;
}

/* The event row of the earliest oom of all devices by time, then by device; SIZE_MAX if there is none. */
static size_t first_oom(const struct gm_snapshot *snapshot, int64_t wanted, size_t *device)
{
    size_t best = SIZE_MAX;
    for (size_t d = 0; d < snapshot->trace_count; d++) {
        const struct gm_trace *trace = &snapshot->traces[d];
        if (wanted >= 0 && wanted != (int64_t)d)
            continue;
        for (size_t i = trace->first; i < trace->first + trace->count; i++) {
            if (snapshot->events.action[i] != GM_ACTION_OOM)
                continue;
            if (best == SIZE_MAX || time_of(snapshot, i) < time_of(snapshot, best)) {
                best = i;
                *device = d;
            }
            break;
        }
    }
    return best;
}

static uint64_t or_none(uint64_t value)
{
    return value == GM_ABSENT ? GM_REPORT_NONE : value;
}

/* The site is in the arena. */
static bool find_oom(struct gm_fleet_oom *oom, const struct gm_snapshot *snapshot, int64_t wanted,
                     struct gm_arena *arena)
{
    size_t device = 0;
    const size_t event = first_oom(snapshot, wanted, &device);
    GM_FREED_BY(gm_names_free) struct gm_names names = {0};
    if (event == SIZE_MAX)
        return true;
    const bool ok = gm_names_init(&names, snapshot, arena);
    const char *site = ok ? gm_names_site(&names, gm_event_stack(&snapshot->events, event)) : NULL;
    *oom = (struct gm_fleet_oom){(int64_t)device,
                                 event - snapshot->traces[device].first,
                                 time_of(snapshot, event),
                                 or_none(gm_event_size(&snapshot->events, event)),
                                 or_none(gm_event_addr(&snapshot->events, event)),
                                 reserved_before(snapshot, device, event),
                                 site};
    return site != NULL;
}

/* ---- call sites -------------------------------------------------------------------------------------------------- */

static int compare_names(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

#define BY_LABEL                                                                                                       \
    GM_BY(compare_names(a->site, b->site)) || GM_BY(compare_names(a->via, b->via)) ||                                  \
        GM_BY(compare_names(a->category, b->category))
GM_ORDERING(compare_labels, struct gm_summary_site, BY_LABEL);

static uint64_t weight(const struct gm_summary_site *site)
{
    return site->end.bytes > site->peak.bytes ? site->end.bytes : site->peak.bytes;
}

GM_ORDERING(compare_weights, struct gm_summary_site, GM_BY(GM_ORDER(weight(b), weight(a))) || BY_LABEL);

static uint64_t what_is_left(uint64_t total, uint64_t listed)
{
    return total == GM_REPORT_NONE || total < listed ? 0 : total - listed;
}

/* Sites that are shown alike are one here. */
static bool put_sites(struct walk *w, const struct gm_summary *s)
{
    GM_FREED struct gm_summary_site *sites = calloc(s->site_count + 1, sizeof *sites);
    size_t n = 0;
    uint64_t end = 0, peak = 0;
    if (sites == NULL)
        return false;
    if (s->site_count > 0)
        memcpy(sites, s->sites, s->site_count * sizeof *sites);
    qsort(sites, s->site_count, sizeof *sites, compare_labels);
    for (size_t i = 0; i < s->site_count; i++) {
        if (n > 0 && compare_labels(&sites[n - 1], &sites[i]) == 0) {
            sites[n - 1].end.bytes = gm_sat_add(sites[n - 1].end.bytes, sites[i].end.bytes);
            sites[n - 1].peak.bytes = gm_sat_add(sites[n - 1].peak.bytes, sites[i].peak.bytes);
        } else {
            sites[n++] = sites[i];
        }
    }
    qsort(sites, n, sizeof *sites, compare_weights);
    n = n > GM_RECORD_SITES ? GM_RECORD_SITES : n;
    number(w, n);
    for (size_t i = 0; i < n; i++) {
        const struct gm_fleet_site site = {sites[i].site, sites[i].via, sites[i].category, sites[i].color};
        walk_use(w, &(struct use){site, sites[i].end.bytes, sites[i].peak.bytes});
        end = gm_sat_add(end, sites[i].end.bytes);
        peak = gm_sat_add(peak, sites[i].peak.bytes);
    }
    number(w, what_is_left(s->totals.allocated, end));
    number(w, s->has_trace ? what_is_left(s->peaks[GM_LEVEL_REQUESTED], peak) : 0);
    return true;
}

static const char *keep(struct walk *w, const char *s)
{
    const char *own = s == NULL ? NULL : gm_arena_copy(w->arena, s, strlen(s));
    w->ok = w->ok && (s == NULL || own != NULL);
    return own;
}

/* The number of the site, whose strings are in the scratch, among all. */
static uint32_t add_site(struct walk *w, struct gm_record_sites *sites, const struct gm_fleet_site *site)
{
    GM_FREED struct gm_text key = {0};
    gm_text_printf(&key, "%s%c%s%c%s", site->label, 1, site->via == NULL ? "\2" : site->via, 1, site->category);
    const uint32_t number = key.failed ? GM_INTERN_NONE : gm_intern_add(&sites->keys, key.data, key.length);
    w->ok = w->ok && number != GM_INTERN_NONE;
    if (w->ok && number == sites->v.n) { /* the first time that it is met: its strings are kept */
        const struct gm_fleet_site own = {keep(w, site->label), keep(w, site->via), keep(w, site->category),
                                          site->color};
        w->ok = w->ok && GM_VEC_PUSH(&sites->v, own);
    }
    return number;
}

GM_ORDERING(compare_uses, struct gm_fleet_use, GM_UP(site));

static void get_sites(struct walk *w, struct gm_fleet_item *item, struct gm_record_sites *sites)
{
    const size_t n = walk_count(w, 0, 6 * NUMBER_SIZE);
    struct gm_fleet_use *uses = gm_arena_calloc(w->arena, n, sizeof *uses);
    size_t kept = 0;
    w->ok = w->ok && uses != NULL;
    for (size_t i = 0; w->ok && i < n; i++) {
        struct use use = {.end = 0};
        walk_use(w, &use);
        use.site.color &= 0xffffffU;
        uses[i] = (struct gm_fleet_use){w->ok ? add_site(w, sites, &use.site) : 0, use.end, use.peak};
    }
    WALK(w, item->rest_end);
    WALK(w, item->rest_peak);
    if (!w->ok || uses == NULL)
        return;
    GM_SORT(uses, n, compare_uses);
    for (size_t i = 0; i < n; i++) /* a record of ours names none twice */
        if (kept == 0 || uses[kept - 1].site != uses[i].site)
            uses[kept++] = uses[i];
    item->uses = uses;
    item->use_count = kept;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The device whose peak is the highest, the first of equals. */
static const struct gm_summary_device *top_device(const struct gm_summary *s)
{
    static const struct gm_summary_device none = {0};
    const struct gm_summary_device *best = s->device_count > 0 ? &s->devices[0] : &none;
    for (size_t d = 1; d < s->device_count; d++)
        if (s->devices[d].peaks[GM_LEVEL_REQUESTED].bytes > best->peaks[GM_LEVEL_REQUESTED].bytes)
            best = &s->devices[d];
    return best;
}

/* The most that any one device reserves. */
static uint64_t fullest_device(const struct gm_summary *s)
{
    uint64_t most = 0;
    for (size_t d = 0; d < s->device_count; d++) {
        const struct gm_summary_device *device = &s->devices[d];
        const uint64_t bytes = s->has_trace ? device->peaks[GM_LEVEL_RESERVED].bytes : device->totals.reserved;
        if (bytes != GM_REPORT_NONE && bytes > most)
            most = bytes;
    }
    return most;
}

static bool put_summary(struct walk *w, const struct gm_snapshot *snapshot, const struct gm_summary *s, int64_t device)
{
    const struct gm_summary_device *top = top_device(s);
    const struct gm_slices *held = s->categories_at_peak.v != NULL ? &s->categories_at_peak : &s->categories;
    struct gm_fleet_item item = {.stated_rank = snapshot->profile == NULL ? -1 : snapshot->profile->rank,
                                 .has_trace = s->has_trace,
                                 .lacks_end = s->lacks_end,
                                 .is_salvaged = snapshot->source.is_salvaged,
                                 .disk_bytes = s->disk_bytes,
                                 .events = s->events,
                                 .device_count = s->device_count,
                                 .warning_count = s->warning_count,
                                 .totals = s->totals,
                                 .fullest = fullest_device(s),
                                 .peak_site = top->peak_site,
                                 .peak_phase = top->peak_phase,
                                 .categories = held->v,
                                 .category_count = held->v == NULL ? 0 : held->n};
    memcpy(item.peaks, s->peaks, sizeof item.peaks);
    for (size_t d = 0; d < s->device_count; d++)
        item.ooms = gm_sat_add(item.ooms, s->devices[d].ooms);
    if (item.ooms > 0 && !find_oom(&item.oom, snapshot, device, w->arena))
        return false;
    walk_item(w, &item);
    return w->ok && put_sites(w, s);
}

static void put_status(struct walk *w, enum gm_status status, const char *text)
{
    number(w, (uint64_t)status);
    string_in(w, text, NULL);
}

static void seal(struct gm_text *record, size_t start)
{
    struct walk w = {.out = record};
    if (!record->failed)
        number(&w, gm_record_sum(record->data + start, record->length - start, GM_RECORD_SUM_START));
}

/* What stands at the end of a record without --each. */
static void put_no_each(struct walk *w, size_t start)
{
    string_in(w, NULL, NULL);
    put_status(w, GM_OK, NULL);
    seal(w->out, start);
}

void gm_record_fail(struct gm_text *record, const struct gm_error *err)
{
    struct walk w = {.out = record, .ok = true};
    GM_FREED struct gm_text what = {0};
    const size_t start = record->length;
    char place[GM_ERROR_PLACE];
    gm_text_printf(&what, "%s%s", err->message, gm_error_place(place, err));
    gm_text_add(record, GM_RECORD_MAGIC);
    put_status(&w, err->status, what.failed ? err->message : what.data == NULL ? "" : what.data);
    put_no_each(&w, start);
}

void gm_record_add_each(struct gm_text *record, const char *directory, const struct gm_error *failure)
{
    enum { TAIL = 4 * NUMBER_SIZE }; /* no directory, GM_OK, no text, the checksum */
    struct walk w = {.out = record, .ok = true};
    if (record->failed || record->length < TAIL)
        return;
    record->length -= TAIL;
    string_in(&w, directory, NULL);
    put_status(&w, failure == NULL ? GM_OK : failure->status, failure == NULL ? NULL : failure->message);
    seal(record, 0);
}

enum gm_status gm_record_make(struct gm_text *record, const char *path, const struct gm_record_options *options,
                              struct gm_error *err)
{
    const struct gm_load_options load = {
        .salvage = options->salvage, .max_memory = options->max_memory, .progress = options->progress};
    const struct gm_summary_options wanted = {.rules = options->rules, .device = options->device, .is_short = true};
    const size_t start = record->length;
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot snapshot = {0};
    GM_FREED_BY(gm_summary_free) struct gm_summary summary = {0};
    GM_FREED_BY(gm_arena_free) struct gm_arena arena = {0};
    *err = (struct gm_error){.offset = GM_NO_OFFSET};
    enum gm_status status = gm_snapshot_load(&snapshot, path, &load, err);
    GM_THEN(status, gm_summary_make(&summary, &snapshot, NULL, &wanted, err));
    if (status == GM_OK) {
        struct walk w = {.out = record, .arena = &arena, .ok = true};
        gm_text_add(record, GM_RECORD_MAGIC);
        put_status(&w, GM_OK, NULL);
        if (!put_summary(&w, &snapshot, &summary, options->device))
            record->failed = true;
        put_no_each(&w, start);
        if (record->failed)
            status = gm_no_memory(err);
    } else {
        gm_record_fail(record, err);
    }
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Whether it begins and ends as a record does; *status is its own. */
static bool check_ends(const void *bytes, size_t length, enum gm_status *status)
{
    const size_t magic = sizeof GM_RECORD_MAGIC - 1;
    if (length < magic + 2 * NUMBER_SIZE || memcmp(bytes, GM_RECORD_MAGIC, magic) != 0)
        return false;
    const unsigned char *p = bytes;
    struct walk sum = {.p = p + length - NUMBER_SIZE, .end = p + length, .ok = true};
    struct walk head = {.p = p + magic, .end = p + length, .ok = true};
    const uint64_t code = number(&head, 0);
    *status = (enum gm_status)code;
    return code <= GM_E_INTERNAL && number(&sum, 0) == gm_record_sum(bytes, length - NUMBER_SIZE, GM_RECORD_SUM_START);
}

bool gm_record_read(struct gm_fleet_item *item, struct gm_arena *arena, struct gm_record_sites *sites,
                    const void *bytes, size_t length)
{
    enum gm_status status;
    if (!check_ends(bytes, length, &status))
        return false;
    const unsigned char *p = bytes;
    struct walk r = {
        .p = p + sizeof GM_RECORD_MAGIC - 1 + NUMBER_SIZE, .end = p + length - NUMBER_SIZE, .arena = arena, .ok = true};
    item->status = status;
    item->error = string_in(&r, NULL, arena);
    if (status == GM_OK) {
        walk_item(&r, item);
        get_sites(&r, item, sites);
    }
    item->each = string_in(&r, NULL, arena);
    const uint64_t each_status = number(&r, 0);
    const char *each_error = string_in(&r, NULL, arena);
    if (r.ok && status == GM_OK && each_status != GM_OK && each_status <= GM_E_INTERNAL) {
        item->each_status = (enum gm_status)each_status;
        item->each_error = each_error == NULL ? "" : each_error;
    }
    gm_arena_free(&r.scratch);
    return r.ok && r.p == r.end;
}

int64_t gm_record_rank(const void *bytes, size_t length)
{
    enum gm_status status;
    if (!check_ends(bytes, length, &status) || status != GM_OK)
        return -1;
    const unsigned char *p = bytes;
    struct walk r = {.p = p + sizeof GM_RECORD_MAGIC - 1 + NUMBER_SIZE, .end = p + length - NUMBER_SIZE, .ok = true};
    string_in(&r, NULL, &r.scratch);
    const int64_t rank = (int64_t)number(&r, 0);
    gm_arena_free(&r.scratch);
    return r.ok ? rank : -1;
}

bool gm_record_check(const void *bytes, size_t length, enum gm_status *status)
{
    struct gm_fleet_item item = {0};
    GM_FREED_BY(gm_arena_free) struct gm_arena arena = {0};
    GM_FREED_BY(gm_record_sites_free) struct gm_record_sites sites = {0};
    const bool ok = gm_record_read(&item, &arena, &sites, bytes, length);
    *status = item.status;
    return ok;
}

void gm_record_sites_free(struct gm_record_sites *sites)
{
    gm_intern_free(&sites->keys);
    free(sites->v.v);
    *sites = (struct gm_record_sites){0};
}
