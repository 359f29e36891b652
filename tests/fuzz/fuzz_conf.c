/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings parser: an error leaves the settings alone and says so in one clean line; what is accepted comes out the
 * same when it is written as text and read again.
 */
#include "analyze/allocator/conf.h"
#include "analyze/base/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_message(const struct gm_error *err)
{
    char clean[sizeof err->message];
    gm_fuzz_must(err->status == GM_E_USAGE && err->message[0] != '\0', "an error says what is wrong");
    gm_utf8_clean_line(clean, sizeof clean, err->message, strlen(err->message));
    gm_fuzz_must(strcmp(clean, err->message) == 0, "its text is one clean line");
    for (const char *c = err->message; *c != '\0'; c++)
        gm_fuzz_must(*c == '\t' || (unsigned char)*c >= ' ', "without control characters");
}

static void check_ranges(const struct gm_conf *c)
{
    const uint64_t mib = 1 << 20;
    gm_fuzz_must(c->rules.large_segment > 10 * mib && c->rules.large_segment % mib == 0, "large_segment_size_mb");
    gm_fuzz_must(c->rules.max_split >= 20 * mib || c->rules.max_split >= c->rules.large_segment, "max_split_size_mb");
    gm_fuzz_must(c->max_non_split_rounding >= c->rules.large_segment || c->max_non_split_rounding >= 20 * mib,
                 "max_non_split_rounding_mb");
    gm_fuzz_must(c->gc_threshold >= 0 && c->gc_threshold < 1, "garbage_collection_threshold");
    gm_fuzz_must(c->memory_fraction >= 0 && c->memory_fraction <= 1, "per_process_memory_fraction");
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        gm_fuzz_must((c->rules.roundup[i] & (c->rules.roundup[i] - 1)) == 0, "divisions are powers of two");
}

/* The text of the settings, which is read again into *again. */
static struct gm_text written(const struct gm_conf *conf, struct gm_conf *again)
{
    struct gm_text text = {0};
    struct gm_error err = {0};
    gm_conf_text(&text, conf);
    gm_fuzz_must(!text.failed, "memory");
    *again = gm_conf_default();
    enum gm_status status = gm_conf_parse(again, text.length == 0 ? "" : text.data, text.length, NULL, &err);
    if (status != GM_OK)
        fprintf(stderr, "%s\n", text.data);
    gm_fuzz_must(status == GM_OK, status == GM_OK ? "" : err.message);
    return text;
}

/* A recorded text is read as far as it can be: all of it if it is good. */
static void check_recorded(const char *bytes, size_t size, const struct gm_conf *before, const struct gm_conf *good)
{
    struct gm_conf conf = *before;
    GM_FREED struct gm_text odd = {0};
    gm_conf_read(&conf, bytes, size, &odd);
    check_ranges(&conf);
    gm_fuzz_must(good == NULL || gm_conf_equal(&conf, good), "good settings are read alike");
    gm_fuzz_must(good != NULL || odd.length > 0, "what is left out is said");
}

static void check(const char *bytes, size_t size, const struct gm_conf *before)
{
    struct gm_conf conf, again, third;
    struct gm_error err = {0};
    struct gm_text unknown = {0};
    memcpy(&conf, before, sizeof conf); /* with its padding */
    if (gm_conf_parse(&conf, bytes, size, &unknown, &err) != GM_OK) {
        gm_fuzz_must(memcmp(&conf, before, sizeof conf) == 0, "an error changes nothing");
        check_message(&err);
        gm_text_free(&unknown);
        check_recorded(bytes, size, before, NULL);
        return;
    }
    gm_text_free(&unknown);
    check_recorded(bytes, size, before, &conf);
    check_ranges(&conf);
    struct gm_text first = written(&conf, &again);
    gm_fuzz_must(gm_conf_equal(&conf, &again), "what was written is read as it was");
    struct gm_text second = written(&again, &third);
    gm_fuzz_must(first.length == second.length &&
                     (first.length == 0 || memcmp(first.data, second.data, first.length) == 0),
                 "and written as it was");
    gm_text_free(&first);
    gm_text_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char other[] = "max_split_size_mb:200,expandable_segments:True,per_process_memory_fraction:0.5";
    struct gm_conf conf = gm_conf_default();
    GM_FREED char *bytes = malloc(size + 1);
    gm_fuzz_must(bytes != NULL, "memory");
    if (size > 0)
        memcpy(bytes, data, size);
    check(bytes, size, &conf);
    gm_fuzz_must(gm_conf_parse(&conf, other, sizeof other - 1, NULL, NULL) == GM_OK, "good settings");
    check(bytes, size, &conf); /* while it runs */
    return 0;
}
