/* SPDX-License-Identifier: Apache-2.0
 *
 * All charts, a row each: its number (GM_CHART_...), its name, when there is something to draw (charts.c), and one
 * sentence of what to look for, for README's alt text. gm_layout_NAME in layout_NAME.c lays it out, its file is
 * NAME.png. A new chart is that file and a row here: the build, the programs and their documents read the list.
 */
#pragma once

#define GM_REPORT_CHARTS(X)                                                                                            \
    X(MEMORY_OVERVIEW, memory_overview, has_end,                                                                       \
      "Memory overview: how much of the reserved memory is allocated and how much only cached, per device, and which " \
      "categories hold the allocated part.")                                                                           \
    X(TOP_CONSUMERS, top_consumers, has_end,                                                                           \
      "Top consumers: the 30 largest live blocks with the line that made them, coloured by category.")                 \
    X(CATEGORY_BREAKDOWN, category_breakdown, has_end,                                                                 \
      "Category breakdown: allocated memory by category, largest first.")                                              \
    X(SIZE_DISTRIBUTION, size_distribution, has_end,                                                                   \
      "Size distribution: bytes and numbers of active and cached blocks by block size.")                               \
    X(MEMORY_EFFICIENCY, memory_efficiency, has_end,                                                                   \
      "Memory efficiency: allocated over reserved with its grade, and where the rest is: rounding, pending, "          \
      "releasable, stranded.")                                                                                         \
    X(MEMORY_TIMELINE, memory_timeline, has_trace,                                                                     \
      "Memory timeline: active memory over time, in layers, with reserved as a line and the peaks, the "               \
      "steps and every running out of memory marked.")                                                                 \
    X(PEAK_BREAKDOWN, peak_breakdown, has_trace,                                                                       \
      "Peak breakdown: what the peak was made of by category, role, lifetime and call site, and what it would be "     \
      "without each of the largest call sites.")                                                                       \
    X(FRAGMENTATION_MAP, fragmentation_map, has_both,                                                                  \
      "Fragmentation map: the largest segments at the end with their blocks to scale, coloured by category; what is "  \
      "free is hatched.")                                                                                              \
    X(FLAMEGRAPH, flamegraph, has_trace,                                                                               \
      "Flame graph of the peak: live bytes by call stack, callers above; widths are to scale.")                        \
    X(PLAN, plan, has_plan, "Plan: reserved at the peak as recorded and after each fix, against what the card has.")

#define GM_COMPARISON_CHARTS(X)                                                                                        \
    X(DIFF_OVERVIEW, diff_overview, always,                                                                            \
      "Runs side by side: peaks, what they were made of, and what changed most.")                                      \
    X(DIFF_TIMELINE, diff_timeline, has_timelines,                                                                     \
      "Timelines on one axis: allocated and reserved memory of all runs, with their peaks.")                           \
    X(DIFF_FLAMEGRAPH, diff_flamegraph, always,                                                                        \
      "Flame graph of the difference: red grew, blue shrank; widths are the larger of both.")                          \
    X(DIFF_SCALING, diff_scaling, has_series,                                                                          \
      "Memory as a function of the number in the names of the runs, with the law if there is one.")

#define GM_FLEET_CHARTS(X)                                                                                             \
    X(FLEET_HEATMAP, fleet_heatmap, always,                                                                            \
      "Ranks down, iterations across: peak reserved, peak allocated and efficiency.")                                  \
    X(FLEET_GROWTH, fleet_growth, has_growths,                                                                         \
      "Peak reserved and allocated memory over iterations, and the call sites that grew.")
