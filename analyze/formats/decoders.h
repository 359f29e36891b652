/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoders: each knows one format of bytes, and executes nothing that is in a file.
 */
#ifndef GM_FORMATS_DECODERS_H
#define GM_FORMATS_DECODERS_H

#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"
#include "analyze/snapshot/profile.h"

/* Decodes one pickle (protocols 0 to 5) from *source up to its STOP into the assembler; gm_assembler_finish is the
 * caller's. *protocol gets the highest protocol stated or needed so far, also on failure. Opcodes that would import,
 * call or look up something outside of the file are refused by name. */
enum gm_status gm_pickle_decode(struct gm_source *source, struct gm_assembler *a, int *protocol, struct gm_error *err);

/* Decodes one JSON value (RFC 8259, plus the NaN, Infinity and -Infinity that Python writes) in the same way, whatever
 * follows it. Integers of up to 64 bits are exact, longer ones become reals. Escaped lone surrogates become U+FFFD;
 * bytes that are no UTF-8 are kept. */
enum gm_status gm_json_decode(struct gm_source *source, struct gm_assembler *a, struct gm_error *err);

/* Reads a .gmtrace file (docs/gmtrace.md; gmtrace_write.c writes it), all of *source, into *snapshot, which is to be
 * freed by gm_snapshot_free. Of snapshot->source only what the file itself remembers is filled in: bare list of
 * segments, salvaged. On failure *snapshot is empty. */
enum gm_status gm_gmtrace_decode(struct gm_source *source, struct gm_snapshot *snapshot, struct gm_error *err);

/* Decodes a trace of torch.profiler (docs/kineto.md) into *profile, which is to be freed whatever this returns: after a
 * failure it has what came before. Its rows stand as in the file: gm_profile_finish is the caller's. */
enum gm_status gm_kineto_decode(struct gm_source *source, struct gm_profile *profile, struct gm_error *err);

/* Makes of a profile, finished, the snapshot of what it says of devices' memory: an event for each instant with its
 * stack of operators and functions, annotations; no segments. Takes over what is in *profile (snapshot->profile), also
 * on failure. */
enum gm_status gm_kineto_snapshot(struct gm_profile *profile, struct gm_snapshot *snapshot, struct gm_error *err);

#endif
