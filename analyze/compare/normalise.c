/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/compare/summary_work.h"

#include "analyze/base/ascii.h"

#include <string.h>

static bool is_hex(char c)
{
    return gm_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The length of an address at s, "0x7f3a": its digits are not told. */
static size_t address_length(const char *s)
{
    if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X') || !is_hex(s[2]))
        return 0;
    size_t n = 2;
    while (is_hex(s[n]))
        n++;
    return n;
}

/* Where the name ends if what compilers append to a symbol is left out. */
static size_t end_of_name(const char *name)
{
    static const char *const marks[] = {" [clone ", ".llvm.",     ".isra.", ".constprop.",
                                        ".part.",   ".lto_priv.", ".cold",  NULL};
    size_t n = strlen(name);
    for (size_t i = 0; marks[i] != NULL; i++) {
        const char *found = strstr(name, marks[i]);
        if (found != NULL && found != name && (size_t)(found - name) < n)
            n = (size_t)(found - name);
    }
    return n;
}

/* Where the name ends if the line is left out that torch.compile appends to the second half of a function:
 * "torch_dynamo_resume_in_forward_at_88". */
static size_t end_of_python_name(const char *name)
{
    static const char resumed[] = "torch_dynamo_resume_in_", at[] = "_at_";
    const size_t n = strlen(name);
    size_t end = n;
    while (end > 0 && gm_is_digit(name[end - 1]))
        end--;
    const bool has_line = end < n && strncmp(name, resumed, sizeof resumed - 1) == 0 && gm_ends_with(name, end, at);
    return has_line ? end - (sizeof at - 1) : n;
}

void gm_normalise_name(struct gm_text *out, const char *name, bool is_python)
{
    size_t n = is_python ? end_of_python_name(name) : end_of_name(name), depth = 0;
    for (size_t i = 0; i < n;) {
        size_t address = address_length(name + i);
        if (address > 0 && depth == 0)
            gm_text_add(out, "0x");
        if (address > 0) {
            i += address;
            continue;
        }
        const char c = name[i];
        bool opens = !is_python && c == '<' &&
                     (depth > 0 || !(gm_ends_with(name, i, "operator") || gm_ends_with(name, i, "operator<")));
        bool closes = c == '>' && depth > 0 && name[i - 1] != '-';
        depth += opens;
        if (depth == 0)
            gm_text_add_char(out, c);
        depth -= closes;
        i++;
    }
}

void gm_normalise_file(struct gm_text *out, const char *filename)
{
    static const char generated[] = "<eval_with_key>"; /* of torch.fx, with a number */
    if (strstr(filename, "torchinductor_") != NULL)
        gm_text_add(out, "<compiled>");
    else if (strstr(filename, "ipykernel_") != NULL || strstr(filename, "ipython-input-") != NULL)
        gm_text_add(out, "<notebook>");
    else if (strncmp(filename, generated, sizeof generated - 1) == 0)
        gm_text_add(out, generated);
    else {
        const char *file = filename;
        for (const char *s = filename; *s != '\0'; s++)
            if (*s == '/' || *s == '\\')
                file = s + 1;
        gm_text_add(out, file);
    }
}
