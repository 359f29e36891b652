/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: whatever the sizes of windows and reads, what comes out is what went in, or an error that says where.
 */
#include "analyze/formats/source.h"
#include "analyze/formats/source_filter.h"
#include "tests/formats/sources.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t sizes[] = {0,
                               1,
                               2,
                               3,
                               4,
                               5,
                               255,
                               4096,
                               GM_SOURCE_WINDOW - 1,
                               GM_SOURCE_WINDOW,
                               GM_SOURCE_WINDOW + 1,
                               3 * GM_SOURCE_WINDOW + 7};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void expect_bytes(struct gm_source *source, size_t want, const unsigned char *data, size_t n)
{
    struct bytes got;
    struct gm_error err = {0};
    assert_int_equal(read_all(source, want, &got, &err), GM_OK);
    assert_int_equal(got.n, n);
    assert_true(n == 0 || memcmp(got.p, data, n) == 0);
    assert_int_equal(gm_source_offset(source), n);
    free(got.p);
    gm_source_free(source);
}

TEST(memory)
{
    unsigned char *data = noise(1000, 1);
    struct gm_source s;
    for (size_t n = 0; n <= 1000; n += 250) {
        assert_int_equal(gm_source_open_memory(&s, data, n, NULL), GM_OK);
        expect_bytes(&s, 100, data, n);
    }
    assert_int_equal(gm_source_open_memory(&s, NULL, 0, NULL), GM_OK);
    expect_bytes(&s, 1, data, 0);
    free(data);
}

TEST(window)
{
    unsigned char *data = noise(5000, 2);
    for (size_t step = 1; step <= 4096; step *= 4)
        for (size_t want = 1; want <= 64; want *= 8) {
            struct gm_source s;
            open_steps(&s, data, 5000, 128, step);
            expect_bytes(&s, want, data, 5000);
        }
    struct gm_source s;
    struct gm_error err;
    open_steps(&s, data, 5000, 128, 1);
    assert_int_equal(gm_source_more(&s, 65, &err), GM_E_INTERNAL); /* the contract: at most half a window */
    gm_source_free(&s);
    free(data);
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

TEST(file)
{
    char path[] = "/tmp/gm_test_source_XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < SIZES; i++) {
        unsigned char *data = noise(sizes[i], 3);
        write_file(path, data, sizes[i]);
        struct gm_source s;
        uint64_t disk = 77;
        assert_int_equal(gm_source_open_file(&s, path, &disk, NULL, NULL), GM_OK);
        assert_int_equal(disk, sizes[i]);
        expect_bytes(&s, 257, data, sizes[i]);
        struct gm_source ahead;
        assert_int_equal(gm_source_open_file(&s, path, &disk, NULL, NULL), GM_OK);
        assert_int_equal(gm_source_more(&s, 300, NULL), GM_OK); /* as sniffing does */
        gm_source_open_thread(&ahead, &s);
        expect_bytes(&ahead, 257, data, sizes[i]);
        free(data);
    }
    unlink(path);
}

TEST(file_errors)
{
    struct gm_source s;
    struct gm_error err;
    uint64_t disk;
    assert_int_equal(gm_source_open_file(&s, "/nonexistent/x", &disk, NULL, &err), GM_E_READ);
    assert_string_equal(err.message, "cannot open: No such file or directory");
    assert_int_equal(gm_source_open_file(&s, "/tmp", &disk, NULL, &err), GM_E_READ);
    assert_string_equal(err.message, "it is a directory; gmfleet DIR reads all snapshots in one");
    assert_int_equal(gm_source_open_file(&s, "/dev/zero", &disk, NULL, &err), GM_E_READ);
    assert_string_equal(err.message, "it is a device, not a snapshot file");
    char path[] = "/tmp/gm_test_source_XXXXXX";
    close(mkstemp(path));
    assert_int_equal(chmod(path, 0), 0);
    if (geteuid() != 0) { /* root may read anything */
        assert_int_equal(gm_source_open_file(&s, path, &disk, NULL, &err), GM_E_READ);
        assert_string_equal(err.message, "cannot open: Permission denied");
    }
    unlink(path);
}

