/* SPDX-License-Identifier: Apache-2.0
 *
 * How the core answers: the arrays of a result, which live until the next question, and the reason if there is none.
 * The only thing here that is global: a page has one core, and one thread.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "render/page/core/page_core.h"

/* Forgets the answer before. Every exported question begins with it, or with gm_opened_device. */
void gm_answer_begin(void);
/* Zeroed room for `count` elements of a type that is not STRINGS; NULL: there is no memory, and gm_answer_end will
 * tell. */
void *gm_answer_add(const char *name, enum gm_page_type type, size_t count);
/* Whether there was room for all that was added. */
bool gm_answer_is_whole(void);
/* Arrays of one element. */
void gm_answer_number(const char *name, double value);
void gm_answer_u32(const char *name, uint32_t value);
void gm_answer_flag(const char *name, bool value);
void gm_answer_text(const char *name, const char *text); /* NULL is "" */

/* A list of strings that grows; zero-initialise it. gm_answer_strings takes it over, and it is empty again. */
struct gm_answer_list {
    struct GM_VEC(uint32_t) starts;
    struct gm_text bytes;
    bool failed;
};
void gm_answer_put(struct gm_answer_list *list, const char *text); /* NULL is "" */
void gm_answer_strings(const char *name, struct gm_answer_list *list);

/* Zeroed memory that lives as long as the answer; NULL: as above. */
void *gm_answer_memory(size_t count, size_t size);

/* The answer; NULL if there was no memory for it. */
const struct gm_page_result *gm_answer_end(void);
/* The answer `json`, whose memory it takes over. */
const struct gm_page_result *gm_answer_json(struct gm_text *json);
/* No answer, and why. Evaluates to NULL. */
const struct gm_page_result *gm_answer_refuse(const char *why);
const struct gm_page_result *gm_answer_fail(const struct gm_error *err);
const struct gm_page_result *gm_answer_no_memory(void);

/* Bytes or a time for JavaScript. UINT64_MAX (GM_REPORT_NONE, GM_ABSENT) is NaN. */
double gm_answer_of(uint64_t value);
