/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: whose the bytes at the peak of requested bytes are, as far as the recording tells: by module, by
 * operator, and by what the program itself said about them (docs/modules.md). Included by timeline.h.
 */
#ifndef GM_REPORT_MODULES_H
#define GM_REPORT_MODULES_H

#include <stddef.h>
#include <stdint.h>

/* Requested bytes by what they are for; they add up to those of the row. */
struct gm_purposes {
    uint64_t weights, gradients, states, activations, temporaries, others;
};

struct gm_tag_row {
    const char *label;
    const char *detail; /* NULL, or where it comes from, one line */
    uint64_t bytes, blocks;
    struct gm_purposes use;
};

/* Ways to name a block. */
#define GM_TAG_MAP(X)                                                                                                  \
    X(OPERATOR, "operators", "By operator")                                                                            \
    X(ANNOTATION, "annotations", "By annotation (record_function)")                                                    \
    X(METADATA, "metadata", "By metadata (set or attached by the program)")                                            \
    X(REGION, "compiled_regions", "By compiled region")                                                                \
    X(NODE, "graph_nodes", "By node of a compiled graph")
enum gm_tag {
#define X(name, key, title) GM_TAG_##name,
    GM_TAG_MAP(X)
#undef X
        GM_TAG_COUNT
};
struct gm_tag_table {
    const struct gm_tag_row *rows; /* most bytes first, ties by label */
    size_t count, total;           /* listed; there are */
    struct gm_tag_row rest;        /* those that are not listed; no label */
    struct gm_tag_row untold;      /* of which the recording says nothing */
};

/* A call of a module, in the tree of such calls: "line 36 of gpt.py calls forward of gpt.py". Node 0 is the root, in
 * whose `own` is what no module's code made. */
struct gm_module_node {
    const char *function, *file; /* of the module's code that was called: "forward", the file's path; NULL: the root */
    const char *caller;          /* file of the line that called it; NULL: nothing did */
    uint64_t caller_line;        /* GM_REPORT_NONE */
    const char *source, *source_note; /* that line's text, or why it is not known; NULL: no --source, no file */
    uint32_t parent, depth;
    uint32_t first_child, next_sibling; /* 0: none; children by bytes, largest first */
    uint64_t bytes, blocks;             /* with everything below */
    uint64_t own;                       /* bytes that its own code made, in none of the modules below */
    struct gm_purposes use;
    uint64_t calls;             /* told apart, that hold something at the peak */
    uint64_t least, most;       /* bytes of a call */
    const uint64_t *call_bytes; /* [call_count], in order of the calls; no more than GM_CALLS_LISTED of them */
    size_t call_count;
};
enum { GM_CALLS_LISTED = 1000 };

/* The same sizes, made by the same stacks, again and again in the order in which blocks were made. */
struct gm_layers_row {
    const char *role;
    uint64_t times, blocks, bytes; /* so many times, each of so many blocks and bytes */
    uint64_t outside;              /* bytes of the role that are in none of them */
};

struct gm_modules {
    struct gm_tag_table tags[GM_TAG_COUNT];
    const struct gm_module_node *nodes;
    size_t node_count; /* 0: no stack has a module's code in it; the root is one of them */
    const struct gm_layers_row *layers;
    size_t layer_count;
};

#endif
