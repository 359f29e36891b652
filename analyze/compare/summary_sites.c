/* SPDX-License-Identifier: Apache-2.0
 *
 * The call sites of a summary: stacks that hold something at the end or at the peak, normalised, equal ones added up.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/ascii.h"
#include "analyze/base/freed.h"
#include "analyze/base/intern.h"
#include "analyze/compare/summary_work.h"
#include "analyze/report/frame_kind.h"

#include <stdlib.h>
#include <string.h>

/* What the blocks of one stack hold. */
struct holding {
    struct gm_amount end, peak;
};

struct site_work {
    struct gm_summary_work *work;
    struct holding *of_stack;                    /* [gm_stack_id] */
    struct gm_intern frames;                     /* "name\0file" */
    struct gm_intern stacks;                     /* frame numbers */
    uint32_t *of_frame;                          /* [gm_frame_id] its number in frames, + 1; 0: not asked so far */
    struct gm_address_map of_place;              /* name << 32 | file, to that number: lines are not told */
    struct GM_VEC(struct gm_summary_site) sites; /* by number in stacks */
    struct GM_VEC(uint64_t) weights;             /* [site] of the stack that describes it */
    struct gm_text key;
    struct GM_VEC(uint32_t) numbers;
};

/* ---- who holds what ---------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct gm_summary_work *work, int64_t device)
{
    return work->options->device < 0 || work->options->device == device;
}

static void hold_at_end(struct site_work *w)
{
    const struct gm_segments *g = &w->work->snapshot->segments;
    const struct gm_blocks *blocks = &w->work->snapshot->blocks;
    for (size_t s = 0; s < g->count; s++) {
        if (!is_wanted(w->work, g->device[s]))
            continue;
        for (size_t b = g->block_first[s]; b < g->block_first[s] + g->block_count[s]; b++)
            if (blocks->state[b] == GM_BLOCK_ACTIVE_ALLOCATED)
                gm_amount_add(&w->of_stack[blocks->stack[b].v].end, &(struct gm_amount){blocks->size[b], 1});
    }
}

static void hold_at_peak(struct site_work *w)
{
    for (size_t d = 0; d < w->work->kept.count; d++) {
        const struct gm_history *h = &w->work->kept.v[d].history;
        const uint32_t moment = gm_summary_peak_moment(w->work, d);
        for (size_t a = 0; a < h->allocation_count; a++)
            if (gm_history_is_active(h, a, moment))
                gm_amount_add(&w->of_stack[gm_stack_of(h, a)].peak, &(struct gm_amount){gm_requested(h, a), 1});
    }
}

/* ---- normalised stacks ------------------------------------------------------------------------------------------- */

static bool is_python(struct site_work *w, struct gm_frame_id id)
{
    const struct gm_string_id file = w->work->snapshot->frames.filename[id.v];
    return (gm_names_file_kind(&w->work->names, file) & GM_FILE_IS_PYTHON) != 0;
}

/* The number of a frame's normalised form; GM_INTERN_NONE: no memory. */
static uint32_t frame_number(struct site_work *w, struct gm_frame_id id, const struct gm_frame_row *row)
{
    if (w->of_frame[id.v] != 0)
        return w->of_frame[id.v] - 1;
    const struct gm_frames *all = &w->work->snapshot->frames;
    const uint64_t place = (uint64_t)all->name[id.v].v << 32 | all->filename[id.v].v;
    uint32_t number = gm_map_get(&w->of_place, place), before;
    if (number == GM_MAP_NONE) {
        const bool python = is_python(w, id);
        w->key.length = 0;
        gm_normalise_name(&w->key, row->name, python);
        gm_text_add_char(&w->key, '\0');
        gm_normalise_file(&w->key, row->filename);
        gm_text_add_char(&w->key, python ? 'p' : 'n'); /* one name may be of both kinds */
        number = w->key.failed ? GM_INTERN_NONE : gm_intern_add(&w->frames, w->key.data, w->key.length);
        if (number == GM_INTERN_NONE || !gm_map_put(&w->of_place, place, number, &before))
            return GM_INTERN_NONE;
    }
    w->of_frame[id.v] = number + 1;
    return number;
}

