/* SPDX-License-Identifier: Apache-2.0
 *
 * What a form of documents is made of. Private to analyze/document.
 */
#pragma once

#include "analyze/document/document.h"
#include "analyze/report/numbers.h"

struct gm_writer {
    enum gm_form form;
    void (*title)(struct gm_doc *doc, const char *title, const char *name);
    /* The section is the last one of doc->sections. */
    void (*open)(struct gm_doc *doc, const char *key, const char *title);
    void (*close)(struct gm_doc *doc);
    void (*end)(struct gm_doc *doc);
    void (*say)(struct gm_doc *doc, enum gm_say how, const char *key, const char *sentence);
    void (*fields)(struct gm_doc *doc, const struct gm_column *columns, size_t count, const struct gm_cell_of *row);
    void (*table)(struct gm_doc *doc, const struct gm_table *table);
};
extern const struct gm_writer gm_text_writer, gm_markdown_writer, gm_json_writer;

union gm_value gm_doc_value(const struct gm_cell_of *cell);
/* The first of *lines, which is the rest then; NULL: there is no more. */
const char *gm_doc_next_line(struct gm_doc *doc, const char **lines);
/* Whether the value is known. */
bool gm_value_is_known(enum gm_unit unit, union gm_value value);
/* GM_BLANK, and absent: a key-value is left out then. */
bool gm_doc_is_left_out(const struct gm_cell_of *cell);
/* A cell as people read it: "1.50 GiB", "12.3 %", "n/a"; a string as it is; "" where a foot has none. `small` is room
 * for a number. */
const char *gm_cell_text(char small[GM_NUMBER_TEXT], const struct gm_cell_of *cell, bool is_foot);
/* Whether cells of this unit stand at the right of their column. */
bool gm_unit_is_figure(enum gm_unit unit);
