/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/decoders.h"

#include "analyze/formats/gmtrace_format.h"

#include <string.h>

enum { LOOK = 4096 }; /* bytes looked at */

struct view {
    const unsigned char *p;
    size_t n;
};

/* ---- what people give us by mistake ------------------------------------------------------------------------------ */

/* first bytes, where, how many of them, what it is */
#define MAGIC_MAP(X)                                                                                                   \
    X("PK\003\004", 0, 4, "a zip archive (a torch.save checkpoint?)")                                                  \
    X("PK\005\006", 0, 4, "an empty zip archive")                                                                      \
    X("\177ELF", 0, 4, "an ELF program or library")                                                                    \
    X("\xfd"                                                                                                           \
      "7zXZ\0",                                                                                                        \
      0, 6, "xz-compressed (decompress it first; only gzip and zstd are read directly)")                               \
    X("BZh", 0, 3, "bzip2-compressed (decompress it first; only gzip and zstd are read directly)")                     \
    X("\004\"M\030", 0, 4, "lz4-compressed (decompress it first; only gzip and zstd are read directly)")               \
    X("7z\xbc\xaf\x27\x1c", 0, 6, "a 7z archive")                                                                      \
    X("ustar", 257, 5, "a tar archive (unpack it first)")                                                              \
    X("\x89PNG\r\n", 0, 6, "a PNG image")                                                                              \
    X("\xff\xd8\xff", 0, 3, "a JPEG image")                                                                            \
    X("%PDF-", 0, 5, "a PDF document")                                                                                 \
    X("SQLite format 3", 0, 15, "an SQLite database (an Nsight Systems export?)")                                      \
    X("\x89HDF\r\n", 0, 6, "an HDF5 file")                                                                             \
    X("\x93NUMPY", 0, 6, "a NumPy array")                                                                              \
    X("GGUF", 0, 4, "a GGUF model")                                                                                    \
    X("\0{\"", 7, 3, "a safetensors file")                                                                             \
    X("version https://git-lfs", 0, 23, "a Git LFS pointer, not the file itself (git lfs pull fetches that)")          \
    X("\xff\xfe", 0, 2, "UTF-16 text")                                                                                 \
    X("\xfe\xff", 0, 2, "UTF-16 text")

static const struct {
    const char *bytes;
    size_t offset, length;
    const char *what;
} magics[] = {
#define X(bytes, offset, length, what) {bytes, offset, length, what},
    MAGIC_MAP(X)
#undef X
};

static bool has_bytes(struct view v, size_t offset, const char *bytes, size_t length)
{
    return v.n >= offset && v.n - offset >= length && memcmp(v.p + offset, bytes, length) == 0;
}

static bool is_text(struct view v)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] < ' ' && strchr("\t\n\v\f\r\033\b", v.p[i]) == NULL)
            return false;
    return memchr(v.p, '\0', v.n) == NULL;
}

static bool is_zeros(struct view v)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] != 0)
            return false;
    return true;
}

static enum gm_status refuse(struct view v, struct gm_error *err)
{
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (has_bytes(v, magics[i].offset, magics[i].bytes, magics[i].length))
            return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no memory snapshot: it looks like %s", magics[i].what);
    if (v.n == 0)
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no memory snapshot: it is empty");
    if (is_zeros(v))
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no memory snapshot: it begins with zero bytes only");
    if (is_text(v))
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "no memory snapshot: it looks like plain text");
    return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET,
                   "no memory snapshot: unknown binary data (it begins with %02x %02x %02x %02x)", v.p[0],
                   v.n > 1 ? v.p[1] : 0u, v.n > 2 ? v.p[2] : 0u, v.n > 3 ? v.p[3] : 0u);
}

/* ---- pickles ----------------------------------------------------------------------------------------------------- */

static size_t skip_identifier_line(struct view v, size_t i)
{
    size_t start = i;
    while (i < v.n && (v.p[i] == '.' || v.p[i] == '_' || (v.p[i] >= '0' && v.p[i] <= '9') ||
                       ((v.p[i] | 0x20) >= 'a' && (v.p[i] | 0x20) <= 'z')))
        i++;
    return i > start && i < v.n && v.p[i] == '\n' ? i + 1 : 0;
}