/* What the frame that is shown called to make the block: the innermost function in Python below it, else the operator
 * of PyTorch. NULL: nothing to add. */
static const char *find_via(struct site_work *w, struct gm_stack_id stack, const struct gm_frame_row *telling,
                            size_t *length)
{
    static const char op[] = "at::_ops::";
    size_t count;
    const struct gm_frame_id *ids = gm_stack_frames(w->work->snapshot, stack, &count);
    const struct gm_frame_row *frames = gm_names_frames(&w->work->names, stack, &count);
    for (size_t i = 0; i < count && &frames[i] != telling; i++)
        if (is_python(w, ids[i])) {
            *length = strlen(frames[i].name);
            return frames[i].name;
        }
    for (size_t i = 0; i < count && &frames[i] != telling; i++) {
        const char *name = strstr(frames[i].name, op);
        if (name == NULL)
            continue;
        name += sizeof op - 1;
        *length = strcspn(name, ":(<");
        if (*length > 0)
            return name;
    }
    return NULL;
}

/* The length of the label without ":88" at its end; all of it if it does not end in the line of the frame. */
static size_t length_without_line(const char *site, const struct gm_frame_row *telling)
{
    const size_t n = strlen(site);
    size_t from = n;
    uint64_t left = telling == NULL ? 0 : telling->line;
    if (telling == NULL)
        return n;
    do
        if (from == 0 || site[--from] != (char)('0' + left % 10))
            return n;
    while ((left /= 10) > 0);
    return from > 1 && site[from - 1] == ':' ? from - 1 : n;
}

static void add_line(struct gm_summary_site *site, uint64_t line)
{
    size_t at = 0;
    while (at < site->line_count && site->lines[at] < line)
        at++;
    if (at < site->line_count && site->lines[at] == line)
        return;
    if (at == GM_SITE_LINES) {
        site->has_more_lines = true;
        return;
    }
    if (site->line_count == GM_SITE_LINES) {
        site->has_more_lines = true;
        site->line_count--;
    }
    memmove(&site->lines[at + 1], &site->lines[at], (site->line_count - at) * sizeof *site->lines);
    site->lines[at] = line;
    site->line_count++;
}

/* What is shown of the stack: from the stack that holds most, the first of equals in their order in the file. */
static bool describe(struct site_work *w, struct gm_summary_site *site, struct gm_stack_id stack)
{
    enum { VIA_SHOWN = 60 };
    struct gm_arena *arena = &w->work->summary->arena;
    const struct gm_category_rules *rules = w->work->options->rules;
    const uint32_t category = gm_classify(w->work->classifier, stack);
    size_t length = 0;
    const char *label = gm_names_site(&w->work->names, stack);
    const struct gm_frame_row *telling = gm_names_telling_frame(&w->work->names, stack);
    if (label == NULL)
        return false;
    site->site = gm_arena_copy(arena, label, length_without_line(label, telling));
    site->category = gm_summary_copy(w->work, gm_category_name(rules, category));
    site->color = gm_category_color(rules, category);
    const char *via = telling == NULL ? NULL : find_via(w, stack, telling, &length);
    site->via = via == NULL || length > VIA_SHOWN ? NULL : gm_arena_copy(arena, via, length);
    return site->site != NULL && site->category != NULL && (via == NULL || length > VIA_SHOWN || site->via != NULL);
}

static bool new_site(struct site_work *w)
{
    const size_t n = w->numbers.n;
    const struct gm_summary_site site = {
        .frames = gm_arena_array(&w->work->summary->arena, w->numbers.v, n, sizeof *w->numbers.v), .frame_count = n};
    return site.frames != NULL && GM_VEC_PUSH(&w->sites, site) && GM_VEC_PUSH(&w->weights, 0);
}

static bool begins(const struct gm_frame_row *rows, size_t i, size_t count, const char *with)
{
    return i < count && rows[i].name[0] == with[0] && strncmp(rows[i].name, with, strlen(with)) == 0;
}

