/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/snapshot/builder.h"

#include "analyze/base/freed.h"
#include "analyze/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARNINGS = 100, MIN_SLOTS = 1024 };

/* ---- hashing -------------------------------------------------------------------------------------------------- */

static uint32_t hash_bytes(const struct gm_snapshot_memory *m, const void *bytes, size_t n)
{
    return (uint32_t)gm_siphash_1_3(m->key, bytes, n);
}

static uint32_t hash_pair(const struct gm_snapshot_memory *m, uint64_t a, uint64_t b)
{
    const uint64_t pair[2] = {a, b};
    return hash_bytes(m, pair, sizeof pair);
}

/* The place of a guess. Its quality is of no consequence but for speed. */
static uint32_t *recent(struct gm_recent *recent, uint64_t a, uint64_t b)
{
    uint64_t mixed = (a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return &recent->id[mixed >> 52 & (GM_RECENT - 1)];
}

/* ---- id sets -------------------------------------------------------------------------------------------------- */

static bool id_set_grow(struct gm_id_set *set)
{
    size_t size = set->slots == NULL ? MIN_SLOTS : ((size_t)set->mask + 1) * 2;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (slots == NULL)
        return false;
    uint32_t mask = (uint32_t)(size - 1);
    for (uint32_t i = 0; set->slots != NULL && i <= set->mask; i++) {
        uint32_t id = set->slots[i];
        if (id == 0)
            continue;
        uint32_t at = set->hashes[id] & mask;
        while (slots[at] != 0)
            at = (at + 1) & mask;
        slots[at] = id;
    }
    free(set->slots);
    set->slots = slots;
    set->mask = mask;
    return true;
}

/* Room for one more id, so that id_set_put cannot fail. */
static bool id_set_room(struct gm_id_set *set, uint32_t next_id)
{
    const bool is_full = set->slots == NULL || set->used > set->mask / 4 * 3;
    return (!is_full || id_set_grow(set)) &&
           gm_grow(&set->hashes, &set->hashes_capacity, (size_t)next_id + 1, sizeof *set->hashes);
}

static void id_set_put(struct gm_id_set *set, uint32_t hash, uint32_t id)
{
    uint32_t at = hash & set->mask;
    while (set->slots[at] != 0)
        at = (at + 1) & set->mask;
    set->slots[at] = id;
    set->hashes[id] = hash;
    set->used++;
}

/* Walks the ids with this hash. */
#define FOR_EACH_CANDIDATE(set, hash, at, id)                                                                          \
    for (uint32_t at = (hash) & (set)->mask, id; (id = (set)->slots[at]) != 0; at = (at + 1) & (set)->mask)            \
        if ((set)->hashes[id] == (hash))

static bool at_limit(struct gm_snapshot_memory *m, size_t count)
{
    if (count <= GM_MAX_ID)
        return false;
    m->hit_limit = true;
    return true;
}

/* ---- interning ------------------------------------------------------------------------------------------------ */

static bool is_string(const struct gm_snapshot_memory *m, uint32_t id, const void *bytes, size_t length)
{
    uint64_t start = m->string_start.v[id];
    return m->string_start.v[id + 1] - start == length &&
           (length == 0 || memcmp(m->string_bytes.v + start, bytes, length) == 0);
}

static struct gm_string_id find_string(struct gm_snapshot_memory *m, const void *bytes, size_t length)
{
    struct gm_id_set *set = &m->string_set;
    const struct gm_string_id none = {0};
    uint32_t hash = hash_bytes(m, bytes, length);
    FOR_EACH_CANDIDATE(set, hash, at, id)
    if (is_string(m, id, bytes, length))
        return (struct gm_string_id){id};
    uint32_t id = (uint32_t)(m->string_start.n - 1);
    if (at_limit(m, m->string_start.n) || !id_set_room(set, id) || !GM_VEC_ROOM(&m->string_start, 1) ||
        !GM_VEC_ROOM(&m->string_bytes, length))
        return none;
    if (length > 0)
        memcpy(m->string_bytes.v + m->string_bytes.n, bytes, length);
    m->string_bytes.n += length;
    m->string_start.v[m->string_start.n++] = m->string_bytes.n;
    id_set_put(set, hash, id);
    return (struct gm_string_id){id};
}

struct gm_string_id gm_intern_string(struct gm_snapshot_memory *m, const void *bytes, size_t length)
{
    uint64_t first = 0, last = 0;
    size_t n = length < sizeof first ? length : sizeof first;
    if (n > 0) {
        memcpy(&first, bytes, n);
        memcpy(&last, (const char *)bytes + length - n, n);
    }
    uint32_t *guess = recent(&m->recent_strings, first + length, last);
    if (*guess == 0 || !is_string(m, *guess, bytes, length))
        *guess = find_string(m, bytes, length).v;
    return (struct gm_string_id){*guess};
}

static bool is_frame(const struct gm_snapshot_memory *m, uint32_t id, struct gm_string_id name,
                     struct gm_string_id filename, uint64_t line)
{
    return m->frame_name.v[id].v == name.v && m->frame_filename.v[id].v == filename.v && m->frame_line.v[id] == line;
}

static struct gm_frame_id find_frame(struct gm_snapshot_memory *m, struct gm_string_id name,
                                     struct gm_string_id filename, uint64_t line)
{
    struct gm_id_set *set = &m->frame_set;
    const struct gm_frame_id none = {0};
    uint32_t hash = hash_pair(m, (uint64_t)name.v << 32 | filename.v, line);
    FOR_EACH_CANDIDATE(set, hash, at, id)
    if (is_frame(m, id, name, filename, line))
        return (struct gm_frame_id){id};
    uint32_t id = (uint32_t)m->frame_name.n;
    if (at_limit(m, id) || !id_set_room(set, id) || !GM_VEC_ROOM(&m->frame_name, 1) ||
        !GM_VEC_ROOM(&m->frame_filename, 1) || !GM_VEC_ROOM(&m->frame_line, 1))
        return none;
    m->frame_name.v[m->frame_name.n++] = name;
    m->frame_filename.v[m->frame_filename.n++] = filename;
    m->frame_line.v[m->frame_line.n++] = line;
    id_set_put(set, hash, id);
    return (struct gm_frame_id){id};
}

struct gm_frame_id gm_intern_frame(struct gm_snapshot_memory *m, struct gm_string_id name, struct gm_string_id filename,
                                   uint64_t line)
{
    uint32_t *guess = recent(&m->recent_frames, (uint64_t)name.v << 32 | filename.v, line);
    if (*guess == 0 || !is_frame(m, *guess, name, filename, line))
        *guess = find_frame(m, name, filename, line).v;
    return (struct gm_frame_id){*guess};
}

static bool is_stack(const struct gm_snapshot_memory *m, uint32_t id, const uint32_t *tagged, size_t depth)
{
    uint64_t start = m->stack_start.v[id];
    if (m->stack_start.v[id + 1] - start != depth)
        return false;
    const struct gm_frame_id *known = m->stack_frames.v + start;
    uint32_t differs = 0; /* of several at once: guesses are right, mostly */
    for (size_t i = 0; i < depth; i++)
        differs |= known[i].v ^ (tagged[i] & GM_MAX_ID);
    return differs == 0;
}

static struct gm_stack_id find_stack(struct gm_snapshot_memory *m, const uint32_t *tagged, size_t depth)
{
    struct gm_id_set *set = &m->stack_set;
    const struct gm_stack_id none = {0};
    uint32_t hash = hash_bytes(m, tagged, depth * sizeof *tagged);
    FOR_EACH_CANDIDATE(set, hash, at, id)
    if (is_stack(m, id, tagged, depth))
        return (struct gm_stack_id){id};
    uint32_t id = (uint32_t)(m->stack_start.n - 1);
    if (at_limit(m, m->stack_start.n) || !id_set_room(set, id) || !GM_VEC_ROOM(&m->stack_start, 1) ||
        !GM_VEC_ROOM(&m->stack_frames, depth))
        return none;
    struct gm_frame_id *frames = m->stack_frames.v + m->stack_frames.n;
    for (size_t i = 0; i < depth; i++)
        frames[i].v = tagged[i] & GM_MAX_ID;
    m->stack_frames.n += depth;
    m->stack_start.v[m->stack_start.n++] = m->stack_frames.n;
    id_set_put(set, hash, id);
    return (struct gm_stack_id){id};
}

/* Stacks of one program differ at their inner end, and here and there further out. */
struct gm_stack_id gm_intern_stack(struct gm_snapshot_memory *m, const uint32_t *tagged, size_t depth)
{
    uint64_t inner = 0, outer = depth;
    for (size_t i = 0; i < depth && i < 16; i++)
        inner = (inner << 5 | inner >> 59) + tagged[i];
    for (size_t i = depth / 2; i < depth; i += depth / 8 + 1)
        outer = (outer << 5 | outer >> 59) + tagged[i];
    uint32_t *guess = recent(&m->recent_stacks, inner, outer);
    if (*guess == 0 || !is_stack(m, *guess, tagged, depth))
        *guess = find_stack(m, tagged, depth).v;
    return (struct gm_stack_id){*guess};
}

struct gm_stream_id gm_intern_stream(struct gm_snapshot_memory *m, int64_t stream)
{
    struct gm_id_set *set = &m->stream_set;
    const struct gm_stream_id none = {0};
    uint32_t hash = hash_pair(m, (uint64_t)stream, 1);
    FOR_EACH_CANDIDATE(set, hash, at, id)
    if (m->streams.v[id] == stream)
        return (struct gm_stream_id){id};
    uint32_t id = (uint32_t)m->streams.n;
    if (at_limit(m, id) || !id_set_room(set, id) || !GM_VEC_ROOM(&m->streams, 1))
        return none;
    m->streams.v[m->streams.n++] = stream;
    id_set_put(set, hash, id);
    return (struct gm_stream_id){id};
}

struct gm_pool_id gm_intern_pool(struct gm_snapshot_memory *m, struct gm_pool_key pool)
{
    struct gm_id_set *set = &m->pool_set;
    const struct gm_pool_id none = {0};
    uint32_t hash = hash_pair(m, pool.first, pool.second);
    FOR_EACH_CANDIDATE(set, hash, at, id)
    if (m->pools.v[id].first == pool.first && m->pools.v[id].second == pool.second)
        return (struct gm_pool_id){id};
    uint32_t id = (uint32_t)m->pools.n;
    if (at_limit(m, id) || !id_set_room(set, id) || !GM_VEC_ROOM(&m->pools, 1))
        return none;
    m->pools.v[m->pools.n++] = pool;
    id_set_put(set, hash, id);
    return (struct gm_pool_id){id};
}

/* ---- events --------------------------------------------------------------------------------------------------- */

static bool grow_column(void *where, size_t capacity, size_t size)
{
    size_t none = 0;
    return gm_grow(where, &none, capacity, size);
}

static bool grow_rare(struct gm_rare_builder *column, size_t capacity)
{
    return column->v == NULL || grow_column(&column->v, capacity, sizeof *column->v);
}

bool gm_builder_widen_stacks(struct gm_snapshot_memory *m)
{
    struct gm_stack_id *wide = malloc((m->events.capacity + 1) * sizeof *wide);
    for (size_t i = 0; wide != NULL && i < m->events.capacity; i++) /* some rows may be there before they are counted */
        wide[i].v = m->events.narrow_stack[i];
    if (wide == NULL)
        return false;
    free(m->events.narrow_stack);
    m->events.narrow_stack = NULL;
    m->events.wide_stack = wide;
    return true;
}

bool gm_builder_grow_stacks(struct gm_snapshot_memory *m, size_t capacity)
{
    return m->events.wide_stack == NULL ? grow_column(&m->events.narrow_stack, capacity, sizeof(uint16_t))
                                        : grow_column(&m->events.wide_stack, capacity, sizeof(struct gm_stack_id));
}

static bool grow_events(struct gm_snapshot_memory *m)
{
    if (at_limit(m, m->events.count))
        return false;
    size_t capacity = m->events.capacity < 4096 ? 4096 : m->events.capacity + m->events.capacity / 2;
    capacity = m->events.capacity == 0 && m->events.expected > capacity ? m->events.expected : capacity;
#define GROW(type, name) grow_column(&m->events.name, capacity, sizeof(type)) &&
#define GROW_NUMBER(type, name, shift, has_places, absent) grow_column(&m->events.name.near, capacity, 4) &&
#define GROW_RARE(name) grow_rare(&m->events.name, capacity) &&
    if (!(GM_EVENT_NUMBERS(GROW_NUMBER) GM_EVENT_COLUMNS(GROW) GM_EVENT_RARE_COLUMNS(GROW_RARE)
              gm_builder_grow_stacks(m, capacity)))
        return false;
    m->events.capacity = capacity;
    return true;
}

static bool rare_diverges(struct gm_snapshot_memory *m, struct gm_rare_builder *column, uint32_t value)
{
    size_t n = m->events.count;
    if (n == 0) {
        column->all = value;
        return true;
    }
    column->v = malloc(m->events.capacity * sizeof *column->v);
    if (column->v == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        column->v[i] = column->all;
    column->v[n] = value;
    return true;
}

static inline bool add_rare(struct gm_snapshot_memory *m, struct gm_rare_builder *column, uint32_t value)
{
    if (column->v != NULL) {
        column->v[m->events.count] = value;
        return true;
    }
    return value == column->all || rare_diverges(m, column, value);
}

struct gm_event_row gm_event_row_at(const struct gm_events *events, size_t row)
{
#define NUMBER_AT(type, name, shift, has_places, absent) .name = gm_event_##name(events, row),
#define COLUMN_AT(type, name) .name = events->name[row],
#define RARE_AT(name) .name = gm_rare_at(&events->name, row),
    return (struct gm_event_row){GM_EVENT_NUMBERS(NUMBER_AT) GM_EVENT_COLUMNS(COLUMN_AT).stack =
                                     gm_event_stack(events, row),
                                 GM_EVENT_RARE_COLUMNS(RARE_AT)};
}

bool gm_builder_add_event(struct gm_snapshot_memory *m, const struct gm_event_row *row)
{
    size_t n = m->events.count;
    if (n == m->events.capacity && !grow_events(m))
        return false;
#define PUT(type, name) m->events.name[n] = row->name;
#define PUT_NUMBER(type, name, shift, has_places, absent) gm_put_##name(m, n, row->name) &&
#define PUT_RARE(name) add_rare(m, &m->events.name, row->name) &&
    GM_EVENT_COLUMNS(PUT)
    m->events.any_time |= row->time_us != GM_ABSENT_TIME;
    if (!(GM_EVENT_NUMBERS(PUT_NUMBER) GM_EVENT_RARE_COLUMNS(PUT_RARE) gm_put_stack(m, n, row->stack)))
        return false;
    m->events.count = n + 1;
    return true;
}

void gm_builder_tell_filling(const struct gm_snapshot_memory *m, struct gm_filling filling[GM_EVENT_FILLINGS])
{
    const size_t n = m->events.count, room = m->events.capacity;
    struct gm_filling *f = filling;
#define TELL(type, name) gm_filling_tell(f++, m->events.name, n * sizeof(type), room * sizeof(type));
#define TELL_NUMBER(type, name, shift, has_places, absent)                                                             \
    gm_filling_tell(f++, m->events.name.near, n * sizeof(uint32_t), room * sizeof(uint32_t));
    GM_EVENT_NUMBERS(TELL_NUMBER)
    GM_EVENT_COLUMNS(TELL)
    if (m->events.wide_stack == NULL)
        TELL(uint16_t, narrow_stack)
    else
        TELL(struct gm_stack_id, wide_stack)
}

/* Puts the rows of the column whose pointer lies at `where` into a new one, in that order. */
static bool permute(void *where, size_t size, const uint32_t *order, size_t count)
{
    char *column;
    memcpy(&column, where, sizeof column);
    char *copy = column == NULL ? NULL : malloc(count * size);
    for (size_t i = 0; copy != NULL && i < count; i++)
        memcpy(copy + i * size, column + order[i] * size, size);
    if (column != NULL && copy == NULL)
        return false;
    free(column);
    memcpy(where, &copy, sizeof copy);
    return true;
}

/* The same of numbers. */
static bool permute_numbers(struct gm_number_builder *numbers, struct gm_number_kind kind, const uint32_t *order,
                            size_t count)
{
    const struct gm_number_column old = gm_numbers_of(numbers, kind);
    struct gm_number_builder copy = {.near = malloc(count * sizeof *copy.near)};
    bool ok = copy.near != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = gm_number_put(&copy, kind, i, gm_number_at(&old, order[i]));
    gm_number_free(ok ? numbers : &copy);
    *numbers = ok ? copy : *numbers;
    return ok;
}

bool gm_builder_permute_events(struct gm_snapshot_memory *m, const uint32_t *order, size_t count)
{
    if (count == 0) {
        m->events.count = 0;
        return true;
    }
    m->events.capacity = 0; /* columns may now differ in size: nothing may be added after this */
#define PERMUTE_NUMBERS(type, name, shift, has_places, absent)                                                         \
    permute_numbers(&m->events.name, (struct gm_number_kind){shift, has_places, (uint64_t)(absent)}, order, count) &&
#define PERMUTE(type, name) permute(&m->events.name, sizeof(type), order, count) &&
#define PERMUTE_RARE(name) permute(&m->events.name.v, sizeof(uint32_t), order, count) &&
    if (!(GM_EVENT_NUMBERS(PERMUTE_NUMBERS) GM_EVENT_COLUMNS(PERMUTE) GM_EVENT_RARE_COLUMNS(PERMUTE_RARE)
              PERMUTE(uint16_t, narrow_stack) PERMUTE(struct gm_stack_id, wide_stack) true))
        return false;
    m->events.count = count;
    return true;
}

/* ---- warnings, life ------------------------------------------------------------------------------------------- */

bool gm_builder_warn(struct gm_snapshot_memory *m, const char *format, ...)
{
    if (m->warnings.n > MAX_WARNINGS)
        return true;
    char raw[400], clean[400];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (n < 0)
        raw[0] = '\0';
    if (m->warnings.n == MAX_WARNINGS)
        snprintf(raw, sizeof raw, "further warnings were left out");
    gm_utf8_clean_line(clean, sizeof clean, raw, strlen(raw));
    for (size_t i = 0; i < m->warnings.n; i++)
        if (strcmp(m->warnings.v[i], clean) == 0)
            return true;
    char *copy = gm_arena_copy(&m->arena, clean, strlen(clean));
    return copy != NULL && GM_VEC_PUSH(&m->warnings, copy);
}

static uint64_t set_bytes(const struct gm_id_set *set)
{
    return (set->slots == NULL ? 0 : (uint64_t)set->mask + 1) * sizeof *set->slots +
           set->hashes_capacity * sizeof *set->hashes;
}

uint64_t gm_builder_bytes(const struct gm_snapshot_memory *m)
{
    uint64_t bytes = sizeof *m + m->arena.bytes + set_bytes(&m->string_set) + set_bytes(&m->frame_set) +
                     set_bytes(&m->stack_set) + set_bytes(&m->stream_set) + set_bytes(&m->pool_set);
#define EVENT_BYTES(type, name) bytes += m->events.capacity * sizeof(type);
#define NUMBER_BYTES(type, name, shift, has_places, absent)                                                            \
    bytes += gm_number_bytes(&m->events.name, m->events.capacity);
#define RARE_BYTES(name) bytes += m->events.name.v == NULL ? 0 : m->events.capacity * sizeof(uint32_t);
#define TABLE_BYTES(type, name) bytes += GM_VEC_BYTES(&m->name);
    GM_EVENT_NUMBERS(NUMBER_BYTES)
    GM_EVENT_COLUMNS(EVENT_BYTES)
    bytes += m->events.capacity * (m->events.wide_stack == NULL ? sizeof(uint16_t) : sizeof(struct gm_stack_id));
    GM_EVENT_RARE_COLUMNS(RARE_BYTES)
    GM_MEMORY_TABLES(TABLE_BYTES)
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++)
        bytes += GM_VEC_BYTES(&m->kept[kind]) + GM_VEC_BYTES(&m->extras[kind]);
    return bytes;
}

enum gm_status gm_builder_failure(const struct gm_snapshot_memory *m, uint64_t offset, struct gm_error *err)
{
    if (m->hit_limit)
        return gm_fail(err, GM_E_LIMIT, offset, "more than %u events, strings, frames or stacks", (unsigned)GM_MAX_ID);
    return gm_no_memory(err);
}

/* Row 0 of every interned table is the absent one; stack 1 is the empty stack. */
static bool add_first_rows(struct gm_snapshot_memory *m)
{
    return GM_VEC_PUSH(&m->string_start, 0) && GM_VEC_PUSH(&m->string_start, 0) && GM_VEC_ROOM(&m->string_bytes, 1) &&
           GM_VEC_PUSH(&m->frame_name, (struct gm_string_id){0}) &&
           GM_VEC_PUSH(&m->frame_filename, (struct gm_string_id){0}) && GM_VEC_PUSH(&m->frame_line, GM_ABSENT) &&
           GM_VEC_PUSH(&m->stack_start, 0) && GM_VEC_PUSH(&m->stack_start, 0) && GM_VEC_ROOM(&m->stack_frames, 1) &&
           GM_VEC_PUSH(&m->streams, 0) && GM_VEC_PUSH(&m->pools, (struct gm_pool_key){0}) &&
           id_set_grow(&m->string_set) && id_set_grow(&m->frame_set) && id_set_grow(&m->stack_set) &&
           id_set_grow(&m->stream_set) && id_set_grow(&m->pool_set) &&
           gm_intern_stack(m, &(uint32_t){0}, 0).v == GM_STACK_EMPTY;
}

struct gm_snapshot_memory *gm_snapshot_memory_new(void)
{
    struct gm_snapshot_memory *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->key = gm_hash_key();
    if (!add_first_rows(m)) {
        gm_snapshot_memory_free(m);
        return NULL;
    }
    return m;
}

static void free_id_set(struct gm_id_set *set)
{
    GM_FREE_ALL(set->slots, set->hashes);
    *set = (struct gm_id_set){0};
}

static void free_id_sets(struct gm_snapshot_memory *m)
{
    free_id_set(&m->string_set);
    free_id_set(&m->frame_set);
    free_id_set(&m->stack_set);
    free_id_set(&m->stream_set);
    free_id_set(&m->pool_set);
}

void gm_snapshot_memory_free(struct gm_snapshot_memory *m)
{
    if (m == NULL)
        return;
    free_id_sets(m);
#define FREE_TABLE(type, name) free(m->name.v);
#define FREE_COLUMN(type, name) free(m->events.name);
#define FREE_NUMBERS(type, name, shift, has_places, absent) gm_number_free(&m->events.name);
#define FREE_RARE(name) free(m->events.name.v);
    GM_MEMORY_TABLES(FREE_TABLE)
    GM_EVENT_NUMBERS(FREE_NUMBERS)
    GM_EVENT_COLUMNS(FREE_COLUMN)
    GM_FREE_ALL(m->events.narrow_stack, m->events.wide_stack);
    GM_EVENT_RARE_COLUMNS(FREE_RARE)
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        GM_FREE_ALL(m->kept[kind].v, m->extras[kind].v);
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        free(m->key_orders[kind].v);
    gm_profile_free(&m->profile);
    gm_arena_free(&m->arena);
    free(m);
}

/* ---- columns of segments and blocks ------------------------------------------------------------------------------ */

#define NEW(type, name) (columns->name = gm_arena_calloc(arena, rows, sizeof(type))) != NULL &&
#define SHOW(type, name) .name = columns->name,

bool gm_new_segment_columns(struct gm_arena *arena, struct gm_segment_columns *columns, size_t rows)
{
    return GM_SEGMENT_COLUMNS(NEW) true;
}

bool gm_new_block_columns(struct gm_arena *arena, struct gm_block_columns *columns, size_t rows)
{
    return GM_BLOCK_COLUMNS(NEW) true;
}

struct gm_segments gm_segments_of(const struct gm_segment_columns *columns, size_t rows)
{
    return (struct gm_segments){.count = rows, GM_SEGMENT_COLUMNS(SHOW)};
}

struct gm_blocks gm_blocks_of(const struct gm_block_columns *columns, size_t rows)
{
    return (struct gm_blocks){.count = rows, GM_BLOCK_COLUMNS(SHOW)};
}

/* ---- publishing -------------------------------------------------------------------------------------------------- */

static void publish_extras(struct gm_snapshot_memory *m, struct gm_snapshot *snapshot)
{
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        snapshot->extras[kind] = (struct gm_extras){.v = m->extras[kind].v, .count = m->extras[kind].n};
        free(m->kept[kind].v); /* only loading needs them */
        m->kept[kind] = (struct gm_kept_list){0};
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        snapshot->key_orders[kind] =
            (struct gm_key_order){.keys = m->key_orders[kind].v, .count = m->key_orders[kind].n};
    snapshot->loose = m->loose.v;
    snapshot->loose_count = m->loose.n;
}

/* Columns without rows are there all the same, so that nobody adds to a null pointer. */
static const uint64_t no_rows[1];

static void trim_events(struct gm_snapshot_memory *m)
{
#define TRIM(type, name) gm_trim(&m->events.name, m->events.count, sizeof(type));
#define TRIM_NUMBERS(type, name, shift, has_places, absent) gm_trim(&m->events.name.near, m->events.count, 4);
#define TRIM_RARE(name) gm_trim(&m->events.name.v, m->events.count, sizeof(uint32_t));
    GM_EVENT_NUMBERS(TRIM_NUMBERS)
    GM_EVENT_COLUMNS(TRIM)
    TRIM(uint16_t, narrow_stack)
    TRIM(struct gm_stack_id, wide_stack)
    GM_EVENT_RARE_COLUMNS(TRIM_RARE)
    m->events.capacity = m->events.count;
}

void gm_builder_publish(struct gm_snapshot_memory *m, struct gm_snapshot *snapshot)
{
    free_id_sets(m); /* only loading needs them */
    if (!m->events.any_time)
        gm_number_free(&m->events.time_us);
    trim_events(m);
    snapshot->memory = m;
    snapshot->strings = (struct gm_strings){
        .start = m->string_start.v, .bytes = m->string_bytes.v, .count = (uint32_t)(m->string_start.n - 1)};
    snapshot->frames = (struct gm_frames){.name = m->frame_name.v,
                                          .filename = m->frame_filename.v,
                                          .line = m->frame_line.v,
                                          .count = (uint32_t)m->frame_name.n};
    snapshot->stacks = (struct gm_stacks){
        .start = m->stack_start.v, .frame_ids = m->stack_frames.v, .count = (uint32_t)(m->stack_start.n - 1)};
    snapshot->streams = m->streams.v;
    snapshot->stream_count = (uint32_t)m->streams.n;
    snapshot->pools = m->pools.v;
    snapshot->pool_count = (uint32_t)m->pools.n;
#define SHOW_EVENT(type, name) .name = m->events.count > 0 ? m->events.name : (const void *)no_rows,
#define SHOW_RARE(name) .name = {.v = m->events.name.v, .all = m->events.name.all},
#define SHOW_NUMBERS(type, name, shift, has_places, absent)                                                            \
    .name = gm_numbers_of(&m->events.name, (struct gm_number_kind){shift, has_places, (uint64_t)(absent)}),
    snapshot->events = (struct gm_events){
        .count = m->events.count,
        GM_EVENT_NUMBERS(SHOW_NUMBERS) GM_EVENT_COLUMNS(SHOW_EVENT)
            .stack = {m->events.wide_stack, m->events.count > 0 ? m->events.narrow_stack : (const void *)no_rows},
        GM_EVENT_RARE_COLUMNS(SHOW_RARE)};
    snapshot->annotations = m->annotations.v;
    snapshot->annotation_count = m->annotations.n;
    snapshot->warnings = m->warnings.v;
    snapshot->warning_count = m->warnings.n;
    publish_extras(m, snapshot);
}

/* The plain numbers are the snapshot's arena's. */
static bool unpack(struct gm_snapshot_memory *m, struct gm_number_builder *packed, struct gm_number_column *column)
{
    const size_t rows = m->events.count;
    uint64_t *plain = gm_arena_calloc(&m->arena, rows + 1, sizeof *plain);
    for (size_t i = 0; plain != NULL && i < rows; i++)
        plain[i] = gm_number_at(column, i);
    if (plain == NULL)
        return false;
    gm_number_free(packed);
    *column = (struct gm_number_column){.plain = plain};
    return true;
}

static bool unpack_stacks(struct gm_snapshot_memory *m, struct gm_stack_column *stack)
{
    const bool ok = m->events.wide_stack != NULL || gm_builder_widen_stacks(m);
    *stack = (struct gm_stack_column){.wide = m->events.wide_stack};
    return ok;
}

bool gm_builder_unpack_events(struct gm_snapshot *snapshot)
{
    struct gm_snapshot_memory *m = snapshot->memory;
    struct gm_events *e = &snapshot->events;
    return unpack_stacks(m, &e->stack) && unpack(m, &m->events.addr, &e->addr) &&
           unpack(m, &m->events.size, &e->size) &&
           (!gm_events_have_times(e) || unpack(m, &m->events.time_us, &e->time_us));
}
