/* SPDX-License-Identifier: Apache-2.0
 *
 * The pickle opcodes, protocols 0 to 5: byte, name, and what follows (facts: Python's pickletools documentation).
 */
#pragma once

#include "analyze/formats/assemble_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What follows an opcode: nothing; N bytes; a line of text; a length of 1, 4 or 8 bytes and so many bytes. An opcode
 * marked REFUSED would import, call or look up something. */
enum gm_op_argument { GM_ARG_BYTES, GM_ARG_LINE, GM_ARG_COUNTED, GM_ARG_REFUSED };

#define GM_OP_MAP(X)                                                                                                   \
    X(MARK, 0x28, BYTES, 0)                                                                                            \
    X(STOP, 0x2e, BYTES, 0)                                                                                            \
    X(POP, 0x30, BYTES, 0)                                                                                             \
    X(POP_MARK, 0x31, BYTES, 0)                                                                                        \
    X(DUP, 0x32, BYTES, 0)                                                                                             \
    X(FLOAT, 0x46, LINE, 0)                                                                                            \
    X(INT, 0x49, LINE, 0)                                                                                              \
    X(BININT, 0x4a, BYTES, 4)                                                                                          \
    X(BININT1, 0x4b, BYTES, 1)                                                                                         \
    X(LONG, 0x4c, LINE, 0)                                                                                             \
    X(BININT2, 0x4d, BYTES, 2)                                                                                         \
    X(NONE, 0x4e, BYTES, 0)                                                                                            \
    X(STRING, 0x53, LINE, 0)                                                                                           \
    X(BINSTRING, 0x54, COUNTED, 4)                                                                                     \
    X(SHORT_BINSTRING, 0x55, COUNTED, 1)                                                                               \
    X(UNICODE, 0x56, LINE, 0)                                                                                          \
    X(BINUNICODE, 0x58, COUNTED, 4)                                                                                    \
    X(APPEND, 0x61, BYTES, 0)                                                                                          \
    X(DICT, 0x64, BYTES, 0)                                                                                            \
    X(EMPTY_DICT, 0x7d, BYTES, 0)                                                                                      \
    X(APPENDS, 0x65, BYTES, 0)                                                                                         \
    X(GET, 0x67, LINE, 0)                                                                                              \
    X(BINGET, 0x68, BYTES, 1)                                                                                          \
    X(LONG_BINGET, 0x6a, BYTES, 4)                                                                                     \
    X(LIST, 0x6c, BYTES, 0)                                                                                            \
    X(EMPTY_LIST, 0x5d, BYTES, 0)                                                                                      \
    X(PUT, 0x70, LINE, 0)                                                                                              \
    X(BINPUT, 0x71, BYTES, 1)                                                                                          \
    X(LONG_BINPUT, 0x72, BYTES, 4)                                                                                     \
    X(SETITEM, 0x73, BYTES, 0)                                                                                         \
    X(TUPLE, 0x74, BYTES, 0)                                                                                           \
    X(EMPTY_TUPLE, 0x29, BYTES, 0)                                                                                     \
    X(SETITEMS, 0x75, BYTES, 0)                                                                                        \
    X(BINFLOAT, 0x47, BYTES, 8)                                                                                        \
    X(PROTO, 0x80, BYTES, 1)                                                                                           \
    X(TUPLE1, 0x85, BYTES, 0)                                                                                          \
    X(TUPLE2, 0x86, BYTES, 0)                                                                                          \
    X(TUPLE3, 0x87, BYTES, 0)                                                                                          \
    X(NEWTRUE, 0x88, BYTES, 0)                                                                                         \
    X(NEWFALSE, 0x89, BYTES, 0)                                                                                        \
    X(LONG1, 0x8a, COUNTED, 1)                                                                                         \
    X(LONG4, 0x8b, COUNTED, 4)                                                                                         \
    X(BINBYTES, 0x42, COUNTED, 4)                                                                                      \
    X(SHORT_BINBYTES, 0x43, COUNTED, 1)                                                                                \
    X(SHORT_BINUNICODE, 0x8c, COUNTED, 1)                                                                              \
    X(BINUNICODE8, 0x8d, COUNTED, 8)                                                                                   \
    X(BINBYTES8, 0x8e, COUNTED, 8)                                                                                     \
    X(EMPTY_SET, 0x8f, BYTES, 0)                                                                                       \
    X(ADDITEMS, 0x90, BYTES, 0)                                                                                        \
    X(FROZENSET, 0x91, BYTES, 0)                                                                                       \
    X(MEMOIZE, 0x94, BYTES, 0)                                                                                         \
    X(FRAME, 0x95, BYTES, 8)                                                                                           \
    X(BYTEARRAY8, 0x96, COUNTED, 8)                                                                                    \
    X(GLOBAL, 0x63, REFUSED, 0)                                                                                        \
    X(STACK_GLOBAL, 0x93, REFUSED, 0)                                                                                  \
    X(REDUCE, 0x52, REFUSED, 0)                                                                                        \
    X(BUILD, 0x62, REFUSED, 0)                                                                                         \
    X(INST, 0x69, REFUSED, 0)                                                                                          \
    X(OBJ, 0x6f, REFUSED, 0)                                                                                           \
    X(NEWOBJ, 0x81, REFUSED, 0)                                                                                        \
    X(NEWOBJ_EX, 0x92, REFUSED, 0)                                                                                     \
    X(EXT1, 0x82, REFUSED, 0)                                                                                          \
    X(EXT2, 0x83, REFUSED, 0)                                                                                          \
    X(EXT4, 0x84, REFUSED, 0)                                                                                          \
    X(PERSID, 0x50, REFUSED, 0)                                                                                        \
    X(BINPERSID, 0x51, REFUSED, 0)                                                                                     \
    X(NEXT_BUFFER, 0x97, REFUSED, 0)                                                                                   \
    X(READONLY_BUFFER, 0x98, REFUSED, 0)