TEST(pipe)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    unsigned char *data = noise(50000, 4);
    assert_int_equal(write(ends[1], data, 50000), 50000);
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    struct gm_source s;
    uint64_t disk = 1;
    assert_int_equal(gm_source_open_file(&s, path, &disk, NULL, NULL), GM_OK);
    assert_int_equal(disk, 0);
    expect_bytes(&s, 10, data, 50000);
    assert_int_equal(disk, 50000);
    close(ends[0]);
    free(data);
}

/* Closing in the middle, at once, or after an error must neither hang nor leak (a sanitizer watches). */
TEST(thread_closed_early)
{
    unsigned char *data = noise(8 << 20, 5);
    for (int i = 0; i < 20; i++) {
        struct gm_source s, ahead;
        open_steps(&s, data, 8 << 20, 1 << 16, 100000);
        gm_source_open_thread(&ahead, &s);
        if (i % 3 > 0)
            assert_int_equal(gm_source_more(&ahead, 1000, NULL), GM_OK);
        gm_source_free(&ahead);
    }
    free(data);
}

TEST(thread_passes_errors_on)
{
    size_t n = 5 << 20;
    unsigned char *data = noise(n, 6);
    struct bytes z = gzip_bytes(data, n);
    struct gm_source file, gzip, ahead;
    struct gm_error err = {0};
    struct bytes got;
    gm_source_open_memory(&file, z.p, z.n - 100000, &err);
    assert_int_equal(gm_source_open_gzip(&gzip, &file, &err), GM_OK);
    gm_source_open_thread(&ahead, &gzip);
    assert_int_equal(read_all(&ahead, 64, &got, &err), GM_E_TRUNCATED);
    assert_true(got.n > 4 << 20 && memcmp(got.p, data, got.n) == 0);
    assert_int_equal(gm_source_more(&ahead, (size_t)(ahead.end - ahead.p) + 1, &err), GM_E_TRUNCATED); /* still */
    gm_source_free(&ahead);
    free(got.p);
    free(z.p);
    free(data);
}

static void open_filter(struct gm_source *source, bool is_gzip, const void *data, size_t n, size_t step)
{
    struct gm_source inner;
    struct gm_error err;
    open_steps(&inner, data, n, 256, step);
    assert_int_equal(is_gzip ? gm_source_open_gzip(source, &inner, &err) : gm_source_open_zstd(source, &inner, &err),
                     GM_OK);
}

static struct bytes compress_bytes(bool is_gzip, const void *data, size_t n)
{
    return is_gzip ? gzip_bytes(data, n) : zstd_bytes(data, n, 0);
}

TEST(filters)
{
    for (int is_gzip = 0; is_gzip < 2; is_gzip++)
        for (size_t i = 0; i < SIZES; i++) {
            unsigned char *data = noise(sizes[i], 7);
            for (size_t k = 0; k < sizes[i]; k++)
                data[k] = data[k] < 128 ? 'a' : data[k]; /* half of it compresses */
            struct bytes z = compress_bytes(is_gzip, data, sizes[i]);
            struct gm_source s;
            open_filter(&s, is_gzip, z.p, z.n, sizes[i] < 5000 ? 1 : 200);
            expect_bytes(&s, 300, data, sizes[i]);
            free(z.p);
            free(data);
        }
}

/* Two parts one after the other, then bytes that are none of it. */
TEST(members_and_rest)
{
    static const char *const rests[] = {"", "\x1f", "(", "rest of the file", "\0\0\0\0\0\0\0\0"};
    unsigned char *data = noise(3000, 8);
    for (int is_gzip = 0; is_gzip < 2; is_gzip++)
        for (size_t r = 0; r < sizeof rests / sizeof *rests; r++) {
            struct bytes a = compress_bytes(is_gzip, data, 1000), b = compress_bytes(is_gzip, data + 1000, 2000);
            size_t rest = r == 4 ? 8 : strlen(rests[r]);
            unsigned char *all = malloc(a.n + b.n + rest);
            memcpy(all, a.p, a.n);
            memcpy(all + a.n, b.p, b.n);
            memcpy(all + a.n + b.n, rests[r], rest);
            struct gm_source s;
            open_filter(&s, is_gzip, all, a.n + b.n + rest, 1 + r * 7);
            expect_bytes(&s, 20, data, 3000);
            free(all);
            free(a.p);
            free(b.p);
        }
    free(data);
}

