/* SPDX-License-Identifier: Apache-2.0
 *
 * The option parser with a table of its own, and the line that errors are printed as.
 */
#include "analyze/cli/manual.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "tests/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct values {
    const char *text;
    int64_t integer;
    uint64_t size;
    double percent;
    bool flag, other;
    int letters; /* one bit for each of a to z */
    enum { NOTHING, STACK, FILE_NAME, ROLE } choice;
    unsigned formats;
    const char *card;
};

static void list_cards(struct gm_text *out)
{
    gm_text_add(out, "cards\n");
}

static bool parse_letters(const char *text, void *value)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < 'a' || *at > 'z')
            return false;
        *(int *)value |= 1 << (*at - 'a');
    }
    return *text != '\0';
}

static const char *const choices[] = {"stack", "file", "role", NULL};
static const char *const formats[] = {"folded", "speedscope", "pprof", NULL};

#define AT(field) .offset = offsetof(struct values, field)

static const struct gm_option table[] = {
    {'t', "text", "T", "any text", GM_OPTION_TEXT, AT(text)},
    {'i', "integer", "N", "a whole number", GM_OPTION_INTEGER, AT(integer), .min = -5, .max = 5},
    {0, "size", "SIZE", "bytes", GM_OPTION_SIZE, AT(size)},
    {0, "percent", "P", "percent", GM_OPTION_PERCENT, AT(percent)},
    {'f', "flag", NULL, "a flag", GM_OPTION_FLAG, AT(flag)},
    {'g', "a-flag-with-a-very-long-name", NULL,
     "this text is long enough that it has to be broken into two lines somewhere about here", GM_OPTION_FLAG,
     AT(other)},
    {0, "letters", "LETTERS", "a set", GM_OPTION_PARSED, AT(letters), .parse = parse_letters, .wants = "as in abc"},
    {0, "group", "BY", "one of them", GM_OPTION_CHOICE, AT(choice), .min = STACK, .choices = choices},
    {0, "export", "FORMAT", "some of them", GM_OPTION_CHOICES, AT(formats), .choices = formats},
    {0, "card", "NAME", "a card", GM_OPTION_LISTED, AT(card), .list = list_cards},
    {'h', "help", NULL, "help", GM_OPTION_HELP, .offset = 0},
    {0, "version", NULL, "version", GM_OPTION_VERSION, .offset = 0},
};

static const struct gm_program program = {.name = "prog",
                                          .head = "HEAD\n",
                                          .tail = "TAIL\n",
                                          .options = table,
                                          .option_count = sizeof table / sizeof table[0]};

enum { MOST = 12 };

/* Parses the NULL-terminated words after the program's name; the operands are left in words[0 ..). */
static enum gm_status parse(char *words[MOST], struct values *values, int *operands, struct gm_parsed *parsed,
                            struct gm_error *err)
{
    int argc = 1;
    while (words[argc] != NULL)
        argc++;
    return gm_options_parse(&program, argc, words, values, operands, parsed, err);
}

static void expect_error(const char *message, const char *word1, const char *word2)
{
    char one[64], two[64];
    snprintf(one, sizeof one, "%s", word1);
    snprintf(two, sizeof two, "%s", word2 == NULL ? "" : word2);
    char name[] = "prog";
    char *words[MOST] = {name, one, word2 == NULL ? NULL : two};
    struct values values = {0};
    struct gm_error err = {0};
    int operands;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, &err), GM_E_USAGE);
    assert_int_equal(err.status, GM_E_USAGE);
    assert_string_equal(err.message, message);
}

TEST(values)
{
    char w0[] = "prog", w1[] = "one", w2[] = "--text=a=b", w3[] = "-i", w4[] = "-4", w5[] = "--size", w6[] = "1.5KiB",
         w7[] = "-ftx", w8[] = "--percent=12.5%", w9[] = "two";
    char *words[MOST] = {w0, w1, w2, w3, w4, w5, w6, w7, w8, w9};
    struct values values = {0};
    int operands = -1;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(parsed.what, GM_PARSED_RUN);
    assert_int_equal(operands, 2);
    assert_string_equal(words[0], "one");
    assert_string_equal(words[1], "two");
    assert_string_equal(values.text, "x"); /* the later of the two */
    assert_int_equal(values.integer, -4);
    assert_int_equal(values.size, 1536);
    assert_true(values.percent == 12.5);
    assert_true(values.flag);
    assert_false(values.other);
}

/* Each occurrence of an option with a parser of its own sees what those before it left. */
TEST(own_parser)
{
    char w0[] = "prog", w1[] = "--letters=ac", w2[] = "--letters", w3[] = "z";
    char *words[MOST] = {w0, w1, w2, w3};
    struct values values = {0};
    int operands = -1;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(values.letters, 1 | 4 | 1 << 25);
    assert_int_equal(operands, 0);
}

