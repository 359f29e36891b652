/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines. A program describes itself in one const table: what the parser accepts, where each value goes, what
 * --help, the manual page and docs/cli.md say and what shells propose is the same row, so they cannot disagree. All
 * programs of the project share this parser.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option's value is; the type that lies at `offset` in the program's struct. */
enum gm_option_kind {
    GM_OPTION_FLAG,    /* bool: true once given; no argument */
    GM_OPTION_TEXT,    /* const char *: the argument itself */
    GM_OPTION_TEXTS,   /* struct gm_texts: the arguments of all times that it is given */
    GM_OPTION_LISTED,  /* the same, but "list" or "help" ends parsing: print what `list` writes */
    GM_OPTION_INTEGER, /* int64_t: a whole number from `min` to `max` */
    GM_OPTION_SIZE,    /* uint64_t: bytes, see analyze/base/size.h */
    GM_OPTION_PERCENT, /* double: 0 to 100, a '%' may follow */
    GM_OPTION_CHOICE,  /* int, or an enum: one of `choices`; `min` is the first one, the next ones follow */
    GM_OPTION_CHOICES, /* unsigned: a bit for each of `choices`, several with commas; repeated options add to it */
    GM_OPTION_PARSED,  /* whatever `parse` makes of the argument; `wants` says what that is */
    GM_OPTION_HELP,    /* ends parsing: print the help */
    GM_OPTION_MANUAL,  /* ends parsing: print one of `choices` (analyze/cli/manual.h) */
    GM_OPTION_VERSION  /* ends parsing: print the version */
};

/* In a help text: what follows is for the manual only, whole sentences in Markdown (`words`, [links](page.md)). */
#define GM_MORE "\f"

struct gm_option {
    char letter;          /* 'o' for -o; 0: has only a long name */
    const char *name;     /* "results" for --results */
    const char *argument; /* "DIR"; NULL if it takes none */
    const char *help;     /* the default included, if it is worth telling; wrapped when printed */
    enum gm_option_kind kind;
    size_t offset;
    int64_t min, max;
    bool (*parse)(const char *text, void *value); /* false: `text` is none; repeated options come one after the other */
    const char *wants;                            /* for the message: "as in 12345, 3.5s, step:12" */
    const char *const *choices;                   /* up to a NULL */
    void (*list)(struct gm_text *out);
    /* What a shell proposes, beside `choices`, a line each; to what ends in ':' or '=' something is to be added. NULL:
     * files or directories if `argument` is FILE, OUT or DIR, else nothing. */
    void (*words)(struct gm_text *out);
    bool is_list; /* several with commas; GM_OPTION_CHOICES always are */
};

enum gm_operands { GM_OPERANDS_SNAPSHOTS, GM_OPERANDS_COMMAND }; /* for a shell that proposes some */

struct gm_program {
    const char *name; /* "gmanalyze" */
    const char *head; /* the help up to the options, as it is printed */
    const char *tail; /* likewise what follows them */
    const struct gm_option *options;
    size_t option_count;
    /* What no single option can tell; NULL: nothing. `values` as for gm_options_parse. */
    enum gm_status (*check)(void *values, char **operands, int *count, struct gm_error *err);
    enum gm_operands operands;
};

enum { GM_TEXTS_MOST = 64 };
struct gm_texts {
    const char *v[GM_TEXTS_MOST];
    size_t n;
};

/* --format, each time that it is given. */
enum { GM_FORMATS_MOST = 8 };
struct gm_formats {
    struct {
        int form;         /* enum gm_notice_form */
        const char *file; /* "-": standard output */
    } v[GM_FORMATS_MOST];
    size_t n;
};

/* What several programs take. A program's options begin with it, and its table has a row of each that it takes. */
struct gm_usual_options {
    const char *results, *name, *json, *categories; /* NULL: not given */
    const char *source;                             /* a checkout; NULL: not given */
    struct gm_texts ignore, ignore_files;
    struct gm_formats formats;
    int64_t device;       /* -1: all */
    int64_t top, threads; /* threads 0: not given */
    uint64_t max_memory;  /* as in struct gm_load_options; 0: not given */
    bool no_charts, no_page, open, salvage, quiet, verbose;
};
#define GM_USUAL_DEFAULTS                                                                                              \
    {                                                                                                                  \
        .results = "results", .device = -1, .top = 50                                                                  \
    }

#define GM_USUAL(field) .offset = offsetof(struct gm_usual_options, field)
/* clang-format off */
#define GM_OPTION_ROW(...) {__VA_ARGS__}
/* clang-format on */
#define GM_ROW_RESULTS                                                                                                 \
    GM_OPTION_ROW('o', "results", "DIR",                                                                               \
                  "where run directories go (default: results)" GM_MORE "It is made if it is missing.",                \
                  GM_OPTION_TEXT, GM_USUAL(results))
#define GM_ROW_NAME(text) GM_OPTION_ROW('n', "name", "NAME", text, GM_OPTION_TEXT, GM_USUAL(name))
#define GM_ROW_JSON(text) GM_OPTION_ROW(0, "json", "FILE", text, GM_OPTION_TEXT, GM_USUAL(json))
#define GM_ROW_CATEGORIES(text)                                                                                        \
    GM_OPTION_ROW(0, "categories", "FILE", text GM_MORE "How they are written: [categories.md](categories.md).",       \
                  GM_OPTION_TEXT, GM_USUAL(categories))
#define GM_ROW_DEVICE(text)                                                                                            \
    GM_OPTION_ROW(0, "device", "N", text, GM_OPTION_INTEGER, GM_USUAL(device), .min = 0, .max = 65535)
