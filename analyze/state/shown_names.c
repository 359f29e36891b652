/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/state/shown_names.h"

#include "analyze/base/ascii.h"
#include "analyze/base/freed.h"
#include "analyze/base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool gm_names_init(struct gm_names *names, const struct gm_snapshot *snapshot, struct gm_arena *arena)
{
    *names = (struct gm_names){.snapshot = snapshot, .arena = arena};
    names->clean = calloc((size_t)snapshot->strings.count + 1, sizeof *names->clean);
    names->kind = calloc((size_t)snapshot->strings.count + 1, sizeof *names->kind);
    names->frames = calloc((size_t)snapshot->stacks.count + 1, sizeof *names->frames);
    names->site = calloc((size_t)snapshot->stacks.count + 1, sizeof *names->site);
    names->telling = calloc((size_t)snapshot->stacks.count + 1, sizeof *names->telling);
    return names->clean != NULL && names->kind != NULL && names->frames != NULL && names->site != NULL &&
           names->telling != NULL;
}

void gm_names_free(struct gm_names *names)
{
    GM_FREE_ALL(names->clean, names->kind, names->frames, names->site, names->telling);
    *names = (struct gm_names){0};
}

const char *gm_clean_copy(struct gm_arena *arena, const char *s)
{
    size_t n = strlen(s);
    char *buffer = n < SIZE_MAX / 8 ? gm_arena_calloc(arena, GM_UTF8_CLEAN(n), 1) : NULL;
    if (buffer != NULL)
        gm_utf8_clean_line(buffer, GM_UTF8_CLEAN(n), s, n);
    return buffer;
}

const char *gm_pool_kind(const struct gm_snapshot *s, size_t segment)
{
    switch ((enum gm_segment_type)s->segments.type[segment]) {
    case GM_SEGMENT_SMALL:
        return "small";
    case GM_SEGMENT_LARGE:
        return "large";
    case GM_SEGMENT_TYPE_ABSENT:
        break;
    }
    return "unknown";
}

const char *gm_pool_name(struct gm_arena *arena, const struct gm_snapshot *s, size_t segment)
{
    const char *kind = gm_pool_kind(s, segment);
    if (!gm_segment_is_private(s, segment))
        return kind;
    struct gm_pool_key key = s->pools[s->segments.pool[segment].v];
    return gm_arena_printf(arena, "private (%" PRIu64 ",%" PRIu64 ") %s", key.first, key.second, kind);
}

/* A copy of s[0..n), of a long one its ends: a file says a name once, and shows it as often as it likes. */
static char *copy_ends(struct gm_arena *arena, const char *s, size_t n)
{
    static const char gap[] = "...";
    enum { HALF = (GM_NAME_MOST - sizeof gap) / 2 };
    if (n <= GM_NAME_MOST)
        return gm_arena_copy(arena, s, n);
    size_t head = HALF, tail = n - HALF;
    while (head > 0 && ((unsigned char)s[head] & 0xC0) == 0x80)
        head--;
    while (tail < n && ((unsigned char)s[tail] & 0xC0) == 0x80)
        tail++;
    return gm_arena_printf(arena, "%.*s%s%.*s", (int)head, s, gap, (int)(n - tail), s + tail);
}

const char *gm_names_string(struct gm_names *names, struct gm_string_id id)
{
    if (names->clean[id.v] != NULL)
        return names->clean[id.v];
    size_t n;
    const char *raw = gm_string(names->snapshot, id, &n);
    char *copy = NULL;
    if (gm_printable_run(raw, n) == n) { /* nearly all names: no cleaning buffer needed */
        copy = copy_ends(names->arena, raw, n);
    } else if (n < SIZE_MAX / 8) {
        GM_FREED char *buffer = malloc(GM_UTF8_CLEAN(n));
        if (buffer != NULL)
            copy = copy_ends(names->arena, buffer, gm_utf8_clean_line(buffer, GM_UTF8_CLEAN(n), raw, n));
    }
    names->clean[id.v] = copy;
    return copy;
}

const struct gm_frame_row *gm_names_frames(struct gm_names *names, struct gm_stack_id stack, size_t *count)
{
    const struct gm_frames *frames = &names->snapshot->frames;
    const struct gm_frame_id *ids = gm_stack_frames(names->snapshot, stack, count);
    if (names->frames[stack.v] != NULL)
        return names->frames[stack.v];
    struct gm_frame_row *rows = gm_arena_calloc(names->arena, *count + (*count == 0), sizeof *rows);
    if (rows == NULL)
        return NULL;
    for (size_t i = 0; i < *count; i++) {
        rows[i].name = gm_names_string(names, frames->name[ids[i].v]);
        rows[i].filename = gm_names_string(names, frames->filename[ids[i].v]);
        rows[i].line = frames->line[ids[i].v] == GM_ABSENT ? GM_REPORT_NONE : frames->line[ids[i].v];
        if (rows[i].name == NULL || rows[i].filename == NULL)
            return NULL;
    }
    names->frames[stack.v] = rows;
    return rows;
}