/* Cut anywhere: never more than a prefix comes out, and then the error names the compressed length. */
TEST(cut_filters)
{
    unsigned char *data = noise(700, 9);
    for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
        struct bytes z = compress_bytes(is_gzip, data, 700);
        for (size_t n = is_gzip ? 2 : 4; n < z.n; n++) {
            struct gm_source s;
            struct gm_error err = {0};
            struct bytes got;
            open_filter(&s, is_gzip, z.p, n, 50);
            assert_int_equal(read_all(&s, 16, &got, &err), GM_E_TRUNCATED);
            char text[80];
            snprintf(text, sizeof text, "the %s data ends early, after %zu bytes", is_gzip ? "gzip" : "zstd", n);
            assert_string_equal(err.message, text);
            assert_int_equal(err.offset, gm_source_offset(&s));
            assert_true(got.n <= 700 && (got.n == 0 || memcmp(got.p, data, got.n) == 0));
            gm_source_free(&s);
            free(got.p);
        }
        free(z.p);
    }
    free(data);
}

TEST(damaged_filters)
{
    unsigned char *data = noise(70000, 10);
    memset(data, 'x', 40000);
    for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
        struct bytes z = compress_bytes(is_gzip, data, 70000);
        for (size_t at = 12; at < z.n; at += 977) {
            z.p[at] ^= 0x55;
            struct gm_source s;
            struct gm_error err = {0};
            struct bytes got;
            open_filter(&s, is_gzip, z.p, z.n, 200);
            enum gm_status status = read_all(&s, 16, &got, &err);
            assert_true(status == GM_E_CORRUPT || status == GM_E_TRUNCATED); /* the checksum finds every one */
            assert_true(err.message[0] != '\0');
            gm_source_free(&s);
            free(got.p);
            z.p[at] ^= 0x55;
        }
        free(z.p);
    }
    free(data);
}

TEST(zstd_window)
{
    static const char text[] = "not much";
    struct gm_source s;
    struct gm_error err;
    struct bytes z = zstd_bytes(text, sizeof text, 27), got;
    open_filter(&s, false, z.p, z.n, 100);
    expect_bytes(&s, 1, (const unsigned char *)text, sizeof text);
    free(z.p);
    z = zstd_bytes(text, sizeof text, 28);
    open_filter(&s, false, z.p, z.n, 100);
    assert_int_equal(read_all(&s, 1, &got, &err), GM_E_LIMIT);
    assert_non_null(strstr(err.message, "zstd -d --long=31"));
    gm_source_free(&s);
    free(got.p);
    free(z.p);
}

/* A gigabyte of one byte, compressed, as a file that repeats one compressed part. */
TEST(bombs)
{
    enum { PART = 64 << 20, PARTS = 16 };
    unsigned char *data = malloc(PART);
    memset(data, '0', PART);
    for (int is_gzip = 0; is_gzip < 2; is_gzip++) {
        struct bytes z = compress_bytes(is_gzip, data, PART);
        unsigned char *all = malloc(z.n * PARTS);
        for (size_t i = 0; i < PARTS; i++)
            memcpy(all + i * z.n, z.p, z.n);
        struct gm_source inner, s;
        struct gm_error err = {0};
        gm_source_open_memory(&inner, all, z.n * PARTS, &err);
        assert_int_equal(is_gzip ? gm_source_open_gzip(&s, &inner, &err) : gm_source_open_zstd(&s, &inner, &err),
                         GM_OK);
        gm_filter_expect_pickle(&s);
        uint64_t total = 0;
        enum gm_status status = GM_OK;
        while (status == GM_OK && !s.at_end) {
            total += (uint64_t)(s.end - s.p);
            s.p = s.end;
            status = gm_source_more(&s, 1, &err);
        }
        assert_int_equal(status, GM_E_LIMIT);
        assert_non_null(strstr(err.message, "decompression bomb"));
        uint64_t limit = GM_EXPANSION_FREE + GM_EXPANSION_PICKLE * z.n * PARTS + GM_SOURCE_WINDOW;
        assert_true(total > GM_EXPANSION_FREE - GM_SOURCE_WINDOW && total <= limit);
        gm_source_free(&s);
        free(all);
        free(z.p);
    }
    free(data);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    assert_true(usage.ru_maxrss < 1000 * 1024); /* with a sanitizer's own; the sources need a few MB */
}

