# SPDX-License-Identifier: Apache-2.0
"""Small programs whose recordings, by PyTorch's own allocator, are in this folder. usage: programs.py NAME OUT.pickle
The settings that a program wants are in WANTS: (settings text, MiB of the device). Prints memory_stats() as JSON."""
import json
import os
import random
import sys

KIB, MIB = 1 << 10, 1 << 20
WANTS = {
    "ties": ("", 0), "ties_small": ("roundup_power2_divisions:4", 0), "ties_pages": ("expandable_segments:True", 0),
    "limit": ("per_process_memory_fraction:0.9", 190), "pages_limit": ("expandable_segments:True", 170),
    "garbage": ("garbage_collection_threshold:0.6,per_process_memory_fraction:0.95", 200),
    "split": ("max_split_size_mb:40,garbage_collection_threshold:0.7,per_process_memory_fraction:0.95", 200),
    "reserve": ("expandable_segments:True,expandable_segments_reserve:0.1", 2000),
    "throw": ("throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.9", 190),
    "pinned": ("pinned_max_cached_size_mb:64,large_segment_size_mb:32", 0),
    "pools": ("", 0), "no_split": ("", 0), "graphs": ("", 0), "pool_pages": ("expandable_segments:True", 0),
}


def empty(size, stream=None):
    import torch
    with torch.cuda.stream(stream):
        return torch.empty(size, dtype=torch.uint8, device="cuda")


def churn(rng, count, sizes, streams=(None,), live=None, most=20, empties=False):
    """Random requests and frees; some of the sizes come again and again, so that equal free blocks are there. empties:
    the cache is given back at times, so that newer segments lie below older ones."""
    import torch
    live = [] if live is None else live
    usual = [rng.choice(sizes) for _ in range(6)]
    for _ in range(count):
        if empties and rng.random() < 0.05:
            torch.cuda.empty_cache()
        if live and rng.random() < len(live) / (2 * most):
            live.pop(rng.randrange(len(live)))
        else:
            live.append(empty(rng.choice(usual) if rng.random() < 0.7 else rng.choice(sizes), rng.choice(streams)))
    return live


LARGE = [3 * MIB, 5 * MIB, 9 * MIB, 12 * MIB, 19 * MIB, 24 * MIB, 30 * MIB, 41 * MIB]
SMALL = [512, 4 * KIB, 100 * KIB, 300 * KIB, 512 * KIB, 700 * KIB, MIB]


def run(name):
    import torch
    rng = random.Random(name)
    if name in ("ties", "ties_pages", "limit", "pages_limit", "throw", "garbage", "split"):
        return churn(rng, 200, LARGE + SMALL, most=14, empties=name.startswith("ties"))
    if name in ("ties_small", "pinned"):
        return churn(rng, 300, SMALL + [2 * MIB], most=30, empties=True)
    if name == "reserve":
        return churn(rng, 150, [3 * MIB, 9 * MIB, 19 * MIB, 40 * MIB], most=20)
    pools = [torch.cuda.MemPool() if name != "no_split" else torch.cuda.MemPool(no_split=True) for _ in range(3)]
    kept = [[] for _ in pools]
    if name == "graphs":
        side = torch.cuda.Stream()
        graphs = []
        for _ in range(4):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=side):
                kept[0] = churn(rng, 20, LARGE, most=5, streams=(side,))
            graphs.append(graph)
            churn(rng, 10, LARGE, most=5)
            if len(graphs) > 2:
                kept[0] = None
                graphs.pop(0).reset()
                torch.cuda.empty_cache()
        return graphs, kept
    outside = []
    for turn in range(8):
        which = rng.randrange(len(pools))
        with torch.cuda.use_mem_pool(pools[which]):
            churn(rng, 15, LARGE + SMALL, live=kept[which], most=6)
        churn(rng, 15, LARGE + SMALL, live=outside, most=8)
        if turn == 4 and name != "no_split":
            kept[0].clear()
            pools[0] = None
            torch.cuda.empty_cache()
            pools[0] = torch.cuda.MemPool()
    return outside, kept, pools


def main():
    name, out = sys.argv[1:]
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = WANTS[name][0]
    import torch
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")

    def dump(*_):
        torch.cuda.memory._dump_snapshot(out)
        print(json.dumps(torch.cuda.memory_stats()), flush=True)
        os._exit(0)

    torch._C._cuda_attach_out_of_memory_observer(dump)
    kept = run(name)
    dump(kept)


main()
