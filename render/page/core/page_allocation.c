/* SPDX-License-Identifier: Apache-2.0
 *
 * One allocation, one event, one stack.
 */
#include "analyze/report/frame_kind.h"
#include "analyze/report/numbers.h"
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

static void tell_stack(struct gm_opened *o, struct gm_stack_id stack)
{
    size_t n = 0;
    struct gm_answer_list names = {0}, files = {0};
    const struct gm_frame_row *rows = gm_names_frames(&o->names, stack, &n);
    n = rows == NULL ? 0 : n;
    double *line = gm_answer_add("frame_line", GM_PAGE_F64, n);
    uint8_t *kind = gm_answer_add("frame_kind", GM_PAGE_U8, n);
    for (size_t i = 0; i < n && gm_answer_is_whole(); i++) {
        gm_answer_put(&names, rows[i].name);
        gm_answer_put(&files, rows[i].filename);
        line[i] = gm_answer_of(rows[i].line);
        kind[i] = (uint8_t)((gm_file_kind(rows[i].filename) & (GM_FILE_IS_PYTHON | GM_FILE_IS_TORCH)) |
                            (gm_frame_is_noise(rows[i].name, rows[i].filename) ? GM_FILE_IS_NOISE : 0));
    }
    gm_answer_strings("frame_name", &names);
    gm_answer_strings("frame_file", &files);
}

const struct gm_page_result *gm_page_stack(uint32_t handle, uint32_t stack)
{
    gm_answer_begin();
    struct gm_opened *o = gm_opened_get(handle);
    if (o == NULL)
        return NULL;
    if (stack >= o->snapshot.stacks.count)
        return gm_answer_refuse("the snapshot has no such stack");
    tell_stack(o, (struct gm_stack_id){stack});
    return gm_answer_end();
}

/* ---- allocations ------------------------------------------------------------------------------------------------- */

static void tell_address(uint64_t address)
{
    char text[24] = "";
    if (address != GM_ABSENT)
        snprintf(text, sizeof text, "0x%" PRIx64, address);
    gm_answer_text("address", text);
}

static void tell_stream(const struct gm_opened *o, struct gm_stream_id stream)
{
    char text[40];
    snprintf(text, sizeof text, "stream %" PRId64, stream.v == 0 ? INT64_C(0) : (int64_t)o->snapshot.streams[stream.v]);
    gm_answer_text("stream", text);
}

static const char *state_of(const struct gm_history *h, size_t a)
{
    return h->freed[a] != GM_NEVER       ? "freed"
           : gm_let_go(h, a) != GM_NEVER ? "freed, but another stream may still use it"
                                         : "allocated at the end";
}

static void tell_life(const struct gm_page_device *d, size_t a)
{
    const struct gm_history *h = d->h;
    const bool has_end = h->freed[a] != GM_NEVER, has_times = gm_page_has_times(d);
    const uint32_t end = has_end ? h->freed[a] : gm_page_moments(d) - 1;
    const double from = has_times && h->born[a] > 0 ? gm_page_place(d, GM_PAGE_BY_TIME, h->born[a]) : (double)NAN;
    const double to = has_times && has_end ? gm_page_place(d, GM_PAGE_BY_TIME, end) : (double)NAN;
    gm_answer_u32("born", h->born[a]);
    gm_answer_u32("freed", h->freed[a]);
    gm_answer_number("born_us", from);
    gm_answer_number("freed_us", to);
    gm_answer_number("life_us", to - from);
    gm_answer_number("life_events", (double)(end - h->born[a]));
}

