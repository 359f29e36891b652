/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/document.h"

#include "analyze/document/writer.h"
#include "analyze/report/report.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void gm_doc_begin(struct gm_doc *doc, enum gm_form form, struct gm_text *out)
{
    *doc = (struct gm_doc){.out = out, .json_name = "--json FILE", .json = {.out = out}, .origin_us = GM_REPORT_NONE};
    doc->writer = form == GM_JSON ? &gm_json_writer : form == GM_MD ? &gm_markdown_writer : &gm_text_writer;
    if (form == GM_JSON)
        gm_json_open(&doc->json, NULL, '{');
}

void gm_doc_end(struct gm_doc *doc)
{
    assert(doc->depth == 0);
    if (doc->writer->end != NULL)
        doc->writer->end(doc);
    gm_arena_free(&doc->arena);
}

bool gm_doc_is(const struct gm_doc *doc, unsigned forms)
{
    return (doc->writer->form & forms) != 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Takes the marks around names out of a sentence, but for Markdown, which needs them. */
static const char *finish(struct gm_doc *doc, char *text)
{
    char *to = text;
    doc->out->failed = doc->out->failed || text == NULL;
    if (text == NULL)
        return "";
    for (const char *from = text; *from != '\0'; from++)
        if (gm_doc_is(doc, GM_MD) || (*from != GM_QUOTED[0] && *from != GM_QUOTED[sizeof GM_QUOTED - 2]))
            *to++ = *from;
    *to = '\0';
    return text;
}

const char *gm_doc_printf(struct gm_doc *doc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = gm_arena_vprintf(&doc->arena, format, args);
    va_end(args);
    return finish(doc, text);
}

const char *gm_doc_take(struct gm_doc *doc, struct gm_text *text)
{
    return finish(doc, gm_text_take(text, &doc->arena));
}

const char *gm_doc_take_any(struct gm_doc *doc, struct gm_text *text)
{
    const bool any = text->length > 0;
    const char *taken = gm_doc_take(doc, text);
    return any ? taken : NULL;
}

#define NUMBER(name, type, value)                                                                                      \
    const char *gm_doc_##name(struct gm_doc *doc, type value)                                                          \
    {                                                                                                                  \
        char text[GM_NUMBER_TEXT];                                                                                     \
        return gm_doc_printf(doc, "%s", gm_##name##_format(text, value));                                              \
    }
NUMBER(bytes, uint64_t, bytes)
NUMBER(count, uint64_t, count)
NUMBER(event, uint64_t, event)
NUMBER(duration, uint64_t, us)
NUMBER(signed_bytes, int64_t, bytes)
NUMBER(delta_bytes, int64_t, bytes)

const char *gm_doc_share(struct gm_doc *doc, uint64_t part, uint64_t whole)
{
    char text[GM_NUMBER_TEXT];
    return gm_doc_printf(doc, "%s", gm_share_format(text, part, whole));
}

const char *gm_doc_each(struct gm_doc *doc, size_t count, uint64_t bytes)
{
    const char *size = gm_doc_bytes(doc, bytes);
    return count > 1 ? gm_doc_printf(doc, "%zu x %s", count, size) : size;
}

const char *gm_doc_some(struct gm_doc *doc, uint64_t count, const char *one, const char *many)
{
    return gm_doc_printf(doc, "%s %s", gm_doc_count(doc, count), count == 1 ? one : many);
}

void *gm_doc_rows(struct gm_doc *doc, size_t count, size_t size)
{
    void *rows = gm_arena_calloc(&doc->arena, count > 0 ? count : 1, size);
    doc->out->failed = doc->out->failed || rows == NULL;
    return rows;
}

const char *gm_doc_next_line(struct gm_doc *doc, const char **lines)
{
    const char *line = *lines, *end = strchr(line, '\n');
    *lines = end == NULL ? NULL : end + 1;
    return end == NULL ? line : gm_doc_printf(doc, "%.*s", (int)(end - line), line);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool is_hidden(const struct gm_doc *doc)
{
    return doc->depth > 0 && doc->sections[doc->depth - 1].is_hidden;
}

void gm_doc_title(struct gm_doc *doc, const char *title, const char *name)
{
    if (doc->writer->title != NULL)
        doc->writer->title(doc, title, name == NULL ? "" : name);
}

static void open_section(struct gm_doc *doc, const char *key, const char *title, bool is_folded)
{
    assert(doc->depth < GM_DOC_DEPTH);
    const bool hidden = is_hidden(doc);
    doc->steps = 0;
    doc->sections[doc->depth++] = (struct gm_doc_section){key != NULL, title != NULL, is_folded, hidden};
    if (title != NULL && doc->about != NULL && (doc->depth == 1 || is_folded))
        title = gm_doc_printf(doc, "%s%s", title, doc->about);
    if (!hidden)
        doc->writer->open(doc, key, title);
}

void gm_doc_open(struct gm_doc *doc, const char *key, const char *title)
{
    open_section(doc, key, title, false);
}

void gm_doc_fold(struct gm_doc *doc, const char *key, const char *title)
{
    open_section(doc, key, title, true);
}

void gm_doc_close(struct gm_doc *doc)
{
    assert(doc->depth > 0);
    if (!is_hidden(doc))
        doc->writer->close(doc);
    doc->depth--;
}

static void __attribute__((format(printf, 5, 0)))
say(struct gm_doc *doc, enum gm_say how, unsigned forms, const char *key, const char *format, va_list args)
{
    if (gm_doc_is(doc, forms) && !is_hidden(doc))
        doc->writer->say(doc, how, key, finish(doc, gm_arena_vprintf(&doc->arena, format, args)));
}

void gm_doc_say(struct gm_doc *doc, enum gm_say how, unsigned forms, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(doc, how, forms, key, format, args);
    va_end(args);
}

void gm_doc_tell(struct gm_doc *doc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(doc, GM_SAY, GM_READ, NULL, format, args);
    va_end(args);
}

void gm_doc_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const void *row, const void *of)
{
    const struct gm_cell_of cell = {doc, row, of, NULL};
    if (!is_hidden(doc))
        doc->writer->fields(doc, columns, count, &cell);
}

void gm_doc_table(struct gm_doc *doc, const struct gm_table *table)
{
    const bool is_empty = table->count == 0 && table->foot_count == 0;
    if ((table->in != 0 && !gm_doc_is(doc, table->in)) || is_hidden(doc) || (is_empty && !gm_doc_is(doc, GM_JSON)))
        return;
    doc->writer->table(doc, table);
}

size_t gm_doc_shown(const struct gm_doc *doc, const struct gm_table *table)
{
    const size_t most = gm_doc_is(doc, GM_TXT) ? table->txt_max : gm_doc_is(doc, GM_MD) ? table->md_max : 0;
    return most > 0 && most < table->count ? most : table->count;
}

const void *gm_table_row(const struct gm_doc *doc, const struct gm_table *table, size_t i)
{
    const size_t shown = gm_doc_shown(doc, table), skipped = table->count - shown;
    if (i >= shown)
        return (const char *)table->feet + (i - shown) * table->size;
    if (table->cut == GM_CUT_HEAD || (table->cut == GM_CUT_MIDDLE && i >= shown / 2))
        i += skipped;
    return (const char *)table->rows + i * table->size;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Integers may be narrower than 64 bits in a row. */
static uint64_t unsigned_at(const void *field, size_t size)
{
    uint8_t u8 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    assert(size == sizeof u8 || size == sizeof u32 || size == sizeof u64);
    memcpy(size == sizeof u8 ? (void *)&u8 : size == sizeof u32 ? (void *)&u32 : (void *)&u64, field, size);
    return u64 | u32 | u8; /* one of them */
}

static int64_t signed_at(const void *field, size_t size)
{
    int32_t i32 = 0;
    int64_t i64 = 0;
    assert(size == sizeof i32 || size == sizeof i64);
    memcpy(size == sizeof i32 ? (void *)&i32 : (void *)&i64, field, size);
    return size == sizeof i32 ? i32 : i64;
}

union gm_value gm_doc_value(const struct gm_cell_of *cell)
{
    const struct gm_column *column = cell->column;
    union gm_value value = {.u = 0};
    if (column->size == 0)
        return column->get(cell);
    const char *field = (const char *)cell->row + column->offset;
    switch (column->unit) {
    case GM_BOOL:
        memcpy(&value.b, field, sizeof value.b);
        break;
    case GM_DELTA:
    case GM_SIGNED:
    case GM_HANDLE:
    case GM_ID:
        value.i = signed_at(field, column->size);
        break;
    case GM_REAL:
    case GM_RATIO:
        memcpy(&value.real, field, sizeof value.real);
        break;
    case GM_FIGURE:
    case GM_TEXT:
    case GM_NAME:
    case GM_PATH:
    case GM_SITE:
        memcpy(&value.s, field, sizeof value.s);
        break;
    case GM_SHARE:
        memcpy(&value.share.part, field, sizeof value.share.part);
        field = column->whole == GM_WHOLE_OF ? cell->of : (const char *)cell->row + column->whole;
        memcpy(&value.share.whole, field, sizeof value.share.whole);
        break;
    default:
        value.u = unsigned_at(field, column->size);
    }
    return value;
}

union gm_value gm_chars_value(const struct gm_cell_of *c)
{
    const char *text = (const char *)c->row + c->column->offset;
    return (union gm_value){.s = text[0] == '\0' ? NULL : text};
}

bool gm_value_is_known(enum gm_unit unit, union gm_value value)
{
    switch (unit) {
    case GM_DELTA:
    case GM_SIGNED:
        return value.i != GM_SIGNED_NONE;
    case GM_ID:
        return value.i >= 0;
    case GM_REAL:
    case GM_RATIO:
        return isfinite(value.real);
    case GM_SHARE:
        return value.share.whole != 0 && value.share.part != GM_REPORT_NONE && value.share.whole != GM_REPORT_NONE;
    case GM_FIGURE:
    case GM_TEXT:
    case GM_NAME:
    case GM_PATH:
    case GM_SITE:
        return value.s != NULL;
    case GM_BOOL:
    case GM_HANDLE:
        return true;
    default:
        return value.u != GM_REPORT_NONE;
    }
}

bool gm_doc_is_left_out(const struct gm_cell_of *cell)
{
    return (cell->column->in & GM_BLANK) != 0 && !gm_value_is_known(cell->column->unit, gm_doc_value(cell));
}

bool gm_unit_is_figure(enum gm_unit unit)
{
    return unit <= GM_FIGURE && unit != GM_BOOL;
}

static char *share_text(char small[GM_NUMBER_TEXT], uint64_t part, uint64_t whole)
{
    gm_share_format(small, part, whole);
    const size_t n = strlen(small);
    memcpy(small + n, " %", sizeof " %");
    return small;
}

static const char *exact_text(char small[GM_NUMBER_TEXT], uint64_t bytes)
{
    char count[GM_NUMBER_TEXT], size[GM_NUMBER_TEXT];
    gm_count_format(count, bytes);
    snprintf(small, GM_NUMBER_TEXT, bytes < 1024 ? "%s B" : "%.18s (%.10s)", count, gm_bytes_format(size, bytes));
    return small;
}

static const char *value_text(char small[GM_NUMBER_TEXT], const struct gm_doc *doc, enum gm_unit unit,
                              union gm_value value)
{
    const bool is_known = gm_value_is_known(unit, value);
    if (!is_known && unit != GM_EVENT)
        return gm_unit_is_figure(unit) && unit != GM_ID ? "n/a" : "-";
    switch (unit) {
    case GM_BYTES:
        return gm_bytes_format(small, value.u);
    case GM_EXACT:
        return exact_text(small, value.u);
    case GM_COUNT:
        return gm_count_format(small, value.u);
    case GM_EVENT:
        return gm_event_format(small, value.u);
    case GM_TIME:
        return gm_since_us_format(small, doc->origin_us, value.u);
    case GM_DURATION:
        return gm_duration_format(small, value.u);
    case GM_DELTA:
        return gm_delta_bytes_format(small, value.i);
    case GM_SIGNED:
    case GM_HANDLE:
    case GM_ID:
        return gm_signed_count_format(small, value.i);
    case GM_REAL:
        return gm_real_format(small, value.real);
    case GM_RATIO:
        return gm_ratio_format(small, value.real);
    case GM_SHARE:
        return share_text(small, value.share.part, value.share.whole);
    case GM_BOOL:
        return value.b ? "yes" : "no";
    default:
        return value.s;
    }
}

const char *gm_cell_text(char small[GM_NUMBER_TEXT], const struct gm_cell_of *cell, bool is_foot)
{
    const union gm_value value = gm_doc_value(cell);
    const enum gm_unit unit = cell->column->unit;
    return (is_foot && !gm_value_is_known(unit, value)) || gm_doc_is_left_out(cell)
               ? ""
               : value_text(small, cell->doc, unit, value);
}
