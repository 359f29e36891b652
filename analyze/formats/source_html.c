/* SPDX-License-Identifier: Apache-2.0
 *
 * The pickle inside a page that PyTorch's _memory_viz.py wrote: a script with ["name": ..., "base64": "gASV..."]. Found
 * by its key, wherever it stands, and decoded as it streams by. The writer pads the pickle with zero bytes.
 */
#include "analyze/formats/source_filter.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_ROOM = 64 }; /* the key, its quotes, colon and blanks */
enum { INVALID = 64, SKIPPED, PADDING, BACKSLASH, QUOTE };

struct html {
    struct gm_source page;
    unsigned char meaning[256]; /* of a character: its six bits, or what else it does */
    bool is_found, is_done, has_plot_data;
    uint32_t bits; /* not yet delivered */
    int bit_count;
};

static void fill_meaning(unsigned char meaning[256])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(meaning, INVALID, 256);
    for (unsigned i = 0; i < 64; i++)
        meaning[(unsigned char)digits[i]] = (unsigned char)i;
    meaning[' '] = meaning['\t'] = meaning['\r'] = meaning['\n'] = SKIPPED;
    meaning['='] = PADDING;
    meaning['\\'] = BACKSLASH; /* some JSON writers escape the slash */
    meaning['"'] = meaning['\''] = QUOTE;
}

/* The place after `"base64": "` if that stands at p, else NULL. */
static const unsigned char *match_key(const unsigned char *p, const unsigned char *end)
{
    static const char key[] = "base64";
    size_t n = sizeof key - 1;
    end = end - p > KEY_ROOM ? p + KEY_ROOM : end; /* the same wherever the window ends */
    if ((size_t)(end - p) < n + 2 || (*p != '"' && *p != '\'') || memcmp(p + 1, key, n) != 0 || p[n + 1] != *p)
        return NULL;
    p += n + 2;
    bool has_colon = false;
    for (; p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r' || (*p == ':' && !has_colon)); p++)
        has_colon = has_colon || *p == ':';
    return has_colon && p < end && (*p == '"' || *p == '\'') ? p + 1 : NULL;
}

static enum gm_status find(struct html *h, struct gm_error *err)
{
    static const char needle[] = "base64", plot[] = "alloc_data";
    struct gm_source *page = &h->page;
    for (;;) {
        GM_TRY(gm_source_more(page, 2 * KEY_ROOM, err));
        size_t n = (size_t)(page->end - page->p);
        h->has_plot_data = h->has_plot_data || memmem(page->p, n, plot, sizeof plot - 1) != NULL;
        /* Where the window ends a match may be cut off: what is left there is looked at again with what follows. */
        const unsigned char *limit = page->at_end || n < KEY_ROOM ? page->end : page->end - KEY_ROOM;
        const unsigned char *p = page->p;
        while ((p = memmem(p, (size_t)(page->end - p), needle, sizeof needle - 1)) != NULL && p < limit) {
            const unsigned char *value = p > page->p ? match_key(p - 1, page->end) : NULL;
            if (value != NULL) {
                page->p = value;
                h->is_found = true;
                return GM_OK;
            }
            p++;
        }
        if (page->at_end)
            return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "%s",
                           h->has_plot_data
                               ? "this HTML page holds plot data but no pickle (an old _memory_viz.py made "
                                 "it): give me the snapshot that it was made from"
                               : "this HTML page holds no snapshot (no base64 pickle in it)");
        page->p = limit - 1; /* the quote in front of the key */
    }
}

/* Deals with a character that is no digit. */
static enum gm_status special(struct html *h, unsigned char c, struct gm_error *err)
{
    switch (h->meaning[c]) {
    case SKIPPED:
        return GM_OK;
    case BACKSLASH:
        if (h->page.p < h->page.end && *h->page.p == '/')
            return GM_OK;
        break;
    case PADDING:
    case QUOTE:
        h->is_done = h->bit_count != 6;
        if (h->is_done)
            return GM_OK;
        return gm_fail(err, GM_E_CORRUPT, GM_NO_OFFSET,
                       "the base64 data ends with a stray digit at byte %llu of the page",
                       (unsigned long long)gm_source_offset(&h->page) - 1);
    default:
        break;
    }
    return gm_fail(err, GM_E_CORRUPT, GM_NO_OFFSET, "character 0x%02x is no base64 at byte %llu of the page",
                   (unsigned)c, (unsigned long long)gm_source_offset(&h->page) - 1);
}

/* Four digits at a time while nothing else comes along; returns the bytes written. */
static size_t decode_groups(struct html *h, unsigned char *out, size_t size)
{
    const unsigned char *p = h->page.p, *m = h->meaning;
    size_t n = 0;
    while (h->page.end - p >= 4 && size - n >= 3) {
        unsigned a = m[p[0]], b = m[p[1]], c = m[p[2]], d = m[p[3]];
        if ((a | b | c | d) >= INVALID)
            break;
        uint32_t group = a << 18 | b << 12 | c << 6 | d;
        out[n] = (unsigned char)(group >> 16);
        out[n + 1] = (unsigned char)(group >> 8);
        out[n + 2] = (unsigned char)group;
        n += 3;
        p += 4;
    }
    h->page.p = p;
    return n;
}

static enum gm_status html_read(void *state, unsigned char *out, size_t size, size_t *got, struct gm_error *err)
{
    struct html *h = state;
    *got = 0;
    enum gm_status status = h->is_found ? GM_OK : find(h, err);
    while (status == GM_OK && *got < size && !h->is_done) {
        status = gm_source_more(&h->page, 4, err);
        if (status != GM_OK)
            break;
        if (h->page.p == h->page.end) {
            if (*got > 0)
                break; /* deliver these first */
            return gm_fail(err, GM_E_TRUNCATED, GM_NO_OFFSET, "the page ends inside its base64 data, after %llu bytes",
                           (unsigned long long)gm_source_offset(&h->page));
        }
        if (h->bit_count == 0)
            *got += decode_groups(h, out + *got, size - *got);
        if (*got == size || (h->page.end - h->page.p < 4 && !h->page.at_end) || h->page.p == h->page.end)
            continue;
        unsigned char c = *h->page.p++;
        if (h->meaning[c] >= INVALID) {
            status = special(h, c, err);
            if (status != GM_OK)
                h->page.p--; /* if there are bytes to deliver first, the next read meets it again */
            continue;
        }
        h->bits = h->bits << 6 | h->meaning[c];
        h->bit_count += 6;
        if (h->bit_count >= 8) {
            h->bit_count -= 8;
            out[(*got)++] = (unsigned char)(h->bits >> h->bit_count);
            h->bits &= (1u << h->bit_count) - 1;
        }
    }
    return *got > 0 ? GM_OK : status;
}

static void html_close(void *state)
{
    struct html *h = state;
    gm_source_free(&h->page);
    free(h);
}

enum gm_status gm_source_open_html(struct gm_source *source, struct gm_source *inner, struct gm_error *err)
{
    struct html *h = calloc(1, sizeof *h);
    if (h == NULL) {
        gm_source_free(inner);
        *source = (struct gm_source){0};
        return gm_no_memory(err);
    }
    fill_meaning(h->meaning);
    h->page = *inner;
    *inner = (struct gm_source){0};
    return gm_source_begin(source, html_read, html_close, h, err);
}