/* ---- HTML -------------------------------------------------------------------------------------------------------- */

static enum gm_status read_page(const char *page, size_t n, size_t step, struct bytes *got, struct gm_error *err)
{
    struct gm_source inner, s;
    open_steps(&inner, page, n, 512, step);
    assert_int_equal(gm_source_open_html(&s, &inner, err), GM_OK);
    enum gm_status status = read_all(&s, 16, got, err);
    gm_source_free(&s);
    return status;
}

TEST(html_sizes)
{
    unsigned char *data = noise(100000, 11);
    for (size_t n = 0; n <= 100000; n = n < 20 ? n + 1 : n * 5) {
        struct bytes page = base64_page(data, n), got;
        for (size_t step = 1; step < 600; step = step * 3 + 1) {
            struct gm_error err;
            assert_int_equal(read_page((char *)page.p, page.n, step, &got, &err), GM_OK);
            assert_int_equal(got.n, n);
            assert_true(n == 0 || memcmp(got.p, data, n) == 0);
            free(got.p);
        }
        free(page.p);
    }
    free(data);
}

TEST(html_pages)
{
    static const struct {
        const char *page, *data, *message;
        enum gm_status status;
    } rows[] = {
        {"<p>\"base64\": \"aGVsbG8=\"", "hello", "", GM_OK},
        {"<p>\"base64\":\"aGVsbG8\"", "hello", "", GM_OK},                                   /* without its padding */
        {"<p>'base64' \n:\t'aGVs bG8\r\n='", "hello", "", GM_OK},                            /* by hand */
        {"<p>\"base64\": \"Pz8\\/Pz8\\/\"", "?????\?", "", GM_OK},                           /* escaped slashes */
        {"<p>base64, \"base64\" \"base64x\": \"no\" \"base64\": \"aGk=\"", "hi", "", GM_OK}, /* the key decides */
        {"<p>url(data:image/png;base64,aGk=) \"base64\": \"aGk=\"", "hi", "", GM_OK},
        {"<p>\"base64\": \"\"", "", "", GM_OK},
        {"<p>\"base64\": \"aGVsb", NULL, "the page ends inside its base64 data, after 19 bytes", GM_E_TRUNCATED},
        {"<p>\"base64\": \"aGVs?G8=\"", NULL, "character 0x3f is no base64 at byte 18 of the page", GM_E_CORRUPT},
        {"<p>\"base64\": \"aGVs\\nG8=\"", NULL, "character 0x5c is no base64 at byte 18 of the page", GM_E_CORRUPT},
        {"<p>\"base64\": \"aGVsb\"", NULL, "the base64 data ends with a stray digit at byte 19 of the page",
         GM_E_CORRUPT},
        {"<p>let alloc_data = {}", NULL, "this HTML page holds plot data but no pickle", GM_E_FORMAT},
        {"<p>hello", NULL, "this HTML page holds no snapshot (no base64 pickle in it)", GM_E_FORMAT},
        {"", NULL, "this HTML page holds no snapshot (no base64 pickle in it)", GM_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t step = 1; step < 100; step += 6) {
            struct bytes got;
            struct gm_error err = {0};
            enum gm_status status = read_page(rows[i].page, strlen(rows[i].page), step, &got, &err);
            if (status != rows[i].status || strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0)
                fail_msg("%s: %d %s", rows[i].page, (int)status, err.message);
            if (rows[i].data != NULL) {
                assert_int_equal(got.n, strlen(rows[i].data));
                assert_true(got.n == 0 || memcmp(got.p, rows[i].data, got.n) == 0);
            }
            free(got.p);
        }
}

/* The key at every place around the ends of windows. */
TEST(html_key_anywhere)
{
    static const char key[] = "\"base64\":     \"aGVsbG8gd29ybGQ=\"";
    char page[2000];
    for (size_t at = 1; at < 1200; at++) {
        memset(page, ' ', sizeof page);
        memcpy(page + at, key, sizeof key - 1);
        struct bytes got;
        struct gm_error err;
        assert_int_equal(read_page(page, sizeof page, 512, &got, &err), GM_OK);
        assert_int_equal(got.n, 11);
        assert_memory_equal(got.p, "hello world", 11);
        free(got.p);
    }
}
