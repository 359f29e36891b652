/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page asks of the core: snapshots in, arrays of numbers and strings out. The same C as the programs',
 * compiled to WebAssembly; JavaScript draws and listens, and works nothing out.
 *
 * Compiled for wasm32 every function below is an export without its gm_: instance.exports.page_open(...). The module
 * imports nothing. It is a reactor: call _initialize() once, then page_seed with 16 random bytes. Pointers are offsets
 * in instance.exports.memory, at most 4 GiB; read them as unsigned (p >>> 0). Views of memory.buffer are gone whenever
 * memory has grown: make them anew after every call. A call that traps (a RuntimeError in JavaScript) leaves the
 * instance in an unknown state: drop it, make a new one, open the files again.
 *
 * Words: a handle is an open snapshot, > 0. A device is an index in the snapshot's list of them (page_devices), not
 * its ordinal. Event i of a device leads from moment i to moment i + 1; moment 0 is before the trace, so there are
 * events + 1 moments. An allocation has a number in its device's list, from 0 on. Bytes are block bytes (as the
 * allocator rounds them) unless it says `requested`; without a reconstruction (page_devices: is_reconstructed 0) both
 * are the same. Times are microseconds since the device's first; NaN: not known.
 *
 * A result is named arrays of one type each, struct gm_page_result: read all of it by one function in JavaScript, take
 * what you know by its name, and ignore the rest. It is the core's, and is there until the next call of any function
 * below but page_alloc, page_free, page_error. NULL: it failed, and page_error says why in one line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __wasm__
#define GM_PAGE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define GM_PAGE_EXPORT(name)
#endif

/* ---- results ----------------------------------------------------------------------------------------------------- */

enum gm_page_type {
    GM_PAGE_U8,     /* Uint8Array */
    GM_PAGE_U32,    /* Uint32Array; 0xFFFFFFFF: none */
    GM_PAGE_I32,    /* Int32Array */
    GM_PAGE_F64,    /* Float64Array: bytes (exact below 2^53), times, numbers; NaN: not known */
    GM_PAGE_TEXT,   /* one text of `count` bytes, UTF-8, not NUL-terminated */
    GM_PAGE_STRINGS /* `count` strings: Uint32Array start[count + 1], then the bytes, UTF-8, of which string i is
                     * [start[i], start[i + 1]). They are clean: valid, on one line, without control characters */
};

