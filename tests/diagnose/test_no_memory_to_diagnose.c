/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation of a diagnosis fails once: it says so, and leaks nothing (that is for the sanitizer to see).
 */
#include "analyze/diagnose/diagnose.h"
#include "tests/document/sample.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

TEST(each_allocation)
{
    for (size_t i = 0; sample_names[i] != NULL; i++)
        for (size_t n = 1;; n++) {
            struct gm_report report;
            struct gm_error err;
            assert_true(sample_report(&report, sample_names[i]));
            nomem_begin(n, false);
            const enum gm_status status = gm_diagnose(&report, NULL, NULL, &err);
            const bool was_refused = nomem_end();
            assert_int_equal(status, was_refused ? GM_E_NOMEM : GM_OK);
            gm_report_free(&report);
            if (!was_refused)
                break;
        }
}
