/* SPDX-License-Identifier: Apache-2.0
 *
 * One document, three ways to write it. Who has something to say says it once, as sections of sentences, key-values and
 * tables of typed columns over plain rows; text for a terminal, Markdown for GitHub and JSON for programs are three
 * walks over that. What is told to the walk of one form only is marked with it.
 *
 * An absent value is never 0: GM_REPORT_NONE of unsigned numbers, GM_SIGNED_NONE of signed ones, NULL of strings. JSON
 * has null for it, people read "n/a" or "-".
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/text.h"
#include "analyze/document/json_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is told. Bits. */
enum gm_form {
    GM_TXT = 1,
    GM_MD = 2,
    GM_READ = GM_TXT | GM_MD,
    GM_JSON = 4,
    GM_ALL = GM_READ | GM_JSON,
    GM_UNDER = 8, /* of a column: in text it stands on lines of its own below the row, where it says something */
    GM_BLANK = 16 /* of a column: people see nothing where it is absent */
};

#define GM_SIGNED_NONE INT64_MIN

enum gm_unit {
    GM_BYTES,    /* u */
    GM_EXACT,    /* u: bytes that are told in full, too: "804,782,080 (767.5 MiB)" */
    GM_COUNT,    /* u */
    GM_EVENT,    /* u; absent: "start", the state before event 0 */
    GM_TIME,     /* u: microseconds, told since origin_us */
    GM_DURATION, /* u: microseconds */
    GM_DELTA,    /* i: bytes that are told with their sign */
    GM_SIGNED,   /* i */
    GM_HANDLE,   /* i: out of a file, any number; always known */
    GM_ID,       /* i: negative is none */
    GM_REAL,     /* real; NaN is none */
    GM_RATIO,    /* real; told with three decimals */
    GM_SHARE,    /* share: 100 * part / whole */
    GM_BOOL,     /* b */
    GM_FIGURE,   /* s: our own, stands where a number would */
    GM_TEXT,     /* s: our own words */
    GM_NAME,     /* s: out of a file: its beginning says most */
    GM_PATH,     /* s: out of a file: its end says most */
    GM_SITE,     /* s: a call site */
    GM_STRUCT,   /* nothing: gm_column.below are the keys of a struct inside the row, JSON only */
    GM_NEST      /* nothing: gm_column.nest writes what is below the key, JSON only */
};

union gm_value {
    uint64_t u;
    int64_t i;
    double real;
    bool b;
    const char *s;
    struct {
        uint64_t part, whole;
    } share;
};

struct gm_doc;
struct gm_column;

/* What a column's function is told: the row, what the table or the fields are `of`, the column itself. */
struct gm_cell_of {
    struct gm_doc *doc;
    const void *row, *of;
    const struct gm_column *column;
};

struct gm_column {
    const char *key;   /* in JSON */
    const char *title; /* for people; NULL: none */
    unsigned in;       /* enum gm_form */
    enum gm_unit unit;
    size_t offset, size;                               /* of the field in the row; `size` 0: there is none, but ... */
    union gm_value (*get)(const struct gm_cell_of *c); /* ... this */
    void (*nest)(const struct gm_cell_of *c);          /* GM_NEST */
    size_t whole;                                      /* GM_SHARE of a field: offset of the other; or GM_WHOLE_OF */
    const struct gm_column *below; /* GM_STRUCT: its keys; without a key they stand with the row's */
    size_t below_count;
};
#define GM_WHOLE_OF SIZE_MAX /* what the table is `of` is a uint64_t: the whole */
#define GM_AT(type, field) offsetof(type, field), sizeof(((type *)0)->field)
/* clang-format off */
#define GM_FIELD(unit, in, key, title, type, field) {key, title, in, unit, GM_AT(type, field), NULL, NULL, 0, NULL, 0}
#define GM_GET(unit, in, key, title, get) {key, title, in, unit, 0, 0, get, NULL, 0, NULL, 0}
#define GM_CHARS(in, key, title, type, field) \
    {key, title, in, GM_TEXT, offsetof(type, field), 0, gm_chars_value, NULL, 0, NULL, 0}
#define GM_PART(in, key, title, type, part, whole) \
    {key, title, in, GM_SHARE, GM_AT(type, part), NULL, NULL, offsetof(type, whole), NULL, 0}
#define GM_PART_OF(in, key, title, type, part) \
    {key, title, in, GM_SHARE, GM_AT(type, part), NULL, NULL, GM_WHOLE_OF, NULL, 0}
/* JSON only */
#define GM_KEY(unit, key, type, field) GM_FIELD(unit, GM_JSON, key, NULL, type, field)
#define GM_INSIDE(key, columns, type, field) \
    {key, NULL, GM_JSON, GM_STRUCT, GM_AT(type, field), NULL, NULL, 0, columns, sizeof(columns) / sizeof *(columns)}