TEST(choices)
{
    char w0[] = "prog", w1[] = "--group=file", w2[] = "--export=pprof", w3[] = "--export", w4[] = "folded,folded";
    char *words[MOST] = {w0, w1, w2, w3, w4};
    struct values values = {0};
    int operands = -1;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(values.choice, FILE_NAME);
    assert_int_equal(values.formats, 1 | 4);
    expect_error("--group: '' is no BY (stack, file or role)", "--group=", NULL);
    expect_error("--group: 'stacks' is no BY (stack, file or role); did you mean 'stack'?", "--group", "stacks");
    expect_error("--group: 'file,role' is no BY (stack, file or role)", "--group", "file,role");
    static const char *const bad[] = {",", "folded,", ",folded"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char message[100];
        snprintf(message, sizeof message, "--export: '%s' is no FORMAT (folded, speedscope or pprof)", bad[i]);
        expect_error(message, "--export", bad[i]);
    }
    expect_error("--export: 'folded,prof' is no FORMAT (folded, speedscope or pprof); did you mean 'pprof'?",
                 "--export", "folded,prof");
}

TEST(ends)
{
    char w0[] = "prog", w1[] = "-", w2[] = "-f", w3[] = "--", w4[] = "-g", w5[] = "--";
    char *words[MOST] = {w0, w1, w2, w3, w4, w5};
    struct values values = {0};
    int operands = -1;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(operands, 3);
    assert_string_equal(words[0], "-");
    assert_string_equal(words[1], "-g");
    assert_string_equal(words[2], "--");
    assert_true(values.flag);
    assert_false(values.other);
}