const struct gm_page_result *gm_page_allocation(uint32_t handle, uint32_t device, uint32_t a)
{
    struct gm_opened *o;
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL)
        return NULL;
    const struct gm_history *h = d->h;
    if (a >= h->allocation_count)
        return gm_answer_refuse("the device has no such allocation");
    const struct gm_stack_id stack = {gm_stack_of(h, a)};
    gm_answer_number("size", (double)gm_block_bytes(h, a));
    gm_answer_number("requested", (double)gm_requested(h, a));
    tell_address(gm_history_address(h, a));
    for (uint32_t split = 0; split < GM_PAGE_SPLITS; split++)
        gm_answer_text(gm_page_split_names[split], gm_opened_layer_of(o, d, split, a));
    gm_answer_text("site", gm_names_site(&o->names, stack));
    gm_answer_text("state", state_of(h, a));
    tell_life(d, a);
    gm_answer_u32("stack", stack.v);
    tell_stack(o, stack);
    return gm_answer_end();
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* What it did, to be followed by its bytes. */
static const char *did(unsigned action)
{
    static const char *const words[GM_ACTION_COUNT] = {
        [GM_ACTION_ALLOC] = "allocated",
        [GM_ACTION_FREE_REQUESTED] = "asked to free",
        [GM_ACTION_FREE_COMPLETED] = "freed",
        [GM_ACTION_FREE] = "freed",
        [GM_ACTION_SEGMENT_ALLOC] = "took a segment from the driver,",
        [GM_ACTION_SEGMENT_FREE] = "gave a segment back to the driver,",
        [GM_ACTION_SEGMENT_MAP] = "mapped",
        [GM_ACTION_SEGMENT_UNMAP] = "unmapped",
        [GM_ACTION_OOM] = "ran out of memory: asked for",
    };
    return words[action];
}

static void tell_what(struct gm_opened *o, uint32_t event, size_t row, struct gm_stack_id stack)
{
    const struct gm_events *e = &o->snapshot.events;
    char number[GM_NUMBER_TEXT], bytes[GM_NUMBER_TEXT];
    GM_FREED struct gm_text what = {0};
    const char *verb = did(e->action[row]);
    const char *site = stack.v <= GM_STACK_EMPTY ? NULL : gm_names_site(&o->names, stack);
    gm_text_printf(&what, "Event %s", gm_count_format(number, event));
    if (verb != NULL)
        gm_text_printf(&what, " %s %s", verb, gm_bytes_format(bytes, gm_event_size(e, row)));
    else
        gm_text_printf(&what, ": %s", gm_action_name(e->action[row]));
    if (site != NULL)
        gm_text_printf(&what, ", %s", site);
    gm_answer_text("what", what.data);
}

const struct gm_page_result *gm_page_event(uint32_t handle, uint32_t device, uint32_t event)
{
    struct gm_opened *o;
    const struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL)
        return NULL;
    const struct gm_history *h = d->h;
    if (event >= h->count)
        return gm_answer_refuse("the trace has no such event");
    const struct gm_events *e = &o->snapshot.events;
    const size_t row = h->first + event;
    const uint32_t a = h->of_event[event];
    const bool is_oom = e->action[row] == GM_ACTION_OOM;
    /* Of what is freed, the stack that tells most is that of its allocation. */
    const struct gm_stack_id stack = a == GM_NEVER ? gm_event_stack(e, row) : (struct gm_stack_id){gm_stack_of(h, a)};
    gm_answer_text("action", gm_action_name(e->action[row]));
    gm_answer_number("bytes", gm_answer_of(gm_event_size(e, row)));
    tell_address(is_oom ? GM_ABSENT : gm_event_addr(e, row));
    gm_answer_number("time", gm_page_has_times(d) ? gm_page_place(d, GM_PAGE_BY_TIME, event + 1) : (double)NAN);
    tell_stream(o, (struct gm_stream_id){gm_rare_at(&e->stream, row)});
    gm_answer_u32("allocation", a);
    gm_answer_number("size", a == GM_NEVER ? (double)NAN : (double)gm_block_bytes(h, a));
    tell_what(o, event, row, stack);
    gm_answer_u32("stack", stack.v);
    tell_stack(o, stack);
    return gm_answer_end();
}
