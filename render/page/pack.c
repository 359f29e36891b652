/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the build: pack INDEX CSS JS WORKER WASM OUT puts the page's files into one. Marks in INDEX say where; the
 * policy allows the one script and the one style by their hashes. <!--RUNS--> is left for page_file.c.
 */
#include "analyze/base/base64.h"
#include "analyze/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "pack: %s %s\n", what, name);
    exit(1);
}

static struct gm_text read_file(const char *path)
{
    struct gm_text text = {0};
    char block[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die("cannot open", path);
    gm_text_add(&text, "");
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        gm_text_add_bytes(&text, block, got);
    if (ferror(file) != 0 || text.failed)
        die("cannot read", path);
    fclose(file);
    return text;
}

/* ---- SHA-256 (FIPS 180-4) ---------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The first 32 bits of the fractional parts of the cube roots (root 3) or square roots of the first primes. */
static void fractions(uint32_t *out, int n, int root)
{
    for (uint32_t p = 2; n > 0; p++) {
        bool is_prime = true;
        for (uint32_t q = 2; q * q <= p; q++)
            is_prime = is_prime && p % q != 0;
        if (!is_prime)
            continue;
        wide x = 0; /* the largest x with x^root <= p * 2^(32 * root) */
        for (int bit = 36; bit >= 0; bit--) {
            const wide y = x | (wide)1 << bit, square = y * y;
            if (root == 2 ? square <= (wide)p << 64 : square <= ((wide)p << 96) / y)
                x = y;
        }
        *out++ = (uint32_t)x;
        n--;
    }
}

static void sha_block(uint32_t h[8], const uint32_t k[64], const unsigned char *p)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                             ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i],
                       two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                             ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static void add_hash(struct gm_text *out, const struct gm_text *of)
{
    uint32_t k[64], h[8];
    unsigned char digest[32];
    GM_FREED struct gm_text padded = {0};
    fractions(k, 64, 3);
    fractions(h, 8, 2);
    gm_text_add_bytes(&padded, of->data, of->length);
    gm_text_add_char(&padded, (char)0x80);
    while (padded.length % 64 != 56)
        gm_text_add_char(&padded, 0);
    for (int shift = 56; shift >= 0; shift -= 8)
        gm_text_add_char(&padded, (char)((uint64_t)of->length * 8 >> shift & 0xff));
    for (size_t i = 0; !padded.failed && i < padded.length; i += 64)
        sha_block(h, k, (const unsigned char *)padded.data + i);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
    gm_text_add(out, "'sha256-");
    gm_base64_add(out, digest, sizeof digest);
    gm_text_add(out, "'");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static struct gm_text compress_gzip(const struct gm_text *from)
{
    z_stream z = {.next_in = (Bytef *)from->data, .avail_in = (uInt)from->length};
    struct gm_text out = {0};
    enum { GZIP = 16 };
    if (deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        die("no memory for", "zlib");
    const uLong most = deflateBound(&z, (uLong)from->length);
    out.data = malloc(most);
    if (out.data == NULL)
        die("no memory for", "zlib");
    z.next_out = (Bytef *)out.data;
    z.avail_out = (uInt)most;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("cannot compress", "the core");
    out.length = z.total_out;
    deflateEnd(&z);
    return out;
}

static void add_data(struct gm_text *out, const struct gm_text *worker, const struct gm_text *wasm)
{
    struct gm_text packed = compress_gzip(wasm);
    gm_text_add(out, "<script type=\"text/plain\" id=\"gm-worker\">");
    gm_text_add_bytes(out, worker->data, worker->length);
    gm_text_add(out, "</script>\n<script type=\"text/plain\" id=\"gm-core\" data-encoding=\"gzip\">");
    gm_base64_add(out, packed.data, packed.length);
    gm_text_add(out, "</script>\n<!--RUNS-->");
    gm_text_free(&packed);
}

static void add_policy(struct gm_text *out, const struct gm_text *script, const struct gm_text *style)
{
    gm_text_add(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
    add_hash(out, script);
    gm_text_add(out, " 'wasm-unsafe-eval'; style-src ");
    add_hash(out, style);
    gm_text_add(out, "; worker-src blob:; img-src data: blob:\">");
}

/* Up to `mark`, which has to be there once; returns what follows it. */
static const char *add_up_to(struct gm_text *out, const char *from, const char *mark)
{
    const char *at = strstr(from, mark);
    if (at == NULL)
        die("the page has no", mark);
    gm_text_add_bytes(out, from, (size_t)(at - from));
    return at + strlen(mark);
}

/* As an element's text: between line breaks, which a hash is of, too. */
static struct gm_text as_element(const char *path)
{
    struct gm_text text = read_file(path), out = {0};
    if (strstr(text.data, "</script") != NULL || strstr(text.data, "</style") != NULL ||
        strstr(text.data, "<!--") != NULL)
        die("an end of an element, or a comment, is in", path);
    gm_text_printf(&out, "\n%s\n", text.data);
    gm_text_free(&text);
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 7)
        die("usage: pack INDEX CSS JS WORKER WASM OUT", "");
    struct gm_text index = read_file(argv[1]), style = as_element(argv[2]), script = as_element(argv[3]),
                   worker = as_element(argv[4]), wasm = read_file(argv[5]), out = {0};
    const char *at = add_up_to(&out, index.data, "<!--CSP-->");
    add_policy(&out, &script, &style);
    at = add_up_to(&out, at, "\n/*CSS*/\n");
    gm_text_add_bytes(&out, style.data, style.length);
    at = add_up_to(&out, at, "<!--DATA-->");
    add_data(&out, &worker, &wasm);
    at = add_up_to(&out, at, "\n/*JS*/\n");
    gm_text_add_bytes(&out, script.data, script.length);
    gm_text_add(&out, at);
    FILE *file = fopen(argv[6], "wb");
    if (out.failed || file == NULL || fwrite(out.data, 1, out.length, file) != out.length || fclose(file) != 0)
        die("cannot write", argv[6]);
    struct gm_text *all[] = {&index, &style, &script, &worker, &wasm, &out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        gm_text_free(all[i]);
    return 0;
}