#define GM_NESTED(key, nest) {key, NULL, GM_JSON, GM_NEST, 0, 0, NULL, nest, 0, NULL, 0}
/* clang-format on */

/* Defines the function of a column that is one expression of its row; `c` is what it is told:
 *     GM_CELL(s, severity_of, struct gm_finding, row, gm_severity_name(row->severity)); */
#define GM_CELL(member, name, type, of, expression)                                                                    \
    static union gm_value name(const struct gm_cell_of *c)                                                             \
    {                                                                                                                  \
        const type *of = c->row;                                                                                       \
        return (union gm_value){.member = (expression)};                                                               \
    }                                                                                                                  \
    _Static_assert(1, "takes the semicolon")

/* Which rows are left out where there are too many. */
enum gm_cut { GM_CUT_TAIL, GM_CUT_HEAD, GM_CUT_MIDDLE };

struct gm_table {
    const char *key;   /* in JSON, where all rows stand; NULL inside an array */
    const char *title; /* a line above it; NULL: none */
    unsigned in;       /* enum gm_form; 0: all */
    const struct gm_column *columns;
    size_t column_count;
    const void *rows;
    size_t count, size;     /* bytes of a row */
    size_t txt_max, md_max; /* rows of them that people are shown; 0: all */
    enum gm_cut cut;
    bool is_silent;    /* nothing is said of rows that are left out: a sentence below it does */
    const void *feet;  /* rows for people below them, such as a sum: what is absent in them is left empty */
    size_t foot_count; /* those are shown even where there is no other row */
    const void *of;    /* for the columns' functions */
};
#define GM_COLUMNS(c) .columns = (c), .column_count = sizeof(c) / sizeof *(c)
#define GM_ROWS(r, n) .rows = (r), .count = (n), .size = sizeof *(r)
#define GM_FEET(r, n) .feet = (r), .foot_count = (n)
/* Of two feet those that are told. */
#define GM_FEET_OF(r, first, second) .feet = (r) + ((first) ? 0 : 1), .foot_count = (size_t)(first) + (size_t)(second)

/* How a sentence stands. */
enum gm_say {
    GM_SAY,         /* a paragraph */
    GM_SAY_ITEM,    /* of a list */
    GM_SAY_STRONG,  /* the paragraph that is read first */
    GM_SAY_WARNING, /* a paragraph that nobody may miss */
    GM_SAY_LINE,    /* a line to copy: it is not broken */
    /* For people, with the key as a name of what is said: */
    GM_SAY_MARK,  /* the same, on top of a document: "SALVAGED" */
    GM_SAY_LABEL, /* of a list: "When" */
    GM_SAY_STEP,  /* of a numbered list; its first line is its title */
    GM_SAY_DIFF   /* without a key: lines of a diff, below the item that was told last */
};

/* A name out of a file, in the format of a sentence: a code span in Markdown. */
#define GM_QUOTED "\x0e%s\x0f"

enum { GM_DOC_DEPTH = 16 }; /* of sections in sections */

struct gm_writer;
struct gm_doc {
    const struct gm_writer *writer;
    struct gm_text *out;               /* its `failed` is the document's, too */
    const char *text_name, *json_name; /* where what is left out can be found: "fleet_report.txt", "fleet.json";
                                        * else --json FILE */
    uint64_t origin_us;                /* of GM_TIME */
    struct gm_arena arena;             /* of gm_doc_printf */
    struct gm_json json;
    const char *about; /* stands behind the titles of sections: ", device 1"; NULL: nothing */
    bool is_full[2];   /* Markdown: no room for more, and that is said; [1] of what is folded */
    bool in_list;      /* Markdown: an item was told last */
    size_t steps;      /* that were told in this section */
    size_t depth;      /* of open sections */
    size_t lines;      /* text: as many are read first, what is folded or does not fit stands in an appendix; 0: none */
    struct gm_text section, appendix; /* text: what is open and not folded; all that is folded, until the end */
    struct gm_text *first;            /* text: `out` of the document; NULL: no section is open */
    size_t fold;                      /* text: depth of what is folded now; 0: nothing is */
    struct gm_doc_section {
        bool has_key, has_title, is_folded, is_hidden;
    } sections[GM_DOC_DEPTH];
};

void gm_doc_begin(struct gm_doc *doc, enum gm_form form, struct gm_text *out);
void gm_doc_end(struct gm_doc *doc);
/* Whether the walk writes one of these forms. */
bool gm_doc_is(const struct gm_doc *doc, unsigned forms);