/* What autocast puts between an operator and its caller: itself, how it was called, and the operator once more. */
static bool is_of_autocast(const struct gm_frame_row *rows, size_t i, size_t count)
{
    static const char wrap[] = "at::autocast::WrapFunction_";
    return begins(rows, i, count, wrap) || (begins(rows, i, count, "at::_ops::") && begins(rows, i + 1, count, wrap)) ||
           (i > 0 && begins(rows, i, count, "c10::impl::wrap_kernel_functor") && begins(rows, i - 1, count, wrap));
}

static bool add_stack(struct site_work *w, struct gm_stack_id stack)
{
    const struct holding *held = &w->of_stack[stack.v];
    size_t count;
    const struct gm_frame_id *ids = gm_stack_frames(w->work->snapshot, stack, &count);
    const struct gm_frame_row *rows = gm_names_frames(&w->work->names, stack, &count);
    w->numbers.n = 0;
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        if (is_of_autocast(rows, i, count))
            continue;
        uint32_t number = frame_number(w, ids[i], &rows[i]);
        ok = number != GM_INTERN_NONE && GM_VEC_PUSH(&w->numbers, number);
    }
    const void *key = w->numbers.n == 0 ? (const void *)"" : w->numbers.v;
    uint32_t number = ok ? gm_intern_add(&w->stacks, key, w->numbers.n * sizeof *w->numbers.v) : GM_INTERN_NONE;
    if (number == GM_INTERN_NONE || (number == w->sites.n && !new_site(w)))
        return false;
    struct gm_summary_site *site = &w->sites.v[number];
    uint64_t weight = gm_known_add(held->end.bytes, held->peak.bytes);
    if ((site->site == NULL || weight > w->weights.v[number]) && !describe(w, site, stack))
        return false;
    if (weight > w->weights.v[number])
        w->weights.v[number] = weight;
    const struct gm_frame_row *telling = gm_names_telling_frame(&w->work->names, stack);
    const char *label = gm_names_site(&w->work->names, stack);
    if (label == NULL)
        return false;
    if (telling != NULL && length_without_line(label, telling) < strlen(label))
        add_line(site, telling->line);
    gm_amount_add(&site->end, &held->end);
    gm_amount_add(&site->peak, &held->peak);
    return true;
}

/* ---- into the summary -------------------------------------------------------------------------------------------- */

static bool publish(struct site_work *w)
{
    struct gm_summary *s = w->work->summary;
    const struct gm_summary_site *sites = gm_arena_array(&s->arena, w->sites.v, w->sites.n, sizeof *sites);
    const size_t n = w->work->options->is_short ? 0 : w->frames.entries.n;
    struct gm_summary_frame *frames = gm_arena_calloc(&s->arena, n, sizeof *frames);
    bool ok = sites != NULL && frames != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const char *name = w->frames.entries.v[i].bytes, *file = name + strlen(name) + 1;
        size_t length = w->frames.entries.v[i].length - (size_t)(file - name);
        frames[i].name = gm_summary_copy(w->work, name);
        frames[i].file = gm_arena_copy(&s->arena, file, length - 1);
        frames[i].is_python = file[length - 1] == 'p';
        ok = frames[i].name != NULL && frames[i].file != NULL;
    }
    s->sites = sites;
    s->site_count = ok ? w->sites.n : 0;
    s->frames = frames;
    s->frame_count = ok ? n : 0;
    return ok;
}

