/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot without what it tells of whose it is: names of functions, paths, annotations and every other text become
 * hashes with a salt; sizes, addresses, times, line numbers and structure stay. What stays of the texts: the words of
 * the file format, the settings of the allocator, the frames of public packages from the package's name on, and a
 * few names that any program has (`forward`, `__init__`). Equal texts get equal hashes, so that whatever groups by
 * names still does. docs/handover.md has the rules for people.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/hash.h"
#include "analyze/base/intern.h"
#include "analyze/snapshot/snapshot.h"

#include <stddef.h>

struct gm_redact_options {
    struct gm_hash_key salt;     /* who has it can test guesses */
    const char *const *packages; /* whose frames stay, beside torch */
    size_t package_count;
};

/* What became of the texts that the snapshot refers to, each counted once. */
struct gm_redacted {
    struct gm_snapshot snapshot; /* borrows all but its strings; not to be freed by gm_snapshot_free */
    struct gm_intern texts;      /* every text that it may hold; kept ones first in order of their ids */
    size_t words, public_files, public_names, settings; /* kept as they are */
    size_t files, names, others;                        /* hashed */
    size_t *kept;                                       /* ids of what was kept and is no word of the format */
    size_t kept_count;
    uint64_t *start;
    char *bytes;
};

/* `snapshot` must outlive *out, which gm_redacted_free frees whatever this returns. GM_E_NOMEM, or GM_E_FORMAT of a
 * trace of torch.profiler, which is no snapshot. */
enum gm_status gm_redact(struct gm_redacted *out, const struct gm_snapshot *snapshot,
                         const struct gm_redact_options *options, struct gm_error *err);
void gm_redacted_free(struct gm_redacted *redacted);

/* The proof, of a file that was written and loaded again: every text in it is one that gm_redact chose. GM_E_INTERNAL
 * names how long the one is that is not. */
enum gm_status gm_redact_check(const struct gm_redacted *redacted, const struct gm_snapshot *written,
                               struct gm_error *err);