/* A string that lives as long as the document. Never NULL. */
const char *gm_doc_printf(struct gm_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of what was written into `text`, which is freed; _any: NULL if that is nothing. */
const char *gm_doc_take(struct gm_doc *doc, struct gm_text *text);
const char *gm_doc_take_any(struct gm_doc *doc, struct gm_text *text);
/* "1 retry", "2,400 retries", likewise. */
const char *gm_doc_some(struct gm_doc *doc, uint64_t count, const char *one, const char *many);
/* What the functions of numbers.h make of a number, likewise. */
const char *gm_doc_bytes(struct gm_doc *doc, uint64_t bytes);
const char *gm_doc_each(struct gm_doc *doc, size_t count, uint64_t bytes); /* "64.00 KiB", "3 x 64.00 KiB" */
const char *gm_doc_count(struct gm_doc *doc, uint64_t count);
const char *gm_doc_event(struct gm_doc *doc, uint64_t event);
const char *gm_doc_duration(struct gm_doc *doc, uint64_t us);
const char *gm_doc_delta_bytes(struct gm_doc *doc, int64_t bytes);  /* "+1.50 GiB" */
const char *gm_doc_signed_bytes(struct gm_doc *doc, int64_t bytes); /* "-1.50 GiB" */
const char *gm_doc_share(struct gm_doc *doc, uint64_t part, uint64_t whole);
/* Zeroed rows that live as long; NULL if there is no memory (the document has failed then). */
void *gm_doc_rows(struct gm_doc *doc, size_t count, size_t size);

/* The document's title, and the name of what it is about; for people only. */
void gm_doc_title(struct gm_doc *doc, const char *title, const char *name);
/* A section, which sections may be in. key: the object in JSON; NULL: its keys stand in the one around it. title: NULL
 * where people see none. Folded: it is no part of what is read first: Markdown shows its title, and the rest on a
 * click; text that has an appendix has it there. */
void gm_doc_open(struct gm_doc *doc, const char *key, const char *title);
void gm_doc_fold(struct gm_doc *doc, const char *key, const char *title);
void gm_doc_close(struct gm_doc *doc);
/* Whether the section that is open is folded itself. */
static inline bool gm_doc_is_folded(const struct gm_doc *doc)
{
    return doc->depth > 0 && doc->sections[doc->depth - 1].is_folded;
}

/* A sentence. key: a string in JSON (NULL: not in JSON), or a name for people. `forms` are the forms that are told; a
 * key counts where GM_JSON is among them. */
void gm_doc_say(struct gm_doc *doc, enum gm_say how, unsigned forms, const char *key, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A paragraph for people. */
void gm_doc_tell(struct gm_doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A picture of the run directory; Markdown only. */
void gm_doc_picture(struct gm_doc *doc, const char *file, const char *caption);
/* Columns over one row: key-values. */
void gm_doc_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const void *row, const void *of);
#define GM_FIELDS(doc, columns, row, of) gm_doc_fields(doc, columns, sizeof(columns) / sizeof *(columns), row, of)
void gm_doc_table(struct gm_doc *doc, const struct gm_table *table);
/* GM_TABLE(doc, columns, rows, count, .key = ..., .title = ...) */
#define GM_TABLE(doc, columns, rows, count, ...)                                                                       \
    GM_TABLE_OF(doc, columns, sizeof(columns) / sizeof *(columns), rows, count, __VA_ARGS__)
/* The same of the first `n` columns. */
#define GM_TABLE_OF(doc, columns_, n, rows, count, ...)                                                                \
    gm_doc_table(doc, &(struct gm_table){.columns = (columns_), .column_count = (n), GM_ROWS(rows, count), __VA_ARGS__})
/* An object of the same under `key`, null without a row; JSON only. */
void gm_doc_object(struct gm_doc *doc, const char *key, const struct gm_column *columns, size_t count, const void *row,
                   const void *of);
#define GM_OBJECT(doc, key, columns, row, of)                                                                          \
    gm_doc_object(doc, key, columns, sizeof(columns) / sizeof *(columns), row, of)
/* An array of numbers or strings; JSON only. */
void gm_doc_list(struct gm_doc *doc, const char *key, enum gm_unit unit, const void *values, size_t count, size_t size);
#define GM_LIST(doc, key, unit, values, count) gm_doc_list(doc, key, unit, values, count, sizeof *(values))
/* An array of objects whose keys people do not read as a table: `add` writes those of one row. JSON only. */
void gm_doc_nested(struct gm_doc *doc, const char *key, void (*add)(const struct gm_cell_of *c), const void *rows,
                   size_t count, size_t size, const void *of);
#define GM_NESTED_ROWS(r, n) (r), (n), sizeof *(r)
/* How many of `count` rows a table shows in this form. */
size_t gm_doc_shown(const struct gm_doc *doc, const struct gm_table *table);
/* GM_CHARS: characters that stand in the row, not a pointer to them; absent if there are none. */
union gm_value gm_chars_value(const struct gm_cell_of *c);
/* A GM_NESTED key that is always null. */
void gm_cell_null(const struct gm_cell_of *c);
/* The i-th row that a form shows of a table: rows first, then feet. */
const void *gm_table_row(const struct gm_doc *doc, const struct gm_table *table, size_t i);
