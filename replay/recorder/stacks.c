/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks out of what is known: the call itself, native frames if they are asked for, the open ranges of the thread.
 */
#include "replay/recorder/recorder_private.h"

#include <string.h>

struct gm_string_id gm_record_name(struct gm_recorder *r, const char *name)
{
    struct gm_string_id id = gm_intern_string(r->memory, name, strlen(name));
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}

static uint32_t frame(struct gm_recorder *r, struct gm_string_id name, const char *file)
{
    struct gm_frame_id id = gm_intern_frame(r->memory, name, gm_record_name(r, file), 0);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id.v;
}

/* Resolving a name costs much, so it is done once for each place in the code. */
static uint32_t native_frame(struct gm_recorder *r, uint64_t address)
{
    uint32_t known = gm_map_get(&r->frame_at, address), before;
    if (known != GM_MAP_NONE)
        return known;
    char name[256] = "", file[256] = "";
    r->options.resolve(r->options.user, address, name, file);
    known = frame(r, gm_record_name(r, name[0] != '\0' ? name : "??"), file[0] != '\0' ? file : "??");
    if (!gm_map_put(&r->frame_at, address, known, &before))
        r->is_out_of_memory = true;
    return known;
}

struct gm_stack_id gm_record_stack(struct gm_recorder *r, const struct gm_record_call *call)
{
    uint32_t frames[1 + GM_RECORD_NATIVE + GM_RECORD_DEPTH];
    size_t depth = 0;
    frames[depth++] = frame(r, gm_record_name(r, call->function), "CUDA");
    for (size_t i = 0; i < call->native_count && i < GM_RECORD_NATIVE && r->options.resolve != NULL; i++)
        frames[depth++] = native_frame(r, call->native[i]);
    if (call->thread != NULL) {
        uint32_t ranges = call->thread->depth < GM_RECORD_DEPTH ? call->thread->depth : GM_RECORD_DEPTH;
        for (uint32_t i = ranges; i > 0; i--)
            frames[depth++] = frame(r, (struct gm_string_id){call->thread->path[i - 1]}, "NVTX");
    }
    struct gm_stack_id id = gm_intern_stack(r->memory, frames, depth);
    r->is_out_of_memory = r->is_out_of_memory || id.v == 0;
    return id;
}