bool gm_summary_sites(struct gm_summary_work *work)
{
    const struct gm_snapshot *snapshot = work->snapshot;
    struct site_work w = {.work = work,
                          .of_stack = calloc((size_t)snapshot->stacks.count + 1, sizeof *w.of_stack),
                          .of_frame = calloc((size_t)snapshot->frames.count + 1, sizeof *w.of_frame)};
    bool ok = w.of_stack != NULL && w.of_frame != NULL;
    if (ok) {
        hold_at_end(&w);
        if (work->summary->has_trace)
            hold_at_peak(&w);
    }
    for (uint32_t stack = 0; ok && stack < snapshot->stacks.count; stack++)
        if (w.of_stack[stack].end.blocks > 0 || w.of_stack[stack].peak.blocks > 0)
            ok = add_stack(&w, (struct gm_stack_id){stack});
    ok = ok && publish(&w);
    gm_intern_free(&w.frames);
    gm_intern_free(&w.stacks);
    gm_map_free(&w.of_place);
    gm_text_free(&w.key);
    GM_FREE_ALL(w.of_stack, w.of_frame, w.sites.v, w.weights.v, w.numbers.v);
    return ok;
}

/* ---- what of a frame tells whether two runs mean the same place -------------------------------------------------- */

static bool is_hex(char c)
{
    return gm_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The length of an address at s, "0x7f3a": its digits are not told. */
static size_t address_length(const char *s)
{
    if (s[0] != '0' || (s[1] != 'x' && s[1] != 'X') || !is_hex(s[2]))
        return 0;
    size_t n = 2;
    while (is_hex(s[n]))
        n++;
    return n;
}

/* Where the name ends if what compilers append to a symbol is left out. */
static size_t end_of_name(const char *name)
{
    static const char *const marks[] = {" [clone ", ".llvm.",     ".isra.", ".constprop.",
                                        ".part.",   ".lto_priv.", ".cold",  NULL};
    size_t n = strlen(name);
    for (size_t i = 0; marks[i] != NULL && strpbrk(name, "[.") != NULL; i++) {
        const char *found = strstr(name, marks[i]);
        if (found != NULL && found != name && (size_t)(found - name) < n)
            n = (size_t)(found - name);
    }
    return n;
}

/* Where the name ends if the line is left out that torch.compile appends to the second half of a function:
 * "torch_dynamo_resume_in_forward_at_88". */
static size_t end_of_python_name(const char *name)
{
    static const char resumed[] = "torch_dynamo_resume_in_", at[] = "_at_";
    const size_t n = strlen(name);
    size_t end = n;
    while (end > 0 && gm_is_digit(name[end - 1]))
        end--;
    const bool has_line = end < n && strncmp(name, resumed, sizeof resumed - 1) == 0 && gm_ends_with(name, end, at);
    return has_line ? end - (sizeof at - 1) : n;
}

void gm_normalise_name(struct gm_text *out, const char *name, bool is_python)
{
    size_t n = is_python ? end_of_python_name(name) : end_of_name(name), depth = 0;
    for (size_t i = 0; i < n;) {
        size_t plain = 0, address;
        while (i + plain < n && name[i + plain] != '0' && name[i + plain] != '<' && name[i + plain] != '>')
            plain++;
        if (depth == 0)
            gm_text_add_bytes(out, name + i, plain);
        i += plain;
        if (i == n)
            break;
        address = address_length(name + i);
        if (address > 0 && depth == 0)
            gm_text_add(out, "0x");
        if (address > 0) {
            i += address;
            continue;
        }
        const char c = name[i];
        bool opens = !is_python && c == '<' &&
                     (depth > 0 || !(gm_ends_with(name, i, "operator") || gm_ends_with(name, i, "operator<")));
        bool closes = c == '>' && depth > 0 && name[i - 1] != '-';
        depth += opens;
        if (depth == 0)
            gm_text_add_char(out, c);
        depth -= closes;
        i++;
    }
}

void gm_normalise_file(struct gm_text *out, const char *filename)
{
    static const char generated[] = "<eval_with_key>"; /* of torch.fx, with a number */
    if (gm_frame_is_compiled(filename))
        gm_text_add(out, "<compiled>");
    else if (strstr(filename, "ipykernel_") != NULL || strstr(filename, "ipython-input-") != NULL)
        gm_text_add(out, "<notebook>");
    else if (strncmp(filename, generated, sizeof generated - 1) == 0)
        gm_text_add(out, generated);
    else
        gm_text_add(out, gm_path_base(filename));
}
