/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of gmanalyze's document. Private to analyze/document.
 */
#pragma once

#include "analyze/document/report_columns.h"
#include "analyze/report/view.h"

#include <stdbool.h>

/* ---- of one device, whose view `v` is ------------------------------------------------------------------------------
 *
 * A section is gm_section_NAME in a file section_*.c and a row here, in the order in which people read them; JSON has
 * their keys in the device's "timeline". X(NAME, title, whether it is worth a section, whether it is folded, whether it
 * is of all devices: whichever is worth it first is read first, and no form leaves others out). */
#define GM_VIEW_SECTIONS(X)                                                                                            \
    /* each time that memory ran out. JSON: "out_of_memory" */                                                         \
    X(ooms, "Out of memory", v->device->trace.ooms > 0, false, true)                                                   \
    /* how high and when, and what was live then, by category, role and lifetime; people only */                       \
    X(peak, "Peak", true, false, false)                                                                                \
    /* sizes and needs of a transformer. JSON: "dims" */                                                               \
    X(dims, "Dimensions", v->timeline->dims != NULL, false, false)                                                     \
    /* what operators of a trace of torch.profiler made. JSON: "kineto" */                                             \
    X(joined, "Operators, by the trace of torch.profiler", v->timeline->join != NULL, false, false)                    \
    /* weights, cache, room. JSON: "serving" */                                                                        \
    X(serving, "Serving", v->timeline->serving != NULL, false, true)                                                   \
    /* and by --group. JSON: "call_sites_at_peak", "lifetimes_at_peak", "groups_at_peak" */                            \
    X(peak_sites, "Call sites at the peak", v->timeline->peak.site_count > 0, false, false)                            \
    /* by module, layer, operator and annotation. JSON: "modules" */                                                   \
    X(modules, "Modules, layers and operators at the peak", gm_modules_are_told(v), true, false)                       \
    X(next_peaks, "Next peaks", v->timeline->peak.next_count > 0, true, false) /* JSON: "next_peaks" */                \
    /* what would lower the peak. JSON: "savings" */                                                                   \
    X(savings, "Savings", v->timeline->peak.saving_count > 0, true, false)                                             \
    /* steps, the pattern that they follow, what survives them. JSON: "steps" */                                       \
    X(steps, "Steps", true, false, false)                                                                              \
    /* why memory grew, what was cached and stuck, what pinned it. JSON: "fragmentation_history" */                    \
    X(history, "Fragmentation", !v->lacks_end, false, false)
#define GM_VIEW_SECTION(name, title, is_worth, is_folded, is_of_all)                                                   \
    void gm_section_##name(struct gm_doc *d, const struct gm_view *v);
GM_VIEW_SECTIONS(GM_VIEW_SECTION)
bool gm_modules_are_told(const struct gm_view *v);
void gm_section_roles(struct gm_doc *d, const struct gm_view *v); /* --explain. JSON: "role_reasons" */
/* How far the trace and the snapshot agree. JSON: "books". */
void gm_section_reconciliation(struct gm_doc *d, const struct gm_view *v);

/* ---- of the whole report ----------------------------------------------------------------------------------------- */

void gm_section_marks(struct gm_doc *d, const struct gm_report *report);    /* "DOUBTFUL". JSON: "reliability" */
void gm_section_headline(struct gm_doc *d, const struct gm_report *report); /* JSON: "headline" */
void gm_section_source(struct gm_doc *d, const struct gm_report *report);
void gm_section_peak_devices(struct gm_doc *d, const struct gm_report *report); /* for people, of several devices */
void gm_section_end(struct gm_doc *d, const struct gm_report *report);          /* JSON: "headline_at_end" */
void gm_section_summary(struct gm_doc *d, const struct gm_report *report);
void gm_section_to_do(struct gm_doc *d, const struct gm_report *report);
void gm_section_ignored(struct gm_doc *d, const struct gm_report *report); /* JSON: "ignored", "ignore_rules" */
/* The places in the user's code that hold the most memory. JSON: "call_sites". */
void gm_section_sites(struct gm_doc *d, const struct gm_report *report);
void gm_section_blocks(struct gm_doc *d, const struct gm_report *report);   /* JSON: "top_blocks" */
void gm_section_profile(struct gm_doc *d, const struct gm_report *report);  /* of torch.profiler. JSON: "profile" */
void gm_section_join(struct gm_doc *d, const struct gm_report *report);     /* with a snapshot. JSON: "kineto" */
void gm_section_contents(struct gm_doc *d, const struct gm_report *report); /* by category and by role */
void gm_section_pins(struct gm_doc *d, const struct gm_report *report);     /* what keeps cached memory */
void gm_section_histogram(struct gm_doc *d, const struct gm_report *report);
void gm_section_devices(struct gm_doc *d, const struct gm_report *report);
void gm_section_parts(struct gm_doc *d, const struct gm_report *report);    /* by pool, by stream */
void gm_section_ledger(struct gm_doc *d, const struct gm_report *report);   /* where every reserved byte is */
void gm_section_settings(struct gm_doc *d, const struct gm_report *report); /* JSON: "settings" */
void gm_section_trace(struct gm_doc *d, const struct gm_report *report);    /* what it counts */
void gm_section_warnings(struct gm_doc *d, const struct gm_report *report); /* JSON: "warnings" */
void gm_section_trials(struct gm_doc *d, const struct gm_report *report); /* other settings. JSON: "settings_advice" */

/* ---- keys that only JSON has, or has in an order of its own ------------------------------------------------------ */

void gm_section_snapshot(struct gm_doc *d, const struct gm_report *report); /* and "totals" */
void gm_section_host(struct gm_doc *d, const struct gm_report *report);
void gm_section_memory(struct gm_doc *d, const struct gm_report *report); /* "memory_summary" */
void gm_section_findings(struct gm_doc *d, const struct gm_report *report);
void gm_json_devices(struct gm_doc *d, const struct gm_report *report);
/* Stacks of the pins only if `with_stacks`: they are long, and the devices' pins are among those of all. */
void gm_json_fragmentation(struct gm_doc *d, const struct gm_fragmentation *fragmentation, bool with_stacks);
/* What of both is said in all forms. JSON: "ledger"; keys of a device in "timeline". */
void gm_ledger_tell(struct gm_doc *d, const struct gm_ledger *ledger);
void gm_trace_counts_tell(struct gm_doc *d, const struct gm_trace_counts *counts);
/* "timeline"; nothing if no device has an event. */
void gm_json_timeline(struct gm_doc *d, const struct gm_report *report);
/* "event", "time_us", "since_first_us" and the levels, into the object that is open. */
void gm_json_moment(struct gm_doc *d, const struct gm_view *v, const struct gm_moment *moment);

/* ---- what sections share ----------------------------------------------------------------------------------------- */

enum { GM_FRAMES_MOST = 10 };

/* The frames of a stack that tell a person most, of at most GM_FRAMES_MOST the first `most`, but for the one that
 * block->site names: lines as sites are, files of installed packages named from the package on, C++ functions without
 * their parameters. NULL: none. */
const char *gm_frames_below(struct gm_doc *doc, const struct gm_block_row *block, size_t most);
/* Whether two blocks were made by the same stack. */
bool gm_frames_equal(const struct gm_block_row *a, const struct gm_block_row *b);
