/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/export: one function for each format, and what they ask of a report.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/base/intern.h"
#include "analyze/base/text.h"
#include "analyze/document/escape.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void gm_export_folded(struct gm_text *out, const struct gm_report *report);
void gm_export_speedscope(struct gm_text *out, const struct gm_report *report);
void gm_export_perfetto(struct gm_text *out, const struct gm_report *report);
void gm_export_pprof(struct gm_text *out, const struct gm_report *report);
void gm_export_modules(struct gm_text *out, const struct gm_report *report);
void gm_export_joined(struct gm_text *out, const struct gm_report *report);

/* The timeline of device number `d` of the report; NULL if it has no events or was not analysed. */
const struct gm_device_timeline *gm_export_timeline(const struct gm_report *report, size_t d);
/* Where a frame is, as far as that is known: of C++ frames without debug information it says "??:0". */
struct gm_place_in_code {
    const char *filename; /* "" if it is not known */
    uint64_t line;        /* GM_REPORT_NONE likewise */
};
struct gm_place_in_code gm_export_place(const struct gm_flame_node *node);
/* How many devices have a tree of their peak. */
size_t gm_export_trees(const struct gm_report *report);

/* A JSON string with its quotes; "" for NULL. */
static inline void gm_export_string(struct gm_text *out, const char *s)
{
    gm_escape_json(out, s == NULL ? "" : s);
}

/* Numbers for things that are told apart by two strings and a number: frames, functions, and (with one string) the
 * string table of a profile. Numbers count from 0 in the order of first appearance, so output does not hang on
 * hashes. Strings must last as long as their table, unchanged. */

struct gm_triple {
    const char *name, *filename; /* not owned; never NULL */
    uint64_t number;
};
struct gm_triples { /* zero-initialise */
    struct gm_triple *v;
    size_t n, capacity;
    struct gm_address_map of_pointer; /* a string's address to its number in strings */
    struct gm_intern strings, rows;
    bool failed; /* no memory: numbers are 0 from then on */
};

/* The number of (name, filename, number); NULL is "". */
uint32_t gm_triples_put(struct gm_triples *t, const char *name, const char *filename, uint64_t number);
void gm_triples_free(struct gm_triples *t);

/* The call stacks in the tree of a peak: a node that has bytes of its own is the innermost frame of one. */

struct gm_flame_walk { /* GM_FREED, zero-initialise */
    uint32_t *path;    /* of the current stack: nodes, outermost first; without the root, unless it is all there is */
    size_t depth;
    uint32_t node; /* the last of the path */
    bool failed;   /* no memory for paths: there is no stack then */
};

/* The next stack, callers' largest callee first; false after the last. */
bool gm_flame_walk_next(struct gm_flame_walk *walk, const struct gm_flame *flame);
