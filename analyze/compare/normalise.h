/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a frame tells whether two runs mean the same place: see docs/diff.md.
 */
#ifndef GM_COMPARE_NORMALISE_H
#define GM_COMPARE_NORMALISE_H

#include "analyze/base/text.h"

#include <stdbool.h>

/* Appends the function's name: of C++ without template arguments, hexadecimal addresses, and what compilers append
 * (" [clone ...]", ".llvm.123", ".isra.0" ...). Python's names stay as they are, but for addresses and the line
 * in "torch_dynamo_resume_in_f_at_88". */
void gm_normalise_name(struct gm_text *out, const char *name, bool is_python);
/* Appends the file's name without its folders; what is generated under a new name each time (notebook cells, compiled
 * kernels) under one name. */
void gm_normalise_file(struct gm_text *out, const char *filename);

#endif