#define GM_ROW_TOP(text) GM_OPTION_ROW(0, "top", "N", text, GM_OPTION_INTEGER, GM_USUAL(top), .min = 1, .max = 1000000)
#define GM_ROW_JOBS(text, most)                                                                                        \
    GM_OPTION_ROW('j', "jobs", "N", text, GM_OPTION_INTEGER, GM_USUAL(threads), .min = 1, .max = most)
#define GM_ROW_NO_CHARTS(text) GM_OPTION_ROW(0, "no-charts", NULL, text, GM_OPTION_FLAG, GM_USUAL(no_charts))
#define GM_ROWS_PAGE                                                                                                   \
    GM_OPTION_ROW(                                                                                                     \
        0, "no-page", NULL,                                                                                            \
        "no memory.html (the traces, to be looked at in a browser)" GM_MORE                                            \
        "What it shows: [page.md](page.md). A program that was built without the page's toolchain makes none.",        \
        GM_OPTION_FLAG, GM_USUAL(no_page)),                                                                            \
        GM_OPTION_ROW(0, "open", NULL, "show memory.html in the browser: $BROWSER, or what xdg-open opens",            \
                      GM_OPTION_FLAG, GM_USUAL(open))
#define GM_ROW_MAX_MEMORY                                                                                              \
    GM_OPTION_ROW(0, "max-memory", "SIZE",                                                                             \
                  "memory that a snapshot may need, or it is refused (default: 512 MiB and 100 times the file, at "    \
                  "most the machine's)" GM_MORE "Refused is exit code 3: [loading.md](loading.md#limits).",            \
                  GM_OPTION_SIZE, GM_USUAL(max_memory))
#define GM_ROW_SALVAGE(text) GM_OPTION_ROW(0, "salvage", NULL, text, GM_OPTION_FLAG, GM_USUAL(salvage))
/* With analyze/cli/notice_files.h. */
#define GM_ROW_FORMAT                                                                                                  \
    GM_OPTION_ROW(0, "format", "FORM[=FILE]",                                                                          \
                  "what there is to say to a CI: github, gitlab, junit or sarif; to FILE, or to stdout instead of "    \
                  "the summary" GM_MORE                                                                                \
                  "Repeat it for several forms. Their places are lines of files below `--source`, without it below "   \
                  "the working directory: [ci.md](ci.md#annotations).",                                                \
                  GM_OPTION_PARSED, GM_USUAL(formats), .parse = gm_value_format,                                       \
                  .wants = "github, gitlab, junit or sarif, as in sarif=memory.sarif", .words = gm_format_words)
/* Where nothing but --format takes it. */
#define GM_ROW_FORMAT_SOURCE                                                                                           \
    GM_OPTION_ROW(0, "source", "DIR",                                                                                  \
                  "the checkout in which --format looks for places" GM_MORE "Default: the working directory.",         \
                  GM_OPTION_TEXT, GM_USUAL(source))
#define GM_ROWS_IGNORE(what)                                                                                           \
    GM_OPTION_ROW(0, "ignore", "ID[:SITE]",                                                                            \
                  "leave out " what " of that id (at that site); repeat it for more" GM_MORE                           \
                  "What is left out, and what SITE may be: [cli.md](cli.md#ignored-findings).",                        \
                  GM_OPTION_TEXTS, GM_USUAL(ignore), .words = gm_ignore_words),                                        \
        GM_OPTION_ROW(0, "ignore-file", "FILE", "--ignore for each line of FILE; # begins a comment", GM_OPTION_TEXTS, \
                      GM_USUAL(ignore_files))
#define GM_ROW_QUIET(text) GM_OPTION_ROW('q', "quiet", NULL, text, GM_OPTION_FLAG, GM_USUAL(quiet))
#define GM_ROW_VERBOSE(text) GM_OPTION_ROW('v', "verbose", NULL, text, GM_OPTION_FLAG, GM_USUAL(verbose))
/* Of all programs, and at the end of the table. */
#define GM_ROWS_PAGES                                                                                                  \
    GM_OPTION_ROW(                                                                                                     \
        0, "manual", "FORM",                                                                                           \
        "print the manual: man, markdown (its options); or what completes a command line in bash, zsh or fish" GM_MORE \
        "An installation has all of them in their places.",                                                            \
        GM_OPTION_MANUAL, .offset = 0, .choices = gm_manual_forms),                                                    \
        GM_OPTION_ROW('h', "help", NULL, "print this page", GM_OPTION_HELP, .offset = 0),                              \
        GM_OPTION_ROW('V', "version", NULL, "print the version", GM_OPTION_VERSION, .offset = 0)

extern const char *const gm_manual_forms[]; /* enum gm_manual (analyze/cli/manual.h), then a NULL */

/* What there is to do: run, or print a page. */
struct gm_parsed {
    enum { GM_PARSED_RUN, GM_PARSED_HELP, GM_PARSED_VERSION, GM_PARSED_LIST, GM_PARSED_MANUAL } what;
    void (*list)(struct gm_text *out); /* of GM_PARSED_LIST */
    int form;                          /* of GM_PARSED_MANUAL: an enum gm_manual */
};

/* Parses argv[1 .. argc). Values go into *values (whose defaults the caller has set; a repeated option: the last one
 * counts). Options may stand anywhere; "--" ends them; "-" is an operand. Operands are moved, in order, to argv[0 ..
 * *operands). GM_E_USAGE with a message that names the option, and what was probably meant if it is unknown. */
enum gm_status gm_options_parse(const struct gm_program *program, int argc, char **argv, void *values, int *operands,
                                struct gm_parsed *parsed, struct gm_error *err);

/* The help page: at most 80 columns. */
void gm_options_help(const struct gm_program *program, struct gm_text *out);
