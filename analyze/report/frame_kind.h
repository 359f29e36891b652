/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of frame one is, by its names as a report shows them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of strings that are asked about often: all that follows, at once. */
enum { GM_FILE_IS_PYTHON = 1, GM_FILE_IS_TORCH = 2, GM_FILE_IS_NOISE = 4, GM_FILE_IS_INSTALLED = 8 };
unsigned gm_file_kind(const char *filename);
/* Where the name of the package begins that a file was installed with, beside Python or anywhere else if it is one that
 * many train with; NULL: it is none. A name ends with the next slash or backslash. */
const char *gm_file_package(const char *filename);
/* The last parts of a path, of Windows, too; and the file's name, the last one. */
const char *gm_path_last(const char *path, int parts);
const char *gm_path_base(const char *path);
/* A copy with slashes, what of it has room in n characters: rules know paths so, whatever system they are of. */
const char *gm_path_with_slashes(char *out, size_t n, const char *path);
bool gm_name_is_noise(const char *name);
/* Bytes of a C++ name without its parameters, which are long and say little; of others all. */
size_t gm_name_length(const char *name);

/* A frame of Python code, whoever wrote it. */
bool gm_frame_is_python(const char *filename);
/* Code that torch.compile wrote: in a folder of that name, or in any that was chosen, under a hash that begins with its
 * folder's name: "kr/ckr2cvpc....py". */
bool gm_frame_is_compiled(const char *filename);
/* A frame of the unwinder, of the interpreter or of operator dispatch that tells nothing: those that PyTorch's own
 * viewer hides, and more of the interpreter. Frames of Python code are never noise. */
bool gm_frame_is_noise(const char *name, const char *filename);

/* What a frame tells of a program: nothing (the interpreter, the dispatcher, the allocator, how modules are called), or
 * something, and whose code it is. NULL is "". */
enum gm_frame_worth { GM_WORTH_NOISE, GM_WORTH_NATIVE, GM_WORTH_LIBRARY, GM_WORTH_OWN };
enum gm_frame_worth gm_frame_worth(const char *name, const char *file);
/* The same of a flame graph's node: words in parentheses, which stand for frames that are not there, tell as much as
 * any. */
enum gm_frame_worth gm_flame_worth(const char *name, const char *file);