/* On wasm32: four words each. */
struct gm_page_array {
    const char *name; /* NUL-terminated ASCII */
    uint32_t type;    /* enum gm_page_type */
    const void *data; /* 8-byte aligned; of STRINGS: the starts */
    uint32_t count;   /* elements (of TEXT: bytes) */
};
struct gm_page_result {
    uint32_t array_count;
    const struct gm_page_array *arrays; /* [array_count] */
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* Memory for what goes in. NULL: there is none. */
void *gm_page_alloc(size_t bytes) GM_PAGE_EXPORT(page_alloc);
void gm_page_free(void *memory) GM_PAGE_EXPORT(page_free);

/* seed[16]: of all hash tables, so that no file can be written against them. Before the first page_open; nothing that
 * is told depends on it. */
void gm_page_seed(const uint8_t *seed) GM_PAGE_EXPORT(page_seed);

/* Why the last call failed: NUL-terminated, one clean line, with the offset in the file where there is one. "" if it
 * did not. */
const char *gm_page_error(void) GM_PAGE_EXPORT(page_error);

/* Reads and analyses a file of any form that gmanalyze reads. `query` is text, "key=value" joined by newlines, NUL at
 * the end, all optional: path (what it is called), salvage=1 (what is complete of a damaged file is enough), brief=1
 * (sooner, but page_json and page_finding fail); and of a trace that a program put into the page what analysis.json
 * should say of the file that it came from: name, created (of the run), bytes (on disk), format, compression, and top
 * and device as gmanalyze's options. `rules`: text of --categories, `rules_length` bytes, 0: the default
 * ones. The bytes of both are not needed afterwards. 0: it failed; page_error. */
uint32_t gm_page_open(const uint8_t *data, size_t length, const char *query, const char *rules, size_t rules_length)
    GM_PAGE_EXPORT(page_open);
void gm_page_close(uint32_t handle) GM_PAGE_EXPORT(page_close);

/* ---- what it is -------------------------------------------------------------------------------------------------- */

/* json TEXT: analysis.json, byte by byte gmanalyze's. With it: headline, to_do, findings, ledger, steps, peaks ... The
 * first call replays what the advice needs, which takes longer than page_open does: show the timeline first. */
const struct gm_page_result *gm_page_json(uint32_t handle) GM_PAGE_EXPORT(page_json);

/* A row per device: device I32 (ordinal), events U32, allocations U32, has_times U8, is_reconstructed U8, first_us F64
 * (microseconds since 1970), span_us F64, peak_moment U32 (of requested bytes), peak_bytes F64 (requested), top_bytes
 * F64 (the most active block bytes), reserved F64 (the largest), capacity F64 (evidence: reserved + device_free at an
 * oom). */
const struct gm_page_result *gm_page_devices(uint32_t handle) GM_PAGE_EXPORT(page_devices);

/* What one device is split by, one row per layer: name STRINGS, color U32 (0xRRGGBB). */
enum gm_page_split {
    GM_PAGE_BY_ROLE,
    GM_PAGE_BY_CATEGORY,
    GM_PAGE_BY_COMPONENT, /* the category, where it stands in the rules' tier of components */
    GM_PAGE_BY_MODULE,    /* the line that called the module's code that made it, and that code (docs/modules.md) */
    GM_PAGE_BY_SIZES,     /* from a power of two to the next */
    GM_PAGE_BY_POOL,
    GM_PAGE_BY_STREAM,
    GM_PAGE_SPLITS
};
const struct gm_page_result *gm_page_layers(uint32_t handle, uint32_t device, uint32_t split)
    GM_PAGE_EXPORT(page_layers);

/* What lies along the axis. Steps: step_name STRINGS, step_first U32, step_last U32 (events),
 * step_peak_event U32. Phases and annotated ranges: band_name STRINGS, band_first U32, band_last U32, band_depth U32,
 * band_phase U8 (enum gm_phase), band_is_step U8. Refused requests: oom_event U32. */
const struct gm_page_result *gm_page_marks(uint32_t handle, uint32_t device) GM_PAGE_EXPORT(page_marks);

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

enum gm_page_axis { GM_PAGE_BY_EVENT, GM_PAGE_BY_TIME }; /* positions: moments, or microseconds */

/* [from, to] of the axis in `columns` equal parts (1 .. 16384). Per column: first U32, last U32 (its moments; first >
 * last only if nothing at all happened in it: it is the state that lasts), at U32 (the moment of its largest sum of
 * active bytes: no peak is ever lost), total F64 (active then), requested F64 and allocated F64 then, reserved F64 (the
 * largest). Per column and layer: layer F64 [column * layers + l] at `at`; they sum to total. Also name STRINGS and
 * color U32 as page_layers. */
const struct gm_page_result *gm_page_timeline(uint32_t handle, uint32_t device, uint32_t split, uint32_t axis,
                                              double from, double to, uint32_t columns) GM_PAGE_EXPORT(page_timeline);

/* The moment at a place of the axis, and where a moment is: moment U32, time F64 (of the event that led there), x F64
 * (place on that axis), plus the moment's levels: requested, allocated, active, reserved F64. */
const struct gm_page_result *gm_page_at(uint32_t handle, uint32_t device, uint32_t axis, double x)
    GM_PAGE_EXPORT(page_at);
const struct gm_page_result *gm_page_where(uint32_t handle, uint32_t device, uint32_t axis, uint32_t moment)
    GM_PAGE_EXPORT(page_where);

/* Individual allocations alive somewhere in [from, to] of the axis, at least min_bytes, the `limit` (at most 8192)
 * largest, stacked by age: what was made later lies above. Rows: id U32, bytes F64, layer U32 (of `split`), born U32,
 * freed U32 (moments; freed 0xFFFFFFFF: never), first_point U32, points U32. Its lower edge is a line of steps: point_x
 * F64 (place on the axis where it begins), point_y F64 (bytes below), until the next point or the end of the
 * allocation. What is not drawn lies on top: left_out F64 [columns] is how much that is in each of `columns` equal
 * parts (at its largest); left_out_count U32 so many allocations. Steps are not told finer than a column. */
const struct gm_page_result *gm_page_bars(uint32_t handle, uint32_t device, uint32_t split, uint32_t axis, double from,
                                          double to, uint32_t columns, double min_bytes, uint32_t limit)
    GM_PAGE_EXPORT(page_bars);

/* An allocation: size F64 (its block), requested F64, address TEXT ("0x7f..."), role, category, component, module,
 * pool, stream, site, state TEXT; born U32, freed U32 (moments; 0xFFFFFFFF: never; born 0: before the
 * trace), born_us F64, freed_us F64, life_us F64, life_events F64, stack U32 (its number), and the frames, innermost
 * first, as page_stack.
 */
const struct gm_page_result *gm_page_allocation(uint32_t handle, uint32_t device, uint32_t allocation)
    GM_PAGE_EXPORT(page_allocation);

/* The frames of a stack, innermost first: frame_name STRINGS, frame_file STRINGS, frame_line F64 (NaN: none),
 * frame_kind U8: bits 1 Python, 2 a file of PyTorch, 4 noise (unwinder, interpreter, dispatch; what a view folds). */
const struct gm_page_result *gm_page_stack(uint32_t handle, uint32_t stack) GM_PAGE_EXPORT(page_stack);

/* ---- one moment -------------------------------------------------------------------------------------------------- */

/* A split, or: */
enum gm_page_group {
    GM_PAGE_GROUP_SITE = GM_PAGE_SPLITS, /* the source line that made it */
    GM_PAGE_GROUP_STACK,
    GM_PAGE_GROUP_SIZE, /* equal requested bytes */
    GM_PAGE_GROUP_NONE  /* every allocation is a row, with id U32 */
};
/* What lives at a moment, by group, most bytes first, at most `limit` rows (0: all), the rest in rest_bytes F64 and
 * rest_count F64: label STRINGS, bytes F64, requested F64, count U32, color U32, largest U32 (allocation), stack U32
 * (of the largest). Levels of the moment: requested_level, allocated, active, reserved F64. */
const struct gm_page_result *gm_page_moment(uint32_t handle, uint32_t device, uint32_t moment, uint32_t group,
                                            uint32_t limit) GM_PAGE_EXPORT(page_moment);

/* The address space at a moment, by address. Segments: segment_address STRINGS ("0x..."), segment_bytes F64,
 * segment_pool STRINGS, segment_stream STRINGS, segment_first U32, segment_blocks U32 (its blocks below). Blocks:
 * block_offset F64 (in its segment), block_bytes F64, block_state U8 (0 free, 1 allocated, 2 pending), block_id U32
 * (allocation), block_color U32 (of `split`), block_changed U8 (1: the event that led here made or freed it). Fails
 * where the trace and the segments contradict each other. */
const struct gm_page_result *gm_page_space(uint32_t handle, uint32_t device, uint32_t moment, uint32_t split)
    GM_PAGE_EXPORT(page_space);

/* What event `event` did: action TEXT, bytes F64, address TEXT, time F64, stream TEXT, allocation U32 (that it is
 * about), size F64 (its block), what TEXT (one sentence), stack U32, and frames as page_stack. */
const struct gm_page_result *gm_page_event(uint32_t handle, uint32_t device, uint32_t event) GM_PAGE_EXPORT(page_event);

/* The events that pass a filter, rows [first, first + count) of them: event U32, action STRINGS, bytes F64, time F64,
 * allocation U32, role U32 (its layer), site STRINGS (where that was made), active F64 (after it); total U32 rows,
 * near U32: the row of event `near`, or of the next one. `query`: kind=made|freed|driver|oom|other, min_size. */
const struct gm_page_result *gm_page_events(uint32_t handle, uint32_t device, const char *query, uint32_t first,
                                            uint32_t count, uint32_t near) GM_PAGE_EXPORT(page_events);

/* What lives as a tree of frames, in requested bytes: at a moment, or what came and went from moment `base` to `moment`
 * (base 0xFFFFFFFF: none). `inverted`: innermost frames on top. `folds`: of stacks that have the program's own
 * frames, only those; of others what tells most. Nodes, parents first, node 0 the root, siblings side by side by bytes:
 * name STRINGS, file STRINGS (both: one per distinct frame), frame U32 (of those; per node), line F64 (per distinct
 * frame), parent U32, depth U32, bytes F64, self F64, count U32, added F64 and gone F64 (with base: bytes then = added
 * - gone), color U32 (of the category with most of it). */
const struct gm_page_result *gm_page_flame(uint32_t handle, uint32_t device, uint32_t moment, uint32_t base,
                                           bool inverted, bool folds) GM_PAGE_EXPORT(page_flame);

/* ---- all allocations --------------------------------------------------------------------------------------------- */

/* The table of all allocations that pass a filter, sorted: rows [first, first + count) of it. `query` is text,
 * "key=value" joined by newlines, all optional: sort=size|requested|born|freed|life|stream|pool|role|category|id
 * (size), order=down|up (down), min_size, max_size, min_life, max_life (events), alive_at=MOMENT, born_from, born_to
 * (moments), role, category, component, module, sizes, pool, stream = number of a layer, site=TEXT (exactly this call
 * site), marked=1 (those of page_mark),
 * text=TEXT (a function or file of its stack has it, in any case), regex=TEXT (POSIX extended, in any case;
 * "name file:line" of a frame). Total: total F64 rows, total_bytes F64. Rows: id U32, size,
 * requested F64, born U32, freed U32, born_us F64, life F64 (events), life_us F64, role, category, component, module,
 * sizes, pool, stream U32 (layers), stack U32, site STRINGS. Sorting is done once for each query. */
const struct gm_page_result *gm_page_allocations(uint32_t handle, uint32_t device, const char *query, uint32_t first,
                                                 uint32_t count) GM_PAGE_EXPORT(page_allocations);

/* Of the finding, or the item of what to do, that says `detail`: `query` is id=ID and detail=TEXT, as in analysis.json
 * (no id of an item that is no finding). The report is judged for it as by page_json: device U32, and of it the
 * allocations that it is about, allocation U32 (none: it is about no single ones); the moments from `first` to `last`
 * U32 of their lives, and `highest` U32 when they hold most, `bytes` F64 (requested). */
const struct gm_page_result *gm_page_finding(uint32_t handle, const char *query) GM_PAGE_EXPORT(page_finding);
/* Marks these allocations of a device, and no others, for the table's filter. An answer without arrays. */
const struct gm_page_result *gm_page_mark(uint32_t handle, uint32_t device, const uint32_t *allocations, uint32_t count)
    GM_PAGE_EXPORT(page_mark);

/* ---- address by time --------------------------------------------------------------------------------------------- */

/* All addresses that ever were reserved, without the gaps, in `rows` equal parts, at `columns` moments of the axis
 * (each column's `at`, as page_timeline). used F64 and reserved F64 [row * columns + column]: bytes; row_bytes F64 (of
 * a row), at U32, and where the rows are: part_row F64, part_address STRINGS, part_bytes F64 of each range of
 * addresses. */
const struct gm_page_result *gm_page_heat(uint32_t handle, uint32_t device, uint32_t axis, double from, double to,
                                          uint32_t columns, uint32_t rows) GM_PAGE_EXPORT(page_heat);

/* ---- what if ----------------------------------------------------------------------------------------------------- */

/* The recorded requests once more through the allocator's model. `query` as above: memory=BYTES (of the device; 0:
 * unlimited), conf=TEXT of PYTORCH_ALLOC_CONF ("recorded": the recorded settings, also if it is left out),
 * scale.ROLE=FACTOR (a role's number; 0 drops it). The curve in `columns` parts of the events: column_first U32,
 * column_end U32, column_reserved F64, column_allocated F64 (peaks in it; NaN beyond a failure). Result: peak_reserved,
 * peak_allocated, peak_requested F64, peak_event U32, retries F64, has_failed U8, failed_event U32, failed_bytes F64,
 * failed_site TEXT, why TEXT, conf TEXT (as it was understood), unknown TEXT (keys that are not). */
const struct gm_page_result *gm_page_whatif(uint32_t handle, uint32_t device, const char *query, uint32_t columns)
    GM_PAGE_EXPORT(page_whatif);

/* ---- two runs and more ------------------------------------------------------------------------------------------- */

/* json TEXT: diff.json of these snapshots, the first is the base; as gmdiff writes it. */
const struct gm_page_result *gm_page_compare(const uint32_t *handles, uint32_t count) GM_PAGE_EXPORT(page_compare);

/* page_flame of `device` of `handle` at `moment` less that of another snapshot; frames are told apart by function and
 * file, so that moved lines still match. */
const struct gm_page_result *gm_page_flame_between(uint32_t handle, uint32_t device, uint32_t moment,
                                                   uint32_t base_handle, uint32_t base_device, uint32_t base_moment,
                                                   bool inverted, bool folds) GM_PAGE_EXPORT(page_flame_between);
