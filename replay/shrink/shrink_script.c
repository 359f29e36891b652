/* SPDX-License-Identifier: Apache-2.0
 *
 * A reproducer as a Python program. Memory that the card has beyond the recorded one's is taken by the driver's own
 * cuMemAlloc, since a memory fraction refuses what an expandable segment would still have room for.
 */
#include "replay/shrink/shrink_private.h"

#include "analyze/base/ascii.h"
#include "analyze/base/size.h"

#include <inttypes.h>

static const char head[] = "import contextlib\n"
                           "import ctypes\n"
                           "import os\n"
                           "import sys\n"
                           "\n";

static const char tools[] =
    "\n"
    "import torch\n"
    "\n"
    "PAGE = 2 << 20\n"
    "held, streams, pools = {}, {}, {}\n"
    "asked = None\n"
    "\n"
    "\n"
    "def leave(limit):\n"
    "    \"\"\"The driver gives all memory but `limit` bytes away.\"\"\"\n"
    "    free, total = torch.cuda.mem_get_info()\n"
    "    if free < limit:\n"
    "        sys.exit(f\"this needs a GPU with {limit} bytes free; {free} of {total} are\")\n"
    "    rest = (free // PAGE - limit // PAGE) * PAGE\n"
    "    address = ctypes.c_uint64()\n"
    "    if rest and ctypes.CDLL(\"libcuda.so.1\").cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(rest)):\n"
    "        sys.exit(f\"the driver does not give {rest} bytes away\")\n"
    "\n"
    "\n"
    "def ask(number, size, stream=0, pool=None):\n"
    "    global asked\n"
    "    asked = number\n"
    "    with contextlib.ExitStack() as where:\n"
    "        if pool is not None:\n"
    "            if pool not in pools:\n"
    "                pools[pool] = torch.cuda.MemPool(**({\"no_split\": True} if pool in NO_SPLIT else {}))\n"
    "            where.enter_context(torch.cuda.use_mem_pool(pools[pool]))\n"
    "        if stream:\n"
    "            if stream not in streams:\n"
    "                streams[stream] = torch.cuda.Stream()\n"
    "            where.enter_context(torch.cuda.stream(streams[stream]))\n"
    "        held[number] = torch.empty(size, dtype=torch.uint8, device=\"cuda\")\n"
    "\n"
    "\n"
    "def free(number):\n"
    "    del held[number]\n"
    "\n"
    "\n"
    "def program():\n";

static const char end[] = "\n"
                          "\n"
                          "torch.cuda.init()\n"
                          "torch.cuda.mem_get_info()\n"
                          "if LIMIT is not None and FRACTION:\n"
                          "    total = torch.cuda.mem_get_info()[1]\n"
                          "    torch.cuda.set_per_process_memory_fraction((LIMIT + 0.5) / total)\n"
                          "elif LIMIT is not None:\n"
                          "    leave(LIMIT)\n"
                          "if len(sys.argv) > 1:\n"
                          "    torch.cuda.memory._record_memory_history(max_entries=1 << 20)\n"
                          "failed = None\n"
                          "try:\n"
                          "    program()\n"
                          "except torch.cuda.OutOfMemoryError as error:\n"
                          "    failed = str(error)\n"
                          "reserved, peak = torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved()\n"
                          "if len(sys.argv) > 1:\n"
                          "    torch.cuda.memory._dump_snapshot(sys.argv[1])\n"
                          "print(failed or \"no request failed\")\n"
                          "print(f\"reserved: {reserved} bytes, at most {peak}; in the model at most {PEAK}\")\n"
                          "is_same = peak == PEAK and (failed is not None) == FAILS and asked == LAST\n"
                          "print(\"reproduced\" if is_same else \"NOT REPRODUCED\")\n"
                          "sys.exit(not is_same)\n";

