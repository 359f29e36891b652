/* SPDX-License-Identifier: Apache-2.0
 *
 * Values: each string, frame, stack and pool is one object, written where it is first met and fetched from then on; so
 * is each container among the loose values.
 */
#include "analyze/base/vec.h"
#include "replay/write/snapshot_writer.h"

#include <stdlib.h>

void gm_put_word(struct gm_snapshot_writer *w, enum gm_put_word word)
{
    if (w->words[word] != 0) {
        gm_pickle_get(&w->p, w->words[word]);
        return;
    }
    const char *text = gm_put_word_text(word);
    gm_pickle_string(&w->p, text, strlen(text));
    w->words[word] = gm_pickle_memoize_low(&w->p);
}

void gm_put_string(struct gm_snapshot_writer *w, uint32_t string)
{
    if (w->strings[string] != 0) {
        gm_pickle_get(&w->p, w->strings[string]);
        return;
    }
    size_t length;
    const char *text = gm_string(w->s, (struct gm_string_id){string}, &length);
    gm_pickle_string(&w->p, text, length);
    w->strings[string] = gm_pickle_memoize(&w->p);
}

static void put_frame(struct gm_snapshot_writer *w, uint32_t frame)
{
    if (w->frames[frame] != 0) {
        gm_pickle_get(&w->p, w->frames[frame]);
        return;
    }
    gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
    w->frames[frame] = gm_pickle_memoize(&w->p);
    gm_put_frame_dict(w, frame);
}

/* The empty stack is a new list each time: that is shorter than fetching one. */
void gm_put_stack(struct gm_snapshot_writer *w, uint32_t stack)
{
    if (w->stacks[stack] != 0) {
        gm_pickle_get(&w->p, w->stacks[stack]);
        return;
    }
    size_t depth;
    const struct gm_frame_id *frames = gm_stack_frames(w->s, (struct gm_stack_id){stack}, &depth);
    gm_put_list(w);
    if (depth > 0)
        w->stacks[stack] = gm_pickle_memoize(&w->p);
    for (size_t i = 0; i < depth; i++) {
        gm_put_item(w, i, depth);
        put_frame(w, frames[i].v);
    }
    gm_put_list_end(w, depth);
}

void gm_put_pool(struct gm_snapshot_writer *w, uint32_t pool)
{
    if (w->pools[pool] != 0) {
        gm_pickle_get(&w->p, w->pools[pool]);
        return;
    }
    gm_pickle_uint(&w->p, w->s->pools[pool].first);
    gm_pickle_uint(&w->p, w->s->pools[pool].second);
    gm_pickle_op(&w->p, GM_PUT_TUPLE2);
    w->pools[pool] = gm_pickle_memoize(&w->p);
}

/* ---- lists and dictionaries ------------------------------------------------------------------------------------- */

struct open { /* a container that is being written */
    struct gm_loose value;
    uint32_t next;
};
struct open_list GM_VEC(struct open);

/* Writes a value; a container that was not written before is opened, and what it holds is the caller's to write. */
static void put_one(struct gm_snapshot_writer *w, const struct gm_loose *v, struct open_list *opened)
{
    switch ((enum gm_loose_type)v->type) {
    case GM_LOOSE_MISSING:
    case GM_LOOSE_NONE:
        gm_pickle_op(&w->p, GM_PUT_NONE);
        return;
    case GM_LOOSE_FALSE:
        gm_pickle_op(&w->p, GM_PUT_FALSE);
        return;
    case GM_LOOSE_TRUE:
        gm_pickle_op(&w->p, GM_PUT_TRUE);
        return;
    case GM_LOOSE_POSITIVE:
        gm_pickle_uint(&w->p, v->bits);
        return;
    case GM_LOOSE_NEGATIVE:
        gm_pickle_negative(&w->p, (int64_t)v->bits);
        return;
    case GM_LOOSE_REAL:
        gm_pickle_real(&w->p, v->bits);
        return;
    case GM_LOOSE_STRING:
        gm_put_string(w, (uint32_t)v->bits);
        return;
    case GM_LOOSE_POOL:
        gm_put_pool(w, (uint32_t)v->bits);
        return;
    case GM_LOOSE_FRAME:
        put_frame(w, (uint32_t)v->bits);
        return;
    case GM_LOOSE_STACK:
        gm_put_stack(w, (uint32_t)v->bits);
        return;
    case GM_LOOSE_LIST:
    case GM_LOOSE_DICT:
        break;
    }
    if (v->count > 0 && w->loose[v->bits] != 0) {
        gm_pickle_get(&w->p, w->loose[v->bits]);
        return;
    }
    gm_pickle_op(&w->p, v->type == GM_LOOSE_LIST ? GM_PUT_EMPTY_LIST : GM_PUT_EMPTY_DICT);
    if (v->count == 0)
        return;
    w->loose[v->bits] = gm_pickle_memoize(&w->p);
    if (!GM_VEC_PUSH(opened, ((struct open){.value = *v})))
        gm_pickle_fail(&w->p, GM_E_NOMEM, "out of memory");
}

/* The next value of the innermost open container, or its end. */
static void step(struct gm_snapshot_writer *w, struct open_list *opened)
{
    struct open *o = &opened->v[opened->n - 1];
    const struct gm_loose value = o->value;
    uint32_t i = o->next++;
    if (value.type == GM_LOOSE_LIST) {
        if (i == value.count) {
            gm_put_list_end(w, value.count);
            opened->n--;
            return;
        }
        gm_put_item(w, i, value.count);
    } else {
        gm_pickle_boundary(&w->p);
        if (i == 0)
            gm_pickle_op(&w->p, GM_PUT_MARK);
        if (i == value.count) {
            gm_pickle_op(&w->p, GM_PUT_SETITEMS);
            opened->n--;
            return;
        }
    }
    put_one(w, &w->s->loose[value.bits + i], opened);
}

/* Containers can hold each other to any depth, so the ones that are open are a list, not a recursion. */
void gm_put_loose(struct gm_snapshot_writer *w, const struct gm_loose *value)
{
    struct open_list opened = {0};
    put_one(w, value, &opened);
    while (opened.n > 0 && w->p.status == GM_OK)
        step(w, &opened);
    free(opened.v);
}
