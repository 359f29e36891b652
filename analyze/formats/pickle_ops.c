/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/pickle_ops.h"

static const struct {
    const char *name;
    unsigned char argument, width;
} ops[256] = {
#define X(op, byte, arg, bytes) [byte] = {.name = #op, .argument = GM_ARG_##arg, .width = bytes},
    GM_OP_MAP(X)
#undef X
};

const char *gm_op_name(unsigned op)
{
    return op < 256 && ops[op].name != NULL ? ops[op].name : "unknown";
}

bool gm_op_is_refused(unsigned op)
{
    return op < 256 && ops[op].argument == GM_ARG_REFUSED;
}

unsigned gm_op_length_width(unsigned op)
{
    return op < 256 ? ops[op].width : 0;
}

bool gm_op_is_complete(const unsigned char *p, size_t n)
{
    if (n == 0)
        return false;
    size_t width = ops[p[0]].width;
    if (n < 1 + width)
        return false;
    return ops[p[0]].argument != GM_ARG_COUNTED || width != 1 || n >= 2 + (size_t)p[1];
}
