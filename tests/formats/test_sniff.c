/* SPDX-License-Identifier: Apache-2.0
 *
 * What files are, by their first bytes.
 */
#include "analyze/formats/decoders.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

#define ROW(bytes, content)                                                                                            \
    {                                                                                                                  \
        bytes, sizeof bytes - 1, content, NULL                                                                         \
    }
#define BAD(bytes, message)                                                                                            \
    {                                                                                                                  \
        bytes, sizeof bytes - 1, -1, message                                                                           \
    }

static const struct {
    const char *bytes;
    size_t n;
    int content;
    const char *message; /* a part of it */
} rows[] = {
    ROW("\x80\002}q\000.", GM_CONTENT_PICKLE),
    ROW("\x80\005\x95", GM_CONTENT_PICKLE),
    ROW("\x80", GM_CONTENT_PICKLE),
    ROW("}q\000(", GM_CONTENT_PICKLE),
    ROW("}.", GM_CONTENT_PICKLE),
    ROW("]q\000.", GM_CONTENT_PICKLE),
    ROW("(dp0\n", GM_CONTENT_PICKLE),
    ROW("(lp1\n", GM_CONTENT_PICKLE),
    ROW("(dS'segments'\n", GM_CONTENT_PICKLE),
    ROW("(d.", GM_CONTENT_PICKLE),
    ROW("cos\nsystem\n(S'x'\ntR.", GM_CONTENT_PICKLE), /* so that the decoder names what it refuses */
    ROW("(ios\nsystem\n.", GM_CONTENT_PICKLE),
    ROW("(cos\nsystem\no.", GM_CONTENT_PICKLE),
    ROW("{\"segments\": []}", GM_CONTENT_JSON),
    ROW("{", GM_CONTENT_JSON),
    ROW("[]", GM_CONTENT_JSON),
    ROW(" \n\t\r{}", GM_CONTENT_JSON),
    ROW("\xef\xbb\xbf {}", GM_CONTENT_JSON),
    ROW("{\"segments\": [{\"frames\": [{\"name\": \"traceEvents\"}]}], \"traceEvents\": 1}", GM_CONTENT_JSON),
    ROW("<!DOCTYPE html>", GM_CONTENT_HTML),
    ROW("\n<html>", GM_CONTENT_HTML),
    ROW("\xef\xbb\xbf<html>", GM_CONTENT_HTML),
    ROW("\x1f\x8b\010", GM_CONTENT_GZIP),
    ROW("\x28\xb5\x2f\xfd\0", GM_CONTENT_ZSTD),
    ROW("\x51\x2a\x4d\x18\0\0\0\0", GM_CONTENT_ZSTD),
    BAD("", "it is empty"),
    BAD("\0\0\0\0", "zero bytes only"),
    ROW("{\"schemaVersion\": 1, \"traceEvents\": []}", GM_CONTENT_KINETO),
    ROW("{\n  \"traceEvents\": [", GM_CONTENT_KINETO),
    ROW("[{\"ph\": \"X\", \"ts\": 1}]", GM_CONTENT_KINETO),
    BAD("{\"schema\":\"gmanalyze.analysis/1\"", "result of gmanalyze"),
    BAD("PK\003\004....", "a zip archive (a torch.save checkpoint?)"),
    BAD("\177ELF\002", "an ELF program"),
    BAD("\375"
        "7zXZ\0\0",
        "xz-compressed"),
    BAD("BZh91AY", "bzip2-compressed"),
    BAD("\004\"M\030dp", "lz4-compressed"),
    BAD("\x89PNG\r\n\032\n", "a PNG image"),
    BAD("\x10\0\0\0\0\0\0\0{\"__meta", "a safetensors file"),
    BAD("SQLite format 3\0", "an SQLite database"),
    BAD("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    BAD("\xff\xfe{\0", "UTF-16"),
    BAD("hello world\n", "plain text"),
    BAD("(hello) world\n", "plain text"),
    BAD("import torch\n", "plain text"),
    BAD("column\nof words and\n", "plain text"),
    BAD("\001\002\003\004\005", "unknown binary data (it begins with 01 02 03 04)"),
    BAD("\001", "unknown binary data (it begins with 01 00 00 00)"),
};

TEST(sniff)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *copy = malloc(rows[i].n + 1); /* of its very size, for the sanitizer */
        memcpy(copy, rows[i].bytes, rows[i].n);
        copy = realloc(copy, rows[i].n > 0 ? rows[i].n : 1);
        struct gm_source s;
        struct gm_error err = {0};
        enum gm_content content = GM_CONTENT_PICKLE;
        gm_source_open_memory(&s, copy, rows[i].n, &err);
        enum gm_status status = gm_sniff(&s, &content, &err);
        if (rows[i].message == NULL && (status != GM_OK || (int)content != rows[i].content))
            fail_msg("row %zu (%s): status %d, content %d, %s", i, rows[i].bytes, (int)status, (int)content,
                     err.message);
        if (rows[i].message != NULL && (status != GM_E_FORMAT || strstr(err.message, rows[i].message) == NULL))
            fail_msg("row %zu (%s): status %d, %s", i, rows[i].bytes, (int)status, err.message);
        assert_int_equal(gm_source_offset(&s), 0); /* nothing is consumed */
        gm_source_free(&s);
        free(copy);
    }
}
