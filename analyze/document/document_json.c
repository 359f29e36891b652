/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents as JSON: all rows, raw numbers, no word that only people need.
 */
#include "analyze/document/writer.h"

static void open_section(struct gm_doc *doc, const char *key, const char *title)
{
    (void)title;
    if (key != NULL)
        gm_json_open(&doc->json, key, '{');
}

static void close_section(struct gm_doc *doc)
{
    if (doc->sections[doc->depth - 1].has_key)
        gm_json_close(&doc->json, '}');
}

static void end(struct gm_doc *doc)
{
    gm_json_close(&doc->json, '}');
    gm_text_add_char(doc->out, '\n');
}

static void add_sentence(struct gm_doc *doc, enum gm_say how, const char *key, const char *sentence)
{
    (void)how;
    if (key != NULL)
        gm_json_string(&doc->json, key, sentence);
}

static void add_value(struct gm_json *json, const char *key, enum gm_unit unit, union gm_value value)
{
    if (!gm_value_is_known(unit, value)) {
        gm_json_null(json, key);
        return;
    }
    switch (unit) {
    case GM_DELTA:
    case GM_SIGNED:
    case GM_HANDLE:
    case GM_ID:
        gm_json_signed(json, key, value.i);
        break;
    case GM_REAL:
    case GM_RATIO:
        gm_json_real(json, key, value.real);
        break;
    case GM_SHARE:
        gm_json_percent(json, key, value.share.part, value.share.whole);
        break;
    case GM_BOOL:
        gm_json_bool(json, key, value.b);
        break;
    case GM_FIGURE:
    case GM_TEXT:
    case GM_NAME:
    case GM_PATH:
    case GM_SITE:
        gm_json_string(json, key, value.s);
        break;
    default:
        gm_json_number(json, key, value.u);
    }
}

static void add_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const struct gm_cell_of *row);

static void add_struct(struct gm_doc *doc, const struct gm_column *column, const struct gm_cell_of *row)
{
    const struct gm_cell_of inner = {doc, (const char *)row->row + column->offset, row->of, NULL};
    if (column->key != NULL)
        gm_json_open_flat(&doc->json, column->key, '{');
    add_fields(doc, column->below, column->below_count, &inner);
    if (column->key != NULL)
        gm_json_close(&doc->json, '}');
}

static void add_fields(struct gm_doc *doc, const struct gm_column *columns, size_t count, const struct gm_cell_of *row)
{
    struct gm_cell_of cell = *row;
    for (size_t i = 0; i < count; i++) {
        cell.column = &columns[i];
        if ((columns[i].in & GM_JSON) == 0)
            continue;
        if (columns[i].unit == GM_NEST)
            columns[i].nest(&cell);
        else if (columns[i].unit == GM_STRUCT)
            add_struct(doc, &columns[i], row);
        else
            add_value(&doc->json, columns[i].key, columns[i].unit, gm_doc_value(&cell));
    }
}

/* Whether a row takes several lines: it has keys below keys, and is no row that people read, too. */
static bool is_nested(const struct gm_table *table)
{
    if (table->in != GM_JSON)
        return false;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].unit == GM_NEST)
            return true;
    return false;
}

static void add_table(struct gm_doc *doc, const struct gm_table *table)
{
    const bool nested = is_nested(table);
    gm_json_open(&doc->json, table->key, '[');
    for (size_t i = 0; i < table->count; i++) {
        const struct gm_cell_of row = {doc, (const char *)table->rows + i * table->size, table->of, NULL};
        if (nested)
            gm_json_open(&doc->json, NULL, '{');
        else
            gm_json_open_flat(&doc->json, NULL, '{');
        add_fields(doc, table->columns, table->column_count, &row);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
}

const struct gm_writer gm_json_writer = {GM_JSON, NULL,         open_section, close_section,
                                         end,     add_sentence, add_fields,   add_table};

void gm_doc_object(struct gm_doc *doc, const char *key, const struct gm_column *columns, size_t count, const void *row,
                   const void *of)
{
    const struct gm_cell_of cell = {doc, row, of, NULL};
    if (!gm_doc_is(doc, GM_JSON))
        return;
    if (row == NULL) {
        gm_json_null(&doc->json, key);
        return;
    }
    gm_json_open(&doc->json, key, '{');
    add_fields(doc, columns, count, &cell);
    gm_json_close(&doc->json, '}');
}

void gm_doc_list(struct gm_doc *doc, const char *key, enum gm_unit unit, const void *values, size_t count, size_t size)
{
    const struct gm_column column = {.unit = unit, .size = size};
    struct gm_cell_of cell = {doc, values, NULL, &column};
    if (!gm_doc_is(doc, GM_JSON))
        return;
    if (gm_unit_is_figure(unit))
        gm_json_open_flat(&doc->json, key, '[');
    else
        gm_json_open(&doc->json, key, '[');
    for (size_t i = 0; i < count; i++) {
        cell.row = (const char *)values + i * size;
        add_value(&doc->json, NULL, unit, gm_doc_value(&cell));
    }
    gm_json_close(&doc->json, ']');
}

void gm_doc_nested(struct gm_doc *doc, const char *key, void (*add)(const struct gm_cell_of *c), const void *rows,
                   size_t count, size_t size, const void *of)
{
    const struct gm_column column = GM_NESTED(NULL, add);
    const struct gm_table table = {.key = key,
                                   .in = GM_JSON,
                                   .columns = &column,
                                   .column_count = 1,
                                   .rows = rows,
                                   .count = count,
                                   .size = size,
                                   .of = of};
    if (gm_doc_is(doc, GM_JSON))
        add_table(doc, &table);
}

void gm_cell_null(const struct gm_cell_of *c)
{
    gm_json_null(&c->doc->json, c->column->key);
}
