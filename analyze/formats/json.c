/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/decoders.h"

#include "analyze/formats/json_scan.h"

static enum gm_status take_number(const struct gm_json_token *t, struct gm_assembler *a, struct gm_error *err)
{
    double real;
    if (t->number.kind == GM_JSON_INTEGER)
        return gm_assembler_integer(a, t->number.magnitude, t->number.is_negative, t->at, err);
    if (!gm_json_number_real(t->text, t->length, &real))
        return gm_no_memory(err);
    return gm_assembler_real(a, real, t->at, err);
}

static enum gm_status take(const struct gm_json_token *t, struct gm_assembler *a, struct gm_error *err)
{
    switch (t->kind) {
    case GM_TOKEN_BEGIN_DICT:
    case GM_TOKEN_BEGIN_LIST:
        return gm_assembler_begin(a, t->kind == GM_TOKEN_BEGIN_DICT, t->at, err);
    case GM_TOKEN_END_DICT:
    case GM_TOKEN_END_LIST:
        return gm_assembler_end(a, t->kind == GM_TOKEN_END_DICT, t->at, err);
    case GM_TOKEN_KEY:
    case GM_TOKEN_STRING:
        return gm_assembler_string(a, t->text, t->length, t->at, err);
    case GM_TOKEN_NUMBER:
        return take_number(t, a, err);
    case GM_TOKEN_SPECIAL:
        return gm_assembler_real(a, t->special, t->at, err);
    case GM_TOKEN_TRUE:
    case GM_TOKEN_FALSE:
        return gm_assembler_bool(a, t->kind == GM_TOKEN_TRUE, t->at, err);
    case GM_TOKEN_NULL:
        return gm_assembler_null(a, t->at, err);
    case GM_TOKEN_DONE:
        break;
    }
    return GM_OK;
}

enum gm_status gm_json_decode(struct gm_source *source, struct gm_decoded *out, struct gm_error *err)
{
    struct gm_json_scan json = {.source = source};
    struct gm_json_token token;
    enum gm_status status;
    do
        status = gm_json_next(&json, &token, err);
    while (status == GM_OK && token.kind != GM_TOKEN_DONE && (status = take(&token, out->values, err)) == GM_OK);
    gm_json_scan_free(&json);
    return status;
}
