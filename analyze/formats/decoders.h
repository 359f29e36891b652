/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoders: each knows one format of bytes, and executes nothing that is in a file.
 */
#pragma once

#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"
#include "analyze/snapshot/profile.h"

/* All formats: a name, the word of analysis.json, the decoder. A new one is a row, its file, and how it begins
 * (sniff.c). HTML is unwrapped first and holds a pickle. */
#define GM_FORMAT_MAP(X)                                                                                               \
    X(PICKLE, "pickle", gm_pickle_decode)                                                                              \
    X(JSON, "json", gm_json_decode)                                                                                    \
    X(HTML, "html", gm_pickle_decode)                                                                                  \
    X(GMTRACE, "gmtrace", gm_gmtrace_decode)                                                                           \
    X(KINETO, "kineto", gm_kineto_decode)

/* What a file is, by its first bytes and never by its name. */
enum gm_content {
#define X(name, word, decode) GM_CONTENT_##name,
    GM_FORMAT_MAP(X)
#undef X
        GM_CONTENT_GZIP,
    GM_CONTENT_ZSTD
};

/* Looks at the next bytes of *source without consuming them. GM_E_FORMAT, saying what it looks like, if it can be no
 * snapshot in any form that we read. */
enum gm_status gm_sniff(struct gm_source *source, enum gm_content *content, struct gm_error *err);

/* Where a decoder puts what it reads; each fills one of the three, and others may be NULL. */
struct gm_decoded {
    struct gm_assembler *values;  /* gm_assembler_finish is the caller's */
    struct gm_snapshot *snapshot; /* to be freed by gm_snapshot_free; empty after a failure */
    struct gm_profile *profile;   /* to be freed in any case: after a failure it has what came before. Its rows stand
                                   * as in the file: gm_profile_finish is the caller's */
    bool by_tokens;      /* asked, by tests: a trace of torch.profiler is to be read without what makes that fast */
    int pickle_protocol; /* the highest stated or needed so far, also after a failure */
};

/* Pickles (protocols 0 to 5) up to their STOP: values. Opcodes that would import, call or look up something outside of
 * the file are refused by name.
 * JSON: one value (RFC 8259, plus the NaN, Infinity and -Infinity that Python writes), whatever follows it. Integers of
 * up to 64 bits are exact, longer ones become reals. Escaped lone surrogates become U+FFFD; bytes that are no UTF-8 are
 * kept.
 * .gmtrace (docs/gmtrace.md; gmtrace_write.c writes it): all of *source, a snapshot. Of its source only what the file
 * itself remembers is filled in: bare list of segments, salvaged.
 * Traces of torch.profiler (docs/kineto.md): a profile. */
#define X(name, word, decode)                                                                                          \
    enum gm_status decode(struct gm_source *source, struct gm_decoded *out, struct gm_error *err);
GM_FORMAT_MAP(X)
#undef X

/* Makes of a profile, finished, the snapshot of what it says of devices' memory: an event for each instant with its
 * stack of operators and functions, annotations; no segments. Takes over what is in *profile (snapshot->profile), also
 * on failure. */
enum gm_status gm_kineto_snapshot(struct gm_profile *profile, struct gm_snapshot *snapshot, struct gm_error *err);
