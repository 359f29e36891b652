/* SPDX-License-Identifier: Apache-2.0 */
#include "render/page/core/answer.h"

#include "analyze/base/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 48 };

static struct {
    struct gm_arena arena;
    struct gm_page_array arrays[ARRAYS];
    struct gm_page_result result;
    bool failed;
    char error[sizeof((struct gm_error *)NULL)->message + GM_ERROR_PLACE];
} answer;

void gm_answer_begin(void)
{
    gm_arena_free(&answer.arena);
    answer.result = (struct gm_page_result){0, answer.arrays};
    answer.failed = false;
    answer.error[0] = '\0';
}

void *gm_answer_memory(size_t count, size_t size)
{
    void *memory = gm_arena_calloc(&answer.arena, count == 0 ? 1 : count, size);
    answer.failed |= memory == NULL;
    return memory;
}

static void put(const char *name, enum gm_page_type type, const void *data, size_t count)
{
    answer.failed |= data == NULL || count > UINT32_MAX || answer.result.array_count == ARRAYS;
    if (!answer.failed)
        answer.arrays[answer.result.array_count++] =
            (struct gm_page_array){.name = name, .type = type, .data = data, .count = (uint32_t)count};
}

void *gm_answer_add(const char *name, enum gm_page_type type, size_t count)
{
    static const size_t sizes[] = {
        [GM_PAGE_U8] = 1, [GM_PAGE_U32] = 4, [GM_PAGE_I32] = 4, [GM_PAGE_F64] = 8, [GM_PAGE_TEXT] = 1};
    void *data = gm_answer_memory(count, sizes[type]);
    put(name, type, data, count);
    return data;
}

bool gm_answer_is_whole(void)
{
    return !answer.failed;
}

void gm_answer_number(const char *name, double value)
{
    double *at = gm_answer_add(name, GM_PAGE_F64, 1);
    if (at != NULL)
        *at = value;
}

void gm_answer_u32(const char *name, uint32_t value)
{
    uint32_t *at = gm_answer_add(name, GM_PAGE_U32, 1);
    if (at != NULL)
        *at = value;
}

void gm_answer_flag(const char *name, bool value)
{
    uint8_t *at = gm_answer_add(name, GM_PAGE_U8, 1);
    if (at != NULL)
        *at = value;
}

void gm_answer_text(const char *name, const char *text)
{
    const size_t length = text == NULL ? 0 : strlen(text);
    char *at = gm_answer_add(name, GM_PAGE_TEXT, length);
    if (at != NULL && length > 0)
        memcpy(at, text, length);
}

void gm_answer_put(struct gm_answer_list *list, const char *text)
{
    list->failed |= list->bytes.length > UINT32_MAX || !GM_VEC_PUSH(&list->starts, (uint32_t)list->bytes.length);
    gm_text_add(&list->bytes, text == NULL ? "" : text);
}

void gm_answer_strings(const char *name, struct gm_answer_list *list)
{
    const size_t count = list->starts.n, starts = (count + 1) * sizeof(uint32_t);
    uint32_t *data = list->failed || list->bytes.failed || list->bytes.length > UINT32_MAX
                         ? NULL
                         : gm_answer_memory(1, starts + list->bytes.length);
    if (data != NULL) {
        if (count > 0)
            memcpy(data, list->starts.v, count * sizeof *data);
        data[count] = (uint32_t)list->bytes.length;
        if (list->bytes.length > 0)
            memcpy(data + count + 1, list->bytes.data, list->bytes.length);
    }
    put(name, GM_PAGE_STRINGS, data, count);
    free(list->starts.v);
    gm_text_free(&list->bytes);
    *list = (struct gm_answer_list){0};
}

const struct gm_page_result *gm_answer_refuse(const char *why)
{
    snprintf(answer.error, sizeof answer.error, "%s", why);
    return NULL;
}

const struct gm_page_result *gm_answer_no_memory(void)
{
    return gm_answer_refuse(
        "it needs more memory than the 4 GiB of a page; a part of it may do: gmanalyze --from/--to, or "
        "gmanalyze without the page");
}

const struct gm_page_result *gm_answer_fail(const struct gm_error *err)
{
    char place[GM_ERROR_PLACE];
    if (err->status == GM_E_NOMEM)
        return gm_answer_no_memory();
    snprintf(answer.error, sizeof answer.error, "%s%s", err->message, gm_error_place(place, err));
    return NULL;
}

const struct gm_page_result *gm_answer_end(void)
{
    return answer.failed ? gm_answer_no_memory() : &answer.result;
}

const char *gm_page_error(void)
{
    return answer.error;
}

double gm_answer_of(uint64_t value)
{
    return value == UINT64_MAX ? (double)NAN : (double)value;
}

const struct gm_page_result *gm_answer_json(struct gm_text *json)
{
    char *at = json->failed ? NULL : gm_answer_add("json", GM_PAGE_TEXT, json->length);
    if (at != NULL && json->length > 0)
        memcpy(at, json->data, json->length);
    const bool failed = json->failed;
    gm_text_free(json);
    return failed ? gm_answer_no_memory() : gm_answer_end();
}