TEST(help_stops_parsing)
{
    char w0[] = "prog", w1[] = "-fh", w2[] = "--unknown";
    char *words[MOST] = {w0, w1, w2};
    struct values values = {0};
    int operands;
    struct gm_parsed parsed;
    assert_int_equal(parse(words, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(parsed.what, GM_PARSED_HELP);
}

TEST(a_list_stops_parsing)
{
    char w0[] = "prog", w1[] = "--card", w2[] = "small", w3[] = "list", w4[] = "--unknown";
    char *named[MOST] = {w0, w1, w2}, *listed[MOST] = {w0, w1, w3, w4};
    struct values values = {0};
    int operands;
    struct gm_parsed parsed;
    assert_int_equal(parse(named, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(parsed.what, GM_PARSED_RUN);
    assert_string_equal(values.card, "small");
    assert_int_equal(parse(listed, &values, &operands, &parsed, NULL), GM_OK);
    assert_int_equal(parsed.what, GM_PARSED_LIST);
    assert_ptr_equal(parsed.list, list_cards);
}

TEST(errors)
{
    expect_error("unknown option --nope", "--nope=1", NULL);
    expect_error("unknown option -x", "-fx", NULL);
    expect_error("unknown option --tetx; did you mean '--text'?", "--tetx=--size", NULL);
    expect_error("unknown option --a_flag; did you mean '--a-flag-with-a-very-long-name'?", "--a_flag", NULL);
    expect_error("unknown option --Percents; did you mean '--percent'?", "--Percents", NULL);
    expect_error("--text needs an argument: T", "--text", NULL);
    expect_error("-t needs an argument: T", "-t", NULL);
    expect_error("--flag takes no argument", "--flag=yes", NULL);
    expect_error("--letters: 'a-c' is no LETTERS (as in abc)", "--letters=a-c", NULL);
    expect_error("--letters: '' is no LETTERS (as in abc)", "--letters", "");
    expect_error("-i: '6' is no whole number from -5 to 5", "-i6", NULL);
    expect_error("--integer: '' is no whole number from -5 to 5", "--integer=", NULL);
    expect_error("--integer: '+1' is no whole number from -5 to 5", "--integer", "+1");
    expect_error("--integer: '99999999999999999999' is no whole number from -5 to 5", "--integer",
                 "99999999999999999999");
    expect_error("--size: '12 parsecs' is no size (as in 512MiB or 70GiB)", "--size", "12 parsecs");
    expect_error("--percent: '100.1' is no percentage from 0 to 100", "--percent", "100.1");
    expect_error("--percent: '.' is no percentage from 0 to 100", "--percent", ".");
    expect_error("--percent: '1.2.3' is no percentage from 0 to 100", "--percent", "1.2.3");
    expect_error("--percent: '5%%' is no percentage from 0 to 100", "--percent", "5%%");
}

TEST(help_page)
{
    GM_FREED struct gm_text out = {0};
    gm_options_help(&program, &out);
    assert_false(out.failed);
    assert_string_equal(out.data, "HEAD\n"
                                  "  -t, --text T            any text\n"
                                  "  -i, --integer N         a whole number\n"
                                  "      --size SIZE         bytes\n"
                                  "      --percent P         percent\n"
                                  "  -f, --flag              a flag\n"
                                  "  -g, --a-flag-with-a-very-long-name\n"
                                  "                          this text is long enough that it has to be broken into\n"
                                  "                          two lines somewhere about here\n"
                                  "      --letters LETTERS   a set\n"
                                  "      --group BY          one of them\n"
                                  "      --export FORMAT     some of them\n"
                                  "      --card NAME         a card\n"
                                  "  -h, --help              help\n"
                                  "      --version           version\n"
                                  "TAIL\n");
}

TEST(messages)
{
    const struct gm_terminal plain = {.program = "prog"};
    const struct gm_terminal bright = {.program = "prog", .is_tty = true, .has_colour = true};
    struct gm_error err = {.status = GM_E_CORRUPT, .offset = 123, .message = "a bad thing"};
    GM_FREED struct gm_text out = {0};
    gm_message_add_error(&out, &plain, "dir/a\nb\x1b[2J", &err);
    err.offset = GM_NO_OFFSET;
    gm_message_add_error(&out, &plain, NULL, &err);
    gm_message_add(&out, &bright, GM_MESSAGE_ERROR, "x", "%d %s", 5, "\r");
    assert_string_equal(out.data, "prog: dir/a\\x0ab\\x1b[2J: a bad thing (at byte 123)\n"
                                  "prog: a bad thing\n"
                                  "\x1b[1;31mprog:\x1b[0m x: 5 \\x0d\n");
}

TEST(write_all)
{
    struct gm_error err = {0};
    assert_int_equal(gm_write_file("/dev/full", "x", 1, &err), GM_E_WRITE);
    assert_string_equal(err.message, "/dev/full: cannot write: No space left on device");
    assert_int_equal(gm_write_file("/nowhere/at/all", "x", 1, &err), GM_E_WRITE);
    assert_int_equal(gm_write_file("/dev/null", "x", 1, NULL), GM_OK);
}

/* What a program says of itself, with all that has a meaning of its own in one of the forms. */
static const struct gm_option told[] = {
    {'x', "x-y", "A[:B]", "it's \"a\" | b [c]" GM_MORE ".5 \\ of `x-y`: [a page](page.md#a).", GM_OPTION_TEXT, AT(text),
     .words = list_cards},
    {0, "flag", NULL, ".dot", GM_OPTION_FLAG, AT(flag)},
};
static const struct gm_program teller = {
    .name = "prog",
    .head = "prog: tells things\n\nExamples:\n  prog -x .\\e\n\nUsage: prog [options] FILE\n"
            "  FILE  one of them,\n        or\n\nOptions:\n",
    .tail = "      --  end\n\nA note.\n\nExit codes: 0 done; 3 not;\nnever.\n",
    .options = told,
    .option_count = 2};

static void assert_manual(enum gm_manual form, const char *const *parts)
{
    GM_FREED struct gm_text out = {0};
    gm_manual(&teller, form, &out);
    assert_false(out.failed);
    for (; *parts != NULL; parts++)
        if (strstr(out.data, *parts) == NULL)
            fail_msg("form %d lacks %s\n%s", form, *parts, out.data);
}

TEST(manual)
{
    assert_manual(GM_MANUAL_MAN,
                  (const char *const[]){".TH PROG 1 ", "\nprog \\- tells things\n",
                                        "\n.TP\n\\fIFILE\\fR\none of them, or\n", "\n.PP\nA note.\n",
                                        "\n.TP\n\\fB\\-x A[:B]\\fR, \\fB\\-\\-x\\-y A[:B]\\fR\n",
                                        "\nit's \"a\" | b [c]. .5 \\e of \\fBx\\-y\\fR: a page.\n", "\n\\&.dot\n",
                                        ".TP\n0\ndone\n.TP\n3\nnot; never.\n", ".EX\n  prog \\-x .\\ee\n.EE\n", NULL});
    assert_manual(GM_MANUAL_MARKDOWN,
                  (const char *const[]){"| `-x A[:B]`, `--x-y A[:B]` | it's \"a\" \\| b [c]. .5 \\ of `x-y`: [a "
                                        "page](page.md#a). |\n",
                                        "| `--flag` | .dot |\n", NULL});
    assert_manual(GM_MANUAL_BASH,
                  (const char *const[]){"complete -F _prog prog\n", "    -x | --x-y) kind=words words=( 'cards' ) ;;\n",
                                        "words=( --x-y --flag )", NULL});
    assert_manual(GM_MANUAL_ZSH,
                  (const char *const[]){"#compdef prog\n", "'(-x --x-y)'{-x+,--x-y=}'[it'\\''s \"a\" | b \\[c\\]]",
                                        ":A[\\:B]:{_prog_argument --x-y}' \\\n", "'--flag[.dot]' \\\n", NULL});
    assert_manual(GM_MANUAL_FISH,
                  (const char *const[]){"complete -c prog -l x-y -s x -x -a ' \"cards\"' -d 'it'\\''s \"a\" | b [c]'\n",
                                        "complete -c prog -l flag -d '.dot'\n", NULL});
}