/* "MODULE\nNAME\n": the arguments of GLOBAL and INST. Recognised so that the decoder refuses them by name. */
static bool is_global(struct view v, size_t i)
{
    i = skip_identifier_line(v, i);
    return i != 0 && skip_identifier_line(v, i) != 0;
}

/* Protocol 2 and later begin with PROTO. Before that a snapshot begins with its dictionary or list: protocol 1 with
 * EMPTY_DICT or EMPTY_LIST (which begin no JSON and hardly a text), protocol 0 with MARK and DICT or LIST. */
static bool is_pickle(struct view v)
{
    switch (v.p[0]) {
    case 0x80:
    case '}':
    case ']':
        return true;
    case 'c':
        return is_global(v, 1);
    case '(':
        if (v.n < 3)
            return v.n == 1 || v.p[1] == 'd' || v.p[1] == 'l';
        if (v.p[1] == 'i' || v.p[1] == 'c')
            return is_global(v, 2);
        return (v.p[1] == 'd' || v.p[1] == 'l') && strchr("pqr.sa(VSXUIKMJ}]", v.p[2]) != NULL;
    default:
        return false;
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static const unsigned char *find(struct view v, const char *word)
{
    return memmem(v.p, v.n, word, strlen(word));
}

/* Chrome traces of torch.profiler (Kineto) are JSON too. A snapshot names its parts before anything of theirs. */
static enum gm_status check_json(struct view v, enum gm_content *content, struct gm_error *err)
{
    static const char *const trace_words[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                              "\"displayTimeUnit\"", "\"ph\""};
    static const char *const snapshot_words[] = {"\"segments\"", "\"device_traces\"", "\"total_size\""};
    const unsigned char *end = v.p + v.n;
    for (size_t i = 0; i < sizeof snapshot_words / sizeof *snapshot_words; i++) {
        const unsigned char *at = find(v, snapshot_words[i]);
        end = at != NULL && at < end ? at : end;
    }
    struct view before = {v.p, (size_t)(end - v.p)};
    for (size_t i = 0; i < sizeof trace_words / sizeof *trace_words; i++)
        if (find(before, trace_words[i]) != NULL)
            *content = GM_CONTENT_KINETO;
    if (find(before, "\"gmanalyze.") != NULL || find(before, "\"gmreplay.") != NULL)
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "this is a result of gmanalyze or gmreplay, not a snapshot");
    return GM_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static struct view skip_blanks(struct view v)
{
    if (has_bytes(v, 0, "\xef\xbb\xbf", 3)) {
        v.p += 3;
        v.n -= 3;
    }
    while (v.n > 0 && (*v.p == ' ' || *v.p == '\t' || *v.p == '\n' || *v.p == '\r')) {
        v.p++;
        v.n--;
    }
    return v;
}

enum gm_status gm_sniff(struct gm_source *source, enum gm_content *content, struct gm_error *err)
{
    enum gm_status status = gm_source_more(source, LOOK, err);
    struct view v = {source->p, (size_t)(source->end - source->p)};
    if (status != GM_OK && v.n == 0)
        return status; /* a damaged file may still begin like one */
    struct view text = skip_blanks(v);
    if (v.n == 0)
        return refuse(v, err);
    if (has_bytes(v, 0, "\x1f\x8b", 2)) {
        *content = GM_CONTENT_GZIP;
    } else if (has_bytes(v, 0, "\x28\xb5\x2f\xfd", 4) ||
               (v.n >= 4 && (v.p[0] & 0xf0) == 0x50 && memcmp(v.p + 1, "\x2a\x4d\x18", 3) == 0)) {
        *content = GM_CONTENT_ZSTD;
    } else if (has_bytes(v, 0, GM_GMTRACE_MAGIC, GM_GMTRACE_MAGIC_SIZE)) {
        *content = GM_CONTENT_GMTRACE;
    } else if (is_pickle(v)) {
        *content = GM_CONTENT_PICKLE;
    } else if (text.n > 0 && (text.p[0] == '{' || text.p[0] == '[')) {
        *content = GM_CONTENT_JSON;
        return check_json(text, content, err);
    } else if (text.n > 0 && text.p[0] == '<') {
        *content = GM_CONTENT_HTML;
    } else {
        return refuse(v, err);
    }
    return GM_OK;
}