/* Between quotes, or in a comment: nothing of a file ends either. */
static void add_safe(struct gm_text *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gm_text_add_char(out, text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\' ? text[i] : '?');
}

/* "model.py:12 forward": of the innermost frame that is not PyTorch's. */
static void add_site(struct gm_text *out, const struct gm_snapshot *s, uint32_t stack)
{
    size_t depth, n, at;
    const struct gm_frame_id *frames = gm_stack_frames(s, (struct gm_stack_id){stack}, &depth);
    const char *path = NULL;
    size_t i = 0;
    for (; i < depth; i++) {
        path = gm_string(s, s->frames.filename[frames[i].v], &n);
        bool is_torch = false;
        for (at = 0; at + 7 <= n && !is_torch; at++)
            is_torch = gm_begins_with(path + at, n - at, "/torch/");
        if (n > 3 && gm_begins_with(path + n - 3, 3, ".py") && !is_torch)
            break;
    }
    if (i == depth)
        return;
    for (at = n; at > 0 && path[at - 1] != '/'; at--)
        ;
    gm_text_add(out, "  ");
    add_safe(out, path + at, n - at);
    if (s->frames.line[frames[i].v] != GM_ABSENT)
        gm_text_printf(out, ":%" PRIu64 " ", s->frames.line[frames[i].v]);
    const char *name = gm_string(s, s->frames.name[frames[i].v], &n);
    add_safe(out, name, n);
}

/* The first pool of the history with that id; false: a default one. */
static bool private_pool(const struct gm_history *h, uint32_t pool, uint32_t *number)
{
    const struct gm_history_pool *p = &h->pools[pool];
    for (*number = 0; h->pools[*number].id_first != p->id_first || h->pools[*number].id_second != p->id_second;)
        ++*number;
    return !gm_history_pool_is_default(p);
}

static void add_ask(struct gm_text *out, const struct gm_shrunk *s, uint32_t number)
{
    const struct gm_demand_item *item = &s->program.items.v[number];
    const struct gm_history *h = s->program.h;
    const size_t from = out->length;
    char size[GM_SIZE_TEXT];
    uint32_t pool;
    gm_text_printf(out, "    ask(%u, %" PRIu64, number, item->requested);
    if (item->stream != 0 && h->snapshot->streams[item->stream] != 0)
        gm_text_printf(out, ", stream=%u", item->stream);
    if (h->pool_count > 0 && private_pool(h, item->pool, &pool))
        gm_text_printf(out, ", pool=%u", pool);
    gm_text_add(out, ")");
    gm_text_repeat(out, ' ', out->length - from < 44 ? 44 - (out->length - from) : 1);
    gm_text_printf(out, " # %s", gm_size_format(size, item->requested));
    if (item->joined > 1)
        gm_text_printf(out, "  %u allocations", item->joined);
    if (item->joined == 0)
        gm_text_add(out, "  for the layout before the trace");
    else if (item->event == GM_NEVER)
        gm_text_add(out, "  from before the trace");
    add_site(out, h->snapshot, item->stack);
    gm_text_add(out, "\n");
}

static void add_op(struct gm_text *out, const struct gm_shrunk *s, const struct gm_demand_op *op)
{
    uint32_t pool;
    switch ((enum gm_demand_kind)op->kind) {
    case GM_DEMAND_ALLOC:
        add_ask(out, s, op->what);
        break;
    case GM_DEMAND_LET_GO:
        gm_text_printf(out, "    # %u is let go here; other streams use it until it is free\n", op->what);
        break;
    case GM_DEMAND_FREE:
        gm_text_printf(out, "    free(%u)\n", op->what);
        break;
    case GM_DEMAND_RETIRE:
    case GM_DEMAND_EMPTY_POOL:
        if (private_pool(s->program.h, op->what, &pool))
            gm_text_printf(out, "    pools.pop(%u, None)\n", pool);
        break;
    case GM_DEMAND_EMPTY:
        gm_text_add(out, "    torch.cuda.empty_cache()\n");
        break;
    }
}

static void add_settings(struct gm_text *out, const struct gm_conf *recorded)
{
    GM_FREED struct gm_text text = {0};
    struct gm_conf conf = *recorded;
    conf.memory_fraction = 1;
    gm_conf_text(&text, &conf);
    gm_text_add(out, "SETTINGS = \"");
    add_safe(out, text.data == NULL ? "" : text.data, text.length);
    gm_text_add(out, "\"\nfor name in (\"PYTORCH_ALLOC_CONF\", \"PYTORCH_CUDA_ALLOC_CONF\"):\n"
                     "    os.environ.pop(name, None)\n"
                     "    if SETTINGS:\n"
                     "        os.environ[name] = SETTINGS\n");
    out->failed |= text.failed;
}

static void add_whole_pools(struct gm_text *out, const struct gm_shrunk *s)
{
    const struct gm_history *h = s->program.h;
    uint32_t number;
    gm_text_add(out, "NO_SPLIT = (");
    for (uint32_t i = 0; i < h->pool_count; i++)
        if (h->pools[i].never_splits && private_pool(h, i, &number) && number == i)
            gm_text_printf(out, "%u, ", number);
    gm_text_add(out, ")\n");
}

void gm_shrunk_script(struct gm_text *out, const struct gm_shrunk *s, const struct gm_shrink_device *device)
{
    const struct gm_demand *p = &s->program;
    const double of = device->conf.memory_fraction * ((double)device->capacity + (double)device->taken);
    const bool has_fraction = device->conf.memory_fraction < 1;
    gm_text_printf(out,
                   "#!/usr/bin/env python3\n"
                   "\"\"\"%zu allocations that %s: what gmtrace shrink left of %zu.\n"
                   "\n"
                   "Run it with the PyTorch in question; with a FILE it writes a memory snapshot there.\n"
                   "\"\"\"\n",
                   s->items, s->goal == GM_SHRINK_OOM ? "run out of GPU memory" : "reach a peak of GPU memory",
                   s->whole_items);
    gm_text_add(out, head);
    add_settings(out, &device->conf);
    gm_text_add(out, "LIMIT = ");
    if (device->capacity == UINT64_MAX)
        gm_text_add(out, "None\n");
    else
        gm_text_printf(out, "%" PRIu64 "  # bytes that PyTorch can have\n",
                       has_fraction && of < (double)device->capacity ? (uint64_t)of : device->capacity);
    gm_text_printf(out, "FRACTION = %s\nFAILS = %s\nPEAK = %" PRIu64 "\n", has_fraction ? "True" : "False",
                   s->goal == GM_SHRINK_OOM ? "True" : "False", s->outcome.reserved);
    add_whole_pools(out, s);
    gm_text_printf(out, "LAST = %u\n", p->ops.v[p->ops.n - 1].what);
    gm_text_add(out, tools);
    for (size_t i = 0; i < p->ops.n; i++)
        add_op(out, s, &p->ops.v[i]);
    gm_text_add(out, end);
}