enum gm_op {
#define X(name, byte, argument, width) GM_OP_##name = byte,
    GM_OP_MAP(X)
#undef X
};

const char *gm_op_name(unsigned op); /* "unknown" for a byte that is no opcode */
bool gm_op_is_refused(unsigned op);
unsigned gm_op_length_width(unsigned op); /* of GM_ARG_COUNTED: 1, 4 or 8 */
/* Whether the opcode at p[0..n) and its fixed arguments are all there. The bytes that a length of 4 or 8 bytes
 * announces need not be; nor does the end of a line. Unknown and refused opcodes need only themselves. */
bool gm_op_is_complete(const unsigned char *p, size_t n);

/* Reads the event, block or frame that begins at p, with an EMPTY_DICT, if it is like one before and nothing about it
 * is odd, and makes its row: returns where it ends and sets *ref. NULL: nothing was done, the plain way is to read it.
 * Before `stop` all opcodes are complete; `room` is that of the stack. */
const unsigned char *gm_pickle_row(struct gm_assembler *a, const unsigned char *p, const unsigned char *stop,
                                   size_t room, uint32_t *ref);

/* The arguments of protocol 0, which are lines of text. */

bool gm_pickle_text_index(const unsigned char *s, size_t n, uint64_t *index);
/* INT: decimal, or 00 and 01 for False and True; LONG: decimal with an optional final L. */
bool gm_pickle_text_integer(const unsigned char *s, size_t n, bool is_int, struct gm_read_value *value);
/* A decimal number as repr() writes it, nan and inf included; whatever the locale. */
bool gm_pickle_text_real(const unsigned char *s, size_t n, double *value);
/* UNICODE: Latin-1 bytes with \uXXXX and \UXXXXXXXX; out gets UTF-8 and needs 3 * n + 1 bytes. A lone surrogate
 * becomes U+FFFD. */
bool gm_pickle_text_unicode(const unsigned char *s, size_t n, unsigned char *out, size_t *length);
/* STRING: quoted, with backslash escapes; the bytes as they are. */
bool gm_pickle_text_string(const unsigned char *s, size_t n, unsigned char *out, size_t *length);
